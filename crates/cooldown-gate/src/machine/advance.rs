//! Moving the gate on: everybody who may go now is let in, in order, under the lock.

use super::{Machine, Proof};
use crate::effects::{Effects, Event};
use crate::line::{ByHand, Probing, Queue};
use crate::waiter::Kind;
use crate::word::{Phase, after};

impl Machine {
    /// Lets in whoever may go now, and says where the gate then stands (I2).
    pub(super) fn settle(&self, queue: &mut Queue, now: u64, effects: &mut Effects) -> Phase {
        loop {
            let phase = self.word.phase();
            let Some(epoch) = queue.vacancy(phase, now, |most| self.flight.settled(most)) else {
                return self.rest(queue, phase, effects);
            };
            let decided = queue.decided(phase, epoch, now);
            if !self.word.change(phase, decided) {
                // Overtaken by a closing (I5): whoever was to be let in was not.
                continue;
            }
            if matches!(phase, Phase::Cooling { .. }) {
                queue.epoch = epoch;
                queue.probing = Probing::default();
            }
            match (phase, decided) {
                (Phase::Open { .. }, _) => self.grant_all(queue, epoch, effects),
                (Phase::Paced { .. }, Phase::Open { .. }) => {
                    effects.tell(Event::Paced { epoch, pace: None });
                    self.grant_all(queue, epoch, effects);
                }
                (Phase::Paced { .. }, _) => self.grant_slot(queue, epoch, now, effects),
                (_, Phase::Open { .. } | Phase::Paced { .. }) => {
                    self.judge_by_hand(queue);
                    self.open(queue, decided, now, Proof::Time, effects);
                }
                (_, Phase::Probing { .. }) => self.probe(queue, phase, epoch, now, effects),
                _ => {}
            }
        }
    }

    /// Nobody may go now: whoever is next has to know when.
    fn rest(&self, queue: &mut Queue, phase: Phase, effects: &mut Effects) -> Phase {
        if let Phase::Paced { epoch } = phase {
            if !queue.waiters.is_empty() {
                queue.rearm_front(queue.slots.next, effects);
            } else if queue.is_free() && self.word.change(phase, Phase::Open { epoch }) {
                queue.forget_free_pace();
                effects.tell(Event::Paced { epoch, pace: None });
                return Phase::Open { epoch };
            }
        }
        phase
    }

    /// Has the longest waiter of a paced gate look again in time.
    pub(super) fn rearm_front(&self, queue: &mut Queue, effects: &mut Effects) {
        if let Phase::Paced { .. } = self.word.phase() {
            queue.rearm_front(queue.slots.next, effects);
        }
    }

    /// Nobody reports at this gate: closing it by hand was the verdict.
    fn judge_by_hand(&self, queue: &mut Queue) {
        if let Some(ByHand { at, through }) = queue.by_hand.take() {
            queue.law.trip(at, through, 0);
        }
    }

    /// The word is `opened` already: everybody who waits is granted, longest first, or the slots begin.
    pub(super) fn open(
        &self,
        queue: &mut Queue,
        opened: Phase,
        now: u64,
        proof: Proof,
        effects: &mut Effects,
    ) {
        let Some(epoch) = opened.granting() else { return };
        queue.epoch = epoch;
        if let Proof::Probe(_) = proof {
            queue.lengths.succeeded();
        } else {
            queue.lengths.start_over();
        }
        if queue.by_hand.take().is_some() {
            queue.law.excuse(now);
        }
        queue.law.reopen(now, self.flight.counts().through, proof.round_trip());
        if let Phase::Paced { .. } = opened {
            queue.begin_slots(now, proof != Proof::Time);
            queue.rearm(effects);
            effects.tell(Event::Opened { epoch, pace: queue.pace() });
        } else {
            queue.forget_free_pace();
            effects.tell(Event::Opened { epoch, pace: None });
            self.grant_all(queue, epoch, effects);
        }
    }

    /// Grants everybody who waits, longest first; the word is open already.
    fn grant_all(&self, queue: &mut Queue, epoch: u64, effects: &mut Effects) {
        for waiting in queue.waiters.take_all() {
            self.admit(waiting.data.kind);
            waiting.data.seat.give(Ok(epoch));
            effects.wakes.push(waiting.waker);
        }
    }

    /// Grants the longest waiter the slot that is due; the word was found paced just now.
    fn grant_slot(&self, queue: &mut Queue, epoch: u64, now: u64, effects: &mut Effects) {
        let Some(waiting) = queue.waiters.pop_front() else { return };
        queue.law.sent(waiting.data.waited);
        queue.take_slot(now, waiting.data.waited);
        self.admit(waiting.data.kind);
        waiting.data.seat.give(Ok(epoch));
        effects.wakes.push(waiting.waker);
        if waiting.data.kind == Kind::Silent {
            self.learn(queue, now, None, effects);
        }
    }

    /// Grants the longest waiter as a probe; the word is probing already.
    fn probe(&self, queue: &mut Queue, before: Phase, epoch: u64, now: u64, effects: &mut Effects) {
        let Some(waiting) = queue.waiters.pop_front() else { return };
        queue.probing.out += 1;
        queue.probing.company_at = after(now, queue.rules.patience);
        self.admit(Kind::Reports);
        waiting.data.seat.give(Ok(epoch));
        effects.wakes.push(waiting.waker);
        if !matches!(before, Phase::Probing { .. }) {
            effects.tell(Event::Probing { epoch });
        }
    }

    /// Counts a pass that is granted.
    #[inline]
    pub(super) fn admit(&self, kind: Kind) {
        match kind {
            Kind::Reports => self.flight.begin(),
            Kind::Silent => self.flight.slip(),
        }
    }
}
