//! A fatal failure stops everybody.

use std::time::Duration;

use tidegate_abort_signal::AbortSignal;
use tidegate_throttle::StopReason;
use tokio::task::JoinSet;

use crate::{NO_KEY, Refused, SLOW_DOWN, builder};

#[tokio::test(start_paused = true)]
async fn th3_after_a_fatal_failure_no_new_attempt_starts() {
    let signal = AbortSignal::new();
    let throttle = builder().abort(signal.clone()).build();
    // Some are still waiting at the gate, one in its attempt, when the key turns out to be wrong.
    let mut calls = JoinSet::new();
    for _ in 0..200 {
        let throttle = throttle.clone();
        calls.spawn(async move {
            throttle
                .call(|_| async {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                    Err::<(), _>(NO_KEY)
                })
                .await
                .unwrap_err()
        });
    }
    let errors = calls.join_all().await;
    let fatal = errors.iter().filter(|error| error.reason == StopReason::Fatal).count();
    let aborted = errors.iter().filter(|error| error.reason == StopReason::Aborted).count();
    assert!(fatal >= 1 && fatal + aborted == 200, "{fatal} fatal, {aborted} aborted");
    // Four permits to begin with: never more than one call for each after the first failure.
    assert_eq!(throttle.stats().attempts, 4);
    assert_eq!(signal.reason().unwrap().text(), "refused: fatal");
    assert!(throttle.call(|_| async { Ok::<_, Refused>(()) }).await.is_err());
    assert_eq!(throttle.stats().attempts, 4);
}

#[tokio::test(start_paused = true)]
async fn an_abort_ends_every_wait_at_once() {
    let throttle = builder().build();
    let waits_at_the_gate = throttle.call(|_| async { Err::<(), _>(SLOW_DOWN) });
    let aborts = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        throttle.signal().abort("enough");
    };
    let (ended, ()) = tokio::join!(waits_at_the_gate, aborts);
    let error = ended.unwrap_err();
    assert_eq!((error.reason, error.elapsed), (StopReason::Aborted, Duration::from_secs(3)));
}

#[tokio::test(start_paused = true)]
async fn a_gate_shut_down_and_a_closed_semaphore_end_the_call() {
    let throttle = builder().build();
    throttle.permits().close();
    let error = throttle.call(|_| async { Ok::<_, Refused>(()) }).await.unwrap_err();
    assert_eq!((error.reason, error.attempts), (StopReason::Aborted, 0));
    throttle.gate().shutdown();
    let error = throttle.call(|_| async { Ok::<_, Refused>(()) }).await.unwrap_err();
    assert_eq!((error.reason, error.attempts), (StopReason::Aborted, 0));
}
