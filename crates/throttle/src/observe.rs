//! What a throttle tells about itself.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tidegate_core::Class;

/// One attempt that ended, as its observer sees it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Observed {
    /// Which attempt of its call, counted from 1.
    pub attempt: u32,
    /// What it came to; `None` for a success. A time-out is [`Class::Transient`].
    pub class: Option<Class>,
    /// How long the attempt took, without the waits before it.
    pub took: Duration,
}

/// Called after each attempt, outside every lock.
#[derive(Clone, Default)]
pub(crate) struct Observer(Option<Arc<Callback>>);

type Callback = dyn Fn(&Observed) + Send + Sync;

impl Observer {
    pub(crate) fn new(callback: impl Fn(&Observed) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(callback)))
    }

    pub(crate) fn tell(&self, observed: &Observed) {
        if let Some(callback) = &self.0 {
            callback(observed);
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Observer" } else { "no observer" })
    }
}

/// Exact counts of everything a throttle did since it was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThrottleStats {
    /// Calls begun.
    pub calls: u64,
    /// Attempts begun: requests sent, as far as each attempt sends one.
    pub attempts: u64,
    /// Attempts that succeeded.
    pub succeeded: u64,
    /// Attempts answered "slow down".
    pub throttled: u64,
    /// Attempts that were not the first of their call.
    pub retries: u64,
    /// Retries answered "slow down": what a herd makes many of.
    pub throttled_retries: u64,
    /// Attempts cut off by the attempt time-out.
    pub timed_out: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    calls: AtomicU64,
    attempts: AtomicU64,
    succeeded: AtomicU64,
    throttled: AtomicU64,
    retries: AtomicU64,
    throttled_retries: AtomicU64,
    timed_out: AtomicU64,
}

impl Counters {
    /// The number of the call, from 0.
    pub(crate) fn call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) // Ordering: Relaxed; a count.
    }

    pub(crate) fn begun(&self, attempt: u32) {
        self.attempts.fetch_add(1, Ordering::Relaxed); // Ordering: Relaxed; a count.
        if attempt > 1 {
            self.retries.fetch_add(1, Ordering::Relaxed); // Ordering: Relaxed; a count.
        }
    }

    pub(crate) fn ended(&self, attempt: u32, class: Option<Class>) {
        match class {
            None => {
                self.succeeded.fetch_add(1, Ordering::Relaxed); // Ordering: Relaxed; a count.
            }
            Some(Class::Throttled(_)) => {
                self.throttled.fetch_add(1, Ordering::Relaxed); // Ordering: Relaxed; a count.
                if attempt > 1 {
                    self.throttled_retries.fetch_add(1, Ordering::Relaxed); // Ordering: Relaxed; a count.
                }
            }
            Some(_) => {}
        }
    }

    pub(crate) fn timed_out(&self) {
        self.timed_out.fetch_add(1, Ordering::Relaxed); // Ordering: Relaxed; a count.
    }

    pub(crate) fn read(&self) -> ThrottleStats {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed); // Ordering: Relaxed; a count.
        ThrottleStats {
            calls: of(&self.calls),
            attempts: of(&self.attempts),
            succeeded: of(&self.succeeded),
            throttled: of(&self.throttled),
            retries: of(&self.retries),
            throttled_retries: of(&self.throttled_retries),
            timed_out: of(&self.timed_out),
        }
    }
}
