//! What one stage did so far.
//!
//! # Phases
//! | phase | what is true |
//! |---|---|
//! | `Idle` | its workers do not exist yet |
//! | `Running` | workers exist |
//! | `Held` | the workers have ended; senders that the stage gave away are still alive |
//! | `Ended` | workers and senders are gone, or the pipeline is aborted and the workers have ended |
//!
//! # Invariants
//! - I1: every item that is taken gets an [`Item`], and every `Item` adds to exactly one of the six ends: to the one it is
//!   settled with, or, dropped unsettled, to `left`. Hence PL-1, whatever unwinds or is given up.
//! - I2: `senders` is the number of [`Outlet`](crate::channel::Outlet)s of the stage; once zero it stays zero, because an
//!   outlet is made from a living one.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::channel::Meter;
use crate::count::Count;
use crate::error::Chain;
use crate::histogram::Histogram;
use crate::live::Phase;

/// How many error texts a stage keeps.
pub(crate) const SAMPLE: usize = 8;

pub(crate) struct Tally {
    pub(crate) name: Arc<str>,
    pub(crate) workers: usize,
    /// The queue it reads; none for a source.
    pub(crate) input: Option<Arc<Meter>>,
    pub(crate) consumed: Count,
    pub(crate) completed: Count,
    pub(crate) filtered: Count,
    pub(crate) failed: Count,
    pub(crate) throttled: Count,
    pub(crate) panicked: Count,
    pub(crate) left: Count,
    pub(crate) emitted: Count,
    pub(crate) queued: Count,
    pub(crate) busy: Count,
    pub(crate) blocked: Count,
    pub(crate) starved: Count,
    pub(crate) times: Histogram,
    senders: AtomicUsize,
    parked: AtomicUsize,
    released: Notify,
    stopped: AtomicBool,
    life: Mutex<Life>,
    errors: Mutex<Vec<String>>,
}

#[derive(Clone, Copy)]
struct Life {
    phase: Phase,
    began: Option<Instant>,
    ended: Option<Instant>,
}

impl Tally {
    pub(crate) fn new(name: Arc<str>, workers: usize, input: Option<Arc<Meter>>) -> Self {
        Self {
            name,
            workers,
            input,
            consumed: Count::default(),
            completed: Count::default(),
            filtered: Count::default(),
            failed: Count::default(),
            throttled: Count::default(),
            panicked: Count::default(),
            left: Count::default(),
            emitted: Count::default(),
            queued: Count::default(),
            busy: Count::default(),
            blocked: Count::default(),
            starved: Count::default(),
            times: Histogram::default(),
            senders: AtomicUsize::new(0),
            parked: AtomicUsize::new(0),
            released: Notify::new(),
            stopped: AtomicBool::new(false),
            life: Mutex::new(Life { phase: Phase::Idle, began: None, ended: None }),
            errors: Mutex::new(Vec::new()),
        }
    }

    /// Takes an item: from now on it counts, and will be counted once more, by how it ends (I1).
    pub(crate) fn take(&self) -> Item<'_> {
        self.consumed.one();
        Item { tally: self, settled: false }
    }

    /// What was taken and has no end yet. Ends are read first, so that it never comes out too small.
    pub(crate) fn in_flight(&self) -> u64 {
        let ends =
            [&self.completed, &self.filtered, &self.failed, &self.throttled, &self.panicked, &self.left];
        let ended: u64 = ends.iter().map(|count| count.get()).sum();
        self.consumed.get().saturating_sub(ended)
    }

    /// Keeps the text of an error, and of what caused it, if it is one of the first few.
    pub(crate) fn note_error(&self, error: &(dyn Error + 'static)) {
        let full = self.errors.lock().len() >= SAMPLE;
        if !full {
            // Outside the lock: it is the user's `Display`.
            let text = Chain(error).to_string();
            let mut errors = self.errors.lock();
            if errors.len() < SAMPLE {
                errors.push(text);
            }
        }
    }

    pub(crate) fn errors(&self) -> Vec<String> {
        self.errors.lock().clone()
    }

    /// A worker ends because of the abort, not because its input is exhausted.
    pub(crate) fn stop(&self) {
        // Ordering: Relaxed; read after the workers were joined.
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn was_stopped(&self) -> bool {
        // Ordering: Relaxed; see `stop`.
        self.stopped.load(Ordering::Relaxed)
    }

    pub(crate) fn enter(&self, phase: Phase) {
        let now = Instant::now();
        let mut life = self.life.lock();
        life.phase = phase;
        life.began.get_or_insert(now);
        if phase == Phase::Ended {
            life.ended = Some(now);
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.life.lock().phase
    }

    /// From the first worker to the end, or to now.
    pub(crate) fn wall(&self) -> Duration {
        let life = *self.life.lock();
        let Some(began) = life.began else { return Duration::ZERO };
        life.ended.unwrap_or_else(Instant::now).saturating_duration_since(began)
    }

    pub(crate) fn senders(&self) -> usize {
        // Ordering: Acquire; pairs with the Release in `Sender::drop`: who reads zero sees all that was emitted. A stale
        // value is never zero (I2).
        self.senders.load(Ordering::Acquire)
    }

    pub(crate) fn parked(&self) -> usize {
        // Ordering: Relaxed; a hint for the stall watch, which looks again later.
        self.parked.load(Ordering::Relaxed)
    }

    /// Resolves after the last sender is gone; may resolve earlier, so look at [`senders`](Self::senders) again.
    pub(crate) async fn released(&self) {
        self.released.notified().await;
    }
}

/// An item in hand (I1).
#[must_use]
pub(crate) struct Item<'a> {
    tally: &'a Tally,
    settled: bool,
}

impl Item<'_> {
    /// The item ends, and is counted in `end` (a count of its own stage).
    pub(crate) fn settle(mut self, end: impl FnOnce(&Tally) -> &Count) {
        end(self.tally).one();
        self.settled = true;
    }
}

impl Drop for Item<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.tally.left.one();
        }
    }
}

/// One living sender of a stage (I2).
pub(crate) struct Sender(Arc<Tally>);

impl Sender {
    pub(crate) fn new(tally: Arc<Tally>) -> Self {
        // Ordering: Relaxed; made from a living one or before the workers start, so it cannot race with zero (I2).
        tally.senders.fetch_add(1, Ordering::Relaxed);
        Self(tally)
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.0
    }

    /// Counts as waiting for a free place until dropped.
    pub(crate) fn park(&self) -> Parked<'_> {
        // Ordering: Relaxed; see `Tally::parked`.
        self.0.parked.fetch_add(1, Ordering::Relaxed);
        Parked(&self.0)
    }
}

impl Clone for Sender {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.0))
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // Ordering: AcqRel; Release for `Tally::senders`, Acquire so that the last one sees what the others did.
        if self.0.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.released.notify_one();
        }
    }
}

pub(crate) struct Parked<'a>(&'a Tally);

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        // Ordering: Relaxed; see `Tally::parked`.
        self.0.parked.fetch_sub(1, Ordering::Relaxed);
    }
}
