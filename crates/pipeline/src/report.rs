//! What a run did, stage by stage, and how it ended.

use std::fmt;
use std::time::Duration;

use crate::control::Control;
use crate::error::{Cause, PipelineError};
use crate::live::Phase;
use crate::tally::Tally;

/// Every number of a run.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[must_use = "it says whether the run was aborted"]
#[non_exhaustive]
pub struct PipelineReport {
    /// The pipeline's name.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
    /// From the start of the run to its end.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
    pub wall: Duration,
    /// The stages, in the order of their declaration.
    pub stages: Vec<StageReport>,
    /// The first 64 panics, in the order they were caught.
    pub panics: Vec<StagePanic>,
    /// The stages that still ran when the grace after the abort was over: a closure of theirs blocks its thread.
    pub stuck: Vec<String>,
}

/// How a run ended.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Outcome {
    /// Every source came to its end, and everything it sent was worked off (**PL-2**).
    Completed,
    /// A source was told to stop by the signal's drain level; everything that was sent was worked off (**PL-2**).
    Drained,
    /// The run was cut short.
    Aborted {
        /// Why.
        #[cfg_attr(feature = "serde", serde(serialize_with = "text"))]
        cause: Cause,
    },
}

/// A panic in a closure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StagePanic {
    /// The stage.
    pub stage: String,
    /// The text of the panic.
    pub message: String,
}

/// What one stage did.
///
/// **PL-1**: `consumed = completed + filtered + failed + throttled + panicked + left`, whatever happened. Across stages:
/// what the stages before emitted into a queue is what the stage behind it `consumed`, and what it left `queued`.
///
/// Times that several workers spend at once are added up: with 8 workers `busy + blocked_on_output + starved` is up to 8
/// times `wall`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StageReport {
    /// Its name.
    pub name: String,
    /// Its number of workers.
    pub workers: usize,
    /// Items taken from its queue; 0 for a source.
    pub consumed: u64,
    /// Items that ended well.
    pub completed: u64,
    /// Items sent on, to all outputs together. Apart from the sum: a stage may emit none or many for an item.
    pub emitted: u64,
    /// Items looked at and left out.
    pub filtered: u64,
    /// Items that failed, the fatal one included.
    pub failed: u64,
    /// Items given up because the service kept throttling.
    pub throttled: u64,
    /// Items over which the closure panicked.
    pub panicked: u64,
    /// Items that were taken, but dropped unfinished by an abort (or are still in a stuck closure).
    pub left: u64,
    /// Items that were never taken: in its queue when an abort came. Of a stuck pipeline, as far as they were counted when
    /// the grace was over.
    pub queued: u64,
    /// Time in the closure, without waiting for a place in the next queue. For a writer: time with a record under way,
    /// without waiting for a place in the writer's queue.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
    pub busy: Duration,
    /// Time spent waiting for a place in the next queue: this stage was faster than the next.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
    pub blocked_on_output: Duration,
    /// Time spent waiting for an item: this stage was faster than the one before.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
    pub starved: Duration,
    /// The capacity of the queue it reads; 0 for a source.
    pub queue_capacity: usize,
    /// The most items that its queue ever held.
    pub queue_high_water: usize,
    /// From the start of its workers to its end.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
    pub wall: Duration,
    /// The time in the closure that half of the items did not exceed: never told too low, and too high by less than 1/16.
    /// For a writer: from the send to the acknowledgement.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
    pub p50: Duration,
    /// As `p50`, for 99 of 100 items.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
    pub p99: Duration,
    /// The texts of the first 8 errors of its items, each with what caused it.
    pub errors: Vec<String>,
}

impl PipelineReport {
    pub(crate) fn of(control: &Control, wall: Duration) -> Self {
        let tallies = control.tallies();
        let stopped = control.has_own_cause() || tallies.iter().any(|tally| cut_short(tally));
        let outcome = match control.cause() {
            Some(cause) if stopped => Outcome::Aborted { cause },
            _ if control.was_drained() => Outcome::Drained,
            _ => Outcome::Completed,
        };
        let stuck = tallies.iter().filter(|tally| runs(tally)).map(|tally| tally.name.to_string());
        Self {
            name: control.name.to_string(),
            outcome,
            wall,
            stages: tallies.iter().map(|tally| StageReport::of(tally)).collect(),
            panics: control.panics(),
            stuck: stuck.collect(),
        }
    }

    /// The report of a stage, by name: the first of that name.
    #[must_use]
    pub fn stage(&self, name: &str) -> Option<&StageReport> {
        self.stages.iter().find(|stage| stage.name == name)
    }

    /// Why the run was aborted; none if it was not.
    #[must_use]
    pub fn cause(&self) -> Option<&Cause> {
        match &self.outcome {
            Outcome::Aborted { cause } => Some(cause),
            Outcome::Completed | Outcome::Drained => None,
        }
    }

    /// An aborted run as an error. Failed items, and panics that were [skipped](crate::OnPanic::Skip), are none.
    ///
    /// # Errors
    /// [`PipelineError`], which names the cause and holds the report.
    pub fn into_result(self) -> Result<Self, PipelineError> {
        match self.cause().cloned() {
            Some(cause) => Err(PipelineError::new(self, cause)),
            None => Ok(self),
        }
    }
}

impl StageReport {
    fn of(tally: &Tally) -> Self {
        let (completed, filtered, failed) = (tally.completed.get(), tally.filtered.get(), tally.failed.get());
        let (throttled, panicked, mut left) = (tally.throttled.get(), tally.panicked.get(), tally.left.get());
        let mut consumed = tally.consumed.get();
        if runs(tally) {
            // What a stuck stage still holds counts as left. It goes on counting, so the sum is made from one reading of
            // the ends. A stage that is over has settled every item by itself.
            let ended = completed + filtered + failed + throttled + panicked;
            left = left.max(consumed.saturating_sub(ended));
            consumed = ended + left;
        }
        Self {
            name: tally.name.to_string(),
            workers: tally.workers,
            consumed,
            completed,
            emitted: tally.emitted.get(),
            filtered,
            failed,
            throttled,
            panicked,
            left,
            queued: tally.queued.get(),
            busy: tally.busy.time(),
            blocked_on_output: tally.blocked.time(),
            starved: tally.starved.time(),
            queue_capacity: tally.input.as_ref().map_or(0, |meter| meter.capacity),
            queue_high_water: tally.input.as_ref().map_or(0, |meter| meter.high_water()),
            wall: tally.wall(),
            p50: tally.times.percentile(50),
            p99: tally.times.percentile(99),
            errors: tally.errors(),
        }
    }
}

/// Whether a stage still runs, after the run.
fn runs(tally: &Tally) -> bool {
    matches!(tally.phase(), Phase::Running | Phase::Held)
}

/// Whether the abort took anything from a stage.
fn cut_short(tally: &Tally) -> bool {
    tally.was_stopped() || runs(tally) || tally.phase() == Phase::Idle
}

/// A short form: the outcome, then a line for each stage.
impl fmt::Display for PipelineReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} after {:.3?}", self.name, self.outcome, self.wall)?;
        for stage in &self.stages {
            write!(f, "\n  {stage}")?;
        }
        if !self.stuck.is_empty() {
            write!(f, "\n  still running: {}", self.stuck.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::Drained => f.write_str("drained"),
            Self::Aborted { cause } => write!(f, "aborted ({cause})"),
        }
    }
}

/// One line: the counts that are not zero.
impl fmt::Display for StageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} consumed", self.name, self.consumed)?;
        let counts = [
            (self.completed, "completed"),
            (self.emitted, "emitted"),
            (self.filtered, "filtered"),
            (self.failed, "failed"),
            (self.throttled, "throttled"),
            (self.panicked, "panicked"),
            (self.left, "left"),
            (self.queued, "queued"),
        ];
        for (count, name) in counts {
            if count > 0 {
                write!(f, ", {count} {name}")?;
            }
        }
        Ok(())
    }
}

#[cfg(feature = "serde")]
fn seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

#[cfg(feature = "serde")]
pub(crate) fn text<T: fmt::Display, S: serde::Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}
