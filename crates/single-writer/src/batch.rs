//! One batch: group commit, and what happens to it when a record is bad.
//!
//! # Fates of an entry
//! | fate | means | next |
//! |---|---|---|
//! | pending | not tried, or undone | applied, failed; at the end of the batch: answered as aborted, the stop came first |
//! | applied | in the open transaction | done at its commit; pending again at a rollback; failed if the commit failed |
//! | done | committed | - |
//! | failed | refused, or it panicked; never tried again | - |
//!
//! # Passes
//! | pass | when | how |
//! |---|---|---|
//! | plain | always first | all in one transaction without savepoints |
//! | careful | an apply of the plain pass failed | the others in one transaction, a savepoint each |
//! | alone | a commit failed by the fault of one record | the others in a transaction each |
//!
//! # Invariants
//! - I1: no entry is done before the commit of its transaction has returned success (SW-1).
//! - I2: an entry that failed is never applied again, so each repetition of a pass is shorter than the last: it ends.
//! - I3: whenever a call of the sink fails or panics, `rollback` or `rollback_to` follows before anything else.
//! - I4: entries are applied in the order they were queued, in every pass (SW-5).

use std::convert::Infallible;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tidegate_core::Stop;
use tokio::sync::oneshot;

use crate::receipt::Answer;
use crate::{Committed, Durability, Sink, StartError, WriteError};

/// A record on its way.
pub(crate) struct Item<S: Sink> {
    pub(crate) record: S::Record,
    pub(crate) weight: usize,
    pub(crate) reply: oneshot::Sender<AnswerOf<S>>,
}

pub(crate) type AnswerOf<S> = Answer<<S as Sink>::Ack, <S as Sink>::Error>;

/// A record of the batch in hand, and how it fares.
pub(crate) struct Entry<S: Sink> {
    item: Item<S>,
    fate: Fate<S>,
}

enum Fate<S: Sink> {
    Pending,
    Applied(S::Ack),
    Done(Committed<S::Ack>),
    Failed(WriteError<S::Error>),
}

impl<S: Sink> Entry<S> {
    pub(crate) fn new(item: Item<S>) -> Self {
        Self { item, fate: Fate::Pending }
    }

    /// Why it is not acknowledged, if it is not.
    pub(crate) fn failure(&self) -> Option<WriteError<S::Error>> {
        match &self.fate {
            Fate::Done(_) => None,
            Fate::Failed(error) => Some(error.clone()),
            Fate::Pending | Fate::Applied(_) => Some(WriteError::Aborted),
        }
    }

    /// The record and what its receipt is to say.
    pub(crate) fn into_answer(self) -> (Item<S>, AnswerOf<S>) {
        let answer = match self.fate {
            Fate::Done(committed) => Ok(committed),
            Fate::Failed(error) => Err(error),
            Fate::Pending | Fate::Applied(_) => Err(WriteError::Aborted),
        };
        (self.item, answer)
    }

    fn is_pending(&self) -> bool {
        matches!(self.fate, Fate::Pending)
    }

    fn is_applied(&self) -> bool {
        matches!(self.fate, Fate::Applied(_))
    }
}

/// What went wrong in a call of the sink.
pub(crate) enum Fault<E> {
    Error(E),
    Panic(Arc<str>),
}

impl<E> Fault<E> {
    pub(crate) fn into_start_error(self) -> StartError<E> {
        match self {
            Self::Error(error) => StartError::Open(error),
            Self::Panic(text) => StartError::Panicked(text),
        }
    }

    fn of_record(self) -> WriteError<E> {
        match self {
            Self::Error(error) => WriteError::Refused(Arc::new(error)),
            Self::Panic(text) => WriteError::Panicked(text),
        }
    }

    fn of_batch(self) -> WriteError<E> {
        match self {
            Self::Error(error) => WriteError::NotCommitted(Arc::new(error)),
            Self::Panic(text) => WriteError::Panicked(text),
        }
    }
}

/// Runs a piece of the user's code, and turns a panic into a value (SW-3).
pub(crate) fn guard<T, E>(code: impl FnOnce() -> Result<T, E>) -> Result<T, Fault<E>> {
    match catch_unwind(AssertUnwindSafe(code)) {
        Ok(result) => result.map_err(Fault::Error),
        Err(cause) => {
            let text = cause.downcast_ref::<String>().map(String::as_str);
            let text =
                text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text");
            let text = Arc::from(text);
            // What was thrown may itself panic when it is dropped, and so on: the second one is leaked.
            if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(cause))) {
                std::mem::forget(second);
            }
            Err(Fault::Panic(text))
        }
    }
}

/// Whether a transaction came to nothing by the fault of one of its records.
fn is_record_fault<S: Sink>(fault: &Fault<S::Error>) -> bool {
    match fault {
        Fault::Error(error) => guard(|| Ok::<_, Infallible>(S::is_record_fault(error))).unwrap_or(false),
        Fault::Panic(_) => false,
    }
}

/// How a pass ended.
enum Passed<E> {
    /// Its transaction is committed, or nothing was left to commit.
    Done,
    /// Rolled back because of records that are marked as failed by now.
    BadRecord,
    /// The transaction could not begin, go on, or commit.
    Broken(Fault<E>),
}

/// Writes one batch.
pub(crate) struct Batch<'a, S: Sink, P> {
    sink: &'a mut S,
    entries: &'a mut [Entry<S>],
    stop: &'a P,
    written: Written,
}

/// What a batch came to.
#[derive(Default)]
pub(crate) struct Written {
    /// Transactions committed in the writer's life, this batch's included.
    pub(crate) batches: u64,
    /// Whether more than the plain pass was needed.
    pub(crate) replayed: bool,
    /// The panics that were caught.
    pub(crate) panics: Vec<Arc<str>>,
}

impl<'a, S: Sink, P: Stop> Batch<'a, S, P> {
    /// `batches`: how many transactions were committed before.
    pub(crate) fn new(sink: &'a mut S, entries: &'a mut [Entry<S>], stop: &'a P, batches: u64) -> Self {
        let written = Written { batches, ..Written::default() };
        Self { sink, entries, stop, written }
    }

    /// Writes it. Afterwards every entry is done or failed; one that is pending was left because of the stop.
    pub(crate) fn write(mut self) -> Written {
        let mut passed = self.pass(0..self.entries.len(), Self::apply_plainly);
        while matches!(passed, Passed::BadRecord) && self.any_pending() {
            self.written.replayed = true;
            passed = self.pass(0..self.entries.len(), Self::apply_carefully);
        }
        if let Passed::Broken(fault) = passed {
            self.break_up(fault);
        }
        self.written
    }

    /// The transaction of `entries` came to nothing: the fault of one of them, or of nobody in particular.
    fn break_up(&mut self, fault: Fault<S::Error>) {
        let all = 0..self.entries.len();
        if !is_record_fault::<S>(&fault) {
            return self.fail_pending(all, &fault.of_batch());
        }
        if self.entries.iter().filter(|entry| entry.is_pending()).count() < 2 {
            return self.fail_pending(all, &fault.of_record());
        }
        self.written.replayed = true;
        for at in all {
            if let Passed::Broken(fault) = self.pass(at..at + 1, Self::apply_plainly) {
                let by_record = is_record_fault::<S>(&fault);
                let failure = if by_record { fault.of_record() } else { fault.of_batch() };
                self.fail_pending(at..at + 1, &failure);
            }
        }
    }

    /// One transaction over the pending entries of `range`: begin, apply each, commit.
    fn pass(
        &mut self,
        range: Range<usize>,
        apply: impl Fn(&mut Self, usize) -> Passed<S::Error>,
    ) -> Passed<S::Error> {
        if !self.entries[range.clone()].iter().any(Entry::is_pending) || self.stop.is_stopped() {
            return Passed::Done;
        }
        if let Err(fault) = self.call(S::begin) {
            self.undo(range);
            return Passed::Broken(fault);
        }
        for at in range.clone() {
            if self.stop.is_stopped() {
                break;
            }
            if !self.entries[at].is_pending() {
                continue;
            }
            let applied = apply(self, at);
            if !matches!(applied, Passed::Done) {
                self.undo(range);
                return applied;
            }
        }
        self.commit(range)
    }

    fn apply_plainly(&mut self, at: usize) -> Passed<S::Error> {
        match self.apply(at) {
            Ok(ack) => {
                self.entries[at].fate = Fate::Applied(ack);
                Passed::Done
            }
            Err(fault) => {
                self.entries[at].fate = Fate::Failed(fault.of_record());
                Passed::BadRecord
            }
        }
    }

    fn apply_carefully(&mut self, at: usize) -> Passed<S::Error> {
        if let Err(fault) = self.call(S::savepoint) {
            return Passed::Broken(fault);
        }
        let fault = match self.apply(at) {
            Ok(ack) => {
                self.entries[at].fate = Fate::Applied(ack);
                match self.call(S::release) {
                    Ok(()) => return Passed::Done,
                    Err(fault) => fault,
                }
            }
            Err(fault) => fault,
        };
        self.set_fate(at, Fate::Failed(fault.of_record()));
        match self.call(S::rollback_to) {
            Ok(()) => Passed::Done,
            Err(_) => Passed::BadRecord,
        }
    }

    fn commit(&mut self, range: Range<usize>) -> Passed<S::Error> {
        if !self.entries[range.clone()].iter().any(Entry::is_applied) {
            self.undo(range);
            return Passed::Done;
        }
        match self.call(S::commit) {
            Ok(durability) => {
                self.written.batches += 1;
                self.acknowledge(range, durability);
                Passed::Done
            }
            Err(fault) => {
                self.undo(range);
                Passed::Broken(fault)
            }
        }
    }

    /// The commit has returned: what was applied is done (I1).
    fn acknowledge(&mut self, range: Range<usize>, durability: Durability) {
        for entry in &mut self.entries[range] {
            entry.fate = match std::mem::replace(&mut entry.fate, Fate::Pending) {
                Fate::Applied(ack) => Fate::Done(Committed::new(ack, self.written.batches, durability)),
                other => other,
            };
        }
    }

    /// Gives the transaction up: what was applied is pending again.
    fn undo(&mut self, range: Range<usize>) {
        // A sink that cannot roll back says so at its next begin.
        let _ = self.call(|sink| {
            sink.rollback();
            Ok(())
        });
        for at in range {
            if self.entries[at].is_applied() {
                self.set_fate(at, Fate::Pending);
            }
        }
    }

    /// The fate it had may hold an ack, which is the user's, and so is its drop.
    fn set_fate(&mut self, at: usize, fate: Fate<S>) {
        let before = std::mem::replace(&mut self.entries[at].fate, fate);
        let _ = self.call(|_| {
            drop(before);
            Ok(())
        });
    }

    fn fail_pending(&mut self, range: Range<usize>, failure: &WriteError<S::Error>) {
        for entry in &mut self.entries[range] {
            if entry.is_pending() {
                entry.fate = Fate::Failed(failure.clone());
            }
        }
    }

    fn any_pending(&self) -> bool {
        self.entries.iter().any(Entry::is_pending)
    }

    fn apply(&mut self, at: usize) -> Result<S::Ack, Fault<S::Error>> {
        let record = &self.entries[at].item.record;
        let applied = guard(|| self.sink.apply(record));
        self.note(&applied);
        applied
    }

    fn call<T>(&mut self, call: impl FnOnce(&mut S) -> Result<T, S::Error>) -> Result<T, Fault<S::Error>> {
        let called = guard(|| call(self.sink));
        self.note(&called);
        called
    }

    fn note<T>(&mut self, called: &Result<T, Fault<S::Error>>) {
        if let Err(Fault::Panic(text)) = called {
            self.written.panics.push(Arc::clone(text));
        }
    }
}

#[cfg(test)]
#[cfg(not(tidegate_loom))]
mod tests;
