//! How to make a map of gates.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;

use tidegate_sync::Clock;

use super::GateMap;
use crate::CooldownGateBuilder;

/// Makes a [`GateMap`].
///
/// ```
/// use std::time::Duration;
/// use tidegate_cooldown_gate::{CooldownGate, GateMap};
///
/// let hosts: GateMap<String> = GateMap::<String>::builder()
///     .capacity(500)
///     .idle_after(Duration::from_secs(60))
///     .gate(CooldownGate::builder().cooldown(Duration::from_secs(5)).name("host"))
///     .build();
/// assert_eq!(hosts.capacity(), 500);
/// ```
#[derive(Clone)]
#[must_use = "a builder makes nothing until `build` is called"]
pub struct GateMapBuilder<S = RandomState> {
    pub(super) capacity: usize,
    pub(super) idle_after: Duration,
    pub(super) template: CooldownGateBuilder,
    pub(super) hasher: S,
    pub(super) clock: Option<Clock>,
}

impl Default for GateMapBuilder {
    fn default() -> Self {
        Self {
            capacity: 10_000,
            idle_after: Duration::from_secs(600),
            template: CooldownGateBuilder::default(),
            hasher: RandomState::new(),
            clock: None,
        }
    }
}

impl<S> fmt::Debug for GateMapBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateMapBuilder")
            .field("capacity", &self.capacity)
            .field("idle_after", &self.idle_after)
            .field("gate", &self.template)
            .finish_non_exhaustive()
    }
}

impl<S> GateMapBuilder<S> {
    /// How many gates there may be at once; 10,000 unless set, at least 1, at most 2^32 - 2.
    pub fn capacity(mut self, capacity: usize) -> Self {
        self.capacity = capacity;
        self
    }

    /// For how long nobody may have asked for a gate before it leaves; 10 minutes unless set.
    ///
    /// It is a floor: a gate leaves when a sweep finds it, which is between one and two of these after it was last asked
    /// for, and not before somebody asks for a new key. What the gate learned (strikes, pace) leaves with it.
    pub fn idle_after(mut self, idle_after: Duration) -> Self {
        self.idle_after = idle_after;
        self
    }

    /// What each gate is made like, its name included: all gates of a map have the same name.
    pub fn gate(mut self, template: CooldownGateBuilder) -> Self {
        self.template = template;
        self
    }

    /// Another hasher than std's default.
    pub fn hasher<T>(self, hasher: T) -> GateMapBuilder<T> {
        let Self { capacity, idle_after, template, hasher: _, clock } = self;
        GateMapBuilder { capacity, idle_after, template, hasher, clock }
    }

    /// Another clock than tokio's, for the idle time.
    #[doc(hidden)]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// A map without gates.
    #[must_use]
    pub fn build<K: Hash + Eq>(self) -> GateMap<K, S>
    where
        S: BuildHasher,
    {
        GateMap::from_builder(self)
    }
}
