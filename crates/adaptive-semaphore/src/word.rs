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
//! | permits out, up | anybody, where fewer than `limit` are out and it is not closed ([`Word::take`]); the lock's holder |
//! | permits out, down | anybody, while it is not watched ([`Word::succeed`]); the lock's holder |
//! | successes | with the permits that come back; read and emptied by the lock's holder |
//! | limit, watched, closed | the lock's holder |
//!
//! # Invariants
//! - I1: permits out grow only where fewer than `limit` are out, in the same exchange, so a limit that was lowered holds
//!   for every grant that comes after it.
//! - I2: it is watched while somebody waits for a permit, or for all to come back. A permit then comes back under the
//!   lock, which hands it on: nobody can take it in between.
//! - I3: while somebody waits for a permit at least `limit` are out, so nobody can take one and, by I2, nobody but the
//!   lock's holder changes the word.
//!
//! # Orderings
//! - P1: whoever gives a permit back releases, whoever takes one acquires: a permit carries what was done under it.

use tidegate_sync::primitives::atomic::{AtomicU64, Ordering};

use crate::error::TryAcquireError;

const BITS: u32 = 20;
const MASK: u64 = (1 << BITS) - 1;
const ONE_OUT: u64 = 1;
const ONE_SUCCESS: u64 = 1 << (2 * BITS);
const SUCCESSES: u64 = ((1 << 22) - 1) << (2 * BITS);
const WATCHED: u64 = 1 << 62;
const CLOSED: u64 = 1 << 63;

/// The highest limit that fits.
pub(crate) const MOST: usize = (1 << BITS) - 1;

#[derive(Debug)]
pub(crate) struct Word(AtomicU64);

/// The word, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View(u64);

impl View {
    pub(crate) const fn out(self) -> usize {
        (self.0 & MASK) as usize
    }

    pub(crate) const fn limit(self) -> usize {
        ((self.0 >> BITS) & MASK) as usize
    }

    pub(crate) const fn successes(self) -> u64 {
        (self.0 & SUCCESSES) >> (2 * BITS)
    }

    /// Whether the successes have to be folded before another one can be counted.
    pub(crate) const fn is_count_full(self) -> bool {
        self.0 & SUCCESSES == SUCCESSES
    }

    pub(crate) const fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    /// Whether no permit is left.
    pub(crate) const fn is_full(self) -> bool {
        (self.0 & MASK) >= ((self.0 >> BITS) & MASK)
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

    /// Takes a permit; what the word is after it.
    #[inline]
    pub(crate) fn take(&self) -> Result<View, TryAcquireError> {
        let taken = self
            .update(|view| if view.is_full() || view.is_closed() { None } else { Some(view.0 + ONE_OUT) });
        match taken {
            Ok(before) => Ok(View(before.0 + ONE_OUT)),
            Err(view) if view.is_closed() => Err(TryAcquireError::Closed),
            Err(_) => Err(TryAcquireError::NoPermits),
        }
    }

    /// Gives a permit back after a success that teaches nobody anything: if nobody watches, there is room in the count,
    /// and, `unless_full`, a permit was left.
    #[inline]
    pub(crate) fn succeed(&self, unless_full: bool) -> bool {
        let given = self.update(|view| {
            let quiet = view.0 & WATCHED == 0 && !view.is_count_full() && !(unless_full && view.is_full());
            if quiet { Some(view.0 + ONE_SUCCESS - ONE_OUT) } else { None }
        });
        given.is_ok()
    }

    // Under the lock.

    /// Takes a permit, or watches if none is left; what the word is after it.
    pub(crate) fn take_or_watch(&self) -> Result<View, TryAcquireError> {
        loop {
            let refused = match self.take() {
                Err(refused @ TryAcquireError::NoPermits) => refused,
                taken => return taken,
            };
            if self.update(|view| if view.is_full() { Some(view.0 | WATCHED) } else { None }).is_ok() {
                return Err(refused);
            }
        }
    }

    /// Watches unless no permit is out; whether it does.
    pub(crate) fn watch_if_out(&self) -> bool {
        self.update(|view| if view.out() > 0 { Some(view.0 | WATCHED) } else { None }).is_ok()
    }

    pub(crate) fn unwatch(&self) {
        let _ = self.update(|view| Some(view.0 & !WATCHED));
    }

    /// Gives a permit back; how many are out then.
    pub(crate) fn give_back(&self) -> usize {
        // Ordering: AcqRel (P1).
        View(self.0.fetch_sub(ONE_OUT, Ordering::AcqRel) - ONE_OUT).out()
    }

    /// Sets the limit and takes permits under it for as many as fit of the `waiting`; how many those are.
    pub(crate) fn set_limit(&self, limit: usize, waiting: usize) -> usize {
        let limit = limit.min(MOST);
        let fit = |view: View| limit.saturating_sub(view.out()).min(waiting);
        let before = self.update(|view| Some(view.with_limit(limit).0 + fit(view) as u64));
        before.map_or(0, fit)
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
        let word = Word(AtomicU64::new(SUCCESSES | (MASK << BITS) | (MASK - 1)));
        assert!(!word.succeed(false), "the count is full");
        assert_eq!(word.take().map(View::out), Ok(MOST));
        assert_eq!(word.take(), Err(TryAcquireError::NoPermits));
        assert_eq!(word.give_back(), MOST - 1);
        assert_eq!(word.fold(), (1 << 22) - 1);
        assert_eq!(state(&word), (MOST - 1, MOST, 0, false));
        assert!(word.succeed(true));
        assert_eq!(state(&word), (MOST - 2, MOST, 1, false));
        word.close();
        assert_eq!(state(&word), (MOST - 2, MOST, 1, true));
        assert_eq!(word.take(), Err(TryAcquireError::Closed));
        assert_eq!(word.set_limit(usize::MAX, 5), 2);
        assert_eq!(state(&word), (MOST, MOST, 1, true));
    }

    #[test]
    fn a_watched_word_is_given_back_under_the_lock_only() {
        let word = Word::new(1);
        assert!(!word.watch_if_out(), "nothing is out");
        assert!(word.take_or_watch().is_ok() && word.take_or_watch().is_err());
        assert!(!word.succeed(false));
        word.unwatch();
        assert!(!word.succeed(true), "it was the last");
        assert!(word.watch_if_out());
        word.unwatch();
        assert!(word.succeed(false));
        assert_eq!(state(&word), (0, 1, 1, false));
    }

    #[test]
    fn a_limit_takes_permits_for_those_who_wait_and_fit() {
        let word = Word::new(2);
        assert!(word.take().is_ok() && word.take().is_ok());
        assert_eq!(word.set_limit(1, 4), 0, "none fits");
        assert_eq!(state(&word), (2, 1, 0, false));
        assert_eq!(word.set_limit(5, 2), 2);
        assert_eq!(state(&word), (4, 5, 0, false));
        assert_eq!(word.set_limit(9, 0), 0);
        assert_eq!(state(&word), (4, 9, 0, false));
    }
}
