//! The gate as a state machine: it knows waiters, passes and ticks, but neither a clock nor a runtime.
//!
//! Time comes in as `now`, in ticks; whoever is to look again is told at which tick ([`Standing::Queued`]) and brings
//! its own timer. There is no leader task: whoever finds that a deadline passed moves the gate on, for everybody.
//! The states and transitions of the word are in [`word`](crate::word), those of a waiter in [`waiter`](crate::waiter).
//!
//! # Who moves the gate on
//! | the gate | what happens | then |
//! |---|---|---|
//! | cooling, deadline passed | somebody looks ([`Machine::settle`]) | a new epoch; the longest waiter decides: a reporting one gets the probe (probing), a silent one opens the gate, none makes it ready |
//! | ready | somebody joins the line | it is the longest waiter, as above |
//! | probing | the probe succeeds | open; everybody who waits is granted, in order |
//! | probing | the probe is throttled, or somebody closes | cooling; everybody who waits looks again, to set a timer |
//! | probing | the last probe is dropped, or all have been silent for the patience | the longest waiter decides again |
//! | open | a pass of this epoch is throttled, or somebody closes | cooling |
//!
//! # Invariants
//! - I1: `queue.epoch` is the epoch of the latest phase that granted. It changes under the lock, together with the
//!   word.
//! - I2: whenever the lock is free, nobody is in the line unless the gate cools or a probe is out. So an arrival that
//!   finds the gate open or ready overtakes nobody.
//! - I3: while the word is probing, `queue.probes` counts the passes of its epoch, and is not zero when the lock is
//!   free. A pass whose epoch the word shows as probing is therefore a probe, and needs no other mark.
//! - I4: everybody in the line has a timer or a wake under way for the tick at which it must look again: a deadline
//!   only moves later, and where the tick can move earlier (a probe's end), everybody is woken.
//! - I5: only a closing takes place without the lock, so a change that is refused was overtaken by a closing.

use std::task::Waker;

use tidegate_sync::primitives::atomic::{AtomicUsize, Ordering};
use tidegate_sync::primitives::{Arc, Mutex};
use tidegate_sync::{WaitList, WakeBatch};

use crate::error::ShutDown;
use crate::state::Closing;
use crate::waiter::{Kind, Place, Standing, Waiter};
use crate::word::{Phase, Word, after};

/// What was built in, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// The first default cooldown.
    pub(crate) cooldown: u64,
    /// The longest.
    pub(crate) longest: u64,
    /// How long a probe may stay silent before the next waiter is let out beside it.
    pub(crate) patience: u64,
}

impl Rules {
    /// The default cooldown after so many strikes in a row.
    fn step(&self, strikes: u32) -> u64 {
        let doubled = 1_u64.checked_shl(strikes).unwrap_or(u64::MAX);
        self.cooldown.saturating_mul(doubled).min(self.longest.max(self.cooldown))
    }
}

#[derive(Debug)]
pub(crate) struct Machine {
    word: Word,
    in_flight: AtomicUsize,
    queue: Mutex<Queue>,
    rules: Rules,
}

#[derive(Debug)]
struct Queue {
    waiters: WaitList<Place>,
    epoch: u64,
    probes: usize,
    /// When the probes that are out will have been silent for the patience.
    company_at: u64,
    strikes: u32,
    throttled: u64,
}

/// The numbers of the machine at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) phase: Phase,
    pub(crate) epoch: u64,
    pub(crate) waiting: usize,
    pub(crate) in_flight: usize,
    pub(crate) throttled: u64,
    pub(crate) strikes: u32,
}

impl Queue {
    /// The epoch in which somebody may be let in now, if so.
    fn vacancy(&self, phase: Phase, now: u64) -> Option<u64> {
        let waited_for = !self.waiters.is_empty();
        match phase {
            Phase::Open { epoch } | Phase::Ready { epoch } if waited_for => Some(epoch),
            Phase::Cooling { deadline } if deadline <= now => Some(self.epoch + 1),
            Phase::Probing { epoch } if self.probes == 0 => Some(epoch),
            Phase::Probing { epoch } if waited_for && self.company_at <= now => Some(epoch),
            _ => None,
        }
    }

    /// What the gate becomes when the longest waiter decides.
    fn decided(&self, phase: Phase, epoch: u64) -> Phase {
        match (phase, self.waiters.front_data().map(|place| place.kind)) {
            (Phase::Open { .. }, _) | (_, Some(Kind::Silent)) => Phase::Open { epoch },
            (_, Some(Kind::Reports)) => Phase::Probing { epoch },
            (_, None) => Phase::Ready { epoch },
        }
    }

    /// The epoch of the pass granted next.
    fn epoch_at(&self, phase: Phase) -> u64 {
        match phase {
            Phase::Cooling { .. } => self.epoch + 1,
            _ => self.epoch,
        }
    }

    /// Puts somebody at the end of the line, with a waker that does nothing.
    fn join(&mut self, place: Place) {
        let seat = Arc::clone(&place.seat);
        seat.put(self.waiters.push_back(Waker::noop().clone(), place));
    }

    /// Gives a waiter a new waker. The one that is no longer needed comes back, to be dropped outside the lock.
    fn renew(&mut self, waiter: &Waiter, waker: Waker) -> Option<Waker> {
        match waiter.key() {
            Some(key) => Some(self.waiters.renew(key, waker).unwrap_or_else(|unused| unused)),
            None => Some(waker),
        }
    }

    /// Takes a waiter out, if it still stands in line; its waker is to be dropped outside the lock.
    fn remove(&mut self, waiter: &Waiter) -> Option<Waker> {
        self.waiters.remove(waiter.key()?).map(|gone| gone.waker)
    }

    /// How a waiter stands at a gate that has been settled.
    fn standing(&self, waiter: &Waiter, phase: Phase) -> Standing {
        match (waiter.granted(), phase) {
            (Some(grant), _) => grant.into(),
            (None, Phase::ShutDown) => Standing::ShutDown,
            (None, Phase::Cooling { deadline }) => Standing::Queued { at: deadline, cooling: true },
            (None, _) => Standing::Queued { at: self.company_at, cooling: false },
        }
    }

    /// Has everybody look again, and leaves them in line in their order.
    fn rearm(&mut self, wakes: &mut WakeBatch) {
        for waiting in self.waiters.take_all() {
            wakes.push(waiting.waker);
            self.join(waiting.data);
        }
    }
}

impl Machine {
    pub(crate) fn new(rules: Rules) -> Self {
        let waiters = WaitList::new();
        let queue = Queue { waiters, epoch: 0, probes: 0, company_at: 0, strikes: 0, throttled: 0 };
        Self { word: Word::new(), in_flight: AtomicUsize::new(0), queue: Mutex::new(queue), rules }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.word.phase()
    }

    /// Lets an arrival in if the gate is open: the fast path, without lock and clock.
    pub(crate) fn enter(&self, kind: Kind) -> Option<u64> {
        let Phase::Open { epoch } = self.word.phase() else { return None };
        self.admit(kind);
        Some(epoch)
    }

    /// Whether an arrival would be let in at once.
    pub(crate) fn admits(&self, now: impl FnOnce() -> u64) -> bool {
        let phase = match self.word.phase() {
            Phase::Cooling { deadline } => {
                let now = now();
                if deadline <= now { self.look(now).phase } else { return false }
            }
            phase => phase,
        };
        matches!(phase, Phase::Open { .. } | Phase::Ready { .. })
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
        let mut wakes = WakeBatch::new();
        let mut queue = self.queue.lock();
        // While it looks, it stands in line with a waker that does nothing: it need not wake itself.
        let old = match newcomer {
            Some(place) => {
                queue.join(place);
                None
            }
            None => queue.renew(waiter, Waker::noop().clone()),
        };
        let phase = self.settle(&mut queue, now, &mut wakes);
        let standing = queue.standing(waiter, phase);
        let unused = match standing {
            Standing::Queued { .. } => queue.renew(waiter, waker),
            Standing::ShutDown | Standing::Granted(_) => queue.remove(waiter).or(Some(waker)),
        };
        drop(queue);
        // Only now, because they are the user's.
        drop((old, unused));
        wakes.wake();
        if !matches!(standing, Standing::Queued { .. }) {
            *seat = None;
        }
        standing
    }

    /// Takes a waiter out of the line; the epoch of its pass if it was granted before.
    #[must_use]
    pub(crate) fn leave(&self, waiter: &Waiter) -> Option<u64> {
        // Bound to a name, so that the waker is dropped after the lock.
        let waker = self.queue.lock().remove(waiter);
        drop(waker);
        waiter.granted()?.ok()
    }

    /// A pass of `epoch` reports that it fared well.
    pub(crate) fn success(&self, epoch: u64) {
        self.discharge();
        let probing = Phase::Probing { epoch };
        if self.word.phase() != probing {
            return;
        }
        let mut wakes = WakeBatch::new();
        let mut queue = self.queue.lock();
        if self.word.change(probing, Phase::Open { epoch }) {
            self.open(&mut queue, epoch, &mut wakes);
        }
        drop(queue);
        wakes.wake();
    }

    /// A pass of `epoch` reports that it was throttled, and what the server said about when to come back.
    pub(crate) fn throttled(&self, epoch: u64, hint: Option<u64>, now: u64) -> Closing {
        self.discharge();
        let mut wakes = WakeBatch::new();
        let mut queue = self.queue.lock();
        queue.throttled += 1;
        let closing = loop {
            let phase = self.word.phase();
            let strike = phase.granting() == Some(epoch);
            let length = if strike { hint.or(Some(self.rules.step(queue.strikes))) } else { hint };
            let deadline = match (phase, length) {
                (Phase::Cooling { deadline }, Some(length)) if after(now, length) > deadline => {
                    after(now, length)
                }
                (_, Some(length)) if strike => after(now, length),
                _ => break Closing::Kept,
            };
            if !self.word.change(phase, Phase::Cooling { deadline }) {
                continue;
            }
            if !strike {
                break Closing::Extended;
            }
            queue.strikes = queue.strikes.saturating_add(1);
            queue.rearm(&mut wakes);
            break Closing::Closed;
        };
        drop(queue);
        wakes.wake();
        closing
    }

    /// A pass of `epoch` is dropped without a word.
    pub(crate) fn dropped(&self, epoch: u64, now: impl FnOnce() -> u64) {
        self.discharge();
        let probing = Phase::Probing { epoch };
        if self.word.phase() != probing {
            return;
        }
        let now = now();
        let mut wakes = WakeBatch::new();
        let mut queue = self.queue.lock();
        if self.word.phase() == probing {
            queue.probes -= 1;
            self.settle(&mut queue, now, &mut wakes);
        }
        drop(queue);
        wakes.wake();
    }

    /// Closes until `deadline`; without the lock, unless a probe was out.
    pub(crate) fn close(&self, deadline: u64, now: u64) -> Closing {
        if deadline <= now {
            return Closing::Kept;
        }
        match self.word.close(deadline) {
            Phase::Open { .. } | Phase::Ready { .. } => Closing::Closed,
            Phase::Probing { .. } => {
                let mut wakes = WakeBatch::new();
                self.queue.lock().rearm(&mut wakes);
                wakes.wake();
                Closing::Closed
            }
            Phase::Cooling { deadline: old } if old < deadline => Closing::Extended,
            Phase::Cooling { .. } | Phase::ShutDown => Closing::Kept,
        }
    }

    /// Opens, whatever the deadline.
    pub(crate) fn open_now(&self) {
        let mut wakes = WakeBatch::new();
        let mut queue = self.queue.lock();
        loop {
            let phase = self.word.phase();
            if matches!(phase, Phase::Open { .. } | Phase::ShutDown) {
                break;
            }
            let epoch = queue.epoch_at(phase);
            if self.word.change(phase, Phase::Open { epoch }) {
                self.open(&mut queue, epoch, &mut wakes);
                break;
            }
        }
        drop(queue);
        wakes.wake();
    }

    /// Turns everybody away, for good.
    pub(crate) fn shut_down(&self) {
        let mut wakes = WakeBatch::new();
        let mut queue = self.queue.lock();
        let phase = self.word.shut_down();
        queue.epoch = queue.epoch_at(phase);
        for waiting in queue.waiters.take_all() {
            waiting.data.seat.give(Err(ShutDown));
            wakes.push(waiting.waker);
        }
        drop(queue);
        wakes.wake();
    }

    /// Moves the gate on if its deadline passed, and reads it.
    pub(crate) fn look(&self, now: u64) -> Numbers {
        let mut wakes = WakeBatch::new();
        let mut queue = self.queue.lock();
        let phase = self.settle(&mut queue, now, &mut wakes);
        let numbers = Numbers {
            phase,
            epoch: queue.epoch_at(phase),
            waiting: queue.waiters.len(),
            // Ordering: Relaxed; a count that publishes nothing.
            in_flight: self.in_flight.load(Ordering::Relaxed),
            throttled: queue.throttled,
            strikes: queue.strikes,
        };
        drop(queue);
        wakes.wake();
        numbers
    }

    /// The epoch of a pass granted now, or next if the gate cools.
    pub(crate) fn epoch(&self) -> u64 {
        self.word.phase().granting().unwrap_or_else(|| {
            let queue = self.queue.lock();
            queue.epoch_at(self.word.phase())
        })
    }

    /// Lets in whoever may go now, and says where the gate then stands (I2).
    fn settle(&self, queue: &mut Queue, now: u64, wakes: &mut WakeBatch) -> Phase {
        loop {
            let phase = self.word.phase();
            let Some(epoch) = queue.vacancy(phase, now) else { return phase };
            let decided = queue.decided(phase, epoch);
            if !self.word.change(phase, decided) {
                // Overtaken by a closing (I5): whoever was to be let in was not.
                continue;
            }
            if matches!(phase, Phase::Cooling { .. }) {
                queue.epoch = epoch;
                queue.probes = 0;
            }
            match decided {
                Phase::Open { .. } => self.open(queue, epoch, wakes),
                Phase::Probing { .. } => self.probe(queue, epoch, now, wakes),
                _ => {}
            }
        }
    }

    /// Grants everybody who waits, longest first; the word is open already.
    fn open(&self, queue: &mut Queue, epoch: u64, wakes: &mut WakeBatch) {
        queue.epoch = epoch;
        queue.strikes = 0;
        for waiting in queue.waiters.take_all() {
            self.admit(waiting.data.kind);
            waiting.data.seat.give(Ok(epoch));
            wakes.push(waiting.waker);
        }
    }

    /// Grants the longest waiter as a probe; the word is probing already.
    fn probe(&self, queue: &mut Queue, epoch: u64, now: u64, wakes: &mut WakeBatch) {
        let Some(waiting) = queue.waiters.pop_front() else { return };
        queue.probes += 1;
        queue.company_at = after(now, self.rules.patience);
        self.admit(Kind::Reports);
        waiting.data.seat.give(Ok(epoch));
        wakes.push(waiting.waker);
    }

    /// Counts a pass that is granted.
    fn admit(&self, kind: Kind) {
        if kind == Kind::Reports {
            // Ordering: Relaxed; a count that publishes nothing. It precedes the grant, so that it is never too low.
            self.in_flight.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a pass that ends.
    fn discharge(&self) {
        // Ordering: Relaxed; as in `admit`.
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
