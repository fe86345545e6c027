//! Class and hint, read from any response that shows its status and headers.

use std::time::SystemTime;

use http::{HeaderMap, StatusCode};

use crate::{Class, Classify, RetryHint};

/// A response whose status and headers can be seen. Implemented for `http::Response`, and for `reqwest::Response` by
/// feature `reqwest`.
pub trait ShowsStatus {
    /// The status.
    fn status(&self) -> StatusCode;
    /// The headers.
    fn headers(&self) -> &HeaderMap;
}

impl<B> ShowsStatus for http::Response<B> {
    fn status(&self) -> StatusCode {
        self.status()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }
}

#[cfg(feature = "reqwest")]
impl ShowsStatus for reqwest::Response {
    fn status(&self) -> StatusCode {
        self.status()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }
}

impl Class {
    /// What a response says about the call: none for a success, else the kind of failure.
    ///
    /// | status | class |
    /// |---|---|
    /// | below 400 | none: a success |
    /// | 429, 529 | throttled, with the [hint](RetryHint::from_response) of the headers |
    /// | 403, 503 that say when to come back | throttled, with that hint |
    /// | 408, 425, other 5xx | transient |
    /// | 401, 402, other 403 | fatal: the key is wrong, or its quota is spent |
    /// | other 4xx | terminal |
    ///
    /// 529 is how some language models say that they are overloaded, and 403 with a hint how GitHub limits the rate.
    /// `now` is the time at which the response was received.
    #[must_use]
    pub fn from_response(status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Option<Self> {
        let hint = RetryHint::from_response(status, headers, now);
        match (status.as_u16(), hint) {
            (0..=399, _) => None,
            (429 | 529, _) | (403 | 503, Some(_)) => Some(Self::Throttled(hint)),
            (408 | 425 | 500..=599, _) => Some(Self::Transient),
            (401..=403, _) => Some(Self::Fatal),
            _ => Some(Self::Terminal),
        }
    }
}

/// Judges a response by its status and headers, and an error by a classifier.
///
/// [`Class::from_response`] has the table. It is a judge for the throttle and for the layers of the gate.
///
/// ```
/// use std::io;
/// use tidegate_core::{ByStatus, Class};
///
/// let judge = ByStatus(|_: &io::Error| Class::Transient);
/// let response = http::Response::builder().status(404).body(()).unwrap();
/// assert_eq!(judge.judge(&Ok(response)), Some(Class::Terminal));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ByStatus<C>(pub C);

impl<C> ByStatus<C> {
    /// None for a success, else what kind of failure this was. Reads the system's clock, for hints that name a time.
    pub fn judge<T: ShowsStatus, E>(&self, result: &Result<T, E>) -> Option<Class>
    where
        C: Classify<E>,
    {
        match result {
            Ok(response) => Class::from_response(response.status(), response.headers(), SystemTime::now()),
            Err(error) => Some(self.0.classify(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use http::HeaderValue;

    fn class(status: u16, pairs: &[(&'static str, &'static str)]) -> Option<Class> {
        let pairs =
            pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        Class::from_response(StatusCode::from_u16(status).unwrap(), &pairs.collect(), SystemTime::UNIX_EPOCH)
    }

    #[test]
    fn a_status_has_one_class() {
        assert_eq!(class(200, &[]), None);
        assert_eq!(class(304, &[]), None);
        for throttled in [429, 529] {
            assert_eq!(class(throttled, &[]), Some(Class::Throttled(None)), "{throttled}");
        }
        for transient in [408, 425, 500, 502, 503, 504] {
            assert_eq!(class(transient, &[]), Some(Class::Transient), "{transient}");
        }
        for fatal in [401, 402, 403] {
            assert_eq!(class(fatal, &[]), Some(Class::Fatal), "{fatal}");
        }
        for terminal in [400, 404, 410, 422] {
            assert_eq!(class(terminal, &[]), Some(Class::Terminal), "{terminal}");
        }
    }

    #[test]
    fn the_hint_comes_with_429_and_529_and_makes_a_403_or_503_a_throttle() {
        let hint = RetryHint::after(Duration::from_secs(7));
        for throttled in [403, 429, 503, 529] {
            assert_eq!(
                class(throttled, &[("retry-after", "7")]),
                Some(Class::Throttled(hint)),
                "{throttled}"
            );
        }
        for (other, expected) in [(404, Class::Terminal), (401, Class::Fatal), (500, Class::Transient)] {
            assert_eq!(class(other, &[("retry-after", "7")]), Some(expected), "{other}");
        }
    }

    #[test]
    fn a_403_is_a_throttle_only_once_nothing_remains() {
        let hint = RetryHint::after(Duration::from_secs(7));
        let limit =
            |remaining| class(403, &[("x-ratelimit-reset", "7"), ("x-ratelimit-remaining", remaining)]);
        assert_eq!(limit("0"), Some(Class::Throttled(hint)));
        assert_eq!(limit("41"), Some(Class::Fatal));
    }
}
