//! A stage: workers that take an item, run the closure on it, and count how it ended.
//!
//! # A worker's loop
//! ```text
//! wait for an item ──► look at the signal ──► closure ──► send what it emits ──► count ──┐
//!    │       ▲             │ up: left          │ panic: panicked                         │
//!    │       └─────────────┼───────────────────┼─────────────────────────────────────────┘
//!    │ no more             ▼                   ▼ abort while waiting: left
//!    ▼                  stopped             stopped
//!   end
//! ```
//!
//! # Invariants
//! - I1: between two items a worker looks at the signal, so that an abort costs at most the item in hand (PL-3).
//! - I2: whatever a worker waits for, it waits for the abort too, and looks at that first.
//! - I3: user code runs inside [`caught`], so that its panic is a value (PL-4). What is left (a panic in a drop) unwinds the
//!   worker's task, where the supervisor finds it.

use std::convert::Infallible;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use tidegate_abort_signal::{AbortSignal, Reached};

use crate::channel::{Input, Outlet};
use crate::control::{Control, text_of};
use crate::count::{Count, Span, waiting};
use crate::flow::Slot;
use crate::run::{Launched, Part};
use crate::step::{End, Step};
use crate::tally::{Item, Tally};
use crate::{Opts, Rejected};

/// What a stage's closure gets beside its item: the way to emit several items, and the signal.
///
/// One for each item; clones share it. A clone that is kept beyond its item keeps the stage's output open: if it outlives
/// the stage and stays silent, the run aborts and names the stage (**PL-5**).
pub struct Cx<U, E = Infallible> {
    port: Arc<Port<U, E>>,
}

/// The outputs of one worker.
struct Port<U, E> {
    worker: usize,
    main: Option<Outlet<U>>,
    side: Option<Outlet<E>>,
    blocked: Arc<Count>,
    control: Arc<Control>,
    tally: Arc<Tally>,
}

impl<U, E> Cx<U, E> {
    /// Sends an item on to the next stage, waiting for a free place in its queue.
    ///
    /// # Errors
    /// [`Rejected`], with the item, once the pipeline is aborted: the item in hand counts as left, whatever the closure
    /// still returns. A drain is no reason.
    ///
    /// # Cancel safety
    /// Dropped before it is ready, it has sent nothing, and the item is dropped with it.
    pub async fn emit(&self, item: U) -> Result<(), Rejected<U>> {
        match &self.port.main {
            Some(outlet) => outlet.send(item).await,
            None => Err(Rejected(item)),
        }
    }

    /// As [`emit`](Self::emit), to the second output of [`stage_aside`](crate::Pipeline::stage_aside).
    ///
    /// # Errors
    /// As [`emit`](Self::emit).
    pub async fn emit_aside(&self, item: E) -> Result<(), Rejected<E>> {
        match &self.port.side {
            Some(outlet) => outlet.send(item).await,
            None => Err(Rejected(item)),
        }
    }

    /// Which worker runs this item, from 0.
    #[must_use]
    pub fn worker(&self) -> usize {
        self.port.worker
    }

    /// The name of the stage.
    #[must_use]
    pub fn stage(&self) -> &str {
        &self.port.tally.name
    }

    /// The signal of the pipeline.
    #[must_use]
    pub fn signal(&self) -> &AbortSignal {
        &self.port.control.signal
    }

    /// Sends what a [`Step`] emits; false if it could not.
    async fn send(&self, main: Option<U>, side: Option<E>) -> bool {
        if let Some(item) = main {
            if self.emit(item).await.is_err() {
                return false;
            }
        }
        match side {
            Some(item) => self.emit_aside(item).await.is_ok(),
            None => true,
        }
    }
}

impl<U, E> Clone for Cx<U, E> {
    fn clone(&self) -> Self {
        Self { port: Arc::clone(&self.port) }
    }
}

impl<U, E> fmt::Debug for Cx<U, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx").field("stage", &self.stage()).field("worker", &self.worker()).finish()
    }
}

/// A stage that was declared and does not run yet.
pub(crate) struct Stage<T, U, E, G> {
    pub(crate) tally: Arc<Tally>,
    pub(crate) input: Arc<Input<T>>,
    pub(crate) main: Slot<U>,
    pub(crate) side: Slot<E>,
    /// One for each worker.
    pub(crate) closures: Vec<G>,
    pub(crate) opts: Opts,
}

impl<T, U, E, G, Fut> Part for Stage<T, U, E, G>
where
    T: Send + 'static,
    U: Send + 'static,
    E: Send + 'static,
    G: FnMut(T, Cx<U, E>) -> Fut + Send + 'static,
    Fut: Future<Output = Step<U, E>> + Send + 'static,
{
    fn tally(&self) -> &Arc<Tally> {
        &self.tally
    }

    fn connect(&mut self) -> bool {
        self.main.connect() && self.side.connect()
    }

    fn launch(self: Box<Self>, control: &Arc<Control>) -> Launched {
        let Self { tally, input, main, side, closures, opts } = *self;
        let (main, side) = (main.wire(), side.wire());
        let worker = |(worker, closure)| {
            let blocked = Arc::default();
            let port = Port {
                worker,
                main: main.clone().map(|wire| Outlet::new(wire, &tally, control, &blocked)),
                side: side.clone().map(|wire| Outlet::new(wire, &tally, control, &blocked)),
                blocked,
                control: Arc::clone(control),
                tally: Arc::clone(&tally),
            };
            let skip = opts.skips_panics();
            let worker = Worker { cx: Cx { port: Arc::new(port) }, input: Arc::clone(&input), closure, skip };
            Box::pin(worker.work()) as crate::run::Task
        };
        let workers = (0..).zip(closures).map(worker).collect();
        let close = closing(Arc::clone(&input), Arc::clone(&tally));
        Launched { tally, workers, close: Some(close) }
    }
}

/// Closes an input in a task of its own: dropping the queued items is user code.
pub(crate) fn closing<T: Send + 'static>(input: Arc<Input<T>>, tally: Arc<Tally>) -> crate::run::Task {
    Box::pin(async move { input.close(&tally.queued).await })
}

struct Worker<T, U, E, G> {
    cx: Cx<U, E>,
    input: Arc<Input<T>>,
    closure: G,
    skip: bool,
}

impl<T, U, E, G, Fut> Worker<T, U, E, G>
where
    G: FnMut(T, Cx<U, E>) -> Fut,
    Fut: Future<Output = Step<U, E>>,
{
    async fn work(mut self) {
        let (control, tally) = (Arc::clone(&self.cx.port.control), Arc::clone(&self.cx.port.tally));
        let mut aborted = pin!(control.signal.aborted());
        loop {
            let item = tokio::select! {
                biased;
                () = &mut aborted => break,
                item = waiting(self.input.next(), [&tally.starved]) => item,
            };
            let Some(item) = item else { return };
            let taken = tally.take();
            if control.signal.is_aborted() || !self.run(item, taken, aborted.as_mut()).await {
                break;
            }
        }
        tally.stop();
    }

    /// Runs one item to its end; false if the abort came first.
    async fn run(&mut self, item: T, taken: Item<'_>, mut aborted: Pin<&mut Reached<'_>>) -> bool {
        let Self { cx, closure, skip, .. } = self;
        let (control, tally) = (&cx.port.control, &cx.port.tally);
        let span = Span::start(&tally.busy, &cx.port.blocked);
        let step = {
            let given = cx.clone();
            tokio::select! {
                biased;
                () = aborted.as_mut() => return false,
                step = caught(async move { closure(item, given).await }) => step,
            }
        };
        let Step { end, main, side } = match step {
            Ok(step) => step,
            Err(message) => {
                taken.settle(|tally| &tally.panicked);
                control.panicked(tally, message, *skip);
                tally.times.record(span.elapsed());
                return true;
            }
        };
        if let End::Fatal(error) = end {
            taken.settle(|tally| &tally.failed);
            control.fatal(tally, error);
            tally.times.record(span.elapsed());
            return true;
        }
        // Without output there is nothing to wait for, and nothing that an abort could take away.
        let sent = (main.is_none() && side.is_none())
            || tokio::select! {
                biased;
                () = aborted => false,
                sent = cx.send(main, side) => sent,
            };
        if sent {
            settle(taken, tally, &end);
            tally.times.record(span.elapsed());
        }
        sent
    }
}

/// Counts an item that ended without raising the signal.
fn settle(taken: Item<'_>, tally: &Tally, end: &End) {
    match end {
        End::Completed => taken.settle(|tally| &tally.completed),
        End::Filtered => taken.settle(|tally| &tally.filtered),
        End::Throttled(_) => taken.settle(|tally| &tally.throttled),
        End::Failed(_) | End::Fatal(_) => taken.settle(|tally| &tally.failed),
    }
    if let End::Failed(error) | End::Throttled(error) | End::Fatal(error) = end {
        tally.note_error(&**error);
    }
}

/// Runs `future`, and gives the text of its panic as an error.
pub(crate) async fn caught<F: Future>(future: F) -> Result<F::Output, Arc<str>> {
    let mut future = pin!(future);
    // Unwind safe: after a panic the future is never polled again, only dropped.
    std::future::poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(payload) => Poll::Ready(Err(text_of(payload))),
    })
    .await
}
