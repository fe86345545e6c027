//! Reads a hint from an HTTP response.
//!
//! Anything malformed, negative, zero or not finite is no hint; the next form is tried then.

use core::str::FromStr;
use core::time::Duration;
use std::time::SystemTime;

use http::header::{AGE, AsHeaderName, DATE, RETRY_AFTER};
use http::{HeaderMap, StatusCode};

use super::{RetryHint, limits};

impl RetryHint {
    /// The hint of a response that is not a success, or none.
    ///
    /// Tried in this order, the first that is well-formed wins:
    /// 1. `retry-after-ms`: milliseconds, fractions allowed (sent by OpenAI-compatible services);
    /// 2. `retry-after` as a number of seconds, fractions allowed ([RFC 9110, 10.2.3] has whole ones);
    /// 3. `retry-after` as an HTTP date;
    /// 4. `RateLimit`, by its `t` ([draft-ietf-httpapi-ratelimit-headers]) or, as older drafts had it, its `reset`, and
    ///    `RateLimit-Reset`, each in seconds: of limits that have something remaining only with status 429;
    /// 5. `x-ratelimit-reset-after` and `x-ratelimit-reset`, also with `-requests` or `-tokens`, `x-rate-limit-reset`, and
    ///    `anthropic-ratelimit-*-reset`, as one of: seconds from now, seconds or milliseconds since 1970, a length such
    ///    as `6m0s` or `120ms`, an [RFC 3339] time in UTC. They come with every answer, so they count only where the
    ///    matching `remaining` is 0, or with status 429.
    ///
    /// Where a form speaks of several limits, those with nothing remaining decide, and of them the last to reset; where
    /// none is known to be spent, the first to reset.
    ///
    /// A point in time is measured against the response's own `Date`, so that a client's wrong clock does not matter;
    /// against `now` where there is no `Date`, or where an `Age` says that a cache served it.
    ///
    /// A status below 300 gives no hint. Total: any bytes give a hint of at most [`RetryHint::MAX`], or none (**CG-7**).
    ///
    /// ```
    /// use http::{HeaderMap, StatusCode};
    /// use std::time::{Duration, SystemTime};
    /// use tidegate_core::RetryHint;
    ///
    /// let mut headers = HeaderMap::new();
    /// headers.insert("retry-after", "1.5".parse().unwrap());
    /// let hint = RetryHint::from_response(StatusCode::TOO_MANY_REQUESTS, &headers, SystemTime::now());
    /// assert_eq!(hint.map(RetryHint::delay), Some(Duration::from_millis(1500)));
    /// ```
    ///
    /// [RFC 9110, 10.2.3]: https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
    /// [RFC 3339]: https://www.rfc-editor.org/rfc/rfc3339
    /// [draft-ietf-httpapi-ratelimit-headers]: https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
    #[must_use]
    pub fn from_response(status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Option<Self> {
        if status.as_u16() < 300 {
            return None;
        }
        milliseconds(headers)
            .or_else(|| seconds(headers))
            .or_else(|| date(headers, now))
            .or_else(|| limits::hint(status, headers, now))
    }
}

fn milliseconds(headers: &HeaderMap) -> Option<RetryHint> {
    number(text(headers, "retry-after-ms")?).and_then(|ms| hint_of_seconds(ms / 1000.0))
}

fn seconds(headers: &HeaderMap) -> Option<RetryHint> {
    number(text(headers, RETRY_AFTER)?).and_then(hint_of_seconds)
}

fn date(headers: &HeaderMap, now: SystemTime) -> Option<RetryHint> {
    let until = httpdate::parse_http_date(text(headers, RETRY_AFTER)?).ok()?;
    RetryHint::after(until.duration_since(sent(headers, now)).ok()?)
}

/// When the response was sent, by the clock of who sent it; `now` where that cannot be known.
pub(super) fn sent(headers: &HeaderMap, now: SystemTime) -> SystemTime {
    let cached = headers.contains_key(AGE);
    let date = text(headers, DATE).filter(|_| !cached).and_then(|date| httpdate::parse_http_date(date).ok());
    date.unwrap_or(now)
}

/// The value of a header, if it is text.
pub(super) fn text(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// A plain decimal: digits with at most one point. `f64`'s own parser also takes "inf", "nan" and exponents, which no
/// server means.
pub(super) fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if plain { f64::from_str(text).ok() } else { None }
}

pub(super) fn hint_of_seconds(seconds: f64) -> Option<RetryHint> {
    let bounded = seconds.min(RetryHint::MAX.as_secs_f64());
    Duration::try_from_secs_f64(bounded).ok().and_then(RetryHint::after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};
    use proptest::prelude::*;
    use std::string::String;
    use std::time::UNIX_EPOCH;
    use std::vec::Vec;

    const NOW: SystemTime = UNIX_EPOCH;

    fn hint(pairs: &[(&'static str, &str)]) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        RetryHint::from_response(StatusCode::TOO_MANY_REQUESTS, &headers, NOW).map(RetryHint::delay)
    }

    #[test]
    fn milliseconds_win_over_seconds() {
        assert_eq!(
            hint(&[("retry-after", "9"), ("retry-after-ms", "250.5")]),
            Some(Duration::from_micros(250_500))
        );
    }

    #[test]
    fn a_malformed_form_falls_through_to_the_next() {
        assert_eq!(hint(&[("retry-after-ms", "soon"), ("retry-after", "2")]), Some(Duration::from_secs(2)));
    }

    #[test]
    fn a_date_is_measured_against_the_date_of_the_response() {
        let pairs =
            [("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT"), ("date", "Sun, 06 Nov 1994 08:49:37 GMT")];
        assert_eq!(hint(&pairs), Some(Duration::from_secs(60)));
    }

    #[test]
    fn a_cached_response_measures_its_date_against_the_callers_clock() {
        let pairs = [
            ("retry-after", "Thu, 01 Jan 1970 00:00:30 GMT"),
            ("date", "Thu, 01 Jan 1970 00:00:25 GMT"),
            ("age", "100"),
        ];
        assert_eq!(hint(&pairs), Some(Duration::from_secs(30)));
    }

    #[test]
    fn a_date_in_the_past_is_no_hint() {
        let pairs =
            [("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), ("date", "Sun, 06 Nov 1994 08:50:37 GMT")];
        assert_eq!(hint(&pairs), None);
    }

    #[test]
    fn cg7_a_date_far_ahead_and_a_number_too_large_are_bounded() {
        let nines = "9".repeat(400);
        for value in ["Fri, 31 Dec 9999 23:59:59 GMT", "31622401", &nines] {
            assert_eq!(hint(&[("retry-after", value)]), Some(RetryHint::MAX), "{value}");
        }
    }

    #[test]
    fn cg7_malformed_negative_and_zero_values_are_no_hint() {
        for value in ["", " ", "-1", "0", "0.0", "nan", "inf", "1e9", "0x10", "1,5", "..", "soon", "+1"] {
            assert_eq!(hint(&[("retry-after", value)]), None, "{value:?}");
            assert_eq!(hint(&[("retry-after-ms", value)]), None, "{value:?}");
        }
    }

    #[test]
    fn a_success_gives_no_hint() {
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", HeaderValue::from_static("3"));
        assert_eq!(RetryHint::from_response(StatusCode::OK, &headers, NOW), None);
    }

    /// What a header might hold: any bytes, any number, and what services send, broken or not.
    fn value() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..64),
            "-?[0-9]{1,400}(\\.[0-9]{0,40})?".prop_map(String::into_bytes),
            "([0-9]{1,20}(ms|s|m|h|d|M)){1,4}".prop_map(String::into_bytes),
            "(\"[a,;=]{0,3}\"|[a-z]{1,3})(;[rt]=[0-9]{0,12}){0,3}(, \"b\";r=0;t=[0-9]{0,12})?"
                .prop_map(String::into_bytes),
            "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9](\\.[0-9]{0,12})?Z"
                .prop_map(String::into_bytes),
        ]
    }

    proptest! {
        #[test]
        fn cg7_any_headers_give_a_bounded_hint_or_none(
            status in 100_u16..1000,
            pairs in prop::collection::vec((prop::sample::select(limits::tests::names()), value()), 0..8),
            now in any::<u32>(),
        ) {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.extend(HeaderValue::from_bytes(&value).ok().map(|value| (HeaderName::from_static(name), value)));
            }
            let status = StatusCode::from_u16(status).unwrap();
            let hint = RetryHint::from_response(status, &headers, UNIX_EPOCH + Duration::from_secs(now.into()));
            prop_assert!(hint.is_none_or(|hint| hint.delay() <= RetryHint::MAX && !hint.delay().is_zero()));
            prop_assert!(hint.is_none() || status.as_u16() >= 300);
        }
    }
}
