//! The gate as a state machine: it knows waiters, passes and ticks, but neither a clock nor a runtime.
//!
//! Time comes in as `now`, in ticks; whoever is to look again is told at which tick ([`Standing::Queued`]) and brings
//! its own timer. There is no leader task: whoever finds that a deadline passed moves the gate on, for everybody.
//! The states and transitions of the word are in [`word`](crate::word), those of a waiter in [`waiter`](crate::waiter); who
//! is next is decided by [`line`](crate::line), how fast by [`law`](crate::law).
//!
//! # Who moves the gate on
//! | the gate | what happens | then |
//! |---|---|---|
//! | cooling, deadline passed, few enough passes out | somebody looks ([`Machine::settle`]), or ends a pass | a new epoch; the longest waiter decides: a reporting one gets the probe (probing), a silent one opens the gate, none makes it ready |
//! | ready | somebody joins the line | it is the longest waiter, as above |
//! | probing | enough probes succeed | opened: paced, or open, then everybody who waits is granted, in order |
//! | probing | a probe is throttled, or somebody closes | cooling; everybody who waits looks again, to set a timer |
//! | probing | the last probe is dropped, or all have been silent for the patience | the longest waiter decides again |
//! | paced | a slot is due and somebody looks | the longest waiter is granted |
//! | paced | a pass of this epoch is throttled, for the first time in a while and without a hint | paced, slower, after a pause |
//! | paced | the line is empty and no pace was found to be needed | open |
//! | open, paced | a pass of this epoch is throttled, or somebody closes | cooling |
//!
//! # The open path
//! What an open gate does is inlined into the caller's crate, and calls what it does otherwise: one branch that is cold.
//!
//! # Invariants
//! - I1: `queue.epoch` is the epoch of the latest phase that granted. It changes under the lock, together with the
//!   word.
//! - I2: whenever the lock is free, nobody is in the line unless the gate cools, a probe is out, or it is paced and the next
//!   slot was not due. So an arrival that finds the gate open or ready overtakes nobody.
//! - I3: while the word is probing, `queue.probing.out` counts the passes of its epoch, and is not zero when the lock is
//!   free. A pass whose epoch the word shows as probing is therefore a probe, and needs no other mark.
//! - I4: everybody in the line has a timer or a wake under way. The longest waiter's is not later than the tick at which it
//!   may go: a deadline only moves later; where the tick can move earlier (a probe's end, an opening) everybody is woken, and
//!   where the longest waiter changes or its slot moves, it is. The others' timers are where they would go next if all before
//!   them slept for ever, so one that is never polled again freezes nobody.
//! - I5: only a closing takes place without the lock, so a change that is refused was overtaken by a closing.

mod advance;
mod report;

use std::task::Waker;

use tidegate_sync::primitives::Mutex;

use crate::effects::{Effects, Event};
use crate::error::ShutDown;
use crate::flight::{Counts, Flight};
use crate::line::{ByHand, Queue, Rules};
use crate::state::{Closing, Learned};
use crate::voice::Voice;
use crate::waiter::{Kind, Standing, Waiter};
use crate::word::{Phase, Word};

#[derive(Debug)]
pub(crate) struct Machine {
    word: Word,
    flight: Flight,
    queue: Mutex<Queue>,
    pub(crate) voice: Voice,
}

/// A pass as the machine knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) epoch: u64,
    /// When it was granted, if a clock was read for it.
    pub(crate) sent: Option<u64>,
}

/// Why the gate opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    /// A probe succeeded, after so long a round trip if that is known.
    Probe(Option<u64>),
    /// Nobody will say how it fares.
    Time,
    /// A caller said so.
    Order,
}

impl Proof {
    const fn round_trip(self) -> Option<u64> {
        if let Self::Probe(round_trip) = self { round_trip } else { None }
    }
}

/// The numbers of the machine at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Numbers {
    pub(crate) phase: Phase,
    pub(crate) epoch: u64,
    pub(crate) waiting: usize,
    pub(crate) in_flight: usize,
    pub(crate) throttled: u64,
    pub(crate) strikes: u32,
    pub(crate) pace: Option<f64>,
}

impl Machine {
    pub(crate) fn new(rules: Rules, voice: Voice) -> Self {
        Self { word: Word::new(), flight: Flight::new(), queue: Mutex::new(Queue::new(rules)), voice }
    }

    /// Begins with what was learned before.
    pub(crate) fn restore(&self, learned: &Learned) {
        let mut queue = self.queue.lock();
        if let Some(cooldown) = learned.cooldown {
            queue.lengths.restore(crate::word::tick(cooldown));
        }
        if let Some(pace) = learned.pace {
            let outage = queue.lengths.worked().unwrap_or_default();
            queue.law.restore(pace, outage);
            if queue.law.pace().is_some() && queue.opened(0) == (Phase::Paced { epoch: 0 }) {
                // Nobody has the gate yet, so nobody overtakes.
                let _ = self.word.change(Phase::Open { epoch: 0 }, Phase::Paced { epoch: 0 });
            }
        }
    }

    /// What was learned so far.
    pub(crate) fn learned(&self) -> Learned {
        let queue = self.queue.lock();
        let cooldown = queue.lengths.worked().map(crate::word::length);
        let pace = if queue.law.is_growing() { None } else { queue.pace() };
        Learned { pace, cooldown }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.word.phase()
    }

    /// Whether everybody is let in.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.word.open().is_some()
    }

    /// Lets an arrival in if the gate is open: the fast path, without lock and clock.
    #[inline]
    pub(crate) fn enter(&self, kind: Kind) -> Option<u64> {
        let epoch = self.word.open()?;
        self.admit(kind);
        Some(epoch)
    }

    /// Whether an arrival would be let in at once.
    pub(crate) fn admits(&self, now: impl FnOnce() -> u64) -> bool {
        match self.word.phase() {
            Phase::Open { .. } | Phase::Ready { .. } => true,
            Phase::Probing { .. } | Phase::ShutDown => false,
            Phase::Cooling { deadline } => {
                let now = now();
                deadline <= now && self.has_place(now)
            }
            Phase::Paced { .. } => self.has_place(now()),
        }
    }

    /// Whether a gate that has to be moved on first would let an arrival in.
    fn has_place(&self, now: u64) -> bool {
        self.step(|queue, effects| match self.settle(queue, now, effects) {
            Phase::Open { .. } | Phase::Ready { .. } => true,
            Phase::Paced { .. } => queue.waiters.is_empty() && queue.slots.next <= now,
            _ => false,
        })
    }

    /// One step under the lock; what it causes outside is let out after it.
    fn step<R>(&self, step: impl FnOnce(&mut Queue, &mut Effects) -> R) -> R {
        let mut effects = Effects::new();
        let mut queue = self.queue.lock();
        let result = step(&mut queue, &mut effects);
        drop(queue);
        effects.release(&self.voice);
        result
    }

    /// Puts a waiter into the line at its first poll, renews its waker at the others, and says how it stands.
    ///
    /// `seat` is empty before the first poll and after the last.
    pub(crate) fn poll(&self, seat: &mut Option<Waiter>, kind: Kind, waker: &Waker, now: u64) -> Standing {
        if let Some(grant) = seat.as_ref().and_then(Waiter::granted) {
            *seat = None;
            return grant.into();
        }
        let waker = waker.clone();
        let mut newcomer = None;
        let waiter = &*seat.get_or_insert_with(|| {
            let (waiter, place) = Waiter::pair(kind);
            newcomer = Some(place);
            waiter
        });
        let (standing, wakers) = self.step(|queue, effects| {
            // While it looks, it stands in line with a waker that does nothing: it need not wake itself.
            let old = match newcomer {
                Some(place) => {
                    queue.join(place);
                    None
                }
                None => queue.renew(waiter, Waker::noop().clone(), 0),
            };
            let phase = self.settle(queue, now, effects);
            let standing = queue.standing(waiter, phase, now);
            let unused = match standing {
                Standing::Queued { at, .. } => queue.renew(waiter, waker, at),
                Standing::ShutDown | Standing::Granted(_) => queue.remove(waiter).or(Some(waker)),
            };
            (standing, [old, unused])
        });
        // Only now, because they are the user's.
        drop(wakers);
        if !matches!(standing, Standing::Queued { .. }) {
            *seat = None;
        }
        standing
    }

    /// Takes a waiter out of the line; the epoch of its pass if it was granted before.
    #[must_use]
    pub(crate) fn leave(&self, waiter: &Waiter) -> Option<u64> {
        let waker = self.step(|queue, effects| {
            let waker = queue.remove(waiter);
            if waker.is_some() {
                self.rearm_front(queue, effects);
            }
            waker
        });
        drop(waker);
        waiter.granted()?.ok()
    }

    /// Closes until `deadline`; without the lock, if it cools already.
    pub(crate) fn close(&self, deadline: u64, now: u64) -> Closing {
        if deadline <= now {
            return Closing::Kept;
        }
        let length = deadline - now;
        match self.word.close(deadline) {
            Phase::Cooling { deadline: old } if old < deadline => {
                self.voice.say(Event::Extended { length });
                Closing::Extended
            }
            Phase::Cooling { .. } | Phase::ShutDown => Closing::Kept,
            before => {
                self.closed_by_hand(before, length, now);
                Closing::Closed
            }
        }
    }

    /// The word is closed already; under the lock, the rest of the gate learns of it.
    fn closed_by_hand(&self, before: Phase, length: u64, now: u64) {
        self.step(|queue, effects| {
            // If somebody was fast enough to reopen it by now, there is nothing left to say.
            if before.granting() == Some(queue.epoch) {
                if let Phase::Probing { .. } = before {
                    queue.law.fail(now);
                } else {
                    queue.by_hand = Some(ByHand { at: now, through: self.flight.counts().through });
                    queue.law.close(now);
                }
                queue.probing.most_in_flight = u32::MAX;
                if matches!(before, Phase::Probing { .. } | Phase::Paced { .. }) {
                    queue.rearm(effects);
                }
            }
            let (epoch, strikes) = (before.granting().unwrap_or_default(), queue.lengths.strikes());
            effects.tell(Event::Closed { epoch, length, strikes });
        });
    }

    /// Opens, whatever the deadline, for everybody.
    pub(crate) fn open_now(&self, now: u64) {
        self.step(|queue, effects| {
            loop {
                let phase = self.word.phase();
                if matches!(phase, Phase::Open { .. } | Phase::ShutDown) {
                    break;
                }
                let opened = Phase::Open { epoch: queue.epoch_at(phase) };
                if self.word.change(phase, opened) {
                    self.open(queue, opened, now, Proof::Order, effects);
                    break;
                }
            }
        });
    }

    /// Turns everybody away, for good.
    pub(crate) fn shut_down(&self) {
        self.step(|queue, effects| {
            let phase = self.word.shut_down();
            queue.epoch = queue.epoch_at(phase);
            for waiting in queue.waiters.take_all() {
                waiting.data.seat.give(Err(ShutDown));
                effects.wakes.push(waiting.waker);
            }
            if phase != Phase::ShutDown {
                effects.tell(Event::ShutDown);
            }
        });
    }

    /// Moves the gate on if its deadline passed, and reads it.
    pub(crate) fn look(&self, now: u64) -> Numbers {
        self.step(|queue, effects| {
            let phase = self.settle(queue, now, effects);
            let Counts { out, .. } = self.flight.counts();
            Numbers {
                phase,
                epoch: queue.epoch_at(phase),
                waiting: queue.waiters.len(),
                in_flight: usize::try_from(out).unwrap_or(usize::MAX),
                throttled: queue.throttled,
                strikes: queue.lengths.strikes(),
                pace: queue.pace(),
            }
        })
    }

    /// The epoch of a pass granted now, or next if the gate cools.
    pub(crate) fn epoch(&self) -> u64 {
        self.word.phase().granting().unwrap_or_else(|| {
            let queue = self.queue.lock();
            queue.epoch_at(self.word.phase())
        })
    }
}
