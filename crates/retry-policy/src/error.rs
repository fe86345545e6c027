//! How a run that gave up ended.

use core::error::Error;
use core::fmt;
use core::time::Duration;

use crate::StopReason;

/// A run gave up: why, after how much, and with what error.
///
/// Displayed without the last error, which is its [`source`](Error::source).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct RetryError<E> {
    /// The latest error that a call returned; none if no call returned one.
    pub last: Option<E>,
    /// How many calls were begun, charged or not.
    pub attempts: u32,
    /// How long everything took.
    pub elapsed: Duration,
    /// Why no further call was made.
    pub reason: StopReason,
    /// Whether the last call was cut off, by its own limit or by the deadline. Then `last`, if there is one, is the error
    /// of an earlier call.
    pub timed_out: bool,
}

impl<E> RetryError<E> {
    /// A run that gave up for `reason` before its first call. Set the other fields as they apply.
    pub const fn new(reason: StopReason) -> Self {
        Self { last: None, attempts: 0, elapsed: Duration::ZERO, reason, timed_out: false }
    }

    /// The same with another type of error.
    pub fn map<F>(self, map: impl FnOnce(E) -> F) -> RetryError<F> {
        RetryError {
            last: self.last.map(map),
            attempts: self.attempts,
            elapsed: self.elapsed,
            reason: self.reason,
            timed_out: self.timed_out,
        }
    }
}

impl<E> fmt::Display for RetryError<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attempts, elapsed, reason, .. } = self;
        let plural = if *attempts == 1 { "" } else { "s" };
        let timed_out = if self.timed_out { ", the last one timed out" } else { "" };
        write!(formatter, "gave up after {attempts} attempt{plural} in {elapsed:.3?}: {reason}{timed_out}")
    }
}

impl<E: Error + 'static> Error for RetryError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.last.as_ref().map(|error| error as &(dyn Error + 'static))
    }
}
