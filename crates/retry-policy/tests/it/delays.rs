//! How long the waits are.

use std::time::Duration;

use proptest::prelude::*;
use tidegate_retry_policy::{Class, Decision, Jitter, Progress, RetryHint, RetryPolicy, StopReason};

use crate::support::{millis, secs};

#[test]
fn the_persistence_preset_waits_50_100_200_and_400_ms_between_its_five_calls() {
    let delays: Vec<_> = RetryPolicy::default().delays(1).collect();
    assert_eq!(delays, [50, 100, 200, 400].map(millis));
}

#[test]
fn delays_stop_growing_at_the_maximum() {
    let delays: Vec<_> = RetryPolicy::new().max_attempts(8).delays(1).collect();
    assert_eq!(delays, [50, 100, 200, 400, 800, 1000, 1000].map(millis));
}

#[test]
fn a_seed_fixes_the_jitter() {
    let policy = RetryPolicy::new().max_attempts(50).jitter(Jitter::Full);
    assert!(policy.delays(3).eq(policy.delays(3)));
    assert!(policy.delays(3).ne(policy.delays(4)));
}

/// Smallest and largest of many delays whose base is 1 s.
fn spread(jitter: Jitter) -> (Duration, Duration) {
    let policy = RetryPolicy::new()
        .max_attempts(10_000)
        .initial_delay(secs(1))
        .factor(1.0)
        .max_delay(secs(10))
        .jitter(jitter);
    let delays: Vec<_> = policy.delays(5).collect();
    (delays.iter().min().copied().unwrap_or_default(), delays.iter().max().copied().unwrap_or_default())
}

#[test]
fn each_jitter_fills_its_range() {
    let fills = |(low, high): (Duration, Duration), from: u64, to: u64| {
        low >= millis(from) && low < millis(from + 50) && high <= millis(to) && high > millis(to - 50)
    };
    assert_eq!(spread(Jitter::None), (secs(1), secs(1)));
    assert!(fills(spread(Jitter::Full), 0, 1000));
    assert!(fills(spread(Jitter::Equal), 500, 1000));
    assert!(fills(spread(Jitter::Fraction(0.25)), 750, 1250));
    assert!(fills(spread(Jitter::Decorrelated), 1000, 10_000));
    assert_eq!(spread(Jitter::Fraction(f64::NAN)), (secs(1), secs(1)));
    assert!(fills(spread(Jitter::Fraction(f64::INFINITY)), 0, 2000));
}

#[test]
fn rp1_jitter_never_exceeds_the_maximum() {
    for jitter in [Jitter::Full, Jitter::Equal, Jitter::Decorrelated, Jitter::Fraction(1.0)] {
        let policy = RetryPolicy::new().max_attempts(1000).jitter(jitter);
        assert!(policy.delays(9).all(|delay| delay <= secs(1)), "{jitter:?}");
    }
}

#[test]
fn rp1_jitter_never_undercuts_the_servers_hint() {
    let hint = RetryHint::after(secs(60));
    for jitter in [Jitter::None, Jitter::Full, Jitter::Equal, Jitter::Decorrelated, Jitter::Fraction(1.0)] {
        let policy = RetryPolicy::new().max_attempts(100).jitter(jitter);
        let mut progress = Progress::seeded(2);
        for _ in 1..100 {
            let decision = policy.decide(&mut progress, Class::Throttled(hint), Duration::ZERO);
            assert_eq!(decision, Decision::Retry { delay: secs(60) }, "{jitter:?}");
        }
    }
}

#[test]
fn rp1_a_first_delay_above_the_maximum_and_a_tiny_jitter_are_no_panic() {
    let policy = RetryPolicy::new().initial_delay(secs(100)).max_delay(millis(10));
    assert!(policy.delays(0).eq([millis(10); 4]));
    let tiny = policy.initial_delay(Duration::from_nanos(1)).jitter(Jitter::Fraction(1e-12));
    assert_eq!(tiny.delays(0).next(), Some(Duration::from_nanos(1)));
}

#[test]
fn rp1_the_longest_duration_is_a_delay_like_any_other() {
    let policy = RetryPolicy::new().initial_delay(Duration::MAX).max_delay(Duration::MAX);
    assert!(policy.delays(0).eq([Duration::MAX; 4]));
}

#[test]
fn a_first_delay_of_zero_stays_zero() {
    let policy = RetryPolicy::new().initial_delay(Duration::ZERO).factor(f64::INFINITY);
    assert!(policy.delays(0).eq([Duration::ZERO; 4]));
}

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::from_nanos(1)),
        Just(Duration::MAX),
        (0..10_000_u64).prop_map(Duration::from_millis),
        (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(secs, nanos)| Duration::new(secs, nanos)),
    ]
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![prop::num::f64::ANY, 0.0..10.0_f64, Just(f64::NAN), Just(f64::INFINITY)]
}

fn jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        Just(Jitter::None),
        Just(Jitter::Full),
        Just(Jitter::Equal),
        Just(Jitter::Decorrelated),
        number().prop_map(Jitter::Fraction),
    ]
}

#[derive(Clone, Copy, Debug)]
struct Numbers {
    policy: RetryPolicy,
    max_delay: Duration,
    max_hint: Duration,
    deadline: Duration,
    calls: u32,
}

prop_compose! {
    fn numbers()(
        initial in duration(), factor in number(), max_delay in duration(), jitter in jitter(),
        calls in prop_oneof![0..40_u32, any::<u32>()],
        deadline in duration(), timeout in duration(), max_hint in duration(), free in any::<bool>(),
    ) -> Numbers {
        let policy = RetryPolicy::new()
            .initial_delay(initial).factor(factor).max_delay(max_delay).jitter(jitter).max_attempts(calls)
            .deadline(deadline).attempt_timeout(timeout).max_hint(max_hint).throttled_is_free(free);
        Numbers { policy, max_delay, max_hint, deadline, calls }
    }
}

fn class() -> impl Strategy<Value = Class> {
    prop_oneof![
        6 => Just(Class::Transient),
        6 => duration().prop_map(|delay| Class::Throttled(RetryHint::after(delay))),
        1 => Just(Class::Terminal),
        1 => Just(Class::Fatal),
    ]
}

proptest! {
    #[test]
    fn rp1_delays_alone_are_at_most_the_maximum(numbers in numbers(), seed in any::<u64>()) {
        for delay in numbers.policy.delays(seed).take(200) {
            prop_assert!(delay <= numbers.max_delay);
        }
    }

    #[test]
    fn rp1_rp2_rp3_every_decision_keeps_to_the_policy(
        numbers in numbers(),
        seed in any::<u64>(),
        failures in prop::collection::vec((class(), duration()), 1..60),
    ) {
        let Numbers { policy, max_delay, max_hint, deadline, calls } = numbers;
        let mut progress = Progress::seeded(seed);
        for (class, elapsed) in failures {
            let before = progress.charged();
            let hint = class.hint().map_or(Duration::ZERO, RetryHint::delay);
            match policy.decide(&mut progress, class, elapsed) {
                Decision::Retry { delay } => {
                    prop_assert!(class.is_retryable());
                    if progress.charged() > before {
                        prop_assert!(delay >= hint, "shorter than the server asks");
                        prop_assert!(progress.charged() < calls.max(1));
                    }
                    prop_assert!(delay <= max_delay.max(hint), "longer than the policy or the server asks");
                    prop_assert!(hint <= max_hint);
                    let waits = delay.max(hint);
                    prop_assert!(deadline == Duration::MAX || elapsed.saturating_add(waits) < deadline);
                }
                Decision::Stop(StopReason::HintTooLong) => prop_assert!(hint > max_hint),
                Decision::Stop(StopReason::Attempts) => prop_assert!(progress.charged() >= calls),
                Decision::Stop(_) => {}
                other => prop_assert!(false, "unknown: {other:?}"),
            }
        }
    }
}
