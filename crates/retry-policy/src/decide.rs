//! What to do after a failed call. Pure: no clock, no sleep, no allocation, `no_std`.

use core::fmt;
use core::time::Duration;

use fastrand::Rng;
use tidegate_core::{Class, RetryHint};

use crate::RetryPolicy;
use crate::backoff::Backoff;

/// How far one run has come: what [`RetryPolicy::decide`] remembers from failure to failure.
#[derive(Clone, Debug)]
pub struct Progress {
    charged: u32,
    backoff: Backoff,
}

impl Progress {
    /// A run that has not failed yet, with jitter from this thread's generator.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn new() -> Self {
        Self { charged: 0, backoff: Backoff::new(Rng::new()) }
    }

    /// A run that has not failed yet, with jitter from `seed`.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { charged: 0, backoff: Backoff::new(Rng::with_seed(seed)) }
    }

    /// How many failed calls were charged to `max_attempts`.
    #[must_use]
    pub fn charged(&self) -> u32 {
        self.charged
    }
}

#[cfg(feature = "std")]
impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

/// What to do after a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// Wait for `delay`, then call again.
    Retry {
        /// How long to wait; zero means at once, or, for a throttled call that is free, as long as the gate says.
        delay: Duration,
    },
    /// Give up.
    Stop(StopReason),
}

/// Why no further call was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The failure was [terminal](Class::Terminal): the same call would fail the same way.
    Terminal,
    /// The failure was [fatal](Class::Fatal): every call would.
    Fatal,
    /// `max_attempts` calls were made.
    Attempts,
    /// The service still throttled when the deadline came, and throttled calls were free.
    Throttled,
    /// No time was left for a further call.
    Deadline,
    /// The server asked for a longer wait than `max_hint`.
    HintTooLong,
    /// The abort signal was raised.
    Aborted,
}

impl StopReason {
    /// The reason in one lower-case word (or hyphenated words), for logs and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Fatal => "fatal",
            Self::Attempts => "attempts",
            Self::Throttled => "throttled",
            Self::Deadline => "deadline",
            Self::HintTooLong => "hint-too-long",
            Self::Aborted => "aborted",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Terminal => "the error is terminal",
            Self::Fatal => "the error is fatal",
            Self::Attempts => "no attempt is left",
            Self::Throttled => "still throttled at the deadline",
            Self::Deadline => "no time is left",
            Self::HintTooLong => "the server asked for too long a wait",
            Self::Aborted => "aborted",
        })
    }
}

impl RetryPolicy {
    /// What to do after a call failed as `class`, `elapsed` after the run began. To be called once for each failed call.
    ///
    /// - A terminal or fatal failure stops. A class unknown to this version counts as terminal.
    /// - A hint longer than `max_hint` stops.
    /// - A transient failure, and a throttled one unless it is [free](RetryPolicy::throttled_is_free), is charged to
    ///   `max_attempts`, which counts calls (**RP-2**).
    /// - The delay is the back-off's, or the server's hint if that is longer: at most `max(max_delay, hint)`, at least
    ///   the hint (**RP-1**).
    /// - If nothing would be left of the deadline after that delay, it stops now (**RP-3**).
    /// - A free throttled failure is retried without a delay of its own, as long as the hint ends before the deadline.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate_retry_policy::{Class, Decision, Progress, RetryHint, RetryPolicy, StopReason};
    ///
    /// let policy = RetryPolicy::new().deadline(Duration::from_secs(10));
    /// let mut progress = Progress::seeded(0);
    /// let mut after = |class, secs| policy.decide(&mut progress, class, Duration::from_secs(secs));
    ///
    /// assert_eq!(after(Class::Transient, 0), Decision::Retry { delay: Duration::from_millis(50) });
    /// let hint = Duration::from_secs(3);
    /// assert_eq!(after(Class::Throttled(RetryHint::after(hint)), 1), Decision::Retry { delay: hint });
    /// assert_eq!(after(Class::Throttled(RetryHint::after(hint)), 8), Decision::Stop(StopReason::Deadline));
    /// ```
    #[must_use]
    pub fn decide(&self, progress: &mut Progress, class: Class, elapsed: Duration) -> Decision {
        let throttled = match class {
            Class::Transient => false,
            Class::Throttled(_) => true,
            Class::Fatal => return Decision::Stop(StopReason::Fatal),
            _ => return Decision::Stop(StopReason::Terminal),
        };
        let hint = class.hint().map_or(Duration::ZERO, RetryHint::delay);
        if hint > self.max_hint {
            return Decision::Stop(StopReason::HintTooLong);
        }
        if throttled && self.throttled_is_free {
            if self.leaves_nothing(elapsed, hint) {
                return Decision::Stop(StopReason::Throttled);
            }
            return Decision::Retry { delay: Duration::ZERO };
        }
        progress.charged = progress.charged.saturating_add(1);
        if progress.charged >= self.max_attempts {
            return Decision::Stop(StopReason::Attempts);
        }
        let delay = progress.backoff.next(&self.curve).max(hint);
        if self.leaves_nothing(elapsed, delay) {
            return Decision::Stop(StopReason::Deadline);
        }
        Decision::Retry { delay }
    }

    /// Whether nothing is left of the deadline once `delay` has passed too.
    fn leaves_nothing(&self, elapsed: Duration, delay: Duration) -> bool {
        self.time_left(elapsed).is_some_and(|left| left <= delay)
    }
}
