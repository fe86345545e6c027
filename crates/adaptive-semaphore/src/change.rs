//! What a listener is told when the limit moves.

/// Why the limit moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The algorithm raised it.
    Grown,
    /// The algorithm lowered it.
    Cut,
    /// It, or its bounds, were set from outside.
    Set,
}

/// A move of the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// Counts the moves of this semaphore from 1. Listeners run outside the lock, so that two moves at once can arrive
    /// in either order; the number tells which came last.
    pub number: u64,
    /// The limit before.
    pub from: usize,
    /// The limit in force.
    pub to: usize,
    /// Why it moved.
    pub cause: Cause,
    /// The semaphore's epoch at the move; a cut ends it.
    pub epoch: u64,
}
