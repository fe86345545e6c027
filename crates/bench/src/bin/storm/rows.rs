//! What came of a strategy on a server.

use serde::Serialize;

use crate::plan::{Plan, Subject};
use crate::run::Outcome;
use crate::stats::{float, integer, quantile};
use crate::strategy::Strategy;

/// One strategy on one server, over all seeds. The keys of the JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Row {
    pub(crate) suite: &'static str,
    pub(crate) server: String,
    /// What kind of server it is.
    pub(crate) model: String,
    pub(crate) strategy: String,
    pub(crate) seeds: usize,
    /// Seconds of a client who knows the server.
    pub(crate) ideal: f64,
    /// Median of [`Outcome::time_for`] by the ideal.
    pub(crate) ratio: f64,
    pub(crate) ratio_p90: f64,
    /// Requests, 429s, and 429s to retries: means per run.
    pub(crate) requests: f64,
    pub(crate) throttled: f64,
    pub(crate) throttled_retries: f64,
    /// The share of the first requests after a cooldown that succeeded, over all runs; none without a cooldown.
    pub(crate) first_ok: Option<f64>,
    /// How many cooldowns that were, in all runs.
    pub(crate) cooldowns: u64,
    /// Papers given up: mean per run.
    pub(crate) lost: f64,
    /// Runs that did not finish.
    pub(crate) unfinished: usize,
    #[serde(skip)]
    pub(crate) firsts_ok: u64,
}

/// The rows of a plan, whose outcomes these are: by server, then by strategy.
pub(crate) fn rows(plan: &Plan, outcomes: &[Outcome]) -> Vec<Row> {
    let pairs = plan.subjects.iter().flat_map(|subject| plan.strategies.iter().map(move |s| (subject, s)));
    pairs
        .zip(outcomes.chunks(plan.seeds.len()))
        .map(|((subject, strategy), outcomes)| row(subject, *strategy, outcomes, plan.papers))
        .collect()
}

fn row(subject: &Subject, strategy: Strategy, outcomes: &[Outcome], papers: usize) -> Row {
    let ratios: Vec<f64> = outcomes.iter().map(|outcome| outcome.time_for(papers) / subject.ideal).collect();
    let sum = |count: fn(&Outcome) -> u64| outcomes.iter().map(count).sum::<u64>();
    let mean = |count| rounded(integer(sum(count)) / float(outcomes.len()), 100.0);
    let (firsts, firsts_ok) = (sum(|o| o.tally.firsts), sum(|o| o.tally.firsts_ok));
    Row {
        suite: strategy.suite().name(),
        server: subject.name.clone(),
        model: subject.model.to_string(),
        strategy: strategy.name(),
        seeds: outcomes.len(),
        ideal: rounded(subject.ideal, 10.0),
        ratio: rounded(quantile(ratios.clone(), 0.5), 10_000.0),
        ratio_p90: rounded(quantile(ratios, 0.9), 10_000.0),
        requests: mean(|o| o.tally.requests),
        throttled: mean(|o| o.tally.throttled),
        throttled_retries: mean(|o| o.tally.throttled_retries),
        first_ok: (firsts > 0).then(|| rounded(integer(firsts_ok) / integer(firsts), 10_000.0)),
        cooldowns: firsts,
        lost: mean(|o| u64::try_from(o.lost).unwrap_or(u64::MAX)),
        unfinished: outcomes.iter().filter(|outcome| !outcome.finished).count(),
        firsts_ok,
    }
}

/// To `1 / parts`.
fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}
