//! Who may end the writer.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tidegate_sync::{Clock, parker};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::shared::Shared;
use crate::{CloseReport, End, Sink, Stats};

/// Ends the writer, or waits for its end.
///
/// Dropping it ends nothing: the thread goes on until the last [`Writer`](crate::Writer) is gone, then drains, closes the
/// sink and ends, but nobody waits for that, and a process that returns from `main` meanwhile cuts it short. So keep the
/// owner, and await [`finished`](Owner::finished) or [`close`](Owner::close) before the process ends.
#[must_use = "a process that ends before its writer has finished loses what was not committed"]
pub struct Owner<S: Sink> {
    orders: Orders,
    shared: Shared<S::Error>,
    grace: Duration,
}

impl<S: Sink> Owner<S> {
    pub(crate) fn new(orders: Orders, shared: Shared<S::Error>, grace: Duration) -> Self {
        Self { orders, shared, grace }
    }

    /// Takes no more records, drains the queue, closes the sink and reports.
    ///
    /// Producers that wait for a place get their records back. At the deadline the batch in hand is finished, what is
    /// still queued fails with [`WriteError::Closed`](crate::WriteError::Closed), and the sink is closed. If the sink has
    /// not come back within the [grace](crate::Builder::grace) after that, the report says [`End::Stuck`] and the thread
    /// is left to itself. `Duration::MAX` waits for as long as it takes, and needs no timer.
    ///
    /// # Cancel safety
    /// Dropped once it was polled: the writer is closed and drains without a deadline.
    ///
    /// # Panics
    /// Outside a tokio runtime with a timer, unless the deadline is `Duration::MAX`. Under a paused clock the deadline
    /// passes as soon as the runtime has nothing else to do, whatever the thread is doing: tests give `Duration::MAX`.
    pub async fn close(mut self, deadline: Duration) -> CloseReport<S::Error> {
        self.orders.drain();
        if !self.ends_within(deadline).await {
            self.orders.cut();
            // Late or not, the report is made of what there is.
            self.ends_within(self.grace).await;
        }
        self.shared.report(End::Stuck)
    }

    async fn ends_within(&self, limit: Duration) -> bool {
        if limit == Duration::MAX {
            self.shared.ended().await;
            return true;
        }
        timeout(limit, self.shared.ended()).await.is_ok()
    }

    /// As [`close`](Owner::close), blocking this thread. Not for use inside an async task.
    #[must_use = "the report says whether everything was committed"]
    pub fn close_blocking(mut self, deadline: Duration) -> CloseReport<S::Error> {
        self.orders.drain();
        let clock = Clock::default();
        let at = clock.now().saturating_add(deadline);
        if parker::block_on_until(self.shared.ended(), &clock, at).is_none() {
            self.orders.cut();
            // Late or not, the report is made of what there is.
            let _ = parker::block_on_until(self.shared.ended(), &clock, at.saturating_add(self.grace));
        }
        self.shared.report(End::Stuck)
    }

    /// Waits until the writer has ended by itself: the last [`Writer`](crate::Writer) is gone (SW-4), or it was aborted.
    ///
    /// It never ends while somebody keeps a writer; that is for [`close`](Owner::close).
    ///
    /// # Cancel safety
    /// Dropping it changes nothing.
    pub async fn finished(&self) -> CloseReport<S::Error> {
        self.shared.ended().await;
        self.shared.report(End::Died)
    }

    /// As [`finished`](Owner::finished), blocking this thread. Not for use inside an async task.
    #[must_use = "the report says whether everything was committed"]
    pub fn join_blocking(&self) -> CloseReport<S::Error> {
        parker::block_on(self.finished())
    }

    /// The numbers so far, without [`queued`](Stats::queued), which only a writer sees.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }
}

impl<S: Sink> fmt::Debug for Owner<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// What the owner may order, each once.
pub(crate) struct Orders {
    drain: Option<oneshot::Sender<()>>,
    cut: Option<oneshot::Sender<()>>,
}

impl Orders {
    pub(crate) fn pair() -> (Self, Heard) {
        let (drain, draining) = oneshot::channel();
        let (cut, cutting) = oneshot::channel();
        let orders = Self { drain: Some(drain), cut: Some(cut) };
        (orders, Heard { drain: Order(Some(draining)), cut: Order(Some(cutting)) })
    }

    fn drain(&mut self) {
        if let Some(order) = self.drain.take() {
            // A thread that ended needs no orders.
            let _ = order.send(());
        }
    }

    fn cut(&mut self) {
        if let Some(order) = self.cut.take() {
            let _ = order.send(());
        }
    }
}

/// The thread's end of the orders.
pub(crate) struct Heard {
    pub(crate) drain: Order,
    pub(crate) cut: Order,
}

/// One order: given at most once, never given if its giver is gone.
pub(crate) struct Order(Option<oneshot::Receiver<()>>);

impl Order {
    /// Whether it was given just now: true once.
    pub(crate) fn given(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(order) = &mut self.0 else { return false };
        match Pin::new(order).poll(cx) {
            Poll::Ready(said) => {
                self.0 = None;
                said.is_ok()
            }
            Poll::Pending => false,
        }
    }
}
