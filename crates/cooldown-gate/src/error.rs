//! Why no pass was granted.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The gate was shut down: it grants no pass any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShutDown;

impl fmt::Display for ShutDown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the gate was shut down")
    }
}

impl Error for ShutDown {}

/// Why [`try_pass`](crate::CooldownGate::try_pass) or [`pass_by`](crate::CooldownGate::pass_by) granted nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Closed {
    /// The gate cools down.
    Cooling {
        /// How long it still does, if nobody extends it. A pass may take longer: those who wait go first.
        remaining: Duration,
    },
    /// The gate reopened and lets one in after the other.
    Paced {
        /// How long it takes until it would be this caller's turn, behind those who wait, at the present pace.
        remaining: Duration,
    },
    /// The cooldown is over and a probe is out: its outcome decides, and nobody knows when.
    Probing,
    /// The gate was shut down.
    ShutDown,
}

impl Closed {
    /// How long to stay away at least, where that is known.
    #[must_use]
    pub const fn retry_after(self) -> Option<Duration> {
        match self {
            Self::Cooling { remaining } | Self::Paced { remaining } => Some(remaining),
            Self::Probing | Self::ShutDown => None,
        }
    }
}

impl From<ShutDown> for Closed {
    fn from(_: ShutDown) -> Self {
        Self::ShutDown
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cooling { remaining } => write!(f, "the gate cools down for another {remaining:?}"),
            Self::Paced { remaining } => {
                write!(f, "the gate is paced, and the next turn is in {remaining:?}")
            }
            Self::Probing => f.write_str("the gate is half-open and its probe is out"),
            Self::ShutDown => ShutDown.fmt(f),
        }
    }
}

impl Error for Closed {}
