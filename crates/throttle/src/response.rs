//! Class and hint, read from any response that shows its status and headers.

use std::time::SystemTime;

use http::{HeaderMap, StatusCode};
use tidegate_core::{Class, Classify, RetryHint};

use crate::Judge;

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

/// Judges a response by its status, and its errors by a classifier.
///
/// | status | class |
/// |---|---|
/// | below 400 | success |
/// | 429, or 503 that says when to come back | throttled, with the hint of the headers |
/// | 408, 425, other 5xx | transient |
/// | 401, 402, 403 | fatal: the key is wrong, or its quota is spent |
/// | other 4xx | terminal |
///
/// A response judged a failure is not lost: it comes back in [`CallError::last`](crate::CallError::last), body unread.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByStatus<C>(pub C);

impl<T: ShowsStatus, E, C: Classify<E>> Judge<T, E> for ByStatus<C> {
    fn judge(&self, result: &Result<T, E>) -> Option<Class> {
        match result {
            Ok(response) => class_of(response.status(), response.headers()),
            Err(error) => Some(self.0.classify(error)),
        }
    }

    fn why(&self, result: &Result<T, E>) -> String {
        match result {
            Ok(response) => format!("the service answered {}", response.status()),
            Err(_) => "the call failed fatally".to_owned(),
        }
    }
}

fn class_of(status: StatusCode, headers: &HeaderMap) -> Option<Class> {
    let hint = || RetryHint::from_response(status, headers, SystemTime::now());
    match status.as_u16() {
        0..=399 => None,
        429 => Some(Class::Throttled(hint())),
        503 => Some(hint().map_or(Class::Transient, |hint| Class::Throttled(Some(hint)))),
        408 | 425 | 500..=599 => Some(Class::Transient),
        401..=403 => Some(Class::Fatal),
        _ => Some(Class::Terminal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn class(status: u16, retry_after: Option<&'static str>) -> Option<Class> {
        let mut headers = HeaderMap::new();
        headers.extend(
            retry_after.map(|text| (http::header::RETRY_AFTER, http::HeaderValue::from_static(text))),
        );
        class_of(StatusCode::from_u16(status).unwrap(), &headers)
    }

    #[test]
    fn a_status_has_one_class() {
        assert_eq!(class(200, None), None);
        assert_eq!(class(304, None), None);
        assert_eq!(class(429, None), Some(Class::Throttled(None)));
        for transient in [408, 425, 500, 502, 503, 504] {
            assert_eq!(class(transient, None), Some(Class::Transient), "{transient}");
        }
        for fatal in [401, 402, 403] {
            assert_eq!(class(fatal, None), Some(Class::Fatal), "{fatal}");
        }
        for terminal in [400, 404, 410, 422] {
            assert_eq!(class(terminal, None), Some(Class::Terminal), "{terminal}");
        }
    }

    #[test]
    fn the_hint_comes_with_429_and_makes_a_503_a_throttle() {
        let hint = RetryHint::after(Duration::from_secs(7));
        assert_eq!(class(429, Some("7")), Some(Class::Throttled(hint)));
        assert_eq!(class(503, Some("7")), Some(Class::Throttled(hint)));
        assert_eq!(class(404, Some("7")), Some(Class::Terminal));
    }
}
