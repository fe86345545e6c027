//! What a semaphore does under its lock, and the rules that no algorithm can break. Knows neither the lock nor tasks.
//!
//! # States of an acquire
//! | state | where it stands | who moves it on |
//! |---|---|---|
//! | waiting | its key is in `waiters` | [`Core::join`] put it there |
//! | granted | absent, stamp <= `granted`: a permit is out in its name | its next poll takes it, or its drop passes it on |
//! | refused | absent, stamp > `granted`: [`Core::close`] took it out | its next poll says so |
//!
//! # Transitions
//! A permit is taken without the lock by [`Front`], or under it by [`Core::join`] and [`Core::try_take`]; it comes back
//! without the lock. [`Core::serve`] takes permits for those who wait, and ends every transition that can have freed one:
//! one that comes back ([`Core::returned`]), one that nobody took up ([`Core::cancel`]), a limit that is raised
//! ([`Core::put_limit`]), and a newcomer's, who may be the first to see it. Nothing leads out of `closed`.
//!
//! # Invariants
//! - I1: a permit is granted only where fewer than `limit` are out: the [word](crate::word) sees to it. A lower limit is paid
//!   off by the permits as they return, with no debt to remember.
//! - I2: while somebody waits the word is watched, so permits are taken under the lock only, and there those who wait come
//!   first: a newcomer overtakes nobody, and who waits was held back by the limit.
//! - I3: the stamps of places rise in the order of the queue, so those granted are exactly those up to `granted` that were
//!   not cancelled.
//! - I4: `1 <= min <= limit <= max <= MOST`.
//! - I5: a sample reaches the algorithm only if its permit was taken in the present epoch, and, if it is tagged, with a
//!   tag above that of the last cut that had one. A cut begins an epoch. So of all permits that were out at a cut, none
//!   can cut again or grow the limit; neither can a later one that still carries the old tag.
//! - I6: no waker is called, cloned or dropped here: all go out through [`Effects`] or as return values.

use std::ops::RangeInclusive;
use std::task::Waker;

use tidegate_core::Outcome;
use tidegate_sync::{WaitKey, WaitList, WakeBatch};

use crate::change::{Cause, Change};
use crate::error::{Closed, TryAcquireError};
use crate::front::{Front, Grant, Taken};
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
    /// Who waits for a permit.
    waiters: WaitList,
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
            idle: WaitList::new(),
            algorithm,
            tally: Tally::new(limit),
        };
        (state, limit)
    }
}

/// What is to be done once the lock is released.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) wakes: WakeBatch,
    pub(crate) change: Option<Change>,
}

/// What [`Core::ask`] came to.
pub(crate) enum Asked {
    Answered(Result<Taken, Closed>),
    /// Still waiting, and the waker it left is still right.
    Waiting,
    /// Still waiting, under another task's waker.
    Moved,
}

/// What [`Core::leave`] came to.
pub(crate) enum Left {
    Answered(Result<Taken, Closed>),
    Waiting(Waker),
}

impl Core<'_> {
    /// Notes that more permits are out than ever before.
    pub(crate) fn note(&mut self, view: View) {
        self.front.note_peak(view.out());
        self.state.tally.occupied(view.out(), || self.front.now());
    }

    /// Takes a permit that nobody waits for.
    pub(crate) fn try_take(&mut self, effects: &mut Effects) -> Result<Taken, TryAcquireError> {
        if self.front.word.view().is_closed() {
            return Err(TryAcquireError::Closed);
        }
        self.serve(effects);
        let taken = if self.state.waiters.is_empty() { self.front.word.take_for_waiter() } else { None };
        let view = taken.ok_or(TryAcquireError::NoPermits)?;
        self.took(view);
        Ok(Taken { saturated: view.is_full() })
    }

    /// Takes a permit that nobody waits for, or else a place in the queue, which then has the waker.
    pub(crate) fn join(
        &mut self,
        waker: &mut Option<Waker>,
        place: &mut Option<WaitKey>,
        effects: &mut Effects,
    ) -> Option<Result<Taken, Closed>> {
        loop {
            match self.try_take(effects) {
                Ok(taken) => return Some(Ok(taken)),
                Err(TryAcquireError::Closed) => return Some(Err(Closed)),
                // One that comes back in between is found by the next turn.
                Err(TryAcquireError::NoPermits) if self.front.word.watch_if_full() => break,
                Err(TryAcquireError::NoPermits) => {}
            }
        }
        *place = waker.take().map(|waker| self.state.waiters.push_back(waker, ()));
        None
    }

    /// Looks after an acquire that waits.
    pub(crate) fn ask(&mut self, place: WaitKey, waker: &Waker) -> Asked {
        match self.answer(place) {
            Some(answer) => Asked::Answered(answer),
            None if self.state.waiters.will_wake(place, waker) => Asked::Waiting,
            None => Asked::Moved,
        }
    }

    /// Leaves a new waker and says whether there is an answer by now. The waker that is not kept comes back.
    pub(crate) fn renew(&mut self, place: WaitKey, waker: Waker) -> (Waker, Option<Result<Taken, Closed>>) {
        match self.state.waiters.renew(place, waker) {
            Ok(spare) => (spare, None),
            Err(spare) => (spare, self.answer(place)),
        }
    }

    /// Ends an acquire whose time is up: out of the queue, or with the answer it already had.
    pub(crate) fn leave(&mut self, place: WaitKey) -> Left {
        match self.state.waiters.remove(place) {
            Some(waiter) => {
                self.unwatch();
                Left::Waiting(waiter.waker)
            }
            None => Left::Answered(self.collect(place)),
        }
    }

    /// Ends an acquire that nobody wants any more: out of the queue, or its permit to the next in line. Its waker comes
    /// back.
    pub(crate) fn cancel(&mut self, place: WaitKey, effects: &mut Effects) -> Option<Waker> {
        let waiter = self.state.waiters.remove(place);
        if waiter.is_none() && self.front.was_granted(place.stamp()) {
            let before = self.front.word.give_back(false);
            self.state.tally.not_waited();
            self.rest(before, effects);
        }
        self.serve(effects);
        waiter.map(|waiter| waiter.waker)
    }

    fn answer(&self, place: WaitKey) -> Option<Result<Taken, Closed>> {
        if self.state.waiters.contains(place) { None } else { Some(self.collect(place)) }
    }

    /// The answer of an acquire that is no longer in the queue.
    fn collect(&self, place: WaitKey) -> Result<Taken, Closed> {
        if self.front.was_granted(place.stamp()) { Ok(Taken { saturated: true }) } else { Err(Closed) }
    }

    fn took(&mut self, view: View) {
        if self.front.is_peak(view) {
            self.note(view);
        }
    }

    /// A permit came back, when the word was `before`, with what it learned.
    pub(crate) fn returned(&mut self, grant: &Grant, outcome: Outcome, before: View, effects: &mut Effects) {
        let sample = Sample {
            outcome,
            limit: self.front.word.view().limit(),
            in_flight: before.out(),
            saturated: grant.is_saturated() || before.is_full(),
            epoch: grant.epoch(),
            latency: self.front.end_timing(grant),
        };
        let stale = self.front.is_stale(grant);
        if self.front.word.view().is_count_high() {
            self.state.tally.succeeded(self.front.word.fold());
        }
        self.state.tally.ended(outcome, stale, sample.saturated);
        self.rest(before, effects);
        let serving = Serving { core: self, effects };
        let verdict = matches!(outcome, Outcome::Success | Outcome::Overload);
        if verdict && !stale && serving.core.front.interest != Interest::Nothing {
            let core = &mut *serving.core;
            if outcome == Outcome::Overload || sample.saturated || sample.latency.is_some() {
                core.learn(&sample, grant.tag(), serving.effects);
            }
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
        } else if may_grow && answer > sample.limit {
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
        self.front.word.set_limit(to);
        self.serve(effects);
    }

    /// Takes permits that are left for those who wait, the longest first.
    fn serve(&mut self, effects: &mut Effects) {
        while !self.state.waiters.is_empty() {
            let Some(view) = self.front.word.take_for_waiter() else { return };
            self.took(view);
            let Some(longest) = self.state.waiters.front() else { return };
            if let Some(waiter) = self.state.waiters.remove(longest) {
                self.state.tally.waited();
                self.front.grant_to(longest.stamp());
                effects.wakes.push(waiter.waker);
            }
        }
        self.unwatch();
    }

    /// Wakes who waits for idleness, if the last permit came back.
    fn rest(&mut self, before: View, effects: &mut Effects) {
        if before.out() == 1 && !self.state.idle.is_empty() {
            effects.wakes.extend(self.state.idle.take_all());
        }
    }

    /// Lets permits be taken without the lock again, if nobody waits for any.
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

/// Serves who waits when it goes, also when the algorithm panics: nobody may be left waiting beside a free permit (I2).
struct Serving<'a, 'b> {
    core: &'a mut Core<'b>,
    effects: &'a mut Effects,
}

impl Drop for Serving<'_, '_> {
    fn drop(&mut self) {
        self.core.serve(self.effects);
    }
}

/// Bounds as they hold: at least 1, at most [`MOST`], and the upper one at least the lower one.
fn ordered(bounds: &RangeInclusive<usize>) -> (usize, usize) {
    let min = (*bounds.start()).clamp(1, MOST);
    (min, (*bounds.end()).clamp(min, MOST))
}
