//! The facade's re-exports, and its examples run as processes.
#![cfg(not(tidegate_loom))]
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are not tests by themselves")]

mod facade;
mod paper_pipeline;
