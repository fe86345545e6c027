//! Gates by key, against maps that one could put gates into.

use std::collections::HashMap;
use std::hash::RandomState;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dashmap::DashMap;
use governor::clock::QuantaClock;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use parking_lot::Mutex;
use tidegate_cooldown_gate::{CooldownGate, GateMap};

use crate::contest::{Case, Contestant, Suite, Unit};

pub(crate) const SUITE: Suite = Suite { name: "keyed-gates", cases };

const KEYS: usize = 10_000;
/// From one key to the next: coprime to their number, so that all come up and neighbours do not.
const STRIDE: usize = 7919;
const PER_SECOND: NonZeroU32 = NonZeroU32::new(1_000_000_000).unwrap();

fn cases() -> Vec<Case> {
    vec![
        Case { name: "a known key", unit: Unit::Nanoseconds, threads: &[1, 2], contestants: known() },
        Case { name: "a new key in a full map", unit: Unit::Microseconds, threads: &[1], contestants: new() },
    ]
}

/// The gate of one of ten thousand hosts.
fn known() -> Vec<Contestant> {
    let names = names();
    let plain: HashMap<String, CooldownGate> =
        names.iter().cloned().map(|name| (name, CooldownGate::new())).collect();
    let locked = Mutex::new(plain.clone());
    let dash: DashMap<String, CooldownGate> =
        names.iter().cloned().map(|name| (name, CooldownGate::new())).collect();
    let map: GateMap<String> = GateMap::new();
    let governor: RateLimiter<String, DashMapStateStore<String>, QuantaClock> =
        RateLimiter::keyed(Quota::per_second(PER_SECOND));
    for name in names.iter() {
        assert!(map.gate(name.as_str()).is_ok() && governor.check_key(name).is_ok());
    }
    vec![
        for_keys("HashMap get + clone", &names, move |name| plain.get(name).cloned()),
        for_keys("tidegate GateMap gate", &names, move |name| map.gate(name.as_str())),
        for_keys("dashmap get + clone", &names, move |name| dash.get(name).map(|gate| gate.clone())),
        for_keys("Mutex<HashMap> get + clone", &names, move |name| locked.lock().get(name).cloned()),
        for_keys("governor check_key", &names, move |name| governor.check_key(name).is_ok()),
    ]
}

/// Nobody asked for any of ten thousand gates lately, and a new host comes: one of them has to leave.
fn new() -> Vec<Contestant> {
    let plain = Mutex::new((HashMap::<u64, CooldownGate>::new(), 0_u64));
    let map: GateMap<u64> =
        GateMap::<u64>::builder().capacity(KEYS).idle_after(Duration::from_nanos(1)).build();
    let dash: DashMap<u64, (CooldownGate, Instant), RandomState> = DashMap::new();
    let counts: Arc<[AtomicU64; 2]> = Arc::default();
    let next = move |which: usize| {
        let counts = Arc::clone(&counts);
        // Ordering: Relaxed; a number that nobody else got.
        move || counts[which].fetch_add(1, Ordering::Relaxed)
    };
    let (of_map, of_dash) = (next(0), next(1));
    for _ in 0..KEYS {
        assert!(map.gate(&of_map()).is_ok());
        dash.insert(of_dash(), (CooldownGate::new(), Instant::now()));
        let (plain, key) = &mut *plain.lock();
        plain.insert(*key, CooldownGate::new());
        *key += 1;
    }
    vec![
        Contestant::each("HashMap insert + remove", move || {
            let (plain, key) = &mut *plain.lock();
            plain.insert(*key, CooldownGate::new());
            let oldest = *key - KEYS as u64;
            *key += 1;
            plain.remove(&oldest)
        }),
        Contestant::each("tidegate GateMap gate", move || {
            let gate = map.gate(&of_map());
            assert!(gate.is_ok(), "the oldest is idle");
            gate
        }),
        Contestant::each("dashmap retain + insert", move || {
            let key = of_dash();
            let mut left = 1_usize;
            // Whoever is idle for longest is not known without looking at all; one that is idle leaves.
            dash.retain(|_, (gate, asked)| {
                let leaves = left > 0 && gate.is_open() && asked.elapsed() > Duration::ZERO;
                left -= usize::from(leaves);
                !leaves
            });
            dash.insert(key, (CooldownGate::new(), Instant::now()));
        }),
    ]
}

fn names() -> Arc<[String]> {
    (0..KEYS).map(|number| format!("host-{number}.example.org")).collect()
}

/// Does it for one key after the other.
fn for_keys<T>(
    name: &'static str,
    names: &Arc<[String]>,
    operation: impl Fn(&String) -> T + Sync + 'static,
) -> Contestant {
    let names = Arc::clone(names);
    Contestant::timed(name, move |iterations| {
        let (start, mut at) = (Instant::now(), 0);
        for _ in 0..iterations {
            black_box(operation(&names[at]));
            at = (at + STRIDE) % KEYS;
        }
        start.elapsed()
    })
}
