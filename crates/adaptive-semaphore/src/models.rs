//! What is claimed of interleavings, explored: conservation, order, shrinking, waves, closing.
//!
//! Waiters are queued by the main thread with a first poll, so that the race begins where it is meant to: between those
//! who wait and what happens to them. All assertions are made after joining.

mod closing;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tidegate_sync::model::check;
use tidegate_sync::parker::block_on;
use tidegate_sync::primitives::atomic::{AtomicUsize, Ordering};
use tidegate_sync::primitives::{Arc, thread};

use crate::acquire::Waiting;
use crate::{AcquireOwned, AdaptiveSemaphore, Closed, Fixed, Outcome, OwnedPermit, Ramp, TryAcquireError};

const MAX: usize = 8;

fn semaphore(limit: usize) -> AdaptiveSemaphore {
    AdaptiveSemaphore::builder().initial(limit).bounds(1..=MAX).limit(Fixed).build()
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn queued(semaphore: &AdaptiveSemaphore) -> AcquireOwned {
    let mut acquire = semaphore.acquire_owned();
    assert!(poll(&mut acquire).is_pending());
    acquire
}

/// A permit that comes back as a success, which is without the lock where nobody waits.
fn successful(mut permit: OwnedPermit) -> OwnedPermit {
    permit.set_outcome(Outcome::Success);
    permit
}

fn take_one(semaphore: &AdaptiveSemaphore) -> OwnedPermit {
    successful(semaphore.try_acquire_owned().unwrap())
}

fn take(semaphore: &AdaptiveSemaphore, count: usize) -> Vec<OwnedPermit> {
    (0..count).map(|_| take_one(semaphore)).collect()
}

/// Nothing is out, nobody waits, and exactly `limit` permits are there.
fn assert_whole(semaphore: &AdaptiveSemaphore, limit: usize) {
    let state = semaphore.snapshot();
    assert_eq!((state.in_flight, state.waiting), (0, 0), "permits were lost or made up");
    assert_eq!(state.limit, limit);
    let all = take(semaphore, limit);
    assert!(semaphore.try_acquire().is_err(), "more permits than the limit");
    drop(all);
}

/// Permits, and what happens to them at once: each entry is a thread or (the first permits) the main one.
#[derive(Clone, Copy, Default)]
struct Plan {
    limit: usize,
    /// Permits that the main thread holds at the start and gives back.
    held: usize,
    /// Threads that wait for a permit and give it back, with a success.
    takers: usize,
    /// Threads that look once and leave; with nothing to report, which takes the lock.
    leavers: usize,
    /// A thread that sets the limit.
    set_limit: Option<usize>,
    /// A thread that closes.
    close: bool,
}

impl Plan {
    fn check(self, name: &str, least: usize) {
        check(name, least, move || self.run());
    }

    fn run(self) {
        let semaphore = semaphore(self.limit);
        let most = self.set_limit.map_or(self.limit, |limit| limit.max(self.limit));
        let inside = Arc::new(AtomicUsize::new(0));
        let held: Vec<_> = take(&semaphore, self.held)
            .into_iter()
            .map(|permit| Inside::enter(permit, &inside, most))
            .collect();
        let mut threads = Vec::new();
        for _ in 0..self.takers {
            let (semaphore, inside) = (semaphore.clone(), Arc::clone(&inside));
            threads.push(thread::spawn(move || match block_on(semaphore.acquire_owned()) {
                Ok(permit) => drop(Inside::enter(successful(permit), &inside, most)),
                Err(Closed) => assert!(self.close),
            }));
        }
        for _ in 0..self.leavers {
            let (semaphore, inside) = (semaphore.clone(), Arc::clone(&inside));
            threads.push(thread::spawn(move || {
                if let Poll::Ready(Ok(permit)) = poll(&mut semaphore.acquire_owned()) {
                    drop(Inside::enter(permit, &inside, most));
                }
            }));
        }
        if self.set_limit.is_some() || self.close {
            let semaphore = semaphore.clone();
            threads.push(thread::spawn(move || {
                if let Some(limit) = self.set_limit {
                    assert_eq!(semaphore.set_limit(limit), limit);
                }
                if self.close {
                    semaphore.close();
                }
            }));
        }
        drop(held);
        for thread in threads {
            thread.join().unwrap();
        }
        if self.close {
            assert_eq!(semaphore.in_flight(), 0, "permits were lost or made up");
            assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
        } else {
            assert_whole(&semaphore, self.set_limit.unwrap_or(self.limit));
        }
    }
}

/// Counts permits in use as a user sees them: entered after the grant, left before the release.
struct Inside {
    count: Arc<AtomicUsize>,
    _permit: OwnedPermit,
}

impl Inside {
    fn enter(permit: OwnedPermit, count: &Arc<AtomicUsize>, most: usize) -> Self {
        // Ordering: Relaxed; a count that publishes nothing. The shim's, so that threads are also switched in between.
        let inside = count.fetch_add(1, Ordering::Relaxed) + 1;
        assert!(inside <= most, "{inside} permits in use, at most {most} may be");
        Self { count: Arc::clone(count), _permit: permit }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // Ordering: Relaxed; as in `enter`. Before the permit goes: the field is dropped after this.
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn as1_takers_share_one_permit() {
    Plan { limit: 1, held: 1, takers: 2, ..Plan::default() }.check("as1_takers_share_one_permit", 100);
}

#[test]
fn as1_leavers_lose_nothing() {
    Plan { limit: 1, held: 1, takers: 1, leavers: 1, ..Plan::default() }
        .check("as1_leavers_lose_nothing", 100);
}

#[test]
fn as1_growth_conserves_permits() {
    Plan { limit: 1, held: 1, takers: 1, set_limit: Some(2), ..Plan::default() }
        .check("as1_growth_conserves_permits", 100);
}

#[test]
fn as1_shrink_conserves_permits() {
    Plan { limit: 2, held: 2, takers: 1, set_limit: Some(1), ..Plan::default() }
        .check("as1_shrink_conserves_permits", 100);
}

#[test]
fn as1_close_conserves_permits() {
    Plan { limit: 1, held: 1, takers: 1, close: true, ..Plan::default() }
        .check("as1_close_conserves_permits", 100);
}

#[test]
fn as1_shrink_cancel_and_close_conserve_permits() {
    Plan { limit: 2, held: 2, leavers: 1, set_limit: Some(1), close: true, ..Plan::default() }
        .check("as1_shrink_cancel_and_close_conserve_permits", 100);
}

#[test]
fn as1_a_grant_whose_waiter_is_cancelled_goes_to_the_next() {
    check("as1_a_grant_whose_waiter_is_cancelled_goes_to_the_next", 3, || {
        let semaphore = semaphore(1);
        let permit = take_one(&semaphore);
        let (first, mut second) = (queued(&semaphore), queued(&semaphore));
        let release = thread::spawn(move || drop(permit));
        let cancel = thread::spawn(move || drop(first));
        release.join().unwrap();
        cancel.join().unwrap();
        let Poll::Ready(Ok(permit)) = poll(&mut second) else {
            panic!("a cancelled waiter swallowed its grant")
        };
        drop(permit);
        assert_whole(&semaphore, 1);
    });
}

#[test]
fn as1_growth_that_meets_a_cancelled_waiter_serves_the_others() {
    check("as1_growth_that_meets_a_cancelled_waiter_serves_the_others", 3, || {
        let semaphore = semaphore(1);
        let permit = take_one(&semaphore);
        let (first, mut second) = (queued(&semaphore), queued(&semaphore));
        let grow = {
            let semaphore = semaphore.clone();
            thread::spawn(move || semaphore.set_limit(2))
        };
        let cancel = thread::spawn(move || drop(first));
        grow.join().unwrap();
        cancel.join().unwrap();
        assert!(matches!(poll(&mut second), Poll::Ready(Ok(_))), "a cancelled waiter swallowed its grant");
        drop((permit, second));
        assert_whole(&semaphore, 2);
    });
}

#[test]
fn as1_a_time_out_that_meets_a_grant_keeps_it() {
    check("as1_a_time_out_that_meets_a_grant_keeps_it", 2, || {
        let semaphore = semaphore(1);
        let permit = take_one(&semaphore);
        let mut late = Waiting::new(semaphore.shared());
        assert!(late.poll(Waker::noop()).is_pending());
        let release = thread::spawn(move || drop(permit));
        let answer = late.leave();
        release.join().unwrap();
        assert_eq!(semaphore.in_flight(), usize::from(answer.is_some()), "a time-out ate a permit");
        drop(answer);
        assert_whole(&semaphore, 1);
    });
}

#[test]
fn as1_a_grant_is_seen_by_a_waiter_that_changes_tasks() {
    check("as1_a_grant_is_seen_by_a_waiter_that_changes_tasks", 3, || {
        let semaphore = semaphore(1);
        let permit = take_one(&semaphore);
        // Queued under one waker, awaited under another.
        let waiter = queued(&semaphore);
        let release = thread::spawn(move || drop(permit));
        drop(block_on(waiter).unwrap());
        release.join().unwrap();
        assert_whole(&semaphore, 1);
    });
}

#[test]
fn as2_a_permit_that_comes_back_is_never_taken_past_a_waiter() {
    check("as2_a_permit_that_comes_back_is_never_taken_past_a_waiter", 3, || {
        let semaphore = semaphore(1);
        let permit = take_one(&semaphore);
        let mut waiter = queued(&semaphore);
        let release = thread::spawn(move || drop(permit));
        let barge = thread::spawn(move || semaphore.try_acquire_owned().is_ok());
        release.join().unwrap();
        assert!(!barge.join().unwrap(), "a newcomer overtook a waiter");
        assert!(matches!(poll(&mut waiter), Poll::Ready(Ok(_))));
    });
}

#[test]
fn as2_a_raised_limit_serves_who_waits_and_no_newcomer() {
    check("as2_a_raised_limit_serves_who_waits_and_no_newcomer", 3, || {
        let semaphore = semaphore(1);
        let permit = take_one(&semaphore);
        let mut waiter = queued(&semaphore);
        let grow = {
            let semaphore = semaphore.clone();
            thread::spawn(move || semaphore.set_limit(2))
        };
        let barge = thread::spawn(move || semaphore.try_acquire_owned().is_ok());
        grow.join().unwrap();
        assert!(!barge.join().unwrap(), "a newcomer overtook a waiter");
        assert!(matches!(poll(&mut waiter), Poll::Ready(Ok(_))));
        drop(permit);
    });
}

#[test]
fn as2_grants_come_in_the_order_of_the_queue() {
    check("as2_grants_come_in_the_order_of_the_queue", 10, || {
        let semaphore = semaphore(2);
        let mut permits = take(&semaphore, 2);
        let mut waiters = [queued(&semaphore), queued(&semaphore), queued(&semaphore)];
        let one = permits.pop();
        let releases = [thread::spawn(move || drop(one)), thread::spawn(move || drop(permits))];
        let newcomer = thread::spawn(move || poll(&mut semaphore.acquire_owned()).is_ready());
        for release in releases {
            release.join().unwrap();
        }
        assert!(!newcomer.join().unwrap(), "a newcomer overtook a waiter");
        // Kept until all were asked: a permit that comes back would serve the next.
        let answers = waiters.each_mut().map(poll);
        let ready = answers.each_ref().map(Poll::is_ready);
        assert_eq!(ready, [true, true, false]);
    });
}

#[test]
fn as3_a_shrink_takes_effect_as_permits_return() {
    check("as3_a_shrink_takes_effect_as_permits_return", 10, || {
        let semaphore = semaphore(3);
        let mut permits = take(&semaphore, 3);
        let mut waiter = queued(&semaphore);
        let (one, two) = (permits.pop(), permits.pop());
        let shrink = {
            let semaphore = semaphore.clone();
            thread::spawn(move || semaphore.set_limit(1))
        };
        let releases = [thread::spawn(move || drop(one)), thread::spawn(move || drop(two))];
        assert_eq!(shrink.join().unwrap(), 1);
        for release in releases {
            release.join().unwrap();
        }
        // One is still out, so the waiter was served only if a permit came back before the shrink.
        let early = poll(&mut waiter);
        let out = usize::from(early.is_ready());
        assert_eq!(semaphore.in_flight(), 1 + out, "a permit was forgotten or made up");
        assert_eq!(
            semaphore.try_acquire().unwrap_err(),
            TryAcquireError::NoPermits,
            "the shrink was ignored"
        );
        drop((early, permits, waiter));
        assert_whole(&semaphore, 1);
    });
}

#[test]
fn as3_no_permit_is_granted_above_a_limit_that_was_lowered() {
    check("as3_no_permit_is_granted_above_a_limit_that_was_lowered", 3, || {
        let semaphore = semaphore(2);
        let mut permits = take(&semaphore, 2);
        let mut waiter = queued(&semaphore);
        assert_eq!(semaphore.set_limit(1), 1);
        let one = permits.pop();
        let release = thread::spawn(move || drop(one));
        let newcomer = {
            let semaphore = semaphore.clone();
            thread::spawn(move || semaphore.try_acquire_owned().is_ok())
        };
        assert!(poll(&mut waiter).is_pending(), "a permit was granted above the limit");
        release.join().unwrap();
        assert!(!newcomer.join().unwrap(), "a permit was granted above the limit");
        assert!(poll(&mut waiter).is_pending(), "a permit was granted above the limit");
        drop(permits);
        assert!(matches!(poll(&mut waiter), Poll::Ready(Ok(_))), "the waiter was forgotten");
        drop(waiter);
        assert_whole(&semaphore, 1);
    });
}

#[test]
fn as4_a_wave_of_racing_overloads_is_one_cut() {
    check("as4_a_wave_of_racing_overloads_is_one_cut", 3, || {
        let semaphore = AdaptiveSemaphore::builder().initial(4).limit(Ramp::new()).build();
        let wave = take(&semaphore, 3).into_iter().map(|permit| thread::spawn(move || permit.overload()));
        for overload in wave.collect::<Vec<_>>() {
            overload.join().unwrap();
        }
        assert_eq!(semaphore.limit(), 3, "one wave, more or less than one cut");
        assert_eq!(semaphore.summary().cuts, 1);
        assert_whole(&semaphore, 3);
    });
}

#[test]
fn as1_a_success_without_the_lock_meets_somebody_who_begins_to_wait() {
    check("as1_a_success_without_the_lock_meets_somebody_who_begins_to_wait", 10, || {
        let semaphore = semaphore(1);
        let permit = take_one(&semaphore);
        let release = thread::spawn(move || permit.success());
        // If it begins to wait a moment after the permit came back, nobody is left to wake it.
        drop(block_on(semaphore.acquire()).unwrap());
        release.join().unwrap();
        assert_whole(&semaphore, 1);
        assert_eq!(semaphore.summary().successes, 2, "a success was not counted");
    });
}

#[test]
fn as4_a_success_that_races_a_cut_grows_nothing() {
    check("as4_a_success_that_races_a_cut_grows_nothing", 3, || {
        let semaphore =
            AdaptiveSemaphore::builder().initial(4).limit(Ramp::new().step_every(1).cut_to(0.5)).build();
        let mut permits = take(&semaphore, 4);
        let (overload, success) = (permits.pop().unwrap(), permits.pop().unwrap());
        let cut = thread::spawn(move || overload.overload());
        let grow = thread::spawn(move || success.success());
        cut.join().unwrap();
        grow.join().unwrap();
        // A step takes as many successes as the limit: one alone never grows it.
        assert_eq!(semaphore.limit(), 2);
        drop(permits);
        let summary = semaphore.summary();
        assert_eq!((summary.cuts, summary.successes + summary.overloads + summary.ignored), (1, 4));
    });
}
