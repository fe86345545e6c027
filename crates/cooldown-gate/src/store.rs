//! One cooldown for several processes: closings are shared through a store.
//!
//! A [`CooldownGate`](crate::CooldownGate) serves the tasks of one process. When several processes call the same service,
//! each would have to be told to slow down by itself. A [`Link`] ties a gate to a [`GateStore`]: what closes the gate is
//! told to the store, and what others told the store closes the gate. The gate itself stays local: no pass ever waits for
//! the store, and a store that cannot be reached leaves a gate that works for its own process.
//!
//! # The contract of a store
//! A store keeps, for each key, a deadline, an epoch, and how many strikes there were in a row.
//!
//! | [`extend`](GateStore::extend) with an epoch | the deadline | the epoch | the strikes |
//! |---|---|---|---|
//! | at least the store's: whoever was throttled knew of the latest closing | the later of the two | one more than the greater of the two | one more |
//! | below the store's: one of a burst that is known already | the later of the two | stays | stay |
//! | any, for a key without strikes | the cooldown | as in the first row | 1 |
//! | any, but with no cooldown | stays | stays | stay |
//!
//! - The deadline never moves earlier (**CG-1**, across processes), and one burst is one strike (**CG-4**, across
//!   processes). There is no way to open through a store: each gate reopens by itself, with its own probe.
//! - The epoch of a key never falls. The strikes of a key that has been quiet for long may start again.
//! - Clocks of different machines differ, so only *remaining durations* go in and out, never instants.
//! - The `conformance` module (feature `conformance`) holds a store to this.

use std::error::Error;
use std::future::Future;
use std::time::Duration;

mod any;
#[cfg(feature = "conformance")]
#[cfg_attr(docsrs, doc(cfg(feature = "conformance")))]
pub mod conformance;
mod link;
mod local;

pub use any::{AnyGateStore, AnyGateWatch};
pub use link::Link;
pub use local::{LocalStore, LocalStoreBuilder, LocalWatch};

/// What a store knows of one key, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stored {
    /// How long its gates still have to stay closed; zero if they do not.
    pub remaining: Duration,
    /// How many strikes there were so far, or more: it names the latest closing. Never falls.
    pub epoch: u64,
    /// How many strikes there were in a row; zero if there was none lately.
    pub strikes: u32,
}

impl Stored {
    /// For stores: what is known of a key.
    #[must_use]
    pub const fn new(remaining: Duration, epoch: u64, strikes: u32) -> Self {
        Self { remaining, epoch, strikes }
    }
}

/// Shares closings between gates, of this process or of others. [The module](crate::store) has the contract.
pub trait GateStore: Send + Sync + 'static {
    /// Why the store did not answer.
    type Error: Error + Send + Sync + 'static;
    /// Follows one key.
    type Watch: GateWatch<Error = Self::Error>;

    /// Closes the gates of `key` for `cooldown` from now, or for longer if they are already, and says how they stand.
    ///
    /// `epoch` is the latest one that the caller knew when the call that was throttled began. In one step: of two callers
    /// with the same epoch, one makes the strike.
    ///
    /// # Errors
    /// If the store did not answer. It may have taken the closing all the same; to tell it again is harmless, but a
    /// second strike if the epoch is still up to date.
    fn extend(
        &self,
        key: &str,
        cooldown: Duration,
        epoch: u64,
    ) -> impl Future<Output = Result<Stored, Self::Error>> + Send;

    /// Begins to follow `key`.
    ///
    /// # Errors
    /// If the store did not answer.
    fn watch(&self, key: &str) -> impl Future<Output = Result<Self::Watch, Self::Error>> + Send;
}

/// Follows one key of a [`GateStore`].
pub trait GateWatch: Send + 'static {
    /// Why the store did not answer.
    type Error;

    /// How the key stands: at once the first time, then whenever that changed by an [`extend`](GateStore::extend).
    ///
    /// Several changes may come as one, the latest. A deadline that passes is no change.
    ///
    /// # Cancel safety
    /// Required: a future that is dropped before it is ready loses nothing, the next one brings it.
    ///
    /// # Errors
    /// If the store did not answer. The watch is of no use afterwards.
    fn next(&mut self) -> impl Future<Output = Result<Stored, Self::Error>> + Send;
}
