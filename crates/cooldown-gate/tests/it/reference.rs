//! Any sequence of operations equals a naive gate that is one struct and a few ifs.

use std::time::Duration;

use proptest::prelude::*;
use tidegate_cooldown_gate::{Closing, Cooldown, CooldownGate, GateState, Pass, Reopen};
use tidegate_sync::Clock;

use crate::hint;

/// The ladder's first step is 40 units.
const UNIT: Duration = Duration::from_millis(25);
const FIRST: u64 = 40;
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
    place: Place,
    epoch: u64,
    throttled: u64,
    /// Passes that are out, and how many may be when the first probe goes.
    out: usize,
    most: usize,
    strikes: u32,
    /// The latest step of the ladder, unless a hint took its place; and the latest that worked.
    step: u64,
    worked: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Place {
    #[default]
    Open,
    /// Until the deadline, and then until few enough passes are out.
    Closed { deadline: u64 },
    /// So many probes are out, the latest since then.
    HalfOpen { probes: usize, probed_at: u64 },
}

impl Naive {
    fn settle(&mut self) {
        if let Place::Closed { deadline } = self.place {
            if deadline <= self.now && (self.out <= self.most || deadline + PATIENCE <= self.now) {
                self.place = Place::HalfOpen { probes: 0, probed_at: self.now };
            }
        }
    }

    fn close(&mut self, length: u64, most: usize) -> Closing {
        let deadline = self.now + length;
        match self.place {
            _ if length == 0 => Closing::Kept,
            Place::Closed { deadline: old } if old >= deadline => Closing::Kept,
            Place::Closed { .. } => {
                self.place = Place::Closed { deadline };
                Closing::Extended
            }
            _ => {
                self.place = Place::Closed { deadline };
                self.epoch += 1;
                self.most = most;
                Closing::Closed
            }
        }
    }

    fn try_pass(&mut self) -> Option<u64> {
        match &mut self.place {
            Place::Open => {}
            Place::HalfOpen { probes, probed_at } if *probes == 0 || *probed_at + PATIENCE <= self.now => {
                *probes += 1;
                *probed_at = self.now;
            }
            _ => return None,
        }
        self.out += 1;
        Some(self.epoch)
    }

    fn open(&mut self) {
        if self.place != Place::Open {
            (self.place, self.strikes, self.step) = (Place::Open, 0, 0);
        }
    }

    fn current(&self, epoch: u64) -> bool {
        epoch == self.epoch && !matches!(self.place, Place::Closed { .. })
    }

    fn success(&mut self, epoch: u64) {
        self.out -= 1;
        if self.current(epoch) && self.place != Place::Open {
            if self.step > 0 {
                self.worked = self.step;
            }
            self.open();
        }
    }

    fn throttled(&mut self, epoch: u64, hint: Option<u64>) -> Closing {
        self.throttled += 1;
        let crowd = self.out;
        self.out -= 1;
        if !self.current(epoch) {
            return match (self.place, hint) {
                (Place::Closed { .. }, Some(hint)) => self.close(hint, self.most),
                _ => Closing::Kept,
            };
        }
        self.step = match hint {
            Some(_) => 0,
            None if self.step > 0 => (2 * self.step).min(LONGEST),
            None => FIRST.max(self.worked / 2),
        };
        self.strikes += 1;
        self.close(hint.unwrap_or(self.step), crowd / 2)
    }

    fn dropped(&mut self, epoch: u64) {
        self.out -= 1;
        if let (true, Place::HalfOpen { probes, .. }) = (self.current(epoch), &mut self.place) {
            *probes -= 1;
        }
    }

    fn state(&self) -> GateState {
        match self.place {
            Place::Open => GateState::Open,
            Place::Closed { deadline } if deadline > self.now => {
                GateState::Cooling { remaining: UNIT * u32::try_from(deadline - self.now).unwrap() }
            }
            _ => GateState::HalfOpen,
        }
    }

    fn is_open(&self) -> bool {
        matches!(self.place, Place::Open | Place::HalfOpen { probes: 0, .. })
    }
}

fn run(ops: &[Op]) -> Result<(), TestCaseError> {
    let units = |count: u64| UNIT * u32::try_from(count).unwrap();
    let clock = Clock::manual();
    let hand = clock.hand().unwrap();
    let gate = CooldownGate::builder()
        .clock(clock)
        .cooldown(Cooldown::ladder().longest(units(LONGEST)))
        .reopen(Reopen::AtOnce)
        .probe_patience(units(PATIENCE))
        .build();
    let mut naive = Naive::default();
    let mut passes: Vec<Pass<'_>> = Vec::new();
    let take = |passes: &mut Vec<_>, index: &prop::sample::Index| -> Option<Pass<'_>> {
        (!passes.is_empty()).then(|| passes.swap_remove(index.index(passes.len())))
    };
    for op in ops {
        match op {
            Op::CloseFor(length) => {
                prop_assert_eq!(gate.close_for(units(*length)), naive.close(*length, usize::MAX));
            }
            Op::Advance(length) => {
                hand.advance(units(*length));
                naive.now += length;
            }
            Op::TryPass => {
                let pass = gate.try_pass();
                prop_assert_eq!(pass.as_ref().ok().map(Pass::epoch), naive.try_pass());
                passes.extend(pass);
            }
            Op::Success(index) => {
                if let Some(pass) = take(&mut passes, index) {
                    naive.success(pass.epoch());
                    pass.success();
                }
            }
            Op::Throttled(index, length) => {
                if let Some(pass) = take(&mut passes, index) {
                    let expected = naive.throttled(pass.epoch(), *length);
                    prop_assert_eq!(pass.throttled(length.and_then(|length| hint(units(length)))), expected);
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
        naive.settle();
        let snapshot = gate.snapshot();
        prop_assert_eq!(snapshot.state, naive.state());
        prop_assert_eq!((snapshot.epoch, snapshot.closures), (naive.epoch, naive.epoch));
        prop_assert_eq!((snapshot.strikes, snapshot.throttled), (naive.strikes, naive.throttled));
        prop_assert_eq!((snapshot.in_flight, snapshot.waiting), (passes.len(), 0));
        prop_assert_eq!(gate.is_open(), naive.is_open());
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
