//! What must hold in every interleaving: of creates, starts, endings, cancels, waits and clean-ups of one thread.

use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;

use tidegate_sync::model::{check, must_fail};
use tidegate_sync::parker::block_on;
use tidegate_sync::primitives::{Arc, Mutex, thread};

use crate::{CancelOutcome, Conflict, Ending, Run, RunRegistry, RunSpec, Status, ThreadId, TransitionError};

const THREAD: &str = "thread";

fn create(registry: &RunRegistry) -> Result<Run, Conflict> {
    registry.create_or_reject(THREAD, RunSpec::new())
}

fn spawn<T: Send + 'static>(
    registry: &RunRegistry,
    act: impl FnOnce(RunRegistry) -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    let registry = registry.clone();
    thread::spawn(move || act(registry))
}

/// A registry with one run that has started.
fn running() -> (RunRegistry, Run) {
    let registry = RunRegistry::new();
    let run = create(&registry).unwrap();
    run.start().unwrap();
    (registry, run)
}

/// A create, and whether the run that a refusal names can be found at once.
fn create_and_look(registry: &RunRegistry) -> (Result<Run, Conflict>, bool) {
    let result = create(registry);
    let found = result.as_ref().err().is_none_or(|conflict| registry.get(conflict.run_id).is_some());
    (result, found)
}

/// RR-1: of several creates on one thread exactly one wins, and the others name it.
fn racing_creates(name: &str, least: usize, racers: usize) {
    check(name, least, move || {
        let registry = RunRegistry::new();
        let others: Vec<_> =
            (1..racers).map(|_| spawn(&registry, |registry| create_and_look(&registry))).collect();
        let mut results = vec![create_and_look(&registry)];
        results.extend(others.into_iter().map(|other| other.join().unwrap()));
        assert!(results.iter().all(|(_, found)| *found), "a conflict names an unknown run");
        let won: Vec<_> = results.iter().flat_map(|(result, _)| result).map(Run::id).collect();
        assert_eq!(won.len(), 1, "exactly one create wins");
        for conflict in results.iter().filter_map(|(result, _)| result.as_ref().err()) {
            assert_eq!((conflict.run_id, conflict.status), (won[0], Status::Pending));
        }
        assert_eq!(registry.list_by_thread(&THREAD.into()).len(), 1);
    });
}

#[test]
fn rr1_two_racing_creates_admit_exactly_one() {
    racing_creates("rr1_two_racing_creates_admit_exactly_one", 4, 2);
}

#[test]
fn rr1_three_racing_creates_admit_exactly_one() {
    racing_creates("rr1_three_racing_creates_admit_exactly_one", 200, 3);
}

#[test]
fn rr1_creates_on_different_threads_all_win() {
    check("rr1_creates_on_different_threads_all_win", 4, || {
        let registry = RunRegistry::new();
        let other = spawn(&registry, |registry| registry.create_or_reject("other", RunSpec::new()));
        let mine = create(&registry).unwrap();
        let other = other.join().unwrap().unwrap();
        assert_ne!(mine.id(), other.id());
        assert_eq!(registry.len(), 2);
    });
}

#[test]
fn rr1_creates_racing_a_finish_admit_at_most_one() {
    check("rr1_creates_racing_a_finish_admit_at_most_one", 100, || {
        let (registry, first) = running();
        let before = first.id();
        let other = spawn(&registry, |registry| create(&registry));
        let finisher = spawn(&registry, move |_| first.finish(Ending::Success).unwrap());
        let results = [create(&registry), other.join().unwrap()];
        finisher.join().unwrap();
        let won: Vec<_> = results.iter().flatten().map(Run::id).collect();
        assert!(won.len() <= 1, "two live runs on one thread");
        for conflict in results.iter().filter_map(|result| result.as_ref().err()) {
            assert!(conflict.status.is_live(), "a run that is over blocks");
            assert!(conflict.run_id == before || won.contains(&conflict.run_id));
        }
        let live = registry.snapshot().live();
        assert_eq!(live, won.len(), "two live runs on one thread");
        assert!(live == 1 || create(&registry).is_ok(), "a run that is over blocks");
    });
}

#[test]
fn rr1_a_run_that_is_over_has_ceased_to_block() {
    check("rr1_a_run_that_is_over_has_ceased_to_block", 10, || {
        let (registry, run) = running();
        let finisher = spawn(&registry, move |_| run.finish(Ending::Success).unwrap());
        let seen = registry.list_by_thread(&THREAD.into())[0].status;
        let next = create(&registry);
        assert!(seen.is_live() || next.is_ok(), "a run that is over blocks");
        finisher.join().unwrap();
        drop(next);
    });
}

#[test]
fn rr1_a_dropped_handle_frees_its_thread() {
    check("rr1_a_dropped_handle_frees_its_thread", 8, || {
        let registry = RunRegistry::new();
        let run = create(&registry).unwrap();
        let other = spawn(&registry, |registry| create(&registry).is_ok());
        drop(run);
        let first = create(&registry);
        let second = other.join().unwrap();
        assert!(first.is_ok() || second, "a dropped handle blocks its thread");
        drop(first);
        assert!(create(&registry).is_ok(), "a dropped handle blocks its thread");
    });
}

#[test]
fn rr4_cancel_against_completion_has_one_winner() {
    check("rr4_cancel_against_completion_has_one_winner", 5, || {
        let (registry, run) = running();
        let id = run.id();
        let worker = spawn(&registry, move |_| (run.finish(Ending::Success), run));
        let cancelled = registry.cancel_with(id, "stop");
        let (finished, run) = worker.join().unwrap();
        let status = run.status();
        let expected = match cancelled {
            CancelOutcome::Cancelling => {
                let refused =
                    TransitionError::Refused { run_id: id, from: Status::Cancelling, to: Status::Success };
                (Err(refused), Status::Cancelling, true)
            }
            CancelOutcome::AlreadyTerminal(Status::Success) => (Ok(()), Status::Success, false),
            other => panic!("no such answer: {other:?}"),
        };
        assert_eq!((finished, status, run.signal().is_aborted()), expected, "two winners");
        drop(run);
        let last = if status == Status::Success { Status::Success } else { Status::Interrupted };
        assert_eq!(registry.get(id).map(|record| record.status), Some(last), "a terminal status is final");
    });
}

#[test]
fn rr4_two_endings_have_one_winner() {
    check("rr4_two_endings_have_one_winner", 5, || {
        let (registry, run) = running();
        let id = run.id();
        let watchdog = spawn(&registry, move |registry| registry.finish(id, Ending::Timeout));
        let success = run.finish(Ending::Success);
        let between = run.status();
        let timeout = watchdog.join().unwrap();
        assert_ne!(success.is_ok(), timeout.is_ok(), "exactly one ending wins");
        let winner = if success.is_ok() { Status::Success } else { Status::Timeout };
        assert_eq!((between, run.status()), (winner, winner), "a terminal status is final");
        assert_eq!(run.signal().is_aborted(), timeout.is_ok());
    });
}

#[test]
fn rr4_a_run_cancelled_before_its_start_never_starts() {
    check("rr4_a_run_cancelled_before_its_start_never_starts", 5, || {
        let registry = RunRegistry::new();
        let run = create(&registry).unwrap();
        let id = run.id();
        let canceller = spawn(&registry, move |registry| registry.cancel(id));
        let started = run.start().is_ok();
        let cancelled = canceller.join().unwrap();
        assert!(run.signal().is_aborted());
        let expected = if started {
            (CancelOutcome::Cancelling, Status::Cancelling)
        } else {
            (CancelOutcome::Cancelled, Status::Interrupted)
        };
        assert_eq!((cancelled, run.status()), expected, "start barrier");
    });
}

#[test]
fn rr4_whoever_cancels_finds_the_signal_aborted() {
    check("rr4_whoever_cancels_finds_the_signal_aborted", 20, || {
        let (registry, run) = running();
        let id = run.id();
        let signal = run.signal().clone();
        let other = spawn(&registry, move |registry| registry.cancel_with(id, "other"));
        let mine = registry.cancel_with(id, "mine");
        assert!(signal.is_aborted(), "a cancel returned before the signal was aborted");
        let other = other.join().unwrap();
        assert_eq!([mine, other], [CancelOutcome::Cancelling; 2]);
        let recorded = run.record().cause.map(|cause| cause.to_string());
        let told = signal.reason().map(|reason| format!("cancelled: {reason}"));
        assert_eq!(recorded, told, "record and signal name one reason");
    });
}

#[test]
fn rr6_a_cleanup_racing_a_create_keeps_the_live_run() {
    check("rr6_a_cleanup_racing_a_create_keeps_the_live_run", 10, || {
        let (registry, old) = running();
        old.finish(Ending::Success).unwrap();
        let cleaner = spawn(&registry, |registry| registry.cleanup(Duration::ZERO));
        let run = create(&registry).unwrap();
        assert_eq!(create(&registry).map_err(|conflict| conflict.run_id).unwrap_err(), run.id());
        assert_eq!(cleaner.join().unwrap(), 1);
        assert!(registry.get(old.id()).is_none());
        assert_eq!(registry.get(run.id()).map(|record| record.status), Some(Status::Pending));
        assert_eq!(registry.len(), 1);
    });
}

#[test]
fn rr8_the_end_of_a_run_wakes_whoever_waits() {
    check("rr8_the_end_of_a_run_wakes_whoever_waits", 50, || {
        let (registry, run) = running();
        let id = run.id();
        let worker = spawn(&registry, move |_| run.finish(Ending::Success).unwrap());
        assert_eq!(block_on(registry.wait_terminal(id)), Some(Status::Success));
        worker.join().unwrap();
    });
}

#[test]
fn rr8_the_end_of_a_run_wakes_two_who_wait() {
    check("rr8_the_end_of_a_run_wakes_two_who_wait", 100, || {
        let (registry, run) = running();
        let id = run.id();
        let waiter = spawn(&registry, move |registry| block_on(registry.wait_terminal(id)));
        let mut mine = registry.wait_terminal(id);
        let polled = Pin::new(&mut mine).poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "a live run is not over");
        drop(run);
        assert_eq!(block_on(mine), Some(Status::Error));
        assert_eq!(waiter.join().unwrap(), Some(Status::Error));
    });
}

#[test]
fn rr8_a_wait_dropped_while_the_run_ends_leaves_nothing() {
    check("rr8_a_wait_dropped_while_the_run_ends_leaves_nothing", 50, || {
        let (registry, run) = running();
        let id = run.id();
        let mut left = registry.wait_terminal(id);
        let worker = spawn(&registry, move |_| drop(run));
        let _ = Pin::new(&mut left).poll(&mut Context::from_waker(Waker::noop()));
        drop(left);
        assert_eq!(block_on(registry.wait_terminal(id)), Some(Status::Error));
        worker.join().unwrap();
        assert_eq!(registry.snapshot().waiters, 0);
    });
}

/// The article's registry: a question and an act, each under the lock, with a gap between them.
#[derive(Default)]
struct CheckThenCreate {
    live: Mutex<Vec<ThreadId>>,
}

impl CheckThenCreate {
    fn has_inflight(&self, thread: &ThreadId) -> bool {
        self.live.lock().contains(thread)
    }

    fn create(&self, thread: ThreadId) {
        self.live.lock().push(thread);
    }

    fn start_run(&self) -> bool {
        let thread = ThreadId::from(THREAD);
        let free = !self.has_inflight(&thread);
        if free {
            self.create(thread);
        }
        free
    }
}

#[test]
fn rr1_check_then_create_admits_two() {
    must_fail("rr1_check_then_create_admits_two", "two live runs on one thread", || {
        let registry = Arc::new(CheckThenCreate::default());
        let other = Arc::clone(&registry);
        let other = thread::spawn(move || other.start_run());
        let mine = registry.start_run();
        let other = other.join().unwrap();
        assert!(!(mine && other), "two live runs on one thread");
    });
}

/// The same gap, made out of this crate's own question: the reason why `has_inflight` must never decide.
#[test]
fn rr1_asking_has_inflight_before_creating_is_not_enough() {
    must_fail("rr1_asking_has_inflight_before_creating_is_not_enough", "free, and yet refused", || {
        let registry = RunRegistry::new();
        let other = spawn(&registry, |registry| create(&registry));
        let free = !registry.has_inflight(&THREAD.into());
        let mine = create(&registry);
        let other = other.join().unwrap();
        assert!(!free || mine.is_ok(), "free, and yet refused");
        drop((mine, other));
    });
}
