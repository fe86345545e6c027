//! An abort ends a run.

use std::cell::Cell;
use std::future::ready;

use tidegate_retry_policy::{RetryPolicy, Runner, StopReason};
use tokio::time::{Instant, sleep};

use crate::support::{Lever, secs};

fn patient() -> RetryPolicy {
    RetryPolicy::new().initial_delay(secs(60)).max_delay(secs(60))
}

#[tokio::test(start_paused = true)]
async fn rp4_an_abort_ends_a_wait_at_once() {
    let (lever, begun) = (Lever::default(), Instant::now());
    let runner = Runner::new(patient()).abort(lever.clone());
    let run = runner.run(|_| ready(Err::<(), _>("busy")));
    let (gave_up, ()) = tokio::join!(run, async {
        sleep(secs(10)).await;
        lever.pull();
    });
    let gave_up = gave_up.unwrap_err();
    assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Aborted, 1));
    assert_eq!(begun.elapsed(), secs(10), "the wait went on after the abort");
    assert_eq!(gave_up.last, Some("busy"));
}

#[tokio::test(start_paused = true)]
async fn rp4_an_abort_is_looked_at_after_a_wait() {
    let lever = Lever::mute();
    let runner = Runner::new(patient()).abort(lever.clone());
    let calls = Cell::new(0);
    let run = runner.run(|_| {
        calls.set(calls.get() + 1);
        ready(Err::<(), _>("busy"))
    });
    let (gave_up, ()) = tokio::join!(run, async {
        sleep(secs(10)).await;
        lever.pull();
    });
    assert_eq!(calls.get(), 1, "a call began after the abort");
    assert_eq!(gave_up.map_err(|error| error.reason), Err(StopReason::Aborted));
}

#[tokio::test(start_paused = true)]
async fn rp4_no_call_begins_once_it_is_aborted() {
    let lever = Lever::default();
    lever.pull();
    let runner = Runner::new(patient()).abort(lever);
    let gave_up = runner.run(|_| ready(Ok::<_, &str>(1))).await.unwrap_err();
    assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Aborted, 0));
    assert_eq!(gave_up.last, None);
}

#[tokio::test(start_paused = true)]
async fn rp4_an_abort_during_a_call_lets_it_end_and_makes_no_other() {
    let (lever, begun) = (Lever::default(), Instant::now());
    let runner = Runner::new(patient()).abort(lever.clone());
    let run = runner.run(async |_| {
        lever.pull();
        sleep(secs(5)).await;
        Err::<(), _>("busy")
    });
    let gave_up = run.await.unwrap_err();
    assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Aborted, 1));
    assert_eq!(begun.elapsed(), secs(5));
    let succeeds = Runner::new(patient()).abort(Lever::default());
    assert_eq!(succeeds.run(|_| ready(Ok::<_, &str>(1))).await, Ok(1));
}
