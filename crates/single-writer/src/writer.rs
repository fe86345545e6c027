//! The producers' handle.

use std::convert::Infallible;
use std::fmt;
use std::io;

use tidegate_core::Never;
use tidegate_sync::parker;
use tokio::sync::{mpsc, oneshot};

use crate::batch::Item;
use crate::shared::{Command, Shared};
use crate::{Builder, Owner, Receipt, Rejected, Sink, StartError, Stats, TrySendError};

/// Sends records to the thread that owns the sink. Cheap to clone; when the last one is dropped, the thread drains the
/// queue, closes the sink and ends (SW-4).
///
/// # Fairness
/// First come, first served: producers that wait for a place in the queue get it in the order they came. A producer
/// that awaits each [`send`](Writer::send) before the next has its records written in that order (SW-5).
pub struct Writer<S: Sink> {
    queue: mpsc::Sender<Command<S>>,
    shared: Shared<S::Error>,
}

/// The receipt of a record of the sink `S`.
pub type ReceiptOf<S> = Receipt<<S as Sink>::Ack, <S as Sink>::Error>;

impl<S: Sink> Writer<S> {
    /// Settings, all with defaults.
    pub fn builder() -> Builder<S, Never> {
        Builder::new()
    }

    /// Starts a thread that owns `sink`, with the default settings.
    ///
    /// # Errors
    /// The operating system gave no thread.
    pub fn spawn(sink: S) -> io::Result<(Self, Owner<S>)>
    where
        S: Send,
    {
        Self::builder().spawn(sink)
    }

    /// Starts a thread that makes its own sink, with the default settings.
    ///
    /// # Errors
    /// What `open` said, or why it could not be asked.
    pub async fn open<O, F>(open: F) -> Result<(Self, Owner<S>), StartError<O>>
    where
        O: Send + 'static,
        F: FnOnce() -> Result<S, O> + Send + 'static,
    {
        Self::builder().open(open).await
    }

    pub(crate) fn new(queue: mpsc::Sender<Command<S>>, shared: Shared<S::Error>) -> Self {
        Self { queue, shared }
    }

    /// Queues a record, waiting for a free place, and gives the receipt to wait on.
    ///
    /// # Errors
    /// The record, if the writer is closed.
    ///
    /// # Cancel safety
    /// Dropped before it is ready: the record is dropped with it and was not queued.
    pub async fn send(&self, record: S::Record) -> Result<ReceiptOf<S>, Rejected<S::Record>> {
        match self.queue.reserve().await {
            Ok(place) => Ok(enqueue(place, record)),
            Err(_) => Err(Rejected(record)),
        }
    }

    /// Queues a record if there is a free place now.
    ///
    /// # Errors
    /// The record, if the queue is full or the writer closed.
    pub fn try_send(&self, record: S::Record) -> Result<ReceiptOf<S>, TrySendError<S::Record>> {
        match self.queue.try_reserve() {
            Ok(place) => Ok(enqueue(place, record)),
            Err(mpsc::error::TrySendError::Full(())) => Err(TrySendError::Full(record)),
            Err(mpsc::error::TrySendError::Closed(())) => Err(TrySendError::Closed(record)),
        }
    }

    /// As [`send`](Writer::send), blocking this thread. Not for use inside an async task.
    ///
    /// # Errors
    /// The record, if the writer is closed.
    pub fn send_blocking(&self, record: S::Record) -> Result<ReceiptOf<S>, Rejected<S::Record>> {
        parker::block_on(self.send(record))
    }

    /// Resolves once every record that was queued before is committed or failed, whoever sent it.
    ///
    /// Takes a place in the queue, and ends a [`linger`](Builder::linger). On a closed writer it waits for the end.
    ///
    /// # Cancel safety
    /// Dropping it loses nothing.
    pub async fn flush(&self) {
        let (done, answer) = oneshot::channel::<Infallible>();
        match self.queue.reserve().await {
            Ok(place) => {
                place.send(Command::Flush(done));
                // An error is the answer: the thread drops its end once the batch is settled.
                let _ = answer.await;
            }
            Err(_) => self.shared.ended().await,
        }
    }

    /// As [`flush`](Writer::flush), blocking this thread. Not for use inside an async task.
    pub fn flush_blocking(&self) {
        parker::block_on(self.flush());
    }

    /// Whether the writer takes no more records.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    /// The numbers so far. Cost: one short lock, which the owner thread takes once a batch.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let queued = self.queue.max_capacity() - self.queue.capacity();
        Stats { queued, ..self.shared.stats() }
    }
}

fn enqueue<S: Sink>(place: mpsc::Permit<'_, Command<S>>, record: S::Record) -> ReceiptOf<S> {
    let weight = S::weigh(&record);
    let (reply, receipt) = Receipt::pair();
    place.send(Command::Write(Item { record, weight, reply }));
    receipt
}

/// Not derived: a derive would demand that the sink can be cloned.
impl<S: Sink> Clone for Writer<S> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), shared: self.shared.clone() }
    }
}

impl<S: Sink> fmt::Debug for Writer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("stats", &self.stats()).field("closed", &self.is_closed()).finish()
    }
}
