//! One shard of the map: its entries by key, and in the order in which they are to be examined. No lock, no clock, and
//! of the user's code only `Eq`.
//!
//! # States of an entry
//! | state | touched | examined by a sweep when | then |
//! |---|---|---|---|
//! | asked for | yes | it stood untroubled for `idle_after` | unasked, at the end of the line |
//! | unasked, held | no | as above | the same, at the end of the line |
//! | unasked, sole | no | as above | suspect: its gate is looked at outside the lock |
//! | suspect, open or paced | no | after that look | gone, if it is still unasked |
//! | suspect, half-open | no | after that look | rested; gone at its next examination, if nobody asks meanwhile |
//! | suspect, closed | no | after that look | unasked |
//!
//! # Invariants
//! - I1: an entry's slot is in the chain of its hash and in the line, or it is free.
//! - I2: the line is in the order of `since`: if its first is not due, nobody is.
//! - I3: whoever may use a gate got it from the table ([`Table::touch`], which marks the entry) or from somebody who did.
//!   So a suspect, which was unasked and sole, is in nobody's hands for as long as it is unasked: nobody can have closed
//!   its gate since the look. (Handles for a look at the gate mark nothing: [`Exam::Suspect`], [`Table::handles`].)

use std::time::Duration;

use crate::{CooldownGate, GateState};

const NONE: u32 = u32::MAX;

/// The entries of one shard.
pub(super) struct Table<K> {
    /// The first slot of each chain; a power of two of them.
    heads: Vec<u32>,
    slots: Vec<Slot<K>>,
    free: u32,
    len: usize,
    oldest: u32,
    newest: u32,
    stamp: u64,
}

struct Slot<K> {
    hash: u64,
    /// Names this use of the slot for ever.
    stamp: u64,
    /// The next in its chain, or the next that is free.
    chain: u32,
    older: u32,
    newer: u32,
    entry: Option<Entry<K>>,
}

/// What stands under a key; dropped outside the lock, because the key is the user's.
pub(super) struct Entry<K> {
    key: K,
    gate: CooldownGate,
    touched: bool,
    rested: bool,
    since: Duration,
}

/// What the examination of the first in line found.
pub(super) enum Exam {
    /// Nobody has stood untroubled for long enough.
    NobodyDue,
    /// It was asked for, or somebody holds on to it.
    InUse,
    /// It may have to leave: look at its gate outside the lock, then [`Table::settle`].
    Suspect(Suspect, CooldownGate),
}

/// Names an entry that may have to leave.
pub(super) struct Suspect {
    index: u32,
    stamp: u64,
}

impl<K> Table<K> {
    pub(super) const fn new() -> Self {
        Self {
            heads: Vec::new(),
            slots: Vec::new(),
            free: NONE,
            len: 0,
            oldest: NONE,
            newest: NONE,
            stamp: 0,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Handles of all gates, to look at them.
    pub(super) fn handles(&self) -> impl Iterator<Item = CooldownGate> + '_ {
        self.slots.iter().filter_map(|slot| slot.entry.as_ref().map(|entry| entry.gate.clone()))
    }

    /// Finds an entry and marks it as asked for.
    pub(super) fn touch(&mut self, hash: u64, is: impl Fn(&K) -> bool) -> Option<CooldownGate> {
        let mut index = *self.heads.get(self.chain_of(hash))?;
        loop {
            let slot = self.slots.get_mut(index as usize)?;
            match &mut slot.entry {
                Some(entry) if slot.hash == hash && is(&entry.key) => {
                    entry.touched = true;
                    entry.rested = false;
                    return Some(entry.gate.clone());
                }
                _ => index = slot.chain,
            }
        }
    }

    /// Adds an entry under a key that has none.
    pub(super) fn insert(&mut self, hash: u64, key: K, gate: CooldownGate, now: Duration) {
        if self.len >= self.heads.len() {
            self.grow();
        }
        self.stamp += 1;
        let entry = Entry { key, gate, touched: false, rested: false, since: now };
        let slot =
            Slot { hash, stamp: self.stamp, chain: NONE, older: NONE, newer: NONE, entry: Some(entry) };
        let index = self.place(slot);
        self.chain_up(index);
        self.line_up(index);
        self.len += 1;
    }

    /// Examines the first in line, and puts it at the end of the line.
    pub(super) fn examine(&mut self, now: Duration, idle_after: Duration) -> Exam {
        let index = self.oldest;
        let due = self.entry(index).is_some_and(|entry| entry.since.saturating_add(idle_after) <= now);
        if !due {
            return Exam::NobodyDue;
        }
        self.step_out(index);
        self.line_up(index);
        let slot = &mut self.slots[index as usize];
        let Some(entry) = &mut slot.entry else { return Exam::NobodyDue };
        entry.since = now;
        if std::mem::take(&mut entry.touched) || !entry.gate.is_sole() {
            return Exam::InUse;
        }
        Exam::Suspect(Suspect { index, stamp: slot.stamp }, entry.gate.clone())
    }

    /// Decides about a suspect whose gate was found in `state`; the entry, if it leaves.
    pub(super) fn settle(&mut self, suspect: &Suspect, state: GateState) -> Option<Entry<K>> {
        let slot = self.slots.get_mut(suspect.index as usize)?;
        let entry = slot.entry.as_mut().filter(|_| slot.stamp == suspect.stamp)?;
        if entry.touched {
            return None;
        }
        let leaves = match state {
            GateState::Open | GateState::Paced => true,
            GateState::HalfOpen => std::mem::replace(&mut entry.rested, true),
            _ => false,
        };
        if leaves { self.remove(suspect.index) } else { None }
    }

    fn entry(&self, index: u32) -> Option<&Entry<K>> {
        self.slots.get(index as usize).and_then(|slot| slot.entry.as_ref())
    }

    fn chain_of(&self, hash: u64) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "only the low bits choose the chain")]
        let low = hash as usize;
        low & self.heads.len().wrapping_sub(1)
    }

    fn place(&mut self, slot: Slot<K>) -> u32 {
        if let Some(free) = self.slots.get_mut(self.free as usize) {
            let index = self.free;
            self.free = free.chain;
            *free = slot;
            return index;
        }
        // The map's capacity stays below `u32::MAX`.
        let index = u32::try_from(self.slots.len()).unwrap_or(NONE);
        self.slots.push(slot);
        index
    }

    fn chain_up(&mut self, index: u32) {
        let chain = self.chain_of(self.slots[index as usize].hash);
        self.slots[index as usize].chain = std::mem::replace(&mut self.heads[chain], index);
    }

    /// Doubles the chains. The hashes are kept, so that no `Hash` of the user's runs under the lock.
    fn grow(&mut self) {
        self.heads = vec![NONE; (self.heads.len() * 2).max(8)];
        for index in 0..u32::try_from(self.slots.len()).unwrap_or(NONE) {
            if self.entry(index).is_some() {
                self.chain_up(index);
            }
        }
    }

    fn line_up(&mut self, index: u32) {
        let older = std::mem::replace(&mut self.newest, index);
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.newer = index,
            None => self.oldest = index,
        }
        let slot = &mut self.slots[index as usize];
        (slot.older, slot.newer) = (older, NONE);
    }

    fn step_out(&mut self, index: u32) {
        let slot = &self.slots[index as usize];
        let (older, newer) = (slot.older, slot.newer);
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.newer = newer,
            None => self.oldest = newer,
        }
        match self.slots.get_mut(newer as usize) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
    }

    fn remove(&mut self, index: u32) -> Option<Entry<K>> {
        self.step_out(index);
        let (hash, next) = {
            let slot = &self.slots[index as usize];
            (slot.hash, slot.chain)
        };
        let chain = self.chain_of(hash);
        if self.heads[chain] == index {
            self.heads[chain] = next;
        } else {
            let mut before = self.heads[chain];
            while let Some(slot) = self.slots.get_mut(before as usize) {
                if slot.chain == index {
                    slot.chain = next;
                    break;
                }
                before = slot.chain;
            }
        }
        let slot = &mut self.slots[index as usize];
        slot.stamp = 0;
        slot.chain = std::mem::replace(&mut self.free, index);
        self.len -= 1;
        slot.entry.take()
    }
}
