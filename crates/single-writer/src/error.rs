//! What can go wrong, for whom.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

/// The writer is closed; the record comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Rejected<R>(pub R);

impl<R> Rejected<R> {
    /// The record.
    #[must_use]
    pub fn into_inner(self) -> R {
        self.0
    }
}

impl<R> fmt::Debug for Rejected<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rejected(..)")
    }
}

impl<R> fmt::Display for Rejected<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the writer is closed")
    }
}

impl<R> Error for Rejected<R> {}

/// Why [`try_send`](crate::Writer::try_send) took nothing; the record comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrySendError<R> {
    /// The queue is full, or others wait for its next free place.
    Full(R),
    /// The writer is closed.
    Closed(R),
}

impl<R> TrySendError<R> {
    /// The record.
    #[must_use]
    pub fn into_inner(self) -> R {
        match self {
            Self::Full(record) | Self::Closed(record) => record,
        }
    }
}

impl<R> fmt::Debug for TrySendError<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl<R> fmt::Display for TrySendError<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the writer's queue is full",
            Self::Closed(_) => "the writer is closed",
        })
    }
}

impl<R> Error for TrySendError<R> {}

/// Why a record that was sent is not acknowledged.
///
/// The sink's error is shared (one failed commit fails a whole batch) and is the [`source`](Error::source), so that a
/// classifier that walks the chain finds it.
#[non_exhaustive]
pub enum WriteError<E> {
    /// The sink refused this record; the rest of its batch is not concerned.
    Refused(Arc<E>),
    /// The transaction could not begin or commit: no record of the batch is acknowledged. A store that failed in the
    /// middle of its commit may still turn out to hold the batch.
    NotCommitted(Arc<E>),
    /// The sink panicked over this record, or while beginning or committing its batch. The text of the panic.
    Panicked(Arc<str>),
    /// The abort signal came first: never tried.
    Aborted,
    /// The deadline of [`Owner::close`](crate::Owner::close) came first: never tried.
    Closed,
    /// The owner thread ended without an answer. Unknown whether it was written.
    Died,
}

impl<E> WriteError<E> {
    /// The sink's error, if it was one.
    #[must_use]
    pub fn sink_error(&self) -> Option<&E> {
        match self {
            Self::Refused(error) | Self::NotCommitted(error) => Some(error),
            _ => None,
        }
    }

    /// Whether the record never reached the sink: it was left in the queue at the end.
    #[must_use]
    pub const fn was_left(&self) -> bool {
        matches!(self, Self::Aborted | Self::Closed)
    }
}

impl<E> Clone for WriteError<E> {
    fn clone(&self) -> Self {
        match self {
            Self::Refused(error) => Self::Refused(Arc::clone(error)),
            Self::NotCommitted(error) => Self::NotCommitted(Arc::clone(error)),
            Self::Panicked(text) => Self::Panicked(Arc::clone(text)),
            Self::Aborted => Self::Aborted,
            Self::Closed => Self::Closed,
            Self::Died => Self::Died,
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for WriteError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => f.debug_tuple("Refused").field(error).finish(),
            Self::NotCommitted(error) => f.debug_tuple("NotCommitted").field(error).finish(),
            Self::Panicked(text) => f.debug_tuple("Panicked").field(text).finish(),
            Self::Aborted => f.write_str("Aborted"),
            Self::Closed => f.write_str("Closed"),
            Self::Died => f.write_str("Died"),
        }
    }
}

impl<E> fmt::Display for WriteError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(_) => f.write_str("the sink refused the record"),
            Self::NotCommitted(_) => f.write_str("the batch was not committed"),
            Self::Panicked(text) => write!(f, "the sink panicked: {text}"),
            Self::Aborted => f.write_str("aborted before the record was written"),
            Self::Closed => f.write_str("closed before the record was written"),
            Self::Died => f.write_str("the writer's thread ended without an answer"),
        }
    }
}

impl<E: Error + 'static> Error for WriteError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.sink_error().map(|error| error as &(dyn Error + 'static))
    }
}

/// Why no writer came up.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError<O> {
    /// The operating system gave no thread.
    Thread(io::Error),
    /// The sink could not be opened.
    Open(O),
    /// Opening the sink panicked. The text of the panic.
    Panicked(Arc<str>),
}

impl<O> fmt::Display for StartError<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Thread(_) => f.write_str("no thread for the writer"),
            Self::Open(_) => f.write_str("the sink could not be opened"),
            Self::Panicked(text) => write!(f, "opening the sink panicked: {text}"),
        }
    }
}

impl<O: Error + 'static> Error for StartError<O> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Thread(error) => Some(error),
            Self::Open(error) => Some(error),
            Self::Panicked(_) => None,
        }
    }
}
