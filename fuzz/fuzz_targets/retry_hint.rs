//! Any status, any headers, any clock, any cap: a bounded hint or none (CG-7).
//!
//! The input is a status, a clock, a cap in seconds, and then lines; line n is the value of the n-th header that a hint is
//! read from.
#![no_main]

use std::time::{Duration, UNIX_EPOCH};

use http::{HeaderMap, HeaderValue, StatusCode};
use libfuzzer_sys::fuzz_target;
use tidegate_core::{Class, HintCap, RetryHint};

const NAMES: [&str; 24] = [
    "retry-after-ms",
    "retry-after",
    "date",
    "age",
    "ratelimit",
    "ratelimit-reset",
    "ratelimit-remaining",
    "x-ratelimit-reset-after",
    "x-ratelimit-reset",
    "x-ratelimit-remaining",
    "x-ratelimit-reset-requests",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-tokens",
    "x-ratelimit-remaining-tokens",
    "x-rate-limit-reset",
    "x-rate-limit-remaining",
    "anthropic-ratelimit-requests-reset",
    "anthropic-ratelimit-requests-remaining",
    "anthropic-ratelimit-tokens-reset",
    "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-input-tokens-reset",
    "anthropic-ratelimit-input-tokens-remaining",
    "anthropic-ratelimit-output-tokens-reset",
    "anthropic-ratelimit-output-tokens-remaining",
];

fuzz_target!(|input: (u16, u32, u32, &[u8])| {
    let (status, seconds, longest, lines) = input;
    let Ok(status) = StatusCode::from_u16(status) else { return };
    let mut headers = HeaderMap::new();
    for (name, line) in NAMES.iter().zip(lines.split(|byte| *byte == b'\n')) {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.insert(*name, value);
        }
    }
    let now = UNIX_EPOCH + Duration::from_secs(seconds.into());
    let hint = RetryHint::from_response(status, &headers, now);
    assert!(hint.is_none() || status.as_u16() >= 300, "a success gave a hint");
    if let Some(Class::Throttled(of_class)) = Class::from_response(status, &headers, now) {
        assert_eq!(of_class, hint, "the class lost the hint");
    }
    let Some(hint) = hint else { return };
    assert!(!hint.delay().is_zero() && hint.delay() <= RetryHint::MAX);

    let longest = Duration::from_secs(longest.into());
    let clamped = hint.capped(HintCap::Clamp(longest)).map_or(Duration::ZERO, RetryHint::delay);
    assert_eq!(clamped, hint.delay().min(longest));
    assert_eq!(hint.capped(HintCap::Refuse(longest)).is_some(), hint.delay() <= longest);
});
