//! Chooses the parts of a throttle.

use std::fmt;
use std::time::Duration;

use tidegate_abort_signal::AbortSignal;
use tidegate_adaptive_semaphore::AdaptiveSemaphore;
use tidegate_cooldown_gate::CooldownGate;
use tidegate_retry_policy::RetryPolicy;

use crate::observe::{Counters, Observed, Observer};
use crate::throttle::Inner;
use crate::{Errors, EveryErrorTransient, Throttle};

/// Chooses the parts of a [`Throttle`]. What is not chosen gets a part of its own with that part's defaults.
#[must_use = "a builder does nothing until it is built"]
pub struct ThrottleBuilder<J> {
    parts: Inner<J>,
    deadline: Option<Duration>,
    attempt_timeout: Option<Duration>,
}

/// How long a call may take in all unless chosen.
const DEADLINE: Duration = Duration::from_secs(600);

impl ThrottleBuilder<EveryErrorTransient> {
    pub(crate) fn new() -> Self {
        Self {
            parts: Inner {
                gate: CooldownGate::new(),
                permits: AdaptiveSemaphore::new(),
                retry: RetryPolicy::default(),
                signal: AbortSignal::new(),
                judge: EveryErrorTransient,
                observer: Observer::default(),
                seed: fastrand::u64(..),
                counters: Counters::default(),
            },
            deadline: None,
            attempt_timeout: None,
        }
    }
}

impl<J> ThrottleBuilder<J> {
    /// The gate that every attempt passes. Share one gate among all throttles of one service.
    pub fn gate(mut self, gate: CooldownGate) -> Self {
        self.parts.gate = gate;
        self
    }

    /// The semaphore that bounds the attempts in flight.
    pub fn permits(mut self, permits: AdaptiveSemaphore) -> Self {
        self.parts.permits = permits;
        self
    }

    /// How often a transient failure is tried again, after which delays, and how long a call and an attempt may take: five
    /// attempts, 50 ms doubling up to 1 s, unless chosen.
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.parts.retry = retry;
        self
    }

    /// The signal that ends every call. A fatal failure aborts it, so share it with whoever else must stop then.
    pub fn abort(mut self, signal: AbortSignal) -> Self {
        self.parts.signal = signal;
        self
    }

    /// How long a call may take in all, waits included: the retry policy's deadline, or 10 min if it has none, unless
    /// chosen here. `Duration::MAX` is no limit.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// How long one attempt may take; past it the attempt is dropped and counts as transient. As the retry policy has
    /// it unless chosen here.
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt_timeout = Some(timeout);
        self
    }

    /// Called after each attempt, outside every lock. A panic of it passes through to the caller.
    pub fn observe(mut self, observer: impl Fn(&Observed) + Send + Sync + 'static) -> Self {
        self.parts.observer = Observer::new(observer);
        self
    }

    /// Seeds the jitter of the back-offs, so that a test can repeat them.
    pub fn seed(mut self, seed: u64) -> Self {
        self.parts.seed = seed;
        self
    }

    /// Judges errors by `classifier`; every `Ok` is a success.
    pub fn classify<C>(self, classifier: C) -> ThrottleBuilder<Errors<C>> {
        self.judge(Errors(classifier))
    }

    /// Judges whole results.
    pub fn judge<K>(self, judge: K) -> ThrottleBuilder<K> {
        let Inner { gate, permits, retry, signal, observer, seed, counters, .. } = self.parts;
        let parts = Inner { gate, permits, retry, signal, judge, observer, seed, counters };
        ThrottleBuilder { parts, deadline: self.deadline, attempt_timeout: self.attempt_timeout }
    }

    /// The throttle.
    #[must_use]
    pub fn build(mut self) -> Throttle<J> {
        let retry = self.parts.retry;
        let deadline = self.deadline.or_else(|| retry.time_left(Duration::ZERO)).unwrap_or(DEADLINE);
        let retry = match self.attempt_timeout {
            Some(timeout) => retry.attempt_timeout(timeout),
            None => retry,
        };
        self.parts.retry = retry.deadline(deadline).throttled_is_free(true);
        Throttle::from_parts(self.parts)
    }
}

impl<J> fmt::Debug for ThrottleBuilder<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThrottleBuilder").field("retry", &self.parts.retry).finish_non_exhaustive()
    }
}
