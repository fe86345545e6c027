//! What kind of failure it was, and who says so.

use crate::RetryHint;

/// The four kinds of failure, by what is to be done about them.
///
/// | class | examples | what to do |
/// |---|---|---|
/// | [`Transient`](Class::Transient) | time-out, connection reset, 503, a busy database | try again after a back-off |
/// | [`Throttled`](Class::Throttled) | 429 | close the gate for everybody, try again once it reopens |
/// | [`Terminal`](Class::Terminal) | 404, a parse error | give this item up, go on with the others |
/// | [`Fatal`](Class::Fatal) | 401, quota exhausted, disk full | stop everybody: no other item can fare better |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// The same call may succeed a little later.
    Transient,
    /// The service asked for fewer calls, and perhaps said for how long.
    Throttled(Option<RetryHint>),
    /// The same call will fail the same way; other items are not concerned.
    Terminal,
    /// Every further call will fail the same way.
    Fatal,
}

impl Class {
    /// Whether the same call can succeed later: true for [`Transient`](Class::Transient) and
    /// [`Throttled`](Class::Throttled).
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Transient | Self::Throttled(_))
    }

    /// What the service said about when to come back, if it throttled and said anything.
    #[must_use]
    pub const fn hint(self) -> Option<RetryHint> {
        match self {
            Self::Throttled(hint) => hint,
            _ => None,
        }
    }

    /// The class in one lower-case word, for logs and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Throttled(_) => "throttled",
            Self::Terminal => "terminal",
            Self::Fatal => "fatal",
        }
    }
}

/// Judges an error.
///
/// Any `Fn(&E) -> Class` is a classifier; `tidegate-retry-policy` has one that walks a chain of sources.
///
/// ```
/// use tidegate_core::{Class, Classify};
///
/// let by_text = |error: &str| if error == "timeout" { Class::Transient } else { Class::Terminal };
/// assert_eq!(by_text.classify("timeout"), Class::Transient);
/// ```
pub trait Classify<E: ?Sized> {
    /// The class of `error`. Called once for each failed attempt, outside every lock.
    fn classify(&self, error: &E) -> Class;
}

impl<E: ?Sized, F: Fn(&E) -> Class> Classify<E> for F {
    fn classify(&self, error: &E) -> Class {
        self(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn only_transient_and_throttled_are_retryable() {
        assert!(Class::Transient.is_retryable());
        assert!(Class::Throttled(None).is_retryable());
        assert!(!Class::Terminal.is_retryable());
        assert!(!Class::Fatal.is_retryable());
    }

    #[test]
    fn only_a_throttled_class_carries_a_hint() {
        let hint = RetryHint::after(Duration::from_secs(1));
        assert_eq!(Class::Throttled(hint).hint(), hint);
        assert_eq!(Class::Transient.hint(), None);
    }
}
