//! Reads a hint from an HTTP response.
//!
//! Anything malformed, negative, zero or not finite is no hint; the next form is tried then.

use core::str::FromStr;
use core::time::Duration;
use std::time::SystemTime;

use http::header::{AGE, DATE, RETRY_AFTER};
use http::{HeaderMap, StatusCode};

use super::RetryHint;

impl RetryHint {
    /// The hint of a response that is not a success, or none.
    ///
    /// Tried in this order, the first that is well-formed wins:
    /// 1. `retry-after-ms`: milliseconds, fractions allowed (sent by OpenAI-compatible services);
    /// 2. `retry-after` as a number of seconds, fractions allowed ([RFC 9110, 10.2.3] has whole ones);
    /// 3. `retry-after` as an HTTP date, measured against the response's own `Date`, so that a client's wrong clock does
    ///    not matter; against `now` where there is no `Date`, or where an `Age` says that a cache served it.
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
    #[must_use]
    pub fn from_response(status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Option<Self> {
        if status.as_u16() < 300 {
            return None;
        }
        milliseconds(headers).or_else(|| seconds(headers)).or_else(|| date(headers, now))
    }
}

fn milliseconds(headers: &HeaderMap) -> Option<RetryHint> {
    number(headers.get("retry-after-ms")?.to_str().ok()?).and_then(|ms| hint_of_seconds(ms / 1000.0))
}

fn seconds(headers: &HeaderMap) -> Option<RetryHint> {
    number(headers.get(RETRY_AFTER)?.to_str().ok()?).and_then(hint_of_seconds)
}

fn date(headers: &HeaderMap, now: SystemTime) -> Option<RetryHint> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let until = httpdate::parse_http_date(text(RETRY_AFTER)?.trim()).ok()?;
    let cached = headers.contains_key(AGE);
    let sent = text(DATE).filter(|_| !cached).and_then(|date| httpdate::parse_http_date(date.trim()).ok());
    RetryHint::after(until.duration_since(sent.unwrap_or(now)).ok()?)
}

/// A plain decimal: digits with at most one point. `f64`'s own parser also takes "inf", "nan" and exponents, which no
/// server means.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if plain { f64::from_str(text).ok() } else { None }
}

fn hint_of_seconds(seconds: f64) -> Option<RetryHint> {
    let bounded = seconds.min(RetryHint::MAX.as_secs_f64());
    Duration::try_from_secs_f64(bounded).ok().and_then(RetryHint::after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;
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

    proptest! {
        #[test]
        fn cg7_any_header_bytes_give_a_bounded_hint_or_none(
            name in prop::sample::select(std::vec!["retry-after-ms", "retry-after", "date", "age"]),
            bytes in prop::collection::vec(any::<u8>(), 0..64),
            digits in "[0-9]{1,400}(\\.[0-9]{0,40})?",
        ) {
            let values: Vec<_> = [HeaderValue::from_bytes(&bytes), HeaderValue::from_str(&digits)]
                .into_iter().flatten().collect();
            for value in values {
                let mut headers = HeaderMap::new();
                headers.insert(name, value);
                let hint = RetryHint::from_response(StatusCode::SERVICE_UNAVAILABLE, &headers, NOW);
                prop_assert!(hint.is_none_or(|hint| hint.delay() <= RetryHint::MAX && !hint.delay().is_zero()));
            }
        }
    }
}
