//! The sink of the single writer: one connection, one transaction a batch.

use std::fmt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tidegate_single_writer::{Durability, Sink};

use crate::busy::Patience;
use crate::code::{self, primary};
use crate::options::{OnBusy, SqliteOptions, Synchronous};
use crate::{OpenError, SqliteError};
use tidegate_retry_policy::RetryPolicy;

pub(crate) type Apply<R, A> = Box<dyn FnMut(&Connection, &R) -> rusqlite::Result<A> + Send>;

/// Writes records of type `R` to one SQLite file in WAL mode, and acknowledges each with an `A`.
///
/// A batch is one transaction that begins with the write lock in hand (`BEGIN IMMEDIATE`), so it never has to be given
/// up half way because another connection wrote meanwhile. At the end the log is folded into the file
/// (`wal_checkpoint(TRUNCATE)`); if a reader prevents that, the close says so
/// ([`SqliteError::CheckpointBusy`]).
///
/// Readers open connections of their own: in WAL mode they never wait for this one.
pub struct SqliteSink<R, A = i64> {
    db: Connection,
    path: PathBuf,
    apply: Apply<R, A>,
    durability: Durability,
    patience: Patience,
}

impl<R, A> SqliteSink<R, A> {
    /// Opens `path` with the default settings: see [`SqliteOptions::open`].
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(
        path: impl AsRef<Path>,
        apply: impl FnMut(&Connection, &R) -> rusqlite::Result<A> + Send + 'static,
    ) -> Result<Self, OpenError> {
        SqliteOptions::new().open(path, apply)
    }

    pub(crate) fn new(
        db: Connection,
        path: PathBuf,
        apply: Apply<R, A>,
        synchronous: Synchronous,
        busy_retry: RetryPolicy,
        on_busy: Option<OnBusy>,
    ) -> Self {
        let patience = Patience::new(busy_retry, on_busy);
        Self { db, path, apply, durability: synchronous.durability(), patience }
    }

    /// The database file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A transaction that SQLite rolled back by itself must not be mistaken for an open one: outside a transaction every
    /// statement commits at once.
    fn demand_transaction(&self) -> Result<(), SqliteError> {
        if self.db.is_autocommit() { Err(SqliteError::TransactionLost) } else { Ok(()) }
    }

    fn run(&self, sql: &str) -> rusqlite::Result<()> {
        self.db.prepare_cached(sql)?.execute(()).map(|_| ())
    }
}

impl<R: Send + 'static, A: Send + 'static> Sink for SqliteSink<R, A> {
    type Record = R;
    type Ack = A;
    type Error = SqliteError;

    fn begin(&mut self) -> Result<(), SqliteError> {
        let db = &self.db;
        self.patience.run(|| db.prepare_cached("BEGIN IMMEDIATE")?.execute(()))?;
        Ok(())
    }

    fn apply(&mut self, record: &R) -> Result<A, SqliteError> {
        let ack = (self.apply)(&self.db, record)?;
        self.demand_transaction()?;
        Ok(ack)
    }

    /// A commit that finds the database busy leaves the transaction open: it can be tried again as it is.
    fn commit(&mut self) -> Result<Durability, SqliteError> {
        self.demand_transaction()?;
        let db = &self.db;
        self.patience.run(|| db.prepare_cached("COMMIT")?.execute(()))?;
        Ok(self.durability)
    }

    fn rollback(&mut self) {
        if !self.db.is_autocommit() {
            // If it cannot be rolled back, the next begin fails inside the old transaction, and says so.
            let _ = self.run("ROLLBACK");
        }
    }

    fn savepoint(&mut self) -> Result<(), SqliteError> {
        self.demand_transaction()?;
        Ok(self.run("SAVEPOINT tidegate_record")?)
    }

    fn release(&mut self) -> Result<(), SqliteError> {
        Ok(self.run("RELEASE tidegate_record")?)
    }

    fn rollback_to(&mut self) -> Result<(), SqliteError> {
        self.demand_transaction()?;
        self.run("ROLLBACK TO tidegate_record")?;
        Ok(self.run("RELEASE tidegate_record")?)
    }

    /// A deferred constraint is checked at the commit, but is one record's fault.
    fn is_record_fault(error: &SqliteError) -> bool {
        error.sqlite().and_then(code::of).map(primary) == Some(code::CONSTRAINT)
    }

    fn close(&mut self) -> Result<(), SqliteError> {
        let checkpoint = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let (busy, logged, folded): (bool, i64, i64) =
            self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), checkpoint)?;
        if busy {
            let pages = |pages| u64::try_from(pages).unwrap_or(0);
            return Err(SqliteError::CheckpointBusy { logged: pages(logged), folded: pages(folded) });
        }
        Ok(())
    }
}

impl<R, A> fmt::Debug for SqliteSink<R, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteSink")
            .field("path", &self.path)
            .field("durability", &self.durability)
            .finish_non_exhaustive()
    }
}
