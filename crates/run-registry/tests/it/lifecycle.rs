//! One run from its creation to its end, and who may do what to it.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tidegate_run_registry::{
    Admission, CancelOutcome, Cause, Ending, OnConflict, Run, RunId, RunRegistry, RunSpec, Status,
    TransitionError,
};

fn pending() -> (RunRegistry, Run) {
    let registry = RunRegistry::new();
    let run = registry.create_or_reject("thread", RunSpec::new()).unwrap();
    (registry, run)
}

fn running() -> (RunRegistry, Run) {
    let (registry, run) = pending();
    run.start().unwrap();
    (registry, run)
}

/// What a refusal says: the status that stands and the one that was asked for.
fn refusal(result: Result<(), TransitionError>) -> Option<(Status, Status)> {
    match result {
        Err(TransitionError::Refused { from, to, .. }) => Some((from, to)),
        _ => None,
    }
}

/// An id that no run of this registry has.
fn unknown() -> RunId {
    pending().1.id()
}

#[test]
fn rr1_a_thread_with_a_live_run_refuses_another_in_every_live_status() {
    let (registry, run) = pending();
    let blocked_as = |status| {
        let conflict = registry.create_or_reject("thread", RunSpec::new()).unwrap_err();
        assert_eq!((conflict.run_id, conflict.status), (run.id(), status));
        assert!(registry.has_inflight(run.thread()));
    };
    blocked_as(Status::Pending);
    run.start().unwrap();
    blocked_as(Status::Running);
    assert_eq!(registry.cancel(run.id()), CancelOutcome::Cancelling);
    blocked_as(Status::Cancelling);
    run.finish(Ending::Interrupted).unwrap();
    assert!(!registry.has_inflight(run.thread()));
    let next = registry.create_or_reject("thread", RunSpec::new()).unwrap();
    assert!(next.id() > run.id());
}

#[test]
fn rr1_the_existing_run_is_returned_on_request_and_stays_its_workers() {
    let (registry, run) = running();
    let existing = registry.create("thread", RunSpec::new(), OnConflict::ReturnExisting).unwrap();
    let Admission::Existing(record) = &existing else { panic!("{existing:?}") };
    assert_eq!((record.id, record.status), (run.id(), Status::Running));
    drop(existing);
    assert_eq!(run.status(), Status::Running);
    run.finish(Ending::Success).unwrap();
    let next = registry.create("thread", RunSpec::new(), OnConflict::ReturnExisting).unwrap();
    assert!(matches!(next, Admission::Created(_)));
}

#[test]
fn rr4_a_cancelled_run_never_becomes_a_success() {
    let (registry, run) = running();
    let _ = registry.cancel(run.id());
    assert_eq!(refusal(run.finish(Ending::Success)), Some((Status::Cancelling, Status::Success)));
    run.finish(Ending::Interrupted).unwrap();
    assert_eq!(refusal(run.finish(Ending::Success)), Some((Status::Interrupted, Status::Success)));
    assert_eq!(run.status(), Status::Interrupted);
}

#[test]
fn rr4_a_run_that_is_over_neither_starts_nor_ends_again() {
    let endings = [Ending::Success, Ending::error("x"), Ending::Timeout, Ending::Interrupted];
    for first in endings.clone() {
        let (registry, run) = running();
        run.finish(first.clone()).unwrap();
        let before = run.record();
        assert!(run.start().is_err());
        assert!(registry.try_start(run.id()).is_err());
        for second in endings.clone() {
            let asked = (first.status(), second.status());
            assert_eq!(refusal(run.finish(second)), Some(asked));
        }
        assert_eq!(registry.cancel(run.id()), CancelOutcome::AlreadyTerminal(first.status()));
        let id = run.id();
        drop(run);
        let after = registry.get(id).unwrap();
        assert_eq!(
            (after.status, after.cause, after.finished_after),
            (before.status, before.cause, before.finished_after)
        );
    }
}

#[test]
fn rr4_a_run_that_never_started_never_succeeds() {
    let (_registry, run) = pending();
    assert_eq!(refusal(run.finish(Ending::Success)), Some((Status::Pending, Status::Success)));
    run.finish(Ending::error("no worker to be had")).unwrap();
}

#[test]
fn rr4_a_run_cancelled_before_its_worker_is_attached_never_starts() {
    let (registry, run) = pending();
    assert_eq!(registry.cancel(run.id()), CancelOutcome::Cancelled);
    assert_eq!(run.status(), Status::Interrupted);
    assert!(run.signal().is_aborted());
    assert!(registry.try_start(run.id()).is_err());
    assert!(run.start().is_err());
    assert!(registry.create_or_reject("thread", RunSpec::new()).is_ok());
}

#[test]
fn rr4_a_second_cancel_is_no_error_and_keeps_the_first_reason() {
    let (registry, run) = running();
    assert_eq!(registry.cancel_with(run.id(), "first"), CancelOutcome::Cancelling);
    assert_eq!(registry.cancel_with(run.id(), "second"), CancelOutcome::Cancelling);
    assert_eq!(run.record().cause, Some(Cause::Cancelled(Some("first".into()))));
    assert_eq!(run.signal().reason().unwrap().text(), "first");
    run.finish(Ending::Interrupted).unwrap();
    assert_eq!(registry.cancel(run.id()), CancelOutcome::AlreadyTerminal(Status::Interrupted));
    assert_eq!(run.record().cause, Some(Cause::Cancelled(Some("first".into()))));
}

#[test]
fn rr1_a_run_whose_task_never_started_does_not_block_its_thread_for_ever() {
    let (registry, run) = pending();
    let id = run.id();
    drop(async move { run.start() });
    let record = registry.get(id).unwrap();
    assert_eq!((record.status, record.cause), (Status::Interrupted, Some(Cause::Abandoned)));
    assert!(registry.create_or_reject("thread", RunSpec::new()).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_panics_ends_its_run_and_stops_its_helpers() {
    let (registry, run) = running();
    let (id, signal) = (run.id(), run.signal().clone());
    let worker = tokio::spawn(async move {
        let _run = run;
        panic!("in a worker");
    });
    assert!(worker.await.unwrap_err().is_panic());
    let record = registry.get(id).unwrap();
    assert_eq!((record.status, record.cause), (Status::Error, Some(Cause::Abandoned)));
    assert_eq!(signal.reason().unwrap().text(), "abandoned by its worker");
}

#[test]
fn a_cancelled_worker_that_just_leaves_counts_as_interrupted() {
    let (registry, run) = running();
    let id = run.id();
    let _ = registry.cancel(id);
    drop(run);
    let record = registry.get(id).unwrap();
    assert_eq!((record.status, record.cause), (Status::Interrupted, Some(Cause::Cancelled(None))));
}

#[test]
fn a_failure_after_a_cancel_is_recorded_as_the_cause() {
    let (registry, run) = running();
    let _ = registry.cancel_with(run.id(), "stop");
    run.finish(Ending::error("clean-up failed")).unwrap();
    let record = run.record();
    assert_eq!((record.status, record.cause), (Status::Error, Some(Cause::Failed("clean-up failed".into()))));
}

#[test]
fn an_ending_from_outside_tells_the_worker_unless_it_is_a_success() {
    let endings = [(Ending::Timeout, Some("timeout")), (Ending::error("x"), Some("failed: x"))];
    for (ending, told) in endings.into_iter().chain([(Ending::Success, None)]) {
        let (registry, run) = running();
        registry.finish(run.id(), ending).unwrap();
        assert_eq!(run.signal().reason().as_deref().map(|reason| reason.text().to_owned()).as_deref(), told);
    }
}

#[test]
fn an_id_that_nobody_has_is_answered_and_no_panic() {
    let (registry, id) = (RunRegistry::new(), unknown());
    assert!(registry.get(id).is_none());
    assert_eq!(registry.cancel(id), CancelOutcome::Unknown);
    assert_eq!(registry.try_start(id).unwrap_err().to_string(), format!("no run {id} is known"));
    assert!(registry.finish(id, Ending::Success).is_err());
    assert_eq!(registry.wait_terminal_blocking(id), None);
    assert!(registry.list_by_thread(&"nowhere".into()).is_empty());
    assert!(!registry.has_inflight(&"nowhere".into()));
}

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn rr8_all_who_wait_are_woken_and_learn_the_status() {
    let (registry, run) = running();
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut context = Context::from_waker(&waker);
    let mut waiting: Vec<_> = (0..100).map(|_| registry.wait_terminal(run.id())).collect();
    assert!(waiting.iter_mut().all(|wait| Pin::new(wait).poll(&mut context).is_pending()));
    assert_eq!(registry.snapshot().waiters, 100);
    run.finish(Ending::Timeout).unwrap();
    assert_eq!(count.0.load(Ordering::Relaxed), 100, "everybody is woken");
    for mut wait in waiting {
        let over = Poll::Ready(Some(Status::Timeout));
        assert_eq!(Pin::new(&mut wait).poll(&mut context), over);
        assert_eq!(Pin::new(&mut wait).poll(&mut context), over);
    }
    assert_eq!(registry.snapshot().waiters, 0);
}

#[tokio::test(start_paused = true)]
async fn rr8_a_task_that_waits_is_woken() {
    let (registry, run) = running();
    let waiting = tokio::spawn(registry.wait_terminal(run.id()));
    tokio::task::yield_now().await;
    assert_eq!(registry.snapshot().waiters, 1);
    run.finish(Ending::Success).unwrap();
    assert_eq!(waiting.await.unwrap(), Some(Status::Success));
}

#[test]
fn a_dropped_wait_leaves_no_waiter_behind() {
    let (registry, run) = running();
    {
        let mut waiting = pin!(registry.wait_terminal(run.id()));
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        assert_eq!(registry.snapshot().waiters, 1);
    }
    assert_eq!(registry.snapshot().waiters, 0, "nobody waits any more");
}

#[test]
fn a_wait_that_moves_to_another_task_wakes_the_new_one() {
    let (registry, run) = running();
    let mut waiting = registry.wait_terminal(run.id());
    let mut context = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut waiting).poll(&mut context).is_pending());
    let waiter = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(waiting)
    });
    run.finish(Ending::Success).unwrap();
    assert_eq!(waiter.join().unwrap(), Some(Status::Success));
}

#[test]
fn a_plain_thread_can_wait_for_the_end() {
    let (registry, run) = running();
    let id = run.id();
    let waiter = std::thread::spawn(move || registry.wait_terminal_blocking(id));
    run.finish(Ending::Success).unwrap();
    assert_eq!(waiter.join().unwrap(), Some(Status::Success));
}

#[tokio::test(start_paused = true)]
async fn a_record_holds_the_times_of_a_run() {
    let (registry, run) = pending();
    let step = || tokio::time::advance(Duration::from_secs(1));
    step().await;
    run.start().unwrap();
    step().await;
    run.finish(Ending::Success).unwrap();
    step().await;
    let record = registry.get(run.id()).unwrap();
    assert_eq!(record.age, Duration::from_secs(3));
    assert_eq!(record.started_after, Some(Duration::from_secs(1)));
    assert_eq!(record.finished_after, Some(Duration::from_secs(2)));
}

#[test]
fn a_handle_outlives_its_registry() {
    let (registry, run) = running();
    let waiting = registry.wait_terminal(run.id());
    drop(registry);
    run.finish(Ending::Success).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(waiting), Some(Status::Success));
}
