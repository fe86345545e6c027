//! How the gate lets callers in again.

use std::time::Duration;

/// How the gate reopens after a cooldown.
///
/// Whichever it is, one [probe](crate#how-it-closes-and-reopens) goes out first, unless it is a
/// [`wait`](crate::CooldownGate::wait) that is the longest in line: that opens by time alone.
///
/// ```
/// use tidegate_cooldown_gate::{CooldownGate, Pace, Reopen};
///
/// let gate = CooldownGate::builder().reopen(Reopen::Paced(Pace::new().at_most(50.0))).build();
/// # let _ = gate;
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reopen {
    /// Everybody who waits goes at once, in order. A herd, where many wait: for few callers, or a service that can take it.
    AtOnce,
    /// Those who wait go one after the other, evenly over this time; then the gate is open for everybody.
    Spread(Duration),
    /// One after the other, at a pace that the gate learns from when it is throttled and when not.
    Paced(Pace),
    /// Only probes go until enough of them succeeded; then the gate is open for everybody.
    Probe {
        /// How many probes may be out at once; at least 1.
        in_flight: usize,
        /// How many have to succeed, one after the other or at once; at least 1.
        successes: usize,
    },
}

impl Default for Reopen {
    fn default() -> Self {
        Self::Paced(Pace::new())
    }
}

/// Bounds of the pace that a gate learns, in passes per second.
///
/// The pace is found by itself; bounds are for services that publish theirs. A rate that is not above zero, or not a number,
/// is no bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    slowest: f64,
    fastest: f64,
}

/// One pass in ten minutes: a service that allows less would not be waited for.
const SLOWEST: f64 = 1.0 / 600.0;
/// One pass each nanosecond.
const FASTEST: f64 = 1e9;

impl Default for Pace {
    fn default() -> Self {
        Self::new()
    }
}

impl Pace {
    /// No bounds but those of reason: from one pass in ten minutes to one each nanosecond.
    #[must_use]
    pub const fn new() -> Self {
        Self { slowest: SLOWEST, fastest: FASTEST }
    }

    /// Never slower than `per_second`, whatever the service says; above the fastest, it is the fastest.
    #[must_use]
    pub const fn at_least(mut self, per_second: f64) -> Self {
        if is_rate(per_second) {
            self.slowest = per_second.clamp(SLOWEST, FASTEST);
        }
        self
    }

    /// Never faster than `per_second`, once it has been throttled. A gate that was not is open for everybody.
    #[must_use]
    pub const fn at_most(mut self, per_second: f64) -> Self {
        if is_rate(per_second) {
            self.fastest = per_second.clamp(SLOWEST, FASTEST);
        }
        self
    }

    /// Into the bounds.
    pub(crate) const fn bound(&self, per_second: f64) -> f64 {
        per_second.max(self.slowest).min(self.fastest)
    }
}

/// Whether it can be a number of passes per second.
pub(crate) const fn is_rate(per_second: f64) -> bool {
    per_second > 0.0 && per_second < f64::INFINITY
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_rate_is_no_bound() {
        for nonsense in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Pace::new().at_least(nonsense).at_most(nonsense), Pace::new());
        }
    }

    #[test]
    fn a_pace_stays_within_its_bounds_and_the_upper_one_wins() {
        let pace = Pace::new().at_least(2.0).at_most(5.0);
        assert_eq!([1.0, 3.0, 9.0].map(|rate| pace.bound(rate)), [2.0, 3.0, 5.0]);
        assert_eq!(Pace::new().at_least(9.0).at_most(5.0).bound(7.0), 5.0);
        assert!(Pace::new().bound(f64::NAN).is_finite(), "a rate that is none becomes the slowest");
    }
}
