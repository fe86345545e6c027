//! A sharded map whose entries are changed in one step.
//!
//! Outside it is dashmap; under the model checker it is one shard with a fixed order, because dashmap's own locks are
//! invisible to the checker. No reference into the map ever leaves a call, so none can be held across an await.

use std::borrow::Borrow;
use std::hash::Hash;

/// A map in which every access to one key is a critical section of its own.
///
/// The closures run under the shard's lock: they must be short, do no I/O and not touch the same map.
#[derive(Debug)]
pub struct ShardMap<K: Eq + Hash, V>(imp::Map<K, V>);

impl<K: Eq + Hash, V> Default for ShardMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Eq + Hash, V> ShardMap<K, V> {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self(imp::Map::default())
    }

    /// Changes one entry in one step: `change` sees what is there (`None`: nothing) and leaves what shall be there.
    ///
    /// If `change` panics half way, the entry is as the closure left it.
    pub fn update<R>(&self, key: K, change: impl FnOnce(&mut Option<V>) -> R) -> R {
        imp::update(&self.0, key, change)
    }

    /// Looks at one entry.
    pub fn with<Q, R>(&self, key: &Q, look: impl FnOnce(Option<&V>) -> R) -> R
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        imp::with(&self.0, key, look)
    }

    /// Looks at every entry, in no particular order, and keeps those for which `keep` is true.
    ///
    /// Not one step over the whole map: entries of other shards may change meanwhile. The keys and values that leave are
    /// dropped under their shard's lock: empty a value of what is the user's before.
    pub fn retain(&self, keep: impl FnMut(&K, &mut V) -> bool) {
        imp::retain(&self.0, keep);
    }

    /// How many entries there are; exact when nobody writes meanwhile. An entry whose closure panicked half way counts until
    /// its next visit.
    #[must_use]
    pub fn len(&self) -> usize {
        imp::len(&self.0)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(not(tidegate_loom))]
mod imp {
    use super::{Borrow, Hash};
    use dashmap::{DashMap, Entry};

    /// `None` stands for "nothing" only between a closure's panic and the next visit.
    pub(super) type Map<K, V> = DashMap<K, Option<V>>;

    pub(super) fn update<K: Eq + Hash, V, R>(
        map: &Map<K, V>,
        key: K,
        change: impl FnOnce(&mut Option<V>) -> R,
    ) -> R {
        match map.entry(key) {
            Entry::Occupied(mut entry) => {
                let result = change(entry.get_mut());
                // What is removed holds the key and nothing of the value: the closure took that.
                if entry.get().is_none() {
                    entry.remove();
                }
                result
            }
            Entry::Vacant(entry) => {
                let mut value = None;
                let result = change(&mut value);
                if value.is_some() {
                    entry.insert(value);
                }
                result
            }
        }
    }

    pub(super) fn with<K, V, Q, R>(map: &Map<K, V>, key: &Q, look: impl FnOnce(Option<&V>) -> R) -> R
    where
        K: Eq + Hash + Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let entry = map.get(key);
        look(entry.as_ref().and_then(|entry| entry.value().as_ref()))
    }

    pub(super) fn retain<K: Eq + Hash, V>(map: &Map<K, V>, mut keep: impl FnMut(&K, &mut V) -> bool) {
        map.retain(|key, value| value.as_mut().is_some_and(|value| keep(key, value)));
    }

    pub(super) fn len<K: Eq + Hash, V>(map: &Map<K, V>) -> usize {
        map.len()
    }
}

#[cfg(tidegate_loom)]
mod imp {
    use super::{Borrow, Hash};
    use crate::primitives::Mutex;

    pub(super) type Map<K, V> = Mutex<Vec<(K, V)>>;

    pub(super) fn update<K: Eq + Hash, V, R>(
        map: &Map<K, V>,
        key: K,
        change: impl FnOnce(&mut Option<V>) -> R,
    ) -> R {
        let mut entries = map.lock();
        let (key, mut value) = match entries.iter().position(|(other, _)| *other == key) {
            Some(at) => {
                let (key, value) = entries.remove(at);
                (key, Some(value))
            }
            None => (key, None),
        };
        let result = change(&mut value);
        entries.extend(value.map(|value| (key, value)));
        result
    }

    pub(super) fn with<K, V, Q, R>(map: &Map<K, V>, key: &Q, look: impl FnOnce(Option<&V>) -> R) -> R
    where
        K: Eq + Hash + Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let entries = map.lock();
        look(entries.iter().find(|(other, _)| other.borrow() == key).map(|(_, value)| value))
    }

    pub(super) fn retain<K: Eq + Hash, V>(map: &Map<K, V>, mut keep: impl FnMut(&K, &mut V) -> bool) {
        map.lock().retain_mut(|(key, value)| keep(key, value));
    }

    pub(super) fn len<K: Eq + Hash, V>(map: &Map<K, V>) -> usize {
        map.lock().len()
    }
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_update_inserts_changes_and_removes_in_one_step() {
        let map = ShardMap::new();
        map.update("a".to_owned(), |slot| *slot = Some(1));
        assert!(map.with("a", |value| value == Some(&1)));
        let old = map.update("a".to_owned(), |slot| slot.replace(2));
        assert_eq!((old, map.len()), (Some(1), 1));
        map.update("a".to_owned(), Option::take);
        assert!(map.is_empty());
        map.update("b".to_owned(), |slot| assert!(slot.is_none()));
        assert!(map.is_empty());
    }

    #[test]
    fn a_panic_in_a_closure_leaves_the_map_usable() {
        let map = ShardMap::new();
        map.update(1, |slot| *slot = Some(1));
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            map.update(1, |slot| {
                slot.take();
                panic!("in a closure");
            })
        }));
        assert!(caught.is_err());
        assert!(map.with(&1, |value| value.is_none()));
        map.retain(|_, _| true);
        assert!(map.is_empty());
    }
}
