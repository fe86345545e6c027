//! Gates by key: one for each host, API key, tenant.
//!
//! Whoever calls many services wants one gate for each, made when it is first needed. A plain map of gates grows with
//! every key that anybody ever asked for; a cache forgets a gate while it is closed, or while tasks stand at it, and
//! then two gates answer for one service. [`GateMap`] is bounded and does neither.
//!
//! # Who leaves, and when
//! Every entry stands in a line, oldest examination first. Asking for a known key marks its entry and moves nothing, so
//! it needs no clock. Asking for a new key examines up to four entries that are due, which is once each `idle_after`;
//! only when the map is full does it go on until somebody leaves or nobody is due. The table of states is in
//! [`table`].
//!
//! # Lock order
//! One shard's lock at a time, and nothing is locked under it: a gate is looked at, built and dropped outside.

use std::borrow::Borrow;
use std::collections::hash_map::RandomState;
use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;

use tidegate_sync::Clock;
use tidegate_sync::primitives::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use tidegate_sync::primitives::{Arc, Mutex};

use crate::{CooldownGate, CooldownGateBuilder, GateState};
use table::{Exam, Table};

mod builder;
#[cfg(test)]
mod models;
mod table;

pub use builder::GateMapBuilder;

/// How many entries that are due one new key examines.
const EXAMINED: usize = 4;

/// One gate for each key: a handle, cheap to clone.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use tidegate_cooldown_gate::GateMap;
///
/// let hosts: GateMap<String> = GateMap::new();
/// let pass = hosts.gate("arxiv.org")?.pass_owned().await?;
/// pass.success();
///
/// hosts.gate("export.arxiv.org")?.close_for(Duration::from_secs(30));
/// assert!(hosts.gate("arxiv.org")?.is_open()); // the others go on
/// assert!(!hosts.gate("export.arxiv.org")?.is_open());
/// # Ok(()) }
/// ```
///
/// # What is kept
/// - **CG-8** A gate of the map never leaves while it is closed or in somebody's hands, so one key never has two gates in
///   use. In somebody's hands are handles, owned passes, and futures that wait for one. A half-open gate is closed,
///   until nobody asked for it during a whole [`idle_after`](GateMapBuilder::idle_after) in which it was found half-open;
///   one that was shut down is closed for ever.
/// - There are never more gates than the [`capacity`](GateMapBuilder::capacity). When all of them are in use, closed, or
///   were asked for lately, a new key is refused with [`Full`]; keys that are known go on. It is the caller's choice then
///   to go ungated, to wait, or to take one gate for all that do not fit.
///
/// # Cost
/// A known key: one hash, one short lock, no allocation, no clock. A new key: the gate, a clock, and the examination of up
/// to four others. No task and no timer sweeps in the background, so without new keys, idle gates stay until
/// [`sweep`](GateMap::sweep) is called twice; they cost memory only.
///
/// # User code
/// `Hash`, `Clone`, `Into` and `Drop` of keys run outside locks. `Eq` runs under a shard's lock, against keys whose hash
/// is equal: it must not touch the same map.
pub struct GateMap<K, S = RandomState>(Arc<Inner<K, S>>);

struct Inner<K, S> {
    shards: Box<[Mutex<Table<K>>]>,
    capacity: usize,
    idle_after: Duration,
    template: CooldownGateBuilder,
    hasher: S,
    clock: Clock,
    /// Entries, and places reserved for entries to come.
    taken: AtomicUsize,
    left: AtomicU64,
    refused: AtomicU64,
    shut_down: AtomicBool,
}

/// There is no place for another key: every gate of the map is closed, in use, or was asked for lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Full {
    /// How many gates the map may hold.
    pub capacity: usize,
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no gate for another key: all {} of the map are in use", self.capacity)
    }
}

impl Error for Full {}

/// A map of gates in numbers. Not one moment: the gates are looked at one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateMapSnapshot {
    /// How many gates there are.
    pub gates: usize,
    /// How many there may be.
    pub capacity: usize,
    /// How many of them are open for everybody.
    pub open: usize,
    /// How many are paced.
    pub paced: usize,
    /// How many cool.
    pub cooling: usize,
    /// How many are half-open.
    pub half_open: usize,
    /// How many were shut down.
    pub shut_down: usize,
    /// How many callers wait, over all gates.
    pub waiting: usize,
    /// How many passes are out, over all gates.
    pub in_flight: usize,
    /// How many gates have left since the map was made.
    pub left: u64,
    /// How often a new key was refused since the map was made.
    pub refused: u64,
}

impl<K, S> Clone for GateMap<K, S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Hash + Eq> Default for GateMap<K> {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows how many gates there are, never a key.
impl<K, S> fmt::Debug for GateMap<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateMap")
            .field("gates", &self.len())
            .field("capacity", &self.0.capacity)
            .finish_non_exhaustive()
    }
}

impl<K: Hash + Eq> GateMap<K> {
    /// At most 10,000 default gates, which leave when nobody asked for them for 10 minutes.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }
}

impl<K> GateMap<K> {
    /// To choose capacity, idle time, and what the gates are like.
    pub fn builder() -> GateMapBuilder {
        GateMapBuilder::default()
    }
}

impl<K, S> GateMap<K, S> {
    /// How many gates there are; while keys are added, those under way among them. One atomic load.
    #[must_use]
    pub fn len(&self) -> usize {
        // Ordering: Relaxed; a count that publishes nothing.
        self.0.taken.load(Ordering::Relaxed)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many gates there may be.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.0.capacity
    }

    /// Examines every entry that is due, and lets those leave that are idle; how many left.
    ///
    /// An entry that was asked for since its last examination stays this time. So to be rid of all that is idle, sweep
    /// twice, [`idle_after`](GateMapBuilder::idle_after) apart. Linear in the number of entries that are due; no lock is
    /// held for longer than one of them.
    pub fn sweep(&self) -> usize {
        self.0.sweep(self.0.clock.now())
    }

    /// Shuts every gate down, for good. Known keys keep their gates; a new key gets one that is shut down, and no place in
    /// the map.
    pub fn shutdown(&self) {
        // Ordering: Relaxed; a shard's lock comes between. Who inserts before `handles` locks its shard is found by it,
        // who inserts after sees the flag.
        self.0.shut_down.store(true, Ordering::Relaxed);
        for gate in self.0.shards.iter().flat_map(|shard| self.0.handles(shard)) {
            gate.shutdown();
        }
    }

    /// The map in numbers. Takes a handle of every gate and looks at each: linear, for dashboards and reports.
    #[must_use]
    pub fn snapshot(&self) -> GateMapSnapshot {
        let mut sum = GateMapSnapshot { capacity: self.0.capacity, ..GateMapSnapshot::default() };
        // Ordering: Relaxed; counts that publish nothing.
        sum.left = self.0.left.load(Ordering::Relaxed);
        // Ordering: Relaxed; as above.
        sum.refused = self.0.refused.load(Ordering::Relaxed);
        for gate in self.0.shards.iter().flat_map(|shard| self.0.handles(shard)) {
            let snapshot = gate.snapshot();
            sum.gates += 1;
            sum.waiting += snapshot.waiting;
            sum.in_flight += snapshot.in_flight;
            match snapshot.state {
                GateState::Open => sum.open += 1,
                GateState::Paced => sum.paced += 1,
                GateState::Cooling { .. } => sum.cooling += 1,
                GateState::HalfOpen => sum.half_open += 1,
                GateState::ShutDown => sum.shut_down += 1,
            }
        }
        sum
    }
}

impl<K: Hash + Eq, S: BuildHasher> GateMap<K, S> {
    fn from_builder(builder: GateMapBuilder<S>) -> Self {
        let GateMapBuilder { capacity, idle_after, template, hasher, clock } = builder;
        let capacity = capacity.clamp(1, u32::MAX as usize - 1);
        let shards = shard_count(capacity);
        Self(Arc::new(Inner {
            shards: (0..shards).map(|_| Mutex::new(Table::new())).collect(),
            capacity,
            idle_after,
            template,
            hasher,
            clock: clock.unwrap_or_default(),
            taken: AtomicUsize::new(0),
            left: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            shut_down: AtomicBool::new(false),
        }))
    }

    /// The gate of `key`, made if there is none.
    ///
    /// Takes any borrowed form of the key: `&str` for `String`, `Box<str>` or `Arc<str>`. A known key allocates nothing;
    /// only a new one is turned into a `K`.
    ///
    /// # Errors
    /// [`Full`], if the key is new and there is no place for it.
    pub fn gate<Q>(&self, key: &Q) -> Result<CooldownGate, Full>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned: Into<K>> + ?Sized,
    {
        let hash = self.0.hasher.hash_one(key);
        match self.0.known(hash, key) {
            Some(gate) => Ok(gate),
            None => self.0.admit(hash, key.to_owned().into(), self.0.clock.now()),
        }
    }

    /// As [`gate`](GateMap::gate), for keys that cannot be cloned, or are at hand anyway.
    ///
    /// # Errors
    /// [`Full`], as there.
    pub fn gate_of(&self, key: K) -> Result<CooldownGate, Full> {
        let hash = self.0.hasher.hash_one(&key);
        match self.0.known(hash, &key) {
            Some(gate) => Ok(gate),
            None => self.0.admit(hash, key, self.0.clock.now()),
        }
    }

    /// The gate of `key`, if there is one. It counts as asking for it.
    #[must_use]
    pub fn get<Q>(&self, key: &Q) -> Option<CooldownGate>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.known(self.0.hasher.hash_one(key), key)
    }
}

impl<K: Eq, S> Inner<K, S> {
    fn known<Q>(&self, hash: u64, key: &Q) -> Option<CooldownGate>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.shard(hash).lock().touch(hash, |other| other.borrow() == key)
    }

    /// The gate of a key that was not found: made, unless somebody else did so meanwhile.
    fn admit(&self, hash: u64, key: K, now: Duration) -> Result<CooldownGate, Full> {
        let shard = self.shard(hash);
        for _ in 0..EXAMINED {
            if self.examine(shard, now).is_none() {
                break;
            }
        }
        let Some(place) = self.reserve(hash, now) else {
            return self.known(hash, &key).ok_or_else(|| self.refuse());
        };
        let gate = self.template.clone().build();
        let mut table = shard.lock();
        if let Some(known) = table.touch(hash, |other| *other == key) {
            drop(table);
            return Ok(known);
        }
        // Ordering: Relaxed; the shard's lock comes between (see `shutdown`).
        if self.shut_down.load(Ordering::Relaxed) {
            drop(table);
            gate.shutdown();
            return Ok(gate);
        }
        table.insert(hash, key, gate.clone(), now);
        place.keep();
        Ok(gate)
    }
}

impl<K, S> Inner<K, S> {
    fn shard(&self, hash: u64) -> &Mutex<Table<K>> {
        &self.shards[self.shard_index(hash)]
    }

    /// Spread by other bits than those that choose the chain within the shard.
    fn shard_index(&self, hash: u64) -> usize {
        let spread = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        usize::try_from(spread).unwrap_or(0) & (self.shards.len() - 1)
    }

    fn handles(&self, shard: &Mutex<Table<K>>) -> Vec<CooldownGate> {
        shard.lock().handles().collect()
    }

    fn refuse(&self) -> Full {
        // Ordering: Relaxed; a count that publishes nothing.
        self.refused.fetch_add(1, Ordering::Relaxed);
        Full { capacity: self.capacity }
    }

    /// A place for one more entry. If the map is full, somebody who is idle has to leave for it.
    fn reserve(&self, hash: u64, now: Duration) -> Option<Place<'_>> {
        let more = |taken: usize| (taken < self.capacity).then_some(taken + 1);
        loop {
            // Ordering: Relaxed; a count that publishes nothing, and cannot pass the capacity in any order.
            if self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok() {
                return Some(Place(&self.taken));
            }
            if !self.make_room(self.shard_index(hash), now) {
                return None;
            }
        }
    }

    /// Examines whoever is due, from this shard on, until one leaves.
    fn make_room(&self, first: usize, now: Duration) -> bool {
        let (before, from) = self.shards.split_at(first);
        from.iter().chain(before).any(|shard| self.examine_all(shard, now).any(|left| left))
    }

    fn sweep(&self, now: Duration) -> usize {
        let examined = self.shards.iter().flat_map(|shard| self.examine_all(shard, now));
        examined.filter(|left| *left).count()
    }

    /// Examines whoever is due in a shard, each once; whether it left.
    fn examine_all<'a>(
        &'a self,
        shard: &'a Mutex<Table<K>>,
        now: Duration,
    ) -> impl Iterator<Item = bool> + 'a {
        let entries = shard.lock().len();
        (0..entries).map_while(move |_| self.examine(shard, now))
    }

    /// Examines the first in a shard's line; whether it left, or none if it is not due.
    fn examine(&self, shard: &Mutex<Table<K>>, now: Duration) -> Option<bool> {
        let exam = shard.lock().examine(now, self.idle_after);
        let (suspect, gate) = match exam {
            Exam::NobodyDue => return None,
            Exam::InUse => return Some(false),
            Exam::Suspect(suspect, gate) => (suspect, gate),
        };
        // Outside the lock, because the look may move the gate on, and others may be told of that.
        let state = gate.state();
        let gone = shard.lock().settle(&suspect, state);
        let left = gone.is_some();
        if left {
            // Ordering: Relaxed; counts that publish nothing.
            self.taken.fetch_sub(1, Ordering::Relaxed);
            // Ordering: Relaxed; as above.
            self.left.fetch_add(1, Ordering::Relaxed);
        }
        Some(left)
    }
}

/// A reserved place, given back unless it is kept.
struct Place<'a>(&'a AtomicUsize);

impl Place<'_> {
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // Ordering: Relaxed; a count that publishes nothing.
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Four for each processor, but none that would hold fewer than eight entries; one under the model checker.
fn shard_count(capacity: usize) -> usize {
    let most = if cfg!(tidegate_loom) {
        1
    } else {
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get) * 4
    };
    (capacity / 8).clamp(1, most).next_power_of_two()
}
