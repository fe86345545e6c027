//! The queues between stages: tokio's bounded channel, with a meter, and the two ends as the stages see them.
//!
//! # How a queue ends
//! | what happened | input | outlet |
//! |---|---|---|
//! | every outlet was dropped | gives what is queued, then nothing | - |
//! | abort | [`Input::close`] drops the receiver and counts what was queued | parked and later sends come back at once |
//!
//! The receiver is dropped by the stage's supervisor, which runs no user code, before anyone joins the workers: a worker
//! that is stuck in its closure holds the [`Input`], never the receiver.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tidegate_abort_signal::{AbortSignal, Level};
use tokio::sync::{Mutex, mpsc};

use crate::Rejected;
use crate::control::Control;
use crate::count::{Count, waiting};
use crate::tally::{Sender, Tally};

/// How full a queue is and was.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) capacity: usize,
    depth: AtomicUsize,
    high_water: AtomicUsize,
}

impl Meter {
    fn new(capacity: usize) -> Self {
        Self { capacity, depth: AtomicUsize::new(0), high_water: AtomicUsize::new(0) }
    }

    /// Before an item is put in, so that the depth never falls below zero.
    fn enter(&self) {
        // Ordering: Relaxed; statistics. The channel orders an item's entry before its leaving.
        let depth = self.depth.fetch_add(1, Ordering::Relaxed) + 1;
        // Ordering: Relaxed; statistics.
        self.high_water.fetch_max(depth, Ordering::Relaxed);
    }

    fn leave(&self) {
        // Ordering: Relaxed; statistics, see `enter`.
        self.depth.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn depth(&self) -> usize {
        // Ordering: Relaxed; statistics.
        self.depth.load(Ordering::Relaxed).min(self.capacity)
    }

    pub(crate) fn high_water(&self) -> usize {
        // Ordering: Relaxed; statistics.
        self.high_water.load(Ordering::Relaxed).min(self.capacity)
    }
}

/// The sending side of a queue, before it belongs to a stage.
pub(crate) struct Wire<T> {
    queue: mpsc::Sender<T>,
    meter: Arc<Meter>,
}

impl<T> Clone for Wire<T> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), meter: Arc::clone(&self.meter) }
    }
}

/// A queue of `capacity` items.
pub(crate) fn channel<T>(capacity: usize) -> (Wire<T>, Arc<Input<T>>) {
    let (queue, receiver) = mpsc::channel(capacity);
    let meter = Arc::new(Meter::new(capacity));
    let input = Input { receiver: Mutex::new(Some(receiver)), meter: Arc::clone(&meter) };
    (Wire { queue, meter }, Arc::new(input))
}

/// The sending side in the hands of a stage.
pub(crate) struct Outlet<T> {
    wire: Wire<T>,
    sender: Sender,
    control: Arc<Control>,
    /// Time blocked by whoever shares this outlet, beside the stage's own sum.
    blocked: Arc<Count>,
}

impl<T> Clone for Outlet<T> {
    fn clone(&self) -> Self {
        Self {
            wire: self.wire.clone(),
            sender: self.sender.clone(),
            control: Arc::clone(&self.control),
            blocked: Arc::clone(&self.blocked),
        }
    }
}

impl<T> Outlet<T> {
    pub(crate) fn new(
        wire: Wire<T>,
        tally: &Arc<Tally>,
        control: &Arc<Control>,
        blocked: &Arc<Count>,
    ) -> Self {
        let (sender, control) = (Sender::new(Arc::clone(tally)), Arc::clone(control));
        Self { wire, sender, control, blocked: Arc::clone(blocked) }
    }

    /// Waits for a free place. An error means that the receiver is gone: the pipeline is aborted, and if nobody did it yet,
    /// it is now.
    pub(crate) async fn send(&self, item: T) -> Result<(), Rejected<T>> {
        let tally = self.sender.tally();
        let place = match self.wire.queue.try_reserve() {
            Ok(place) => Some(place),
            Err(mpsc::error::TrySendError::Closed(())) => None,
            Err(mpsc::error::TrySendError::Full(())) => {
                let _parked = self.sender.park();
                waiting(self.wire.queue.reserve(), [&tally.blocked, &self.blocked]).await.ok()
            }
        };
        let Some(place) = place else {
            self.control.disconnected(tally);
            return Err(Rejected(item));
        };
        self.wire.meter.enter();
        tally.emitted.one();
        place.send(item);
        Ok(())
    }
}

/// The receiving side, shared by the workers of a stage. First come, first served among them.
pub(crate) struct Input<T> {
    receiver: Mutex<Option<mpsc::Receiver<T>>>,
    pub(crate) meter: Arc<Meter>,
}

impl<T> Input<T> {
    /// The next item; none once every outlet is gone and the queue empty, or after [`close`](Self::close). Dropped while
    /// pending, it takes nothing.
    pub(crate) async fn next(&self) -> Option<T> {
        let mut receiver = self.receiver.lock().await;
        let item = receiver.as_mut()?.recv().await?;
        self.meter.leave();
        Some(item)
    }

    /// Refuses further items, wakes who is parked, drops what is queued, and counts it in `queued`.
    ///
    /// Waits for the worker that waits for an item to give the receiver up; no worker holds it while it runs user code.
    pub(crate) async fn close(&self, queued: &Count) {
        let Some(mut receiver) = self.receiver.lock().await.take() else { return };
        receiver.close();
        while let Some(item) = receiver.recv().await {
            self.meter.leave();
            queued.one();
            drop(item);
        }
    }
}

/// What a source sends its items through. Clones share the queue.
///
/// The queue stays open until every clone is dropped: a clone that outlives the source's future is allowed (a task that the
/// source spawned), but if it stays silent for [`stall_after`](crate::Pipeline::stall_after) the run aborts and names the
/// source (**PL-5**).
pub struct Tx<T> {
    outlet: Outlet<T>,
}

impl<T> Tx<T> {
    pub(crate) fn new(outlet: Outlet<T>) -> Self {
        Self { outlet }
    }

    /// Sends an item, waiting for a free place in the queue. First come, first served among clones.
    ///
    /// # Errors
    /// [`Rejected`], with the item, once the pipeline drains or aborts: send no more, and end. `?` does that: a source that
    /// ends with this error has not failed.
    ///
    /// # Cancel safety
    /// Dropped before it is ready, it has sent nothing, and the item is dropped with it.
    pub async fn send(&self, item: T) -> Result<(), Rejected<T>> {
        if self.is_stopping() {
            self.outlet.control.source_ended();
            return Err(Rejected(item));
        }
        self.outlet.send(item).await
    }

    /// Whether the source is to end: the signal drains or aborts. One atomic load.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.signal().level() >= Level::Drain
    }

    /// Resolves once the source is to end. For sources that wait for something else than a free place in the queue.
    ///
    /// # Cancel safety
    /// Dropping it loses nothing.
    pub async fn stopping(&self) {
        self.signal().reached(Level::Drain).await;
    }

    /// The signal of the pipeline.
    #[must_use]
    pub fn signal(&self) -> &AbortSignal {
        &self.outlet.control.signal
    }
}

impl<T> Clone for Tx<T> {
    fn clone(&self) -> Self {
        Self { outlet: self.outlet.clone() }
    }
}

impl<T> std::fmt::Debug for Tx<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let meter = &self.outlet.wire.meter;
        f.debug_struct("Tx").field("queued", &meter.depth()).field("capacity", &meter.capacity).finish()
    }
}
