//! SQLite's result codes, as far as anything here depends on them.

use std::ffi::c_int;

use rusqlite::{Error, ffi};

pub(crate) const INTERNAL: c_int = ffi::SQLITE_INTERNAL;
pub(crate) const PERM: c_int = ffi::SQLITE_PERM;
pub(crate) const BUSY: c_int = ffi::SQLITE_BUSY;
pub(crate) const LOCKED: c_int = ffi::SQLITE_LOCKED;
pub(crate) const NOMEM: c_int = ffi::SQLITE_NOMEM;
pub(crate) const READONLY: c_int = ffi::SQLITE_READONLY;
pub(crate) const IOERR: c_int = ffi::SQLITE_IOERR;
pub(crate) const CORRUPT: c_int = ffi::SQLITE_CORRUPT;
pub(crate) const FULL: c_int = ffi::SQLITE_FULL;
pub(crate) const CANTOPEN: c_int = ffi::SQLITE_CANTOPEN;
pub(crate) const PROTOCOL: c_int = ffi::SQLITE_PROTOCOL;
pub(crate) const SCHEMA: c_int = ffi::SQLITE_SCHEMA;
pub(crate) const CONSTRAINT: c_int = ffi::SQLITE_CONSTRAINT;
pub(crate) const NOLFS: c_int = ffi::SQLITE_NOLFS;
pub(crate) const AUTH: c_int = ffi::SQLITE_AUTH;
pub(crate) const NOTADB: c_int = ffi::SQLITE_NOTADB;
pub(crate) const BUSY_SNAPSHOT: c_int = ffi::SQLITE_BUSY_SNAPSHOT;

/// The extended code of an error of SQLite's own.
pub(crate) fn of(error: &Error) -> Option<c_int> {
    match error {
        Error::SqliteFailure(error, _) | Error::SqlInputError { error, .. } => Some(error.extended_code),
        _ => None,
    }
}

/// The primary code inside an extended one.
pub(crate) const fn primary(extended: c_int) -> c_int {
    extended & 0xff
}
