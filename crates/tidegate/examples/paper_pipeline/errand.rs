//! A stage that calls a service: a first pass over everything, then rounds over what was throttled.
//!
//! What the first pass gives up for want of capacity goes into a pool. The stage ends when it has seen everything; with it
//! ends the pool's last sender, and that is the signal for the later rounds, which are a source of their own.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde::Serialize;
use tidegate::pipeline::{Flow, Opts, Pipeline, Step, Tx, queue};
use tidegate::throttle::{Again, Rounds};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::strategy::Fault;

/// What a stage does with one item, and what it says about those that fail.
pub(crate) trait Errand: Clone + Send + Sync + 'static {
    type Item: Clone + Send + Sync + 'static;
    type Output: Send + 'static;
    /// The names of the stage and of its later rounds.
    const NAMES: [&'static str; 2];

    /// Runs the errand.
    fn run(&self, item: &Self::Item) -> impl Future<Output = Result<Self::Output, Fault>> + Send;

    /// What goes on to the next stage instead, when an item has failed for good.
    fn failed(&self, item: &Self::Item, fault: &Fault) -> Self::Output;
}

/// One round that took place.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Round {
    /// Counted from 1; the first pass is the first.
    pub(crate) round: u32,
    /// How many calls might be in flight.
    pub(crate) concurrency: usize,
    pub(crate) papers: usize,
    pub(crate) wall_s: f64,
}

/// The later rounds that took place, for the summary.
pub(crate) type RoundLog = Arc<Mutex<Vec<Round>>>;

/// An item that was given up for want of capacity, and why.
type Pooled<I> = (I, Fault);

/// Adds the stage of an errand to the pipeline, with its later rounds.
pub(crate) fn add<E: Errand>(
    pipeline: &mut Pipeline,
    errand: &E,
    input: Flow<E::Item>,
    opts: Opts,
    rounds: &Rounds,
    log: RoundLog,
) -> Flow<E::Output> {
    let (pool, pooled) = mpsc::unbounded_channel();
    let pool = (rounds.rounds > 1).then_some(pool);
    let first = first_pass(pipeline, errand.clone(), input, opts, pool);
    let (errand, rounds) = (errand.clone(), rounds.clone());
    let later = Later { errand, rounds, log };
    let again = pipeline.source(E::NAMES[1], queue(opts.queue_capacity()), move |out| later.run(pooled, out));
    first.merge(again)
}

fn first_pass<E: Errand>(
    pipeline: &mut Pipeline,
    errand: E,
    input: Flow<E::Item>,
    opts: Opts,
    pool: Option<mpsc::UnboundedSender<Pooled<E::Item>>>,
) -> Flow<E::Output> {
    pipeline.stage(E::NAMES[0], input, opts, move |item, _cx| {
        let (errand, pool) = (errand.clone(), pool.clone());
        async move {
            let fault = match errand.run(&item).await {
                Ok(output) => return Step::emit(output),
                Err(fault) => fault,
            };
            let step = match &fault {
                Fault::Fatal(message) => return Step::fatal(message.clone()),
                // The abort that stopped it drops this step, too.
                Fault::Stopped => return Step::filter(),
                Fault::Throttled(message) => Step::throttled(message.clone()),
                Fault::Transient { message, .. } | Fault::Terminal(message) => Step::fail(message.clone()),
            };
            match pool {
                Some(pool) if fault.again() => {
                    // The later rounds wait for the pool to end: they are there.
                    let _ = pool.send((item, fault));
                    step
                }
                _ => step.and_emit(errand.failed(&item, &fault)),
            }
        }
    })
}

struct Later<E> {
    errand: E,
    rounds: Rounds,
    log: RoundLog,
}

impl<E: Errand> Later<E> {
    /// Waits for the end of the first pass, then goes through the pool round by round. When the pipeline drains, what is
    /// still in the pool is left to the next run.
    async fn run(
        self,
        mut pooled: mpsc::UnboundedReceiver<Pooled<E::Item>>,
        out: Tx<E::Output>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut pool = Vec::new();
        while let Some(item) = pooled.recv().await {
            pool.push(item);
        }
        for round in 1..self.rounds.rounds {
            if pool.is_empty() {
                break;
            }
            tokio::select! {
                () = out.stopping() => return Ok(()),
                () = sleep(self.rounds.pause) => {}
            }
            pool = self.round(round, pool, &out).await;
        }
        for (item, fault) in pool {
            out.send(self.errand.failed(&item, &fault)).await.map_err(|_| tidegate::pipeline::Stopping)?;
        }
        Ok(())
    }

    async fn round(
        &self,
        round: u32,
        pool: Vec<Pooled<E::Item>>,
        out: &Tx<E::Output>,
    ) -> Vec<Pooled<E::Item>> {
        let (begun, papers, concurrency) = (Instant::now(), pool.len(), self.rounds.concurrency(round));
        let plan = Rounds::default().rounds(1).cap(concurrency).abort(out.signal().clone());
        let report = plan.run(pool.into_iter().map(|(item, _)| item), |item| self.again(item, out)).await;
        let wall_s = begun.elapsed().as_secs_f64();
        let round = Round { round: round + 1, concurrency, papers, wall_s };
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push(round);
        report.throttled
    }

    /// One more try. An error is a fault that a further round may cure; any other end goes on to the next stage.
    async fn again(&self, item: E::Item, out: &Tx<E::Output>) -> Result<(), Fault> {
        let output = match self.errand.run(&item).await {
            Ok(output) => output,
            Err(fault) if fault.again() => return Err(fault),
            Err(Fault::Fatal(message)) => {
                out.signal().abort(message);
                return Ok(());
            }
            Err(fault) => self.errand.failed(&item, &fault),
        };
        // A pipeline that stops leaves the paper to the next run.
        let _ = out.send(output).await;
        Ok(())
    }
}
