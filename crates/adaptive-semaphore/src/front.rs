//! What is done without the lock: taking a permit that is free, and giving one back that teaches nobody anything.
//!
//! Everything else goes through [`Core`](crate::core::Core), under the lock. The two agree by the [word](crate::word) and by
//! the invariants below.
//!
//! # Invariants
//! - I1: epoch and the tag of the last cut rise only, and only under the lock. A permit notes the epoch *after* it was
//!   taken: its work begins then, so a cut in between does not concern it.
//! - I2: a permit that comes back is looked after under the lock unless its outcome is only to be counted (a success that
//!   is not stale, and either not saturated or of no interest to the algorithm) and nobody waits.
//! - I3: `granted` rises only, and only under the lock, after the permit was taken. Places are served in the order of their
//!   stamps: a waiter whose stamp is not above it has its permit.
//!
//! # Orderings
//! - P1: whoever cuts or grants releases, whoever looks whether it is stale or granted acquires.

use std::num::NonZeroU64;
use std::ops::Deref;
use std::time::Duration;

use tidegate_core::Outcome;
use tidegate_sync::Clock;
use tidegate_sync::primitives::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::limit::Interest;
use crate::word::{View, Word};

pub(crate) struct Front {
    pub(crate) word: Apart<Word>,
    epoch: AtomicU64,
    /// Whether a permit with a tag has led to a cut, and the tag of the last that had.
    was_cut: AtomicBool,
    tagged_cut: AtomicU64,
    /// The stamp of the last place that was granted a permit.
    granted: AtomicU64,
    /// The most permits that were out at once, as far as it was noted under the lock.
    peak: AtomicUsize,
    pub(crate) interest: Interest,
    /// Whether a permit is out whose time is taken.
    timing: AtomicBool,
    pub(crate) clock: Clock,
}

/// On a cache line of its own, and on none that is fetched with another: what changes with every permit does not slow
/// down the look at what hardly changes.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Apart<T>(T);

impl<T> Deref for Apart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A permit that was taken and has no papers yet. They are made where they stay: what is carried around fits a register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) saturated: bool,
}

/// What a permit knows about itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant {
    own: u64,
    tag: u64,
    is_tagged: bool,
    saturated: bool,
    /// When its work began, in nanoseconds of the clock and one more, if its time is taken.
    began: Option<NonZeroU64>,
}

impl Grant {
    pub(crate) const fn epoch(&self) -> u64 {
        if self.is_tagged { self.tag } else { self.own }
    }

    pub(crate) const fn tag_with(&mut self, epoch: u64) {
        (self.tag, self.is_tagged) = (epoch, true);
    }

    /// Whether all permits were out when it was granted, or it was waited for.
    pub(crate) const fn is_saturated(&self) -> bool {
        self.saturated
    }

    pub(crate) const fn tag(&self) -> Option<u64> {
        if self.is_tagged { Some(self.tag) } else { None }
    }
}

impl Front {
    pub(crate) fn new(limit: usize, interest: Interest) -> Self {
        Self {
            word: Apart(Word::new(limit)),
            epoch: AtomicU64::new(0),
            was_cut: AtomicBool::new(false),
            tagged_cut: AtomicU64::new(0),
            granted: AtomicU64::new(0),
            peak: AtomicUsize::new(0),
            interest,
            timing: AtomicBool::new(false),
            clock: Clock::default(),
        }
    }

    /// The papers of a permit. Its work begins now, so it belongs to the present epoch, also if it was handed over in an
    /// earlier one.
    #[inline]
    pub(crate) fn grant(&self, taken: Taken) -> Grant {
        let began = if self.interest == Interest::Latency { self.begin_timing() } else { None };
        Grant { own: self.epoch(), tag: 0, is_tagged: false, saturated: taken.saturated, began }
    }

    /// Whether the waiter with this stamp has its permit.
    #[inline]
    pub(crate) fn was_granted(&self, stamp: u64) -> bool {
        // Ordering: Acquire (P1).
        stamp <= self.granted.load(Ordering::Acquire)
    }

    /// The waiter with this stamp gets its permit, under the lock.
    pub(crate) fn grant_to(&self, stamp: u64) {
        // Ordering: Release (P1).
        self.granted.store(stamp, Ordering::Release);
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

    /// Whether the algorithm is to hear of a permit that comes back, or its outcome has to be counted apart (I2).
    #[inline]
    pub(crate) fn concerns(&self, grant: &Grant, outcome: Outcome, before: View) -> bool {
        let counts_only = outcome == Outcome::Success && grant.began.is_none() && !self.is_stale(grant);
        let learns = self.interest != Interest::Nothing && (grant.saturated || before.is_full());
        !counts_only || learns
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
        let cut_already = grant.is_tagged && cut().is_some_and(|cut| grant.tag <= cut);
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
    fn begin_timing(&self) -> Option<NonZeroU64> {
        // Ordering: Relaxed; a mark that publishes nothing.
        if self.timing.load(Ordering::Relaxed) || self.timing.swap(true, Ordering::Relaxed) {
            return None;
        }
        self.starting_now()
    }

    fn starting_now(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.now().saturating_add(1))
    }

    /// The work of a permit begins only now.
    pub(crate) fn restart(&self, grant: &mut Grant) {
        grant.began = grant.began.and_then(|_| self.starting_now());
    }

    /// A permit comes back: how long it was out, if it was timed.
    pub(crate) fn end_timing(&self, grant: &Grant) -> Option<Duration> {
        let began = grant.began?;
        // Ordering: Relaxed; as above.
        self.timing.store(false, Ordering::Relaxed);
        Some(Duration::from_nanos(self.now().saturating_add(1).saturating_sub(began.get())))
    }

    /// The clock, in nanoseconds; saturates after 584 years.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.clock.now().as_nanos()).unwrap_or(u64::MAX)
    }
}
