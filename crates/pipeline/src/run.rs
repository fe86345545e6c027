//! Running a pipeline: a supervisor for each stage, and one wait for all of them.
//!
//! # A supervisor
//! 1. starts the workers, and waits for all of them; a panic that unwound one is listed and aborts the pipeline;
//! 2. at an abort drops the input's receiver at once, whoever still works, so that nobody upstream stays parked;
//! 3. waits until the senders that the stage gave away are gone too, and gives up on those that stay silent (PL-5).
//!
//! It runs no user code itself: that is always in a task whose panic is a value. Supervisors are never waited for beyond the
//! grace after an abort; those that still have a worker then go on by themselves.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::sleep;

use crate::Cause;
use crate::control::{Control, text_of};
use crate::live::Phase;
use crate::tally::Tally;

pub(crate) type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A source, stage or sink that was declared and does not run yet.
pub(crate) trait Part: Send {
    fn tally(&self) -> &Arc<Tally>;

    /// Takes the senders of the queues it writes to. False if one of them has no reader.
    fn connect(&mut self) -> bool;

    /// Makes the workers. If [`connect`](Self::connect) failed the pipeline is aborted, and they end at once.
    fn launch(self: Box<Self>, control: &Arc<Control>) -> Launched;
}

/// A stage about to run.
pub(crate) struct Launched {
    pub(crate) tally: Arc<Tally>,
    pub(crate) workers: Vec<Task>,
    /// Drops the input's receiver; none for a source.
    pub(crate) close: Option<Task>,
}

/// Runs all parts to their end, or to the end of the grace after an abort.
pub(crate) async fn run_all(
    mut parts: Vec<Box<dyn Part>>,
    control: &Arc<Control>,
    grace: Duration,
    stall: Duration,
) {
    for part in &mut parts {
        if !part.connect() {
            control.disconnected(part.tally());
        }
    }
    // If this future is dropped, every supervisor is aborted, and with it every worker.
    let mut supervisors = JoinSet::new();
    for part in parts {
        supervisors.spawn(supervise(part.launch(control), Arc::clone(control), stall));
    }
    let patience = async {
        control.signal.aborted().await;
        sleep(grace).await;
    };
    let joined = async { while supervisors.join_next().await.is_some() {} };
    tokio::select! {
        biased;
        () = joined => {}
        () = patience => {}
    }
    // Not aborted: a supervisor that did not get to run within the grace has yet to drop its receiver, and the signal ends
    // everything else by itself.
    supervisors.detach_all();
}

async fn supervise(stage: Launched, control: Arc<Control>, stall: Duration) {
    let Launched { tally, workers, mut close } = stage;
    tally.enter(Phase::Running);
    let mut tasks = JoinSet::new();
    for worker in workers {
        tasks.spawn(worker);
    }
    {
        let mut aborted = pin!(control.signal.aborted());
        loop {
            tokio::select! {
                biased;
                () = &mut aborted, if close.is_some() => {
                    if let Some(close) = close.take() {
                        tasks.spawn(close);
                    }
                }
                joined = tasks.join_next() => match joined {
                    None => break,
                    Some(Ok(())) => {}
                    Some(Err(error)) => unwound(error, &tally, &control),
                },
            }
        }
    }
    release(&tally, &control, stall).await;
    tally.enter(Phase::Ended);
}

/// A worker's task panicked outside of an item: in the drop of a future, of an item, or of the closure.
fn unwound(error: JoinError, tally: &Tally, control: &Control) {
    if let Ok(payload) = error.try_into_panic() {
        control.panicked(tally, text_of(payload), false);
    }
}

/// Waits for the senders that outlive their stage. Those that neither send nor wait for a place for as long as `stall`
/// would hang the drain for ever: then the pipeline aborts.
async fn release(tally: &Tally, control: &Control, stall: Duration) {
    loop {
        let (senders, emitted) = (tally.senders(), tally.emitted.get());
        if senders == 0 {
            return;
        }
        tally.enter(Phase::Held);
        let silent = tokio::select! {
            biased;
            () = control.signal.aborted() => return,
            () = tally.released() => false,
            () = sleep(stall) => tally.emitted.get() == emitted && tally.parked() == 0,
        };
        if silent {
            control.abort(Cause::HeldOpen { stage: Arc::clone(&tally.name), senders });
            return;
        }
    }
}
