//! What was written, and how it ended.

use std::fmt;
use std::sync::Arc;

use crate::WriteError;

/// The numbers of a running writer: [`Writer::stats`](crate::Writer::stats).
///
/// Every record that was taken is counted once: in the queue or in hand, in `rows`, in `failed`, or in `left`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Commands that wait in the queue (records and flushes), read apart from the other numbers.
    pub queued: usize,
    /// Records committed and acknowledged.
    pub rows: u64,
    /// Transactions committed.
    pub batches: u64,
    /// Batches that had to be replayed because of a bad record.
    pub replayed: u64,
    /// Records that were tried and failed.
    pub failed: u64,
    /// Records that were never tried, because of an abort or of a deadline.
    pub left: u64,
    /// Panics caught in the sink.
    pub panics: u64,
}

/// How a writer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum End {
    /// Everything that was sent was tried, and the sink closed.
    Drained,
    /// The deadline of [`Owner::close`](crate::Owner::close) came before the queue was empty; the sink was closed.
    Deadline,
    /// The abort signal came; the sink was closed.
    Aborted,
    /// The sink did not return within the grace: the thread still runs, and the numbers are those of now.
    Stuck,
    /// The thread ended outside its rules.
    Died,
}

/// What a writer did in its life.
#[non_exhaustive]
pub struct CloseReport<E> {
    /// Records committed and acknowledged.
    pub rows: u64,
    /// Transactions committed.
    pub batches: u64,
    /// Batches that had to be replayed because of a bad record.
    pub replayed: u64,
    /// Records that were tried and failed.
    pub failed: u64,
    /// Records that were never tried: still queued at the abort or at the deadline.
    pub left: u64,
    /// Panics caught in the sink.
    pub panics: u64,
    /// The text of the first panic.
    pub panic: Option<Arc<str>>,
    /// The first failure of a record that was tried.
    pub first_failure: Option<WriteError<E>>,
    /// Why the sink did not close as it should.
    pub close_error: Option<Arc<E>>,
    /// How it ended.
    pub end: End,
}

impl<E> CloseReport<E> {
    /// Whether everything that was sent is committed and the sink closed without a complaint.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.end == End::Drained && self.failed == 0 && self.panics == 0 && self.close_error.is_none()
    }

    pub(crate) fn new(tally: &Tally<E>, end: End) -> Self {
        let Stats { rows, batches, replayed, failed, left, panics, queued: _ } = tally.stats;
        let (panic, first_failure) = (tally.panic.clone(), tally.first_failure.clone());
        let close_error = tally.close_error.clone();
        Self { rows, batches, replayed, failed, left, panics, panic, first_failure, close_error, end }
    }
}

impl<E> Clone for CloseReport<E> {
    fn clone(&self) -> Self {
        Self {
            panic: self.panic.clone(),
            first_failure: self.first_failure.clone(),
            close_error: self.close_error.clone(),
            ..*self
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for CloseReport<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CloseReport")
            .field("end", &self.end)
            .field("rows", &self.rows)
            .field("batches", &self.batches)
            .field("replayed", &self.replayed)
            .field("failed", &self.failed)
            .field("left", &self.left)
            .field("panics", &self.panics)
            .field("panic", &self.panic)
            .field("first_failure", &self.first_failure)
            .field("close_error", &self.close_error)
            .finish()
    }
}

/// The owner thread's book, shared with whoever asks.
pub(crate) struct Tally<E> {
    pub(crate) stats: Stats,
    pub(crate) panic: Option<Arc<str>>,
    pub(crate) first_failure: Option<WriteError<E>>,
    pub(crate) close_error: Option<Arc<E>>,
}

impl<E> Default for Tally<E> {
    fn default() -> Self {
        Self { stats: Stats::default(), panic: None, first_failure: None, close_error: None }
    }
}

impl<E> Tally<E> {
    /// Counts a record that was not acknowledged.
    pub(crate) fn count_failure(&mut self, failure: &WriteError<E>) {
        if failure.was_left() {
            self.stats.left += 1;
            return;
        }
        self.stats.failed += 1;
        if self.first_failure.is_none() {
            self.first_failure = Some(failure.clone());
        }
    }

    /// Counts a panic that was caught.
    pub(crate) fn count_panic(&mut self, text: &Arc<str>) {
        self.stats.panics += 1;
        self.panic.get_or_insert_with(|| Arc::clone(text));
    }
}
