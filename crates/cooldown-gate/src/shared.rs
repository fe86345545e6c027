//! What all handles of one gate share: the machine, and the clock that tells it the time.

use std::fmt;
use std::time::Duration;

use tidegate_core::HintCap;
use tidegate_sync::Clock;

use crate::error::Closed;
use crate::machine::{Grant, Machine};
use crate::passing::Turn;
use crate::waiter::Kind;
use crate::word::{Phase, length, tick};

pub(crate) struct Shared {
    pub(crate) machine: Machine,
    pub(crate) clock: Clock,
    pub(crate) hint_cap: HintCap,
}

impl Shared {
    /// A pass, if one can be had now.
    #[inline]
    pub(crate) fn attempt(&self) -> Result<Grant, Closed> {
        match self.machine.enter(Kind::Reports) {
            Some(epoch) => Ok(Grant { epoch, sent: None }),
            None => self.attempt_at_the_line(),
        }
    }

    #[cold]
    fn attempt_at_the_line(&self) -> Result<Grant, Closed> {
        Turn::new(self, Kind::Reports).attempt()
    }

    /// Whether a gate that is not open for everybody would let an arrival in at once.
    #[cold]
    pub(crate) fn admits(&self) -> bool {
        self.machine.admits(|| self.now())
    }

    /// The clock, read in ticks.
    pub(crate) fn now(&self) -> u64 {
        tick(self.clock.now())
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.machine.phase() {
            Phase::Open { .. } => "open",
            Phase::Ready { .. } | Phase::Probing { .. } => "half-open",
            Phase::Paced { .. } => "paced",
            Phase::Cooling { .. } => "cooling",
            Phase::ShutDown => "shut down",
        };
        f.debug_struct("CooldownGate")
            .field("name", &self.machine.voice.name)
            .field("state", &state)
            .finish_non_exhaustive()
    }
}

/// How long it is from one tick to another, if it is later.
pub(crate) fn between(earlier: u64, later: u64) -> Duration {
    length(later.saturating_sub(earlier))
}
