//! The ramp: small steps up, one cut a wave.

use tidegate_core::Outcome;

use super::{Limit, Sample, factor, share};

/// One more permit per so many successes, a fixed share of them after a wave of overloads. The default.
///
/// A step takes `max(24, limit)` successes *while saturated*: at limit 100 one more permit per 100 successes, so that
/// growth needs the whole present limit to have worked. The successes need not follow one another: an overload between
/// them costs the cut and starts the count again, nothing more. A cut takes the limit to three quarters, rounded down.
///
/// | option | what it changes | for |
/// |---|---|---|
/// | [`slow_start`](Ramp::slow_start) | up to the first cut one more permit for *each* success: the limit doubles every round trip | services that take much more than the first limit |
/// | [`soft_ceiling`](Ramp::soft_ceiling) | to reach again what led to a cut takes four times as many successes | services whose capacity seldom changes |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    step_every: usize,
    at_least_limit: bool,
    cut: Option<f64>,
    starting: bool,
    mind_ceiling: bool,
    /// The limit that led to the last cut.
    ceiling: Option<usize>,
    successes: usize,
}

/// How many times as long the limit stays below a ceiling.
const PATIENCE: usize = 4;

impl Default for Ramp {
    fn default() -> Self {
        Self::new()
    }
}

impl Ramp {
    /// +1 per `max(24, limit)` saturated successes, x 0.75 per wave of overloads.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            step_every: 24,
            at_least_limit: true,
            cut: Some(0.75),
            starting: false,
            mind_ceiling: false,
            ceiling: None,
            successes: 0,
        }
    }

    /// Only up, +1 per 24 saturated successes whatever the limit: for a semaphore behind a gate that does the backing off.
    #[must_use]
    pub const fn article() -> Self {
        Self { at_least_limit: false, cut: None, ..Self::new() }
    }

    /// Successes for one more permit; 0 counts as 1. [`Ramp::new`] never steps in fewer successes than the limit.
    #[must_use]
    pub const fn step_every(mut self, successes: usize) -> Self {
        self.step_every = if successes == 0 { 1 } else { successes };
        self
    }

    /// A wave of overloads leaves `share` of the limit, rounded down, and at least the lower bound. Taken into
    /// `0.0..=1.0`; a share that is not a number counts as 0. At 1 an overload cuts nothing.
    #[must_use]
    pub const fn cut_to(mut self, share: f64) -> Self {
        self.cut = Some(factor(share));
        self
    }

    /// Overloads leave the limit alone.
    #[must_use]
    pub const fn up_only(mut self) -> Self {
        self.cut = None;
        self
    }

    /// Up to the first overload every saturated success is one more permit, which doubles the limit each round trip
    /// (the slow start of TCP, RFC 5681, 3.1).
    #[must_use]
    pub const fn slow_start(mut self) -> Self {
        self.starting = true;
        self
    }

    /// Remembers the limit at which the last wave of overloads came. The step that reaches it again takes four times as
    /// many successes; once that went well, it is forgotten.
    #[must_use]
    pub const fn soft_ceiling(mut self) -> Self {
        self.mind_ceiling = true;
        self
    }

    fn step(&self, limit: usize) -> usize {
        let step = if self.at_least_limit { self.step_every.max(limit) } else { self.step_every };
        if self.ceiling == Some(limit.saturating_add(1)) { step.saturating_mul(PATIENCE) } else { step }
    }

    fn succeeded(&mut self, limit: usize) -> usize {
        self.successes += 1;
        if !self.starting && self.successes < self.step(limit) {
            return limit;
        }
        self.successes = 0;
        if self.ceiling.is_some_and(|ceiling| limit >= ceiling) {
            self.ceiling = None;
        }
        limit.saturating_add(1)
    }
}

impl Limit for Ramp {
    fn on_sample(&mut self, sample: &Sample) -> usize {
        match (sample.outcome, self.cut) {
            (Outcome::Success, _) if sample.saturated => self.succeeded(sample.limit),
            (Outcome::Overload, cut) => {
                self.starting = false;
                let Some(factor) = cut else { return sample.limit };
                self.successes = 0;
                self.ceiling = Some(sample.limit).filter(|_| self.mind_ceiling);
                share(sample.limit, factor)
            }
            _ => sample.limit,
        }
    }

    fn on_limit_set(&mut self, _: usize) {
        self.successes = 0;
    }
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

    #[test]
    fn a_slow_start_doubles_each_round_until_the_first_overload() {
        let mut ramp = Ramp::new().slow_start();
        assert_eq!(successes(&mut ramp, 4, 4), 8);
        assert_eq!(successes(&mut ramp, 8, 8), 16);
        assert_eq!(ramp.on_sample(&Sample::new(Outcome::Overload, 16)), 12);
        assert_eq!(successes(&mut ramp, 12, 23), 12);
        assert_eq!(successes(&mut ramp, 12, 1), 13);
    }

    #[test]
    fn an_article_s_ramp_with_slow_start_ends_it_by_an_overload_too() {
        let mut ramp = Ramp::article().slow_start();
        assert_eq!(ramp.on_sample(&Sample::new(Outcome::Overload, 9)), 9);
        assert_eq!(successes(&mut ramp, 9, 23), 9);
    }

    #[test]
    fn what_led_to_a_cut_takes_four_times_as_long_to_reach_again() {
        let mut ramp = Ramp::new().soft_ceiling();
        assert_eq!(ramp.on_sample(&Sample::new(Outcome::Overload, 8)), 6);
        assert_eq!(successes(&mut ramp, 6, 24), 7);
        assert_eq!(successes(&mut ramp, 7, 4 * 24 - 1), 7);
        assert_eq!(successes(&mut ramp, 7, 1), 8);
        assert_eq!(successes(&mut ramp, 8, 24), 9, "it went well at the ceiling");
        assert_eq!(successes(&mut ramp, 7, 24), 8, "and it is forgotten");
    }
}
