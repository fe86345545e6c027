//! What a semaphore does under its lock, and the rules that no algorithm can break. Knows neither the lock nor tasks.
//!
//! # States of an acquire
//! | state | where it stands | who moves it on |
//! |---|---|---|
//! | waiting | its key is in `waiters` | [`Core::join`] put it there |
//! | granted | absent, ticket <= `granted`: a permit is out in its name | its next poll takes it, or its drop passes it on |
//! | refused | absent, ticket > `granted`: [`Core::close`] took it out | its next poll says so |
//!
//! # Transitions
//! A permit is taken without the lock by [`Front`], by [`Core::join`], or handed over: by one that comes back
//! ([`Core::take_back`]) or by a limit that is raised ([`Core::put_limit`]). It comes back without the lock, by [`Core::release`] with
//! its outcome or, if nobody took it up, by [`Core::cancel`]. Nothing leads out of `closed`.
//!
//! # Invariants
//! - I1: a permit is granted only where fewer than `limit` are out: the [word](crate::word) sees to it, or it is one that
//!   would come back otherwise. A lower limit is paid off by the permits as they return, with no debt to remember.
//! - I2: somebody waits only while at least `limit` permits are out and the semaphore is open. So a newcomer who finds
//!   one overtakes nobody, and who waits was held back by the limit. While somebody waits, the word is watched.
//! - I3: tickets rise in the order of the queue, so those granted are exactly the tickets up to `granted` that were not
//!   cancelled.
//! - I4: `1 <= min <= limit <= max <= MOST`.
//! - I5: a sample reaches the algorithm only if its permit was taken in the present epoch, and, if it is tagged, with a
//!   tag above that of the last cut that had one. A cut begins an epoch. So of all permits that were out at a cut, none
//!   can cut again or grow the limit; neither can a later one that still carries the old tag.
//! - I6: no waker is called, cloned or dropped here: all go out through [`Effects`] or as return values.

use std::ops::RangeInclusive;
use std::task::Waker;
use std::time::Duration;

use tidegate_core::Outcome;
use tidegate_sync::{WaitKey, WaitList, WakeBatch};

use crate::change::{Cause, Change};
use crate::error::{Closed, TryAcquireError};
use crate::front::{Front, Grant};
use crate::limit::{Interest, Limit, Sample};
use crate::summary::{PerfSummary, Snapshot, Tally};
use crate::word::{MOST, View};

/// The state, under the lock, and what everybody sees of it.
pub(crate) struct Core<'a> {
    pub(crate) front: &'a Front,
    pub(crate) state: &'a mut State,
}

/// What the lock protects.
pub(crate) struct State {
    min: usize,
    max: usize,
    /// Who waits for a permit, each with its ticket.
    waiters: WaitList<u64>,
    /// The last ticket given out.
    ticket: u64,
    /// The last ticket that was granted.
    granted: u64,
    /// Who waits until nothing is in flight.
    idle: WaitList,
    algorithm: Box<dyn Limit>,
    tally: Tally,
}

impl State {
    /// The state of a semaphore with such a limit, and the limit taken into its bounds.
    pub(crate) fn new(
        initial: usize,
        bounds: &RangeInclusive<usize>,
        algorithm: Box<dyn Limit>,
    ) -> (Self, usize) {
        let (min, max) = ordered(bounds);
        let limit = initial.clamp(min, max);
        let state = Self {
            min,
            max,
            waiters: WaitList::new(),
            ticket: 0,
            granted: 0,
            idle: WaitList::new(),
            algorithm,
            tally: Tally::new(limit),
        };
        (state, limit)
    }
}

/// Names an acquire that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    key: WaitKey,
    ticket: u64,
}

/// What is to be done once the lock is released.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) wakes: WakeBatch,
    pub(crate) change: Option<Change>,
}

/// What [`Core::join`] came to. The waker comes back if it was not needed.
pub(crate) enum Joined {
    Answered(Result<Grant, Closed>, Waker),
    Waiting(Place),
}

/// What [`Core::ask`] came to.
pub(crate) enum Asked {
    Answered(Result<Grant, Closed>),
    /// Still waiting, and the waker it left is still right.
    Waiting,
    /// Still waiting, under another task's waker.
    Moved,
}

/// What [`Core::leave`] came to.
pub(crate) enum Left {
    Answered(Result<Grant, Closed>),
    Waiting(Waker),
}

impl Core<'_> {
    /// Notes that more permits are out than ever before.
    pub(crate) fn note(&mut self, view: View) {
        self.front.note_peak(view.out());
        self.state.tally.occupied(view.out(), || self.front.now());
    }

    /// Takes a free permit or a place in the queue.
    pub(crate) fn join(&mut self, waker: Waker) -> Joined {
        match self.front.word.take_or_watch() {
            Ok(view) => Joined::Answered(Ok(self.grant(view, false)), waker),
            Err(TryAcquireError::Closed) => Joined::Answered(Err(Closed), waker),
            Err(TryAcquireError::NoPermits) => {
                self.state.ticket += 1;
                let ticket = self.state.ticket;
                let key = self.state.waiters.push_back(waker, ticket);
                Joined::Waiting(Place { key, ticket })
            }
        }
    }

    /// Looks after an acquire that waits.
    pub(crate) fn ask(&mut self, place: Place, waker: &Waker) -> Asked {
        match self.answer(place) {
            Some(answer) => Asked::Answered(answer),
            None if self.state.waiters.will_wake(place.key, waker) => Asked::Waiting,
            None => Asked::Moved,
        }
    }

    /// Leaves a new waker and says whether there is an answer by now. The waker that is not kept comes back.
    pub(crate) fn renew(&mut self, place: Place, waker: Waker) -> (Waker, Option<Result<Grant, Closed>>) {
        match self.state.waiters.renew(place.key, waker) {
            Ok(spare) => (spare, None),
            Err(spare) => (spare, self.answer(place)),
        }
    }

    /// Ends an acquire whose time is up: out of the queue, or with the answer it already had.
    pub(crate) fn leave(&mut self, place: Place) -> Left {
        match self.state.waiters.remove(place.key) {
            Some(waiter) => {
                self.unwatch();
                Left::Waiting(waiter.waker)
            }
            None => Left::Answered(self.collect(place)),
        }
    }

    /// Ends an acquire that nobody wants any more: out of the queue, or its permit to the next in line. Its waker comes
    /// back.
    pub(crate) fn cancel(&mut self, place: Place, effects: &mut Effects) -> Option<Waker> {
        let waiter = self.state.waiters.remove(place.key);
        if waiter.is_some() {
            self.unwatch();
        } else if self.was_granted(place) {
            self.take_back(effects);
        }
        waiter.map(|waiter| waiter.waker)
    }

    fn answer(&mut self, place: Place) -> Option<Result<Grant, Closed>> {
        if self.state.waiters.contains(place.key) { None } else { Some(self.collect(place)) }
    }

    /// The answer of an acquire that is no longer in the queue.
    fn collect(&mut self, place: Place) -> Result<Grant, Closed> {
        if self.was_granted(place) { Ok(self.grant(self.front.word.view(), true)) } else { Err(Closed) }
    }

    /// Whether an acquire that is no longer in the queue was granted (I3).
    fn was_granted(&self, place: Place) -> bool {
        place.ticket <= self.state.granted
    }

    /// The papers of a permit. Work begins now, so it belongs to the present epoch, also if the permit was handed over
    /// in an earlier one.
    fn grant(&mut self, view: View, waited: bool) -> Grant {
        self.state.tally.waited(waited);
        if self.front.is_peak(view) {
            self.note(view);
        }
        self.front.grant(view, waited)
    }

    /// A permit comes back with what it learned.
    pub(crate) fn release(&mut self, grant: Grant, outcome: Outcome, effects: &mut Effects) {
        let view = self.front.word.view();
        let latency = grant.began.map(|began| {
            self.front.end_timing();
            Duration::from_nanos(self.front.now().saturating_sub(began))
        });
        let sample = Sample {
            outcome,
            limit: view.limit(),
            in_flight: view.out(),
            saturated: grant.saturated || view.is_full(),
            epoch: grant.epoch(),
            latency,
        };
        if view.is_count_full() {
            self.state.tally.succeeded(self.front.word.fold());
        }
        let stale = self.front.is_stale(&grant);
        self.state.tally.ended(outcome, stale, sample.saturated);
        let returning = Returning { core: self, effects };
        let verdict = matches!(outcome, Outcome::Success | Outcome::Overload);
        if verdict && !stale && returning.core.front.interest != Interest::Nothing {
            returning.core.learn(&sample, grant.its_tag(), returning.effects);
        }
    }

    /// Asks the algorithm and holds its answer to the rules.
    fn learn(&mut self, sample: &Sample, tag: Option<u64>, effects: &mut Effects) {
        let answer = self.state.algorithm.on_sample(sample);
        let may_grow = sample.saturated && sample.outcome == Outcome::Success;
        if answer < sample.limit {
            self.put_limit(answer, Cause::Cut, effects);
            self.state.tally.cut();
            if let Some(tag) = tag {
                self.front.cut(tag);
            }
            self.begin_epoch();
        } else if may_grow {
            self.put_limit(answer, Cause::Grown, effects);
        }
    }

    /// Begins an epoch: what is out now is stale from here on.
    pub(crate) fn begin_epoch(&mut self) -> u64 {
        let epoch = self.front.begin_epoch();
        self.state.algorithm.on_epoch(epoch);
        epoch
    }

    pub(crate) fn set_limit(&mut self, limit: usize, effects: &mut Effects) -> usize {
        self.put_limit(limit, Cause::Set, effects);
        let limit = self.front.word.view().limit();
        self.state.algorithm.on_limit_set(limit);
        limit
    }

    pub(crate) fn set_bounds(&mut self, bounds: &RangeInclusive<usize>, effects: &mut Effects) -> usize {
        (self.state.min, self.state.max) = ordered(bounds);
        self.set_limit(self.front.word.view().limit(), effects)
    }

    /// The only place where the limit moves (I4). Those who then fit are served in the same step (I2).
    fn put_limit(&mut self, wanted: usize, cause: Cause, effects: &mut Effects) {
        let (from, to) = (self.front.word.view().limit(), wanted.clamp(self.state.min, self.state.max));
        if from == to {
            return;
        }
        let number = self.state.tally.limit_changed(from, to, cause, self.front.now());
        effects.change = Some(Change { number, from, to, cause, epoch: self.front.epoch() });
        for _ in 0..self.front.word.set_limit(to, self.state.waiters.len()) {
            self.hand_over(effects);
        }
        self.unwatch();
    }

    /// A permit that is counted goes to the longest waiting, if somebody waits.
    fn hand_over(&mut self, effects: &mut Effects) {
        if let Some(waiter) = self.state.waiters.pop_front() {
            self.state.granted = waiter.data;
            effects.wakes.push(waiter.waker);
        }
    }

    /// A permit comes back: to the longest waiting if the limit has room for it, and wakes who waits for idleness.
    fn take_back(&mut self, effects: &mut Effects) {
        let view = self.front.word.view();
        if self.state.waiters.is_empty() || view.out() > view.limit() {
            if self.front.word.give_back() == 0 {
                effects.wakes.extend(self.state.idle.take_all());
            }
        } else {
            self.hand_over(effects);
        }
        self.unwatch();
    }

    /// Lets permits come back without the lock again, if nobody waits for any.
    fn unwatch(&mut self) {
        if self.state.waiters.is_empty() && self.state.idle.is_empty() {
            self.front.word.unwatch();
        }
    }

    /// Refuses everybody who waits, and every newcomer from now on. Permits that are out stay out.
    pub(crate) fn close(&mut self, effects: &mut Effects) {
        self.front.word.close();
        effects.wakes.extend(self.state.waiters.take_all());
        self.unwatch();
    }

    /// Waits for idleness; hands the waker back if nothing is in flight.
    pub(crate) fn join_idle(&mut self, waker: Waker) -> Result<WaitKey, Waker> {
        if self.front.word.watch_if_out() { Ok(self.state.idle.push_back(waker, ())) } else { Err(waker) }
    }

    /// Leaves a new waker for idleness; it comes back if it was seen meanwhile.
    pub(crate) fn renew_idle(&mut self, key: WaitKey, waker: Waker) -> Result<Waker, Waker> {
        self.state.idle.renew(key, waker)
    }

    /// Waits for idleness no longer. Its waker comes back, if it was not woken.
    pub(crate) fn leave_idle(&mut self, key: WaitKey) -> Option<Waker> {
        let waiter = self.state.idle.remove(key);
        self.unwatch();
        waiter.map(|waiter| waiter.waker)
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let view = self.front.word.view();
        Snapshot {
            limit: view.limit(),
            min: self.state.min,
            max: self.state.max,
            in_flight: view.out(),
            waiting: self.state.waiters.len(),
            epoch: self.front.epoch(),
            closed: view.is_closed(),
        }
    }

    pub(crate) fn summary(&mut self, now: u64) -> PerfSummary {
        self.state.tally.succeeded(self.front.word.fold());
        self.state.tally.summary(self.front.word.view(), self.front.epoch(), now)
    }
}

/// A permit that comes back when this goes, also when the algorithm panics: nobody may be left waiting beside a free
/// permit (I2).
struct Returning<'a, 'b> {
    core: &'a mut Core<'b>,
    effects: &'a mut Effects,
}

impl Drop for Returning<'_, '_> {
    fn drop(&mut self) {
        self.core.take_back(self.effects);
    }
}

/// Bounds as they hold: at least 1, at most [`MOST`], and the upper one at least the lower one.
fn ordered(bounds: &RangeInclusive<usize>) -> (usize, usize) {
    let min = (*bounds.start()).clamp(1, MOST);
    (min, (*bounds.end()).clamp(min, MOST))
}
