//! How many passes are out, and how many calls went through: two counts in one word, so that a report is one addition.
//!
//! ```text
//!  63                             32 31                              0
//! +---------------------------------+--------------------------------+
//! |  went through, modulo 2^32      |  passes that are out           |
//! +---------------------------------+--------------------------------+
//! ```
//!
//! # Invariants
//! - I1: a pass is counted before it is granted and until it is reported or dropped, so the lower half never falls below
//!   zero and never borrows from the upper.
//!
//! # Orderings
//! - P1: whoever ends a pass and whoever waits for passes to end (half-open) both use a read-modify-write that acquires
//!   and releases. So either the second sees that the pass ended, or the first sees the word that the second has seen,
//!   and moves the gate on itself.

use tidegate_sync::primitives::atomic::{AtomicU64, Ordering};

const OUT: u64 = 1;
const THROUGH: u64 = 1 << 32;

#[derive(Debug)]
pub(crate) struct Flight(AtomicU64);

/// Both counts at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Calls that went through so far, modulo 2^32.
    pub(crate) through: u32,
    /// Passes that are out.
    pub(crate) out: u32,
}

impl Counts {
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of the word")]
    const fn of(word: u64) -> Self {
        Self { through: (word >> 32) as u32, out: word as u32 }
    }
}

impl Flight {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// A pass is about to be granted.
    #[inline]
    pub(crate) fn begin(&self) {
        // Ordering: Relaxed; a count that publishes nothing. It precedes the grant, so that it is never too low.
        self.0.fetch_add(OUT, Ordering::Relaxed);
    }

    /// A pass ends because its call went through.
    #[inline]
    pub(crate) fn land(&self) {
        // Ordering: AcqRel; pairs with `settled` (P1).
        self.0.fetch_add(THROUGH - OUT, Ordering::AcqRel);
    }

    /// A pass ends otherwise; how many were out, it among them.
    #[inline]
    pub(crate) fn end(&self) -> u32 {
        // Ordering: AcqRel; pairs with `settled` (P1).
        Counts::of(self.0.fetch_sub(OUT, Ordering::AcqRel)).out
    }

    /// Somebody goes through who will not report.
    #[inline]
    pub(crate) fn slip(&self) {
        // Ordering: Relaxed; a count that publishes nothing.
        self.0.fetch_add(THROUGH, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> Counts {
        // Ordering: Relaxed; counts that publish nothing.
        Counts::of(self.0.load(Ordering::Relaxed))
    }

    /// Whether at most so many passes are out. If not, whoever ends the next one sees all that the caller sees.
    pub(crate) fn settled(&self, most: u32) -> bool {
        // Ordering: AcqRel; pairs with `land` and `end` (P1).
        Counts::of(self.0.fetch_add(0, Ordering::AcqRel)).out <= most
    }
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_two_counts_never_mix() {
        let flight = Flight(AtomicU64::new(u64::from(u32::MAX) << 32));
        flight.begin();
        flight.begin();
        assert_eq!(flight.counts(), Counts { through: u32::MAX, out: 2 });
        flight.land();
        assert_eq!(flight.counts(), Counts { through: 0, out: 1 }, "wraps, and borrows nothing");
        flight.slip();
        assert_eq!(flight.end(), 1);
        assert_eq!(flight.counts(), Counts { through: 1, out: 0 });
        assert!(flight.settled(0));
        flight.begin();
        assert!(!flight.settled(0) && flight.settled(1));
        assert_eq!(flight.counts(), Counts { through: 1, out: 1 }, "asking changes nothing");
    }
}
