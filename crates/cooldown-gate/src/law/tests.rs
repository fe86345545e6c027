//! The rules one by one, and that no order of events breaks them.
#![expect(clippy::unwrap_used, reason = "a helper of a test fails as the test itself would")]

use proptest::prelude::*;

use super::*;

const SECOND: u64 = 1_000_000_000;

/// A law and what it is told of: the clock, and how many calls went through.
struct Service {
    law: Law,
    now: u64,
    through: u32,
}

impl Service {
    fn new() -> Self {
        Self { law: Law::new(Pace::new()), now: 0, through: 0 }
    }

    fn after(&mut self, seconds: f64) -> &mut Self {
        self.now += ticks(seconds);
        self
    }

    /// So many calls go through, evenly over so many seconds, each after `waited` for its slot.
    fn calls(&mut self, count: u32, over: f64, waited: bool) -> usize {
        let raised = (0..count).filter(|_| {
            self.law.sent(waited);
            self.now += ticks(over / f64::from(count));
            self.through += 1;
            self.law.landed(self.now, self.through, Some(SECOND / 10))
        });
        raised.count()
    }

    fn trip(&mut self, crowd: u32) -> &mut Self {
        self.law.trip(self.now, self.through, crowd);
        self
    }

    /// Reopens after `outage` seconds, by a probe that took a tenth of one.
    fn reopen(&mut self, outage: f64) -> &mut Self {
        self.after(outage);
        self.through += 1;
        self.law.reopen(self.now, self.through, Some(SECOND / 10));
        self
    }

    fn pace(&self) -> f64 {
        self.law.pace().unwrap()
    }

    /// Two trips with 100 calls in 10 s of open time between them, and an outage of 10 s.
    fn bracketed() -> Self {
        let mut service = Self::new();
        service.trip(4).reopen(10.0);
        service.law.forget();
        service.calls(99, 10.0, false);
        service.trip(4);
        service
    }
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-6, "{found} instead of {expected}");
}

#[test]
fn innocent_until_tripped() {
    let mut service = Service::new();
    service.calls(1000, 1.0, false);
    assert_eq!((service.law.pace(), service.law.interval(), service.law.pause()), (None, 0, 0));
    assert!(!service.law.forgives(service.now), "there is no pace to lower");
}

#[test]
fn the_first_trip_lets_out_at_most_half_of_its_crowd_per_round_trip() {
    let mut service = Service::new();
    service.trip(40).reopen(0.5);
    // Nothing had gone through by the trip, so one call in the outage is all that is known to be sustainable.
    assert_near(service.pace(), mean(2.0, 400.0, BEFORE));
    assert!(service.pace() < 200.0 && !service.law.is_growing());

    let mut busy = Service::new();
    busy.calls(10_000, 1.0, false);
    busy.trip(40).reopen(0.5);
    assert_near(busy.pace(), 200.0);
}

#[test]
fn a_closing_that_says_nothing_about_the_rate_begins_to_grow_at_one_a_round_trip() {
    let mut service = Service::new();
    service.law.close(service.now);
    service.reopen(10.0);
    assert_near(service.pace(), 10.0);
    assert!(service.law.is_growing());
    assert_eq!(service.calls(3, 0.31, true), 3, "doubled after each round trip");
    assert_near(service.pace(), 80.0);
    service.law.forget();
    assert_eq!(service.law.pace(), None);
}

#[test]
fn r1_two_trips_bracket_the_pace() {
    let service = Service::bracketed();
    // 100 calls, with the probe's: in 10 s of open time, and in 20 s altogether.
    assert_near(service.pace(), mean(5.0, 10.0, BETWEEN));
    assert_near(service.law.hi, 10.0);
}

#[test]
fn r1_where_the_outage_is_short_the_pace_is_nearer_to_what_was_sustained() {
    let mut service = Service::new();
    service.trip(4).reopen(0.5);
    service.law.forget();
    service.calls(99, 9.5, false);
    service.trip(4);
    assert_near(service.pace(), mean(10.0, 100.0 / 9.5, NEAR));
}

#[test]
fn r1_fewer_calls_than_tell_something_halve_the_pace_and_are_merged_with_what_comes() {
    let mut service = Service::bracketed();
    let pace = service.pace();
    service.reopen(10.0).calls(1, 1.0, true);
    service.trip(1);
    assert_near(service.pace(), pace / 2.0);
    assert_near(service.law.hi, pace);

    service.reopen(10.0).calls(7, 9.0, true);
    service.trip(1);
    // Both intervals together: 10 calls with the two probes', in 10 s of open time of 30.
    assert_near(service.law.hi, 1.0);
    assert_near(service.pace(), mean(1.0 / 3.0, 1.0, BETWEEN));
}

#[test]
fn r2_a_trip_after_a_raise_returns_to_the_pace_that_survived() {
    let mut service = Service::bracketed();
    let survived = service.pace();
    service.reopen(1.0);
    assert_eq!(service.calls(5, 2.0, true), 1);
    let raised = service.pace();
    assert!(raised > survived && raised < service.law.hi, "{raised}");
    service.trip(4);
    assert!(service.pace() <= survived, "{} is above {survived}", service.pace());
    assert_near(service.law.hi, raised);
}

#[test]
fn r3_a_pace_that_nobody_waits_for_is_not_raised() {
    let mut service = Service::bracketed();
    service.reopen(1.0);
    let pace = service.pace();
    assert_eq!(service.calls(1000, 1000.0, false), 0);
    assert_near(service.pace(), pace);
}

#[test]
fn r3_half_of_the_sends_have_to_wait() {
    for (waited, expected) in [(49, 0), (50, 1)] {
        let mut service = Service::bracketed();
        service.reopen(1.0);
        for send in 0..99 {
            service.law.sent(send < waited);
        }
        assert_eq!(service.after(5.0).calls(1, 0.1, false), 0, "the bracket needs {ENOUGH} calls");
        service.through += 50;
        service.law.sent(true);
        service.through += 1;
        let raised = service.law.landed(service.now, service.through, None);
        assert_eq!(usize::from(raised), expected, "{waited} of 100 and the last");
    }
}

#[test]
fn r4_a_wide_bracket_is_searched_up_to_its_geometric_mean() {
    let mut service = Service::bracketed();
    service.reopen(1.0);
    service.law.hi = 1.4 * service.pace();
    let pace = service.pace();
    assert_eq!(service.calls(3, 10.0, true), 0, "fewer than {ENOUGH} calls");
    assert_eq!(service.calls(1, 0.1, true), 1);
    assert_near(service.pace(), pace * 1.4_f64.sqrt());
}

#[test]
fn r4_a_wide_bracket_is_not_searched_before_the_time_that_an_outage_takes() {
    let mut service = Service::bracketed();
    service.reopen(10.0);
    assert_eq!(service.calls(20, 9.9, true), 0);
    assert_eq!(service.calls(1, 0.2, true), 1);
}

#[test]
fn r4_a_narrow_bracket_is_left_by_steps_that_double() {
    let mut service = Service::bracketed();
    service.reopen(1.0);
    service.law.hi = service.pace();
    let mut pace = service.pace();
    for step in [0.1, 0.2, 0.4, 0.8, 1.0, 1.0] {
        assert_eq!(service.calls(SURE - 1, 100.0, true), 0, "fewer than {SURE} calls");
        assert_eq!(service.calls(1, 0.1, true), 1);
        pace *= 1.0 + step;
        assert_near(service.pace(), pace);
    }
    service.trip(4).reopen(1.0);
    service.law.hi = service.pace();
    let pace = service.pace();
    service.calls(SURE, 100.0, true);
    assert_near(service.pace(), pace * (1.0 + STEP));
}

#[test]
fn r5_the_first_throttle_slows_and_the_second_within_a_round_trip_does_not_count_as_one() {
    let mut service = Service::bracketed();
    service.reopen(1.0).calls(20, 0.9, true);
    assert!(service.law.forgives(service.now));
    let pause = service.law.slow(service.now, service.through);
    assert_eq!(pause, service.law.interval(), "it lets nobody in for an interval");

    let lowered = service.pace();
    assert!(!service.law.forgives(service.now + pause));
    service.trip(4);
    assert_near(service.pace(), lowered);
}

#[test]
fn r5_a_throttle_is_forgiven_again_later() {
    let mut service = Service::bracketed();
    service.reopen(1.0).calls(20, 0.9, true);
    let pause = service.law.slow(service.now, service.through);
    let again = pause + service.law.interval().max(SECOND / 10);
    assert!(!service.law.forgives(service.now + again));
    assert!(service.law.forgives(service.now + again + 10));
}

#[test]
fn the_time_of_a_closing_that_is_no_verdict_is_not_held_against_the_service() {
    let mut excused = Service::bracketed();
    excused.reopen(1.0);
    excused.law.close(excused.now);
    excused.after(3600.0);
    excused.law.excuse(excused.now);
    excused.law.reopen(excused.now, excused.through, None);
    let mut other = Service::bracketed();
    other.reopen(1.0);
    for service in [&mut excused, &mut other] {
        service.law.pace = Some(1.0);
        service.calls(99, 10.0, false);
        service.trip(4);
    }
    assert_near(excused.pace(), other.pace());
}

#[test]
fn what_is_restored_is_within_the_bounds_and_nonsense_is_nothing() {
    for nonsense in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut law = Law::new(Pace::new());
        law.restore(nonsense, SECOND);
        assert_eq!(law.pace(), None, "{nonsense}");
    }
    let mut law = Law::new(Pace::new().at_least(2.0).at_most(5.0));
    for (pace, expected) in [(1.0, 2.0), (3.0, 3.0), (9.0, 5.0), (f64::MIN_POSITIVE, 2.0), (f64::MAX, 5.0)] {
        law.restore(pace, u64::MAX);
        assert_eq!(law.pace(), Some(expected));
        assert!(law.outage <= OUTAGE_MOST);
    }
}

/// What may happen to a law, whether a gate would do it or not.
#[derive(Clone, Copy, Debug)]
enum Step {
    Pass(u64),
    Through(u32),
    Sent(bool),
    Landed(Option<u64>),
    Slow,
    Trip(u32),
    Close,
    Fail,
    Reopen(Option<u64>),
    Excuse,
    Forget,
    Restore(f64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let round_trip = || prop::option::of(prop_oneof![0..10 * SECOND, any::<u64>()]);
    prop_oneof![
        4 => prop_oneof![0..SECOND, 0..1000 * SECOND, any::<u64>()].prop_map(Step::Pass),
        4 => prop_oneof![0_u32..100, any::<u32>()].prop_map(Step::Through),
        4 => any::<bool>().prop_map(Step::Sent),
        8 => round_trip().prop_map(Step::Landed),
        2 => Just(Step::Slow),
        4 => prop_oneof![0_u32..100, any::<u32>()].prop_map(Step::Trip),
        1 => Just(Step::Close),
        1 => Just(Step::Fail),
        4 => round_trip().prop_map(Step::Reopen),
        1 => Just(Step::Excuse),
        1 => Just(Step::Forget),
        1 => (any::<f64>(), any::<u64>()).prop_map(|(pace, outage)| Step::Restore(pace, outage)),
    ]
}

fn run(steps: &[Step], slowest: f64, fastest: f64) -> Result<(), TestCaseError> {
    let mut law = Law::new(Pace::new().at_least(slowest).at_most(fastest));
    let (mut now, mut through) = (0_u64, 0_u32);
    for step in steps {
        let before = law.pace();
        match *step {
            Step::Pass(time) => now = now.saturating_add(time),
            Step::Through(calls) => through = through.wrapping_add(calls),
            Step::Sent(waited) => law.sent(waited),
            Step::Landed(round_trip) => {
                let raised = law.landed(now, through, round_trip);
                prop_assert_eq!(raised, law.pace() > before, "a landing only raises, and says so");
                if let (Some(before), Some(pace)) = (before, law.pace()) {
                    prop_assert!(pace <= 2.0 * before * 1.000_001, "at most doubled: {before} to {pace}");
                }
            }
            Step::Slow if law.forgives(now) => {
                let pause = law.slow(now, through);
                prop_assert!(pause >= 1 && !law.forgives(now));
            }
            Step::Slow => {}
            Step::Trip(crowd) => law.trip(now, through, crowd),
            Step::Close => law.close(now),
            Step::Fail => law.fail(now),
            Step::Reopen(round_trip) => {
                law.reopen(now, through, round_trip);
                prop_assert!(law.pace().is_some());
            }
            Step::Excuse => law.excuse(now),
            Step::Forget => law.forget(),
            Step::Restore(pace, outage) => law.restore(pace, outage),
        }
        if let Some(pace) = law.pace() {
            prop_assert!((slowest..=fastest).contains(&pace), "{pace} after {step:?}");
            prop_assert!(law.interval() >= 1);
        }
        prop_assert!(law.hi > 0.0, "{} after {:?}", law.hi, step);
        prop_assert!(law.outage >= 0.0, "{} after {:?}", law.outage, step);
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_order_of_events_keeps_the_pace_within_its_bounds(
        steps in prop::collection::vec(step(), 0..200),
        slowest in 0.01..10.0_f64,
        spread in 1.0..1000.0_f64,
    ) {
        run(&steps, slowest, slowest * spread)?;
    }
}
