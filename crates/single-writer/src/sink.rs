//! What the owner thread writes to.

use std::error::Error;

/// Something that takes records in transactions: a database connection, a file, a socket.
///
/// Every method is synchronous and runs on the owner thread, so a sink needs no lock. It is never called twice at a
/// time, and in one order only:
///
/// | pass | calls |
/// |---|---|
/// | a batch without a bad record | `begin`, `apply` for each, `commit` |
/// | when an `apply` failed or panicked | `rollback`; then `begin`, and for each other record `savepoint`, `apply`, `release` (or `rollback_to` if it failed); `commit` |
/// | when a `commit` failed | `rollback`; if [`is_record_fault`](Sink::is_record_fault) says so, then `begin`, `apply`, `commit` for each record alone |
/// | the queue ran empty | `idle` |
/// | the end | `close`, once |
///
/// # Panics
/// A panic in any method is caught (SW-3). Afterwards `rollback` or `rollback_to` is called: after it the sink must be
/// usable again, or answer the next `begin` with an error. With `panic = "abort"` nothing can be caught.
///
/// # Re-entrance
/// A sink must not wait for its own [`Writer`](crate::Writer): the thread that would answer is the one that waits.
pub trait Sink: Sized + 'static {
    /// What the producers send. Dropped on the owner thread, before its receipt resolves.
    type Record: Send + 'static;
    /// What the sink says about a record that it took: a row id, a sequence number.
    type Ack: Send + 'static;
    /// What can go wrong.
    type Error: Error + Send + Sync + 'static;

    /// Starts a transaction.
    ///
    /// # Errors
    /// Fails every record of the batch. Waiting for a busy store is the sink's own business.
    fn begin(&mut self) -> Result<(), Self::Error>;

    /// Takes one record into the open transaction. By reference: a batch with a bad record is replayed.
    ///
    /// # Errors
    /// Fails this record only.
    fn apply(&mut self, record: &Self::Record) -> Result<Self::Ack, Self::Error>;

    /// Makes the transaction durable, and says how durable: that is what the receipts will promise.
    ///
    /// # Errors
    /// Fails every record of the batch.
    fn commit(&mut self) -> Result<Durability, Self::Error>;

    /// Gives the open transaction up. Called after every failure, also when no transaction is open any more.
    fn rollback(&mut self);

    /// Marks a point inside the open transaction, before a record that may be bad.
    ///
    /// # Errors
    /// Fails every record of the batch.
    fn savepoint(&mut self) -> Result<(), Self::Error>;

    /// Forgets the last mark, keeping what was applied since.
    ///
    /// # Errors
    /// Fails the record applied since.
    fn release(&mut self) -> Result<(), Self::Error>;

    /// Undoes what was applied since the last mark, and forgets the mark.
    ///
    /// # Errors
    /// When the transaction is gone (some databases roll it back by themselves): the batch is replayed again without
    /// the bad record.
    fn rollback_to(&mut self) -> Result<(), Self::Error>;

    /// Whether a failed commit may be the fault of one record, such as a constraint checked at commit only: then the
    /// records are tried again in a transaction each. Says no unless overridden.
    fn is_record_fault(_error: &Self::Error) -> bool {
        false
    }

    /// The queue ran empty after some work: a moment for upkeep. Producers that come meanwhile wait for it.
    fn idle(&mut self) {}

    /// The last call: nothing is open any more.
    ///
    /// # Errors
    /// Reported in [`CloseReport::close_error`](crate::CloseReport::close_error).
    fn close(&mut self) -> Result<(), Self::Error>;

    /// The size of a record in bytes, as far as [`max_batch_bytes`](crate::Builder::max_batch_bytes) is concerned. Called
    /// by the producer, before the record is queued. Zero unless overridden.
    fn weigh(_record: &Self::Record) -> usize {
        0
    }
}

/// What an acknowledged record survives, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Durability {
    /// Nothing: it is in this process's memory.
    Memory,
    /// The end of this process, by `kill -9` too: the operating system has it.
    Process,
    /// A loss of power: the device was asked to sync, and said that it had.
    Synced,
}

impl Durability {
    /// The level in one lower-case word, for logs and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Process => "process",
            Self::Synced => "synced",
        }
    }
}
