//! Threads at the gate, on a clock moved by hand.

use std::sync::Arc;
use std::thread;

use tidegate_cooldown_gate::{CooldownGate, GateState, ShutDown};
use tidegate_sync::{Clock, ManualClock};

use crate::{hint, secs};

fn gate() -> (CooldownGate, Arc<ManualClock>) {
    let clock = Clock::manual();
    let hand = clock.hand().unwrap();
    (CooldownGate::builder().clock(clock).build(), hand)
}

fn until_waiting(gate: &CooldownGate, waiting: usize) {
    while gate.snapshot().waiting != waiting {
        thread::yield_now();
    }
}

#[test]
fn a_thread_passes_an_open_gate_at_once() {
    let (gate, _hand) = gate();
    gate.pass_blocking().unwrap().success();
    gate.wait_blocking().unwrap();
    assert_eq!(gate.snapshot().in_flight, 0);
}

#[test]
fn cg2_a_thread_outlasts_an_extension() {
    let (gate, hand) = gate();
    gate.close_for(secs(60));
    let waiting = {
        let (gate, hand) = (gate.clone(), Arc::clone(&hand));
        thread::spawn(move || {
            let pass = gate.pass_blocking().unwrap();
            assert_eq!((pass.epoch(), gate.snapshot().in_flight), (1, 1));
            drop(hand);
            pass.success();
        })
    };
    until_waiting(&gate, 1);
    hand.advance(secs(30));
    gate.close_for(secs(60));
    hand.advance(secs(30));
    assert_eq!(gate.snapshot().waiting, 1, "it passed at the old deadline");
    assert!(!waiting.is_finished());
    hand.advance(secs(30));
    waiting.join().unwrap();
    assert_eq!(gate.state(), GateState::Open);
}

#[test]
fn cg3_threads_wake_when_a_probe_ends() {
    let (gate, hand) = gate();
    gate.close_for(secs(5));
    hand.advance(secs(5));
    let probe = gate.try_pass().unwrap();
    let waiting = {
        let gate = gate.clone();
        thread::spawn(move || gate.pass_blocking().map(|pass| pass.epoch()))
    };
    until_waiting(&gate, 1);
    probe.throttled(hint(secs(1)));
    hand.advance(secs(1));
    assert_eq!(waiting.join().unwrap(), Ok(2));
}

#[test]
fn cg3_threads_wake_at_an_opening_and_at_a_shutdown() {
    for shutdown in [false, true] {
        let (gate, _hand) = gate();
        gate.close_for(secs(5));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let gate = gate.clone();
                thread::spawn(move || gate.wait_blocking())
            })
            .collect();
        until_waiting(&gate, 3);
        if shutdown {
            gate.shutdown();
        } else {
            gate.open_now();
        }
        for thread in threads {
            assert_eq!(thread.join().unwrap(), if shutdown { Err(ShutDown) } else { Ok(()) });
        }
    }
}

#[test]
fn threads_that_only_wait_open_the_gate_by_time_alone() {
    let (gate, hand) = gate();
    gate.close_for(secs(5));
    let waiting = {
        let gate = gate.clone();
        thread::spawn(move || gate.wait_blocking())
    };
    until_waiting(&gate, 1);
    hand.advance(secs(5));
    assert_eq!(waiting.join().unwrap(), Ok(()));
    assert_eq!(gate.state(), GateState::Paced, "nobody said that it can take everybody");
}
