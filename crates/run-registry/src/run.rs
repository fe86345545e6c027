//! The handle of the one who runs it, and the future of those who wait for its end.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use tidegate_abort_signal::AbortSignal;
use tidegate_sync::WaitKey;
use tidegate_sync::primitives::Arc;

use crate::state::RunState;
use crate::{Ending, RunId, RunRecord, Status, ThreadId, TransitionError};

/// The right to carry a run out, and the duty to say how it ended.
///
/// It goes to the worker. There is one for each run and it is not `Clone`: the run is live no longer than its handle.
/// **Dropped while the run is live, it ends the run as abandoned**, so that no thread is blocked for ever by a worker that
/// returned early, panicked, or was never spawned: a run that had not started, or was being cancelled, becomes
/// [`Interrupted`](Status::Interrupted); one that ran becomes [`Error`](Status::Error). The record's cause is then
/// [`Abandoned`](crate::Cause::Abandoned), or stays [`Cancelled`](crate::Cause::Cancelled).
///
/// It does not keep the registry alive, and may outlive it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use tidegate_run_registry::{Ending, Run, RunRegistry, RunSpec, Status, TransitionError};
///
/// async fn work(run: Run) -> Result<(), TransitionError> {
///     run.start()?; // refused if it was cancelled before
///     match run.signal().run(async { Ok::<_, std::io::Error>("answer") }).await {
///         Ok(Ok(_answer)) => run.finish(Ending::Success), // refused if a cancel won
///         Ok(Err(error)) => run.finish(Ending::error(error.to_string())),
///         Err(_aborted) => run.finish(Ending::Interrupted),
///     }
/// }
///
/// let registry = RunRegistry::new();
/// let run = registry.create_or_reject("thread-1", RunSpec::new()).unwrap();
/// let id = run.id();
/// tokio::spawn(work(run));
/// assert_eq!(registry.wait_terminal(id).await, Some(Status::Success));
/// # }
/// ```
#[must_use = "dropping it ends the run as abandoned"]
pub struct Run {
    state: Arc<RunState>,
}

impl Run {
    pub(crate) fn new(state: Arc<RunState>) -> Self {
        Self { state }
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> RunId {
        self.state.id()
    }

    /// The thread that it occupies while it is live.
    #[must_use]
    pub fn thread(&self) -> &ThreadId {
        self.state.thread()
    }

    /// Where it stands. May be outdated when it is looked at: only [`start`](Run::start) and [`finish`](Run::finish)
    /// decide.
    #[must_use]
    pub fn status(&self) -> Status {
        self.state.status()
    }

    /// All that is known of it, of one moment.
    #[must_use]
    pub fn record(&self) -> RunRecord {
        self.state.record()
    }

    /// Aborted once the work has to stop: the run was cancelled, or it is over by anything but success, whoever ended it.
    /// Its reason is the canceller's, where one was given.
    ///
    /// Aborting it yourself stops your own helpers and changes nothing about the run: [`finish`](Run::finish) does.
    #[must_use]
    pub fn signal(&self) -> &AbortSignal {
        self.state.signal()
    }

    /// Pending becomes running. The start barrier: to be asked right before the first effect.
    ///
    /// # Errors
    /// [`TransitionError::Refused`] if it was cancelled before, ended otherwise, or started already. Nothing may be done
    /// for it then.
    pub fn start(&self) -> Result<(), TransitionError> {
        self.state.start()
    }

    /// Ends the run: final, and the thread is free in the same step.
    ///
    /// It takes a reference: a worker that is told "refused, [`Cancelling`](Status::Cancelling)" has lost against a cancel
    /// after its work was done, still occupies the thread, and may undo that work before it finishes with
    /// [`Ending::Interrupted`] or drops the handle.
    ///
    /// # Errors
    /// [`TransitionError::Refused`] with the status that stands, if the [transition table](crate::TRANSITIONS) has no such
    /// arrow: the run is over already, was cancelled and shall become a success, or has not started and shall be one.
    pub fn finish(&self, ending: Ending) -> Result<(), TransitionError> {
        self.state.finish(ending)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.state.abandon();
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("id", &self.id())
            .field("thread", self.thread())
            .field("status", &self.status())
            .finish()
    }
}

/// Resolves once a run is over. Made by [`RunRegistry::wait_terminal`](crate::RunRegistry::wait_terminal).
///
/// `'static`, for any runtime. Polled again after its end it gives the same status again.
///
/// # Cancel safety
/// Dropping it takes its waker out of the run and loses nothing: the status can be waited for again.
#[must_use = "futures do nothing unless polled"]
pub struct WaitTerminal {
    run: Option<Arc<RunState>>,
    key: Option<WaitKey>,
}

impl WaitTerminal {
    pub(crate) fn new(run: Option<Arc<RunState>>) -> Self {
        Self { run, key: None }
    }
}

impl Future for WaitTerminal {
    type Output = Option<Status>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Status>> {
        let Self { run, key } = &mut *self;
        match run {
            Some(run) => run.poll_terminal(key, context.waker()).map(Some),
            None => Poll::Ready(None),
        }
    }
}

impl Drop for WaitTerminal {
    fn drop(&mut self) {
        if let (Some(run), Some(key)) = (&self.run, self.key) {
            run.forget(key);
        }
    }
}

impl fmt::Debug for WaitTerminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitTerminal")
            .field("run", &self.run.as_ref().map(|run| run.id()))
            .finish_non_exhaustive()
    }
}
