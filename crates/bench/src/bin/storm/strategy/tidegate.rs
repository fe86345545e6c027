//! One gate, shared by all tasks, and nothing else: no limit, no rounds, no bound on the tries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tidegate_cooldown_gate::{CooldownGate, Learned, RetryHint};

use super::Terms;
use crate::crew::Fetch;
use crate::service::{Answer, Service, Turn};

pub(super) struct Gated {
    service: Arc<Service>,
    gate: CooldownGate,
    /// The epoch of the latest request.
    epoch: AtomicU64,
}

impl Gated {
    pub(super) fn new(terms: &Terms) -> Self {
        let gate = CooldownGate::builder().restore(terms.learned).build();
        let shown = gate.clone();
        terms.service.show(move || gauge(&shown));
        Self { service: terms.service.clone(), epoch: AtomicU64::new(gate.epoch()), gate }
    }
}

/// Works through all papers of a server of its own, for what a gate learns from that.
pub(super) async fn rehearse(terms: &Terms) -> Learned {
    let gated = Gated::new(terms);
    let gate = gated.gate.clone();
    super::work(terms, gated).await;
    gate.learned()
}

/// The gate's snapshot on one line.
fn gauge(gate: &CooldownGate) -> String {
    let snapshot = format!("{:?}", gate.snapshot());
    snapshot.trim_start_matches("GateSnapshot ").trim_matches(['{', '}', ' ']).to_owned()
}

impl Fetch for Gated {
    async fn fetch(&self, paper: usize) -> bool {
        loop {
            let Ok(pass) = self.gate.pass().await else { return false };
            let epoch = self.gate.epoch();
            // Ordering: Relaxed; one thread.
            let turn = Turn::first_if(self.epoch.swap(epoch, Ordering::Relaxed) != epoch);
            match self.service.request(paper, turn).await {
                Answer::Done => {
                    pass.success();
                    return true;
                }
                Answer::Throttled(hint) => {
                    pass.throttled(hint.and_then(RetryHint::after));
                }
            }
        }
    }
}
