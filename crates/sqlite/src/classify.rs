//! Which class an error of SQLite's has.

use tidegate_retry_policy::{ChainClassifier, Class};

use crate::code::{self, primary};
use crate::{OpenError, SqliteError};

/// What SQLite's result code says; none for an error without one.
///
/// | class | primary codes |
/// |---|---|
/// | transient | `BUSY`, `LOCKED`, `PROTOCOL` (a lock that could not be had), `SCHEMA` (changed meanwhile), with their extended codes |
/// | fatal | `FULL`, `IOERR`, `READONLY`, `CORRUPT`, `NOTADB`, `CANTOPEN`, `PERM`, `AUTH`, `NOMEM`, `NOLFS`, `INTERNAL`: the next record would fail too |
/// | terminal | all others, such as `CONSTRAINT` or `MISMATCH`: this record is at fault |
///
/// A transient error may need [the whole transaction again](needs_restart).
#[must_use]
pub fn class_of_sqlite(error: &rusqlite::Error) -> Option<Class> {
    code::of(error).map(|extended| match primary(extended) {
        code::BUSY | code::LOCKED | code::PROTOCOL | code::SCHEMA => Class::Transient,
        code::FULL
        | code::IOERR
        | code::READONLY
        | code::CORRUPT
        | code::NOTADB
        | code::CANTOPEN
        | code::PERM
        | code::AUTH
        | code::NOMEM
        | code::NOLFS
        | code::INTERNAL => Class::Fatal,
        _ => Class::Terminal,
    })
}

/// Whether trying the statement again is in vain, and only the whole transaction, begun anew, can succeed: its snapshot
/// is older than what another connection has written since (`SQLITE_BUSY_SNAPSHOT`, 517). No busy time-out cures that.
///
/// A transaction that begins with `BEGIN IMMEDIATE`, as those of [`SqliteSink`](crate::SqliteSink) do, never sees it.
#[must_use]
pub fn needs_restart(error: &rusqlite::Error) -> bool {
    code::of(error) == Some(code::BUSY_SNAPSHOT)
}

/// Finds SQLite's error anywhere in a chain and judges it by [its code](class_of_sqlite); only if there is none, by the
/// texts "database is locked" and "database table is locked".
///
/// A database that cannot be opened is fatal, unless it was only busy. Add your own rules with the methods of
/// [`ChainClassifier`].
///
/// ```
/// use tidegate_retry_policy::{Class, Classify};
/// use tidegate_sqlite::sqlite_classifier;
///
/// let said = std::io::Error::other("database is locked");
/// assert_eq!(sqlite_classifier().classify(&said), Class::Transient);
/// ```
#[must_use]
pub fn sqlite_classifier() -> ChainClassifier {
    ChainClassifier::new()
        .on(class_of_sqlite)
        .on(|error: &SqliteError| match error {
            SqliteError::CheckpointBusy { .. } => Some(Class::Transient),
            SqliteError::Sqlite(_) | SqliteError::TransactionLost => None,
        })
        .on(|error: &OpenError| match error {
            OpenError::Schema { .. } => None,
            _ => Some(Class::Fatal),
        })
        .text("database is locked", Class::Transient)
        .text("database table is locked", Class::Transient)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::{Error, ffi};
    use std::sync::Arc;
    use tidegate_retry_policy::Classify;
    use tidegate_single_writer::WriteError;

    fn failure(extended: i32) -> Error {
        Error::SqliteFailure(ffi::Error::new(extended), None)
    }

    fn class(extended: i32) -> Option<Class> {
        class_of_sqlite(&failure(extended))
    }

    #[test]
    fn every_kind_of_lock_is_transient_extended_codes_too() {
        for code in [
            ffi::SQLITE_BUSY,
            ffi::SQLITE_BUSY_RECOVERY,
            ffi::SQLITE_BUSY_SNAPSHOT,
            ffi::SQLITE_BUSY_TIMEOUT,
            ffi::SQLITE_LOCKED,
            ffi::SQLITE_LOCKED_SHAREDCACHE,
        ] {
            assert_eq!(class(code), Some(Class::Transient), "{code}");
        }
    }

    #[test]
    fn what_would_fail_the_next_record_too_is_fatal() {
        for code in [
            ffi::SQLITE_FULL,
            ffi::SQLITE_IOERR_WRITE,
            ffi::SQLITE_READONLY_DBMOVED,
            ffi::SQLITE_CORRUPT_INDEX,
            ffi::SQLITE_NOTADB,
            ffi::SQLITE_CANTOPEN_ISDIR,
            ffi::SQLITE_PERM,
            ffi::SQLITE_AUTH,
        ] {
            assert_eq!(class(code), Some(Class::Fatal), "{code}");
        }
    }

    #[test]
    fn what_is_the_records_own_fault_is_terminal() {
        for code in
            [ffi::SQLITE_CONSTRAINT_UNIQUE, ffi::SQLITE_MISMATCH, ffi::SQLITE_TOOBIG, ffi::SQLITE_ERROR]
        {
            assert_eq!(class(code), Some(Class::Terminal), "{code}");
        }
        assert_eq!(class_of_sqlite(&Error::QueryReturnedNoRows), None);
    }

    #[test]
    fn only_an_old_snapshot_needs_the_whole_transaction_again() {
        assert!(needs_restart(&failure(517)));
        assert!(!needs_restart(&failure(ffi::SQLITE_BUSY)));
    }

    #[test]
    fn the_code_is_found_in_the_error_of_a_receipt_and_goes_before_any_text() {
        let full = Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), Some("database is locked".into()));
        let said: WriteError<SqliteError> = WriteError::NotCommitted(Arc::new(SqliteError::Sqlite(full)));
        assert_eq!(sqlite_classifier().classify(&said), Class::Fatal);
        let said: WriteError<SqliteError> = WriteError::Refused(Arc::new(failure(ffi::SQLITE_BUSY).into()));
        assert_eq!(sqlite_classifier().classify(&said), Class::Transient);
    }

    #[test]
    fn a_database_that_cannot_be_opened_is_fatal_unless_it_is_busy() {
        let open = |source| OpenError::Sqlite { path: "x.db".into(), source };
        let classifier = sqlite_classifier();
        assert_eq!(classifier.classify(&OpenError::NotADatabase { path: "x.db".into() }), Class::Fatal);
        assert_eq!(classifier.classify(&open(failure(ffi::SQLITE_CANTOPEN))), Class::Fatal);
        assert_eq!(classifier.classify(&open(failure(ffi::SQLITE_BUSY))), Class::Transient);
    }
}
