//! What passes report, and what the gate makes of it.

use super::{Grant, Machine, Proof};
use crate::effects::{Effects, Event};
use crate::line::Queue;
use crate::state::Closing;
use crate::word::{Phase, after};

impl Machine {
    /// A pass reports that it fared well.
    #[inline]
    pub(crate) fn success(&self, grant: Grant, now: impl Fn() -> u64) {
        self.flight.land();
        if self.word.open().is_none() {
            self.succeeded(grant, &now);
        }
    }

    /// The same at a gate that is not open.
    #[cold]
    fn succeeded(&self, grant: Grant, now: &dyn Fn() -> u64) {
        match self.word.phase() {
            Phase::Probing { epoch } if epoch == grant.epoch => self.prove(grant, now()),
            Phase::Paced { epoch } if epoch == grant.epoch => self.landed(grant, now()),
            phase => self.ended(phase, now),
        }
    }

    /// A probe succeeded.
    fn prove(&self, grant: Grant, now: u64) {
        let Grant { epoch, sent } = grant;
        let probing = Phase::Probing { epoch };
        self.step(|queue, effects| {
            if self.word.phase() == probing {
                queue.probing.out = queue.probing.out.saturating_sub(1);
                queue.probing.proved += 1;
                if queue.is_proved() {
                    let opened = queue.opened(epoch);
                    if self.word.change(probing, opened) {
                        let proof = Proof::Probe(sent.map(|sent| now.saturating_sub(sent)));
                        self.open(queue, opened, now, proof, effects);
                    }
                }
                self.settle(queue, now, effects);
            }
        });
    }

    /// A call of a paced gate went through.
    fn landed(&self, grant: Grant, now: u64) {
        self.step(|queue, effects| {
            if self.word.phase() == (Phase::Paced { epoch: grant.epoch }) {
                let round_trip = grant.sent.map(|sent| now.saturating_sub(sent));
                self.learn(queue, now, round_trip, effects);
                self.settle(queue, now, effects);
            }
        });
    }

    /// Tells the law that a call went through; a raised pace moves the slots.
    pub(super) fn learn(&self, queue: &mut Queue, now: u64, round_trip: Option<u64>, effects: &mut Effects) {
        let through = self.flight.counts().through;
        let before = queue.interval();
        if queue.law.landed(now, through, round_trip) {
            // The slot that is waited for comes earlier, too.
            let sooner = before.saturating_sub(queue.interval());
            queue.slots.next = queue.slots.next.saturating_sub(sooner);
            effects.tell(Event::Paced { epoch: queue.epoch, pace: queue.pace() });
        }
    }

    /// A pass reports that it was throttled, and what the server said about when to come back.
    pub(crate) fn throttled(&self, grant: Grant, hint: Option<u64>, now: u64) -> Closing {
        let crowd = self.flight.end();
        self.step(|queue, effects| {
            queue.throttled += 1;
            let closing = loop {
                let phase = self.word.phase();
                if phase.granting() != Some(grant.epoch) {
                    break self.late(phase, hint, now, effects);
                }
                if matches!(phase, Phase::Paced { .. }) && hint.is_none() && queue.forgives(now) {
                    self.slow(queue, now, effects);
                    break Closing::Slowed;
                }
                let mut lengths = queue.lengths;
                let length = lengths.strike(hint, queue.pause());
                if !self.word.change(phase, Phase::Cooling { deadline: after(now, length) }) {
                    continue;
                }
                queue.lengths = lengths;
                self.strike(queue, phase, crowd, now);
                queue.rearm(effects);
                effects.tell(Event::Closed { epoch: grant.epoch, length, strikes: queue.lengths.strikes() });
                break Closing::Closed;
            };
            self.settle(queue, now, effects);
            closing
        })
    }

    /// A throttle of an epoch that is over: its hint may extend a cooldown, and nothing else happens.
    fn late(&self, phase: Phase, hint: Option<u64>, now: u64, effects: &mut Effects) -> Closing {
        let mut phase = phase;
        loop {
            let (Phase::Cooling { deadline }, Some(length)) = (phase, hint) else { return Closing::Kept };
            let later = after(now, length);
            if later <= deadline {
                return Closing::Kept;
            }
            if self.word.change(phase, Phase::Cooling { deadline: later }) {
                effects.tell(Event::Extended { length: later.saturating_sub(now) });
                return Closing::Extended;
            }
            phase = self.word.phase();
        }
    }

    /// The gate was closed by a throttle: what the law makes of it.
    fn strike(&self, queue: &mut Queue, phase: Phase, crowd: u32, now: u64) {
        let through = self.flight.counts().through;
        if matches!(phase, Phase::Probing { .. }) {
            queue.law.fail(now);
        } else {
            queue.law.trip(now, through, crowd);
        }
        queue.by_hand = None;
        queue.probing.most_in_flight = crowd / 2;
    }

    /// A throttle that only lowers the pace.
    fn slow(&self, queue: &mut Queue, now: u64, effects: &mut Effects) {
        let pause = queue.law.slow(now, self.flight.counts().through);
        queue.slots.next = queue.slots.next.max(after(now, pause));
        effects.tell(Event::Paced { epoch: queue.epoch, pace: queue.pace() });
    }

    /// A pass is dropped without a word.
    #[inline]
    pub(crate) fn dropped(&self, epoch: u64, now: impl Fn() -> u64) {
        self.flight.end();
        if self.word.open().is_none() {
            self.given_back(epoch, &now);
        }
    }

    /// The same at a gate that is not open.
    #[cold]
    fn given_back(&self, epoch: u64, now: &dyn Fn() -> u64) {
        let phase = self.word.phase();
        if phase != (Phase::Probing { epoch }) {
            return self.ended(phase, now);
        }
        let now = now();
        self.step(|queue, effects| {
            if self.word.phase() == phase {
                queue.probing.out = queue.probing.out.saturating_sub(1);
            }
            self.settle(queue, now, effects);
        });
    }

    /// A pass of another epoch ended: if that is what a probe waits for, it goes out.
    fn ended(&self, phase: Phase, now: &dyn Fn() -> u64) {
        let Phase::Cooling { deadline } = phase else { return };
        let now = now();
        if deadline <= now {
            self.look(now);
        }
    }
}
