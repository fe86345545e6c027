//! Running an operation until it succeeds or the policy gives up.

use std::cell::{Cell, RefCell};
use std::future::{Future, pending, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tidegate_retry_policy::{
    Attempt, Class, Decision, Jitter, RetryHint, RetryPolicy, Runner, StopReason, retry,
};
use tokio::time::{Instant, sleep};

use crate::support::{millis, secs};

#[derive(Clone, Debug, PartialEq)]
enum Fault {
    Busy,
    Slow(Duration),
    Broken,
    Denied,
}

fn class(fault: &Fault) -> Class {
    match fault {
        Fault::Busy => Class::Transient,
        Fault::Slow(hint) => Class::Throttled(RetryHint::after(*hint)),
        Fault::Broken => Class::Terminal,
        Fault::Denied => Class::Fatal,
    }
}

#[tokio::test(start_paused = true)]
async fn rp2_the_persistence_preset_calls_five_times_50_100_200_and_400_ms_apart() {
    let begun = Instant::now();
    let calls = RefCell::new(Vec::new());
    let gave_up = retry(RetryPolicy::new(), |attempt| {
        calls.borrow_mut().push((attempt.number(), begun.elapsed()));
        ready(Err::<(), _>(Fault::Busy))
    });
    let gave_up = gave_up.await.unwrap_err();
    assert_eq!(
        calls.into_inner(),
        [(1, 0), (2, 50), (3, 150), (4, 350), (5, 750)].map(|(n, at)| (n, millis(at)))
    );
    assert_eq!(gave_up.last, Some(Fault::Busy));
    assert_eq!((gave_up.attempts, gave_up.elapsed), (5, millis(750)));
    assert_eq!((gave_up.reason, gave_up.timed_out), (StopReason::Attempts, false));
}

#[test]
fn a_first_call_that_succeeds_at_once_needs_no_runtime() {
    let mut run = pin!(retry(RetryPolicy::new().attempt_timeout(secs(1)), |_| ready(Ok::<_, Fault>(7))));
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(run.as_mut().poll(&mut context), Poll::Ready(Ok(7))));
    assert!(run.poll(&mut context).is_pending(), "and stays silent ever after");
}

#[tokio::test(start_paused = true)]
async fn terminal_and_fatal_errors_are_not_retried() {
    let runner = Runner::new(RetryPolicy::new()).classify(class);
    for (fault, reason) in [(Fault::Broken, StopReason::Terminal), (Fault::Denied, StopReason::Fatal)] {
        let gave_up = runner.run(|_| ready(Err::<(), _>(fault.clone()))).await;
        assert_eq!(gave_up.map_err(|error| (error.reason, error.attempts)), Err((reason, 1)));
    }
}

#[tokio::test(start_paused = true)]
async fn rp1_a_servers_hint_is_waited_for() {
    let begun = Instant::now();
    let runner = Runner::new(RetryPolicy::new().jitter(Jitter::Full)).classify(class).seed(1);
    let answer = runner.run(async |attempt: Attempt| match attempt.is_retry() {
        false => Err(Fault::Slow(secs(60))),
        true => Ok(begun.elapsed()),
    });
    assert_eq!(answer.await, Ok(secs(60)));
}

#[tokio::test(start_paused = true)]
async fn a_hint_that_is_too_long_is_an_outcome() {
    let runner = Runner::new(RetryPolicy::new().max_hint(secs(30))).classify(class);
    let gave_up = runner.run(|_| ready(Err::<(), _>(Fault::Slow(secs(60))))).await.unwrap_err();
    assert_eq!((gave_up.reason, gave_up.elapsed), (StopReason::HintTooLong, Duration::ZERO));
    assert_eq!(gave_up.last, Some(Fault::Slow(secs(60))));
}

#[tokio::test(start_paused = true)]
async fn the_longest_delay_there_is_is_no_panic() {
    let policy = RetryPolicy::new().initial_delay(Duration::MAX).max_delay(Duration::MAX);
    let run = retry(policy, |_| ready(Err::<(), _>(Fault::Busy)));
    assert!(tokio::time::timeout(secs(86_400), run).await.is_err(), "still waiting");
}

#[tokio::test(start_paused = true)]
async fn rp3_a_run_ends_before_its_deadline_rather_than_after_it() {
    let policy =
        RetryPolicy::new().max_attempts(60).initial_delay(millis(3)).factor(1.0).deadline(millis(20));
    let run = retry(policy, async |_| {
        sleep(millis(2)).await;
        Err::<(), _>(Fault::Busy)
    });
    let gave_up = run.await.unwrap_err();
    assert_eq!(gave_up.reason, StopReason::Deadline);
    assert_eq!((gave_up.attempts, gave_up.elapsed), (4, millis(17)), "a fifth call would begin at 20 ms");
    assert!(!gave_up.timed_out);
}

#[tokio::test(start_paused = true)]
async fn rp3_the_deadline_cuts_off_a_call_that_still_runs() {
    let runner = Runner::new(RetryPolicy::new()).deadline(secs(10));
    let run = runner.run(async |attempt: Attempt| {
        if !attempt.is_retry() {
            return Err::<(), _>(Fault::Busy);
        }
        pending().await
    });
    let gave_up = run.await.unwrap_err();
    assert_eq!((gave_up.reason, gave_up.elapsed), (StopReason::Deadline, secs(10)));
    assert!(gave_up.timed_out);
    assert_eq!(gave_up.last, Some(Fault::Busy), "the latest error that was returned");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_cut_off_and_retried() {
    let begun = Instant::now();
    let runner = Runner::new(RetryPolicy::new()).attempt_timeout(secs(2));
    let run = runner.run(async |attempt: Attempt| {
        if attempt.number() < 3 {
            pending::<()>().await;
        }
        sleep(secs(1)).await;
        Ok::<_, Fault>(attempt.number())
    });
    assert_eq!(run.await, Ok(3));
    assert_eq!(begun.elapsed(), millis(2000 + 50 + 2000 + 100 + 1000));
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_calls_are_all_cut_off_says_so() {
    let runner = Runner::new(RetryPolicy::none()).attempt_timeout(secs(2));
    let gave_up = runner.run(|_| pending::<Result<(), Fault>>()).await.unwrap_err();
    assert_eq!((gave_up.reason, gave_up.attempts), (StopReason::Attempts, 1));
    assert!(gave_up.timed_out && gave_up.last.is_none());
    assert_eq!(
        gave_up.to_string(),
        "gave up after 1 attempt in 2.000s: no attempt is left, the last one timed out"
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_call_holds_is_dropped_before_the_wait() {
    let permit = Arc::new(());
    let held = Arc::clone(&permit);
    let task = tokio::spawn(retry(RetryPolicy::new(), move |attempt| {
        let permit = Arc::clone(&held);
        async move {
            sleep(secs(1)).await;
            let _holds = permit;
            if attempt.is_retry() { Ok(()) } else { Err(Fault::Busy) }
        }
    }));
    sleep(millis(500)).await;
    assert_eq!(Arc::strong_count(&permit), 3, "the call runs");
    sleep(millis(525)).await;
    assert_eq!(Arc::strong_count(&permit), 2, "the wait has begun");
    assert_eq!(task.await.unwrap(), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_retry_without_a_delay_takes_no_tick_of_the_timer_but_lets_others_run() {
    let begun = Instant::now();
    let policy = RetryPolicy::new().initial_delay(Duration::ZERO).max_attempts(1000);
    let (calls, turns, done) = (Cell::new(0), Cell::new(0), Cell::new(false));
    let run = async {
        let gave_up = retry(policy, |_| {
            calls.set(calls.get() + 1);
            ready(Err::<(), _>(Fault::Busy))
        });
        assert!(gave_up.await.is_err());
        done.set(true);
    };
    let other = async {
        while !done.get() {
            turns.set(turns.get() + 1);
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(run, other);
    assert_eq!(calls.get(), 1000);
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert!(turns.get() > 100, "{} turns", turns.get());
}

#[tokio::test(start_paused = true)]
async fn the_observer_hears_of_every_failure_and_every_decision() {
    let heard = RefCell::new(Vec::new());
    let runner = Runner::new(RetryPolicy::new().max_attempts(2)).classify(class).observe(
        |attempt: Attempt, class, decision| heard.borrow_mut().push((attempt.number(), class, decision)),
    );
    assert!(runner.run(|_| ready(Err::<(), _>(Fault::Busy))).await.is_err());
    assert!(runner.run(|_| ready(Ok::<_, Fault>(()))).await.is_ok());
    let expected = [
        (1, Class::Transient, Decision::Retry { delay: millis(50) }),
        (2, Class::Transient, Decision::Stop(StopReason::Attempts)),
    ];
    assert_eq!(*heard.borrow(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_runner_runs_again_from_the_start_and_a_seed_repeats_the_jitter() {
    let runner = Runner::new(RetryPolicy::new().jitter(Jitter::Full)).seed(11);
    let mut took = Vec::new();
    for _ in 0..2 {
        let gave_up = runner.run(|_| ready(Err::<(), _>(Fault::Busy))).await.unwrap_err();
        took.push((gave_up.attempts, gave_up.elapsed));
    }
    assert_eq!(took[0], took[1]);
    assert_eq!(took[0].0, 5);
}
