//! The public face of the registry.
#![cfg(not(tidegate_loom))]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper of a test fails as the test itself would")]

mod lifecycle;
mod memory;
mod reference;
mod shape;
