//! What a server said about when to come back.

use core::time::Duration;

#[cfg(feature = "http")]
mod headers;
#[cfg(feature = "http")]
mod limits;

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

    /// This hint, as far as `cap` takes it.
    ///
    /// ```
    /// use core::time::Duration;
    /// use tidegate_core::{HintCap, RetryHint};
    ///
    /// let minute = Duration::from_secs(60);
    /// let hour = RetryHint::after(60 * minute).unwrap();
    /// assert_eq!(hour.capped(HintCap::Clamp(minute)), RetryHint::after(minute));
    /// assert_eq!(hour.capped(HintCap::Refuse(minute)), None);
    /// ```
    #[must_use]
    pub fn capped(self, cap: HintCap) -> Option<Self> {
        match cap {
            HintCap::Clamp(longest) => Self::after(self.delay.min(longest)),
            HintCap::Refuse(longest) => Some(self).filter(|hint| hint.delay <= longest),
        }
    }
}

/// What becomes of a hint that is longer than one believes. A hint of exactly the cap's length passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HintCap {
    /// It counts as a hint of this length; as none if this is zero.
    Clamp(Duration),
    /// It counts as no hint.
    Refuse(Duration),
}

impl HintCap {
    /// Every hint counts as it is; none is longer than [`RetryHint::MAX`].
    pub const NONE: Self = Self::Clamp(RetryHint::MAX);
}

impl Default for HintCap {
    /// Clamped to 24 hours: the longest quota in common use is a day's, and one wrong header must not close a gate for a
    /// year.
    fn default() -> Self {
        Self::Clamp(Duration::from_secs(24 * 60 * 60))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Up to a little more than the longest hint, and often equal to another one.
    fn length() -> impl Strategy<Value = Duration> {
        let millis = 0..RetryHint::MAX.as_secs() * 2000;
        prop_oneof![millis.prop_map(Duration::from_millis), (0..3_u64).prop_map(Duration::from_secs)]
    }

    proptest! {
        #[test]
        fn cg7_a_capped_hint_is_never_longer_than_the_cap_nor_changed_below_it(
            delay in length(), longest in length(),
        ) {
            let Some(hint) = RetryHint::after(delay) else { return Ok(()) };
            let clamped = hint.capped(HintCap::Clamp(longest)).map_or(Duration::ZERO, RetryHint::delay);
            prop_assert_eq!(clamped, hint.delay().min(longest), "clamped");
            let refused = hint.capped(HintCap::Refuse(longest));
            prop_assert_eq!(refused, Some(hint).filter(|hint| hint.delay() <= longest), "refused");
            prop_assert_eq!(hint.capped(HintCap::NONE), Some(hint));
        }
    }
}
