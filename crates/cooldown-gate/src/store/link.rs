//! Ties one gate to one key of a store.
//!
//! # What goes where
//! | what happens | the gate | the store |
//! |---|---|---|
//! | the store says that the key is closed | closes for what remains, or is extended to it | nothing: it knows |
//! | the gate is closed by a caller | closed already | is told, with the epoch known before: a strike, unless another was faster |
//! | the gate is extended by a caller beyond what the store knows | extended already | is told, with an older epoch: no strike |
//! | the store does not answer | goes on by itself | is tried again after a pause |
//! | the cooldown ends before the store could be told | reopens by itself | is never told: it would be no news |
//!
//! # Invariants
//! - I1: `closings` counts the gate's closings that were caused by the store or are accounted for. What the gate counts
//!   beyond it are closings by callers.
//! - I2: `shared` is never earlier than the latest deadline that came from the store or was told to it, because the clock is
//!   read after the gate was closed. What stands at the gate is never taken to be later than it is, because the clock is
//!   read before. So a closing that came from the store never looks like news (no echo).
//! - I3: a closing by a caller belongs to the epoch known before the store's answer that follows it: it is looked for
//!   before `known` rises.

use std::collections::hash_map::RandomState;
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::BuildHasher;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::Instant;

use super::{GateStore, GateWatch, Stored};
use crate::{Closing, CooldownGate, GateState};

#[cfg(all(test, not(tidegate_loom)))]
mod tests;

/// Shares the closings of a gate with all others that follow the same key of the same store.
///
/// It does so while its future is polled: spawn [`run`](Link::run), and abort the task (or shut the gate down) to end it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// use std::time::Duration;
/// use tidegate_cooldown_gate::CooldownGate;
/// use tidegate_cooldown_gate::store::{GateStore, Link, LocalStore};
///
/// let (gate, store) = (CooldownGate::new(), LocalStore::new());
/// tokio::spawn(Link::new(gate.clone(), store.clone(), "api.example.org").run());
///
/// // Another process was told to slow down:
/// store.extend("api.example.org", Duration::from_secs(30), 0).await.unwrap();
/// tokio::task::yield_now().await;
/// # for _ in 0..8 { tokio::task::yield_now().await; }
/// assert!(!gate.is_open());
/// # }
/// ```
///
/// # Guarantees
/// - **CG-1** A closing by anybody holds for everybody who follows the key, and is only ever extended.
/// - **CG-4** One burst is one strike in the store, even if callers of several processes were throttled in it: only the
///   first that is told with the latest epoch counts.
/// - No pass waits for the store. While the store does not answer, the gate is closed by its own callers only.
/// - What came from the store is not told to it again.
///
/// An early opening ([`open_now`](CooldownGate::open_now)) stays local, and so does a shutdown.
pub struct Link<S> {
    gate: CooldownGate,
    store: S,
    key: Box<str>,
    pauses: Pauses,
    course: Course,
}

/// What was shared so far.
struct Course {
    began: Instant,
    /// The latest deadline that the store knows of, since `began`.
    shared: Duration,
    /// The store's epoch.
    known: u64,
    closings: u64,
    /// The epoch in which a caller closed the gate, until the store was told.
    untold: Option<u64>,
}

/// The pauses between two tries of a store that does not answer.
#[derive(Clone, Copy, Debug)]
struct Pauses {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Pauses {
    /// The next pause: twice as long each time. Between half of it and the whole, so that processes that lost the store
    /// together do not come back together.
    fn next(&mut self) -> Duration {
        let whole = self.next.min(self.longest);
        self.next = whole.saturating_mul(2);
        // A new hasher has a new random key: the hash of nothing is a random number.
        let lot = u32::try_from(RandomState::new().hash_one(()) >> 32).unwrap_or(0);
        let half = whole / 2;
        half.saturating_add(half.mul_f64(f64::from(lot) / f64::from(u32::MAX)))
    }

    fn reset(&mut self) {
        self.next = self.first;
    }
}

impl<S> fmt::Debug for Link<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("gate", &self.gate).field("pauses", &self.pauses).finish_non_exhaustive()
    }
}

impl<S: GateStore> Link<S> {
    /// Ties `gate` to `key` of `store`, once it runs.
    #[must_use = "a link shares nothing until its `run` is polled"]
    pub fn new(gate: CooldownGate, store: S, key: impl Into<Box<str>>) -> Self {
        let first = Duration::from_millis(100);
        let course =
            Course { began: Instant::now(), shared: Duration::ZERO, known: 0, closings: 0, untold: None };
        let pauses = Pauses { first, longest: Duration::from_secs(30), next: first };
        Self { gate, store, key: key.into(), pauses, course }
    }

    /// The first and the longest pause before a store that did not answer is tried again; 100 ms and 30 s unless set. Each
    /// is shortened by up to a half, at random.
    #[must_use = "a link shares nothing until its `run` is polled"]
    pub fn pauses(mut self, first: Duration, longest: Duration) -> Self {
        // A pause without a length would be a loop that never rests.
        let first = first.max(Duration::from_millis(1));
        self.pauses = Pauses { first, longest: longest.max(first), next: first };
        self
    }

    /// Shares closings both ways until the gate is shut down.
    ///
    /// # Cancel safety
    /// Dropped at any moment it leaves nothing behind in this process. A closing under way to the store may or may not
    /// arrive.
    ///
    /// # Panics
    /// If the store does not answer and there is no tokio timer to pause with.
    pub async fn run(mut self) {
        let gate = self.gate.clone();
        let shut_down = async {
            let mut rings = gate.echo().rings();
            while gate.state() != GateState::ShutDown {
                rings = gate.echo().changed(rings).await;
            }
        };
        match first_of(shut_down, self.share()).await {
            First::This(()) => {}
            First::That(never) => match never {},
        }
    }

    /// Shares closings both ways, and tries again after a pause whenever the store does not answer.
    async fn share(&mut self) -> Infallible {
        loop {
            let Err(_unreachable) = self.follow().await;
            tokio::time::sleep(self.pauses.next()).await;
        }
    }

    /// Shares closings both ways until the store does not answer.
    async fn follow(&mut self) -> Result<Infallible, S::Error> {
        let mut watch = self.store.watch(&self.key).await?;
        // What the store knows comes first, so that it is not told what it knows.
        let mut rings = self.gate.echo().rings();
        let stored = watch.next().await?;
        self.course.learn(&self.gate, stored);
        self.pauses.reset();
        loop {
            self.tell().await?;
            match first_of(watch.next(), self.gate.echo().changed(rings)).await {
                First::This(stored) => {
                    self.course.learn(&self.gate, stored?);
                    self.pauses.reset();
                }
                First::That(changed) => rings = changed,
            }
        }
    }

    /// Tells the store what it does not know yet.
    async fn tell(&mut self) -> Result<(), S::Error> {
        let Some((cooldown, epoch)) = self.course.news(&self.gate) else { return Ok(()) };
        let stored = self.store.extend(&self.key, cooldown, epoch).await?;
        self.course.untold = None;
        self.course.learn(&self.gate, stored);
        self.pauses.reset();
        Ok(())
    }
}

impl Course {
    /// Takes in how the key stands at the store.
    fn learn(&mut self, gate: &CooldownGate, stored: Stored) {
        if gate.close_for(stored.remaining) == Closing::Closed {
            self.closings += 1;
        }
        // After the closing (I2).
        let until = self.began.elapsed().saturating_add(stored.remaining);
        self.shared = self.shared.max(until);
        // Before `known` rises (I3).
        self.account(gate.snapshot().closures);
        self.known = self.known.max(stored.epoch);
    }

    /// Looks for closings by callers.
    fn account(&mut self, closings: u64) {
        if closings > self.closings {
            self.closings = closings;
            self.untold.get_or_insert(self.known);
        }
    }

    /// What the store is to be told, if anything: the cooldown and the epoch.
    fn news(&mut self, gate: &CooldownGate) -> Option<(Duration, u64)> {
        // Before the look at the gate (I2).
        let now = self.began.elapsed();
        let snapshot = gate.snapshot();
        self.account(snapshot.closures);
        if snapshot.remaining.is_zero() {
            self.untold = None;
            return None;
        }
        match self.untold {
            Some(epoch) => Some((snapshot.remaining, epoch)),
            None if now.saturating_add(snapshot.remaining) > self.shared => {
                Some((snapshot.remaining, self.known.saturating_sub(1)))
            }
            None => None,
        }
    }
}

enum First<A, B> {
    This(A),
    That(B),
}

/// Whichever future is ready first; the other is dropped.
async fn first_of<A: Future, B: Future>(this: A, that: B) -> First<A::Output, B::Output> {
    let (mut this, mut that) = (pin!(this), pin!(that));
    poll_fn(|cx| {
        if let Poll::Ready(output) = this.as_mut().poll(cx) {
            return Poll::Ready(First::This(output));
        }
        that.as_mut().poll(cx).map(First::That)
    })
    .await
}
