//! What a semaphore can tell about itself: its state now, and its whole life in numbers.
//!
//! The clock is read at the first grant and when the limit moves, never on the way of an ordinary permit.

use std::time::Duration;

use tidegate_core::Outcome;

use crate::change::Cause;
use crate::word::View;

/// The state of a semaphore at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// How many permits may be out.
    pub limit: usize,
    /// The least the limit can be.
    pub min: usize,
    /// The most the limit can be.
    pub max: usize,
    /// Permits out, those granted to a waiter that has not looked yet included. Above the limit after it was lowered.
    pub in_flight: usize,
    /// Who waits for a permit.
    pub waiting: usize,
    /// The semaphore's own epoch: the number of cuts and of epochs begun from outside.
    pub epoch: u64,
    /// Whether it is closed.
    pub closed: bool,
}

/// The life of a semaphore in numbers. Times count from the first permit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PerfSummary {
    /// The limit at the start.
    pub initial_limit: usize,
    /// The highest limit there was.
    pub peak_limit: usize,
    /// The limit in force.
    pub final_limit: usize,
    /// The mean limit, weighted by time; the limit in force if no time has passed.
    pub mean_limit: f64,
    /// The most permits that were out at once.
    pub peak_in_flight: usize,
    /// Time since the first permit.
    pub elapsed: Duration,
    /// Time from the first permit until the peak limit was reached.
    pub time_to_peak: Duration,
    /// How many permits the algorithm added, all in all.
    pub slots_added: u64,
    /// Time from the first permit until the algorithm last added one.
    pub time_ramping: Duration,
    /// Permits taken: those that came back, and those that are out.
    pub granted: u64,
    /// Of these, how many had to wait.
    pub waited: u64,
    /// Permits that came back with [`Outcome::Success`].
    pub successes: u64,
    /// Permits that came back with [`Outcome::Overload`].
    pub overloads: u64,
    /// Permits that came back without a word on capacity.
    pub ignored: u64,
    /// Successes and overloads of a past epoch, of which the algorithm learned nothing.
    pub stale: u64,
    /// Successes and overloads of permits that the limit had held back.
    pub saturated: u64,
    /// Waves of overloads that were answered by a cut, also where the lower bound left nothing to cut.
    pub cuts: u64,
    /// Epochs begun after the first one, by a cut or from outside.
    pub epochs: u64,
}

impl PerfSummary {
    /// The ramp rate: permits added per second while the limit was growing; 0 if it never grew or took no time.
    #[must_use]
    pub fn slots_added_per_second(&self) -> f64 {
        ratio(self.slots_added as f64, self.time_ramping.as_secs_f64())
    }

    /// The share of verdicts, 0 to 1, that came while the limit was what held the work back; 0 without verdicts.
    #[must_use]
    pub fn saturated_share(&self) -> f64 {
        ratio(self.saturated as f64, (self.successes + self.overloads) as f64)
    }
}

/// From one reading of the clock to a later one.
const fn between(earlier: u64, later: u64) -> Duration {
    Duration::from_nanos(later.saturating_sub(earlier))
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Counts as things happen.
#[derive(Debug)]
pub(crate) struct Tally {
    /// When the first permit was taken, in nanoseconds of the clock.
    start: Option<u64>,
    /// When the limit last moved.
    moved: u64,
    /// Limit times seconds, up to `moved`.
    area: f64,
    moves: u64,
    counts: PerfSummary,
}

impl Tally {
    pub(crate) fn new(limit: usize) -> Self {
        let counts = PerfSummary {
            initial_limit: limit,
            peak_limit: limit,
            final_limit: limit,
            mean_limit: 0.0,
            peak_in_flight: 0,
            elapsed: Duration::ZERO,
            time_to_peak: Duration::ZERO,
            slots_added: 0,
            time_ramping: Duration::ZERO,
            granted: 0,
            waited: 0,
            successes: 0,
            overloads: 0,
            ignored: 0,
            stale: 0,
            saturated: 0,
            cuts: 0,
            epochs: 0,
        };
        Self { start: None, moved: 0, area: 0.0, moves: 0, counts }
    }

    /// More permits are out than ever before: the first, or one more.
    pub(crate) fn occupied(&mut self, in_flight: usize, now: impl FnOnce() -> u64) {
        self.counts.peak_in_flight = self.counts.peak_in_flight.max(in_flight);
        if self.start.is_none() {
            self.moved = now();
            self.start = Some(self.moved);
        }
    }

    /// A permit was taken for somebody who waited for it.
    pub(crate) fn waited(&mut self) {
        self.counts.waited += 1;
    }

    /// Somebody who waited did not take it up.
    pub(crate) fn not_waited(&mut self) {
        self.counts.waited -= 1;
    }

    /// So many permits came back with a success.
    pub(crate) fn succeeded(&mut self, successes: u64) {
        self.counts.successes += successes;
    }

    /// A permit came back.
    pub(crate) fn ended(&mut self, outcome: Outcome, stale: bool, saturated: bool) {
        match outcome {
            // Counted by the word.
            Outcome::Success => {}
            Outcome::Overload => self.counts.overloads += 1,
            _ => {
                self.counts.ignored += 1;
                return;
            }
        }
        self.counts.stale += u64::from(stale);
        self.counts.saturated += u64::from(saturated);
    }

    pub(crate) fn cut(&mut self) {
        self.counts.cuts += 1;
    }

    /// The limit moved. Returns the number of the move.
    pub(crate) fn limit_changed(&mut self, from: usize, to: usize, cause: Cause, now: u64) -> u64 {
        let since_start = self.start.map_or(Duration::ZERO, |start| between(start, now));
        if self.start.is_some() {
            self.area += from as f64 * between(self.moved, now).as_secs_f64();
            self.moved = now;
        }
        if to > self.counts.peak_limit {
            self.counts.peak_limit = to;
            self.counts.time_to_peak = since_start;
        }
        if cause == Cause::Grown {
            let added = u64::try_from(to.saturating_sub(from)).unwrap_or(u64::MAX);
            self.counts.slots_added = self.counts.slots_added.saturating_add(added);
            self.counts.time_ramping = since_start;
        }
        self.moves += 1;
        self.moves
    }

    pub(crate) fn summary(&self, view: View, epoch: u64, now: u64) -> PerfSummary {
        let mut summary = self.counts.clone();
        let limit = view.limit() as f64;
        summary.final_limit = view.limit();
        summary.granted = summary.successes + summary.overloads + summary.ignored + view.out() as u64;
        summary.epochs = epoch;
        summary.mean_limit = limit;
        if let Some(start) = self.start {
            summary.elapsed = between(start, now);
            let area = self.area + limit * between(self.moved, now).as_secs_f64();
            let whole = summary.elapsed.as_secs_f64();
            if whole > 0.0 {
                summary.mean_limit = area / whole;
            }
        }
        summary
    }
}
