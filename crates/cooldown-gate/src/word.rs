//! The one word that says where the gate stands.
//!
//! ```text
//!  63     61 60                                                      0
//! +---------+---------------------------------------------------------+
//! |  phase  |  epoch, or deadline in nanoseconds on the gate's clock  |
//! +---------+---------------------------------------------------------+
//! ```
//!
//! # States
//! | phase | payload | a pass is granted | meaning |
//! |---|---|---|---|
//! | 0 open | epoch | to everybody | never closed, or fully reopened |
//! | 4 ready | epoch | to the next who asks, as the probe | the deadline passed, nobody waits, no probe is out |
//! | 5 probing | epoch | to nobody (but see [`Machine`](crate::machine::Machine) on patience) | a probe is out |
//! | 6 paced | epoch | to the longest waiter, or to an arrival if nobody waits, at each slot | reopened, but not yet for everybody at once |
//! | 7 cooling | deadline | to nobody | closed until the deadline |
//! | 7 shut down | all ones | to nobody | for good |
//!
//! # Transitions
//! | from | event | to | who |
//! |---|---|---|---|
//! | open, ready, probing, paced | closed until `d` | cooling `d` | anybody, without the lock ([`Word::close`]) |
//! | cooling `d` | closed until `d'` | cooling `max(d, d')` | anybody, without the lock ([`Word::close`]) |
//! | any other pair | | | only under the machine's lock ([`Word::change`], [`Word::shut_down`]) |
//!
//! # Invariants
//! - I1: the phases are numbered so that closing is the greater of two words. One `fetch_max` therefore closes an open
//!   gate, extends a cooling one, never shortens, and leaves one that is shut down as it is: being that is the deadline
//!   that never comes.
//! - I2: an epoch names one period in which passes were granted, and begins when the gate leaves the cooling phase. So
//!   the open word holds it whole, and a pass learns phase and epoch from one load.
//! - I3: the highest bit is set unless the gate is open, so that asking for that is a test of the sign.
//!
//! # Orderings
//! - P1: whoever changes the word releases, whoever reads it acquires: a pass sees what was done before the gate
//!   opened.

use std::time::Duration;

use tidegate_sync::primitives::atomic::{AtomicU64, Ordering};

const SHIFT: u32 = 61;
const PAYLOAD: u64 = (1 << SHIFT) - 1;
const SHUT_DOWN: u64 = u64::MAX;

/// The latest tick there is, 73 years after the gate was made: every later deadline saturates to it.
pub(crate) const FAR: u64 = PAYLOAD - 1;

/// Where `since`, a time since the gate's clock was made, stands in ticks; saturates at [`FAR`].
pub(crate) fn tick(since: Duration) -> u64 {
    u64::try_from(since.as_nanos()).map_or(FAR, |ticks| ticks.min(FAR))
}

/// Ticks as a length: the way back from [`tick`].
pub(crate) const fn length(ticks: u64) -> Duration {
    Duration::from_nanos(ticks)
}

/// The tick that lies `length` after `now`; saturates at [`FAR`].
pub(crate) const fn after(now: u64, length: u64) -> u64 {
    let sum = now.saturating_add(length);
    if sum < FAR { sum } else { FAR }
}

/// The word, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Open { epoch: u64 },
    Ready { epoch: u64 },
    Probing { epoch: u64 },
    Paced { epoch: u64 },
    Cooling { deadline: u64 },
    ShutDown,
}

impl Phase {
    const fn pack(self) -> u64 {
        let (phase, payload) = match self {
            Self::Open { epoch } => (0, epoch),
            Self::Ready { epoch } => (4, epoch),
            Self::Probing { epoch } => (5, epoch),
            Self::Paced { epoch } => (6, epoch),
            Self::Cooling { deadline } => (7, deadline),
            Self::ShutDown => return SHUT_DOWN,
        };
        (phase << SHIFT) | if payload < FAR { payload } else { FAR }
    }

    #[inline]
    const fn unpack(word: u64) -> Self {
        let payload = word & PAYLOAD;
        match word >> SHIFT {
            4 => Self::Ready { epoch: payload },
            5 => Self::Probing { epoch: payload },
            6 => Self::Paced { epoch: payload },
            7 if word == SHUT_DOWN => Self::ShutDown,
            7 => Self::Cooling { deadline: payload },
            // 1 to 3 are never written.
            _ => Self::Open { epoch: payload },
        }
    }

    /// The epoch in which passes are granted or were granted last, if the gate has not been closed since.
    #[must_use]
    pub(crate) const fn granting(self) -> Option<u64> {
        match self {
            Self::Open { epoch }
            | Self::Ready { epoch }
            | Self::Probing { epoch }
            | Self::Paced { epoch } => Some(epoch),
            Self::Cooling { .. } | Self::ShutDown => None,
        }
    }
}

/// The word, shared.
#[derive(Debug)]
pub(crate) struct Word(AtomicU64);

impl Word {
    /// An open gate in epoch 0.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(Phase::Open { epoch: 0 }.pack()))
    }

    /// The epoch, if the gate is open for everybody: the fast path of [`phase`](Word::phase).
    #[inline]
    pub(crate) fn open(&self) -> Option<u64> {
        // Ordering: Acquire; pairs with the Release of every change (P1).
        let word = self.0.load(Ordering::Acquire);
        // An open word is its epoch (I3).
        if word >> 63 == 0 { Some(word) } else { None }
    }

    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        // Ordering: Acquire; pairs with the Release of every change (P1).
        Phase::unpack(self.0.load(Ordering::Acquire))
    }

    /// Closes until `deadline`, or until the present deadline if that is later; what it was before.
    #[must_use]
    pub(crate) fn close(&self, deadline: u64) -> Phase {
        let closed = Phase::Cooling { deadline }.pack();
        // Ordering: AcqRel; the Release pairs with `phase` (P1), the Acquire lets the closer see what it closes on.
        Phase::unpack(self.0.fetch_max(closed, Ordering::AcqRel))
    }

    /// Moves on from `from`, unless somebody else did.
    #[must_use]
    pub(crate) fn change(&self, from: Phase, to: Phase) -> bool {
        // Ordering: AcqRel as in `close`; Relaxed on failure, because the caller then reads the word again.
        let changed = self.0.compare_exchange(from.pack(), to.pack(), Ordering::AcqRel, Ordering::Relaxed);
        changed.is_ok()
    }

    /// Shuts down for good; what it was before.
    #[must_use]
    pub(crate) fn shut_down(&self) -> Phase {
        // Ordering: AcqRel as in `close`.
        Phase::unpack(self.0.fetch_max(Phase::ShutDown.pack(), Ordering::AcqRel))
    }
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;

    const ALL: [Phase; 6] = [
        Phase::Open { epoch: 7 },
        Phase::Ready { epoch: 8 },
        Phase::Probing { epoch: 9 },
        Phase::Paced { epoch: 9 },
        Phase::Cooling { deadline: 10 },
        Phase::ShutDown,
    ];

    fn at(phase: Phase) -> Word {
        Word(AtomicU64::new(phase.pack()))
    }

    #[test]
    fn a_phase_survives_packing_and_a_payload_too_large_saturates() {
        for phase in ALL {
            assert_eq!(Phase::unpack(phase.pack()), phase);
            let open = if let Phase::Open { epoch } = phase { Some(epoch) } else { None };
            assert_eq!(at(phase).open(), open);
        }
        let far = Phase::Cooling { deadline: u64::MAX };
        assert_eq!(Phase::unpack(far.pack()), Phase::Cooling { deadline: FAR });
        assert_eq!(Phase::unpack(u64::MAX), Phase::ShutDown);
    }

    #[test]
    fn closing_closes_extends_and_never_shortens() {
        for phase in &ALL[..4] {
            let phase = *phase;
            let word = at(phase);
            assert_eq!(word.close(0), phase);
            assert_eq!(word.phase(), Phase::Cooling { deadline: 0 });
        }
        let word = at(Phase::Cooling { deadline: 10 });
        assert_eq!(word.close(9), Phase::Cooling { deadline: 10 });
        assert_eq!(word.phase(), Phase::Cooling { deadline: 10 });
        assert_eq!(word.close(11), Phase::Cooling { deadline: 10 });
        assert_eq!(word.phase(), Phase::Cooling { deadline: 11 });
    }

    #[test]
    fn shut_down_is_for_good() {
        for phase in ALL {
            let word = at(phase);
            assert_eq!(word.shut_down(), phase);
            assert_eq!(word.close(FAR), Phase::ShutDown);
            assert_eq!(word.phase(), Phase::ShutDown);
        }
    }

    #[test]
    fn a_change_from_anything_but_the_present_phase_is_refused() {
        for phase in ALL {
            for from in ALL {
                let word = at(phase);
                assert_eq!(word.change(from, Phase::Open { epoch: 1 }), from == phase);
            }
        }
    }

    #[test]
    fn ticks_saturate() {
        assert_eq!(tick(Duration::from_nanos(5)), 5);
        assert_eq!(tick(Duration::MAX), FAR);
        assert_eq!(after(FAR, FAR), FAR);
        assert_eq!(after(u64::MAX, 1), FAR);
        assert_eq!(after(1, 2), 3);
    }
}
