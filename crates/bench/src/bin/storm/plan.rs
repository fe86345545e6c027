//! Which runs there are, and who runs them.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Result, ensure};
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tidegate_servers::{CapacityId, Model, ServerId};

use crate::args::Args;
use crate::run::{Job, Outcome};
use crate::stats;
use crate::strategy::{Strategy, Suite};

/// A server of the plan.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) model: Model,
    /// So many papers are done one by one, before the others.
    pub(crate) idle: usize,
    /// Seconds of a client who knows it, with [`IN_FLIGHT`] requests under way.
    pub(crate) ideal: f64,
    /// What a client who knows it takes with no more requests under way than there are tasks, by the ideal.
    pub(crate) at_best: f64,
}

/// How many requests the ideal client has under way.
const IN_FLIGHT: usize = 32;

/// Every strategy on every server with every seed.
pub(crate) struct Plan {
    pub(crate) subjects: Vec<Subject>,
    pub(crate) strategies: Vec<Strategy>,
    pub(crate) seeds: Vec<u64>,
    tasks: usize,
    pub(crate) papers: usize,
    threads: usize,
}

impl Plan {
    /// An error if it names a server that there is not.
    pub(crate) fn of(args: &Args) -> Result<Self> {
        let default_seeds = if args.random.is_some() { 1 } else { 20 };
        let seeds: Vec<u64> =
            (0..).map(|n| args.rng.wrapping_add(n)).take(args.seeds.unwrap_or(default_seeds)).collect();
        let asked = |strategy: &&Strategy| args.strategy.is_empty() || args.strategy.contains(strategy);
        let all = Strategy::value_variants().iter().filter(|strategy| strategy.suite() == args.suite);
        let strategies: Vec<_> = all.filter(asked).copied().collect();
        ensure!(!strategies.is_empty(), "no strategy of the suite {} was chosen", args.suite.name());
        let tasks = args.tasks.unwrap_or(if args.suite == Suite::Semaphore { 64 } else { 12 });
        let yardstick = Yardstick { papers: args.papers, tasks, seeds: &seeds };
        let mut subjects = match (args.suite, args.random) {
            (Suite::Semaphore, _) => yardstick.hidden(),
            (Suite::Storm, Some(number)) => yardstick.drawn(number, args.rng),
            (Suite::Storm, None) => yardstick.named(),
        };
        pick(&mut subjects, &args.server)?;
        let processors = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = args.threads.unwrap_or_else(processors);
        Ok(Self { subjects, strategies, seeds, tasks, papers: args.papers, threads })
    }

    fn job(&self, n: usize) -> Job<'_> {
        let (of_server, seed) = (n / self.seeds.len(), n % self.seeds.len());
        let (server, strategy) = (of_server / self.strategies.len(), of_server % self.strategies.len());
        Job {
            model: &self.subjects[server].model,
            strategy: self.strategies[strategy],
            seed: self.seeds[seed],
            tasks: self.tasks,
            papers: self.papers,
            idle: self.subjects[server].idle.min(self.papers),
        }
    }

    /// Runs everything. The outcomes are ordered by server, strategy, seed, whichever thread they come from.
    pub(crate) fn run(&self) -> Result<Vec<Outcome>> {
        let number = self.subjects.len() * self.strategies.len() * self.seeds.len();
        let outcomes = Mutex::new(vec![None; number]);
        let next = AtomicUsize::new(0);
        let bar = progress(number);
        let work = || -> Result<()> {
            loop {
                // Ordering: Relaxed; hands out each number once.
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= number {
                    return Ok(());
                }
                let outcome = self.job(n).run()?;
                outcomes.lock().unwrap_or_else(PoisonError::into_inner)[n] = Some(outcome);
                bar.inc(1);
            }
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..self.threads.min(number)).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        bar.finish_and_clear();
        Ok(outcomes.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect())
    }

    /// Every event of the first run, and what came of it.
    pub(crate) fn trace(&self) -> Result<Vec<String>> {
        let (outcome, mut lines) = self.job(0).trace()?;
        lines.push(format!("{outcome:?}"));
        Ok(lines)
    }
}

/// What ideals are measured with.
struct Yardstick<'a> {
    papers: usize,
    tasks: usize,
    seeds: &'a [u64],
}

impl Yardstick<'_> {
    fn named(&self) -> Vec<Subject> {
        let ideal = |id: ServerId| (self.papers == 1000).then(|| f64::from(id.ideal_for_1000()));
        ServerId::ALL.map(|id| self.subject(id.to_string(), Model::named(id), 0, ideal(id))).into()
    }

    fn hidden(&self) -> Vec<Subject> {
        let subject = |id: CapacityId| self.subject(id.to_string(), Model::capacity(id), id.idle(), None);
        CapacityId::ALL.map(subject).into()
    }

    fn drawn(&self, number: usize, rng: u64) -> Vec<Subject> {
        let mut rng = StdRng::seed_from_u64(rng);
        (1..=number).map(|n| self.subject(format!("R{n:03}"), Model::random(&mut rng), 0, None)).collect()
    }

    /// A server whose ideal may be known.
    fn subject(&self, name: String, model: Model, idle: usize, known: Option<f64>) -> Subject {
        let idle = idle.min(self.papers);
        let median = |in_flight| {
            let one_by_one = |seed: &u64| model.ideal(idle, 1, *seed);
            let ideal = |seed: &u64| one_by_one(seed) + model.ideal(self.papers - idle, in_flight, *seed);
            stats::quantile(self.seeds.iter().map(ideal).collect(), 0.5)
        };
        let ideal = known.unwrap_or_else(|| median(IN_FLIGHT));
        Subject { name, idle, ideal, at_best: median(self.tasks) / ideal, model }
    }
}

/// Keeps those with one of these names, if there are any names.
fn pick(subjects: &mut Vec<Subject>, names: &[String]) -> Result<()> {
    let is = |subject: &Subject, name: &String| subject.name.eq_ignore_ascii_case(name);
    for name in names {
        let known = || match &subjects[..] {
            [first, .., last] => format!("there are {} to {}", first.name, last.name),
            _ => String::from("there is one"),
        };
        ensure!(subjects.iter().any(|subject| is(subject, name)), "no server is called {name}: {}", known());
    }
    subjects.retain(|subject| names.is_empty() || names.iter().any(|name| is(subject, name)));
    Ok(())
}

fn progress(number: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {elapsed}, {eta} left");
    let bar = ProgressBar::new(u64::try_from(number).unwrap_or(u64::MAX));
    // The template is right, and without it the bar has another look.
    if let Ok(style) = style { bar.with_style(style) } else { bar }
}
