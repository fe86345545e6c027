//! How a call ends without a success.

use std::fmt;
use std::time::Duration;

use tidegate_retry_policy::StopReason;

use crate::Again;

/// A call that did not succeed: why nothing more was tried, and what the last attempt gave.
#[non_exhaustive]
pub struct CallError<T, E> {
    /// Why the call ended.
    pub reason: StopReason,
    /// What the last attempt that ran to its end returned: an error, or a response that was judged a failure. None if
    /// no attempt did.
    pub last: Option<Result<T, E>>,
    /// How many attempts were made.
    pub attempts: u32,
    /// How long the call took, waits included.
    pub elapsed: Duration,
}

impl<T, E> CallError<T, E> {
    /// The error of the last attempt, if it ended in one.
    #[must_use]
    pub fn into_error(self) -> Option<E> {
        self.last.and_then(Result::err)
    }

    /// The response of the last attempt, if it was a response that was judged a failure.
    #[must_use]
    pub fn into_response(self) -> Option<T> {
        self.last.and_then(Result::ok)
    }
}

impl<T, E> Again for CallError<T, E> {
    /// A later round may fare better after throttling, spent attempts or a spent deadline.
    fn again(&self) -> bool {
        matches!(self.reason, StopReason::Throttled | StopReason::Attempts | StopReason::Deadline)
    }
}

impl<T, E> fmt::Debug for CallError<T, E> {
    /// Shows why, how often and how long; never the response or the error, which may hold the user's data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallError")
            .field("reason", &self.reason)
            .field("attempts", &self.attempts)
            .field("elapsed", &self.elapsed)
            .finish_non_exhaustive()
    }
}

impl<T, E: fmt::Display> fmt::Display for CallError<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.attempts == 1 { "" } else { "s" };
        write!(f, "{} after {} attempt{plural} in {:.1?}", self.reason, self.attempts, self.elapsed)?;
        match &self.last {
            Some(Err(error)) => write!(f, ": {error}"),
            _ => Ok(()),
        }
    }
}

impl<T, E: std::error::Error + 'static> std::error::Error for CallError<T, E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.last {
            Some(Err(error)) => Some(error),
            _ => None,
        }
    }
}
