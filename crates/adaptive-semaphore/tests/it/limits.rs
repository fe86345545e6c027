use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use proptest::prelude::*;
use tidegate_adaptive_semaphore::{
    AdaptiveSemaphore, Fixed, Interest, Limit, Outcome, Ramp, Sample, TryAcquireError,
};

use crate::common::{fixed, poll, succeed_saturated, take};

#[test]
fn the_default_starts_at_4_and_takes_24_saturated_successes_for_one_more() {
    let semaphore = AdaptiveSemaphore::new();
    succeed_saturated(&semaphore, 23);
    assert_eq!(semaphore.limit(), 4);
    succeed_saturated(&semaphore, 1);
    assert_eq!(semaphore.limit(), 5);
}

#[test]
fn the_default_grows_to_32_and_no_further() {
    let semaphore = AdaptiveSemaphore::new();
    succeed_saturated(&semaphore, 2000);
    assert_eq!(semaphore.limit(), 32);
    assert_eq!(semaphore.summary().slots_added, 28);
}

#[test]
fn as5_successes_of_a_semaphore_that_is_not_full_grow_nothing() {
    let semaphore = AdaptiveSemaphore::new();
    for _ in 0..1000 {
        semaphore.try_acquire().unwrap().success();
    }
    assert_eq!(semaphore.limit(), 4);
    assert_eq!(semaphore.summary().saturated, 0);
}

#[test]
fn as5_no_algorithm_grows_a_semaphore_that_is_not_full() {
    struct Greedy(Interest);
    impl Limit for Greedy {
        fn interest(&self) -> Interest {
            self.0
        }

        fn on_sample(&mut self, sample: &Sample) -> usize {
            sample.limit + 1
        }
    }
    let timed = AdaptiveSemaphore::builder().initial(3).limit(Greedy(Interest::Latency)).build();
    timed.try_acquire().unwrap().success();
    assert_eq!(timed.limit(), 3, "it was told, because its time was taken");

    let semaphore = AdaptiveSemaphore::builder().initial(3).limit(Greedy(Interest::Verdicts)).build();
    let one = semaphore.try_acquire().unwrap();
    semaphore.try_acquire().unwrap().success();
    assert_eq!(semaphore.limit(), 3);
    // The last free permit was taken: full when granted.
    let all = take(&semaphore, 2);
    drop(one);
    let mut all = all.into_iter();
    all.next().unwrap().success();
    assert_eq!(semaphore.limit(), 3, "the second was not the last one, and one had come back before it");
    all.next().unwrap().success();
    assert_eq!(semaphore.limit(), 4);
}

#[test]
fn as5_a_permit_that_was_waited_for_or_comes_back_to_a_full_semaphore_counts() {
    struct Greedy;
    impl Limit for Greedy {
        fn on_sample(&mut self, sample: &Sample) -> usize {
            sample.limit + 1
        }
    }
    let semaphore = AdaptiveSemaphore::builder().initial(2).limit(Greedy).build();
    let (one, two) = (semaphore.try_acquire().unwrap(), semaphore.try_acquire().unwrap());
    let mut waiter = semaphore.acquire();
    assert!(poll(&mut waiter).is_pending());
    one.ignore();
    two.ignore();
    let Poll::Ready(Ok(waited)) = poll(&mut waiter) else { panic!("not granted") };
    waited.success();
    assert_eq!(semaphore.limit(), 3);
    let first = semaphore.try_acquire().unwrap();
    let _others = take(&semaphore, 2);
    first.success();
    assert_eq!(semaphore.limit(), 4);
}

#[test]
fn an_overload_never_raises_the_limit() {
    struct Perverse;
    impl Limit for Perverse {
        fn on_sample(&mut self, sample: &Sample) -> usize {
            sample.limit + 5
        }
    }
    let semaphore = AdaptiveSemaphore::builder().initial(1).limit(Perverse).build();
    semaphore.try_acquire().unwrap().overload();
    assert_eq!(semaphore.limit(), 1);
}

#[test]
fn successes_between_overloads_still_recover_the_limit() {
    let semaphore = AdaptiveSemaphore::builder().initial(4).limit(Ramp::article()).build();
    for _ in 0..24 {
        succeed_saturated(&semaphore, 1);
        semaphore.try_acquire().unwrap().overload();
    }
    assert_eq!(semaphore.limit(), 5);
}

#[test]
fn a_fixed_limit_stays_where_it_was_set() {
    let semaphore = fixed(10);
    succeed_saturated(&semaphore, 100);
    semaphore.try_acquire().unwrap().overload();
    assert_eq!(semaphore.limit(), 10);
    assert_eq!(semaphore.set_limit(12), 12);
    succeed_saturated(&semaphore, 100);
    assert_eq!(semaphore.limit(), 12);
}

#[test]
fn as3_shrinking_with_every_permit_out_forgets_none() {
    let semaphore = fixed(8);
    let mut permits = take(&semaphore, 8);
    assert_eq!(semaphore.set_limit(2), 2);
    assert_eq!(semaphore.in_flight(), 8);
    while permits.len() > 2 {
        permits.pop();
        assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
    }
    permits.pop();
    assert_eq!(take(&semaphore, 1).len(), 1);
    drop(permits);
    let _both = take(&semaphore, 2);
    assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
}

#[test]
fn as3_shrinking_and_growing_again_with_permits_out_adds_up() {
    let semaphore = fixed(4);
    let permits = take(&semaphore, 4);
    semaphore.set_limit(1);
    assert_eq!(semaphore.set_limit(6), 6);
    let more = take(&semaphore, 2);
    assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
    drop((permits, more));
    assert_eq!(take(&semaphore, 6).len(), 6);
}

#[test]
fn growing_wakes_as_many_as_fit() {
    let semaphore = fixed(1);
    let _permit = semaphore.try_acquire().unwrap();
    let mut waiters: Vec<_> = (0..4).map(|_| semaphore.acquire()).collect();
    for waiter in &mut waiters {
        assert!(poll(waiter).is_pending());
    }
    semaphore.set_limit(3);
    let answers: Vec<_> = waiters.iter_mut().map(poll).collect();
    assert_eq!(answers.iter().filter(|answer| answer.is_ready()).count(), 2);
}

#[test]
fn a_cut_applies_before_the_permit_is_handed_on() {
    let semaphore = AdaptiveSemaphore::builder().initial(4).build();
    let mut permits = take(&semaphore, 4);
    let mut waiter = semaphore.acquire();
    assert!(poll(&mut waiter).is_pending());
    permits.pop().unwrap().overload();
    assert_eq!(semaphore.limit(), 3);
    assert!(poll(&mut waiter).is_pending());
    permits.pop();
    assert!(poll(&mut waiter).is_ready());
}

#[test]
fn as7_a_limit_of_zero_is_one_and_does_not_deadlock() {
    let semaphore = AdaptiveSemaphore::builder().initial(0).bounds(0..=0).build();
    assert_eq!(semaphore.limit(), 1);
    assert_eq!(semaphore.set_limit(0), 1);
    assert!(semaphore.try_acquire().is_ok());
}

#[test]
fn limits_are_taken_into_the_bounds_and_bounds_put_in_order() {
    let semaphore = AdaptiveSemaphore::builder().initial(4).bounds(2..=8).limit(Fixed).build();
    assert_eq!(semaphore.set_limit(100), 8);
    assert_eq!(semaphore.set_limit(1), 2);
    assert_eq!(semaphore.set_bounds(5..=10), 5);
    #[expect(clippy::reversed_empty_ranges, reason = "what a careless caller may pass")]
    let reversed = semaphore.set_bounds(7..=3);
    assert_eq!(reversed, 7);
    let state = semaphore.snapshot();
    assert_eq!((state.min, state.max), (7, 7));
    assert_eq!(semaphore.set_bounds(0..=usize::MAX), 7);
    assert_eq!(semaphore.set_limit(usize::MAX), AdaptiveSemaphore::MAX_LIMIT);
}

#[test]
fn without_bounds_the_initial_limit_makes_room_for_itself() {
    assert_eq!(AdaptiveSemaphore::builder().initial(100).build().limit(), 100);
    assert_eq!(AdaptiveSemaphore::builder().bounds(1..=2).build().limit(), 2);
}

#[test]
fn a_panicking_algorithm_loses_no_permit_and_strands_nobody() {
    struct Broken;
    impl Limit for Broken {
        fn on_sample(&mut self, _: &Sample) -> usize {
            panic!("in an algorithm");
        }
    }
    let semaphore = AdaptiveSemaphore::builder().initial(1).limit(Broken).build();
    let permit = semaphore.try_acquire().unwrap();
    let mut waiter = semaphore.acquire();
    assert!(poll(&mut waiter).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| permit.success())).is_err());
    let Poll::Ready(Ok(permit)) = poll(&mut waiter) else { panic!("stranded") };
    drop(permit);
    assert_eq!(semaphore.in_flight(), 0);
    assert!(semaphore.try_acquire().is_ok());
}

#[test]
fn the_algorithm_is_told_of_limits_set_from_outside() {
    /// Answers the limit it was last told, plus one.
    struct Told(usize);
    impl Limit for Told {
        fn on_sample(&mut self, _: &Sample) -> usize {
            self.0 + 1
        }
        fn on_limit_set(&mut self, limit: usize) {
            self.0 = limit;
        }
    }
    let boxed: Box<dyn Limit> = Box::new(Told(1));
    let semaphore = AdaptiveSemaphore::builder().initial(1).limit(boxed).build();
    semaphore.set_limit(6);
    succeed_saturated(&semaphore, 1);
    assert_eq!(semaphore.limit(), 7);
    semaphore.set_bounds(1..=3);
    semaphore.set_bounds(1..=9);
    succeed_saturated(&semaphore, 1);
    assert_eq!(semaphore.limit(), 4);
}

/// Answers whatever it is told to.
struct Any(Vec<usize>);
impl Limit for Any {
    fn on_sample(&mut self, sample: &Sample) -> usize {
        self.0.pop().unwrap_or(sample.limit)
    }
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![Just(Outcome::Success), Just(Outcome::Overload), Just(Outcome::Ignored)]
}

fn factor() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => any::<f64>(),
        2 => -1.0..2.0,
        1 => prop::sample::select(vec![f64::NAN, 0.0, -0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY]),
    ]
}

fn limit() -> impl Strategy<Value = usize> {
    prop_oneof![3 => 0_usize..50, 1 => any::<usize>()]
}

/// Reports the outcomes one by one; the limit must be at least one and within the bounds, and a permit must be there.
fn as7_holds(semaphore: &AdaptiveSemaphore, outcomes: &[Outcome]) -> Result<(), TestCaseError> {
    for outcome in outcomes {
        let mut permit = semaphore.try_acquire().map_err(|error| TestCaseError::fail(error.to_string()))?;
        permit.set_outcome(*outcome);
        drop(permit);
        let state = semaphore.snapshot();
        prop_assert!(state.limit >= 1 && (state.min..=state.max).contains(&state.limit), "{:?}", state);
    }
    Ok(())
}

proptest! {
    #[test]
    fn as7_no_factor_takes_a_ramp_below_one(
        factor in factor(),
        step in 0_usize..4,
        initial in limit(),
        (low, high) in (limit(), limit()),
        outcomes in prop::collection::vec(outcome(), 0..40),
    ) {
        let ramp = Ramp::new().cut_to(factor).step_every(step);
        let semaphore = AdaptiveSemaphore::builder().initial(initial).bounds(low..=high).limit(ramp).build();
        as7_holds(&semaphore, &outcomes)?;
        let semaphore = AdaptiveSemaphore::builder().initial(initial).bounds(low..=high).limit(ramp.up_only()).build();
        as7_holds(&semaphore, &outcomes)?;
        let semaphore = AdaptiveSemaphore::builder().initial(initial).bounds(low..=high).limit(Fixed).build();
        as7_holds(&semaphore, &outcomes)?;
    }

    #[test]
    fn as7_no_algorithm_takes_the_limit_below_one_or_out_of_bounds(
        answers in prop::collection::vec(limit(), 0..40),
        initial in limit(),
        (low, high) in (limit(), limit()),
        outcomes in prop::collection::vec(outcome(), 0..40),
    ) {
        let semaphore = AdaptiveSemaphore::builder().initial(initial).bounds(low..=high).limit(Any(answers)).build();
        as7_holds(&semaphore, &outcomes)?;
    }
}
