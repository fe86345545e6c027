//! What the types are and show.

use std::error::Error;
use std::future::{Future, Ready};
use std::io;
use std::time::Duration;

use tidegate_retry_policy::{
    AllTransient, Attempt, ChainClassifier, Decision, Delays, Never, Progress, Retry, RetryError,
    RetryPolicy, Runner, StopReason, Unobserved, retry,
};

#[test]
fn everything_may_cross_threads() {
    fn crosses<T: Send + Sync + 'static>() {}
    crosses::<RetryPolicy>();
    crosses::<Runner>();
    crosses::<Runner<ChainClassifier>>();
    crosses::<Runner<AllTransient, Never, Unobserved>>();
    crosses::<RetryError<io::Error>>();
    crosses::<(Progress, Decision, StopReason, Delays, Attempt)>();
    crosses::<Retry<'static, fn(Attempt) -> Ready<Result<(), ()>>, Ready<Result<(), ()>>, ()>>();
}

#[tokio::test(start_paused = true)]
async fn a_run_can_be_spawned() {
    fn spawns<F: Future<Output: Send> + Send + 'static>(future: F) -> tokio::task::JoinHandle<F::Output> {
        tokio::spawn(future)
    }
    let run = spawns(retry(RetryPolicy::new(), |_| async { Ok::<_, io::Error>(1) }));
    assert_eq!(run.await.unwrap().unwrap(), 1);
    let runner = Runner::new(RetryPolicy::new()).classify(ChainClassifier::new().io());
    let run = spawns(async move { runner.run(|_| async { Ok::<_, io::Error>(2) }).await });
    assert_eq!(run.await.unwrap().unwrap(), 2);
}

#[test]
fn an_error_tells_why_and_leads_to_the_last_error() {
    let mut error = RetryError::new(StopReason::Deadline);
    error.last = Some(io::Error::from(io::ErrorKind::TimedOut));
    error.attempts = 3;
    error.elapsed = Duration::from_millis(1500);
    assert_eq!(error.to_string(), "gave up after 3 attempts in 1.500s: no time is left");
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::TimedOut));
    assert_eq!(error.map(|last| last.kind()).last, Some(io::ErrorKind::TimedOut));
}

#[test]
fn a_policy_is_a_constant() {
    const POLICY: RetryPolicy = RetryPolicy::new().max_attempts(3).factor(3.0);
    assert_eq!(Runner::new(POLICY).policy(), POLICY);
    assert_eq!(RetryPolicy::default(), RetryPolicy::new());
    assert_eq!(RetryPolicy::none().delays(0).size_hint(), (0, Some(0)));
}

#[test]
fn debug_output_shows_numbers_and_never_closures_or_errors() {
    let runner = Runner::new(RetryPolicy::new()).observe(|_, _, _| {});
    let run = runner.run(|_| async { Err::<(), _>("secret") });
    let shown = format!("{runner:?} {run:?} {:?}", ChainClassifier::new().io());
    assert!(shown.contains("max_attempts: 5") && shown.contains("Ready"), "{shown}");
    assert!(!shown.contains("secret"), "{shown}");
}
