//! Tells whoever follows a gate that it was closed or extended: a count of rings, and who waits for the next.
//!
//! ```text
//!  63                                             1      0
//! +------------------------------------------------+-----------+
//! |                 rings so far                   | listening |
//! +------------------------------------------------+-----------+
//! ```
//!
//! # States
//! | listening | the list | a ring |
//! |---|---|---|
//! | 0 | empty | adds to the word: no lock |
//! | 1 | may hold listeners | adds to the word, then takes everybody out of the list and wakes them outside the lock |
//!
//! # Invariants
//! - I1: the bit is set and cleared under the lock. It is set whenever the lock is free and somebody is in the list.
//! - I2: all changes of the word are read-modify-writes, so that a ring and a listener's bit have an order. A ring that
//!   comes after the bit sees it and wakes; a bit that comes after the ring sees the new count and does not wait.
//!
//! # Orderings
//! - P1: a ring releases, and whoever learns the count acquires: it sees the closing that was rung for.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tidegate_sync::primitives::Mutex;
use tidegate_sync::primitives::atomic::{AtomicU64, Ordering};
use tidegate_sync::{WaitKey, WaitList, WakeBatch};

const LISTENING: u64 = 1;
const RING: u64 = 2;

#[derive(Debug)]
pub(crate) struct Echo {
    word: AtomicU64,
    listeners: Mutex<WaitList>,
}

impl Default for Echo {
    fn default() -> Self {
        Self { word: AtomicU64::new(0), listeners: Mutex::new(WaitList::new()) }
    }
}

impl Echo {
    /// Says that something changed. One atomic addition while nobody listens.
    pub(crate) fn ring(&self) {
        // Ordering: AcqRel; the Release publishes what is rung for (P1), the Acquire pairs with the listener's bit (I2).
        if self.word.fetch_add(RING, Ordering::AcqRel) & LISTENING == 0 {
            return;
        }
        let mut wakes = WakeBatch::new();
        let mut listeners = self.listeners.lock();
        wakes.extend(listeners.take_all());
        self.deafen();
        drop(listeners);
        wakes.wake();
    }

    /// How often it was rung.
    pub(crate) fn rings(&self) -> u64 {
        // Ordering: Acquire; pairs with `ring` (P1).
        self.word.load(Ordering::Acquire) / RING
    }

    /// Waits until it was rung more often than `seen` times; how often then.
    pub(crate) fn changed(&self, seen: u64) -> Changed<'_> {
        Changed { echo: self, seen, key: None }
    }

    /// Under the lock, when the list is empty.
    fn deafen(&self) {
        // Ordering: Relaxed; the lock orders it with other bits (I1), and a ring in between found nobody to wake.
        self.word.fetch_and(!LISTENING, Ordering::Relaxed);
    }
}

/// Waits for a ring.
///
/// # Cancel safety
/// Dropped at any moment it leaves nothing behind, and loses nothing: the count tells the next one.
#[derive(Debug)]
#[must_use = "a future does nothing unless it is polled"]
pub(crate) struct Changed<'a> {
    echo: &'a Echo,
    seen: u64,
    key: Option<WaitKey>,
}

impl Changed<'_> {
    /// Leaves the list, if it still stands there; its waker is dropped outside the lock.
    fn leave(&mut self) {
        let Some(key) = self.key.take() else { return };
        let mut listeners = self.echo.listeners.lock();
        let gone = listeners.remove(key);
        if gone.is_some() && listeners.is_empty() {
            self.echo.deafen();
        }
        drop(listeners);
        drop(gone);
    }
}

impl Future for Changed<'_> {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u64> {
        let this = &mut *self;
        let rings = this.echo.rings();
        if rings != this.seen {
            this.leave();
            return Poll::Ready(rings);
        }
        let waker = cx.waker().clone();
        let mut listeners = this.echo.listeners.lock();
        let renewed = match this.key {
            Some(key) => listeners.renew(key, waker),
            None => Err(waker),
        };
        let old = match renewed {
            Ok(old) => Some(old),
            Err(waker) => {
                this.key = Some(listeners.push_back(waker, ()));
                None
            }
        };
        // Ordering: AcqRel; a ring before it is seen here (P1, I2), a ring after it sees the bit.
        let rings = this.echo.word.fetch_or(LISTENING, Ordering::AcqRel) / RING;
        drop(listeners);
        drop(old);
        if rings == this.seen {
            return Poll::Pending;
        }
        this.leave();
        Poll::Ready(rings)
    }
}

impl Drop for Changed<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod models {
    use super::*;
    use std::future::poll_fn;
    use std::task::Waker;
    use tidegate_sync::model::check;
    use tidegate_sync::parker::block_on;
    use tidegate_sync::primitives::{Arc, thread};

    /// CG-1, for whoever follows a gate or a store: no closing is slept through.
    #[test]
    fn cg1_a_listener_never_sleeps_through_a_ring() {
        check("cg1_a_listener_never_sleeps_through_a_ring", 5, || {
            let echo = Arc::new(Echo::default());
            let ringer = {
                let echo = Arc::clone(&echo);
                thread::spawn(move || echo.ring())
            };
            assert_eq!(block_on(echo.changed(0)), 1);
            ringer.join().unwrap();
            assert_eq!(echo.word.load(Ordering::Acquire), RING, "a listener was left behind");
        });
    }

    /// CG-1: a listener that leaves takes neither another's ring nor its bit with it.
    #[test]
    fn cg1_a_listener_that_leaves_silences_nobody() {
        check("cg1_a_listener_that_leaves_silences_nobody", 10, || {
            let echo = Arc::new(Echo::default());
            let leaver = {
                let echo = Arc::clone(&echo);
                thread::spawn(move || {
                    let mut changed = echo.changed(0);
                    let _ = Pin::new(&mut changed).poll(&mut Context::from_waker(Waker::noop()));
                })
            };
            let ringer = {
                let echo = Arc::clone(&echo);
                thread::spawn(move || echo.ring())
            };
            assert_eq!(block_on(echo.changed(0)), 1);
            leaver.join().unwrap();
            ringer.join().unwrap();
            assert!(echo.listeners.lock().is_empty(), "a listener was left behind");
        });
    }

    /// CG-1: whoever hears a ring sees what was rung for.
    #[test]
    fn cg1_whoever_hears_a_ring_sees_what_it_was_for() {
        check("cg1_whoever_hears_a_ring_sees_what_it_was_for", 5, || {
            let shared = Arc::new((Echo::default(), AtomicU64::new(0)));
            let ringer = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    // Ordering: Relaxed; the ring publishes it (P1).
                    shared.1.store(7, Ordering::Relaxed);
                    shared.0.ring();
                })
            };
            let mut changed = shared.0.changed(0);
            block_on(poll_fn(|cx| Pin::new(&mut changed).poll(cx)));
            // Ordering: Relaxed; the count was acquired (P1).
            assert_eq!(shared.1.load(Ordering::Relaxed), 7, "rung before it happened");
            ringer.join().unwrap();
        });
    }
}
