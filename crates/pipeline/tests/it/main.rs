//! The public face of the pipeline.
#![cfg(not(tidegate_loom))]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are not tests by themselves"
)]

mod abort;
mod complete;
mod conserve;
mod held;
mod live;
mod panics;
mod paper;
mod report;
mod support;
mod writer;
