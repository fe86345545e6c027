//! What the registry refuses, and why.

use std::fmt;
use std::time::Duration;

use crate::{RunId, RunRecord, RunSpec, Status, ThreadId};

/// The thread has a live run already: nothing was created. Names who blocks.
///
/// All fields are of the moment of the refusal. To wait until the thread is free, use
/// [`RunRegistry::wait_terminal`](crate::RunRegistry::wait_terminal) with [`run_id`](Conflict::run_id), then create again:
/// somebody else may have been faster, which is another conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    /// The thread that both wanted.
    pub thread: ThreadId,
    /// The run that occupies it.
    pub run_id: RunId,
    /// The live status of that run.
    pub status: Status,
    /// Time since that run's creation.
    pub age: Duration,
    /// Who runs it, if its creator said so.
    pub owner: Option<String>,
    /// What was to be created: given back, for another try.
    pub rejected: RunSpec,
}

impl Conflict {
    pub(crate) fn new(blocking: RunRecord, rejected: RunSpec) -> Self {
        Self {
            rejected,
            owner: blocking.spec.owner_name().map(str::to_owned),
            thread: blocking.thread,
            run_id: blocking.id,
            status: blocking.status,
            age: blocking.age,
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { thread, run_id, status, age, .. } = self;
        write!(f, "thread \"{thread}\" is occupied by run {run_id} ({status}, created {age:.1?} ago")?;
        if let Some(owner) = &self.owner {
            write!(f, ", owner {owner}")?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for Conflict {}

/// A status was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransitionError {
    /// The [transition table](crate::TRANSITIONS) has no such arrow. The run stays what it is.
    Refused {
        /// The run.
        run_id: RunId,
        /// What it is: the status that won, if two raced.
        from: Status,
        /// What was asked for.
        to: Status,
    },
    /// No run of this registry has this id: it never had, or the run was cleaned up.
    Unknown {
        /// The id that was asked for.
        run_id: RunId,
    },
}

impl fmt::Display for TransitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { run_id, from, to } => {
                write!(f, "run {run_id} is {from} and cannot become {to}")
            }
            Self::Unknown { run_id } => write!(f, "no run {run_id} is known"),
        }
    }
}

impl std::error::Error for TransitionError {}

/// What a cancel found. None of these is an error: a cancel may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "only the outcome says whether the run is over, stopping, or was never there"]
pub enum CancelOutcome {
    /// It had not started: it is [`Interrupted`](Status::Interrupted) now and will never start.
    Cancelled,
    /// It runs and was asked to stop, now or by an earlier cancel. It will end in any terminal status but success.
    Cancelling,
    /// It was over already, as this status says.
    AlreadyTerminal(Status),
    /// No run of this registry has this id.
    Unknown,
}
