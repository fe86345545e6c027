//! Rounds in which every contestant has a turn, and what they add up to.
//!
//! Whatever disturbs the machine (another clock rate, a neighbour on the memory bus) changes slowly against a round of a
//! few milliseconds. So the contestants are compared within each round, and the median is taken over the rounds.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use indicatif::ProgressBar;

use crate::contest::Case;
use crate::team::{Batch, Team};

/// How much is put into one case with one number of threads.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// How long one batch of one contestant lasts, about.
    pub(crate) batch: Duration,
    /// So many rounds are to count,
    pub(crate) rounds: usize,
    /// if that takes no longer than this.
    pub(crate) time: Duration,
    /// After that time it goes on until so many count,
    pub(crate) least: usize,
    /// or so many were tried in all.
    pub(crate) tries: usize,
}

/// What came of a case.
pub(crate) struct Outcome {
    /// In the order of the contestants.
    pub(crate) scores: Vec<Score>,
    /// Those that counted: seconds an iteration, by contestant.
    pub(crate) rounds: Vec<Vec<f64>>,
    /// How many were tried.
    pub(crate) tried: usize,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Score {
    /// Seconds an iteration: the median over the rounds.
    pub(crate) median: f64,
    /// The median, over the rounds, of this contestant's time by the floor's in the same round.
    pub(crate) ratio: f64,
}

/// Measures one case with so many threads.
///
/// # Errors
/// If no round at all was left undisturbed.
pub(crate) fn measure(
    case: &Case,
    threads: usize,
    effort: &Effort,
    progress: &ProgressBar,
) -> Result<Outcome> {
    let (rounds, tried) = Team::of(threads, &case.contestants, |team| {
        let count = 0..case.contestants.len();
        let mut plan: Vec<Batch> =
            count.map(|contestant| calibrated(team, contestant, effort.batch)).collect();
        collect(team, &mut plan, effort, progress)
    });
    ensure!(
        !rounds.is_empty(),
        "{:?} with {threads} threads: each of {tried} rounds was preempted, the machine is too busy to measure on; try \
         again, or with a higher priority: nice -n -10 cargo x bench",
        case.name
    );
    Ok(Outcome { scores: scores(&rounds), rounds, tried })
}

/// So many iterations of one contestant as last about as long as a batch should.
fn calibrated(team: &Team<'_>, contestant: usize, batch: Duration) -> Batch {
    const LOOKS: usize = 3;
    let mut iterations = 1;
    loop {
        let plan = [Batch { contestant, iterations }];
        // The fastest of a few: a disturbed one would make the batch too short.
        let time = (0..LOOKS).flat_map(|_| team.round(&plan, false).times).min().unwrap_or(batch);
        let nanos = time.as_nanos().max(1);
        let fitting = u128::from(iterations) * batch.as_nanos() / nanos;
        let fitting = u64::try_from(fitting).unwrap_or(u64::MAX).max(1);
        if time >= batch / 2 {
            return Batch { contestant, iterations: fitting };
        }
        // What a few iterations take says little about many.
        iterations = fitting.min(iterations.saturating_mul(16)).max(iterations + 1);
    }
}

/// The rounds that count, as seconds an iteration by contestant, and how many were tried.
fn collect(
    team: &Team<'_>,
    plan: &mut [Batch],
    effort: &Effort,
    progress: &ProgressBar,
) -> (Vec<Vec<f64>>, usize) {
    let start = Instant::now();
    let mut counted = Vec::with_capacity(effort.rounds);
    let mut tried = 0;
    let mut disturbed = false;
    while counted.len() < effort.rounds
        && tried < effort.tries
        && (counted.len() < effort.least || start.elapsed() < effort.time)
    {
        // Nobody always runs first, or last.
        plan.rotate_left(1);
        tried += 1;
        let round = team.round(plan, disturbed);
        disturbed = round.preempted;
        if disturbed {
            continue;
        }
        let mut seconds = vec![0.0; plan.len()];
        for (batch, time) in plan.iter().zip(round.times) {
            seconds[batch.contestant] = time.as_secs_f64() / batch.iterations as f64;
        }
        counted.push(seconds);
        progress.inc(1);
    }
    (counted, tried)
}

impl Outcome {
    /// The median, over the rounds, of a contestant's time by another's in the same round.
    pub(crate) fn ratio(&self, contestant: usize, other: usize) -> f64 {
        ratio(&self.rounds, contestant, other)
    }
}

fn ratio(rounds: &[Vec<f64>], contestant: usize, other: usize) -> f64 {
    median(rounds.iter().map(|round| round[contestant] / round[other]))
}

fn scores(rounds: &[Vec<f64>]) -> Vec<Score> {
    let contestants = rounds.first().map_or(0, Vec::len);
    let score = |contestant: usize| Score {
        median: median(rounds.iter().map(|round| round[contestant])),
        ratio: ratio(rounds, contestant, 0),
    };
    (0..contestants).map(score).collect()
}

/// The middle one, or the mean of the two in the middle; 0 of none.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or_default();
    let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    at(low).midpoint(at(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contest::{Contestant, Unit};

    const HOUR: Duration = Duration::from_secs(60 * 60);

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), 2.5);
        assert_eq!(median(std::iter::empty()), 0.0);
    }

    #[test]
    fn a_ratio_compares_within_the_round() {
        // The machine slows down to a third: the medians drift, the ratio does not.
        let rounds = [vec![1.0, 2.0], vec![3.0, 6.0], vec![3.0, 6.0]];
        let expected = [Score { median: 3.0, ratio: 1.0 }, Score { median: 6.0, ratio: 2.0 }];
        assert_eq!(scores(&rounds), expected);
    }

    #[test]
    fn a_batch_is_made_as_long_as_it_should_be() {
        let contestants = [Contestant::timed("a microsecond", Duration::from_micros)];
        let batch = Team::of(1, &contestants, |team| calibrated(team, 0, Duration::from_millis(1)));
        assert_eq!((batch.contestant, batch.iterations), (0, 1000));
    }

    #[test]
    fn a_case_ends_after_its_rounds_or_its_tries() {
        let of = |name, nanos| Contestant::timed(name, move |n| Duration::from_nanos(nanos * n));
        let contestants = vec![of("floor", 10), of("twice", 20)];
        let case = Case { name: "case", unit: Unit::Nanoseconds, threads: &[1], contestants };
        let mut effort =
            Effort { batch: Duration::from_micros(10), rounds: 5, time: HOUR, least: 1, tries: 500 };
        let outcome = measure(&case, 1, &effort, &ProgressBar::hidden()).unwrap();
        assert_eq!(outcome.rounds.len(), 5);
        assert!((outcome.ratio(0, 1) - 0.5).abs() < 1e-9);
        assert!(
            (outcome.scores[1].ratio - 2.0).abs() < 1e-9 && (outcome.scores[0].median - 1e-8).abs() < 1e-15
        );
        effort.tries = 0;
        let error = measure(&case, 1, &effort, &ProgressBar::hidden()).err().unwrap();
        assert!(error.to_string().contains("too busy"), "{error}");
    }
}
