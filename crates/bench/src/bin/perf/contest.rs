//! What is measured: suites of cases, and the contestants of each.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// The cases of one crate.
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    /// Makes every case anew.
    pub(crate) cases: fn() -> Vec<Case>,
}

/// One thing to be done, and several who do it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    /// The case is measured once with each of these numbers of threads.
    pub(crate) threads: &'static [usize],
    /// The first is the floor: what the work costs at the very least.
    pub(crate) contestants: Vec<Contestant>,
}

/// One way of doing it. All threads share it.
pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    pub(crate) goals: Vec<Goal>,
    batch: Box<dyn Fn(u64) -> Duration + Sync>,
}

/// What is promised: to cost at most so many times what another contestant costs.
#[derive(Clone, Copy)]
pub(crate) struct Goal {
    pub(crate) most: f64,
    /// The floor, if nobody.
    pub(crate) of: Option<&'static str>,
    /// With so many threads only, if some.
    pub(crate) threads: Option<usize>,
}

impl Contestant {
    /// Does `operation` again and again; its result counts as used.
    ///
    /// Eight times a turn of the loop: many processors do one branch a cycle, and if the loop's own were one of two, a
    /// branch that is never taken would look as dear as a load.
    pub(crate) fn each<T>(name: &'static str, operation: impl Fn() -> T + Sync + 'static) -> Self {
        const EIGHT: u64 = 8;
        Self::timed(name, move |iterations| {
            let start = Instant::now();
            for _ in 0..iterations / EIGHT {
                // Unrolled where it is small, which is where it matters.
                for _ in 0..EIGHT {
                    black_box(operation());
                }
            }
            for _ in 0..iterations % EIGHT {
                black_box(operation());
            }
            start.elapsed()
        })
    }

    /// Does so many iterations and says how long they took: for work that has to be prepared outside the measured time.
    pub(crate) fn timed(name: &'static str, batch: impl Fn(u64) -> Duration + Sync + 'static) -> Self {
        Self { name, goals: Vec::new(), batch: Box::new(batch) }
    }

    /// Promises to cost at most so many times the floor.
    pub(crate) fn at_most(self, most: f64) -> Self {
        self.promises(Goal { most, of: None, threads: None })
    }

    pub(crate) fn promises(mut self, goal: Goal) -> Self {
        self.goals.push(goal);
        self
    }

    pub(crate) fn run(&self, iterations: u64) -> Duration {
        (self.batch)(iterations)
    }
}

/// What one iteration is told in.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Nanoseconds,
    Microseconds,
}

impl Unit {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
        }
    }

    pub(crate) const fn per_second(self) -> f64 {
        match self {
            Self::Nanoseconds => 1e9,
            Self::Microseconds => 1e6,
        }
    }
}
