//! The public face of the crate.
#![cfg(all(feature = "std", not(tidegate_loom)))]

mod abort;
mod chain;
mod decisions;
mod delays;
mod run;
mod support;
mod traits;
