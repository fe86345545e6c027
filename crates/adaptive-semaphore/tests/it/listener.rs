use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock};

use tidegate_adaptive_semaphore::{AdaptiveSemaphore, Cause, Ramp};

use crate::common::{succeed_saturated, take};

#[test]
fn every_move_of_the_limit_is_told_with_its_cause_and_number() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let semaphore = AdaptiveSemaphore::builder()
        .limit(Ramp::new().step_every(1))
        .on_change(move |change| {
            log.lock().unwrap().push((change.number, change.from, change.to, change.cause, change.epoch));
        })
        .build();
    succeed_saturated(&semaphore, 4);
    take(&semaphore, 1).pop().unwrap().overload();
    semaphore.set_limit(9);
    semaphore.set_limit(9);
    semaphore.set_bounds(1..=6);
    let expected = [
        (1, 4, 5, Cause::Grown, 0),
        (2, 5, 3, Cause::Cut, 0),
        (3, 3, 9, Cause::Set, 1),
        (4, 9, 6, Cause::Set, 1),
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[test]
fn a_listener_may_call_the_semaphore() {
    let semaphore: Arc<OnceLock<AdaptiveSemaphore>> = Arc::default();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (mine, log) = (Arc::clone(&semaphore), Arc::clone(&seen));
    let built = AdaptiveSemaphore::builder()
        .on_change(move |_| {
            if let Some(semaphore) = mine.get() {
                log.lock().unwrap().push(semaphore.limit());
                semaphore.set_limit(2);
            }
        })
        .build();
    semaphore.set(built.clone()).unwrap();
    built.set_limit(8);
    assert_eq!(*seen.lock().unwrap(), [8, 2]);
}

#[test]
fn a_panicking_listener_leaves_the_semaphore_sound() {
    let semaphore = AdaptiveSemaphore::builder().on_change(|_| panic!("in a listener")).build();
    assert!(catch_unwind(AssertUnwindSafe(|| semaphore.set_limit(2))).is_err());
    assert_eq!(semaphore.limit(), 2);
    assert_eq!(take(&semaphore, 2).len(), 2);
    assert_eq!(semaphore.in_flight(), 0);
}
