use std::time::Duration;

use tidegate_adaptive_semaphore::{AdaptiveSemaphore, Outcome, Ramp};
use tokio::time::advance;

use crate::common::{poll, succeed_saturated, take};

#[tokio::test(start_paused = true)]
async fn a_life_in_numbers() {
    let semaphore = AdaptiveSemaphore::builder().initial(2).limit(Ramp::new().step_every(1)).build();
    // Before the first permit no time counts.
    advance(Duration::from_secs(100)).await;
    take(&semaphore, 1).pop().unwrap().ignore();
    advance(Duration::from_secs(10)).await;
    succeed_saturated(&semaphore, 2); // 3
    advance(Duration::from_secs(10)).await;
    succeed_saturated(&semaphore, 3); // 4
    advance(Duration::from_secs(20)).await;
    for permit in take(&semaphore, 2) {
        permit.overload(); // 3, and a stale one
    }
    advance(Duration::from_secs(10)).await;

    let summary = semaphore.summary();
    assert_eq!((summary.initial_limit, summary.peak_limit, summary.final_limit), (2, 4, 3));
    assert_eq!(summary.elapsed, Duration::from_secs(50));
    assert_eq!(summary.time_to_peak, Duration::from_secs(20));
    assert_eq!((summary.slots_added, summary.time_ramping), (2, Duration::from_secs(20)));
    assert!((summary.slots_added_per_second() - 0.1).abs() < 1e-9);
    let mean = (2.0 * 10.0 + 3.0 * 10.0 + 4.0 * 20.0 + 3.0 * 10.0) / 50.0;
    assert!((summary.mean_limit - mean).abs() < 1e-9, "{}", summary.mean_limit);
    assert_eq!((summary.successes, summary.overloads, summary.stale), (5, 2, 1));
    assert_eq!((summary.cuts, summary.epochs), (1, 1));
    assert_eq!(summary.granted, summary.successes + summary.overloads + summary.ignored);
    assert_eq!(summary.saturated, 5);
    assert!((summary.saturated_share() - 5.0 / 7.0).abs() < 1e-9);
    assert_eq!(summary.peak_in_flight, 3);
}

#[test]
fn a_semaphore_without_a_life_has_plain_numbers() {
    let summary = AdaptiveSemaphore::new().summary();
    assert_eq!((summary.initial_limit, summary.peak_limit, summary.final_limit), (4, 4, 4));
    assert_eq!(summary.elapsed, Duration::ZERO);
    assert!((summary.mean_limit - 4.0).abs() < 1e-9);
    assert!(summary.slots_added_per_second().abs() < 1e-9);
    assert!(summary.saturated_share().abs() < 1e-9);
}

#[test]
fn a_permit_counts_by_the_outcome_it_has_when_it_comes_back() {
    let semaphore = AdaptiveSemaphore::new();
    let mut permit = semaphore.try_acquire().unwrap();
    permit.set_outcome(Outcome::Overload);
    permit.set_outcome(Outcome::Success);
    drop(permit);
    drop(semaphore.try_acquire().unwrap());
    let mut permit = semaphore.try_acquire().unwrap();
    permit.set_outcome(Outcome::Overload);
    permit.ignore();
    let summary = semaphore.summary();
    assert_eq!((summary.successes, summary.overloads, summary.ignored), (1, 0, 2));
}

#[test]
fn who_waited_is_counted_once_served() {
    let semaphore = AdaptiveSemaphore::builder().initial(1).build();
    let permit = semaphore.try_acquire().unwrap();
    let mut waiter = semaphore.acquire();
    assert!(poll(&mut waiter).is_pending());
    let state = semaphore.snapshot();
    assert_eq!((state.in_flight, state.waiting), (1, 1));
    assert_eq!(semaphore.summary().waited, 0);
    drop(permit);
    assert!(poll(&mut waiter).is_ready());
    let summary = semaphore.summary();
    assert_eq!((summary.granted, summary.waited), (2, 1));
}
