//! What is done without the lock: taking a permit that is free, and giving one back that teaches nobody anything.
//!
//! Everything else goes through [`Core`](crate::core::Core), under the lock. The two agree by the [word](crate::word) and by
//! the invariants below.
//!
//! # Invariants
//! - I1: epoch and `tagged_cut` rise only, and only under the lock. A permit notes the epoch *after* it was taken: its
//!   work begins then, so a cut in between does not concern it.
//! - I2: a permit comes back without the lock only if its outcome would be counted and nothing else: a success that is
//!   not stale, and either not saturated or of no interest to the algorithm.
//!
//! # Orderings
//! - P1: whoever cuts releases, whoever takes a permit or looks whether it is stale acquires.

use tidegate_core::Outcome;
use tidegate_sync::Clock;
use tidegate_sync::primitives::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::limit::Interest;
use crate::word::{View, Word};

pub(crate) struct Front {
    pub(crate) word: Word,
    epoch: AtomicU64,
    /// Whether a permit with a tag has led to a cut, and the tag of the last that had.
    was_cut: AtomicBool,
    tagged_cut: AtomicU64,
    /// The most permits that were out at once, as far as it was noted under the lock.
    peak: AtomicUsize,
    pub(crate) interest: Interest,
    /// Whether a permit is out whose time is taken.
    timing: AtomicBool,
    pub(crate) clock: Clock,
}

/// What a permit knows about itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant {
    own: u64,
    tag: Option<u64>,
    pub(crate) saturated: bool,
    /// When its work began, in nanoseconds of the clock, if its time is taken.
    pub(crate) began: Option<u64>,
}

impl Grant {
    pub(crate) const fn epoch(&self) -> u64 {
        match self.tag {
            Some(tag) => tag,
            None => self.own,
        }
    }

    pub(crate) const fn tag(&mut self, epoch: u64) {
        self.tag = Some(epoch);
    }

    pub(crate) const fn its_tag(&self) -> Option<u64> {
        self.tag
    }
}

impl Front {
    pub(crate) fn new(limit: usize, interest: Interest) -> Self {
        Self {
            word: Word::new(limit),
            epoch: AtomicU64::new(0),
            was_cut: AtomicBool::new(false),
            tagged_cut: AtomicU64::new(0),
            peak: AtomicUsize::new(0),
            interest,
            timing: AtomicBool::new(false),
            clock: Clock::default(),
        }
    }

    /// The papers of a permit that was just taken.
    #[inline]
    pub(crate) fn grant(&self, view: View, waited: bool) -> Grant {
        let began = if self.interest == Interest::Latency { self.begin_timing() } else { None };
        Grant { own: self.epoch(), tag: None, saturated: waited || view.is_full(), began }
    }

    /// Whether more permits are out than was noted.
    #[inline]
    pub(crate) fn is_peak(&self, view: View) -> bool {
        // Ordering: Relaxed; what is too low is noted once more.
        view.out() > self.peak.load(Ordering::Relaxed)
    }

    /// Notes it, under the lock.
    pub(crate) fn note_peak(&self, out: usize) {
        // Ordering: Relaxed; a hint for `is_peak`.
        self.peak.fetch_max(out, Ordering::Relaxed);
    }

    /// Gives a permit back whose outcome is only to be counted; whether it was one (I2).
    #[inline]
    pub(crate) fn give_back(&self, grant: &Grant, outcome: Outcome) -> bool {
        let learns = self.interest != Interest::Nothing;
        outcome == Outcome::Success
            && grant.began.is_none()
            && !(learns && grant.saturated)
            && !self.is_stale(grant)
            && self.word.succeed(learns)
    }

    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        // Ordering: Acquire (P1).
        self.epoch.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn is_stale(&self, grant: &Grant) -> bool {
        // Ordering: Acquire (P1).
        let cut = || self.was_cut.load(Ordering::Acquire).then(|| self.tagged_cut.load(Ordering::Acquire));
        let cut_already = grant.tag.is_some_and(|tag| cut().is_some_and(|cut| tag <= cut));
        cut_already || grant.own != self.epoch()
    }

    /// Begins an epoch, under the lock.
    pub(crate) fn begin_epoch(&self) -> u64 {
        // Ordering: AcqRel (P1).
        self.epoch.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// A cut was led to by a permit with this tag; under the lock.
    pub(crate) fn cut(&self, tag: u64) {
        // Ordering: AcqRel, and Release (P1): whoever sees that there was a cut sees its tag.
        self.tagged_cut.fetch_max(tag, Ordering::AcqRel);
        self.was_cut.store(true, Ordering::Release);
    }

    /// One permit at a time is timed: a look at the clock costs more than a permit, and one a round trip is enough.
    fn begin_timing(&self) -> Option<u64> {
        // Ordering: Relaxed; a mark that publishes nothing.
        if self.timing.load(Ordering::Relaxed) || self.timing.swap(true, Ordering::Relaxed) {
            return None;
        }
        Some(self.now())
    }

    /// A permit that was timed comes back.
    pub(crate) fn end_timing(&self) {
        // Ordering: Relaxed; as above.
        self.timing.store(false, Ordering::Relaxed);
    }

    /// The clock, in nanoseconds; saturates after 584 years.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.clock.now().as_nanos()).unwrap_or(u64::MAX)
    }
}
