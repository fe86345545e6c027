//! What can go wrong with a database.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a record, a batch, or the closing of the sink failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum SqliteError {
    /// SQLite said so.
    Sqlite(rusqlite::Error),
    /// The transaction ended inside the closure that applies a record: SQLite rolled it back by itself, or the closure
    /// committed it, which it must not.
    TransactionLost,
    /// At close the log could not be folded into the database file, because a reader still uses it. Nothing is lost:
    /// the rows are in the `-wal` file beside the database, and whoever closes last folds it.
    CheckpointBusy {
        /// Pages in the log.
        logged: u64,
        /// Pages of these that were folded.
        folded: u64,
    },
}

impl SqliteError {
    /// SQLite's error, if it was one.
    #[must_use]
    pub fn sqlite(&self) -> Option<&rusqlite::Error> {
        match self {
            Self::Sqlite(error) => Some(error),
            _ => None,
        }
    }
}

impl From<rusqlite::Error> for SqliteError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl fmt::Display for SqliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(error) => write!(f, "{error}"),
            Self::TransactionLost => f.write_str("the transaction ended while a record was applied to it"),
            Self::CheckpointBusy { logged, folded } => {
                write!(f, "a reader holds the log: {folded} of its {logged} pages are in the database file")
            }
        }
    }
}

impl Error for SqliteError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.sqlite().map(|error| error as &(dyn Error + 'static))
    }
}

/// Why a database could not be opened. Each names the file.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The folder that is to hold the file does not exist.
    MissingFolder {
        /// The database file.
        path: PathBuf,
    },
    /// Something else than a file is there.
    NotAFile {
        /// The database file.
        path: PathBuf,
    },
    /// The file is there and is not an SQLite database.
    NotADatabase {
        /// The database file.
        path: PathBuf,
    },
    /// The file, its folder or its file system allows reading only.
    ReadOnly {
        /// The database file.
        path: PathBuf,
    },
    /// The database cannot keep a write-ahead log: it is in memory, or its file system lacks shared memory.
    NoWal {
        /// The database file.
        path: PathBuf,
        /// The journal mode that SQLite fell back to.
        mode: String,
    },
    /// SQLite could not open or set up the file: no permission, locked by another process, damaged.
    Sqlite {
        /// The database file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The schema could not be brought about; nothing of it was kept.
    Schema {
        /// The database file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
}

impl OpenError {
    /// The database file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::MissingFolder { path }
            | Self::NotAFile { path }
            | Self::NotADatabase { path }
            | Self::ReadOnly { path }
            | Self::NoWal { path, .. }
            | Self::Sqlite { path, .. }
            | Self::Schema { path, .. } => path,
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path().display())?;
        match self {
            Self::MissingFolder { .. } => f.write_str("the folder does not exist"),
            Self::NotAFile { .. } => f.write_str("not a file"),
            Self::NotADatabase { .. } => f.write_str("not an SQLite database"),
            Self::ReadOnly { .. } => f.write_str("can only be read"),
            Self::NoWal { mode, .. } => write!(f, "cannot keep a write-ahead log (journal mode {mode})"),
            Self::Sqlite { .. } => f.write_str("could not be opened"),
            Self::Schema { .. } => f.write_str("the schema could not be set up"),
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Sqlite { source, .. } | Self::Schema { source, .. } => Some(source),
            _ => None,
        }
    }
}
