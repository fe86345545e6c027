//! What a producer holds until its record is committed.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use tidegate_sync::parker;
use tokio::sync::oneshot;

use crate::{Durability, WriteError};

/// A record that was committed, and what that means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed<A> {
    /// What the sink said about the record.
    pub ack: A,
    /// The number of its transaction, from 1 and rising. Records of one transaction share it.
    pub batch: u64,
    /// What it survives.
    pub durability: Durability,
}

impl<A> Committed<A> {
    pub(crate) const fn new(ack: A, batch: u64, durability: Durability) -> Self {
        Self { ack, batch, durability }
    }
}

/// The answer to one record, once there is one: a future of `Result<Committed<A>, WriteError<E>>`.
///
/// # Cancel safety
/// Dropping it loses the receipt and nothing else: the record is written all the same.
///
/// # Panics
/// When polled again after it was ready.
#[must_use = "a receipt that is dropped tells nobody whether the record was committed"]
pub struct Receipt<A, E> {
    answer: oneshot::Receiver<Answer<A, E>>,
}

/// What the owner thread says about a record.
pub(crate) type Answer<A, E> = Result<Committed<A>, WriteError<E>>;

impl<A, E> Receipt<A, E> {
    pub(crate) fn pair() -> (oneshot::Sender<Answer<A, E>>, Self) {
        let (reply, answer) = oneshot::channel();
        (reply, Self { answer })
    }

    /// Blocks this thread until the answer is there. Not for use inside an async task.
    ///
    /// # Errors
    /// Why the record is not acknowledged.
    pub fn wait_blocking(self) -> Result<Committed<A>, WriteError<E>> {
        parker::block_on(self)
    }
}

impl<A, E> Future for Receipt<A, E> {
    type Output = Result<Committed<A>, WriteError<E>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.answer).poll(cx).map(|answer| answer.unwrap_or(Err(WriteError::Died)))
    }
}

impl<A, E> fmt::Debug for Receipt<A, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receipt(..)")
    }
}
