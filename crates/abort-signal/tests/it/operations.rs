//! Any sequence of operations against a plain reference.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

use proptest::prelude::*;
use tidegate_abort_signal::{AbortSignal, Level, ReachedOwned};

#[derive(Clone, Copy, Debug)]
enum Op {
    Raise(Level, u8),
    Wait(Level),
    Poll(usize),
    Drop(usize),
}

fn level() -> impl Strategy<Value = Level> {
    prop_oneof![Just(Level::Run), Just(Level::Drain), Just(Level::Abort)]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        1 => (prop_oneof![Just(Level::Drain), Just(Level::Abort)], any::<u8>())
            .prop_map(|(level, reason)| Op::Raise(level, reason)),
        5 => level().prop_map(Op::Wait),
        5 => any::<usize>().prop_map(Op::Poll),
        3 => any::<usize>().prop_map(Op::Drop),
    ]
}

#[derive(Default)]
struct Woken(AtomicBool);
impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Waiting {
    future: ReachedOwned<u8>,
    level: Level,
    woken: Arc<Woken>,
    listed: bool,
}

fn run(ops: &[Op]) {
    let signal = AbortSignal::<u8>::typed();
    let mut waits: Vec<Waiting> = Vec::new();
    let (mut at, mut reasons) = (Level::Run, [None, None]);
    for op in ops {
        match *op {
            Op::Raise(level, reason) => {
                let wins = level > at;
                let won = if level == Level::Abort { signal.abort(reason) } else { signal.drain(reason) };
                assert_eq!(won, wins);
                if wins {
                    at = level;
                    reasons[usize::from(level == Level::Abort)] = Some(reason);
                }
                for wait in waits.iter_mut().filter(|wait| wait.level <= at && wait.listed) {
                    assert!(wait.woken.0.load(Ordering::Relaxed), "not woken at its level");
                    wait.listed = false;
                }
            }
            Op::Wait(level) => waits.push(Waiting {
                future: signal.reached_owned(level),
                level,
                woken: Arc::default(),
                listed: false,
            }),
            Op::Poll(index) if !waits.is_empty() => {
                let index = index % waits.len();
                let wait = &mut waits[index];
                let waker = Waker::from(Arc::clone(&wait.woken));
                let ready = Pin::new(&mut wait.future).poll(&mut Context::from_waker(&waker)).is_ready();
                assert_eq!(ready, at >= wait.level);
                wait.listed = !ready;
            }
            Op::Drop(index) if !waits.is_empty() => drop(waits.swap_remove(index % waits.len())),
            Op::Poll(_) | Op::Drop(_) => {}
        }
        assert_eq!(signal.level(), at);
        assert_eq!(signal.reason().map(|reason| *reason), reasons[1].or(reasons[0]));
        assert_eq!(signal.check().is_err(), at == Level::Abort);
        assert_eq!(signal.snapshot().waiters, waits.iter().filter(|wait| wait.listed).count());
    }
}

proptest! {
    #[test]
    fn ab3_ab4_any_sequence_of_operations_equals_a_plain_reference(ops in prop::collection::vec(op(), 0..60)) {
        run(&ops);
    }
}
