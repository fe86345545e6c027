//! One run: its status, who waits for its end, and the signal that tells its worker to stop.
//!
//! # States and transitions
//! The table is [`Status`]'s own. Every change goes through [`RunState::step`], which holds it against that table.
//!
//! # Invariants
//! - I1: `core.status` only ever changes along [`TRANSITIONS`](crate::TRANSITIONS), in one critical section with the cause
//!   and the time of the change.
//! - I2: in a terminal status nobody is in `core.waiters`: the step that ends the run takes them all out.
//! - I3: once a call that found or left the run in a status that stops work has returned, the signal is aborted. The
//!   status comes first, the signal after it, outside the lock.
//!
//! # Why a run that is over never blocks its thread
//! "Blocks" is not recorded anywhere else: whoever creates a run asks the thread's last run for its status, under this
//! mutex. So the end of the run and the freeing of its thread are one store, and there is no order of two to get wrong.
//!
//! # Lock order
//! The shard of the thread, then this mutex, which is a leaf: nothing else is locked under it. Wakers are called, cloned
//! and dropped, and the signal is aborted, outside of it.

use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, SystemTime};

use tidegate_abort_signal::{AbortSignal, Reason};
use tidegate_sync::primitives::Mutex;
use tidegate_sync::{Clock, WaitKey, WaitList, WakeBatch};

use crate::{CancelOutcome, Cause, Ending, RunId, RunRecord, RunSpec, Status, ThreadId, TransitionError};

/// A run before it is admitted: everything that can be made outside the thread's lock.
pub(crate) struct Draft {
    thread: ThreadId,
    spec: Arc<RunSpec>,
    signal: AbortSignal,
    clock: Clock,
    created_at: SystemTime,
    created: Duration,
}

pub(crate) struct RunState {
    id: RunId,
    made: Draft,
    core: Mutex<Core>,
}

struct Core {
    status: Status,
    cause: Option<Cause>,
    started: Option<Duration>,
    finished: Option<Duration>,
    waiters: WaitList,
}

impl Draft {
    pub(crate) fn new(thread: ThreadId, spec: RunSpec, clock: Clock) -> Self {
        Self {
            thread,
            spec: Arc::new(spec),
            signal: AbortSignal::new(),
            created_at: SystemTime::now(),
            created: clock.now(),
            clock,
        }
    }

    /// The run, pending, under the name it was given.
    pub(crate) fn admit(self, id: RunId) -> RunState {
        let core = Core {
            status: Status::Pending,
            cause: None,
            started: None,
            finished: None,
            waiters: WaitList::new(),
        };
        RunState { id, made: self, core: Mutex::new(core) }
    }

    /// Gives the caller's part back.
    pub(crate) fn reject(self) -> RunSpec {
        Arc::unwrap_or_clone(self.spec)
    }
}

impl Core {
    /// Takes over `next`, which the table allows. The cause of an accepted cancel stays that of the interruption.
    fn enter(&mut self, next: Status, cause: Option<Cause>, now: Duration) {
        self.status = next;
        if next != Status::Interrupted || self.cause.is_none() {
            self.cause = cause.or(self.cause.take());
        }
        if next == Status::Running {
            self.started = Some(now);
        }
        if next.is_terminal() {
            self.finished = Some(now);
        }
    }
}

impl RunState {
    pub(crate) fn id(&self) -> RunId {
        self.id
    }

    pub(crate) fn thread(&self) -> &ThreadId {
        &self.made.thread
    }

    pub(crate) fn signal(&self) -> &AbortSignal {
        &self.made.signal
    }

    pub(crate) fn status(&self) -> Status {
        self.core.lock().status
    }

    /// Status and number of waiters, of one moment.
    pub(crate) fn look(&self) -> (Status, usize) {
        let core = self.core.lock();
        (core.status, core.waiters.len())
    }

    pub(crate) fn record(&self) -> RunRecord {
        let now = self.made.clock.now();
        self.record_of(&self.core.lock(), now)
    }

    /// The record, if the run blocks its thread at this moment.
    pub(crate) fn record_if_live(&self) -> Option<RunRecord> {
        let now = self.made.clock.now();
        let core = self.core.lock();
        core.status.is_live().then(|| self.record_of(&core, now))
    }

    /// Whether the run ended at least `retention` before `now`.
    pub(crate) fn ended_before(&self, now: Duration, retention: Duration) -> bool {
        let finished = self.core.lock().finished;
        finished.is_some_and(|finished| now.saturating_sub(finished) >= retention)
    }

    pub(crate) fn start(&self) -> Result<(), TransitionError> {
        self.change(Status::Running, None)
    }

    pub(crate) fn finish(&self, ending: Ending) -> Result<(), TransitionError> {
        self.change(ending.status(), ending.cause())
    }

    pub(crate) fn cancel(&self, reason: Option<Arc<str>>) -> CancelOutcome {
        match self.step(Status::when_cancelled, Some(Cause::Cancelled(reason))) {
            Ok(Status::Interrupted) => CancelOutcome::Cancelled,
            Ok(_) | Err(Status::Cancelling) => CancelOutcome::Cancelling,
            Err(terminal) => CancelOutcome::AlreadyTerminal(terminal),
        }
    }

    /// The worker is gone. Changes nothing if the run is over.
    pub(crate) fn abandon(&self) {
        // Refused: it was over, which is what an orderly worker leaves behind.
        let _ = self.step(Status::when_abandoned, Some(Cause::Abandoned));
    }

    fn change(&self, to: Status, cause: Option<Cause>) -> Result<(), TransitionError> {
        match self.step(|_| Some(to), cause) {
            Ok(_) => Ok(()),
            Err(from) => Err(TransitionError::Refused { run_id: self.id, from, to }),
        }
    }

    /// The one place that changes a status: `next` says what shall follow the present one. Returns the status that was
    /// entered, or as an error the one that stays.
    fn step(
        &self,
        next: impl FnOnce(Status) -> Option<Status>,
        cause: Option<Cause>,
    ) -> Result<Status, Status> {
        let now = self.made.clock.now();
        // Outlives the lock, so that wakers are called after it.
        let mut woken = WakeBatch::new();
        let (result, stop) = {
            let mut core = self.core.lock();
            let from = core.status;
            let result = match next(from).filter(|to| from.can_become(*to)) {
                Some(to) => {
                    core.enter(to, cause, now);
                    if to.is_terminal() {
                        woken.extend(core.waiters.take_all());
                    }
                    Ok(to)
                }
                None => Err(from),
            };
            (result, core.status.stops_work().then(|| (core.status, core.cause.clone())))
        };
        // Also when nothing changed: whoever changed it may not have come this far yet (I3). The first reason stays.
        if let Some((status, cause)) = stop {
            self.made.signal.abort(reason_of(status, cause));
        }
        woken.wake();
        result
    }

    /// Ready once the run is over; until then `waker` is in the list under `key`.
    pub(crate) fn poll_terminal(&self, key: &mut Option<WaitKey>, waker: &Waker) -> Poll<Status> {
        {
            let core = self.core.lock();
            if core.status.is_terminal() {
                return Poll::Ready(core.status);
            }
            if key.is_some_and(|key| core.waiters.will_wake(key, waker)) {
                return Poll::Pending;
            }
        }
        let waker = waker.clone();
        // What is left of a waker is carried out of the lock and dropped there.
        let (poll, _spare) = {
            let mut core = self.core.lock();
            match (core.status, *key) {
                // Looked at again: the run may have ended while the lock was free, and would wake nobody (I2).
                (over, _) if over.is_terminal() => (Poll::Ready(over), Some(waker)),
                (_, None) => {
                    *key = Some(core.waiters.push_back(waker, ()));
                    (Poll::Pending, None)
                }
                // Only the end of the run takes a waiter out, so this one is still in.
                (_, Some(key)) => {
                    (Poll::Pending, Some(core.waiters.renew(key, waker).unwrap_or_else(|same| same)))
                }
            }
        };
        poll
    }

    /// A waiter that leaves before the end.
    pub(crate) fn forget(&self, key: WaitKey) {
        let left = self.core.lock().waiters.remove(key);
        drop(left);
    }

    /// Runs `act` while this run's mutex is held.
    #[cfg(all(test, not(tidegate_loom)))]
    pub(crate) fn while_locked<R>(&self, act: impl FnOnce() -> R) -> R {
        let _held = self.core.lock();
        act()
    }

    fn record_of(&self, core: &Core, now: Duration) -> RunRecord {
        let since = |reading: Duration| reading.saturating_sub(self.made.created);
        RunRecord {
            id: self.id,
            thread: self.made.thread.clone(),
            spec: Arc::clone(&self.made.spec),
            status: core.status,
            cause: core.cause.clone(),
            created_at: self.made.created_at,
            age: since(now),
            started_after: core.started.map(since),
            finished_after: core.finished.map(since),
        }
    }
}

/// What the signal says: the canceller's own words where there are some.
fn reason_of(status: Status, cause: Option<Cause>) -> Reason {
    match cause {
        Some(Cause::Cancelled(Some(reason))) => Reason::new(reason),
        Some(cause) => Reason::new(cause.to_string()),
        None => Reason::new(status.name()),
    }
}
