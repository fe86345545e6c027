//! What a server said about when to come back.

use core::time::Duration;

#[cfg(feature = "http")]
mod headers;

/// A server's word on how long to stay away: never zero, never longer than [`RetryHint::MAX`].
///
/// A hint is a floor under whatever delay a policy would have chosen by itself, and it replaces a gate's default
/// cooldown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RetryHint {
    delay: Duration,
}

impl RetryHint {
    /// The longest hint there is, 366 days: a longer one is clamped to it, so that no header can overflow a deadline.
    pub const MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);

    /// A hint to stay away for `delay`; none if `delay` is zero, clamped to [`RetryHint::MAX`].
    #[must_use]
    pub const fn after(delay: Duration) -> Option<Self> {
        if delay.is_zero() {
            None
        } else if delay.as_secs() >= Self::MAX.as_secs() {
            Some(Self { delay: Self::MAX })
        } else {
            Some(Self { delay })
        }
    }

    /// How long to stay away, from the moment the response was received.
    #[must_use]
    pub const fn delay(self) -> Duration {
        self.delay
    }
}
