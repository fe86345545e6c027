//! The vocabulary that the tidegate crates share.
//!
//! A crate of the family never depends on a sibling of its own layer: what two of them must agree on lives here. All
//! of it is values or seams, none of it a primitive:
//!
//! | what | who speaks it |
//! |---|---|
//! | [`Class`], [`Classify`] | whoever judges a failure: retry policy, throttle, pipeline, database presets |
//! | [`RetryHint`] | what a server said about when to come back; read from HTTP by feature `http` |
//! | [`Outcome`] | what an attempt tells a limiter |
//! | [`Stop`], [`Never`] | how a primitive listens to an abort signal without depending on one |
//!
//! ```
//! use core::time::Duration;
//! use tidegate_core::{Class, RetryHint};
//!
//! let class = Class::Throttled(RetryHint::after(Duration::from_secs(3)));
//! assert!(class.is_retryable());
//! assert_eq!(class.hint().map(RetryHint::delay), Some(Duration::from_secs(3)));
//! ```
//!
//! # Guarantees
//! - **CG-7** Hint parsing is total: any header bytes give a hint no longer than [`RetryHint::MAX`], or none.
//!
//! # Panics and errors
//! Nothing here panics, blocks, allocates or reads a clock.
//!
//! # Features
//! `std` (default) adds nothing but what `http` needs; without it the crate is `no_std`. `http` adds
//! `RetryHint::from_response`.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "std")]
extern crate std;

mod class;
mod hint;
mod outcome;
mod stop;

pub use class::{Class, Classify};
pub use hint::RetryHint;
pub use outcome::Outcome;
pub use stop::{Never, NeverStopped, Stop};
