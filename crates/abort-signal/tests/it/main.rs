//! The public face of the crate.
#![cfg(not(tidegate_loom))]

mod levels;
mod operations;
mod traits;
mod waiting;
