//! Who waits: a first-in-first-out list of wakers that lives inside its owner's mutex.
//!
//! # States of a waiter
//! | state | where its key stands | who moves it on |
//! |---|---|---|
//! | queued | in the list | [`WaitList::push_back`] put it there |
//! | granted | absent: the granter took it with [`WaitList::pop_front`] or [`WaitList::take_all`] | its next poll, or its drop |
//! | gone | absent: it took itself out with [`WaitList::remove`] | nobody |
//!
//! So a waiter asks the list one question, [`WaitList::remove`]: `Some` means "I was still waiting", `None` means "I was
//! granted". A waiter that is dropped after its grant learns it from the same answer and passes the grant on.
//!
//! # Invariants
//! - I1: following `next` from `head` visits every queued waiter once, oldest first, and ends at `tail`.
//! - I2: stamps are never reused, so a key kept after its slot was taken over finds nothing.
//! - I3: no method calls, clones or drops a waker: those given out belong to the caller, who does so outside the lock.
//!
//! # Cost
//! Every operation is O(1) but `take_all`. A waiter takes `32 + size_of::<T>()` bytes, in slots that are reused; a list
//! that runs empty after a crowd gives its memory back.

use std::task::Waker;

const NONE: u32 = u32::MAX;
/// An empty list keeps room for this many waiters.
const KEPT: usize = 64;

/// A first-in-first-out list of waiters, each with a waker and a value of the owner's.
#[derive(Debug)]
pub struct WaitList<T = ()> {
    slots: Vec<Slot<T>>,
    head: u32,
    tail: u32,
    free: u32,
    len: usize,
    stamp: u64,
}

#[derive(Debug)]
struct Slot<T> {
    stamp: u64,
    prev: u32,
    next: u32,
    waiter: Option<Waiter<T>>,
}

/// A waiter that left the list.
#[derive(Debug)]
pub struct Waiter<T = ()> {
    /// Wakes its task. To be called, cloned or dropped outside the lock.
    pub waker: Waker,
    /// The owner's value.
    pub data: T,
}

/// Names one waiter of one list for ever: a key is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitKey {
    index: u32,
    stamp: u64,
}

impl WaitKey {
    /// A number that is above that of everybody who joined the list before; at least 1.
    #[must_use]
    pub const fn stamp(self) -> u64 {
        self.stamp
    }
}

impl<T> Default for WaitList<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> WaitList<T> {
    /// An empty list. Allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: Vec::new(), head: NONE, tail: NONE, free: NONE, len: 0, stamp: 0 }
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts a waiter at the end. Clone the waker before taking the lock.
    ///
    /// # Panics
    /// With 2^32 - 1 waiters at once, which no machine has the memory for.
    pub fn push_back(&mut self, waker: Waker, data: T) -> WaitKey {
        self.stamp += 1;
        let slot =
            Slot { stamp: self.stamp, prev: self.tail, next: NONE, waiter: Some(Waiter { waker, data }) };
        let index = self.place(slot);
        match self.tail {
            NONE => self.head = index,
            tail => self.slots[tail as usize].next = index,
        }
        self.tail = index;
        self.len += 1;
        WaitKey { index, stamp: self.stamp }
    }

    /// Takes the longest waiting out: the grant.
    pub fn pop_front(&mut self) -> Option<Waiter<T>> {
        let key = self.front()?;
        self.remove(key)
    }

    /// The longest waiting.
    #[must_use]
    pub fn front(&self) -> Option<WaitKey> {
        let slot = self.slots.get(self.head as usize)?;
        Some(WaitKey { index: self.head, stamp: slot.stamp })
    }

    /// The value of the longest waiting.
    #[must_use]
    pub fn front_data(&self) -> Option<&T> {
        self.slots.get(self.head as usize)?.waiter.as_ref().map(|waiter| &waiter.data)
    }

    /// The value of `key`, if it still waits.
    pub fn data_mut(&mut self, key: WaitKey) -> Option<&mut T> {
        self.waiter_mut(key).map(|waiter| &mut waiter.data)
    }

    /// How many stand before `key`, or more: those that left from between are counted too. O(1).
    #[must_use]
    pub fn rank(&self, key: WaitKey) -> u64 {
        self.front().map_or(0, |front| key.stamp.saturating_sub(front.stamp))
    }

    /// Whether `key` still waits.
    #[must_use]
    pub fn contains(&self, key: WaitKey) -> bool {
        self.slot(key).is_some()
    }

    /// Whether `key` still waits with a waker that would wake the same task as `waker`: then there is nothing to renew.
    #[must_use]
    pub fn will_wake(&self, key: WaitKey, waker: &Waker) -> bool {
        self.slot(key)
            .and_then(|slot| slot.waiter.as_ref())
            .is_some_and(|waiter| waiter.waker.will_wake(waker))
    }

    /// Gives a waiter that still waits a new waker and hands the old one back, to be dropped outside the lock. If it no
    /// longer waits, the new one comes back as the error.
    ///
    /// # Errors
    /// `waker` itself, if `key` no longer waits: it was granted.
    pub fn renew(&mut self, key: WaitKey, waker: Waker) -> Result<Waker, Waker> {
        match self.waiter_mut(key) {
            Some(waiter) => Ok(std::mem::replace(&mut waiter.waker, waker)),
            None => Err(waker),
        }
    }

    /// Takes a waiter out, wherever it stands; none if it no longer waits.
    pub fn remove(&mut self, key: WaitKey) -> Option<Waiter<T>> {
        let (prev, next) = self.slot(key).map(|slot| (slot.prev, slot.next))?;
        match prev {
            NONE => self.head = next,
            prev => self.slots[prev as usize].next = next,
        }
        match next {
            NONE => self.tail = prev,
            next => self.slots[next as usize].prev = prev,
        }
        let slot = &mut self.slots[key.index as usize];
        let waiter = slot.waiter.take();
        slot.stamp = 0;
        slot.next = self.free;
        self.free = key.index;
        self.len -= 1;
        self.give_back();
        waiter
    }

    /// Takes everybody out, oldest first.
    pub fn take_all(&mut self) -> Vec<Waiter<T>> {
        let mut all = Vec::with_capacity(self.len);
        while let Some(waiter) = self.pop_front() {
            all.push(waiter);
        }
        all
    }

    fn slot(&self, key: WaitKey) -> Option<&Slot<T>> {
        self.slots.get(key.index as usize).filter(|slot| slot.stamp == key.stamp)
    }

    fn waiter_mut(&mut self, key: WaitKey) -> Option<&mut Waiter<T>> {
        let slot = self.slots.get_mut(key.index as usize).filter(|slot| slot.stamp == key.stamp)?;
        slot.waiter.as_mut()
    }

    fn place(&mut self, slot: Slot<T>) -> u32 {
        if let Some(free) = self.slots.get_mut(self.free as usize) {
            let index = self.free;
            self.free = free.next;
            *free = slot;
            return index;
        }
        let index = u32::try_from(self.slots.len()).unwrap_or(NONE);
        assert!(index < NONE, "2^32 - 1 waiters at once");
        self.slots.push(slot);
        index
    }

    /// An empty list that held a crowd frees its slots: no waker is in them, so nothing of the user's is dropped.
    fn give_back(&mut self) {
        if self.len == 0 && self.slots.capacity() > KEPT {
            self.slots = Vec::new();
            self.free = NONE;
        }
    }
}

/// Wakers to be called once the lock is released: filled under it, emptied by [`WakeBatch::wake`] or by its drop.
///
/// Holds one waker without allocating, which is what a hand-over needs.
#[derive(Debug, Default)]
#[must_use = "wakers that are not woken leave their tasks asleep; bind the batch so that it outlives the lock"]
pub struct WakeBatch {
    first: Option<Waker>,
    more: Vec<Waker>,
}

impl WakeBatch {
    /// A batch with nobody in it.
    pub const fn new() -> Self {
        Self { first: None, more: Vec::new() }
    }

    /// Adds one.
    #[inline]
    pub fn push(&mut self, waker: Waker) {
        if self.first.is_none() && self.more.is_empty() {
            self.first = Some(waker);
        } else {
            self.more.push(waker);
        }
    }

    /// Whether nobody is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_none() && self.more.is_empty()
    }

    /// Wakes everybody in the order they were added. Not under a lock.
    #[inline]
    pub fn wake(self) {}

    /// The same, and nobody is in it then: for a batch that would have to be moved to be dropped.
    #[inline]
    pub fn wake_all(&mut self) {
        if self.more.is_empty() {
            if let Some(waker) = self.first.take() {
                waker.wake();
            }
        } else {
            self.wake_many();
        }
    }

    #[inline(never)]
    fn wake_many(&mut self) {
        let more = std::mem::take(&mut self.more).into_iter();
        let mut left = Rest(self.first.take().into_iter().chain(more));
        left.wake();
    }
}

impl<T> Extend<Waiter<T>> for WakeBatch {
    fn extend<I: IntoIterator<Item = Waiter<T>>>(&mut self, waiters: I) {
        for waiter in waiters {
            self.push(waiter.waker);
        }
    }
}

impl Drop for WakeBatch {
    /// Wakes who was not woken yet, also when a waker panics half way: the others must not sleep for ever. A second panic
    /// while the first unwinds aborts the process, as any panic in a drop does.
    #[inline]
    fn drop(&mut self) {
        self.wake_all();
    }
}

struct Rest<I: Iterator<Item = Waker>>(I);

impl<I: Iterator<Item = Waker>> Rest<I> {
    fn wake(&mut self) {
        for waker in self.0.by_ref() {
            waker.wake();
        }
    }
}

impl<I: Iterator<Item = Waker>> Drop for Rest<I> {
    fn drop(&mut self) {
        self.wake();
    }
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    struct Explodes;
    impl Wake for Explodes {
        fn wake(self: Arc<Self>) {
            std::panic::resume_unwind(Box::new("a waker of the user's"));
        }
    }

    #[test]
    fn a_panicking_waker_leaves_nobody_asleep() {
        let count = Arc::new(Count::default());
        let mut batch = WakeBatch::new();
        batch.push(Waker::from(Arc::clone(&count)));
        batch.push(Waker::from(Arc::new(Explodes)));
        batch.push(Waker::from(Arc::clone(&count)));
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| batch.wake()));
        assert!(caught.is_err());
        assert_eq!(count.0.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_waiter_takes_32_bytes_and_its_value() {
        assert_eq!(size_of::<Slot<()>>(), 32);
        assert_eq!(size_of::<Slot<u64>>(), 40);
    }

    #[test]
    fn a_list_that_runs_empty_after_a_crowd_gives_its_memory_back() {
        let mut list = WaitList::new();
        for _ in 0..10_000 {
            list.push_back(Waker::noop().clone(), ());
        }
        assert_eq!(list.take_all().len(), 10_000);
        assert!(list.slots.capacity() <= KEPT);
    }

    #[test]
    fn an_old_key_finds_nothing_in_a_reused_slot() {
        let mut list = WaitList::new();
        let old = list.push_back(Waker::noop().clone(), 1);
        list.pop_front();
        let new = list.push_back(Waker::noop().clone(), 2);
        assert_eq!(old.index, new.index);
        assert!(list.remove(old).is_none());
        assert!(list.renew(old, Waker::noop().clone()).is_err());
        assert_eq!(list.remove(new).map(|waiter| waiter.data), Some(2));
    }

    #[test]
    fn the_rank_of_the_front_is_zero_and_leavers_are_counted_until_it_moves() {
        let mut list = WaitList::new();
        let keys: Vec<_> = (0..4).map(|number| list.push_back(Waker::noop().clone(), number)).collect();
        let ranks = |list: &WaitList<_>| keys.iter().map(|key| list.rank(*key)).collect::<Vec<_>>();
        assert_eq!(ranks(&list), [0, 1, 2, 3]);
        list.remove(keys[1]);
        assert_eq!((list.rank(keys[2]), list.rank(keys[3])), (2, 3), "who left from between still counts");
        list.pop_front();
        assert_eq!((list.rank(keys[2]), list.rank(keys[3])), (0, 1));
    }

    #[derive(Clone, Debug)]
    enum Op {
        Push,
        Change(prop::sample::Index),
        Pop,
        Remove(prop::sample::Index),
        TakeAll,
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            4 => Just(Op::Push),
            2 => any::<prop::sample::Index>().prop_map(Op::Change),
            2 => Just(Op::Pop),
            3 => any::<prop::sample::Index>().prop_map(Op::Remove),
            1 => Just(Op::TakeAll),
        ]
    }

    proptest! {
        #[test]
        fn any_sequence_of_operations_equals_a_plain_queue(ops in prop::collection::vec(op(), 0..200)) {
            let mut list = WaitList::new();
            let mut model: VecDeque<(WaitKey, usize)> = VecDeque::new();
            let mut keys = Vec::new();
            for (number, op) in ops.into_iter().enumerate() {
                match op {
                    Op::Push => {
                        let key = list.push_back(Waker::noop().clone(), number);
                        model.push_back((key, number));
                        keys.push(key);
                    }
                    Op::Change(index) if !keys.is_empty() => {
                        let key = *index.get(&keys);
                        let expected = model.iter_mut().find(|(other, _)| *other == key);
                        let expected = expected.map(|(_, data)| std::mem::replace(data, number));
                        prop_assert_eq!(list.data_mut(key).map(|data| std::mem::replace(data, number)), expected);
                    }
                    Op::Pop => {
                        let expected = model.pop_front().map(|(_, data)| data);
                        prop_assert_eq!(list.pop_front().map(|waiter| waiter.data), expected);
                    }
                    Op::Remove(index) if !keys.is_empty() => {
                        let key = *index.get(&keys);
                        let at = model.iter().position(|(other, _)| *other == key);
                        let expected = at.and_then(|at| model.remove(at)).map(|(_, data)| data);
                        prop_assert_eq!(list.remove(key).map(|waiter| waiter.data), expected);
                    }
                    Op::Remove(_) | Op::Change(_) => {}
                    Op::TakeAll => {
                        let expected: Vec<_> = model.drain(..).map(|(_, data)| data).collect();
                        let taken: Vec<_> = list.take_all().into_iter().map(|waiter| waiter.data).collect();
                        prop_assert_eq!(taken, expected);
                    }
                }
                prop_assert_eq!(list.len(), model.len());
                prop_assert_eq!(list.front(), model.front().map(|(key, _)| *key));
                prop_assert_eq!(list.front_data().copied(), model.front().map(|(_, data)| *data));
                for (before, (key, _)) in model.iter().enumerate() {
                    prop_assert!(list.rank(*key) >= before as u64);
                }
            }
        }
    }
}
