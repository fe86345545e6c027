//! Headers that tell where a caller stands with the limits of a service: what remains, and when it resets.
//!
//! Services send them with every answer. They are no `retry-after`, but say as much once nothing remains.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use http::{HeaderMap, StatusCode};

use super::RetryHint;
use super::headers::{hint_of_seconds, number, sent, text};

/// Headers of one limit: its reset, and what remains of it.
const PAIRS: [(&str, &str); 9] = [
    // Discord has both of these, and the first needs no clock.
    ("x-ratelimit-reset-after", "x-ratelimit-remaining"),
    ("x-ratelimit-reset", "x-ratelimit-remaining"),
    ("x-ratelimit-reset-requests", "x-ratelimit-remaining-requests"),
    ("x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens"),
    ("x-rate-limit-reset", "x-rate-limit-remaining"),
    ("anthropic-ratelimit-requests-reset", "anthropic-ratelimit-requests-remaining"),
    ("anthropic-ratelimit-tokens-reset", "anthropic-ratelimit-tokens-remaining"),
    ("anthropic-ratelimit-input-tokens-reset", "anthropic-ratelimit-input-tokens-remaining"),
    ("anthropic-ratelimit-output-tokens-reset", "anthropic-ratelimit-output-tokens-remaining"),
];

/// A number of seconds from here on is a time since 1970, not a length: 30 years, or September 2001.
const LEAST_EPOCH: f64 = 1e9;

/// A time since 1970 from here on is in milliseconds, not seconds: 1973, or the year 5138.
const LEAST_EPOCH_MS: f64 = 1e11;

/// What the limits of a service amount to, as far as a response tells.
#[derive(Default)]
struct Limits {
    /// The last reset of those that are spent.
    last_spent: Option<RetryHint>,
    /// The first reset of all.
    first: Option<RetryHint>,
}

impl Limits {
    fn add(&mut self, spent: bool, reset: Option<RetryHint>) {
        if spent {
            self.last_spent = self.last_spent.max(reset);
        }
        self.first = self.first.into_iter().chain(reset).min();
    }

    fn hint(self, status: StatusCode) -> Option<RetryHint> {
        self.last_spent.or(self.first.filter(|_| status == StatusCode::TOO_MANY_REQUESTS))
    }
}

/// The hint of the limits in these headers.
pub(super) fn hint(status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Option<RetryHint> {
    standard(headers).hint(status).or_else(|| spelled(headers, now).hint(status))
}

/// The limits in the headers of the standard to be, in all of its drafts:
///
/// - `RateLimit: "burst";r=0;t=5, "daily";r=400;t=3600` since draft 8;
/// - `RateLimit: limit=100, remaining=0, reset=5` in draft 7;
/// - `RateLimit-Remaining: 0` and `RateLimit-Reset: 5` before.
fn standard(headers: &HeaderMap) -> Limits {
    let mut limits = Limits::default();
    for value in headers.get_all("ratelimit").iter().filter_map(|value| value.to_str().ok()) {
        add_policies(&mut limits, value);
    }
    let reset = text(headers, "ratelimit-reset").and_then(number).and_then(hint_of_seconds);
    limits.add(nothing_left(text(headers, "ratelimit-remaining")), reset);
    limits
}

/// Adds the limits in the value of one `RateLimit` header.
///
/// Not a parser of structured fields: services send what one of the drafts said, and some what none did. Each `key=value`
/// belongs to the policy whose name came last; what lies between quotes is passed over.
fn add_policies(limits: &mut Limits, value: &str) {
    let (mut remaining, mut reset) = (None, None);
    let mut quoted = false;
    let parts = value.split(|letter| {
        quoted ^= letter == '"';
        !quoted && (letter == ',' || letter == ';')
    });
    for part in parts {
        match part.trim().split_once('=') {
            Some(("r" | "remaining", value)) => remaining = Some(value),
            Some(("t" | "reset", value)) => reset = number(value).and_then(hint_of_seconds),
            Some((key, _)) if !key.starts_with('"') => {}
            _ => limits.add(nothing_left(remaining.take()), reset.take()),
        }
    }
    limits.add(nothing_left(remaining), reset);
}

/// A limit of the standard that does not tell what remains counts as spent: why else tell when to come back?
fn nothing_left(remaining: Option<&str>) -> bool {
    remaining.is_none_or(|remaining| number(remaining) == Some(0.0))
}

/// The limits in the spellings that services made up.
fn spelled(headers: &HeaderMap, now: SystemTime) -> Limits {
    let mut limits = Limits::default();
    for (reset, remaining) in PAIRS {
        let spent = text(headers, remaining).and_then(number) == Some(0.0);
        limits.add(spent, text(headers, reset).and_then(|text| reset_of(text, headers, now)));
    }
    limits
}

/// A number, a length, or a time.
fn reset_of(text: &str, headers: &HeaderMap, now: SystemTime) -> Option<RetryHint> {
    if let Some(number) = number(text) {
        return hint_of_number(number, headers, now);
    }
    if let Ok(length) = humantime::parse_duration(text) {
        return RetryHint::after(length);
    }
    let until = humantime::parse_rfc3339(text).ok()?;
    RetryHint::after(until.duration_since(sent(headers, now)).ok()?)
}

fn hint_of_number(number: f64, headers: &HeaderMap, now: SystemTime) -> Option<RetryHint> {
    let since_1970 = match number {
        length if length < LEAST_EPOCH => return hint_of_seconds(length),
        seconds if seconds < LEAST_EPOCH_MS => seconds,
        milliseconds => milliseconds / 1000.0,
    };
    let sent = sent(headers, now).duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    hint_of_seconds(since_1970 - sent.as_secs_f64())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use http::HeaderValue;
    use std::vec::Vec;

    const MINUTE: Duration = Duration::from_secs(60);

    /// Every header that a hint is read from.
    pub(crate) fn names() -> Vec<&'static str> {
        let others = [
            "retry-after-ms",
            "retry-after",
            "date",
            "age",
            "ratelimit",
            "ratelimit-reset",
            "ratelimit-remaining",
        ];
        PAIRS.iter().flat_map(|(reset, remaining)| [*reset, *remaining]).chain(others).collect()
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    fn with_status(status: u16, pairs: &[(&'static str, &str)]) -> Option<Duration> {
        let status = StatusCode::from_u16(status).unwrap();
        RetryHint::from_response(status, &headers(pairs), UNIX_EPOCH).map(RetryHint::delay)
    }

    /// Of a 429.
    fn hint(pairs: &[(&'static str, &str)]) -> Option<Duration> {
        with_status(429, pairs)
    }

    #[test]
    fn the_standard_is_read_in_all_of_its_drafts() {
        for pairs in [
            &[("ratelimit", "\"default\";r=0;t=60")][..],
            &[("ratelimit", "\"100-in-15min\"; r=0; t=60; pk=:YWJj:")],
            &[("ratelimit", "default;t=60")],
            &[("ratelimit", "limit=100, remaining=0, reset=60")],
            &[("ratelimit-limit", "100"), ("ratelimit-remaining", "0"), ("ratelimit-reset", "60")],
            &[("ratelimit-reset", "60")],
        ] {
            assert_eq!(hint(pairs), Some(MINUTE), "{pairs:?}");
            assert_eq!(with_status(503, pairs), Some(MINUTE), "{pairs:?}");
        }
    }

    #[test]
    fn of_several_policies_the_spent_ones_decide() {
        let both = |text| hint(&[("ratelimit", text)]);
        assert_eq!(both("\"a\";r=0;t=5, \"b\";r=400;t=3600"), Some(Duration::from_secs(5)));
        assert_eq!(both("\"a\";r=0;t=5, \"b\";r=0;t=60"), Some(MINUTE));
        assert_eq!(both("\"a\";r=3;t=60, \"b\";r=400;t=3600"), Some(MINUTE));
        let lines = [("ratelimit", "\"a\";r=9;t=5"), ("ratelimit", "\"b\";r=0;t=60")];
        assert_eq!(hint(&lines), Some(MINUTE));
    }

    #[test]
    fn a_policys_name_is_no_part_of_its_limit() {
        assert_eq!(hint(&[("ratelimit", "\"a;t=5, t=7\";r=0;t=60")]), Some(MINUTE));
        assert_eq!(hint(&[("ratelimit", "\"t=5\";r=0;t=60")]), Some(MINUTE));
    }

    #[test]
    fn a_limit_with_something_remaining_hints_only_with_429() {
        for pairs in [
            &[("ratelimit", "\"a\";r=1;t=60")][..],
            &[("ratelimit-remaining", "1"), ("ratelimit-reset", "60")],
            &[("x-ratelimit-remaining", "1"), ("x-ratelimit-reset", "60")],
            &[("x-ratelimit-reset", "60")],
            &[("anthropic-ratelimit-requests-remaining", "1"), ("anthropic-ratelimit-requests-reset", "60")],
        ] {
            assert_eq!(hint(pairs), Some(MINUTE), "{pairs:?}");
            assert_eq!(with_status(503, pairs), None, "{pairs:?}");
        }
    }

    #[test]
    fn a_spent_limit_hints_with_any_failure() {
        for (reset, remaining) in PAIRS {
            for status in [403, 429, 503] {
                assert_eq!(
                    with_status(status, &[(reset, "60"), (remaining, "0")]),
                    Some(MINUTE),
                    "{reset} {status}"
                );
            }
            assert_eq!(with_status(200, &[(reset, "60"), (remaining, "0")]), None, "{reset}");
        }
    }

    #[test]
    fn a_reset_has_several_spellings() {
        let date = ("date", "Tue, 14 Nov 2023 22:13:20 GMT");
        for (value, seconds) in [
            ("60", 60.0),
            ("0.5", 0.5),
            ("6m0s", 360.0),
            ("120ms", 0.12),
            ("8.64s", 8.64),
            ("1h2m3.5s", 3723.5),
            ("1700000060", 60.0),
            ("1700000000.5", 0.5),
            ("1700000060000", 60.0),
            ("2023-11-14T22:14:20Z", 60.0),
            ("2023-11-14T22:14:20.5Z", 60.5),
            ("2023-11-14T22:14:20+00:00", 60.0),
        ] {
            assert_eq!(
                hint(&[("x-ratelimit-reset", value), date]),
                Some(Duration::from_secs_f64(seconds)),
                "{value}"
            );
        }
    }

    #[test]
    fn a_point_in_time_is_measured_as_a_date_of_retry_after_is() {
        for value in ["30", "1970-01-01T00:00:30Z"] {
            let cached =
                [("x-ratelimit-reset", value), ("date", "Thu, 01 Jan 1970 00:00:25 GMT"), ("age", "9")];
            assert_eq!(hint(&cached), Some(Duration::from_secs(30)), "{value}");
        }
    }

    #[test]
    fn tokens_are_waited_for_when_tokens_are_spent() {
        let openai = [
            ("x-ratelimit-remaining-requests", "59"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ];
        assert_eq!(hint(&openai), Some(Duration::from_secs(360)));
        assert_eq!(hint(&openai[..2]), Some(Duration::from_secs(1)));
    }

    #[test]
    fn retry_after_wins_over_the_standard_and_the_standard_over_the_others() {
        let all = [("retry-after", "1"), ("ratelimit", "\"a\";r=0;t=2"), ("x-ratelimit-reset", "3")];
        for (skipped, seconds) in [(0, 1), (1, 2), (2, 3)] {
            assert_eq!(hint(&all[skipped..]), Some(Duration::from_secs(seconds)));
        }
        let broken = [("retry-after", "soon"), ("ratelimit", "\"a\";r=0;t=-2"), ("x-ratelimit-reset", "3")];
        assert_eq!(hint(&broken), Some(Duration::from_secs(3)));
    }

    #[test]
    fn cg7_a_limit_that_resets_now_or_never_or_in_the_past_is_no_hint() {
        let date = ("date", "Tue, 14 Nov 2023 22:13:20 GMT");
        for value in [
            "0",
            "0s",
            "-1",
            "",
            "nan",
            "1700000000",
            "1699999999",
            "2023-11-14T22:13:20Z",
            "2023-11-14",
            "6m0",
            "s",
        ] {
            assert_eq!(hint(&[("x-ratelimit-reset", value), date]), None, "{value:?}");
        }
    }

    #[test]
    fn cg7_a_limit_that_resets_far_ahead_is_bounded() {
        let nines = "9".repeat(400);
        for value in
            [&nines, "999999999", "9999-12-31T23:59:59Z", "9000000days", "99999999999", "99999999999999999"]
        {
            assert_eq!(hint(&[("x-ratelimit-reset", value)]), Some(RetryHint::MAX), "{value}");
        }
    }
}
