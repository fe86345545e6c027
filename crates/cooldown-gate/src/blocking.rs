//! Waiting at the gate on a thread of its own.

use std::future::poll_fn;
use std::task::Poll;

use tidegate_sync::parker::block_on_until;

use crate::error::ShutDown;
use crate::machine::Grant;
use crate::passing::Turn;
use crate::shared::Shared;
use crate::waiter::{Kind, Standing};
use crate::word::length;

/// Blocks this thread until the gate lets it through.
pub(crate) fn pass(gate: &Shared, kind: Kind) -> Result<Grant, ShutDown> {
    let mut turn = Turn::new(gate, kind);
    if let Some(grant) = turn.enter() {
        return Ok(grant);
    }
    let mut until = 0;
    loop {
        let looking = poll_fn(|cx| match turn.look(cx, gate.now()) {
            Standing::Queued { at, .. } if at == until => Poll::Pending,
            standing => Poll::Ready(standing),
        });
        match block_on_until(looking, &gate.clock, length(until)) {
            Some(Standing::Granted(epoch)) => return Ok(Grant { epoch, sent: Some(gate.now()) }),
            Some(Standing::ShutDown) => return Err(ShutDown),
            // Another tick to look again at than the one it sleeps to.
            Some(Standing::Queued { at, .. }) => until = at,
            // That tick came between the look and the clock.
            None => {}
        }
    }
}
