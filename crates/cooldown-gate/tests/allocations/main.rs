//! What the gate allocates, exactly, and that it gives it back. In a binary of its own, because counting replaces the
//! allocator.
#![cfg(not(tidegate_loom))]
#![expect(clippy::unwrap_used, reason = "a helper of a test fails as the test itself would")]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use allocation_counter::{AllocationInfo, measure};
use tidegate_cooldown_gate::{Closing, CooldownGate, OwnedPass, PassingOwned, RetryHint};
use tokio::runtime::Runtime;
use tokio::time::Sleep;

/// Joining the line takes a seat and a timer.
const JOINING: u64 = 2;
/// A seat on a 64-bit machine, with the two counts of its `Arc`. The timer is tokio's.
const SEAT_BYTES: u64 = 56;
/// Letting a crowd of ten thousand through takes one list of its places, and one of its wakers that grows 13 times.
const OPENING: u64 = 14;

/// With feature `metrics` each metric that is told takes a label, for as long as it is told.
const fn told(metrics: u64) -> u64 {
    if cfg!(feature = "metrics") { metrics } else { 0 }
}

/// What is told when a gate is closed: that it was, and for how long.
const CLOSED: u64 = told(2);
/// What is told of any other change.
const CHANGED: u64 = told(1);

const MINUTE: Duration = Duration::from_secs(60);
const CROWD: usize = 10_000;

const NOTHING: AllocationInfo = AllocationInfo {
    count_total: 0,
    count_current: 0,
    count_max: 0,
    bytes_total: 0,
    bytes_current: 0,
    bytes_max: 0,
};

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn poll(future: &mut (impl Future + Unpin), waker: &Waker) -> bool {
    Pin::new(future).poll(&mut Context::from_waker(waker)).is_ready()
}

/// The pass of a waiter that was granted one.
fn take(waiter: &mut PassingOwned) -> OwnedPass {
    let polled = Pin::new(waiter).poll(&mut Context::from_waker(Waker::noop()));
    let granted = match polled {
        Poll::Ready(pass) => pass.ok(),
        Poll::Pending => None,
    };
    granted.unwrap()
}

/// For the timers of those who wait. Its clock stands still.
fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

/// Lets every timer fire that is set to less than `by` from now.
fn pass_time(runtime: &Runtime, by: Duration) {
    runtime.block_on(tokio::time::sleep(by + Duration::from_millis(1)));
}

fn closed() -> CooldownGate {
    let gate = CooldownGate::new();
    gate.close_for(MINUTE);
    gate
}

/// A crowd that waits, every one of them polled once.
fn join(gate: &CooldownGate, crowd: usize, waker: &Waker) -> Vec<PassingOwned> {
    let mut waiters: Vec<PassingOwned> = (0..crowd).map(|_| gate.pass_owned()).collect();
    assert!(!waiters.iter_mut().any(|waiter| poll(waiter, waker)));
    waiters
}

#[test]
fn the_open_path_allocates_nothing() {
    let gate = CooldownGate::new();
    let info = measure(|| {
        assert!(gate.is_open());
        gate.try_pass().unwrap().success();
        drop(gate.try_pass());
        assert!(poll(&mut gate.pass(), Waker::noop()));
        assert!(poll(&mut gate.wait(), Waker::noop()));
        gate.pass_blocking().unwrap().success();
        gate.try_pass_owned().unwrap().success();
        drop((gate.clone(), gate.epoch(), gate.snapshot()));
    });
    assert_eq!(info, NOTHING);
}

#[test]
fn closing_and_refusing_allocate_nothing_but_labels() {
    let gate = CooldownGate::new();
    let info = measure(|| {
        assert_eq!(gate.close_for(MINUTE), Closing::Closed);
        assert_eq!(gate.close_for(2 * MINUTE), Closing::Extended);
        assert_eq!(gate.close_for(MINUTE), Closing::Kept);
        assert!(!gate.is_open());
        assert!(gate.try_pass().is_err());
        gate.open_now();
        let pass = gate.try_pass().unwrap();
        assert_eq!(pass.throttled(RetryHint::after(MINUTE)), Closing::Closed);
    });
    assert_eq!((info.count_total, info.count_current), (CLOSED + CHANGED + CHANGED + CLOSED, 0));
}

#[test]
fn joining_the_line_allocates_a_seat_and_a_timer() {
    let runtime = runtime();
    let _timer = runtime.enter();
    let gate = closed();
    // The line itself has room for a few once somebody stands in it.
    let _first = join(&gate, 1, Waker::noop());
    let mut waiter = gate.pass_owned();
    let info = measure(|| assert!(!poll(&mut waiter, Waker::noop())));
    assert_eq!((info.count_total, info.count_max), (JOINING, JOINING));
    if cfg!(target_pointer_width = "64") {
        assert_eq!(info.bytes_total, SEAT_BYTES + size_of::<Sleep>() as u64);
    }
    let info = measure(|| drop(waiter));
    assert_eq!((info.count_total, info.count_current), (0, -2), "whoever leaves gives both back");
}

#[test]
fn waiting_allocates_nothing() {
    let runtime = runtime();
    let _timer = runtime.enter();
    let gate = closed();
    let mut waiters = join(&gate, 2, Waker::noop());
    let woken = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&woken));
    let info = measure(|| {
        for _ in 0..100 {
            assert!(!waiters.iter_mut().any(|waiter| poll(waiter, Waker::noop())));
            assert!(!waiters.iter_mut().any(|waiter| poll(waiter, &waker)));
        }
    });
    assert_eq!(info, NOTHING);
    let info = measure(|| {
        // With every extension the timer is set anew.
        gate.close_for(2 * MINUTE);
        assert!(!waiters.iter_mut().any(|waiter| poll(waiter, &waker)));
    });
    assert_eq!((info.count_total, info.count_current), (CHANGED, 0));
    pass_time(&runtime, 2 * MINUTE);
    assert_eq!(woken.0.load(Ordering::Relaxed), 2);
}

#[test]
fn a_probe_and_the_next_waiter_are_let_through_without_allocating() {
    let runtime = runtime();
    let _timer = runtime.enter();
    let gate = closed();
    let mut waiters = join(&gate, 2, Waker::noop());
    pass_time(&runtime, MINUTE);
    let info = measure(|| {
        // The probe is dropped: the next takes its turn.
        drop(take(&mut waiters[0]));
        drop(take(&mut waiters[1]));
    });
    assert_eq!(info.count_total, CHANGED);
}

#[test]
fn opening_for_a_crowd_allocates_for_its_wakers_only_while_it_wakes() {
    let runtime = runtime();
    let _timer = runtime.enter();
    let gate = closed();
    let woken = Arc::new(Count::default());
    let waiters = join(&gate, CROWD, &Waker::from(Arc::clone(&woken)));
    let info = measure(|| gate.open_now());
    assert_eq!(woken.0.load(Ordering::Relaxed), CROWD);
    assert_eq!(info.count_total, OPENING + CHANGED);
    // One less than before: the line that held the crowd gave its memory back.
    assert_eq!(info.count_current, -1);
    drop(waiters);
}

#[test]
fn cg6_a_crowd_that_was_cancelled_leaves_nothing_allocated() {
    let runtime = runtime();
    let _timer = runtime.enter();
    let gate = closed();
    let info = measure(|| drop(join(&gate, CROWD, Waker::noop())));
    assert_eq!((info.count_current, info.bytes_current), (0, 0));
    assert!(info.count_max >= 2 * 10_000);
    assert_eq!(gate.snapshot().waiting, 0);
}

#[test]
fn cg6_a_crowd_that_was_served_leaves_nothing_allocated() {
    let runtime = runtime();
    let _timer = runtime.enter();
    let gate = closed();
    let info = measure(|| {
        let mut waiters = join(&gate, CROWD, Waker::noop());
        gate.open_now();
        for waiter in &mut waiters {
            take(waiter).success();
        }
    });
    assert_eq!((info.count_current, info.bytes_current), (0, 0));
    assert_eq!((gate.snapshot().waiting, gate.snapshot().in_flight), (0, 0));
}
