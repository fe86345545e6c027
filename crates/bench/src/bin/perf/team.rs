//! Threads that run every batch in the same moment, and know whether one of them was preempted.
//!
//! # A round
//! | step | every thread |
//! |---|---|
//! | 1 | waits for the others, then reads the plan |
//! | 2 | reads how often it was preempted so far |
//! | 3 | for each batch: warms up, waits for the others, runs the batch |
//! | 4 | reads again how often it was preempted, leaves its report, waits for the others |
//!
//! They wait spinning: a parked thread wakes tens of microseconds late, and until then the others would run their
//! batch undisturbed by it. A team of one does the same, with nobody to wait for.

use std::hint::spin_loop;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::contest::Contestant;

/// How long everybody sleeps after a disturbed round: a thread that slept comes back with a whole slice of time.
const REST: Duration = Duration::from_millis(1);
/// The share of a batch that is run first, unmeasured.
const WARM_UP: u64 = 8;
const SPINS: u32 = 20_000;

/// So many iterations of one contestant, by its index.
#[derive(Clone, Copy)]
pub(crate) struct Batch {
    pub(crate) contestant: usize,
    pub(crate) iterations: u64,
}

/// What everybody does in one round.
#[derive(Clone, Default)]
struct Plan {
    batches: Arc<[Batch]>,
    rest: bool,
    /// There is no round any more.
    stop: bool,
}

/// How a round went.
#[derive(Clone, Default)]
pub(crate) struct Round {
    /// The time of the slowest thread, batch by batch in the order of the plan.
    pub(crate) times: Vec<Duration>,
    /// Whether any thread was preempted in any batch.
    pub(crate) preempted: bool,
}

pub(crate) struct Team<'a> {
    contestants: &'a [Contestant],
    line: Line,
    plan: Mutex<Plan>,
    reports: Mutex<Vec<Round>>,
}

impl<'a> Team<'a> {
    /// Gives `lead` a team of so many threads, the calling one among them.
    pub(crate) fn of<R>(threads: usize, contestants: &'a [Contestant], lead: impl FnOnce(&Self) -> R) -> R {
        let (plan, reports) = Default::default();
        let team = Team { contestants, line: Line::new(threads), plan, reports };
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| {
                    let _breaks = Breaks(&team.line);
                    while team.take_part() {}
                });
            }
            let _breaks = Breaks(&team.line);
            let result = lead(&team);
            *lock(&team.plan) = Plan { stop: true, ..Plan::default() };
            team.take_part();
            result
        })
    }

    /// One round of these batches; everybody rests before it, if told to.
    pub(crate) fn round(&self, batches: &[Batch], rest: bool) -> Round {
        *lock(&self.plan) = Plan { batches: batches.into(), rest, stop: false };
        self.take_part();
        let reports = std::mem::take(&mut *lock(&self.reports));
        let slowest = |batch| reports.iter().filter_map(|report| report.times.get(batch)).max().copied();
        Round {
            times: (0..batches.len()).filter_map(slowest).collect(),
            preempted: reports.iter().any(|report| report.preempted),
        }
    }

    /// One thread's part in a round; whether there was one.
    fn take_part(&self) -> bool {
        self.line.wait();
        let plan = lock(&self.plan).clone();
        if plan.stop {
            return false;
        }
        if plan.rest {
            thread::sleep(REST);
        }
        let before = preemptions();
        let mut times = Vec::with_capacity(plan.batches.len());
        for batch in &*plan.batches {
            let contestant = &self.contestants[batch.contestant];
            contestant.run(batch.iterations / WARM_UP);
            self.line.wait();
            times.push(contestant.run(batch.iterations));
        }
        let undisturbed = matches!((before, preemptions()), (Ok(before), Ok(after)) if before == after);
        lock(&self.reports).push(Round { times, preempted: !undisturbed });
        self.line.wait();
        true
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often the calling thread lost its processor while it had work to do.
///
/// # Errors
/// Where the system does not tell: it has to be Linux.
pub(crate) fn preemptions() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/thread-self/status");
    let status = status.context("cannot read /proc/thread-self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    let count = line.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound));
    count
        .and_then(|count| count.trim().parse().map_err(io::Error::other))
        .context("/proc/thread-self/status does not tell the involuntary context switches of a thread")
}

/// Where threads wait for each other, again and again.
#[repr(align(128))]
struct Line {
    size: usize,
    arrived: AtomicUsize,
    turn: AtomicUsize,
    broken: AtomicBool,
}

impl Line {
    const fn new(size: usize) -> Self {
        let (arrived, turn) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { size, arrived, turn, broken: AtomicBool::new(false) }
    }

    /// Returns when everybody waits.
    ///
    /// # Panics
    /// If one of the others panicked, and will never come.
    fn wait(&self) {
        // Ordering: Relaxed; the turn cannot end before this thread arrives, and it saw the last one end.
        let turn = self.turn.load(Ordering::Relaxed);
        // Ordering: AcqRel; the last to arrive sees what the others did before, and hands it on with the turn.
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.size {
            // Ordering: Relaxed; published by the store below.
            self.arrived.store(0, Ordering::Relaxed);
            // Ordering: Release; pairs with the load below.
            self.turn.store(turn.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut spins = 0;
        // Ordering: Acquire; pairs with the store above: what everybody did before is visible.
        while self.turn.load(Ordering::Acquire) == turn {
            // Ordering: Relaxed; it publishes nothing.
            assert!(!self.broken.load(Ordering::Relaxed), "another thread of the team panicked");
            spins += 1;
            if spins < SPINS { spin_loop() } else { thread::yield_now() }
        }
    }
}

/// Has the others fail too, instead of waiting for ever, when this thread panics.
struct Breaks<'a>(&'a Line);

impl Drop for Breaks<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            // Ordering: Relaxed; it publishes nothing.
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_runs_every_batch_in_order() {
        let log = Arc::new(Mutex::new(Vec::new()));
        let contestant = |name: &'static str, millis| {
            let log = Arc::clone(&log);
            Contestant::timed(name, move |iterations| {
                lock(&log).push((thread::current().id(), name, iterations));
                // One thread is slower than the other.
                let slow = lock(&log)[0].0 == thread::current().id();
                Duration::from_millis(if slow { millis + 1 } else { millis })
            })
        };
        let contestants = [contestant("a", 10), contestant("b", 20)];
        let plan = [Batch { contestant: 1, iterations: 16 }, Batch { contestant: 0, iterations: 8 }];
        let round = Team::of(2, &contestants, |team| team.round(&plan, true));
        assert_eq!(round.times, [Duration::from_millis(21), Duration::from_millis(11)]);
        let log = lock(&log);
        for slow in [true, false] {
            let of_it = log.iter().filter(|entry| (entry.0 == log[0].0) == slow);
            let runs: Vec<_> = of_it.map(|entry| (entry.1, entry.2)).collect();
            assert_eq!(runs, [("b", 2), ("b", 16), ("a", 1), ("a", 8)]);
        }
    }

    #[test]
    fn a_panic_in_one_thread_ends_the_team() {
        let entered = AtomicUsize::new(0);
        let contestants = [Contestant::timed("odd", move |_| {
            assert_eq!(entered.fetch_add(1, Ordering::Relaxed), 0, "the second to come");
            Duration::ZERO
        })];
        let round =
            || Team::of(2, &contestants, |team| team.round(&[Batch { contestant: 0, iterations: 1 }], false));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(round)).is_err());
    }

    #[test]
    fn a_thread_knows_how_often_it_was_preempted() {
        assert!(preemptions().is_ok());
    }
}
