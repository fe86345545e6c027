//! How long items took: counts in buckets whose width grows with the value.
//!
//! Up to 15 ns every value has its own bucket; above, every power of two is cut into 16 equal ones. A quantile is told as
//! the upper edge of its bucket: never too low, and too high by less than 1/16 (6.25 %).

use std::time::Duration;

use crate::count::Count;

const CUTS: u64 = 16;
const CUT_BITS: u32 = 4;
/// The values below 16, and 16 for each exponent from 4 to 63.
const BUCKETS: usize = 16 + 60 * 16;

#[derive(Debug)]
pub(crate) struct Histogram {
    buckets: Box<[Count]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: (0..BUCKETS).map(|_| Count::default()).collect() }
    }
}

impl Histogram {
    pub(crate) fn record(&self, time: Duration) {
        let bucket = bucket_of(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        if let Some(count) = self.buckets.get(bucket) {
            count.one();
        }
    }

    /// The time that `percent` of the items did not exceed (see the module for the error); zero if there is none.
    #[must_use]
    pub(crate) fn percentile(&self, percent: u64) -> Duration {
        let counts: Vec<u64> = self.buckets.iter().map(Count::get).collect();
        let total: u64 = counts.iter().sum();
        let rank = total.saturating_mul(percent).div_ceil(100).max(1);
        let mut seen = 0;
        for (bucket, count) in (0..).zip(&counts) {
            seen += count;
            if seen >= rank {
                return Duration::from_nanos(upper_edge(bucket));
            }
        }
        Duration::ZERO
    }
}

fn bucket_of(nanos: u64) -> usize {
    let bucket = if nanos < CUTS {
        nanos
    } else {
        let exponent = nanos.ilog2() - CUT_BITS;
        u64::from(exponent) * CUTS + (nanos >> exponent)
    };
    usize::try_from(bucket).unwrap_or(BUCKETS - 1)
}

fn upper_edge(bucket: u64) -> u64 {
    if bucket < CUTS {
        return bucket;
    }
    let exponent = bucket / CUTS - 1;
    let mantissa = bucket % CUTS + CUTS;
    // In 128 bits: the edge of the last bucket is 2^64 before the subtraction.
    let edge = (u128::from(mantissa + 1) << exponent) - 1;
    u64::try_from(edge).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_bucket_holds_the_largest_value() {
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        assert_eq!(upper_edge(BUCKETS as u64 - 1), u64::MAX);
    }

    #[test]
    fn without_items_every_percentile_is_zero() {
        assert_eq!(Histogram::default().percentile(99), Duration::ZERO);
    }

    #[test]
    fn the_median_and_the_tail_are_told_apart() {
        let times = Histogram::default();
        for _ in 0..98 {
            times.record(Duration::from_millis(10));
        }
        times.record(Duration::from_secs(1));
        times.record(Duration::MAX);
        let (p50, p99) = (times.percentile(50), times.percentile(99));
        assert!((Duration::from_millis(10)..Duration::from_micros(10_625)).contains(&p50), "{p50:?}");
        assert!((Duration::from_secs(1)..Duration::from_micros(1_062_500)).contains(&p99), "{p99:?}");
        assert_eq!(times.percentile(100), Duration::from_nanos(u64::MAX));
    }

    proptest! {
        #[test]
        fn a_value_is_told_never_too_low_and_less_than_a_sixteenth_too_high(nanos in any::<u64>(), shift in 0u32..64) {
            let nanos = nanos >> shift;
            let told = upper_edge(bucket_of(nanos) as u64);
            prop_assert!(told >= nanos);
            prop_assert!(u128::from(told - nanos) * 16 <= u128::from(nanos), "{nanos} told as {told}");
        }
    }
}
