//! The line, and what decides who is next: everything that the machine keeps under its lock.

use std::task::Waker;

use tidegate_sync::WaitList;
use tidegate_sync::primitives::Arc;

use crate::cooldown::{Cooldown, Lengths};
use crate::effects::Effects;
use crate::law::Law;
use crate::reopen::{Pace, Reopen};
use crate::waiter::{Kind, Place, Standing, Waiter, Why};
use crate::word::{Phase, after, tick};

/// How late a slot may be taken without the next one moving, in ticks: what timers are late by.
const LATE: u64 = 2_000_000;

/// What was built in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) cooldown: Cooldown,
    pub(crate) reopen: Reopen,
    /// How long a probe may stay silent before the next waiter is let out beside it, in ticks.
    pub(crate) patience: u64,
}

impl Rules {
    /// How many probes may be out, and how many have to succeed.
    const fn probes(&self) -> (usize, usize) {
        match self.reopen {
            Reopen::Probe { in_flight, successes } => {
                (if in_flight > 1 { in_flight } else { 1 }, if successes > 1 { successes } else { 1 })
            }
            _ => (1, 1),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) rules: Rules,
    pub(crate) waiters: WaitList<Place>,
    pub(crate) epoch: u64,
    pub(crate) throttled: u64,
    pub(crate) lengths: Lengths,
    pub(crate) law: Law,
    pub(crate) probing: Probing,
    pub(crate) slots: Slots,
    /// A closing by hand, until the reopening shows whether it was a verdict.
    pub(crate) by_hand: Option<ByHand>,
}

/// Probes of the present epoch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probing {
    /// How many are out.
    pub(crate) out: usize,
    /// How many succeeded.
    pub(crate) proved: usize,
    /// When those that are out will have been silent for the patience.
    pub(crate) company_at: u64,
    /// The first goes out once no more passes than this are out.
    pub(crate) most_in_flight: u32,
}

/// Closed by hand at this tick, when so many calls had gone through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByHand {
    pub(crate) at: u64,
    pub(crate) through: u32,
}

/// The slots of a paced gate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slots {
    /// When the next one is.
    pub(crate) next: u64,
    /// From one to the next, where no law says so.
    even: u64,
    /// When everybody may go, where no law says so.
    until: u64,
}

impl Queue {
    pub(crate) fn new(rules: Rules) -> Self {
        let bounds = if let Reopen::Paced(pace) = rules.reopen { pace } else { Pace::new() };
        Self {
            rules,
            waiters: WaitList::new(),
            epoch: 0,
            throttled: 0,
            lengths: Lengths::new(rules.cooldown),
            law: Law::new(bounds),
            probing: Probing::default(),
            slots: Slots::default(),
            by_hand: None,
        }
    }

    /// The epoch in which somebody may be let in now, if so; `settled` tells whether at most so many passes are out.
    pub(crate) fn vacancy(&self, phase: Phase, now: u64, settled: impl Fn(u32) -> bool) -> Option<u64> {
        let waited_for = !self.waiters.is_empty();
        match phase {
            Phase::Open { epoch } | Phase::Ready { epoch } if waited_for => Some(epoch),
            Phase::Paced { epoch } if waited_for && self.slots.next <= now => Some(epoch),
            Phase::Cooling { deadline } if deadline <= now => {
                let ready = settled(self.probing.most_in_flight) || self.overdue_at(deadline) <= now;
                ready.then_some(self.epoch + 1)
            }
            Phase::Probing { epoch } if self.probing.out == 0 => Some(epoch),
            Phase::Probing { epoch } if waited_for && self.admits_probe(now) => Some(epoch),
            _ => None,
        }
    }

    /// Whether another probe may go out beside those that are.
    fn admits_probe(&self, now: u64) -> bool {
        self.probing.out < self.rules.probes().0 || self.probing.company_at <= now
    }

    /// When the gate goes on although too many passes of the last epoch are still out.
    fn overdue_at(&self, deadline: u64) -> u64 {
        after(deadline, self.rules.patience)
    }

    /// Whether the probes that succeeded are enough.
    pub(crate) const fn is_proved(&self) -> bool {
        self.probing.proved >= self.rules.probes().1
    }

    /// What the gate becomes when the longest waiter decides.
    pub(crate) fn decided(&self, phase: Phase, epoch: u64, now: u64) -> Phase {
        match (phase, self.waiters.front_data().map(|place| place.kind)) {
            (Phase::Paced { .. }, _) if self.is_over(now) => Phase::Open { epoch },
            (Phase::Open { .. } | Phase::Paced { .. }, _) => phase,
            (_, Some(Kind::Silent)) => self.opened(epoch),
            (_, Some(Kind::Reports)) => Phase::Probing { epoch },
            (_, None) => Phase::Ready { epoch },
        }
    }

    /// What the gate becomes when it opens.
    pub(crate) fn opened(&self, epoch: u64) -> Phase {
        let waited_for = !self.waiters.is_empty();
        let paced = match self.rules.reopen {
            Reopen::Paced(_) => true,
            Reopen::Spread(over) => waited_for && !over.is_zero(),
            Reopen::AtOnce | Reopen::Probe { .. } => false,
        };
        if paced { Phase::Paced { epoch } } else { Phase::Open { epoch } }
    }

    /// Sets the slots of a gate that opens.
    pub(crate) fn begin_slots(&mut self, now: u64, first_is_taken: bool) {
        if let Reopen::Spread(over) = self.rules.reopen {
            let waiting = u64::try_from(self.waiters.len()).unwrap_or(u64::MAX);
            self.slots.even = (tick(over) / waiting.max(1)).max(1);
            (self.slots.next, self.slots.until) = (now, after(now, tick(over)));
        } else {
            // The probe that showed that it is open took the first.
            self.slots.next = if first_is_taken { after(now, self.interval()) } else { now };
        }
    }

    const fn is_lawful(&self) -> bool {
        matches!(self.rules.reopen, Reopen::Paced(_))
    }

    /// The pace that the gate learned, if it goes by one.
    pub(crate) fn pace(&self) -> Option<f64> {
        if self.is_lawful() { self.law.pace() } else { None }
    }

    /// Whether a throttle without a hint only lowers the pace.
    pub(crate) fn forgives(&self, now: u64) -> bool {
        self.is_lawful() && self.law.forgives(now)
    }

    /// The least that a closing is good for.
    pub(crate) fn pause(&self) -> u64 {
        if self.is_lawful() { self.law.pause() } else { 0 }
    }

    /// From one slot to the next.
    pub(crate) fn interval(&self) -> u64 {
        if self.is_lawful() { self.law.interval() } else { self.slots.even }
    }

    /// Takes the slot that is due. Nobody gets what nobody took: only the lateness of timers is made up for, to those who
    /// waited for one.
    pub(crate) fn take_slot(&mut self, now: u64, waited: bool) {
        let interval = self.interval();
        let from = self.slots.next.max(if waited { now.saturating_sub(LATE) } else { now });
        self.slots.next = after(from, interval);
    }

    /// Whether the time over which those who waited are spread has passed.
    const fn is_over(&self, now: u64) -> bool {
        matches!(self.rules.reopen, Reopen::Spread(_)) && self.slots.until <= now
    }

    /// Whether an empty line opens the gate for everybody: there is no pace that anybody was found to need.
    pub(crate) fn is_free(&self) -> bool {
        !self.is_lawful() || self.law.is_growing()
    }

    /// Forgets a pace that nobody was found to need.
    pub(crate) fn forget_free_pace(&mut self) {
        if self.law.is_growing() {
            self.law.forget();
        }
    }

    /// The epoch of the pass granted next.
    pub(crate) const fn epoch_at(&self, phase: Phase) -> u64 {
        match phase {
            Phase::Cooling { .. } => self.epoch + 1,
            _ => self.epoch,
        }
    }

    /// Puts somebody at the end of the line, with a waker that does nothing.
    pub(crate) fn join(&mut self, place: Place) {
        let seat = Arc::clone(&place.seat);
        seat.put(self.waiters.push_back(Waker::noop().clone(), place));
    }

    /// Gives a waiter a new waker, and notes when it looks again by itself. The waker that is no longer needed comes back,
    /// to be dropped outside the lock.
    pub(crate) fn renew(&mut self, waiter: &Waiter, waker: Waker, at: u64) -> Option<Waker> {
        let Some(key) = waiter.key() else { return Some(waker) };
        if let Some(place) = self.waiters.data_mut(key) {
            place.at = at;
            place.waited |= at > 0;
        }
        Some(self.waiters.renew(key, waker).unwrap_or_else(|unused| unused))
    }

    /// Takes a waiter out, if it still stands in line; its waker is to be dropped outside the lock.
    pub(crate) fn remove(&mut self, waiter: &Waiter) -> Option<Waker> {
        self.waiters.remove(waiter.key()?).map(|gone| gone.waker)
    }

    /// How a waiter stands at a gate that has been settled.
    pub(crate) fn standing(&self, waiter: &Waiter, phase: Phase, now: u64) -> Standing {
        if let Some(grant) = waiter.granted() {
            return grant.into();
        }
        let (at, why) = match phase {
            Phase::ShutDown => return Standing::ShutDown,
            Phase::Cooling { deadline } if deadline > now => (deadline, Why::Cooling),
            Phase::Cooling { deadline } => (self.overdue_at(deadline), Why::Probing),
            Phase::Paced { .. } => (self.slot_of(waiter), Why::Paced),
            _ => (self.probing.company_at, Why::Probing),
        };
        Standing::Queued { at, why }
    }

    /// The slot that a waiter gets if nobody before it leaves.
    fn slot_of(&self, waiter: &Waiter) -> u64 {
        let before = waiter.key().map_or(0, |key| self.waiters.rank(key));
        after(self.slots.next, self.interval().saturating_mul(before))
    }

    /// Has everybody look again, and leaves them in line in their order.
    pub(crate) fn rearm(&mut self, effects: &mut Effects) {
        for mut waiting in self.waiters.take_all() {
            effects.wakes.push(waiting.waker);
            waiting.data.at = 0;
            self.join(waiting.data);
        }
    }

    /// Has the longest waiter look again, if by itself it would only do so after `at`.
    pub(crate) fn rearm_front(&mut self, at: u64, effects: &mut Effects) {
        let Some(key) = self.waiters.front() else { return };
        let Some(place) = self.waiters.data_mut(key) else { return };
        if place.at <= at {
            return;
        }
        place.at = at;
        if let Ok(waker) = self.waiters.renew(key, Waker::noop().clone()) {
            effects.wakes.push(waker);
        }
    }
}
