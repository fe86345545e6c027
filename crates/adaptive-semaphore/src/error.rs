//! What can go wrong: closed, no permit now, too late, a bad setting.

use std::error::Error;
use std::fmt;

/// The semaphore is closed and stays so. The only way [`acquire`](crate::AdaptiveSemaphore::acquire) fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the semaphore is closed")
    }
}

impl Error for Closed {}

/// Why [`try_acquire`](crate::AdaptiveSemaphore::try_acquire) gave no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TryAcquireError {
    /// The semaphore is closed and stays so.
    Closed,
    /// All permits are out. Whoever waits already comes first.
    NoPermits,
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => Closed.fmt(f),
            Self::NoPermits => f.write_str("no permit is free"),
        }
    }
}

impl Error for TryAcquireError {}

impl From<Closed> for TryAcquireError {
    fn from(Closed: Closed) -> Self {
        Self::Closed
    }
}

/// Why [`acquire_by`](crate::AdaptiveSemaphore::acquire_by) gave no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AcquireByError {
    /// The semaphore is closed and stays so.
    Closed,
    /// The deadline came first.
    TimedOut,
}

impl fmt::Display for AcquireByError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => Closed.fmt(f),
            Self::TimedOut => f.write_str("no permit became free before the deadline"),
        }
    }
}

impl Error for AcquireByError {}

impl From<Closed> for AcquireByError {
    fn from(Closed: Closed) -> Self {
        Self::Closed
    }
}

/// An environment variable holds what it must not: names the variable, its value and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    variable: String,
    value: String,
    allowed: String,
}

impl ConfigError {
    pub(crate) fn new(variable: &str, value: &str, allowed: String) -> Self {
        Self { variable: variable.to_owned(), value: value.to_owned(), allowed }
    }

    /// The full name of the variable.
    #[must_use]
    pub fn variable(&self) -> &str {
        &self.variable
    }

    /// What it holds. Bytes that are not Unicode are replaced.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// What it may hold, as the end of the sentence "expected ...".
    #[must_use]
    pub fn allowed(&self) -> &str {
        &self.allowed
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is `{}`: expected {}", self.variable, self.value, self.allowed)
    }
}

impl Error for ConfigError {}
