//! The one word that says how many permits there are and how many are out.
//!
//! ```text
//!  63       62        61              40 39              20 19               0
//! +--------+---------+------------------+------------------+------------------+
//! | closed | watched | successes        | limit            | permits out      |
//! +--------+---------+------------------+------------------+------------------+
//! ```
//!
//! # Who changes what
//! | field | by whom |
//! |---|---|
//! | permits out, up | anybody, where fewer than `limit` are out, and it is neither watched nor closed ([`Word::take`]); the lock's holder |
//! | permits out, down; successes | anybody ([`Word::give_back`]) |
//! | limit, watched, closed | the lock's holder |
//!
//! # Invariants
//! - I1: permits out grow only where fewer than `limit` are out, in the same exchange, so a limit that was lowered holds
//!   for every grant that comes after it.
//! - I2: it is watched while somebody waits for a permit, or for all to come back. Then permits are taken under the lock
//!   only, where those who wait come first, and whoever gives one back looks after them under the lock.
//! - I3: it begins to be watched in an exchange that finds all permits out. So whoever gives one back before that leaves
//!   it to the newcomer, and whoever does after it sees that it is watched.
//! - I4: successes are folded into a count under the lock long before they overflow: whoever finds the upper half of
//!   their range begun does so.
//!
//! # Orderings
//! - P1: whoever gives a permit back releases, whoever takes one acquires: a permit carries what was done under it.

use tidegate_sync::primitives::atomic::{AtomicU64, Ordering};

const BITS: u32 = 20;
const MASK: u64 = (1 << BITS) - 1;
const ONE_OUT: u64 = 1;
const ONE_SUCCESS: u64 = 1 << (2 * BITS);
const SUCCESSES: u64 = ((1 << 22) - 1) << (2 * BITS);
/// From here on the successes are to be folded.
const HALF_COUNTED: u64 = 1 << 61;
const WATCHED: u64 = 1 << 62;
const CLOSED: u64 = 1 << 63;

/// The highest limit that fits.
pub(crate) const MOST: usize = (1 << BITS) - 1;

#[derive(Debug)]
pub(crate) struct Word(AtomicU64);

/// The word, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View(u64);

/// Why no permit was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Closed,
    Full,
    /// Somebody waits: to be asked for under the lock.
    Watched,
}

impl View {
    pub(crate) const fn out(self) -> usize {
        (self.0 & MASK) as usize
    }

    pub(crate) const fn limit(self) -> usize {
        ((self.0 >> BITS) & MASK) as usize
    }

    /// Whether no permit is left.
    pub(crate) const fn is_full(self) -> bool {
        (self.0 & MASK) >= ((self.0 >> BITS) & MASK)
    }

    pub(crate) const fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    /// Whether somebody has to look after a permit that was given back: who waits, or the count.
    pub(crate) const fn is_watched(self) -> bool {
        self.0 & (WATCHED | HALF_COUNTED) != 0
    }

    /// Whether the successes are to be folded (I4).
    pub(crate) const fn is_count_high(self) -> bool {
        self.0 & HALF_COUNTED != 0
    }

    const fn successes(self) -> u64 {
        (self.0 & SUCCESSES) >> (2 * BITS)
    }

    const fn refusal(self) -> Refused {
        if self.is_closed() {
            Refused::Closed
        } else if self.0 & WATCHED != 0 {
            Refused::Watched
        } else {
            Refused::Full
        }
    }

    const fn with_limit(self, limit: usize) -> Self {
        let limit = if limit < MOST { limit as u64 } else { MASK };
        Self((self.0 & !(MASK << BITS)) | (limit << BITS))
    }
}

impl Word {
    pub(crate) fn new(limit: usize) -> Self {
        Self(AtomicU64::new(View(0).with_limit(limit).0))
    }

    #[inline]
    pub(crate) fn view(&self) -> View {
        // Ordering: Acquire; pairs with the Release of every change (P1).
        View(self.0.load(Ordering::Acquire))
    }

    /// Changes the word as long as `next` gives another; what it was before, or was when `next` gave none.
    #[inline]
    fn update(&self, next: impl Fn(View) -> Option<u64>) -> Result<View, View> {
        // Ordering: AcqRel; a permit carries what was done under it (P1). Acquire on failure, as in `view`.
        let updated = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| next(View(word)));
        updated.map(View).map_err(View)
    }

    /// Takes a permit, if nobody waits for one; what the word is after it.
    #[inline]
    pub(crate) fn take(&self) -> Result<View, Refused> {
        let taken = self.update(|view| {
            if view.is_full() || view.0 & (WATCHED | CLOSED) != 0 { None } else { Some(view.0 + ONE_OUT) }
        });
        match taken {
            Ok(before) => Ok(View(before.0 + ONE_OUT)),
            Err(view) => Err(view.refusal()),
        }
    }

    /// Gives a permit back, and counts a success if it was one; what the word was before it.
    #[inline]
    pub(crate) fn give_back(&self, success: bool) -> View {
        let change = if success { ONE_SUCCESS - ONE_OUT } else { ONE_OUT.wrapping_neg() };
        // Ordering: AcqRel (P1).
        View(self.0.fetch_add(change, Ordering::AcqRel))
    }

    // Under the lock.

    /// Takes a permit for the longest waiting, if one is left; what the word is after it.
    pub(crate) fn take_for_waiter(&self) -> Option<View> {
        let taken = self.update(|view| if view.is_full() { None } else { Some(view.0 + ONE_OUT) });
        taken.ok().map(|before| View(before.0 + ONE_OUT))
    }

    /// Watches, unless a permit is left (I3); whether it does.
    pub(crate) fn watch_if_full(&self) -> bool {
        let view = self.view();
        if view.is_full() && view.0 & WATCHED != 0 {
            return true;
        }
        self.update(|view| if view.is_full() { Some(view.0 | WATCHED) } else { None }).is_ok()
    }

    /// Watches, unless no permit is out; whether it does.
    pub(crate) fn watch_if_out(&self) -> bool {
        self.update(|view| if view.out() > 0 { Some(view.0 | WATCHED) } else { None }).is_ok()
    }

    pub(crate) fn unwatch(&self) {
        let _ = self.update(|view| if view.0 & WATCHED == 0 { None } else { Some(view.0 & !WATCHED) });
    }

    pub(crate) fn set_limit(&self, limit: usize) {
        let _ = self.update(|view| Some(view.with_limit(limit).0));
    }

    pub(crate) fn close(&self) {
        let _ = self.update(|view| Some(view.0 | CLOSED));
    }

    /// Empties the count of successes; what it was.
    pub(crate) fn fold(&self) -> u64 {
        self.update(|view| Some(view.0 & !SUCCESSES)).map_or(0, View::successes)
    }
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;

    fn state(word: &Word) -> (usize, usize, u64, bool) {
        let view = word.view();
        (view.out(), view.limit(), view.successes(), view.is_closed())
    }

    #[test]
    fn no_field_touches_another() {
        let word = Word(AtomicU64::new((SUCCESSES - ONE_SUCCESS) | (MASK << BITS) | (MASK - 1)));
        assert_eq!(word.take().map(View::out), Ok(MOST));
        assert_eq!(word.take(), Err(Refused::Full));
        assert!(word.give_back(true).is_full());
        assert_eq!(state(&word), (MOST - 1, MOST, (1 << 22) - 1, false));
        assert!(word.view().is_watched(), "the count is to be folded");
        assert_eq!(word.fold(), (1 << 22) - 1);
        word.give_back(false);
        assert_eq!(state(&word), (MOST - 2, MOST, 0, false));
        word.close();
        assert_eq!(state(&word), (MOST - 2, MOST, 0, true));
        assert_eq!(word.take(), Err(Refused::Closed));
        word.set_limit(usize::MAX);
        assert_eq!(state(&word), (MOST - 2, MOST, 0, true));
        word.set_limit(1);
        assert_eq!(state(&word), (MOST - 2, 1, 0, true));
    }

    #[test]
    fn a_watched_word_is_taken_from_for_those_who_wait_only() {
        let word = Word::new(1);
        assert!(!word.watch_if_out() && !word.watch_if_full(), "all permits are there");
        assert!(word.take().is_ok());
        assert!(word.watch_if_full());
        assert_eq!(word.take(), Err(Refused::Watched));
        assert!(word.give_back(true).is_watched());
        assert_eq!(word.take(), Err(Refused::Watched), "it is free, but not for everybody");
        assert_eq!(word.take_for_waiter().map(View::out), Some(1));
        assert_eq!(word.take_for_waiter(), None);
        word.unwatch();
        assert!(!word.give_back(true).is_watched());
        assert_eq!(state(&word), (0, 1, 2, false));
    }
}
