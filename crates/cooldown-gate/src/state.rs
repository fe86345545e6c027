//! What the gate tells about itself.

use std::time::Duration;

/// What a closing did. It never shortened anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Closing {
    /// The gate was open or half-open and is closed now; a new epoch begins.
    Closed,
    /// The gate was cooling, and does so for longer now.
    Extended,
    /// The gate stays open and slower: a throttle without a hint, the first for a while, of a gate that goes by a learned
    /// pace. It lets nobody in for an interval.
    Slowed,
    /// Nothing changed: the gate stays closed for at least as long anyway, it was shut down, or the closing had no
    /// length.
    Kept,
}

/// Where the gate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum GateState {
    /// Everybody passes.
    Open,
    /// Nobody passes.
    Cooling {
        /// For how long still, if nobody extends it.
        remaining: Duration,
    },
    /// The gate reopened, and lets one in after the other: those who wait, then who asks.
    Paced,
    /// The cooldown is over; one probe at a time finds out whether it was long enough.
    HalfOpen,
    /// Nobody ever passes again.
    ShutDown,
}

/// The gate at one moment, in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct GateSnapshot {
    /// Where it stands.
    pub state: GateState,
    /// How long it still cools; zero unless it does.
    pub remaining: Duration,
    /// The epoch of a pass granted now; while the gate cools, that of the pass granted next.
    pub epoch: u64,
    /// How many wait in line.
    pub waiting: usize,
    /// How many passes are out, those granted to a waiter that has not looked yet among them.
    pub in_flight: usize,
    /// How often the gate was closed since it was made; extending a cooldown does not count.
    pub closures: u64,
    /// How many passes reported that they were throttled, those that were one of a burst among them.
    pub throttled: u64,
    /// How many strikes in a row, which is how far the default cooldown has escalated; zero once the gate opened.
    pub strikes: u32,
    /// The pace that the gate learned, in passes per second; none before it was first throttled, or with another
    /// [`Reopen`](crate::Reopen) than [`Paced`](crate::Reopen::Paced).
    pub pace: Option<f64>,
}

/// What a gate learned about its service: to be kept where it outlives the process, and given to the next gate by
/// [`restore`](crate::CooldownGateBuilder::restore).
///
/// ```
/// use std::time::Duration;
/// use tidegate_cooldown_gate::{CooldownGate, Learned};
///
/// let learned = Learned { pace: Some(2.0), cooldown: Some(Duration::from_secs(64)) };
/// let gate = CooldownGate::builder().restore(learned).build();
/// assert_eq!(gate.learned(), learned);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Learned {
    /// Passes per second. What is not above zero, or not a number, is taken for none.
    pub pace: Option<f64>,
    /// The default cooldown that worked. Longer than the longest is taken for the longest.
    pub cooldown: Option<Duration>,
}
