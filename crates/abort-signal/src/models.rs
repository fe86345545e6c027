//! Models: every interleaving under `--cfg tidegate_loom`, one otherwise.

use std::pin::pin;
use std::task::{Context, Waker};

use tidegate_sync::model::{check, must_fail};
use tidegate_sync::parker::block_on;
use tidegate_sync::primitives::atomic::{AtomicU8, AtomicU32, Ordering};
use tidegate_sync::primitives::{Arc, Mutex, thread};

use crate::{AbortSignal, Level};

const FIRST: u32 = 1;
const SECOND: u32 = 2;

fn signal() -> AbortSignal<u32> {
    AbortSignal::typed()
}

fn reason(signal: &AbortSignal<u32>) -> Option<u32> {
    signal.reason().map(|reason| *reason)
}

/// A raiser against one who asks: by the flag, by `check`, by `level`.
fn ab1_seen_with_reason(name: &'static str, raise: Level) {
    check(name, 3, move || {
        let signal = signal();
        let raiser = signal.clone();
        let raising = thread::spawn(move || match raise {
            Level::Abort => raiser.abort(FIRST),
            _ => raiser.drain(FIRST),
        });
        if signal.is_aborted() {
            assert_eq!(reason(&signal), Some(FIRST), "aborted, but the reason is not there");
            assert!(signal.check().is_err(), "aborted, but the check passes");
        }
        let level = signal.level();
        if level > Level::Run {
            assert_eq!(reason(&signal), Some(FIRST), "raised, but the reason is not there");
            assert!(signal.reason_of(level).is_some(), "raised, but the level's reason is not there");
        }
        assert!(raising.join().unwrap());
        assert_eq!(reason(&signal), Some(FIRST));
    });
}

#[test]
fn ab1_who_sees_the_abort_sees_its_reason() {
    ab1_seen_with_reason("ab1_who_sees_the_abort_sees_its_reason", Level::Abort);
}

#[test]
fn ab1_who_sees_the_drain_sees_its_reason() {
    ab1_seen_with_reason("ab1_who_sees_the_drain_sees_its_reason", Level::Drain);
}

#[test]
fn ab1_who_sees_the_abort_sees_what_the_raiser_did_before() {
    check("ab1_who_sees_the_abort_sees_what_the_raiser_did_before", 3, || {
        let signal = signal();
        let work = Arc::new(AtomicU32::new(0));
        let (raiser, done) = (signal.clone(), Arc::clone(&work));
        let raising = thread::spawn(move || {
            // Ordering: Relaxed; published by the abort.
            done.store(7, Ordering::Relaxed);
            raiser.abort(FIRST)
        });
        if signal.is_aborted() {
            // Ordering: Relaxed; made visible by the abort.
            assert_eq!(work.load(Ordering::Relaxed), 7, "aborted, but what came before is not visible");
        }
        assert!(raising.join().unwrap());
    });
}

/// The broken forms: a flag that is stored before its reason, and one that is stored Relaxed.
#[derive(Default)]
struct Broken {
    flag: AtomicU8,
    reason: Mutex<Option<u32>>,
    work: AtomicU32,
}

#[test]
fn ab1_a_flag_stored_before_its_reason_is_caught() {
    must_fail("ab1_a_flag_stored_before_its_reason_is_caught", "aborted without a reason", || {
        let broken = Arc::new(Broken::default());
        let raiser = Arc::clone(&broken);
        let raising = thread::spawn(move || {
            // Ordering: Release, and yet too early: that is the fault.
            raiser.flag.store(1, Ordering::Release);
            *raiser.reason.lock() = Some(FIRST);
        });
        // Ordering: Acquire; pairs with the Release above.
        let aborted = broken.flag.load(Ordering::Acquire) == 1;
        let reason = *broken.reason.lock();
        raising.join().unwrap();
        assert!(!aborted || reason.is_some(), "aborted without a reason");
    });
}

#[test]
fn ab1_a_relaxed_flag_is_caught() {
    must_fail("ab1_a_relaxed_flag_is_caught", "aborted without what came before", || {
        let broken = Arc::new(Broken::default());
        let raiser = Arc::clone(&broken);
        let raising = thread::spawn(move || {
            // Ordering: Relaxed; to be published by the flag.
            raiser.work.store(7, Ordering::Relaxed);
            *raiser.reason.lock() = Some(FIRST);
            // Ordering: Relaxed: that is the fault.
            raiser.flag.store(1, Ordering::Relaxed);
        });
        // Ordering: Acquire; there is no Release to pair with.
        let aborted = broken.flag.load(Ordering::Acquire) == 1;
        // Ordering: Relaxed; to be made visible by the flag.
        let work = broken.work.load(Ordering::Relaxed);
        raising.join().unwrap();
        assert!(!aborted || work == 7, "aborted without what came before");
    });
}

/// Waiters of the given levels against one raiser that goes through `raises`.
fn ab2_all_are_woken(name: &'static str, waits: &'static [Level], raises: &'static [Level]) {
    check(name, 10, move || {
        let signal = signal();
        let waiting: Vec<_> = waits
            .iter()
            .map(|&level| {
                let signal = signal.clone();
                thread::spawn(move || {
                    block_on(signal.reached(level));
                    assert!(signal.level() >= level, "woken before the level was reached");
                })
            })
            .collect();
        for raise in raises {
            let won = if *raise == Level::Abort { signal.abort(FIRST) } else { signal.drain(SECOND) };
            assert!(won);
        }
        for waiter in waiting {
            waiter.join().unwrap();
        }
        assert_eq!(signal.snapshot().waiters, 0, "a waiter was left behind");
    });
}

#[test]
fn ab2_a_waiter_is_woken_whenever_it_comes() {
    ab2_all_are_woken("ab2_a_waiter_is_woken_whenever_it_comes", &[Level::Abort], &[Level::Abort]);
}

#[test]
fn ab2_every_waiter_is_woken() {
    ab2_all_are_woken("ab2_every_waiter_is_woken", &[Level::Abort, Level::Abort], &[Level::Abort]);
}

#[test]
fn ab2_an_abort_wakes_who_waits_for_a_drain() {
    ab2_all_are_woken(
        "ab2_an_abort_wakes_who_waits_for_a_drain",
        &[Level::Drain, Level::Abort],
        &[Level::Abort],
    );
}

#[test]
fn ab2_a_drain_then_an_abort_wake_each_their_own() {
    ab2_all_are_woken(
        "ab2_a_drain_then_an_abort_wake_each_their_own",
        &[Level::Drain, Level::Abort],
        &[Level::Drain, Level::Abort],
    );
}

#[test]
fn ab2_a_wait_that_changed_its_task_is_woken_there() {
    check("ab2_a_wait_that_changed_its_task_is_woken_there", 5, || {
        let signal = signal();
        let raiser = signal.clone();
        let raising = thread::spawn(move || raiser.abort(FIRST));
        block_on(async {
            let mut aborted = pin!(signal.aborted());
            // First polled by a task that will never hear of it again.
            let _ = aborted.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            aborted.await;
        });
        raising.join().unwrap();
        assert_eq!(signal.snapshot().waiters, 0);
    });
}

#[test]
fn ab2_a_cancelled_wait_leaves_nothing_and_takes_nobodys_wake_up() {
    check("ab2_a_cancelled_wait_leaves_nothing_and_takes_nobodys_wake_up", 10, || {
        let signal = signal();
        let (stays, leaves) = (signal.clone(), signal.clone());
        let staying = thread::spawn(move || block_on(stays.aborted()));
        let leaving = thread::spawn(move || {
            let mut aborted = pin!(leaves.aborted());
            let _ = aborted.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        });
        signal.abort(FIRST);
        staying.join().unwrap();
        leaving.join().unwrap();
        assert_eq!(signal.snapshot().waiters, 0, "a waiter was left behind");
    });
}

#[test]
fn ab2_a_run_ends_with_the_abort_and_gives_its_reason() {
    check("ab2_a_run_ends_with_the_abort_and_gives_its_reason", 5, || {
        let signal = signal();
        let raiser = signal.clone();
        let raising = thread::spawn(move || raiser.abort(FIRST));
        let ended = block_on(signal.run(std::future::pending::<()>()));
        assert_eq!(ended.map_err(|aborted| *aborted), Err(FIRST));
        raising.join().unwrap();
        assert_eq!(signal.snapshot().waiters, 0);
    });
}

#[test]
fn ab3_of_two_racing_aborts_the_first_wins_and_stays() {
    check("ab3_of_two_racing_aborts_the_first_wins_and_stays", 5, || {
        let signal = signal();
        let other = signal.clone();
        let racing = thread::spawn(move || (other.abort(SECOND), reason(&other)));
        let first = signal.abort(FIRST);
        let seen = reason(&signal);
        let (second, seen_by_other) = racing.join().unwrap();
        assert!(first != second, "not exactly one abort won");
        let winner = Some(if first { FIRST } else { SECOND });
        assert_eq!((seen, seen_by_other), (winner, winner), "the reason is not the winner's");
        assert_eq!(reason(&signal), winner, "the reason changed");
    });
}

#[test]
fn ab3_the_reason_is_that_of_the_highest_level() {
    check("ab3_the_reason_is_that_of_the_highest_level", 5, || {
        let signal = signal();
        let other = signal.clone();
        let racing = thread::spawn(move || {
            let drained = other.drain(SECOND);
            (drained, other.level(), reason(&other))
        });
        assert!(signal.abort(FIRST), "nobody else aborts");
        assert_eq!(reason(&signal), Some(FIRST), "aborted, but the reason is the drain's");
        let (drained, level, seen) = racing.join().unwrap();
        assert!(level > Level::Run, "a drain ended with the signal at run");
        assert!(level < Level::Abort || seen == Some(FIRST), "aborted, but the reason is the drain's");
        assert_eq!(signal.reason_of(Level::Drain).map(|reason| *reason), drained.then_some(SECOND));
    });
}

#[test]
fn ab4_the_level_only_rises_and_no_drain_follows_an_abort() {
    check("ab4_the_level_only_rises_and_no_drain_follows_an_abort", 10, || {
        let signal = signal();
        let (drainer, aborter) = (signal.clone(), signal.clone());
        let draining = thread::spawn(move || drainer.drain(SECOND));
        let aborting = thread::spawn(move || {
            aborter.abort(FIRST);
            (aborter.level(), aborter.drain(SECOND))
        });
        let before = signal.level();
        let after = signal.level();
        assert!(before <= after, "the level fell");
        draining.join().unwrap();
        let (level, drained) = aborting.join().unwrap();
        assert_eq!(level, Level::Abort, "the level fell below the abort");
        assert!(!drained, "a drain followed an abort");
        assert_eq!(signal.level(), Level::Abort, "the level fell below the abort");
    });
}
