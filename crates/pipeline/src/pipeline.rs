//! Building a pipeline, stage by stage, and running it.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidegate_abort_signal::AbortSignal;
use tidegate_core::Classify;
use tidegate_single_writer::{Sink, WriteError, Writer};
use tokio::time::Instant;

use crate::channel::Input;
use crate::control::Control;
use crate::flow::Slot;
use crate::run::{Part, run_all};
use crate::sink::{WriterSink, by_kind};
use crate::source::Source;
use crate::stage::Stage;
use crate::tally::Tally;
use crate::{Cx, Flow, Monitor, Opts, PipelineReport, Queue, SourceEnd, Step, Tx};

/// A pipeline under construction; see the [crate's documentation](crate).
///
/// Every stage is declared with a name (for the report; it need not be unique), the [`Flow`] it reads, and a closure. Then
/// [`run`](Self::run) runs them all.
#[must_use = "a pipeline does nothing until it is run"]
pub struct Pipeline {
    control: Arc<Control>,
    parts: Vec<Box<dyn Part>>,
    grace: Duration,
    stall: Duration,
}

impl Pipeline {
    /// A pipeline without stages. It listens to `signal`, and raises it when a stage meets a fatal error or panics, so that
    /// everything else that listens to it stops too.
    pub fn new(name: impl Into<Arc<str>>, signal: AbortSignal) -> Self {
        let control = Arc::new(Control::new(name.into(), signal));
        Self { control, parts: Vec::new(), grace: Duration::from_secs(5), stall: Duration::from_secs(60) }
    }

    /// How long after an abort [`run`](Self::run) waits for closures that block their thread, and for a writer's last
    /// answers, before it returns and names them. 5 s unless set; [`Duration::MAX`] waits for ever.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How long senders that outlive their stage may neither send nor wait for a place, before the run gives up and aborts
    /// with [`Cause::HeldOpen`](crate::Cause::HeldOpen) (**PL-5**). 60 s unless set; [`Duration::MAX`] waits for ever.
    pub fn stall_after(mut self, stall: Duration) -> Self {
        self.stall = stall;
        self
    }

    /// A source: `open` gets the sender, and its future sends until it has no more.
    ///
    /// It ends with nothing or with a `Result`; an error aborts the pipeline, unless it says that a
    /// [send was rejected](crate::Rejected). When the signal drains, further sends are rejected; a source that waits for
    /// something else looks at [`Tx::stopping`].
    pub fn source<T, F, Fut>(&mut self, name: impl Into<Arc<str>>, queue: Queue, open: F) -> Flow<T>
    where
        T: Send + 'static,
        F: FnOnce(Tx<T>) -> Fut + Send + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: SourceEnd,
    {
        let (flow, output) = Flow::new(queue.capacity());
        let tally = self.control.register(Tally::new(name.into(), 1, None));
        self.parts.push(Box::new(Source { tally, output, open }));
        flow
    }

    /// A stage: each worker takes an item, runs the closure on it, and sends on what its [`Step`] emits.
    ///
    /// Items are taken in the order they came; with more than one worker they leave in the order they are finished. After an
    /// abort the future of the item in hand is dropped at its next await.
    pub fn stage<T, U, F, Fut>(
        &mut self,
        name: impl Into<Arc<str>>,
        input: Flow<T>,
        opts: Opts,
        closure: F,
    ) -> Flow<U>
    where
        T: Send + 'static,
        U: Send + 'static,
        F: Fn(T, Cx<U>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Step<U>> + Send + 'static,
    {
        self.stage_with(name, input, opts, shared(closure))
    }

    /// As [`stage`](Self::stage), with a closure for each worker, which may have state of its own. `make` is called at once,
    /// on this thread, with the number of the worker.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// use std::future::ready;
    /// use tidegate_pipeline::{AbortSignal, Opts, Pipeline, Step, queue};
    ///
    /// let mut p = Pipeline::new("numbered", AbortSignal::new());
    /// let words = p.source("words", queue(4), async |out| {
    ///     for word in ["a", "b"] {
    ///         let _ = out.send(word).await;
    ///     }
    /// });
    /// let numbered = p.stage_with("number", words, Opts::workers(1), |_worker| {
    ///     let mut seen = 0;
    ///     move |word, _cx| {
    ///         seen += 1;
    ///         ready(Step::emit(format!("{seen}: {word}")))
    ///     }
    /// });
    /// p.sink_fn("print", numbered, Opts::default(), async |_line| Step::done());
    /// assert!(p.run().await.into_result().is_ok());
    /// # }
    /// ```
    pub fn stage_with<T, U, M, G, Fut>(
        &mut self,
        name: impl Into<Arc<str>>,
        input: Flow<T>,
        opts: Opts,
        make: M,
    ) -> Flow<U>
    where
        T: Send + 'static,
        U: Send + 'static,
        M: FnMut(usize) -> G,
        G: FnMut(T, Cx<U>) -> Fut + Send + 'static,
        Fut: Future<Output = Step<U>> + Send + 'static,
    {
        let (flow, main) = Flow::new(opts.queue_capacity());
        self.push_stage(name.into(), input, (main, Slot::Unused), opts, make);
        flow
    }

    /// As [`stage`](Self::stage), with a second output: what the closure sends [`aside`](Step::aside) comes out of the second
    /// flow. It is made for error records on their way to the writer: [`merge`](Flow::merge) has an example.
    pub fn stage_aside<T, U, E, F, Fut>(
        &mut self,
        name: impl Into<Arc<str>>,
        input: Flow<T>,
        opts: Opts,
        closure: F,
    ) -> (Flow<U>, Flow<E>)
    where
        T: Send + 'static,
        U: Send + 'static,
        E: Send + 'static,
        F: Fn(T, Cx<U, E>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Step<U, E>> + Send + 'static,
    {
        self.stage_aside_with(name, input, opts, shared(closure))
    }

    /// As [`stage_aside`](Self::stage_aside), with a closure for each worker, as in [`stage_with`](Self::stage_with).
    pub fn stage_aside_with<T, U, E, M, G, Fut>(
        &mut self,
        name: impl Into<Arc<str>>,
        input: Flow<T>,
        opts: Opts,
        make: M,
    ) -> (Flow<U>, Flow<E>)
    where
        T: Send + 'static,
        U: Send + 'static,
        E: Send + 'static,
        M: FnMut(usize) -> G,
        G: FnMut(T, Cx<U, E>) -> Fut + Send + 'static,
        Fut: Future<Output = Step<U, E>> + Send + 'static,
    {
        let (flow, main) = Flow::new(opts.queue_capacity());
        let (aside, side) = Flow::new(opts.queue_capacity());
        self.push_stage(name.into(), input, (main, side), opts, make);
        (flow, aside)
    }

    /// A sink that is a closure. Its [`Step`] can emit nothing.
    pub fn sink_fn<T, F, Fut>(&mut self, name: impl Into<Arc<str>>, input: Flow<T>, opts: Opts, closure: F)
    where
        T: Send + 'static,
        F: Fn(T) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Step<Infallible>> + Send + 'static,
    {
        let make = shared(move |item, _: Cx<Infallible>| closure(item));
        self.push_stage(name.into(), input, (Slot::Unused, Slot::Unused), opts, make);
    }

    /// A sink that is a [single writer](tidegate_single_writer): a record is completed when it is *committed*.
    ///
    /// A record that the sink refuses fails alone; any other failure of the writer aborts the pipeline.
    /// [`sink_by`](Self::sink_by) takes a classifier for it.
    ///
    /// Up to 1024 records are under way at a time. After an abort nothing more is sent, but answers to what was sent are
    /// still taken, so that the numbers match the store. The writer's handle is dropped at the end of the stage; closing the
    /// writer is its owner's business.
    pub fn sink<S: Sink>(&mut self, name: impl Into<Arc<str>>, input: Flow<S::Record>, writer: Writer<S>) {
        self.sink_by(name, input, writer, by_kind::<S::Error>);
    }

    /// As [`sink`](Self::sink), with a classifier of the writer's errors.
    ///
    /// [`Class::Fatal`](tidegate_core::Class::Fatal) aborts the pipeline with the error as its cause,
    /// [`Class::Throttled`](tidegate_core::Class::Throttled) counts the record as throttled, any other class as failed. A
    /// panic of the sink counts as panicked, and aborts if it is classified as fatal. Records that the writer never tried
    /// count as left, and abort, unclassified.
    pub fn sink_by<S, C>(
        &mut self,
        name: impl Into<Arc<str>>,
        input: Flow<S::Record>,
        writer: Writer<S>,
        classify: C,
    ) where
        S: Sink,
        C: Classify<WriteError<S::Error>> + Send + Sync + 'static,
    {
        let (input, tally) = self.reader(name.into(), 1, input);
        self.parts.push(Box::new(WriterSink { tally, input, writer, classify }));
    }

    /// Looks at the pipeline while it runs, stages declared later included.
    #[must_use]
    pub fn monitor(&self) -> Monitor {
        Monitor::new(Arc::clone(&self.control))
    }

    /// Runs every stage, each worker as a task, until all have ended: normally because the sources ended and the queues ran
    /// dry one after the other, or because of an abort, and then within the [`grace`](Self::grace).
    ///
    /// A stage that is still stuck then is named in the report and left to itself: it starts no other item, and its tasks end
    /// when its closure returns.
    ///
    /// Failures of every kind are in the report, and nothing that a closure does panics here (**PL-4**).
    ///
    /// # Cancel safety
    /// Dropping it aborts all its tasks: items in hand and in queues are dropped. To stop with a report, raise the signal.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled.
    pub async fn run(self) -> PipelineReport {
        let started = Instant::now();
        run_all(self.parts, &self.control, self.grace, self.stall).await;
        PipelineReport::of(&self.control, started.elapsed())
    }

    fn push_stage<T, U, E, M, G, Fut>(
        &mut self,
        name: Arc<str>,
        input: Flow<T>,
        (main, side): (Slot<U>, Slot<E>),
        opts: Opts,
        make: M,
    ) where
        T: Send + 'static,
        U: Send + 'static,
        E: Send + 'static,
        M: FnMut(usize) -> G,
        G: FnMut(T, Cx<U, E>) -> Fut + Send + 'static,
        Fut: Future<Output = Step<U, E>> + Send + 'static,
    {
        let closures = (0..opts.worker_count()).map(make).collect();
        let (input, tally) = self.reader(name, opts.worker_count(), input);
        self.parts.push(Box::new(Stage { tally, input, main, side, closures, opts }));
    }

    fn reader<T>(&self, name: Arc<str>, workers: usize, input: Flow<T>) -> (Arc<Input<T>>, Arc<Tally>) {
        let input = input.read();
        let meter = Arc::clone(&input.meter);
        (input, self.control.register(Tally::new(name, workers, Some(meter))))
    }
}

type Boxed<T, U, E, Fut> = Box<dyn FnMut(T, Cx<U, E>) -> Fut + Send>;

/// One closure for all workers.
fn shared<T, U, E, F, Fut>(closure: F) -> impl FnMut(usize) -> Boxed<T, U, E, Fut>
where
    T: 'static,
    U: 'static,
    E: 'static,
    F: Fn(T, Cx<U, E>) -> Fut + Send + Sync + 'static,
    Fut: 'static,
{
    let closure = Arc::new(closure);
    move |_worker| {
        let closure = Arc::clone(&closure);
        Box::new(move |item, cx| closure(item, cx))
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages: Vec<_> = self.parts.iter().map(|part| &part.tally().name).collect();
        f.debug_struct("Pipeline").field("name", &self.control.name).field("stages", &stages).finish()
    }
}
