//! Settings, and how a writer comes up.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::thread;
use std::time::Duration;

use tidegate_core::{Never, Stop};
use tidegate_sync::parker;
use tokio::sync::{mpsc, oneshot};

use crate::batch::guard;
use crate::owner::Orders;
use crate::shared::Shared;
use crate::worker::{Limits, Worker};
use crate::{Owner, Sink, StartError, WriteError, Writer};

/// Settings of a [`Writer`], all with defaults.
#[must_use = "settings do nothing until `spawn` or `open`"]
pub struct Builder<S: Sink, P: Stop = Never> {
    queue: usize,
    limits: Limits,
    grace: Duration,
    name: String,
    stop: P,
    on_failure: Option<OnFailure<S::Error>>,
    sink: PhantomData<fn() -> S>,
}

pub(crate) type OnFailure<E> = Box<dyn FnMut(&WriteError<E>) + Send>;

impl<S: Sink> Builder<S, Never> {
    pub(crate) fn new() -> Self {
        Self {
            queue: 1024,
            limits: Limits { max_batch: 256, max_batch_bytes: usize::MAX, linger: Duration::ZERO },
            grace: Duration::from_secs(5),
            name: "tidegate-writer".to_owned(),
            stop: Never,
            on_failure: None,
            sink: PhantomData,
        }
    }
}

impl<S: Sink, P: Stop> Builder<S, P> {
    /// How many records may wait (SW-6). 1024 by default, at least 1.
    pub fn queue(mut self, records: usize) -> Self {
        self.queue = records.clamp(1, tokio::sync::Semaphore::MAX_PERMITS);
        self
    }

    /// How many records one transaction takes at most. 256 by default, at least 1.
    pub fn max_batch(mut self, records: usize) -> Self {
        self.limits.max_batch = records.max(1);
        self
    }

    /// A batch takes no further record once its [weight](Sink::weigh) has reached this many bytes. No limit by default.
    pub fn max_batch_bytes(mut self, bytes: usize) -> Self {
        self.limits.max_batch_bytes = bytes;
        self
    }

    /// How long a batch that is not full waits for more, from its first record on. Zero by default: while one batch is
    /// being committed the next gathers in the queue by itself, so waiting pays only where commits are very cheap.
    pub fn linger(mut self, linger: Duration) -> Self {
        self.limits.linger = linger;
        self
    }

    /// How long [`Owner::close`] waits, after its deadline, for the sink to finish what it has in hand and to close.
    /// Five seconds by default.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// The name of the thread. `tidegate-writer` by default. Zero characters are left out.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into().replace('\0', "");
        self
    }

    /// Listens to an abort signal: once it stops, no record is taken or tried any more, what was applied to the open
    /// transaction is committed, everything else fails with [`WriteError::Aborted`], and the sink is closed.
    pub fn abort<Q: Stop>(self, stop: Q) -> Builder<S, Q> {
        let Self { queue, limits, grace, name, stop: _, on_failure, sink } = self;
        Builder { queue, limits, grace, name, stop, on_failure, sink }
    }

    /// Calls `on_failure` once for each record that was not acknowledged, also if nobody holds its receipt any more: the
    /// place to broadcast a fatal error. It runs on the owner thread between two batches, under no lock, before the
    /// receipts of the batch resolve; a panic in it is caught and counted.
    pub fn on_failure(mut self, on_failure: impl FnMut(&WriteError<S::Error>) + Send + 'static) -> Self {
        self.on_failure = Some(Box::new(on_failure));
        self
    }

    /// Starts a thread that owns `sink`.
    ///
    /// # Errors
    /// The operating system gave no thread.
    pub fn spawn(self, sink: S) -> io::Result<(Writer<S>, Owner<S>)>
    where
        S: Send,
    {
        self.start(move |start: Start<S, P>| start.run(sink))
    }

    /// Starts a thread that makes its own sink: for one that cannot be sent, or whose opening blocks.
    ///
    /// # Errors
    /// What `open` said, or why it could not be asked.
    ///
    /// # Cancel safety
    /// Dropped before it is ready: the thread closes the sink that it may have opened, and ends.
    pub async fn open<O, F>(self, open: F) -> Result<(Writer<S>, Owner<S>), StartError<O>>
    where
        O: Send + 'static,
        F: FnOnce() -> Result<S, O> + Send + 'static,
    {
        let (opened, answer) = oneshot::channel();
        let handles = self
            .start(move |start: Start<S, P>| {
                let (sink, said) = match guard(open) {
                    Ok(sink) => (Some(sink), Ok(())),
                    Err(fault) => (None, Err(fault.into_start_error())),
                };
                // Whoever waited for the answer may have left: then the writer is gone too, and the thread ends.
                let _ = opened.send(said);
                if let Some(sink) = sink {
                    start.run(sink);
                }
            })
            .map_err(StartError::Thread)?;
        match answer.await {
            Ok(said) => said.map(|()| handles),
            Err(_) => Err(StartError::Panicked("the thread ended while opening the sink".into())),
        }
    }

    /// As [`open`](Builder::open), blocking this thread. Not for use inside an async task.
    ///
    /// # Errors
    /// What `open` said, or why it could not be asked.
    pub fn open_blocking<O, F>(self, open: F) -> Result<(Writer<S>, Owner<S>), StartError<O>>
    where
        O: Send + 'static,
        F: FnOnce() -> Result<S, O> + Send + 'static,
    {
        parker::block_on(self.open(open))
    }

    fn start(self, body: impl FnOnce(Start<S, P>) + Send + 'static) -> io::Result<(Writer<S>, Owner<S>)> {
        let Self { queue, limits, grace, name, stop, on_failure, sink: _ } = self;
        let (send, receive) = mpsc::channel(queue);
        let (shared, finish) = Shared::new();
        let (orders, heard) = Orders::pair();
        let worker = Worker::new(receive, heard, shared.clone(), finish, limits, on_failure);
        thread::Builder::new().name(name).spawn(move || body(Start { worker, stop }))?;
        Ok((Writer::new(send, shared.clone()), Owner::new(orders, shared, grace)))
    }
}

/// Everything the thread needs but its sink.
struct Start<S: Sink, P: Stop> {
    worker: Worker<S>,
    stop: P,
}

impl<S: Sink, P: Stop> Start<S, P> {
    fn run(self, sink: S) {
        self.worker.run(sink, &self.stop);
    }
}

impl<S: Sink, P: Stop> fmt::Debug for Builder<S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("queue", &self.queue)
            .field("limits", &self.limits)
            .field("grace", &self.grace)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
