//! The statuses of a run and the one table of what may follow what.

use std::fmt;

/// Where a run stands.
///
/// The arrows below are all there are; [`Status::can_become`] and every change in the registry read the same table,
/// [`TRANSITIONS`].
///
/// | from \ to | running | cancelling | success | error | timeout | interrupted |
/// |---|---|---|---|---|---|---|
/// | `pending` | start | | | could not start | waited too long | cancelled, abandoned |
/// | `running` | | cancel | finish | finish, abandoned | finish | finish |
/// | `cancelling` | | | | finish | finish | finish, abandoned |
/// | `success`, `error`, `timeout`, `interrupted` | | | | | | |
///
/// Three consequences worth naming:
/// - a terminal status is final (**RR-4**): nothing follows it, not even itself;
/// - a run whose cancel was accepted never becomes a success: whoever was told "cancelling" can rely on it;
/// - a run that was cancelled before it started never starts, and one that never started never succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// Admitted, not started. Live: it blocks its thread.
    Pending,
    /// Started. Live.
    Running,
    /// Started, and asked to stop. Live until its worker says that it has stopped, or drops its handle.
    Cancelling,
    /// Ended as intended. Terminal.
    Success,
    /// Ended by a failure, or its worker left it without a word while it ran. Terminal.
    Error,
    /// Ended because its time was up. Terminal.
    Timeout,
    /// Stopped before it was done: cancelled, or left without a word before it started. Terminal.
    Interrupted,
}

/// Every transition there is: each status with those that may follow it. What is not in it is refused.
pub const TRANSITIONS: [(Status, &[Status]); 7] = [
    (Status::Pending, &[Status::Running, Status::Error, Status::Timeout, Status::Interrupted]),
    (
        Status::Running,
        &[Status::Cancelling, Status::Success, Status::Error, Status::Timeout, Status::Interrupted],
    ),
    (Status::Cancelling, &[Status::Error, Status::Timeout, Status::Interrupted]),
    (Status::Success, &[]),
    (Status::Error, &[]),
    (Status::Timeout, &[]),
    (Status::Interrupted, &[]),
];

impl Status {
    /// Every status, live ones first.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Running,
        Self::Cancelling,
        Self::Success,
        Self::Error,
        Self::Timeout,
        Self::Interrupted,
    ];

    /// Whether [`TRANSITIONS`] has an arrow from this status to `next`.
    ///
    /// ```
    /// use tidegate_run_registry::Status;
    ///
    /// assert!(Status::Running.can_become(Status::Success));
    /// assert!(!Status::Interrupted.can_become(Status::Success));
    /// assert!(!Status::Success.can_become(Status::Running));
    /// ```
    #[must_use]
    pub fn can_become(self, next: Self) -> bool {
        TRANSITIONS.iter().any(|(from, to)| *from == self && to.contains(&next))
    }

    /// Whether a run in this status blocks its thread: pending, running or cancelling.
    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Running | Self::Cancelling)
    }

    /// Whether nothing can follow this status: success, error, timeout or interrupted.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        !self.is_live()
    }

    /// The status in one lower-case word, for logs, tables and databases.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Cancelling => "cancelling",
            Self::Success => "success",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Interrupted => "interrupted",
        }
    }

    /// Where a cancel takes a run: one that has not started is over at once, one that runs is asked to stop.
    #[must_use]
    pub(crate) const fn when_cancelled(self) -> Option<Self> {
        match self {
            Self::Pending => Some(Self::Interrupted),
            Self::Running => Some(Self::Cancelling),
            _ => None,
        }
    }

    /// Where a run goes whose worker dropped its handle without a word: a live run without a worker must not block its
    /// thread for ever.
    #[must_use]
    pub(crate) const fn when_abandoned(self) -> Option<Self> {
        match self {
            Self::Running => Some(Self::Error),
            Self::Pending | Self::Cancelling => Some(Self::Interrupted),
            _ => None,
        }
    }

    /// Whether whatever still works for a run in this status has to stop.
    #[must_use]
    pub(crate) const fn stops_work(self) -> bool {
        matches!(self, Self::Cancelling | Self::Error | Self::Timeout | Self::Interrupted)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_one_row_for_each_status() {
        let rows: Vec<Status> = TRANSITIONS.iter().map(|(from, _)| *from).collect();
        assert_eq!(rows, Status::ALL);
    }

    #[test]
    fn rr4_nothing_follows_a_terminal_status_and_every_live_one_can_end() {
        for (from, to) in TRANSITIONS {
            assert_eq!(to.is_empty(), from.is_terminal(), "{from}");
            assert_eq!(to.iter().any(|next| next.is_terminal()), from.is_live(), "{from}");
        }
    }

    #[test]
    fn nothing_follows_itself_and_nothing_returns_to_pending() {
        for status in Status::ALL {
            assert!(!status.can_become(status), "{status}");
            assert!(!status.can_become(Status::Pending), "{status}");
        }
    }

    #[test]
    fn only_a_run_that_runs_can_succeed() {
        let able: Vec<Status> =
            Status::ALL.into_iter().filter(|from| from.can_become(Status::Success)).collect();
        assert_eq!(able, [Status::Running]);
    }

    #[test]
    fn only_a_pending_run_can_start() {
        let able: Vec<Status> =
            Status::ALL.into_iter().filter(|from| from.can_become(Status::Running)).collect();
        assert_eq!(able, [Status::Pending]);
    }

    #[test]
    fn cancel_and_abandonment_follow_the_table() {
        for status in Status::ALL {
            for next in [status.when_cancelled(), status.when_abandoned()].into_iter().flatten() {
                assert!(status.can_become(next), "{status} -> {next}");
            }
            assert_eq!(status.when_abandoned().is_some(), status.is_live(), "{status}");
        }
    }
}
