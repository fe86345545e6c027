//! What is decided after a failure.

use std::time::Duration;

use tidegate_retry_policy::{Class, Decision, Progress, RetryHint, RetryPolicy, StopReason};

use crate::support::{millis, secs};

const STOP: fn(StopReason) -> Decision = Decision::Stop;

fn throttled(hint: Duration) -> Class {
    Class::Throttled(RetryHint::after(hint))
}

#[test]
fn rp2_five_attempts_are_five_calls() {
    let policy = RetryPolicy::new();
    let mut progress = Progress::seeded(0);
    let decisions: Vec<_> =
        (0..5).map(|_| policy.decide(&mut progress, Class::Transient, Duration::ZERO)).collect();
    let retries = [50, 100, 200, 400].map(|delay| Decision::Retry { delay: millis(delay) });
    assert_eq!(decisions[..4], retries);
    assert_eq!(decisions[4], STOP(StopReason::Attempts));
}

#[test]
fn rp2_no_attempts_count_as_one() {
    let mut progress = Progress::seeded(0);
    let decision = RetryPolicy::new().max_attempts(0).decide(&mut progress, Class::Transient, Duration::ZERO);
    assert_eq!(decision, STOP(StopReason::Attempts));
    assert_eq!(RetryPolicy::new().max_attempts(0).delays(0).count(), 0);
}

#[test]
fn terminal_and_fatal_failures_stop_at_once() {
    let mut progress = Progress::seeded(0);
    let mut after = |class| RetryPolicy::new().decide(&mut progress, class, Duration::ZERO);
    assert_eq!(after(Class::Terminal), STOP(StopReason::Terminal));
    assert_eq!(after(Class::Fatal), STOP(StopReason::Fatal));
}

#[test]
fn rp3_a_wait_that_would_leave_no_time_for_a_call_is_not_begun() {
    let policy = RetryPolicy::new().deadline(millis(100));
    let after = |elapsed| policy.decide(&mut Progress::seeded(0), Class::Transient, elapsed);
    assert_eq!(after(millis(49)), Decision::Retry { delay: millis(50) });
    assert_eq!(after(millis(50)), STOP(StopReason::Deadline), "the wait would end at the deadline");
    assert_eq!(after(millis(500)), STOP(StopReason::Deadline));
    assert_eq!(after(Duration::MAX), STOP(StopReason::Deadline));
}

#[test]
fn a_hint_longer_than_allowed_stops() {
    let after =
        |policy: RetryPolicy, hint| policy.decide(&mut Progress::seeded(0), throttled(hint), Duration::ZERO);
    assert_eq!(after(RetryPolicy::new(), RetryPolicy::MAX_HINT), Decision::Retry { delay: secs(600) });
    assert_eq!(after(RetryPolicy::new(), secs(601)), STOP(StopReason::HintTooLong));
    assert_eq!(after(RetryPolicy::new().max_hint(secs(5)), secs(6)), STOP(StopReason::HintTooLong));
    let free = RetryPolicy::new().throttled_is_free(true);
    assert_eq!(after(free, secs(601)), STOP(StopReason::HintTooLong));
}

#[test]
fn a_throttled_call_is_charged_and_waits_where_no_gate_does_it() {
    let policy = RetryPolicy::new().max_attempts(2);
    let mut progress = Progress::seeded(0);
    let mut after = || policy.decide(&mut progress, throttled(millis(20)), Duration::ZERO);
    assert_eq!(after(), Decision::Retry { delay: millis(50) }, "the back-off is longer than the hint");
    assert_eq!(after(), STOP(StopReason::Attempts));
}

#[test]
fn a_throttled_call_behind_a_gate_is_charged_to_the_deadline_only() {
    let policy = RetryPolicy::new().max_attempts(2).throttled_is_free(true).deadline(secs(60));
    let mut progress = Progress::seeded(0);
    for _ in 0..100 {
        let decision = policy.decide(&mut progress, throttled(secs(3)), secs(1));
        assert_eq!(decision, Decision::Retry { delay: Duration::ZERO });
    }
    assert_eq!(progress.charged(), 0);
    assert_eq!(policy.decide(&mut progress, throttled(secs(3)), secs(57)), STOP(StopReason::Throttled));
    assert_eq!(policy.decide(&mut progress, Class::Throttled(None), secs(60)), STOP(StopReason::Throttled));
    let transient = policy.decide(&mut progress, Class::Transient, secs(1));
    assert_eq!(transient, Decision::Retry { delay: millis(50) }, "the back-off did not advance meanwhile");
}

#[test]
fn a_calls_limit_is_its_own_or_what_is_left() {
    let policy = RetryPolicy::new();
    assert_eq!(policy.attempt_limit(secs(5)), None);
    assert_eq!(policy.attempt_timeout(secs(2)).attempt_limit(secs(5)), Some(secs(2)));
    let both = policy.attempt_timeout(secs(2)).deadline(secs(10));
    assert_eq!(both.attempt_limit(secs(5)), Some(secs(2)));
    assert_eq!(both.attempt_limit(secs(9)), Some(secs(1)));
    assert_eq!(both.time_left(secs(11)), Some(Duration::ZERO));
}
