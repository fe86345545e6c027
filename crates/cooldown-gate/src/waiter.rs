//! One who waits, as the machine sees it: a place in the line, and a cell in which the grant arrives.
//!
//! # States of a waiter
//! | state | in the line | grant | who moves it on |
//! |---|---|---|---|
//! | queued | yes | none | a poll put it there |
//! | granted | no | an epoch, or "shut down" | its next poll takes the grant, or its drop gives it back |
//! | gone | no | none | it took itself out |
//!
//! # Lock order
//! The machine's lock first, then a seat's.
//!
//! # Orderings
//! - P2: the grant is released after the machine counted the pass, and acquired by whoever takes it.

use tidegate_sync::WaitKey;
use tidegate_sync::primitives::atomic::{AtomicU64, Ordering};
use tidegate_sync::primitives::{Arc, Mutex};

use crate::error::ShutDown;

const NONE: u64 = u64::MAX;
const SHUT_DOWN: u64 = u64::MAX - 1;

/// Whether a waiter will say how it fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It is given a pass, and a pass can be the probe.
    Reports,
    /// It is let through and never heard of again.
    Silent,
}

/// What both sides of a waiter share.
#[derive(Debug)]
pub(crate) struct Seat {
    grant: AtomicU64,
    /// Where it stands in the line. Read and changed under the machine's lock only, so it is never contended.
    key: Mutex<Option<WaitKey>>,
}

impl Seat {
    pub(crate) fn give(&self, grant: Result<u64, ShutDown>) {
        // Ordering: Release; pairs with `Waiter::granted` (P2).
        // An epoch has 61 bits, so it is neither of the two marks.
        self.grant.store(grant.unwrap_or(SHUT_DOWN), Ordering::Release);
    }

    pub(crate) fn put(&self, key: WaitKey) {
        *self.key.lock() = Some(key);
    }
}

/// The machine's side of a waiter: what stands in the line.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) seat: Arc<Seat>,
    pub(crate) kind: Kind,
    /// The tick at which it looks again by itself; zero while a wake is under way.
    pub(crate) at: u64,
    /// Whether it was ever told to wait.
    pub(crate) waited: bool,
}

/// The waiter's own side.
#[derive(Debug)]
pub(crate) struct Waiter(Arc<Seat>);

impl Waiter {
    /// Both sides of a new waiter, which stands nowhere yet.
    pub(crate) fn pair(kind: Kind) -> (Self, Place) {
        let seat = Arc::new(Seat { grant: AtomicU64::new(NONE), key: Mutex::new(None) });
        (Self(Arc::clone(&seat)), Place { seat, kind, at: 0, waited: false })
    }

    /// Where it stands in the line, or stood until it was granted. Under the machine's lock.
    pub(crate) fn key(&self) -> Option<WaitKey> {
        *self.0.key.lock()
    }

    /// The grant, once it is there.
    pub(crate) fn granted(&self) -> Option<Result<u64, ShutDown>> {
        // Ordering: Acquire; pairs with `Seat::give` (P2).
        match self.0.grant.load(Ordering::Acquire) {
            NONE => None,
            SHUT_DOWN => Some(Err(ShutDown)),
            epoch => Some(Ok(epoch)),
        }
    }
}

/// What a look at the machine told a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Let through, in this epoch.
    Granted(u64),
    /// Never to be let through.
    ShutDown,
    /// In the line: to look again at the tick `at` at the latest, and whenever woken.
    Queued { at: u64, why: Why },
}

/// What a waiter waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The end of a cooldown.
    Cooling,
    /// The end of a probe, or of passes from before the cooldown.
    Probing,
    /// Its slot.
    Paced,
}

impl From<Result<u64, ShutDown>> for Standing {
    fn from(grant: Result<u64, ShutDown>) -> Self {
        grant.map_or(Self::ShutDown, Self::Granted)
    }
}
