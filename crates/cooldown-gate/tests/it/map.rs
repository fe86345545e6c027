//! Gates by key: who stays, who leaves, who is refused.

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tidegate_cooldown_gate::{
    CooldownGate, Full, GateMap, GateMapBuilder, GateMapSnapshot, GateState, ShutDown,
};
use tidegate_sync::{Clock, ManualClock};

use super::{poll_once, secs};

const IDLE: Duration = secs(60);

/// A builder on clocks that a test moves: the map's and its gates'.
fn builder(capacity: usize) -> (GateMapBuilder, Arc<ManualClock>) {
    let clock = Clock::manual();
    let hand = clock.hand().unwrap();
    let gate = CooldownGate::builder().clock(clock.clone()).name("host");
    (GateMap::<()>::builder().capacity(capacity).idle_after(IDLE).gate(gate).clock(clock), hand)
}

fn map<K: Hash + Eq>(capacity: usize) -> (GateMap<K>, Arc<ManualClock>) {
    let (builder, hand) = builder(capacity);
    (builder.build(), hand)
}

fn is_cooling(gate: &CooldownGate) -> bool {
    matches!(gate.state(), GateState::Cooling { .. })
}

#[test]
fn a_million_keys_leave_as_many_entries_as_were_asked_for_lately() {
    let (builder, hand) = builder(12);
    let map: GateMap<u32> = builder.idle_after(Duration::from_millis(8)).build();
    for key in 0..1_000_000_u32 {
        assert!(map.gate(&key).unwrap().is_open());
        // Those of the last 8 ms, and this one.
        assert_eq!(map.len(), 8.min(key as usize + 1), "after key {key}");
        hand.advance(Duration::from_millis(1));
    }
    assert_eq!((map.sweep(), map.len()), (1, 7));
    hand.advance(Duration::from_millis(8));
    assert_eq!((map.sweep(), map.len()), (7, 0));
    assert_eq!(map.snapshot().left, 1_000_000);
}

#[test]
fn keys_without_end_stay_within_the_capacity_on_many_shards() {
    let (map, hand) = map::<u32>(1_000);
    let mut refused = 0;
    for key in 0..100_000 {
        match map.gate(&key) {
            Ok(_) => {}
            Err(Full { capacity, .. }) => {
                assert_eq!(capacity, 1_000);
                refused += 1;
            }
        }
        assert!(map.len() <= 1_000);
        hand.advance(Duration::from_millis(50));
    }
    // 1,200 keys come within the idle time, so some find no place; every place is taken all the time.
    assert_eq!((map.len(), map.snapshot().refused), (1_000, refused));
    assert!(refused > 0);
    hand.advance(IDLE);
    assert_eq!(map.sweep(), 1_000);
    assert!(map.is_empty());
}

#[test]
fn cg8_when_all_are_in_use_a_new_key_is_refused_and_a_known_one_goes_on() {
    let (map, hand) = map::<String>(2);
    let held = (map.gate("a").unwrap(), map.gate("b").unwrap());
    hand.advance(10 * IDLE);
    let full = map.gate("c").unwrap_err();
    assert_eq!(full.to_string(), "no gate for another key: all 2 of the map are in use");
    assert!(map.gate("a").is_ok() && map.get("c").is_none());
    drop(held);
    assert_eq!(map.gate("c").unwrap_err(), full, "nobody is due again");
    hand.advance(IDLE);
    assert!(map.gate("c").is_ok());
    assert!(map.get("a").is_some() && map.get("b").is_none(), "the one that was asked for left");
    assert_eq!((map.len(), map.snapshot().left), (2, 1), "one left for one that came");
}

#[test]
fn cg8_a_closed_gate_stays_and_a_half_open_one_for_one_idle_time_more() {
    let (map, hand) = map::<String>(8);
    map.gate("a").unwrap().close_for(10 * IDLE);
    hand.advance(9 * IDLE);
    assert_eq!(map.sweep() + map.sweep(), 0);
    hand.advance(2 * IDLE);
    assert_eq!(map.sweep(), 0, "it may have become half-open only now");
    hand.advance(IDLE / 2);
    assert_eq!(map.sweep(), 0, "not due");
    hand.advance(IDLE / 2);
    assert_eq!((map.sweep(), map.len()), (1, 0));
}

#[test]
fn cg8_a_half_open_gate_that_is_asked_for_stays_half_open() {
    let (map, hand) = map::<String>(8);
    map.gate("a").unwrap().close_for(IDLE);
    for _ in 0..4 {
        hand.advance(IDLE);
        assert_eq!(map.sweep(), 0);
        assert_eq!(map.gate("a").unwrap().state(), GateState::HalfOpen);
    }
    hand.advance(IDLE);
    assert_eq!(map.sweep(), 0, "asked for");
    hand.advance(IDLE);
    assert_eq!(map.sweep(), 0, "found half-open the first time since it was asked for");
    hand.advance(IDLE);
    assert_eq!(map.sweep(), 1);
}

#[tokio::test(start_paused = true)]
async fn cg8_a_pass_of_its_own_and_a_future_that_waits_keep_their_gate() {
    let (map, hand) = map::<String>(8);
    let pass = map.gate("pass").unwrap().try_pass_owned().unwrap();
    let mut passing = map.gate("future").unwrap().pass_owned();
    for _ in 0..4 {
        hand.advance(IDLE);
        assert_eq!(map.sweep(), 0);
    }
    pass.throttled(None);
    map.get("future").unwrap().close_for(secs(1));
    assert!(is_cooling(&map.get("pass").unwrap()), "the pass closed another gate");
    assert!(poll_once(&mut map.get("future").unwrap().pass_owned()).is_pending());
    assert!(poll_once(&mut passing).is_pending(), "the future stood at another gate");
}

#[test]
fn an_entry_that_is_asked_for_stays_and_one_that_is_not_leaves() {
    let (map, hand) = map::<&str>(8);
    map.gate_of("asked").unwrap();
    map.gate_of("idle").unwrap();
    hand.advance(IDLE / 2);
    assert!(map.get("asked").is_some());
    hand.advance(IDLE / 2);
    assert_eq!(map.sweep(), 1);
    assert!(map.get("idle").is_none());
    hand.advance(IDLE / 2);
    assert_eq!(map.sweep(), 0, "not due again");
    hand.advance(IDLE / 2);
    assert_eq!((map.sweep(), map.len()), (1, 0));
}

#[test]
fn one_new_key_examines_four_at_most() {
    let (map, hand) = map::<u32>(15);
    for key in 0..10 {
        map.gate(&key).unwrap();
    }
    hand.advance(IDLE);
    map.gate(&10).unwrap();
    assert_eq!(map.len(), 7);
}

#[test]
fn when_full_somebody_idle_leaves_wherever_it_stands() {
    let (map, hand) = map::<u32>(256);
    let held: Vec<_> = (0..255).map(|key| map.gate(&key).unwrap()).collect();
    map.gate(&255).unwrap();
    hand.advance(IDLE);
    for key in 1_000..1_010 {
        assert!(map.gate(&key).is_ok(), "one of 256 was idle");
        assert_eq!(map.gate(&(key + 1_000)).unwrap_err().capacity, 256);
        hand.advance(IDLE);
    }
    drop(held);
}

/// Counts its clones, and panics when it is compared if it is told to.
#[derive(Debug)]
struct Key {
    name: &'static str,
    clones: Arc<AtomicUsize>,
    explodes: bool,
}

impl Key {
    fn new(name: &'static str) -> Self {
        Self { name, clones: Arc::default(), explodes: false }
    }
}

impl Clone for Key {
    fn clone(&self) -> Self {
        self.clones.fetch_add(1, Ordering::Relaxed);
        Self { name: self.name, clones: Arc::clone(&self.clones), explodes: self.explodes }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        assert!(!self.explodes && !other.explodes, "a comparison of the user's");
        self.name == other.name
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

#[test]
fn only_a_new_key_is_cloned() {
    let (map, _hand) = map::<Key>(8);
    let key = Key::new("a");
    for _ in 0..3 {
        map.gate(&key).unwrap();
        let _ = map.get(&key);
    }
    assert_eq!(key.clones.load(Ordering::Relaxed), 1);
}

#[test]
fn a_borrowed_form_finds_every_owned_form() {
    fn found<K: Hash + Eq + Borrow<str> + From<String>>() -> bool {
        let (map, _hand) = map::<K>(8);
        map.gate("a").unwrap().close_for(secs(1));
        is_cooling(&map.gate("a").unwrap()) && is_cooling(&map.gate_of(K::from("a".to_owned())).unwrap())
    }
    assert!(found::<String>() && found::<Box<str>>() && found::<Arc<str>>());
}

#[test]
fn a_key_that_cannot_be_cloned_goes_in_by_value() {
    #[derive(PartialEq, Eq, Hash)]
    struct Secret(u8);
    let (map, _hand) = map::<Secret>(8);
    map.gate_of(Secret(1)).unwrap().close_for(secs(1));
    assert!(is_cooling(&map.get(&Secret(1)).unwrap()));
    assert!(map.gate_of(Secret(2)).unwrap().is_open());
    assert_eq!(map.len(), 2);
}

#[test]
fn a_comparison_that_panics_takes_no_place_and_breaks_nothing() {
    let (map, _hand) = map::<Key>(2);
    map.gate(&Key::new("a")).unwrap();
    let exploding = Key { explodes: true, ..Key::new("a") };
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| map.gate(&exploding)));
    assert!(caught.is_err());
    assert!(map.gate(&Key::new("a")).is_ok() && map.gate(&Key::new("b")).is_ok());
    assert_eq!(map.len(), 2);
}

/// Asks the map that it is dropped from.
struct Curious(u8, Weak<GateMap<Curious>>);

impl PartialEq for Curious {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Curious {}

impl Hash for Curious {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Drop for Curious {
    fn drop(&mut self) {
        if let Some(map) = self.1.upgrade() {
            assert!(map.get(self).is_none_or(|gate| gate.is_open()));
        }
    }
}

#[test]
fn a_key_is_dropped_outside_the_locks() {
    let (map, hand) = map::<Curious>(1);
    let map = Arc::new(map);
    map.gate_of(Curious(1, Arc::downgrade(&map))).unwrap();
    map.gate_of(Curious(1, Arc::downgrade(&map))).unwrap();
    assert!(map.gate_of(Curious(2, Arc::downgrade(&map))).is_err());
    hand.advance(IDLE);
    assert_eq!(map.sweep(), 0, "asked for");
    hand.advance(IDLE);
    assert_eq!((map.sweep(), map.len()), (1, 0));
}

#[test]
fn a_shutdown_is_for_all_keys_and_for_good() {
    let (map, _hand) = map::<String>(8);
    let known = map.gate("known").unwrap();
    map.shutdown();
    assert_eq!(known.state(), GateState::ShutDown);
    assert_eq!(map.gate("known").unwrap().state(), GateState::ShutDown);
    let mut late = map.gate("late").unwrap().pass_owned();
    assert!(matches!(poll_once(&mut late), std::task::Poll::Ready(Err(ShutDown))));
    assert_eq!(map.len(), 1, "a late key takes no place");
}

#[test]
fn cg8_a_gate_that_was_shut_down_never_leaves() {
    let (map, hand) = map::<String>(8);
    map.gate("gone").unwrap().shutdown();
    for _ in 0..4 {
        hand.advance(IDLE);
        assert_eq!(map.sweep(), 0);
    }
    assert_eq!(map.gate("gone").unwrap().state(), GateState::ShutDown);
}

#[test]
fn the_snapshot_counts_and_debug_shows_no_key() {
    let (map, _hand) = map::<String>(4);
    let pass = map.gate("secret-open").unwrap().try_pass_owned().unwrap();
    map.gate("secret-closed").unwrap().close_for(secs(5));
    map.gate("secret-gone").unwrap().shutdown();
    let snapshot = map.snapshot();
    assert_eq!((snapshot.gates, snapshot.capacity), (3, 4));
    assert_eq!((snapshot.open, snapshot.cooling, snapshot.shut_down, snapshot.half_open), (1, 1, 1, 0));
    assert_eq!((snapshot.in_flight, snapshot.waiting), (1, 0));
    drop(pass);
    let shown = format!("{map:?} {:?}", GateMap::<String>::builder());
    assert!(shown.contains("gates: 3") && !shown.contains("secret"), "{shown}");
    assert_eq!(map.gate("secret-open").unwrap().name(), Some("host"));
}

#[test]
fn no_idle_time_and_no_capacity_are_bounded_too() {
    let map: GateMap<u8> =
        GateMap::<u8>::builder().capacity(0).idle_after(Duration::ZERO).clock(Clock::manual()).build();
    let held = map.gate(&1).unwrap();
    assert!(map.gate(&2).is_err());
    assert_eq!(map.sweep(), 0);
    drop(held);
    assert!(map.gate(&2).is_ok() && map.len() == 1);
    let far: GateMap<u8> = GateMap::<u8>::builder().capacity(usize::MAX).idle_after(Duration::MAX).build();
    assert!(far.gate(&1).is_ok() && far.sweep() == 0);
}

#[test]
fn the_map_can_be_sent_and_shared() {
    fn sent_and_shared<T: Send + Sync + 'static>() {}
    sent_and_shared::<GateMap<String>>();
    sent_and_shared::<GateMapBuilder>();
    sent_and_shared::<GateMapSnapshot>();
    sent_and_shared::<Full>();
}
