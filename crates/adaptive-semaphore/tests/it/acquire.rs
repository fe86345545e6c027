use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tidegate_adaptive_semaphore::{
    Acquire, AcquireByError, AcquireOwned, AdaptiveSemaphore, OwnedPermit, Permit, TryAcquireError,
};
use tokio::time::Instant;

use crate::common::{Bell, fixed, poll, take};

#[test]
fn everything_can_be_sent_shared_and_kept() {
    fn sound<T: Send + Sync>() {}
    fn kept<T: Send + Sync + 'static>() {}
    kept::<AdaptiveSemaphore>();
    kept::<AcquireOwned>();
    kept::<OwnedPermit>();
    sound::<Acquire<'_>>();
    sound::<Permit<'_>>();
    sound::<tidegate_adaptive_semaphore::AcquireBy<'_>>();
    sound::<tidegate_adaptive_semaphore::Drained<'_>>();
    fn sent<T: Send + 'static>() {}
    sent::<tidegate_adaptive_semaphore::Builder>();
}

#[test]
fn a_waiting_future_takes_40_bytes() {
    assert!(size_of::<Acquire<'_>>() <= 40);
}

#[tokio::test]
async fn a_permit_is_out_until_dropped() {
    let semaphore = fixed(2);
    let permit = semaphore.acquire().await.unwrap();
    let owned = semaphore.acquire_owned().await.unwrap();
    assert_eq!(semaphore.in_flight(), 2);
    assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
    drop(permit);
    owned.ignore();
    assert_eq!(semaphore.in_flight(), 0);
}

#[test]
fn as2_permits_go_to_the_longest_waiting_first() {
    let semaphore = fixed(1);
    let permit = semaphore.try_acquire().unwrap();
    let mut waiters: Vec<_> = (0..4).map(|_| semaphore.acquire()).collect();
    for waiter in &mut waiters {
        assert!(poll(waiter).is_pending());
    }
    drop(permit);
    for at in 0..4 {
        let answers: Vec<_> = waiters[at..].iter_mut().map(poll).collect();
        let ready: Vec<_> = answers.iter().map(Poll::is_ready).collect();
        assert!(ready[0] && !ready[1..].contains(&true), "{ready:?} at {at}");
    }
}

#[test]
fn as2_a_waiter_is_not_overtaken_by_a_crowd_of_newcomers() {
    let semaphore = fixed(1);
    let mut permit = semaphore.try_acquire_owned().unwrap();
    for _ in 0..1000 {
        let mut waiter = semaphore.acquire_owned();
        assert!(poll(&mut waiter).is_pending());
        drop(permit);
        // Granted, though it has not looked yet.
        assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
        assert!(poll(&mut semaphore.acquire()).is_pending());
        let Poll::Ready(Ok(next)) = poll(&mut waiter) else { panic!("overtaken") };
        permit = next;
    }
}

#[test]
fn a_cancelled_head_waiter_does_not_strand_its_followers() {
    let semaphore = fixed(1);
    let permit = semaphore.try_acquire().unwrap();
    let mut head = semaphore.acquire();
    let mut follower = semaphore.acquire();
    assert!(poll(&mut head).is_pending() && poll(&mut follower).is_pending());
    drop(head);
    drop(permit);
    assert!(matches!(poll(&mut follower), Poll::Ready(Ok(_))));
}

#[test]
fn a_waiter_cancelled_after_its_grant_passes_it_on_and_wakes_the_next() {
    let semaphore = fixed(1);
    let permit = semaphore.try_acquire().unwrap();
    let bell = Arc::new(Bell::default());
    let mut granted = semaphore.acquire();
    let mut next = semaphore.acquire();
    assert!(poll(&mut granted).is_pending() && bell.poll(&mut next).is_pending());
    drop(permit);
    assert_eq!(bell.rung(), 0);
    drop(granted);
    assert_eq!(bell.rung(), 1);
    assert!(matches!(poll(&mut next), Poll::Ready(Ok(_))));
    assert_eq!(semaphore.summary().granted, 2, "a grant that nobody took is none");
}

#[test]
fn a_waiter_that_moves_to_another_task_is_woken_there() {
    let semaphore = fixed(1);
    let permit = semaphore.try_acquire().unwrap();
    let (old, new) = (Arc::new(Bell::default()), Arc::new(Bell::default()));
    let mut waiter = semaphore.acquire();
    assert!(old.poll(&mut waiter).is_pending());
    assert!(new.poll(&mut waiter).is_pending());
    drop(permit);
    assert_eq!((old.rung(), new.rung()), (0, 1));
}

#[test]
fn a_future_that_was_answered_waits_for_another_permit() {
    let semaphore = fixed(2);
    let mut acquire = semaphore.acquire();
    let both = [poll(&mut acquire), poll(&mut acquire)];
    assert!(both.iter().all(Poll::is_ready));
    assert!(poll(&mut acquire).is_pending());
    assert_eq!(semaphore.snapshot().waiting, 1);
    drop((both, acquire));
    assert_eq!(semaphore.snapshot().waiting, 0);
    assert_eq!(semaphore.in_flight(), 0);
}

#[test]
fn a_panic_while_a_permit_is_held_gives_it_back() {
    let semaphore = fixed(1);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let _permit = semaphore.try_acquire().unwrap();
        panic!("in an attempt");
    }));
    assert!(caught.is_err());
    assert_eq!(semaphore.in_flight(), 0);
    let summary = semaphore.summary();
    assert_eq!((summary.ignored, summary.overloads, summary.successes), (1, 0, 0));
}

#[test]
fn a_waker_that_calls_the_semaphore_finds_it_unlocked() {
    struct Reenters(AdaptiveSemaphore, AtomicBool);
    impl Wake for Reenters {
        fn wake(self: Arc<Self>) {
            let _ = self.0.snapshot();
            self.1.store(true, Ordering::Relaxed);
        }
    }
    impl Drop for Reenters {
        fn drop(&mut self) {
            let _ = self.0.snapshot();
        }
    }
    let semaphore = fixed(1);
    let look = || Waker::from(Arc::new(Reenters(semaphore.clone(), AtomicBool::new(false))));
    let permit = semaphore.try_acquire().unwrap();
    let mut woken = Box::pin(semaphore.acquire());
    // Replaced, dropped while waiting, woken, and left behind: each in its own way.
    assert!(woken.as_mut().poll(&mut Context::from_waker(&look())).is_pending());
    assert!(woken.as_mut().poll(&mut Context::from_waker(&look())).is_pending());
    let mut cancelled = Box::pin(semaphore.acquire());
    assert!(cancelled.as_mut().poll(&mut Context::from_waker(&look())).is_pending());
    drop(cancelled);
    drop(permit);
    let answer = woken.as_mut().poll(&mut Context::from_waker(&look()));
    assert!(answer.is_ready());
    let mut refused = Box::pin(semaphore.acquire());
    assert!(refused.as_mut().poll(&mut Context::from_waker(&look())).is_pending());
    let mut drained = Box::pin(semaphore.drained());
    assert!(drained.as_mut().poll(&mut Context::from_waker(&look())).is_pending());
    assert!(drained.as_mut().poll(&mut Context::from_waker(&look())).is_pending());
    semaphore.close();
    drop((answer, drained));
}

#[tokio::test(start_paused = true)]
async fn a_time_out_leaves_the_queue_and_moves_no_permit() {
    let semaphore = fixed(1);
    let permit = semaphore.acquire().await.unwrap();
    let start = Instant::now();
    let late = semaphore.acquire_by(start + Duration::from_secs(5)).await;
    assert_eq!(late.unwrap_err(), AcquireByError::TimedOut);
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    assert_eq!(semaphore.snapshot().waiting, 0);
    drop(permit);
    assert_eq!(semaphore.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_permit_that_comes_before_the_deadline_is_taken() {
    let semaphore = fixed(1);
    let permit = semaphore.acquire_owned().await.unwrap();
    let release = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(3)).await;
        drop(permit);
    });
    let start = Instant::now();
    let permit = semaphore.acquire_by(start + Duration::from_secs(5)).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(3));
    drop(permit);
    release.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_thousand_time_outs_at_the_moment_of_the_grant_eat_no_permit() {
    let semaphore = fixed(1);
    for round in 0..1000 {
        let permit = semaphore.acquire_owned().await.unwrap();
        let deadline = Instant::now() + Duration::from_secs(1);
        let release = tokio::spawn(async move {
            tokio::time::sleep_until(deadline).await;
            drop(permit);
        });
        let answer = semaphore.acquire_by(deadline).await;
        assert_eq!(semaphore.snapshot().waiting, 0);
        drop(answer);
        release.await.unwrap();
        assert_eq!(semaphore.in_flight(), 0, "round {round}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_foreign_time_out_around_an_acquire_eats_no_permit() {
    let semaphore = fixed(1);
    let permit = semaphore.acquire().await.unwrap();
    let timed = tokio::time::timeout(Duration::from_secs(1), semaphore.acquire()).await;
    assert!(timed.is_err());
    drop(permit);
    assert!(semaphore.try_acquire().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_passed_still_takes_a_free_permit_and_else_fails_at_once() {
    let semaphore = fixed(1);
    let past = Instant::now();
    tokio::time::advance(Duration::from_secs(1)).await;
    let start = Instant::now();
    let permit = semaphore.acquire_by(past).await.unwrap();
    assert_eq!(semaphore.acquire_by(past).await.unwrap_err(), AcquireByError::TimedOut);
    assert_eq!(start.elapsed(), Duration::ZERO);
    drop(permit);
}

#[tokio::test(start_paused = true)]
async fn a_granted_timed_acquire_that_is_polled_late_keeps_its_permit() {
    let semaphore = fixed(1);
    let permit = semaphore.acquire().await.unwrap();
    let mut late = semaphore.acquire_by(Instant::now() + Duration::from_secs(1));
    assert!(poll(&mut late).is_pending());
    drop(permit);
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(late.await.is_ok());
}

#[test]
fn threads_block_for_permits_and_share_them() {
    let semaphore = fixed(2);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let permit = semaphore.acquire_blocking().unwrap();
                    assert!(semaphore.in_flight() <= 2);
                    permit.success();
                }
            });
        }
    });
    assert_eq!(semaphore.summary().successes, 800);
    assert_eq!(semaphore.snapshot().in_flight, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_on_several_threads_lose_nothing() {
    let semaphore = fixed(3);
    let tasks: Vec<_> = (0..32)
        .map(|number| {
            let semaphore = semaphore.clone();
            tokio::spawn(async move {
                for turn in 0..50 {
                    let permit = semaphore.acquire().await.unwrap();
                    if (number + turn) % 3 == 0 {
                        tokio::task::yield_now().await;
                    }
                    permit.success();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let summary = semaphore.summary();
    assert_eq!((summary.granted, summary.successes), (1600, 1600));
    assert!(summary.peak_in_flight <= 3);
    assert_eq!(take(&semaphore, 3).len(), 3);
}
