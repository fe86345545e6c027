use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tidegate_adaptive_semaphore::{AcquireByError, Closed, TryAcquireError};
use tokio::time::Instant;

use crate::common::{Bell, fixed, poll};

#[tokio::test(start_paused = true)]
async fn as6_a_closed_semaphore_refuses_every_form() {
    let semaphore = fixed(4);
    semaphore.close();
    assert!(semaphore.is_closed());
    assert_eq!(semaphore.acquire().await.unwrap_err(), Closed);
    assert_eq!(semaphore.acquire_owned().await.unwrap_err(), Closed);
    assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
    assert_eq!(semaphore.try_acquire_owned().unwrap_err(), TryAcquireError::Closed);
    assert_eq!(semaphore.acquire_by(Instant::now()).await.unwrap_err(), AcquireByError::Closed);
    let blocking = semaphore.clone();
    let refused = tokio::task::spawn_blocking(move || blocking.acquire_blocking().is_err());
    assert!(refused.await.unwrap());
}

#[test]
fn as6_nothing_reopens_a_closed_semaphore() {
    let semaphore = fixed(4);
    let permit = semaphore.try_acquire().unwrap();
    semaphore.close();
    semaphore.close();
    assert_eq!(semaphore.set_limit(2), 2);
    assert_eq!(semaphore.set_bounds(1..=1), 1);
    assert_eq!(semaphore.set_limit(9), 1);
    semaphore.begin_epoch();
    permit.success();
    assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
    assert!(semaphore.snapshot().closed);
}

#[test]
fn as6_closing_wakes_everybody_who_waits() {
    let semaphore = fixed(1);
    let permit = semaphore.try_acquire().unwrap();
    let bell = Arc::new(Bell::default());
    let mut waiters: Vec<_> = (0..5).map(|_| semaphore.acquire()).collect();
    for waiter in &mut waiters {
        assert!(bell.poll(waiter).is_pending());
    }
    semaphore.close();
    assert_eq!(bell.rung(), 5);
    for waiter in &mut waiters {
        assert!(matches!(poll(waiter), Poll::Ready(Err(Closed))));
    }
    drop(permit);
    assert_eq!(semaphore.in_flight(), 0);
}

#[test]
fn a_grant_made_before_the_close_stands() {
    let semaphore = fixed(1);
    let permit = semaphore.try_acquire().unwrap();
    let mut granted = semaphore.acquire();
    let mut refused = semaphore.acquire();
    assert!(poll(&mut granted).is_pending() && poll(&mut refused).is_pending());
    drop(permit);
    semaphore.close();
    assert!(matches!(poll(&mut refused), Poll::Ready(Err(Closed))));
    assert!(matches!(poll(&mut granted), Poll::Ready(Ok(_))));
    assert_eq!(semaphore.in_flight(), 0);
}

#[test]
fn waiters_dropped_after_the_close_give_back_only_what_they_had() {
    let semaphore = fixed(1);
    let permit = semaphore.try_acquire().unwrap();
    let mut granted = semaphore.acquire();
    let mut refused = semaphore.acquire();
    assert!(poll(&mut granted).is_pending() && poll(&mut refused).is_pending());
    drop(permit);
    semaphore.close();
    drop(refused);
    assert_eq!(semaphore.in_flight(), 1);
    drop(granted);
    assert_eq!(semaphore.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_a_timed_acquire_at_once() {
    let semaphore = fixed(1);
    let permit = semaphore.acquire().await.unwrap();
    let closing = semaphore.clone();
    let close = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        closing.close();
    });
    let start = Instant::now();
    let refused = semaphore.acquire_by(start + Duration::from_secs(60)).await;
    assert_eq!(refused.unwrap_err(), AcquireByError::Closed);
    assert_eq!(start.elapsed(), Duration::from_secs(1));
    close.await.unwrap();
    drop(permit);
}

#[tokio::test]
async fn an_idle_semaphore_is_drained_at_once() {
    let semaphore = fixed(1);
    semaphore.drained().await;
    semaphore.close();
    semaphore.drained().await;
}

#[test]
fn drained_waits_for_the_last_permit_also_one_that_was_granted_and_not_taken() {
    let semaphore = fixed(2);
    let (one, two) = (semaphore.try_acquire().unwrap(), semaphore.try_acquire().unwrap());
    let mut granted = semaphore.acquire();
    assert!(poll(&mut granted).is_pending());
    let bell = Arc::new(Bell::default());
    let mut drained = semaphore.drained();
    assert!(bell.poll(&mut drained).is_pending());
    one.success();
    semaphore.close();
    two.success();
    assert!(bell.poll(&mut drained).is_pending());
    drop(granted);
    assert_eq!(bell.rung(), 1);
    assert!(poll(&mut drained).is_ready());
    assert!(poll(&mut drained).is_ready(), "it looks again and finds nothing in flight");
}

#[test]
fn a_dropped_drain_leaves_no_waker() {
    let semaphore = fixed(1);
    let permit = semaphore.try_acquire().unwrap();
    let bell = Arc::new(Bell::default());
    let mut drained = semaphore.drained();
    assert!(bell.poll(&mut drained).is_pending());
    drop(drained);
    assert_eq!(Arc::strong_count(&bell), 1);
    drop(permit);
    assert_eq!(bell.rung(), 0);
}
