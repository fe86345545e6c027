//! Additive increase, multiplicative decrease.

use tidegate_core::Outcome;

use super::{Limit, Sample, factor, share};

/// One more permit per round trip, half of them after a wave of overloads: what TCP does once it has started
/// (RFC 5681, 3.1).
///
/// A round trip is as many saturated successes as the limit. It climbs faster than [`Ramp`](crate::Ramp) below 24 and
/// falls further: for services that many clients share, where it divides what there is evenly among them (Chiu and Jain,
/// 1989).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aimd {
    increase: usize,
    cut: f64,
    successes: usize,
}

impl Default for Aimd {
    fn default() -> Self {
        Self::new()
    }
}

impl Aimd {
    /// +1 per round trip, x 0.5 per wave of overloads.
    #[must_use]
    pub const fn new() -> Self {
        Self { increase: 1, cut: 0.5, successes: 0 }
    }

    /// So many more permits per round trip; 0 counts as 1.
    #[must_use]
    pub const fn increase_by(mut self, permits: usize) -> Self {
        self.increase = if permits == 0 { 1 } else { permits };
        self
    }

    /// A wave of overloads leaves `share` of the limit, rounded down. Taken into `0.0..=1.0`; a share that is not a number
    /// counts as 0.
    #[must_use]
    pub const fn cut_to(mut self, share: f64) -> Self {
        self.cut = factor(share);
        self
    }
}

impl Limit for Aimd {
    fn on_sample(&mut self, sample: &Sample) -> usize {
        match sample.outcome {
            Outcome::Success if sample.saturated => {
                self.successes += 1;
                if self.successes < sample.limit {
                    return sample.limit;
                }
                self.successes = 0;
                sample.limit.saturating_add(self.increase)
            }
            Outcome::Overload => {
                self.successes = 0;
                share(sample.limit, self.cut)
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

    fn successes(aimd: &mut Aimd, mut limit: usize, count: usize) -> usize {
        for _ in 0..count {
            limit = aimd.on_sample(&Sample::new(Outcome::Success, limit));
        }
        limit
    }

    #[test]
    fn a_round_trip_adds_one_and_an_overload_halves() {
        let mut aimd = Aimd::new();
        assert_eq!(successes(&mut aimd, 4, 3), 4);
        assert_eq!(successes(&mut aimd, 4, 1 + 5 + 6), 7);
        assert_eq!(aimd.on_sample(&Sample::new(Outcome::Overload, 7)), 3);
        assert_eq!(successes(&mut aimd, 3, 3), 4);
    }

    #[test]
    fn steps_and_shares_can_be_chosen_and_nonsense_is_taken_into_range() {
        assert_eq!(successes(&mut Aimd::new().increase_by(3), 2, 2), 5);
        assert_eq!(successes(&mut Aimd::new().increase_by(0), 2, 2), 3);
        let cut = |share| Aimd::new().cut_to(share).on_sample(&Sample::new(Outcome::Overload, 10));
        assert_eq!([0.9, 2.0, -1.0, f64::NAN].map(cut), [9, 10, 0, 0]);
        assert_eq!(successes(&mut Aimd::new(), usize::MAX, 1), usize::MAX);
    }
}
