//! The public face of the adaptive semaphore.
#![cfg(not(tidegate_loom))]
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is their failure")]

mod common;

mod acquire;
mod close;
mod epochs;
mod limits;
mod listener;
mod reference;
mod settings;
mod summary;
