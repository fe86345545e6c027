//! What one call does, attempt by attempt.

use std::future::pending;
use std::time::Duration;

use tidegate_core::Class;
use tidegate_retry_policy::{Jitter, RetryPolicy};
use tidegate_throttle::{Again, Outcomes, StopReason, Throttle};
use tokio::time::Instant;

use crate::{BUSY, GONE, Refused, SLOW_DOWN, builder, wait_for};

#[tokio::test(start_paused = true)]
async fn a_success_takes_one_attempt_and_no_time() {
    let throttle = builder().build();
    let began = Instant::now();
    let value = throttle.call(|attempt| async move { Ok::<_, Refused>(attempt.number()) }).await;
    assert_eq!(value.unwrap(), 1);
    assert_eq!(began.elapsed(), Duration::ZERO);
    let stats = throttle.stats();
    assert_eq!((stats.calls, stats.attempts, stats.succeeded, stats.retries), (1, 1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn transient_failures_are_retried_until_the_attempts_are_spent() {
    let policy = RetryPolicy::default().max_attempts(3).jitter(Jitter::None);
    let throttle = builder().retry(policy).build();
    let began = Instant::now();
    let error = throttle.call(|_| async { Err::<(), _>(BUSY) }).await.unwrap_err();
    assert_eq!((error.reason, error.attempts), (StopReason::Attempts, 3));
    assert_eq!(began.elapsed(), Duration::from_millis(50 + 100));
    assert_eq!(error.into_error(), Some(BUSY));
}

#[tokio::test(start_paused = true)]
async fn a_terminal_failure_is_not_retried() {
    let throttle = builder().build();
    let error = throttle.call(|_| async { Err::<(), _>(GONE) }).await.unwrap_err();
    assert_eq!((error.reason, error.attempts), (StopReason::Terminal, 1));
    assert!(!error.again());
    assert!(error.to_string().ends_with("refused: terminal"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn throttled_attempts_are_not_charged_to_the_policy_but_to_the_deadline() {
    let throttle = builder().deadline(Duration::from_secs(100)).build();
    let error =
        throttle.call(|_| async { Err::<(), _>(wait_for(Duration::from_secs(5))) }).await.unwrap_err();
    assert_eq!(error.reason, StopReason::Throttled);
    assert!(error.attempts > 5, "{}", error.attempts);
    assert!(error.elapsed <= Duration::from_secs(100));
    assert!(error.again());
}

#[tokio::test(start_paused = true)]
async fn every_retry_passes_the_gate() {
    let throttle = builder().build();
    let began = Instant::now();
    let value = throttle
        .call(|attempt| async move {
            match attempt.number() {
                1 => Err(wait_for(Duration::from_secs(30))),
                _ => Ok(Instant::now()),
            }
        })
        .await
        .unwrap();
    assert!(value - began >= Duration::from_secs(30));
    assert_eq!(throttle.stats().throttled_retries, 0);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_takes_too_long_is_dropped_and_tried_again() {
    let throttle = builder().attempt_timeout(Duration::from_secs(2)).build();
    let value = throttle
        .call(|attempt| async move {
            if attempt.number() < 3 {
                pending::<()>().await;
            }
            Ok::<_, Refused>(attempt.number())
        })
        .await;
    assert_eq!(value.unwrap(), 3);
    assert_eq!(throttle.stats().timed_out, 2);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_does_not_outlive_the_deadline() {
    let throttle = builder().deadline(Duration::from_secs(9)).build();
    let began = Instant::now();
    let error = throttle.call(|_| pending::<Result<(), Refused>>()).await.unwrap_err();
    assert_eq!(error.reason, StopReason::Deadline);
    assert_eq!(began.elapsed(), Duration::from_secs(9));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_without_end_is_no_deadline() {
    let throttle = builder().deadline(Duration::MAX).build();
    let value = throttle
        .call(|attempt| async move {
            match attempt.number() {
                1 => Err(SLOW_DOWN),
                _ => Ok(()),
            }
        })
        .await;
    assert!(value.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_result_judged_a_failure_comes_back_whole() {
    let judge = Outcomes(|result: &Result<u16, Refused>| match result {
        Ok(404) => Some(Class::Terminal),
        _ => None,
    });
    let throttle = Throttle::builder().judge(judge).build();
    let error = throttle.call(|_| async { Ok::<u16, Refused>(404) }).await.unwrap_err();
    assert_eq!(error.into_response(), Some(404));
}

#[tokio::test(start_paused = true)]
async fn an_error_that_a_judge_calls_a_success_is_terminal() {
    let throttle = Throttle::builder().judge(Outcomes(|_: &Result<(), Refused>| None)).build();
    let error = throttle.call(|_| async { Err::<(), _>(BUSY) }).await.unwrap_err();
    assert_eq!((error.reason, error.attempts), (StopReason::Terminal, 1));
}

#[tokio::test(start_paused = true)]
async fn the_observer_sees_every_attempt_once() {
    let (send, seen) = std::sync::mpsc::channel();
    let throttle =
        builder().observe(move |observed| send.send((observed.attempt, observed.class)).unwrap()).build();
    let value =
        throttle.call(|attempt| async move { if attempt.number() == 1 { Err(BUSY) } else { Ok(()) } }).await;
    assert!(value.is_ok());
    assert_eq!(seen.try_iter().collect::<Vec<_>>(), [(1, Some(Class::Transient)), (2, None)]);
}
