//! Skeleton docs.

#[cfg(not(tidegate_loom))]
mod blocking;
mod error;
mod gate;
mod machine;
#[cfg(test)]
mod models;
mod pass;
mod passing;
mod shared;
mod state;
mod waiter;
mod word;

pub use error::{Closed, ShutDown};
pub use gate::{CooldownGate, CooldownGateBuilder};
pub use pass::{OwnedPass, Pass};
pub use passing::{Passing, PassingBy, PassingOwned, Waiting};
pub use state::{Closing, GateSnapshot, GateState};
pub use tidegate_core::RetryHint;
