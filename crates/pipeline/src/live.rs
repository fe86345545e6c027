//! The numbers of a pipeline while it runs.

use std::fmt;
use std::sync::Arc;

use crate::control::Control;
use crate::tally::Tally;

/// Looks at a pipeline while it runs: [`Pipeline::monitor`](crate::Pipeline::monitor), taken before the run. Clones look at
/// the same pipeline, and it may be kept after the end.
///
/// Cost: nothing for the stages, which count anyway; a look is a short lock for each stage and a few loads.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use tidegate_pipeline::{AbortSignal, Opts, Phase, Pipeline, Step, queue};
///
/// let mut p = Pipeline::new("numbers", AbortSignal::new());
/// let monitor = p.monitor();
/// let numbers = p.source("count", queue(4), async |out| {
///     for number in 0..10 {
///         if out.send(number).await.is_err() {
///             break;
///         }
///     }
/// });
/// p.sink_fn("forget", numbers, Opts::default(), async |_number| Step::done());
/// assert_eq!(monitor.stages()[1].phase, Phase::Idle);
/// p.run().await;
/// assert_eq!((monitor.stages()[1].phase, monitor.stages()[1].completed), (Phase::Ended, 10));
/// # }
/// ```
#[derive(Clone)]
pub struct Monitor {
    control: Arc<Control>,
}

/// Where a stage is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Phase {
    /// It does not run yet.
    Idle,
    /// Its workers run.
    Running,
    /// Its workers have ended, but senders that it gave away keep its output open.
    Held,
    /// It is over.
    Ended,
}

/// One stage at one moment. The numbers are read one after the other while the stage works: each is right, their sum may be
/// off by what happened in between.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LiveStage {
    /// Its name.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::report::text"))]
    pub name: Arc<str>,
    /// Where it is in its life.
    pub phase: Phase,
    /// Its number of workers.
    pub workers: usize,
    /// Items taken from its queue.
    pub consumed: u64,
    /// Items that ended well.
    pub completed: u64,
    /// Items sent on.
    pub emitted: u64,
    /// Items left out.
    pub filtered: u64,
    /// Items that failed.
    pub failed: u64,
    /// Items given up because of throttling.
    pub throttled: u64,
    /// Items whose closure panicked.
    pub panicked: u64,
    /// Items taken and dropped by an abort.
    pub left: u64,
    /// Items in the hands of its workers.
    pub in_flight: u64,
    /// Items in the queue it reads; 0 for a source.
    pub queue_depth: usize,
    /// The capacity of the queue it reads; 0 for a source.
    pub queue_capacity: usize,
    /// Living senders of its output. In phase [`Held`](Phase::Held) they are what the next stage waits for.
    pub senders: usize,
}

impl Monitor {
    pub(crate) fn new(control: Arc<Control>) -> Self {
        Self { control }
    }

    /// Every stage declared so far, in the order of declaration.
    #[must_use]
    pub fn stages(&self) -> Vec<LiveStage> {
        self.control.tallies().iter().map(|tally| look(tally)).collect()
    }

    /// The first stage, in the order of declaration, that is not over: the one that keeps the others waiting when a pipeline
    /// seems stuck (**PL-5**). None before the run, and after it.
    #[must_use]
    pub fn holding(&self) -> Option<LiveStage> {
        self.stages().into_iter().find(|stage| matches!(stage.phase, Phase::Running | Phase::Held))
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor").field("name", &self.control.name).field("stages", &self.stages()).finish()
    }
}

fn look(tally: &Tally) -> LiveStage {
    let in_flight = tally.in_flight();
    LiveStage {
        name: Arc::clone(&tally.name),
        phase: tally.phase(),
        workers: tally.workers,
        consumed: tally.consumed.get(),
        completed: tally.completed.get(),
        emitted: tally.emitted.get(),
        filtered: tally.filtered.get(),
        failed: tally.failed.get(),
        throttled: tally.throttled.get(),
        panicked: tally.panicked.get(),
        left: tally.left.get(),
        in_flight,
        queue_depth: tally.input.as_ref().map_or(0, |meter| meter.depth()),
        queue_capacity: tally.input.as_ref().map_or(0, |meter| meter.capacity),
        senders: tally.senders(),
    }
}
