//! Models of the map: what a sweep may not take away from others.

use std::collections::hash_map::DefaultHasher;
use std::hash::BuildHasherDefault;
use std::time::Duration;

use tidegate_sync::Clock;
use tidegate_sync::model::{check, must_fail};
use tidegate_sync::primitives::{Arc, Mutex, thread};

use super::GateMap;
use crate::{Closing, CooldownGate, GateState};

type Fixed = BuildHasherDefault<DefaultHasher>;

const HOUR: Duration = Duration::from_secs(3600);

/// Every entry is due at every sweep; nobody's clock moves.
fn map(capacity: usize) -> GateMap<u8, Fixed> {
    let gate = CooldownGate::builder().clock(Clock::manual());
    GateMap::<u8>::builder()
        .capacity(capacity)
        .idle_after(Duration::ZERO)
        .gate(gate)
        .clock(Clock::manual())
        .hasher(Fixed::default())
        .build()
}

fn is_cooling(gate: &CooldownGate) -> bool {
    matches!(gate.state(), GateState::Cooling { .. })
}

/// CG-8: while one thread asks for a key's gate, closes it and keeps it or lets go, another sweeps. Whoever asks afterwards
/// has the gate that was closed.
fn asked_while_swept(name: &str, keeps: bool) {
    check(name, 20, move || {
        let map = map(2);
        drop(map.gate(&1).unwrap());
        let asker = {
            let map = map.clone();
            thread::spawn(move || {
                let gate = map.gate(&1).unwrap();
                assert_eq!(gate.close_for(HOUR), Closing::Closed);
                keeps.then_some(gate)
            })
        };
        map.0.sweep(HOUR);
        let before = map.get(&1).is_some_and(|gate| is_cooling(&gate));
        let kept = asker.join().unwrap();
        map.0.sweep(HOUR);
        let after = map.gate(&1).unwrap();
        assert!(is_cooling(&after), "one key had two gates (closed when swept: {before})");
        assert_eq!(map.len(), 1);
        drop(kept);
    });
}

#[test]
fn cg8_a_gate_in_hand_never_leaves() {
    asked_while_swept("cg8_a_gate_in_hand_never_leaves", true);
}

#[test]
fn cg8_a_closed_gate_never_leaves() {
    asked_while_swept("cg8_a_closed_gate_never_leaves", false);
}

/// CG-8: an open gate in somebody's hands, too: it may be closed at any time.
#[test]
fn cg8_an_open_gate_in_hand_never_leaves() {
    check("cg8_an_open_gate_in_hand_never_leaves", 5, || {
        let map = map(2);
        let held = map.gate(&1).unwrap();
        let closer = thread::spawn(move || held.close_for(HOUR));
        map.0.sweep(HOUR);
        map.0.sweep(HOUR);
        let found = map.gate(&1).unwrap();
        assert_eq!(closer.join().unwrap(), Closing::Closed);
        assert!(is_cooling(&found), "one key had two gates");
    });
}

/// CG-8: two threads that ask for a new key at once have the same gate.
#[test]
fn cg8_a_new_key_asked_for_twice_has_one_gate() {
    check("cg8_a_new_key_asked_for_twice_has_one_gate", 10, || {
        let map = map(2);
        let other = {
            let map = map.clone();
            thread::spawn(move || map.gate(&1).unwrap())
        };
        let mine = map.gate(&1).unwrap();
        let other = other.join().unwrap();
        let _ = mine.close_for(HOUR);
        assert!(is_cooling(&other), "one key had two gates");
        assert_eq!(map.len(), 1, "a place was lost");
    });
}

/// The last place goes to one of two keys, and the other is refused.
#[test]
fn cg8_the_last_place_is_given_once() {
    check("cg8_the_last_place_is_given_once", 10, || {
        let map = map(1);
        let other = {
            let map = map.clone();
            thread::spawn(move || map.gate(&2).ok())
        };
        let mine = map.gate(&1).ok();
        let other = other.join().unwrap();
        assert!(mine.is_some() != other.is_some(), "the map held {} gates", map.len());
        assert_eq!(map.len(), 1);
        drop((mine, other));
        assert!(map.gate(&3).is_ok(), "a place was lost");
    });
}

/// Two sweeps at once take an idle entry out once.
#[test]
fn cg8_two_sweeps_take_an_entry_out_once() {
    check("cg8_two_sweeps_take_an_entry_out_once", 10, || {
        let map = map(2);
        drop(map.gate(&1).unwrap());
        let other = {
            let map = map.clone();
            thread::spawn(move || map.0.sweep(HOUR))
        };
        let mine = map.0.sweep(HOUR);
        let left = mine + other.join().unwrap() + map.0.sweep(HOUR);
        assert_eq!((left, map.len()), (1, 0));
    });
}

/// A shutdown misses no key that comes in meanwhile.
#[test]
fn cg3_a_shutdown_misses_no_key() {
    check("cg3_a_shutdown_misses_no_key", 5, || {
        let map = map(2);
        let asker = {
            let map = map.clone();
            thread::spawn(move || map.gate(&1).unwrap())
        };
        map.shutdown();
        let gate = asker.join().unwrap();
        assert_eq!(gate.state(), GateState::ShutDown, "a gate outlived the shutdown");
    });
}

/// CG-8, the broken form: a look at the handles, and a removal apart from it.
#[test]
fn cg8_a_look_apart_from_the_removal_splits_a_key() {
    must_fail("cg8_a_look_apart_from_the_removal_splits_a_key", "one key had two gates", || {
        let gate = || CooldownGate::builder().clock(Clock::manual()).build();
        let entry = Arc::new(Mutex::new(Some(gate())));
        let sweeper = {
            let entry = Arc::clone(&entry);
            thread::spawn(move || {
                let idle = entry.lock().as_mut().is_some_and(CooldownGate::is_sole);
                if idle {
                    let gone = entry.lock().take();
                    drop(gone);
                }
            })
        };
        let mine = entry.lock().get_or_insert_with(gate).clone();
        let _ = mine.close_for(HOUR);
        sweeper.join().unwrap();
        let found = entry.lock().get_or_insert_with(gate).clone();
        assert!(is_cooling(&found), "one key had two gates");
    });
}
