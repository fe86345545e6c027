//! One call to a service that sometimes says 429, the whole way.
//!
//! A task that calls a limited service has to look at five things in the right order: whether everybody was told to stop,
//! whether the service asked for a pause, whether there is room for one more call, what the answer means for the others,
//! and whether to try again. [`Throttle::call`] does that, for any number of tasks that share it:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! use tidegate_core::Class;
//! use tidegate_throttle::Throttle;
//!
//! # #[derive(Debug, PartialEq)]
//! # enum ApiError { SlowDown, Gone }
//! # impl std::fmt::Display for ApiError {
//! #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { write!(f, "{self:?}") }
//! # }
//! # async fn fetch(n: u32) -> Result<&'static str, ApiError> {
//! #     if n == 1 { Err(ApiError::SlowDown) } else { Ok("a page") }
//! # }
//! let throttle = Throttle::builder()
//!     .classify(|error: &ApiError| match error {
//!         ApiError::SlowDown => Class::Throttled(None),
//!         ApiError::Gone => Class::Terminal,
//!     })
//!     .build();
//!
//! let page = throttle.call(|attempt| fetch(attempt.number())).await;
//! assert_eq!(page.ok(), Some("a page"));
//! assert_eq!(throttle.stats().throttled, 1);
//! # }
//! ```
//!
//! An attempt goes: abort check, gate, permit, *is the pass still valid?*, attempt, one report to gate and semaphore, then
//! either the end or a back-off. An attempt that was throttled sleeps at the gate only, together with everybody else, and is
//! charged to the deadline (10 min unless chosen), not to the attempts of the policy.
//!
//! # HTTP
//! With feature `http`, [`ByStatus`] judges any response that shows its status and headers, and reads the server's hint;
//! with feature `reqwest`, a `reqwest::Response` is one.
//!
//! # Rounds
//! [`Rounds`] runs a list of items, pools what failed for want of capacity, and tries it again in later rounds with fewer
//! at a time, then gives up: never an endless loop.
//!
//! # When not to use it
//! For a service that never throttles, `tidegate-retry-policy` alone is simpler. Where the rate is known and contractual, a
//! rate limiter that is told the number beats one that finds it. Where each call must be tried exactly once, use the gate
//! and the semaphore by themselves.
//!
//! # Fairness
//! First come, first served at the gate and at the semaphore. A call that finds its pass outdated joins the gate's queue
//! again, at its end.
//!
//! # Guarantees
//! - **TH-1** One 429 is seen by gate and semaphore together: it is one strike and one cut, and so is a burst of them in one
//!   epoch of the gate.
//! - **TH-2** No permit is held while a call waits: not at the gate, not in a back-off.
//! - **TH-3** After a fatal failure no new attempt starts.
//! - **TH-4** No attempt starts with a pass that was outdated while the call waited for its permit.
//!
//! # Cancel safety
//! Dropping the future of a call gives back its permit and its place, and teaches neither gate nor semaphore anything.
//!
//! # Panics and errors
//! Calls need a tokio runtime with a timer. Every failure is a [`CallError`] that says why nothing more was tried, and holds
//! what the last attempt returned.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod builder;
mod error;
mod judge;
mod observe;
#[cfg(feature = "http")]
mod response;
mod rounds;
mod throttle;

pub use builder::ThrottleBuilder;
pub use error::CallError;
pub use judge::{Errors, EveryErrorTransient, Judge, Outcomes};
pub use observe::{Observed, ThrottleStats};
pub use rounds::{Again, RoundTally, Rounds, RoundsReport};
pub use throttle::Throttle;
#[cfg(feature = "http")]
pub use tidegate_core::{ByStatus, ShowsStatus};

pub use tidegate_adaptive_semaphore::round_concurrency;
pub use tidegate_retry_policy::{Attempt, StopReason};
