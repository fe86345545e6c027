//! The state of a semaphore, and the rules that no algorithm can break. Knows neither the lock around it nor tasks.
//!
//! # States of an acquire
//! | state | where it stands | who moves it on |
//! |---|---|---|
//! | waiting | its key is in `waiters` | [`Core::join`] put it there |
//! | granted | absent, ticket <= `granted`: a permit is out in its name | its next poll takes it, or its drop passes it on |
//! | refused | absent, ticket > `granted`: [`Core::close`] took it out | its next poll says so |
//!
//! # Transitions
//! A permit is taken by [`Core::try_take`] or handed over by [`Core::hand_out`]; it comes back by [`Core::release`] with
//! its outcome or, if nobody took it up, by [`Core::cancel`]. [`Core::hand_out`] ends every transition that can free a permit.
//! Nothing leads out of `closed`.
//!
//! # Invariants
//! - I1: `held` grows only where it is less than `limit`, and falls by one for each permit that comes back. Nothing else
//!   touches it: a lower limit is paid off by the permits as they return, with no debt to remember.
//! - I2: somebody waits only while `held >= limit` and the semaphore is open. So a newcomer who sees `held < limit`
//!   overtakes nobody, and who waits was held back by the limit.
//! - I3: tickets rise in the order of the queue, so those granted are exactly the tickets up to `granted` that were not
//!   cancelled.
//! - I4: `1 <= min <= limit <= max`.
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
use crate::limit::{Limit, Sample};
use crate::summary::{PerfSummary, Snapshot, Tally};

/// The whole state, to be kept in a mutex.
pub(crate) struct Core {
    limit: usize,
    min: usize,
    max: usize,
    held: usize,
    closed: bool,
    /// Who waits for a permit, each with its ticket.
    waiters: WaitList<u64>,
    /// The last ticket given out.
    ticket: u64,
    /// The last ticket that was granted.
    granted: u64,
    /// Who waits until nothing is in flight.
    idle: WaitList,
    epoch: u64,
    /// The tag of the last cut whose permit had one.
    tagged_cut: Option<u64>,
    algorithm: Box<dyn Limit>,
    tally: Tally,
}

/// What a permit knows about itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant {
    own: u64,
    tag: Option<u64>,
    saturated: bool,
}

impl Grant {
    pub(crate) fn epoch(&self) -> u64 {
        self.tag.unwrap_or(self.own)
    }

    pub(crate) fn tag(&mut self, epoch: u64) {
        self.tag = Some(epoch);
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

impl Core {
    pub(crate) fn new(initial: usize, bounds: &RangeInclusive<usize>, algorithm: Box<dyn Limit>) -> Self {
        let (min, max) = ordered(bounds);
        let limit = initial.clamp(min, max);
        Self {
            limit,
            min,
            max,
            held: 0,
            closed: false,
            waiters: WaitList::new(),
            ticket: 0,
            granted: 0,
            idle: WaitList::new(),
            epoch: 0,
            tagged_cut: None,
            algorithm,
            tally: Tally::new(limit),
        }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.held
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Takes a free permit. Overtakes nobody (I2).
    pub(crate) fn try_take(&mut self) -> Result<Grant, TryAcquireError> {
        if self.closed {
            return Err(TryAcquireError::Closed);
        }
        if self.held >= self.limit {
            return Err(TryAcquireError::NoPermits);
        }
        self.occupy();
        Ok(self.grant(false))
    }

    /// Takes a free permit or a place in the queue.
    pub(crate) fn join(&mut self, waker: Waker) -> Joined {
        match self.try_take() {
            Ok(grant) => Joined::Answered(Ok(grant), waker),
            Err(TryAcquireError::Closed) => Joined::Answered(Err(Closed), waker),
            Err(TryAcquireError::NoPermits) => {
                self.ticket += 1;
                let key = self.waiters.push_back(waker, self.ticket);
                Joined::Waiting(Place { key, ticket: self.ticket })
            }
        }
    }

    /// Looks after an acquire that waits.
    pub(crate) fn ask(&mut self, place: Place, waker: &Waker) -> Asked {
        match self.answer(place) {
            Some(answer) => Asked::Answered(answer),
            None if self.waiters.will_wake(place.key, waker) => Asked::Waiting,
            None => Asked::Moved,
        }
    }

    /// Leaves a new waker and says whether there is an answer by now. The waker that is not kept comes back.
    pub(crate) fn renew(&mut self, place: Place, waker: Waker) -> (Waker, Option<Result<Grant, Closed>>) {
        match self.waiters.renew(place.key, waker) {
            Ok(spare) => (spare, None),
            Err(spare) => (spare, self.answer(place)),
        }
    }

    /// Ends an acquire whose time is up: out of the queue, or with the answer it already had.
    pub(crate) fn leave(&mut self, place: Place) -> Left {
        match self.waiters.remove(place.key) {
            Some(waiter) => Left::Waiting(waiter.waker),
            None => Left::Answered(self.collect(place)),
        }
    }

    /// Ends an acquire that nobody wants any more: out of the queue, or its permit to the next in line. Its waker comes
    /// back.
    pub(crate) fn cancel(&mut self, place: Place, effects: &mut Effects) -> Option<Waker> {
        let waiter = self.waiters.remove(place.key);
        if waiter.is_none() && self.was_granted(place) {
            self.held -= 1;
            self.hand_out(effects);
        }
        waiter.map(|waiter| waiter.waker)
    }

    fn answer(&mut self, place: Place) -> Option<Result<Grant, Closed>> {
        if self.waiters.contains(place.key) { None } else { Some(self.collect(place)) }
    }

    /// The answer of an acquire that is no longer in the queue.
    fn collect(&mut self, place: Place) -> Result<Grant, Closed> {
        if self.was_granted(place) { Ok(self.grant(true)) } else { Err(Closed) }
    }

    /// Whether an acquire that is no longer in the queue was granted (I3).
    fn was_granted(&self, place: Place) -> bool {
        place.ticket <= self.granted
    }

    /// The papers of a permit that was counted into `held`. Work begins now, so it belongs to the present epoch, also if
    /// the permit was handed over in an earlier one.
    fn grant(&mut self, waited: bool) -> Grant {
        self.tally.granted(waited);
        Grant { own: self.epoch, tag: None, saturated: waited || self.held >= self.limit }
    }

    fn occupy(&mut self) {
        self.held += 1;
        self.tally.occupied(self.held);
    }

    /// A permit comes back with what it learned.
    pub(crate) fn release(&mut self, grant: Grant, outcome: Outcome, effects: &mut Effects) {
        let sample = Sample {
            outcome,
            limit: self.limit,
            in_flight: self.held,
            saturated: grant.saturated || self.held >= self.limit,
            epoch: grant.epoch(),
        };
        let stale = self.is_stale(&grant);
        self.tally.ended(outcome, stale, sample.saturated);
        self.held -= 1;
        let settling = Settling { core: self, effects };
        if !stale && matches!(outcome, Outcome::Success | Outcome::Overload) {
            settling.core.learn(&sample, grant.tag, settling.effects);
        }
    }

    pub(crate) fn is_stale(&self, grant: &Grant) -> bool {
        let cut_already = match (grant.tag, self.tagged_cut) {
            (Some(tag), Some(cut)) => tag <= cut,
            _ => false,
        };
        cut_already || grant.own != self.epoch
    }

    /// Asks the algorithm and holds its answer to the rules.
    fn learn(&mut self, sample: &Sample, tag: Option<u64>, effects: &mut Effects) {
        let answer = self.algorithm.on_sample(sample);
        let may_grow = sample.saturated && sample.outcome == Outcome::Success;
        if answer < self.limit {
            self.put_limit(answer, Cause::Cut, effects);
            self.tally.cut();
            self.tagged_cut = self.tagged_cut.max(tag);
            self.begin_epoch();
        } else if may_grow {
            self.put_limit(answer, Cause::Grown, effects);
        }
    }

    /// Begins an epoch: what is out now is stale from here on.
    pub(crate) fn begin_epoch(&mut self) -> u64 {
        self.epoch += 1;
        self.algorithm.on_epoch(self.epoch);
        self.epoch
    }

    pub(crate) fn set_limit(&mut self, limit: usize, effects: &mut Effects) -> usize {
        self.put_limit(limit, Cause::Set, effects);
        let settling = Settling { core: self, effects };
        settling.core.algorithm.on_limit_set(settling.core.limit);
        settling.core.limit
    }

    pub(crate) fn set_bounds(&mut self, bounds: &RangeInclusive<usize>, effects: &mut Effects) -> usize {
        (self.min, self.max) = ordered(bounds);
        self.set_limit(self.limit, effects)
    }

    /// The only place where the limit moves (I4).
    fn put_limit(&mut self, wanted: usize, cause: Cause, effects: &mut Effects) {
        let limit = wanted.clamp(self.min, self.max);
        if limit == self.limit {
            return;
        }
        let number = self.tally.limit_changed(self.limit, limit, cause);
        effects.change = Some(Change { number, from: self.limit, to: limit, cause, epoch: self.epoch });
        self.limit = limit;
    }

    /// Hands free permits to those who wait, oldest first (I1, I2, I3), and wakes who waits for idleness.
    fn hand_out(&mut self, effects: &mut Effects) {
        while self.held < self.limit {
            let Some(waiter) = self.waiters.pop_front() else { break };
            self.occupy();
            self.granted = waiter.data;
            effects.wakes.push(waiter.waker);
        }
        if self.held == 0 {
            effects.wakes.extend(self.idle.take_all());
        }
    }

    /// Refuses everybody who waits, and every newcomer from now on. Permits that are out stay out.
    pub(crate) fn close(&mut self, effects: &mut Effects) {
        self.closed = true;
        effects.wakes.extend(self.waiters.take_all());
    }

    /// Waits for idleness; hands the waker back if nothing is in flight.
    pub(crate) fn join_idle(&mut self, waker: Waker) -> Result<WaitKey, Waker> {
        if self.held == 0 { Err(waker) } else { Ok(self.idle.push_back(waker, ())) }
    }

    /// Who waits for idleness; a key that is no longer in it saw it.
    pub(crate) fn idle(&mut self) -> &mut WaitList {
        &mut self.idle
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            limit: self.limit,
            min: self.min,
            max: self.max,
            in_flight: self.held,
            waiting: self.waiters.len(),
            epoch: self.epoch,
            closed: self.closed,
        }
    }

    pub(crate) fn summary(&self) -> PerfSummary {
        self.tally.summary(self.limit, self.epoch)
    }
}

/// Hands out what became free when it goes, also when the algorithm panics: nobody may be left waiting beside a free
/// permit (I2).
struct Settling<'a> {
    core: &'a mut Core,
    effects: &'a mut Effects,
}

impl Drop for Settling<'_> {
    fn drop(&mut self) {
        self.core.hand_out(self.effects);
    }
}

/// Bounds as they hold: at least 1, and the upper one at least the lower one.
fn ordered(bounds: &RangeInclusive<usize>) -> (usize, usize) {
    let min = (*bounds.start()).max(1);
    (min, (*bounds.end()).max(min))
}
