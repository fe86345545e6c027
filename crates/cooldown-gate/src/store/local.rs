//! A store within one process: for several gates that mean the same service, and for tests.
//!
//! # Invariants
//! - I1: a slot is changed under its own lock, and rung afterwards, outside it.
//! - I2: a slot leaves under the table's lock, when the table alone holds it. Handles come from the table only, so nobody
//!   changes a slot that has left.
//! - I3: `floor` is at least the epoch of every slot that has left: a key that comes back begins above it.
//!
//! # Lock order
//! The table's lock first, then a slot's.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use tidegate_sync::Clock;
use tidegate_sync::primitives::{Arc, Mutex};

use super::{GateStore, GateWatch, Stored};
use crate::echo::Echo;

/// A table this small is not swept.
const SMALL: usize = 64;

/// A [`GateStore`] within this process: a handle, cheap to clone.
///
/// For gates that mean the same service but are not the same gate, such as one in each of several runtimes or in each of
/// several libraries; and as the model of what a store across processes does.
///
/// # What is kept
/// A key that nobody follows is forgotten once its deadline has passed by [`keep`](LocalStoreBuilder::keep): its strikes
/// start again then. Forgetting takes place while new keys come, at most doubling the memory of those that are kept; a
/// cooldown in force is never forgotten, so there is no other bound than the number of keys that are closed.
///
/// # Cost
/// Two short locks a call. `extend` wakes whoever follows the key.
#[derive(Clone, Debug)]
pub struct LocalStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Clock,
    keep: Duration,
    table: Mutex<Table>,
}

/// Shows how many keys there are, never a key.
struct Table {
    slots: HashMap<Box<str>, Arc<Slot>>,
    floor: u64,
    /// How many slots there may be before the table is swept again.
    sweep_at: usize,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("keys", &self.slots.len()).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Slot {
    state: Mutex<State>,
    echo: Echo,
}

#[derive(Debug)]
struct State {
    /// On the store's clock.
    until: Duration,
    epoch: u64,
    strikes: u32,
}

impl State {
    /// Whether nothing was heard of it for long.
    fn is_quiet(&self, now: Duration, keep: Duration) -> bool {
        self.until.saturating_add(keep) <= now
    }

    /// Takes a closing; how it stands then.
    fn extend(&mut self, cooldown: Duration, epoch: u64, now: Duration, keep: Duration) {
        if cooldown.is_zero() {
            return;
        }
        if self.is_quiet(now, keep) {
            self.strikes = 0;
        }
        if self.strikes == 0 || epoch >= self.epoch {
            self.epoch = self.epoch.max(epoch).saturating_add(1);
            self.strikes = self.strikes.saturating_add(1);
        }
        self.until = self.until.max(now.saturating_add(cooldown));
    }

    fn stored(&self, now: Duration, keep: Duration) -> Stored {
        let strikes = if self.is_quiet(now, keep) { 0 } else { self.strikes };
        Stored::new(self.until.saturating_sub(now), self.epoch, strikes)
    }
}

impl Default for LocalStore {
    fn default() -> Self {
        Self::new()
    }
}

impl LocalStore {
    /// An empty store that remembers strikes for 10 minutes.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// To choose how long it remembers.
    pub fn builder() -> LocalStoreBuilder {
        LocalStoreBuilder { keep: Duration::from_secs(600), clock: None }
    }

    /// How many keys it keeps, those that are due to be forgotten among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.table.lock().slots.len()
    }

    /// Whether it keeps none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn slot(&self, key: &str) -> Arc<Slot> {
        let now = self.0.clock.now();
        let mut table = self.0.table.lock();
        if let Some(slot) = table.slots.get(key) {
            return Arc::clone(slot);
        }
        if table.slots.len() >= table.sweep_at {
            table.sweep(now, self.0.keep);
        }
        let state = State { until: Duration::ZERO, epoch: table.floor, strikes: 0 };
        let slot = Arc::new(Slot { state: Mutex::new(state), echo: Echo::default() });
        table.slots.insert(key.into(), Arc::clone(&slot));
        slot
    }

    fn stored(&self, slot: &Slot) -> Stored {
        slot.state.lock().stored(self.0.clock.now(), self.0.keep)
    }
}

impl Table {
    /// Linear, but only once after as many new keys as were kept by the last.
    fn sweep(&mut self, now: Duration, keep: Duration) {
        let mut floor = self.floor;
        self.slots.retain(|_, slot| {
            let state = Arc::get_mut(slot).map(|slot| slot.state.lock());
            let Some(state) = state.filter(|state| state.is_quiet(now, keep)) else { return true };
            floor = floor.max(state.epoch);
            false
        });
        self.floor = floor;
        self.sweep_at = SMALL.max(self.slots.len() * 2);
        self.slots.shrink_to(self.sweep_at);
    }
}

/// Makes a [`LocalStore`].
#[derive(Clone, Debug)]
#[must_use = "a builder makes nothing until `build` is called"]
pub struct LocalStoreBuilder {
    keep: Duration,
    clock: Option<Clock>,
}

impl LocalStoreBuilder {
    /// For how long after its deadline a key's strikes are remembered; 10 minutes unless set.
    pub fn keep(mut self, keep: Duration) -> Self {
        self.keep = keep;
        self
    }

    /// Another clock than tokio's.
    #[doc(hidden)]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// An empty store.
    #[must_use]
    pub fn build(self) -> LocalStore {
        let table = Table { slots: HashMap::new(), floor: 0, sweep_at: SMALL };
        LocalStore(Arc::new(Inner {
            clock: self.clock.unwrap_or_default(),
            keep: self.keep,
            table: Mutex::new(table),
        }))
    }
}

impl GateStore for LocalStore {
    type Error = Infallible;
    type Watch = LocalWatch;

    async fn extend(&self, key: &str, cooldown: Duration, epoch: u64) -> Result<Stored, Infallible> {
        let slot = self.slot(key);
        let now = self.0.clock.now();
        let stored = {
            let mut state = slot.state.lock();
            state.extend(cooldown, epoch, now, self.0.keep);
            state.stored(now, self.0.keep)
        };
        slot.echo.ring();
        Ok(stored)
    }

    async fn watch(&self, key: &str) -> Result<LocalWatch, Infallible> {
        Ok(LocalWatch { store: self.clone(), slot: self.slot(key), seen: None })
    }
}

/// Follows one key of a [`LocalStore`].
#[derive(Debug)]
pub struct LocalWatch {
    store: LocalStore,
    slot: Arc<Slot>,
    seen: Option<u64>,
}

impl GateWatch for LocalWatch {
    type Error = Infallible;

    async fn next(&mut self) -> Result<Stored, Infallible> {
        let rings = match self.seen {
            // Counted before the look: what changes after it is told next.
            None => self.slot.echo.rings(),
            Some(seen) => self.slot.echo.changed(seen).await,
        };
        self.seen = Some(rings);
        Ok(self.store.stored(&self.slot))
    }
}
