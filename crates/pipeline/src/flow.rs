//! The output of a stage on its way to the next one, while the pipeline is built.
//!
//! A queue is made when its reader is known, so that any number of stages can feed it: each keeps a promise of a
//! [`Wire`], the [`Flow`] keeps the other ends, and reading it keeps the promises. A dropped flow breaks them, which
//! [`Slot::connect`] sees before anything runs.

use std::fmt;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::Opts;
use crate::channel::{Input, Wire, channel};

/// The output of a source or stage. Give it to a stage or sink, which will read it, or [`merge`](Flow::merge) it with
/// another one first.
///
/// It holds no sender: keeping one back never hangs a run, but leaves its stage without a reader, and the run aborts at once
/// with [`Cause::Disconnected`](crate::Cause::Disconnected).
#[must_use = "a stage whose output nobody reads aborts the run"]
pub struct Flow<T> {
    feeders: Vec<oneshot::Sender<Wire<T>>>,
    capacity: usize,
}

/// Where a stage will find the queue it writes to.
pub(crate) enum Slot<T> {
    /// The stage has no such output.
    Unused,
    Promised(oneshot::Receiver<Wire<T>>),
    Wired(Wire<T>),
}

impl<T> Flow<T> {
    pub(crate) fn new(capacity: usize) -> (Self, Slot<T>) {
        let (feeder, promise) = oneshot::channel();
        (Self { feeders: vec![feeder], capacity }, Slot::Promised(promise))
    }

    /// Both flows as one: all their stages feed one queue, as long as the two together, in the order of arrival.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// use tidegate_pipeline::{AbortSignal, Opts, Pipeline, Rejected, Step, queue};
    ///
    /// let mut p = Pipeline::new("numbers", AbortSignal::new());
    /// let texts = p.source("texts", queue(8), async |out| {
    ///     for text in ["1", "two", "3"] {
    ///         out.send(text).await?;
    ///     }
    ///     Ok::<(), Rejected<&str>>(())
    /// });
    /// let (numbers, faults) = p.stage_aside("parse", texts, Opts::workers(2), async |text: &str, _| {
    ///     match text.parse::<u32>() {
    ///         Ok(number) => Step::emit(format!("number {number}")),
    ///         Err(error) => Step::fail(error).aside(format!("fault {text}")),
    ///     }
    /// });
    /// p.sink_fn("print", numbers.merge(faults), Opts::default(), async |_line| Step::done());
    ///
    /// let report = p.run().await.into_result().unwrap();
    /// assert_eq!((report.stage("parse").unwrap().failed, report.stage("print").unwrap().completed), (1, 3));
    /// # }
    /// ```
    pub fn merge(mut self, other: Self) -> Self {
        self.feeders.extend(other.feeders);
        self.capacity = self.capacity.saturating_add(other.capacity).min(Opts::MAX_QUEUE);
        self
    }

    /// Makes the queue and gives every feeder its sender.
    pub(crate) fn read(self) -> Arc<Input<T>> {
        let (wire, input) = channel(self.capacity);
        for feeder in self.feeders {
            // A feeder whose pipeline was dropped needs no sender.
            let _ = feeder.send(wire.clone());
        }
        input
    }
}

impl<T> fmt::Debug for Flow<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow")
            .field("feeders", &self.feeders.len())
            .field("capacity", &self.capacity)
            .finish()
    }
}

impl<T> Slot<T> {
    /// Takes the sender that was promised. False if nobody reads the flow.
    pub(crate) fn connect(&mut self) -> bool {
        if let Self::Promised(promise) = self {
            let Ok(wire) = promise.try_recv() else { return false };
            *self = Self::Wired(wire);
        }
        true
    }

    pub(crate) fn wire(self) -> Option<Wire<T>> {
        match self {
            Self::Wired(wire) => Some(wire),
            Self::Unused | Self::Promised(_) => None,
        }
    }
}
