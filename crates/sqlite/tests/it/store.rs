//! A table of numbers, in a folder of its own.
#![expect(clippy::unwrap_used, reason = "a part of the tests, which may")]

use std::path::PathBuf;

use rusqlite::Connection;
use tempfile::TempDir;
use tidegate_sqlite::{SqliteOptions, SqliteSink};

/// A number, and how many bytes it drags along.
pub(crate) type Row = (i64, usize);

pub(crate) struct Store {
    pub(crate) folder: TempDir,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("numbers.db")
    }

    /// A connection beside the writer's.
    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    pub(crate) fn numbers(&self) -> Vec<i64> {
        let db = self.connect();
        let mut rows = db.prepare("SELECT number FROM numbers ORDER BY number").unwrap();
        rows.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    pub(crate) fn integrity(&self) -> String {
        self.connect().query_row("PRAGMA integrity_check", (), |row| row.get(0)).unwrap()
    }

    pub(crate) fn sink(&self, options: SqliteOptions) -> SqliteSink<Row> {
        options.open(self.path(), insert).unwrap()
    }
}

pub(crate) fn schema(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch("CREATE TABLE IF NOT EXISTS numbers (number INTEGER PRIMARY KEY, ballast BLOB)")
}

pub(crate) fn insert(db: &Connection, row: &Row) -> rusqlite::Result<i64> {
    db.prepare_cached("INSERT INTO numbers VALUES (?1, zeroblob(?2))")?.execute((row.0, row.1 as i64))?;
    Ok(db.last_insert_rowid())
}
