//! How many workers, how long a queue, and what a panic means.

use tokio::sync::Semaphore;

/// The capacity of the queue behind a source: [`queue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue(usize);

/// A queue of `capacity` items: at least 1, at most [`Opts::MAX_QUEUE`].
///
/// ```
/// use tidegate_pipeline::queue;
/// assert_eq!(queue(64).capacity(), 64);
/// assert_eq!(queue(0).capacity(), 1);
/// ```
#[must_use]
pub const fn queue(capacity: usize) -> Queue {
    let capacity = if capacity == 0 { 1 } else { capacity };
    Queue(if capacity > Opts::MAX_QUEUE { Opts::MAX_QUEUE } else { capacity })
}

impl Queue {
    /// How many items it holds.
    #[must_use]
    pub const fn capacity(self) -> usize {
        self.0
    }
}

/// What a panic over one item means for the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnPanic {
    /// The item counts as panicked and the pipeline aborts: a panic is a bug, and the state it left behind is unknown.
    #[default]
    Abort,
    /// The item counts as panicked, the panic is listed in the report, and the run goes on.
    Skip,
}

/// The settings of a stage or of a closure that serves as sink.
///
/// ```
/// use tidegate_pipeline::{OnPanic, Opts};
///
/// let opts = Opts::workers(8).queue(64).on_panic(OnPanic::Skip);
/// assert_eq!((opts.worker_count(), opts.queue_capacity()), (8, 64));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opts {
    workers: usize,
    queue: Queue,
    on_panic: OnPanic,
}

impl Default for Opts {
    /// One worker, and a queue of 64 behind it.
    fn default() -> Self {
        Self { workers: 1, queue: queue(64), on_panic: OnPanic::default() }
    }
}

impl Opts {
    /// The most workers a stage can have. Each is a task that exists for the whole run.
    pub const MAX_WORKERS: usize = 65_536;
    /// The longest queue. Places that are never used cost nothing.
    pub const MAX_QUEUE: usize = Semaphore::MAX_PERMITS;

    /// So many workers (at least 1, at most [`MAX_WORKERS`](Self::MAX_WORKERS)): as many items are in hand at a time.
    #[must_use]
    pub fn workers(workers: usize) -> Self {
        Self::default().with_workers(workers)
    }

    /// The capacity of the queue *behind* the stage, which the next one reads (clamped as in [`queue()`]). A stage with a
    /// second output has a queue of this length behind each. A sink has none.
    #[must_use]
    pub const fn queue(mut self, capacity: usize) -> Self {
        self.queue = queue(capacity);
        self
    }

    /// What a panic over one item means for the others. [`OnPanic::Abort`] unless set.
    #[must_use]
    pub const fn on_panic(mut self, on_panic: OnPanic) -> Self {
        self.on_panic = on_panic;
        self
    }

    /// The number of workers.
    #[must_use]
    pub const fn worker_count(self) -> usize {
        self.workers
    }

    /// The capacity of the queue behind the stage.
    #[must_use]
    pub const fn queue_capacity(self) -> usize {
        self.queue.capacity()
    }

    pub(crate) fn with_workers(mut self, workers: usize) -> Self {
        self.workers = workers.clamp(1, Self::MAX_WORKERS);
        self
    }

    pub(crate) const fn skips_panics(self) -> bool {
        matches!(self.on_panic, OnPanic::Skip)
    }
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_zero_and_nothing_overflows() {
        let least = Opts::workers(0).queue(0);
        assert_eq!((least.worker_count(), least.queue_capacity()), (1, 1));
        let most = Opts::workers(usize::MAX).queue(usize::MAX);
        assert_eq!((most.worker_count(), most.queue_capacity()), (Opts::MAX_WORKERS, Opts::MAX_QUEUE));
    }
}
