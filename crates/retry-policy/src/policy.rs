//! The policy: plain numbers, built by `const` setters.

use core::time::Duration;

use crate::backoff::{Curve, Delays, Jitter};

/// How often, how long and how patiently to retry. Plain numbers: `Copy`, and `const` throughout.
///
/// [`RetryPolicy::new`] is the *persistence preset*: five calls, 50 ms before the first retry, doubled each time, at most
/// 1 s, no jitter: 50, 100, 200, 400 ms between the five. Every number is taken; those that make no sense mean their
/// nearest sensible neighbour, and none can make it panic.
///
/// ```
/// use std::time::Duration;
/// use tidegate_retry_policy::{Jitter, RetryPolicy};
///
/// const CALM: RetryPolicy = RetryPolicy::new()
///     .max_attempts(8)
///     .initial_delay(Duration::from_millis(500))
///     .max_delay(Duration::from_secs(30))
///     .jitter(Jitter::Equal)
///     .deadline(Duration::from_secs(120));
/// assert_eq!(CALM.delays(7).count(), 7);
///
/// let millis: Vec<_> = RetryPolicy::new().delays(0).map(|delay| delay.as_millis()).collect();
/// assert_eq!(millis, [50, 100, 200, 400]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    pub(crate) max_attempts: u32,
    pub(crate) curve: Curve,
    pub(crate) deadline: Duration,
    pub(crate) attempt_timeout: Duration,
    pub(crate) max_hint: Duration,
    pub(crate) throttled_is_free: bool,
}

impl RetryPolicy {
    /// The longest hint that is waited for unless [`max_hint`](Self::max_hint) says otherwise: 10 minutes.
    pub const MAX_HINT: Duration = Duration::from_secs(600);

    /// The persistence preset, for a database that is busy for a moment.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            max_attempts: 5,
            curve: Curve {
                initial: Duration::from_millis(50),
                factor: 2.0,
                max_delay: Duration::from_secs(1),
                jitter: Jitter::None,
            },
            deadline: Duration::MAX,
            attempt_timeout: Duration::MAX,
            max_hint: Self::MAX_HINT,
            throttled_is_free: false,
        }
    }

    /// One call and no retry.
    #[must_use]
    pub const fn none() -> Self {
        Self::new().max_attempts(1)
    }

    /// How many *calls* are made at most, the first included (**RP-2**). 0 counts as 1.
    #[must_use]
    pub const fn max_attempts(mut self, calls: u32) -> Self {
        self.max_attempts = if calls == 0 { 1 } else { calls };
        self
    }

    /// The delay before the first retry, before jitter. More than the maximum counts as the maximum; zero retries at
    /// once, every time.
    #[must_use]
    pub const fn initial_delay(mut self, delay: Duration) -> Self {
        self.curve.initial = delay;
        self
    }

    /// What each delay is multiplied with for the next one. Below 1, and NaN, count as 1.
    #[must_use]
    pub const fn factor(mut self, factor: f64) -> Self {
        self.curve.factor = factor;
        self
    }

    /// The longest delay, jitter included. Only a server's hint can ask for more.
    #[must_use]
    pub const fn max_delay(mut self, delay: Duration) -> Self {
        self.curve.max_delay = delay;
        self
    }

    /// How delays are spread.
    #[must_use]
    pub const fn jitter(mut self, jitter: Jitter) -> Self {
        self.curve.jitter = jitter;
        self
    }

    /// How long everything may take: calls, waits, all of it. No wait begins that would leave no time for a call
    /// (**RP-3**); the runner also cuts off a call that is still running then. [`Duration::MAX`], the default, is none.
    #[must_use]
    pub const fn deadline(mut self, total: Duration) -> Self {
        self.deadline = total;
        self
    }

    /// How long one call may take, from the moment it is first pending; then it is cut off and counts as transient.
    /// [`Duration::MAX`], the default, is no limit.
    #[must_use]
    pub const fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.attempt_timeout = limit;
        self
    }

    /// The longest server's hint that is waited for, [`MAX_HINT`](Self::MAX_HINT) unless set. A longer one stops with
    /// [`HintTooLong`](crate::StopReason::HintTooLong): coming back early would be refused again.
    #[must_use]
    pub const fn max_hint(mut self, longest: Duration) -> Self {
        self.max_hint = longest;
        self
    }

    /// Whether somebody else, a gate, makes throttled calls wait. Then a throttled call is not charged to
    /// [`max_attempts`](Self::max_attempts) and gets a delay of zero; only the [`deadline`](Self::deadline) ends it, with
    /// [`Throttled`](crate::StopReason::Throttled). Without a gate **and** a deadline this would retry without end.
    #[must_use]
    pub const fn throttled_is_free(mut self, free: bool) -> Self {
        self.throttled_is_free = free;
        self
    }

    /// The delays between the calls of one run in which every call fails as transient: `max_attempts - 1` of them, each
    /// at most `max_delay` (**RP-1**). The same seed gives the same delays.
    pub fn delays(&self, seed: u64) -> Delays {
        Delays::new(self.curve, seed, self.max_attempts - 1)
    }

    /// What is left until the deadline after `elapsed`; none if there is no deadline.
    #[must_use]
    pub fn time_left(&self, elapsed: Duration) -> Option<Duration> {
        (self.deadline < Duration::MAX).then(|| self.deadline.saturating_sub(elapsed))
    }

    /// How long a call that begins after `elapsed` may take: its own limit or what is left until the deadline, whichever
    /// is shorter; none if there is neither.
    #[must_use]
    pub fn attempt_limit(&self, elapsed: Duration) -> Option<Duration> {
        let own = (self.attempt_timeout < Duration::MAX).then_some(self.attempt_timeout);
        match (own, self.time_left(elapsed)) {
            (Some(own), Some(left)) => Some(own.min(left)),
            (own, left) => own.or(left),
        }
    }
}

/// The persistence preset.
impl Default for RetryPolicy {
    fn default() -> Self {
        Self::new()
    }
}
