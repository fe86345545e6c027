//! The registry: which runs there are, and which thread is occupied.
//!
//! # Where things stand
//! | what | where | under which lock |
//! |---|---|---|
//! | the runs of a thread, oldest first | `threads` | the shard of the thread |
//! | a run by its id | `runs` | the shard of the id |
//! | a run's status, cause, times, waiters | its `RunState` | its own mutex |
//!
//! # Invariants
//! - I1: of a thread's runs at most the last is live: [`RunRegistry::admit`] appends only after it saw the last one over, in
//!   one critical section of the thread's shard, and a terminal status never changes.
//! - I2: a run in `threads` is in `runs` too: admitted to both in that critical section, removed from `threads` first.
//! - I3: along a thread's runs the times of their ends rise: each was created after its predecessor's end.
//! - I4: a thread's entry holds at least one run.
//!
//! # Lock order
//! Shard of a thread, then shard of an id, or the mutex of a run. Nothing of the user's runs under any of them: ids and
//! texts are the only keys, and runs that are removed are dropped outside.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidegate_sync::map::ShardMap;
use tidegate_sync::primitives::Arc as Shared;
use tidegate_sync::{Clock, parker};

use crate::state::{Draft, RunState};
use crate::{
    CancelOutcome, Conflict, Ending, Run, RunId, RunRecord, RunSpec, Status, ThreadId, TransitionError,
    WaitTerminal,
};

/// What [`RunRegistry::create`] does when the thread has a live run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnConflict {
    /// Creates nothing and names the live run in a [`Conflict`].
    #[default]
    Reject,
    /// Creates nothing and gives the record of the live run.
    ReturnExisting,
}

/// What [`RunRegistry::create`] gave.
#[derive(Debug)]
#[non_exhaustive]
#[must_use = "dropping it ends a new run as abandoned"]
pub enum Admission {
    /// A new run, and the duty to carry it out.
    Created(Run),
    /// The live run that was there, as it stood in the step that decided. It stays its own worker's.
    Existing(RunRecord),
}

/// How many runs a registry holds, by status. Each run is counted as it stood when it was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegistrySnapshot {
    /// Threads with at least one run, live or not.
    pub threads: usize,
    /// Runs that were admitted and have not started.
    pub pending: usize,
    /// Runs that run.
    pub running: usize,
    /// Runs that were asked to stop and have not stopped.
    pub cancelling: usize,
    /// Runs that ended as intended.
    pub success: usize,
    /// Runs that failed.
    pub error: usize,
    /// Runs whose time was up.
    pub timeout: usize,
    /// Runs that were stopped before they were done.
    pub interrupted: usize,
    /// Futures that wait for the end of a run.
    pub waiters: usize,
}

impl RegistrySnapshot {
    /// Runs that occupy their thread.
    #[must_use]
    pub const fn live(&self) -> usize {
        self.pending + self.running + self.cancelling
    }

    /// Runs that are over and not yet cleaned up.
    #[must_use]
    pub const fn finished(&self) -> usize {
        self.success + self.error + self.timeout + self.interrupted
    }

    fn add(&mut self, (status, waiters): (Status, usize)) {
        let count = match status {
            Status::Pending => &mut self.pending,
            Status::Running => &mut self.running,
            Status::Cancelling => &mut self.cancelling,
            Status::Success => &mut self.success,
            Status::Error => &mut self.error,
            Status::Timeout => &mut self.timeout,
            Status::Interrupted => &mut self.interrupted,
        };
        *count += 1;
        self.waiters += waiters;
    }
}

/// The runs of one process, at most one of them live for each thread. A handle: clones share one registry.
///
/// See the [crate's documentation](crate).
#[derive(Clone)]
pub struct RunRegistry {
    inner: Shared<Inner>,
}

struct Inner {
    threads: ShardMap<ThreadId, ThreadRuns>,
    runs: ShardMap<RunId, Shared<RunState>>,
    clock: Clock,
}

#[derive(Default)]
struct ThreadRuns(VecDeque<Shared<RunState>>);

impl ThreadRuns {
    /// The record of the run that occupies the thread, if one does (I1: only the last can).
    fn live(&self) -> Option<RunRecord> {
        self.0.back().and_then(|last| last.record_if_live())
    }

    /// Moves the runs that ended at least `retention` before `now` to `removed` (I3: they stand in front).
    fn expire(&mut self, now: Duration, retention: Duration, removed: &mut Vec<Shared<RunState>>) {
        let young = self.0.iter().position(|run| !run.ended_before(now, retention));
        removed.extend(self.0.drain(..young.unwrap_or(self.0.len())));
        if self.0.capacity() > 4 * self.0.len().max(4) {
            self.0.shrink_to_fit();
        }
    }
}

impl RunRegistry {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        let inner = Inner { threads: ShardMap::new(), runs: ShardMap::new(), clock: Clock::default() };
        Self { inner: Shared::new(inner) }
    }

    /// Creates a run on `thread`, unless it has a live one: check and insertion are one step (**RR-1**).
    ///
    /// The new run is [`Pending`](Status::Pending) and occupies the thread at once. The [`Run`] goes to the worker.
    /// Nobody waits in line: of several callers the first in the critical section wins, the others are refused.
    ///
    /// Cost: one shard's lock, a mutex, and some small allocations, however many runs there are.
    ///
    /// # Errors
    /// [`Conflict`], which names the run that occupies the thread and gives `spec` back.
    pub fn create_or_reject(&self, thread: impl Into<ThreadId>, spec: RunSpec) -> Result<Run, Conflict> {
        self.admit(thread.into(), spec).map_err(|(blocking, rejected)| Conflict::new(blocking, rejected))
    }

    /// As [`create_or_reject`](Self::create_or_reject), with a choice of what to do about a live run.
    ///
    /// ```
    /// use tidegate_run_registry::{Admission, OnConflict, RunRegistry, RunSpec};
    ///
    /// let registry = RunRegistry::new();
    /// let first = registry.create_or_reject("thread-1", RunSpec::new()).unwrap();
    /// match registry.create("thread-1", RunSpec::new(), OnConflict::ReturnExisting) {
    ///     Ok(Admission::Existing(record)) => assert_eq!(record.id, first.id()),
    ///     other => unreachable!("{other:?}"),
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Conflict`] with [`OnConflict::Reject`]; never with [`OnConflict::ReturnExisting`], which drops `spec` then.
    pub fn create(
        &self,
        thread: impl Into<ThreadId>,
        spec: RunSpec,
        on_conflict: OnConflict,
    ) -> Result<Admission, Conflict> {
        match (self.admit(thread.into(), spec), on_conflict) {
            (Ok(run), _) => Ok(Admission::Created(run)),
            (Err((existing, _)), OnConflict::ReturnExisting) => Ok(Admission::Existing(existing)),
            (Err((blocking, rejected)), OnConflict::Reject) => Err(Conflict::new(blocking, rejected)),
        }
    }

    /// Pending becomes running, as [`Run::start`].
    ///
    /// # Errors
    /// [`TransitionError::Refused`] if the run is not pending: it was cancelled, say, and must not start.
    /// [`TransitionError::Unknown`] if there is no such run.
    pub fn try_start(&self, run_id: RunId) -> Result<(), TransitionError> {
        self.known(run_id)?.start()
    }

    /// Ends a run, as [`Run::finish`]; from outside, say for a time-out, its worker learns of it by the signal.
    ///
    /// # Errors
    /// [`TransitionError::Refused`] with the status that stands, if the [transition table](crate::TRANSITIONS) has no such
    /// arrow. [`TransitionError::Unknown`] if there is no such run.
    pub fn finish(&self, run_id: RunId, ending: Ending) -> Result<(), TransitionError> {
        self.known(run_id)?.finish(ending)
    }

    /// Cancels a run: one that has not started is over at once and never starts, one that runs is told to stop by its
    /// [signal](Run::signal) and is over when its worker says so. May be repeated.
    ///
    /// Against a completion there is one winner (**RR-4**): after [`Cancelling`](CancelOutcome::Cancelling) the run never
    /// becomes a success, and after a success the answer is [`AlreadyTerminal`](CancelOutcome::AlreadyTerminal).
    pub fn cancel(&self, run_id: RunId) -> CancelOutcome {
        self.cancel_for(run_id, None)
    }

    /// As [`cancel`](Self::cancel), with a reason for the record and the signal. The first cancel's reason stays.
    pub fn cancel_with(&self, run_id: RunId, reason: impl Into<Arc<str>>) -> CancelOutcome {
        self.cancel_for(run_id, Some(reason.into()))
    }

    /// Resolves to the terminal status of a run once it is over, at once if it already is; to `None` if there is no such
    /// run at the time of this call. A run that is cleaned up later is still waited for to the end.
    ///
    /// All who wait are woken by the step that ends the run, and none is missed (**RR-8**). The one who holds the [`Run`]
    /// must not wait for it: nobody else would end it.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind and loses nothing.
    pub fn wait_terminal(&self, run_id: RunId) -> WaitTerminal {
        WaitTerminal::new(self.find(run_id))
    }

    /// As [`wait_terminal`](Self::wait_terminal), for plain threads: blocks this one. Not inside an async task.
    #[must_use]
    pub fn wait_terminal_blocking(&self, run_id: RunId) -> Option<Status> {
        parker::block_on(self.wait_terminal(run_id))
    }

    /// What is known of a run; none if there is no such run. One lookup, no scan.
    #[must_use]
    pub fn get(&self, run_id: RunId) -> Option<RunRecord> {
        self.find(run_id).map(|run| run.record())
    }

    /// The runs of a thread that were not cleaned up, in the order of their creation; only the last can be live.
    #[must_use]
    pub fn list_by_thread(&self, thread: &ThreadId) -> Vec<RunRecord> {
        let runs: Vec<_> = self.inner.threads.with(thread, |runs| {
            runs.map(|runs| runs.0.iter().map(Shared::clone).collect()).unwrap_or_default()
        });
        runs.iter().map(|run| run.record()).collect()
    }

    /// Whether the thread had a live run at this moment. **For information only.**
    ///
    /// Never ask this in order to decide whether to create: between the answer and the creation another caller can do the
    /// same, and the thread has two runs. [`create_or_reject`](Self::create_or_reject) is the question and the act in one.
    #[must_use]
    pub fn has_inflight(&self, thread: &ThreadId) -> bool {
        self.inner.threads.with(thread, |runs| runs.and_then(ThreadRuns::live).is_some())
    }

    /// Forgets every run that ended at least `retention` ago and returns how many; [`Duration::ZERO`] forgets all that are
    /// over. **A live run is never forgotten**, however old (**RR-6**).
    ///
    /// Nothing calls it by itself: call it from time to time, or finished runs add up. Handles and waiters of a forgotten
    /// run still work; its id becomes unknown.
    ///
    /// Cost: visits every thread, one shard's lock at a time. Frees what belonged to the runs and threads; the tables
    /// themselves keep their greatest size.
    pub fn cleanup(&self, retention: Duration) -> usize {
        let now = self.inner.clock.now();
        let mut removed = Vec::new();
        self.inner.threads.retain(|_, runs| {
            runs.expire(now, retention, &mut removed);
            !runs.0.is_empty()
        });
        for run in &removed {
            drop(self.inner.runs.update(run.id(), Option::take));
        }
        removed.len()
    }

    /// How many runs there are, live ones and finished ones that were not cleaned up.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.runs.len()
    }

    /// Whether there are no runs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of runs by status. Visits every run, one shard's lock at a time.
    #[must_use]
    pub fn snapshot(&self) -> RegistrySnapshot {
        let mut snapshot = RegistrySnapshot::default();
        self.inner.threads.retain(|_, runs| {
            snapshot.threads += 1;
            runs.0.iter().for_each(|run| snapshot.add(run.look()));
            true
        });
        snapshot
    }

    /// The critical section: a new run, or the record of the one that blocks and the caller's part back.
    #[expect(
        clippy::result_large_err,
        reason = "moved once, into the caller's answer; a box would be allocated under the shard's lock"
    )]
    fn admit(&self, thread: ThreadId, spec: RunSpec) -> Result<Run, (RunRecord, RunSpec)> {
        let inner = &*self.inner;
        let draft = Draft::new(thread.clone(), spec, inner.clock.clone());
        let admitted = inner.threads.update(thread, |slot| {
            if let Some(blocking) = slot.as_ref().and_then(ThreadRuns::live) {
                return Err((blocking, draft));
            }
            let state = Shared::new(draft.admit(RunId::next()));
            inner.runs.update(state.id(), |slot| *slot = Some(Shared::clone(&state)));
            slot.get_or_insert_default().0.push_back(Shared::clone(&state));
            Ok(state)
        });
        admitted.map(Run::new).map_err(|(blocking, draft)| (blocking, draft.reject()))
    }

    fn cancel_for(&self, run_id: RunId, reason: Option<Arc<str>>) -> CancelOutcome {
        self.find(run_id).map_or(CancelOutcome::Unknown, |run| run.cancel(reason))
    }

    fn find(&self, run_id: RunId) -> Option<Shared<RunState>> {
        self.inner.runs.with(&run_id, |run| run.map(Shared::clone))
    }

    fn known(&self, run_id: RunId) -> Result<Shared<RunState>, TransitionError> {
        self.find(run_id).ok_or(TransitionError::Unknown { run_id })
    }
}

impl Default for RunRegistry {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for RunRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunRegistry")
            .field("runs", &self.len())
            .field("threads", &self.inner.threads.len())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;
    use std::error::Error;

    /// Everything one can do to a run while another run's mutex is held: what visited that one would never return.
    fn live_through(registry: &RunRegistry, thread: &str) -> Result<(), Box<dyn Error>> {
        let run = registry.create_or_reject(thread, RunSpec::new())?;
        assert!(registry.has_inflight(run.thread()));
        assert!(registry.create_or_reject(thread, RunSpec::new()).is_err());
        registry.try_start(run.id())?;
        assert_eq!(registry.get(run.id()).map(|record| record.status), Some(Status::Running));
        assert_eq!(registry.cancel(run.id()), CancelOutcome::Cancelling);
        registry.finish(run.id(), Ending::Interrupted)?;
        assert_eq!(registry.wait_terminal_blocking(run.id()), Some(Status::Interrupted));
        Ok(())
    }

    #[test]
    fn an_operation_by_id_or_thread_does_not_scan_the_other_runs() {
        let registry = RunRegistry::new();
        let busy = registry.create_or_reject("busy", RunSpec::new()).unwrap();
        registry.find(busy.id()).unwrap().while_locked(|| live_through(&registry, "thread")).unwrap();
        assert_eq!(registry.len(), 2);
    }

    #[test]
    fn a_create_does_not_scan_the_history_of_its_thread() {
        let registry = RunRegistry::new();
        live_through(&registry, "thread").unwrap();
        let oldest = registry.list_by_thread(&"thread".into())[0].id;
        live_through(&registry, "thread").unwrap();
        registry.find(oldest).unwrap().while_locked(|| live_through(&registry, "thread")).unwrap();
        let ids: Vec<_> = registry.list_by_thread(&"thread".into()).iter().map(|record| record.id).collect();
        assert!(ids.len() == 3 && ids.is_sorted());
    }

    #[test]
    fn rr6_a_thread_that_was_busy_once_gives_its_memory_back() {
        let registry = RunRegistry::new();
        for _ in 0..1_000 {
            live_through(&registry, "thread").unwrap();
        }
        let _live = registry.create_or_reject("thread", RunSpec::new()).unwrap();
        assert_eq!(registry.cleanup(Duration::ZERO), 1_000);
        let capacity =
            registry.inner.threads.with(&ThreadId::from("thread"), |runs| runs.map(|runs| runs.0.capacity()));
        assert!(capacity.is_some_and(|capacity| capacity <= 16), "{capacity:?}");
    }
}
