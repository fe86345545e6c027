//! What is known of a run: its names, what its caller brought, how it ended, and the plain record of it all.

use std::collections::BTreeMap;
use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;
// std's, not the shim's: immutable text and values, by which nothing is synchronised.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use crate::Status;

/// Names a thread (a conversation, a tenant, a file: whatever may have one live run at a time).
///
/// Cheap to clone. Any text will do, the empty one too; threads are equal when their texts are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(Arc<str>);

impl ThreadId {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ThreadId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for ThreadId {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<Arc<str>> for ThreadId {
    fn from(text: Arc<str>) -> Self {
        Self(text)
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Names a run: unique within the process across all registries, and rising in the order of creation within a thread.
///
/// It is written and read back as text ([`Display`](fmt::Display), [`FromStr`]); what stands behind the text may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(u64);

impl RunId {
    pub(crate) fn next() -> Self {
        // A std static: the model checker's atomics cannot live in one, and a model never branches on the number.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // Ordering: Relaxed; only uniqueness is asked for. That ids rise within a thread follows from the thread's lock,
        // under which they are drawn: one location's changes are seen in the order of the critical sections.
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RunId {
    type Err = ParseRunIdError;

    fn from_str(text: &str) -> Result<Self, ParseRunIdError> {
        text.parse().map(Self).map_err(ParseRunIdError)
    }
}

/// The text is not a [`RunId`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseRunIdError(ParseIntError);

impl fmt::Display for ParseRunIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a run id")
    }
}

impl std::error::Error for ParseRunIdError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// What the caller brings to a new run. Kept as it is, shown in the [`RunRecord`], never interpreted.
///
/// ```
/// use tidegate_run_registry::RunSpec;
///
/// let spec = RunSpec::new().owner("gateway-1").meta("assistant", "researcher");
/// assert_eq!(spec.owner_name(), Some("gateway-1"));
/// assert_eq!(spec.metadata().get("assistant").map(String::as_str), Some("researcher"));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RunSpec {
    owner: Option<String>,
    metadata: BTreeMap<String, String>,
}

impl RunSpec {
    /// Nothing: no owner, no metadata.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Who runs it: named in a [`Conflict`](crate::Conflict), so that the refused one knows whom to ask.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// Adds one entry of metadata, in place of an earlier one of the same key.
    #[must_use]
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Who runs it, if it was said.
    #[must_use]
    pub fn owner_name(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// The metadata, by key.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }
}

impl fmt::Debug for RunSpec {
    /// Names the owner and counts the metadata: its contents are the user's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunSpec")
            .field("owner", &self.owner)
            .field("metadata", &self.metadata.len())
            .finish_non_exhaustive()
    }
}

/// How a worker says that its run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// As intended. Refused unless the run is [`Running`](Status::Running).
    Success,
    /// By a failure; the text becomes the record's [`Cause`].
    Error(Arc<str>),
    /// Its time was up.
    Timeout,
    /// It was stopped before it was done.
    Interrupted,
}

impl Ending {
    /// An [`Ending::Error`] with this text.
    #[must_use]
    pub fn error(text: impl Into<Arc<str>>) -> Self {
        Self::Error(text.into())
    }

    /// The terminal status that it leads to.
    #[must_use]
    pub const fn status(&self) -> Status {
        match self {
            Self::Success => Status::Success,
            Self::Error(_) => Status::Error,
            Self::Timeout => Status::Timeout,
            Self::Interrupted => Status::Interrupted,
        }
    }

    pub(crate) fn cause(self) -> Option<Cause> {
        match self {
            Self::Error(text) => Some(Cause::Failed(text)),
            Self::Success | Self::Timeout | Self::Interrupted => None,
        }
    }
}

/// Why a run stands, or ended, other than by success.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// Somebody cancelled it, and perhaps said why.
    Cancelled(Option<Arc<str>>),
    /// Its worker said that it failed, with this text.
    Failed(Arc<str>),
    /// Its worker dropped the [`Run`](crate::Run) without a word: it returned early, panicked, or was itself dropped.
    Abandoned,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled(None) => f.write_str("cancelled"),
            Self::Cancelled(Some(reason)) => write!(f, "cancelled: {reason}"),
            Self::Failed(text) => write!(f, "failed: {text}"),
            Self::Abandoned => f.write_str("abandoned by its worker"),
        }
    }
}

/// A run as it stood at one moment: plain data, all of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunRecord {
    /// Its name.
    pub id: RunId,
    /// The thread that it occupies while it is live.
    pub thread: ThreadId,
    /// What its caller brought.
    pub spec: Arc<RunSpec>,
    /// Where it stood.
    pub status: Status,
    /// Why, if it was cancelled, failed or abandoned.
    pub cause: Option<Cause>,
    /// The wall-clock time of its creation: for people and databases. The durations below do not rest on it.
    pub created_at: SystemTime,
    /// Time since its creation when this record was taken.
    pub age: Duration,
    /// Time from its creation to its start; none if it has not started.
    pub started_after: Option<Duration>,
    /// Time from its creation to its end; none while it is live.
    pub finished_after: Option<Duration>,
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;

    #[test]
    fn run_ids_rise_and_read_back_from_their_text() {
        let (first, second) = (RunId::next(), RunId::next());
        assert!(first < second);
        assert_eq!(first.to_string().parse(), Ok(first));
    }

    #[test]
    fn a_text_that_is_no_run_id_is_refused() {
        for text in ["", "-1", "seven", "99999999999999999999999"] {
            assert_eq!(text.parse::<RunId>().unwrap_err().to_string(), "not a run id", "{text:?}");
        }
    }

    #[test]
    fn debug_output_holds_no_metadata() {
        let spec = RunSpec::new().owner("gateway").meta("prompt", "private");
        assert_eq!(format!("{spec:?}"), r#"RunSpec { owner: Some("gateway"), metadata: 1, .. }"#);
    }

    #[test]
    fn every_ending_is_terminal() {
        for ending in [Ending::Success, Ending::error("x"), Ending::Timeout, Ending::Interrupted] {
            assert!(ending.status().is_terminal());
        }
    }
}
