//! One simulation: a server, a strategy, a seed.

use std::time::Duration;

use tidegate_cooldown_gate::Learned;
use tidegate_servers::Model;
use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::service::{Service, Tally};
use crate::stats::{float, integer};
use crate::strategy::{Strategy, Terms};

/// Simulated time after which a run is not waited for any longer.
const LIMIT: Duration = Duration::from_secs(2 * 60 * 60);

/// What is run.
pub(crate) struct Job<'a> {
    pub(crate) model: &'a Model,
    pub(crate) strategy: Strategy,
    pub(crate) seed: u64,
    pub(crate) tasks: usize,
    pub(crate) papers: usize,
    /// So many of them come one by one, before the others.
    pub(crate) idle: usize,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// Seconds until nothing was left to do; [`LIMIT`] if it did not finish.
    pub(crate) time: f64,
    pub(crate) tally: Tally,
    /// Papers given up.
    pub(crate) lost: usize,
    pub(crate) finished: bool,
}

impl Outcome {
    /// Seconds that all `papers` take. Of a run that gave papers up, which took no time for them, it is what it would
    /// have taken had it gone on at the same pace; of any run, at most the limit.
    pub(crate) fn time_for(&self, papers: usize) -> f64 {
        (self.time * float(papers) / integer(self.tally.done.max(1))).min(LIMIT.as_secs_f64())
    }
}

impl Job<'_> {
    /// Runs it on a clock of its own.
    pub(crate) fn run(&self) -> anyhow::Result<Outcome> {
        Ok(self.start(false)?.0)
    }

    /// The same, with a line for each event.
    pub(crate) fn trace(&self) -> anyhow::Result<(Outcome, Vec<String>)> {
        self.start(true)
    }

    fn start(&self, traced: bool) -> anyhow::Result<(Outcome, Vec<String>)> {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
        Ok(runtime.block_on(self.simulate(traced)))
    }

    async fn simulate(&self, traced: bool) -> (Outcome, Vec<String>) {
        let learned = timeout(LIMIT, self.strategy.rehearse(|| self.terms(!self.seed, false)));
        let learned = learned.await.unwrap_or_default();
        let terms = Terms { learned, ..self.terms(self.seed, traced) };
        let lost = timeout(LIMIT, self.strategy.run(&terms)).await.ok();
        let service = terms.service;
        let outcome = Outcome {
            time: service.elapsed(),
            tally: service.tally(),
            lost: lost.unwrap_or_default(),
            finished: lost.is_some(),
        };
        (outcome, service.take_trace())
    }

    fn terms(&self, seed: u64, traced: bool) -> Terms {
        Terms {
            service: Service::new(self.model, seed, self.papers, traced),
            published: self.model.published(),
            tasks: self.tasks,
            papers: self.papers,
            idle: self.idle,
            // The client's luck is not the server's.
            seed: seed ^ 0x9E37_79B9_7F4A_7C15,
            learned: Learned::default(),
        }
    }
}
