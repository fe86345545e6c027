//! Any sequence of operations equals a naive gate that is one struct and a few ifs.

use std::time::Duration;

use proptest::prelude::*;
use tidegate_cooldown_gate::{Closing, CooldownGate, GateState, Pass};
use tidegate_sync::Clock;

use crate::hint;

const COOLDOWN: u64 = 40;
const LONGEST: u64 = 200;
const PATIENCE: u64 = 70;

#[derive(Clone, Debug)]
enum Op {
    CloseFor(u64),
    Advance(u64),
    TryPass,
    Success(prop::sample::Index),
    Throttled(prop::sample::Index, Option<u64>),
    Drop(prop::sample::Index),
    OpenNow,
}

fn op() -> impl Strategy<Value = Op> {
    let pass = any::<prop::sample::Index>;
    prop_oneof![
        2 => (0_u64..120).prop_map(Op::CloseFor),
        6 => (0_u64..80).prop_map(Op::Advance),
        8 => Just(Op::TryPass),
        3 => pass().prop_map(Op::Success),
        4 => (pass(), prop::option::of(1_u64..120)).prop_map(|(pass, hint)| Op::Throttled(pass, hint)),
        3 => pass().prop_map(Op::Drop),
        1 => Just(Op::OpenNow),
    ]
}

/// The naive gate. Nobody waits at it.
#[derive(Debug, Default)]
struct Naive {
    now: u64,
    /// Set while it is closed, and until a probe succeeded.
    deadline: Option<u64>,
    epoch: u64,
    strikes: u32,
    throttled: u64,
    /// How many probes are out, and since when the latest.
    probes: usize,
    probed_at: u64,
}

impl Naive {
    fn cooling(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline > self.now)
    }

    fn close(&mut self, length: u64) -> Closing {
        let deadline = self.now + length;
        if length == 0 || self.deadline.is_some_and(|old| self.cooling() && old >= deadline) {
            return Closing::Kept;
        }
        let extended = self.cooling();
        self.deadline = Some(deadline);
        self.epoch += u64::from(!extended);
        self.probes = 0;
        if extended { Closing::Extended } else { Closing::Closed }
    }

    fn try_pass(&mut self) -> Option<u64> {
        let overdue = self.now >= self.probed_at + PATIENCE;
        if self.cooling() || (self.probes > 0 && !overdue) {
            return None;
        }
        if self.deadline.is_some() {
            self.probes += 1;
            self.probed_at = self.now;
        }
        Some(self.epoch)
    }

    fn open(&mut self) {
        self.deadline = None;
        self.probes = 0;
        self.strikes = 0;
    }

    fn current(&self, epoch: u64) -> bool {
        epoch == self.epoch && !self.cooling()
    }

    fn throttled(&mut self, epoch: u64, hint: Option<u64>) -> Closing {
        self.throttled += 1;
        if self.current(epoch) {
            let step = (COOLDOWN << self.strikes.min(20)).min(LONGEST);
            self.strikes += 1;
            return self.close(hint.unwrap_or(step));
        }
        match hint {
            Some(hint) if self.cooling() => self.close(hint),
            _ => Closing::Kept,
        }
    }

    fn dropped(&mut self, epoch: u64) {
        if self.current(epoch) && self.deadline.is_some() {
            self.probes -= 1;
        }
    }

    fn state(&self) -> GateState {
        match self.deadline {
            None => GateState::Open,
            Some(deadline) if deadline > self.now => {
                GateState::Cooling { remaining: Duration::from_millis(deadline - self.now) }
            }
            Some(_) => GateState::HalfOpen,
        }
    }
}

fn run(ops: &[Op]) -> Result<(), TestCaseError> {
    let ms = Duration::from_millis;
    let clock = Clock::manual();
    let hand = clock.hand().unwrap();
    let gate = CooldownGate::builder()
        .clock(clock)
        .cooldown(ms(COOLDOWN))
        .max_cooldown(ms(LONGEST))
        .probe_patience(ms(PATIENCE))
        .build();
    let mut naive = Naive::default();
    let mut passes: Vec<Pass<'_>> = Vec::new();
    let take = |passes: &mut Vec<_>, index: &prop::sample::Index| -> Option<Pass<'_>> {
        (!passes.is_empty()).then(|| passes.swap_remove(index.index(passes.len())))
    };
    for op in ops {
        match op {
            Op::CloseFor(length) => prop_assert_eq!(gate.close_for(ms(*length)), naive.close(*length)),
            Op::Advance(length) => {
                hand.advance(ms(*length));
                naive.now += length;
            }
            Op::TryPass => {
                let pass = gate.try_pass();
                prop_assert_eq!(pass.as_ref().ok().map(Pass::epoch), naive.try_pass());
                passes.extend(pass);
            }
            Op::Success(index) => {
                if let Some(pass) = take(&mut passes, index) {
                    if naive.current(pass.epoch()) && naive.deadline.is_some() {
                        naive.open();
                    }
                    pass.success();
                }
            }
            Op::Throttled(index, length) => {
                if let Some(pass) = take(&mut passes, index) {
                    let expected = naive.throttled(pass.epoch(), *length);
                    prop_assert_eq!(pass.throttled(length.and_then(|length| hint(ms(length)))), expected);
                }
            }
            Op::Drop(index) => {
                if let Some(pass) = take(&mut passes, index) {
                    naive.dropped(pass.epoch());
                }
            }
            Op::OpenNow => {
                naive.open();
                gate.open_now();
            }
        }
        let snapshot = gate.snapshot();
        prop_assert_eq!(snapshot.state, naive.state());
        prop_assert_eq!((snapshot.epoch, snapshot.closures), (naive.epoch, naive.epoch));
        prop_assert_eq!((snapshot.strikes, snapshot.throttled), (naive.strikes, naive.throttled));
        prop_assert_eq!((snapshot.in_flight, snapshot.waiting), (passes.len(), 0));
        prop_assert_eq!(gate.is_open(), !naive.cooling() && naive.probes == 0);
        for pass in &passes {
            prop_assert_eq!(pass.still_valid(), naive.current(pass.epoch()));
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn cg1_cg4_any_sequence_of_operations_equals_a_naive_gate(ops in prop::collection::vec(op(), 0..120)) {
        run(&ops)?;
    }
}
