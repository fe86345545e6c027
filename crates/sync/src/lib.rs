//! The internal ground of the tidegate crates. **No promise to outsiders**: this crate exists so that every primitive of
//! the family is built, and model-checked, from the same few parts.
//!
//! | room | what is in it |
//! |---|---|
//! | [`primitives`] | atomics, `Arc`, [`Mutex`](primitives::Mutex), threads: std's and parking_lot's, or the model checker's |
//! | [`WaitList`], [`WakeBatch`] | who waits, first come first served; wakes outside the lock |
//! | [`parker`] | blocks a thread on a future |
//! | [`Clock`] | the time of blocking and of timed forms, replaceable in tests |
//! | [`map`] (feature `map`) | a sharded map whose entries are changed in one step |
//! | [`model`] | runs a closure under every interleaving, or once |
//!
//! # The model checker
//! Under `--cfg tidegate_loom` the [`primitives`] are loom's. The cfg alone decides, for every crate at once: a shim
//! gated on `test` would leave a model of one crate running over another's std atomics, which passes after exploring
//! nothing. The `loom` feature only brings the package in; the crates switch it on through a dev-dependency under the
//! cfg, so that users' lock files never hold it.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod clock;
#[cfg(feature = "map")]
pub mod map;
pub mod model;
pub mod parker;
pub mod primitives;
mod wait_list;

pub use clock::{Clock, ManualClock};
pub use wait_list::{WaitKey, WaitList, Waiter, WakeBatch};
