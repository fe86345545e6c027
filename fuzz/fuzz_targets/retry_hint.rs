//! Any status, any headers, any clock: a bounded hint or none (CG-7).
//!
//! The input is a status, a clock, and then lines; line n is the value of the n-th header a hint is read from.
#![no_main]

use std::time::{Duration, UNIX_EPOCH};

use http::{HeaderMap, HeaderValue, StatusCode};
use libfuzzer_sys::fuzz_target;
use tidegate_core::RetryHint;

const NAMES: [&str; 4] = ["retry-after-ms", "retry-after", "date", "age"];

fuzz_target!(|input: (u16, u32, &[u8])| {
    let (status, seconds, lines) = input;
    let Ok(status) = StatusCode::from_u16(status) else { return };
    let mut headers = HeaderMap::new();
    for (name, line) in NAMES.iter().zip(lines.split(|byte| *byte == b'\n')) {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.insert(*name, value);
        }
    }
    let now = UNIX_EPOCH + Duration::from_secs(u64::from(seconds));
    if let Some(hint) = RetryHint::from_response(status, &headers, now) {
        assert!(!hint.delay().is_zero() && hint.delay() <= RetryHint::MAX);
        assert!(status.as_u16() >= 300, "a success gave a hint");
    }
});
