//! The algorithms that find the limit, and the seam for your own.

use std::time::Duration;

use tidegate_core::Outcome;

/// One attempt's verdict, as an algorithm gets it.
///
/// Only attempts that say something about capacity become samples: of those that are not stale, each
/// [`Overload`](Outcome::Overload), each [`Success`](Outcome::Success) that was saturated, and, of the others, those whose
/// time was taken. What is none is counted without the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// How the attempt ended.
    pub outcome: Outcome,
    /// The limit in force.
    pub limit: usize,
    /// Permits out when the attempt ended, its own included.
    pub in_flight: usize,
    /// Whether the limit was what held the work back: all permits were out when this one was granted or when it came
    /// back, or its taker had waited for it.
    pub saturated: bool,
    /// The epoch of the permit: its tag if it has one, else the semaphore's epoch when it was taken.
    pub epoch: u64,
    /// How long the attempt took, if its time was taken: for one permit at a time, and only where the algorithm
    /// [wants it](Limit::interest).
    pub latency: Option<Duration>,
}

impl Sample {
    /// A sample to test an algorithm with: saturated, `limit` permits out, epoch 0.
    #[must_use]
    pub fn new(outcome: Outcome, limit: usize) -> Self {
        Self { outcome, limit, in_flight: limit, saturated: true, epoch: 0, latency: None }
    }
}

/// An algorithm that says what the limit should be.
///
/// It proposes; the semaphore disposes. Whatever [`on_sample`](Limit::on_sample) answers, the limit stays within the
/// bounds and at 1 or more (AS-7), an overload never raises it, nothing raises it unless the sample was saturated
/// (AS-5), and an answer below the limit in force is a *cut*: it begins a new epoch, so that the rest of the same wave
/// is stale and never gets here (AS-4).
///
/// The methods run under the semaphore's lock: they must be short, must not block, and must not call the semaphore or
/// drop its permits (that deadlocks). A panic in them reaches whoever reported the outcome; no permit is lost by it.
///
/// ```
/// use tidegate_adaptive_semaphore::{AdaptiveSemaphore, Limit, Outcome, Sample};
///
/// /// One more after every success, half after a wave of overloads.
/// struct Bold;
/// impl Limit for Bold {
///     fn on_sample(&mut self, sample: &Sample) -> usize {
///         match sample.outcome {
///             Outcome::Overload => sample.limit / 2,
///             _ => sample.limit + 1,
///         }
///     }
/// }
///
/// let semaphore = AdaptiveSemaphore::builder().initial(1).limit(Bold).build();
/// semaphore.try_acquire()?.success();
/// assert_eq!(semaphore.limit(), 2);
/// # Ok::<(), tidegate_adaptive_semaphore::TryAcquireError>(())
/// ```
pub trait Limit: Send + 'static {
    /// The limit that should be in force after `sample`; `sample.limit` to leave it as it is.
    fn on_sample(&mut self, sample: &Sample) -> usize;

    /// What it wants to hear of: [`Interest::Verdicts`] unless said otherwise. Asked once, when the semaphore is built.
    fn interest(&self) -> Interest {
        Interest::Verdicts
    }

    /// A new epoch began: after a cut of this algorithm's own, or by
    /// [`begin_epoch`](crate::AdaptiveSemaphore::begin_epoch). Samples of older ones will not come any more.
    fn on_epoch(&mut self, epoch: u64) {
        let _ = epoch;
    }

    /// The limit or its bounds were set from outside; `limit` is in force.
    fn on_limit_set(&mut self, limit: usize) {
        let _ = limit;
    }
}

/// What an algorithm wants to hear of. Whatever it is not interested in costs no lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interest {
    /// Nothing: [`on_sample`](Limit::on_sample) is not called.
    Nothing,
    /// Overloads, and successes that were saturated.
    Verdicts,
    /// The same, and how long attempts take: one at a time is timed, about one a round trip.
    Latency,
}

impl<L: Limit + ?Sized> Limit for Box<L> {
    fn interest(&self) -> Interest {
        (**self).interest()
    }

    fn on_sample(&mut self, sample: &Sample) -> usize {
        (**self).on_sample(sample)
    }

    fn on_epoch(&mut self, epoch: u64) {
        (**self).on_epoch(epoch);
    }

    fn on_limit_set(&mut self, limit: usize) {
        (**self).on_limit_set(limit);
    }
}

/// The limit stays where it was set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fixed;

impl Limit for Fixed {
    fn interest(&self) -> Interest {
        Interest::Nothing
    }

    fn on_sample(&mut self, sample: &Sample) -> usize {
        sample.limit
    }
}

/// One more permit per so many successes, a fixed share of them after a wave of overloads. The default.
///
/// A step takes `max(24, limit)` successes *while saturated*: at limit 100 one more permit per 100 successes, so that
/// growth needs the whole present limit to have worked. The successes need not follow one another: an overload between
/// them costs the cut and starts the count again, nothing more. A cut takes the limit to three quarters, rounded down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    step_every: usize,
    at_least_limit: bool,
    cut: Option<f64>,
    successes: usize,
}

impl Default for Ramp {
    fn default() -> Self {
        Self::new()
    }
}

impl Ramp {
    /// +1 per `max(24, limit)` saturated successes, x 0.75 per wave of overloads.
    #[must_use]
    pub const fn new() -> Self {
        Self { step_every: 24, at_least_limit: true, cut: Some(0.75), successes: 0 }
    }

    /// Only up, +1 per 24 saturated successes whatever the limit: for a semaphore behind a gate that does the backing off.
    #[must_use]
    pub const fn article() -> Self {
        Self { step_every: 24, at_least_limit: false, cut: None, successes: 0 }
    }

    /// Successes for one more permit; 0 counts as 1. [`Ramp::new`] never steps in fewer successes than the limit.
    #[must_use]
    pub const fn step_every(mut self, successes: usize) -> Self {
        self.step_every = if successes == 0 { 1 } else { successes };
        self
    }

    /// A wave of overloads leaves `factor` of the limit, rounded down, and at least the lower bound. Taken into
    /// `0.0..=1.0`; a factor that is not a number counts as 0. At 1 an overload cuts nothing.
    #[must_use]
    pub const fn cut_to(mut self, factor: f64) -> Self {
        self.cut = Some(factor.max(0.0).min(1.0));
        self
    }

    /// Overloads leave the limit alone.
    #[must_use]
    pub const fn up_only(mut self) -> Self {
        self.cut = None;
        self
    }

    fn step(&self, limit: usize) -> usize {
        if self.at_least_limit { self.step_every.max(limit) } else { self.step_every }
    }
}

impl Limit for Ramp {
    fn on_sample(&mut self, sample: &Sample) -> usize {
        match (sample.outcome, self.cut) {
            (Outcome::Success, _) if sample.saturated => {
                self.successes += 1;
                if self.successes < self.step(sample.limit) {
                    return sample.limit;
                }
                self.successes = 0;
                sample.limit.saturating_add(1)
            }
            (Outcome::Overload, Some(factor)) => {
                self.successes = 0;
                share(sample.limit, factor)
            }
            _ => sample.limit,
        }
    }

    fn on_limit_set(&mut self, _: usize) {
        self.successes = 0;
    }
}

/// `limit * factor`, rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast rounds down and saturates, which is what is wanted"
)]
fn share(limit: usize, factor: f64) -> usize {
    (limit as f64 * factor) as usize
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;

    fn successes(ramp: &mut Ramp, mut limit: usize, count: usize) -> usize {
        for _ in 0..count {
            limit = ramp.on_sample(&Sample::new(Outcome::Success, limit));
        }
        limit
    }

    #[test]
    fn a_ramp_steps_after_24_successes_and_not_before() {
        let mut ramp = Ramp::new();
        assert_eq!(successes(&mut ramp, 4, 23), 4);
        assert_eq!(successes(&mut ramp, 4, 1), 5);
        assert_eq!(successes(&mut ramp, 5, 24), 6);
    }

    #[test]
    fn above_24_a_step_takes_as_many_successes_as_the_limit() {
        assert_eq!(successes(&mut Ramp::new(), 100, 99), 100);
        assert_eq!(successes(&mut Ramp::new(), 100, 100), 101);
    }

    #[test]
    fn the_article_s_ramp_steps_every_24_at_any_limit_and_never_falls() {
        let mut ramp = Ramp::article();
        assert_eq!(successes(&mut ramp, 100, 48), 102);
        assert_eq!(ramp.on_sample(&Sample::new(Outcome::Overload, 102)), 102);
    }

    #[test]
    fn overloads_between_successes_do_not_stop_an_up_only_ramp() {
        let mut ramp = Ramp::article();
        let mut limit = 4;
        for _ in 0..24 {
            limit = ramp.on_sample(&Sample::new(Outcome::Success, limit));
            limit = ramp.on_sample(&Sample::new(Outcome::Overload, limit));
        }
        assert_eq!(limit, 5);
    }

    #[test]
    fn unsaturated_successes_are_not_counted() {
        let mut ramp = Ramp::new();
        let idle = Sample { saturated: false, ..Sample::new(Outcome::Success, 4) };
        for _ in 0..100 {
            assert_eq!(ramp.on_sample(&idle), 4);
        }
        assert_eq!(successes(&mut ramp, 4, 23), 4);
    }

    #[test]
    fn a_cut_leaves_three_quarters_rounded_down_and_starts_the_count_again() {
        let mut ramp = Ramp::new();
        assert_eq!(successes(&mut ramp, 10, 23), 10);
        assert_eq!(ramp.on_sample(&Sample::new(Outcome::Overload, 10)), 7);
        assert_eq!(successes(&mut ramp, 7, 23), 7);
    }

    #[test]
    fn a_limit_set_from_outside_starts_the_count_again() {
        let mut ramp = Ramp::new();
        successes(&mut ramp, 10, 23);
        ramp.on_limit_set(5);
        assert_eq!(successes(&mut ramp, 5, 23), 5);
    }

    #[test]
    fn factors_out_of_range_are_taken_into_it() {
        let cut = |factor| Ramp::new().cut_to(factor).on_sample(&Sample::new(Outcome::Overload, 8));
        assert_eq!(cut(f64::NAN), 0);
        assert_eq!(cut(-3.0), 0);
        assert_eq!(cut(f64::NEG_INFINITY), 0);
        assert_eq!(cut(f64::INFINITY), 8);
        assert_eq!(cut(0.5), 4);
    }

    #[test]
    fn no_limit_overflows_a_ramp() {
        assert_eq!(successes(&mut Ramp::article().step_every(0), usize::MAX, 2), usize::MAX);
        assert!(Ramp::new().on_sample(&Sample::new(Outcome::Overload, usize::MAX)) < usize::MAX);
    }
}
