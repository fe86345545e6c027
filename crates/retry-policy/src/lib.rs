//! A call failed. Is it worth another one, when, and when is it enough?
//!
//! The answer is a pure function, [`RetryPolicy::decide`], of three things: the policy's numbers, what kind of failure it
//! was ([`Class`]), and how much time has passed. Around it, with feature `std`, stand a runner that calls, waits and
//! listens to an abort signal, and a classifier that finds the telling error in a chain.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
//! # #[cfg(feature = "std")] {
//! use std::io;
//! use tidegate_retry_policy::{ChainClassifier, Class, RetryPolicy, Runner};
//!
//! // Five calls, 50, 100, 200 and 400 ms apart, as long as the database is locked; anything else at once.
//! let persist = Runner::new(RetryPolicy::new())
//!     .classify(ChainClassifier::new().io().text("database is locked", Class::Transient));
//!
//! let saved = persist.run(async |attempt| match attempt.number() {
//!     1 | 2 => Err(io::Error::other("database is locked")),
//!     _ => Ok("saved"),
//! });
//! assert_eq!(saved.await.unwrap(), "saved");
//! # }
//! # }
//! ```
//!
//! | to do | use |
//! |---|---|
//! | retry every error | [`retry`] |
//! | retry by class, stop on abort, watch | [`Runner`] |
//! | find out the class of an error | [`ChainClassifier`], [`class_of_io`], or a closure |
//! | decide in a loop of your own, without a clock | [`RetryPolicy::decide`] |
//! | only the delays | [`RetryPolicy::delays`] |
//!
//! # When not to use it
//! Where many callers share one service that throttles, each of them backing off alone makes a herd: put a gate in front,
//! and tell the policy that [throttled calls are free](RetryPolicy::throttled_is_free). Do not stack runners: retries
//! multiply.
//!
//! # Guarantees
//! - **RP-1** Every delay is at most the longer of `max_delay` and the server's hint, and at least the hint, for any
//!   policy and input, NaN, infinities and [`Duration::MAX`](core::time::Duration::MAX) included. A hint over `max_hint`
//!   stops instead.
//! - **RP-2** `max_attempts` counts calls.
//! - **RP-3** It stops *before* a wait that would leave no time for a call.
//! - **RP-4** An abort ends a wait at once, and is looked at before every call.
//! - **RP-5** Typed rules are tried over the whole chain before any text rule is.
//!
//! # Cancel safety
//! Dropping the future of a run drops the call that runs, or ends the wait; nothing is left behind.
//!
//! # Panics and errors
//! No number panics. Waits and time limits need tokio's timer (see [`retry`]). A run that gives up says why in a
//! [`RetryError`].
//!
//! # Performance
//! A run whose first call succeeds at once allocates nothing and, unless a deadline is set, reads no clock. The timer is
//! boxed when the first wait begins, and then reused. A retry without a delay takes one turn of the executor, not a tick
//! of the timer.
//!
//! # Features
//! `std` (default): the runner, the classifiers, and jitter without a seed. Without it the crate is `no_std` and
//! allocates nothing: policy, delays, decisions and errors.
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod backoff;
#[cfg(feature = "std")]
mod classify;
mod decide;
mod error;
#[cfg(feature = "std")]
mod future;
mod policy;
#[cfg(feature = "std")]
mod runner;

pub use backoff::{Delays, Jitter};
#[cfg(feature = "std")]
pub use classify::{ChainClassifier, class_of_io};
pub use decide::{Decision, Progress, StopReason};
pub use error::RetryError;
#[cfg(feature = "std")]
pub use future::Retry;
pub use policy::RetryPolicy;
#[cfg(feature = "std")]
pub use runner::{AllTransient, Attempt, Observe, Runner, Unobserved, retry};
pub use tidegate_core::{Class, Classify, Never, RetryHint, Stop};
