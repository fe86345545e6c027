//! Concurrency primitives for many tasks that share something scarce.
//!
//! This crate re-exports the family and adds nothing: take it whole (`features = ["full"]`), or the crates you need.
//!
//! # By question
//! | the question | use | feature |
//! |---|---|---|
//! | may anybody call at all right now? | [`cooldown_gate`] | `cooldown-gate`, default |
//! | the same for each host or key, or across processes | [`cooldown_gate`] | `cooldown-gate`, default |
//! | how many at once? | [`adaptive_semaphore`] | `adaptive-semaphore`, default |
//! | should we still be working? | [`abort_signal`] | `abort-signal`, default |
//! | again? when? | [`retry_policy`] | `retry-policy`, default |
//! | all of these, for one call | [`throttle`] | `throttle`, default |
//! | who may write? | [`single_writer`] | `single-writer` |
//! | how do several stages end together? | [`pipeline`] | `pipeline` |
//! | is somebody on it already? | [`run_registry`] | `run-registry` |
//! | the writer and the retry classes on SQLite | [`sqlite`] | `sqlite` |
//! | class and hint of an HTTP response | [`throttle`] | `http`, `reqwest` |
//! | a layer over a tower service | [`cooldown_gate`] | `tower` |
//!
//! The words they share (classes of failure, hints, outcomes) are in [`core`].
//!
//! # Three lines wrap a call
//! ```no_run
//! # async fn fetch(client: reqwest::Client, url: &str) -> Result<(), Box<dyn std::error::Error>> {
//! use tidegate::{core::Class, throttle::{ByStatus, Throttle}};
//!
//! let throttle = Throttle::builder().judge(ByStatus(|_: &reqwest::Error| Class::Transient)).build();
//! let page = throttle.call(|_attempt| client.get(url).send()).await?;
//! # Ok(())
//! # }
//! ```
//! Every clone of `throttle` shares one gate, one set of permits and one abort signal.
//!
//! # Guarantees
//! Those of the parts; each is listed in the documentation of its crate, with an id under which the repository's
//! verification book names the model and the mutant that hold it.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "abort-signal")]
#[doc(inline)]
pub use tidegate_abort_signal as abort_signal;
#[cfg(feature = "adaptive-semaphore")]
#[doc(inline)]
pub use tidegate_adaptive_semaphore as adaptive_semaphore;
#[cfg(feature = "cooldown-gate")]
#[doc(inline)]
pub use tidegate_cooldown_gate as cooldown_gate;
#[doc(inline)]
pub use tidegate_core as core;
#[cfg(feature = "pipeline")]
#[doc(inline)]
pub use tidegate_pipeline as pipeline;
#[cfg(feature = "retry-policy")]
#[doc(inline)]
pub use tidegate_retry_policy as retry_policy;
#[cfg(feature = "run-registry")]
#[doc(inline)]
pub use tidegate_run_registry as run_registry;
#[cfg(feature = "single-writer")]
#[doc(inline)]
pub use tidegate_single_writer as single_writer;
#[cfg(feature = "sqlite")]
#[doc(inline)]
pub use tidegate_sqlite as sqlite;
#[cfg(feature = "throttle")]
#[doc(inline)]
pub use tidegate_throttle as throttle;
