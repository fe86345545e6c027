//! The vocabulary that the tidegate crates share.
//!
//! A crate of the family never depends on a sibling of its own layer: what two of them must agree on lives here. All
//! of it is values or seams, none of it a primitive:
//!
//! | what | who speaks it |
//! |---|---|
//! | [`Class`], [`Classify`] | whoever judges a failure: retry policy, throttle, pipeline, database presets |
//! | [`RetryHint`], [`HintCap`] | what a server said about when to come back, and how much of it one believes |
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
//! - **CG-7** Hint parsing is total: any header bytes give a hint no longer than [`RetryHint::MAX`], or none; whoever
//!   acts on it believes it up to a cap.
//!
//! # Panics and errors
//! Nothing here panics or blocks, and only `ByStatus` reads a clock.
//!
//! # Features
//! `std` (default) adds nothing but what `http` needs; without it the crate is `no_std`. `http` reads class
//! and hint from responses (`Class::from_response`, `RetryHint::from_response`) and has a judge that does so, `ByStatus`;
//! `reqwest` shows it the responses of that client.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "std")]
extern crate std;

mod class;
mod hint;
mod outcome;
#[cfg(feature = "http")]
mod response;
mod stop;

pub use class::{Class, Classify};
pub use hint::{HintCap, RetryHint};
pub use outcome::Outcome;
#[cfg(feature = "http")]
pub use response::{ByStatus, ShowsStatus};
pub use stop::{Never, NeverStopped, Stop};
