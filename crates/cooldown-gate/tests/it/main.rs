//! The public face of the gate, on a clock that stands still unless it is moved.
#![cfg(not(tidegate_loom))]
#![expect(clippy::unwrap_used, reason = "a helper of a test fails as the test itself would")]

mod blocking;
mod cancelling;
#[cfg(all(feature = "tower", feature = "reqwest"))]
mod client;
mod closing;
mod map;
mod outcomes;
mod pacing;
mod reference;
mod reopening;
mod snapshot;
mod store;
#[cfg(all(feature = "tracing", feature = "metrics"))]
mod telling;
#[cfg(feature = "tower")]
mod tower;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tidegate_cooldown_gate::{
    CooldownGate, GateSnapshot, OwnedPass, Pass, Passing, PassingBy, PassingOwned, RetryHint, Waiting,
};
use tokio::time::Instant;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn hint(length: Duration) -> Option<RetryHint> {
    RetryHint::after(length)
}

/// Polls once, as a task would that is then not woken.
fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Lets every task run until all of them wait, without moving the clock.
async fn let_others_run() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

/// How long `future` takes on the paused clock.
async fn timed<T>(future: impl Future<Output = T>) -> (Duration, T) {
    let start = Instant::now();
    let output = future.await;
    (start.elapsed(), output)
}

/// The timer is exact to the millisecond, and never early.
fn assert_took(took: Duration, expected: Duration) {
    let late = took.checked_sub(expected);
    assert!(
        late.is_some_and(|late| late <= Duration::from_millis(1)),
        "took {took:?} instead of {expected:?}"
    );
}

fn assert_idle(snapshot: &GateSnapshot) {
    assert_eq!((snapshot.waiting, snapshot.in_flight), (0, 0), "{snapshot:?}");
}

#[test]
fn handles_passes_and_futures_can_be_sent_and_shared() {
    fn sent_and_shared<T: Send + Sync + 'static>() {}
    sent_and_shared::<CooldownGate>();
    sent_and_shared::<GateSnapshot>();
    sent_and_shared::<Pass<'static>>();
    sent_and_shared::<OwnedPass>();
    sent_and_shared::<PassingOwned>();
    sent_and_shared::<Passing<'static>>();
    sent_and_shared::<PassingBy<'static>>();
    sent_and_shared::<Waiting<'static>>();
}

#[test]
fn an_open_gate_needs_no_runtime() {
    let gate = CooldownGate::new();
    let Poll::Ready(Ok(pass)) = poll_once(&mut gate.pass()) else {
        panic!("an open gate made somebody wait")
    };
    assert_eq!((pass.epoch(), gate.snapshot().in_flight), (0, 1));
    pass.success();
    assert_eq!(poll_once(&mut gate.wait()), Poll::Ready(Ok(())));
    assert_idle(&gate.snapshot());
}

#[test]
fn debug_shows_name_and_state() {
    let gate = CooldownGate::builder().name("llm").build();
    let shown = format!("{gate:?}");
    assert!(shown.contains("llm") && shown.contains("open"), "{shown}");
    gate.close_for(secs(1));
    assert!(format!("{gate:?}").contains("cooling"));
}
