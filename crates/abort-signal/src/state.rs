//! One signal: its level, the reason of each level, and who waits for which.
//!
//! # States of `level`
//! | word | `steps.level` | `drain.reason` | `abort.reason` | waiters left |
//! |---|---|---|---|---|
//! | 0 | `Run` | none | none | for `Drain` and for `Abort` |
//! | 1 | `Drain` | some | none | for `Abort` |
//! | 2 | `Abort` | some if it drained first | some | none |
//!
//! # Transitions
//! `Run -> Drain`, `Run -> Abort`, `Drain -> Abort`, all of them in [`State::raise`] under the lock. Nothing lowers.
//!
//! `steps.level` under the lock is the truth, the word its published copy: who decides reads the former, who only asks
//! reads the latter. So a raiser never loads the word it is about to store, which also keeps the model honest: loom
//! compares a store with the *last* access only, and a raiser's own load would hide those of the others from it.
//!
//! # Invariants
//! - I1: under the lock, the word equals `steps.level`.
//! - I2: under the lock, `step(l).reason` is `Some` for `l = steps.level`, unless that is `Run`.
//! - I3: under the lock, nobody in a list waits for a level at or below `steps.level`.
//! - I4: a reason, once set, is never replaced.
//!
//! # Orderings
//! - P1: the word is stored (Release) under the lock after the reason, and loaded (Acquire) without it. Whoever sees
//!   the level sees all that its raiser did before; and whoever then takes the lock finds the reason, because the raiser
//!   either has released it or still holds it.
//! - P2: a waiter looks at `steps.level` under the lock before it enters its list, and the raiser sets it and empties the
//!   lists under one hold of it: a waiter either sees the level or is seen by the raiser.
//!
//! Wakers, reasons and their drops stay outside the lock: they are user code.

use std::sync::Arc;
use std::task::Waker;

use tidegate_sync::primitives::Mutex;
use tidegate_sync::primitives::atomic::{AtomicU8, Ordering};
use tidegate_sync::{WaitKey, WaitList, WakeBatch};

use crate::Level;

pub(crate) struct State<R> {
    level: AtomicU8,
    steps: Mutex<Steps<R>>,
}

struct Steps<R> {
    level: Level,
    drain: Step<R>,
    abort: Step<R>,
}

struct Step<R> {
    reason: Option<Arc<R>>,
    waiters: WaitList,
}

impl<R> Steps<R> {
    fn step(&mut self, level: Level) -> &mut Step<R> {
        match level {
            Level::Abort => &mut self.abort,
            Level::Drain | Level::Run => &mut self.drain,
        }
    }

    /// Empties the lists of all levels up to `level` (I3).
    fn release(&mut self, level: Level, woken: &mut WakeBatch) {
        self.drain.release(woken);
        if level >= Level::Abort {
            self.abort.release(woken);
        }
    }
}

impl<R> Step<R> {
    fn release(&mut self, woken: &mut WakeBatch) {
        while let Some(waiter) = self.waiters.pop_front() {
            woken.push(waiter.waker);
        }
    }
}

impl<R> State<R> {
    pub(crate) fn new() -> Self {
        let step = || Step { reason: None, waiters: WaitList::new() };
        Self {
            level: AtomicU8::new(Level::Run as u8),
            steps: Mutex::new(Steps { level: Level::Run, drain: step(), abort: step() }),
        }
    }

    /// The level; one load.
    pub(crate) fn level(&self) -> Level {
        // Ordering: Acquire; pairs with the Release in `raise` (P1): what the raiser did before is visible.
        Level::from_word(self.level.load(Ordering::Acquire))
    }

    /// Rises to `level`, if the signal stands lower, and wakes all who waited for it. True if this call did it.
    pub(crate) fn raise(&self, level: Level, reason: R) -> bool {
        let reason = Arc::new(reason);
        let mut woken = WakeBatch::new();
        {
            let mut steps = self.steps.lock();
            if steps.level >= level {
                return false;
            }
            steps.level = level;
            steps.step(level).reason = Some(reason);
            // Ordering: Release; pairs with the Acquire in `level` (P1): publishes what the raiser did before.
            self.level.store(level as u8, Ordering::Release);
            steps.release(level, &mut woken);
        }
        woken.wake();
        true
    }

    /// The reason that `level` was entered with; none if it was not entered.
    pub(crate) fn reason_of(&self, level: Level) -> Option<Arc<R>> {
        if level == Level::Run || self.level() < level {
            return None;
        }
        self.steps.lock().step(level).reason.clone()
    }

    /// The reason of the highest level entered.
    pub(crate) fn reason(&self) -> Option<Arc<R>> {
        if self.level() == Level::Run {
            return None;
        }
        let steps = self.steps.lock();
        steps.abort.reason.as_ref().or(steps.drain.reason.as_ref()).map(Arc::clone)
    }

    /// Waits for `level`: enters its list, or gives the waiter at `key` a new waker. None if the level is reached.
    pub(crate) fn enlist(&self, level: Level, key: Option<WaitKey>, waker: Waker) -> Option<WaitKey> {
        let (key, left_over) = {
            let mut steps = self.steps.lock();
            // P2: under the lock, and before the list is entered.
            if steps.level >= level {
                (None, Some(waker))
            } else {
                let waiters = &mut steps.step(level).waiters;
                let renewed = match key {
                    Some(key) => waiters.renew(key, waker).map(|old| (key, Some(old))),
                    None => Err(waker),
                };
                let (key, old) = renewed.unwrap_or_else(|waker| (waiters.push_back(waker, ()), None));
                (Some(key), old)
            }
        };
        drop(left_over);
        key
    }

    /// Takes a waiter for `level` out, if it still is in.
    pub(crate) fn leave(&self, level: Level, key: WaitKey) {
        let waiter = self.steps.lock().step(level).waiters.remove(key);
        drop(waiter);
    }

    /// Level and number of waiters, of one moment.
    pub(crate) fn look(&self) -> (Level, usize) {
        let steps = self.steps.lock();
        (steps.level, steps.drain.waiters.len() + steps.abort.waiters.len())
    }
}
