//! Settings of a database, and how it is opened.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use tidegate_retry_policy::RetryPolicy;
use tidegate_single_writer::Durability;

use crate::code::{self, primary};
use crate::sink::Apply;
use crate::{OpenError, SqliteSink};

/// When a commit waits for the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Synchronous {
    /// At checkpoints only: a commit survives the end of the process, not a loss of power
    /// ([`Durability::Process`]). The database stays whole either way.
    Normal,
    /// At every commit: it survives a loss of power ([`Durability::Synced`]), as far as the disk keeps its word.
    #[default]
    Full,
}

impl Synchronous {
    /// What a commit survives.
    #[must_use]
    pub const fn durability(self) -> Durability {
        match self {
            Self::Normal => Durability::Process,
            Self::Full => Durability::Synced,
        }
    }

    const fn pragma(self) -> &'static str {
        match self {
            Self::Normal => "NORMAL",
            Self::Full => "FULL",
        }
    }
}

type Schema = Box<dyn FnOnce(&Connection) -> rusqlite::Result<()> + Send>;
pub(crate) type OnBusy = Box<dyn FnMut(u32, Duration) + Send>;

/// Settings of an [`SqliteSink`], all with defaults.
///
/// ```no_run
/// use rusqlite::Connection;
/// use tidegate_sqlite::SqliteOptions;
///
/// let sink = SqliteOptions::new()
///     .schema(|db| db.execute_batch("CREATE TABLE IF NOT EXISTS papers (id TEXT PRIMARY KEY, title TEXT) STRICT"))
///     .open("papers.db", |db: &Connection, paper: &(String, String)| {
///         db.prepare_cached("INSERT INTO papers VALUES (?1, ?2)")?.execute((&paper.0, &paper.1))?;
///         Ok(db.last_insert_rowid())
///     })?;
/// # Ok::<_, tidegate_sqlite::OpenError>(())
/// ```
#[must_use = "settings do nothing until `open`"]
pub struct SqliteOptions {
    synchronous: Synchronous,
    busy_timeout: Duration,
    busy_retry: RetryPolicy,
    on_busy: Option<OnBusy>,
    wal_autocheckpoint: u32,
    wal_size_limit: u64,
    statement_cache: usize,
    foreign_keys: bool,
    schema: Option<Schema>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl SqliteOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self {
            synchronous: Synchronous::Full,
            busy_timeout: Duration::from_secs(5),
            busy_retry: RetryPolicy::default(),
            on_busy: None,
            wal_autocheckpoint: 1000,
            wal_size_limit: 64 << 20,
            statement_cache: 64,
            foreign_keys: true,
            schema: None,
        }
    }

    /// When a commit waits for the disk. [`Synchronous::Full`] by default.
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// How long SQLite itself waits for another connection's lock, each time. Five seconds by default; at most 24 days.
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// How often, and after which pauses, a transaction that found the database busy tries to begin or to commit
    /// again. By default the persistence preset: five times, 50, 100, 200 and 400 ms apart, each after a full
    /// [`busy_timeout`](Self::busy_timeout). The writer's thread sleeps meanwhile.
    pub fn busy_retry(mut self, policy: RetryPolicy) -> Self {
        self.busy_retry = policy;
        self
    }

    /// Calls `on_busy` on the writer's thread before each pause of [`busy_retry`](Self::busy_retry), with the number of
    /// the try that found the database busy, from 1, and the pause.
    pub fn on_busy(mut self, on_busy: impl FnMut(u32, Duration) + Send + 'static) -> Self {
        self.on_busy = Some(Box::new(on_busy));
        self
    }

    /// How many pages the log holds before a commit folds it into the database file. 1000 by default. Zero leaves it to
    /// the close: the log then grows without a bound.
    pub fn wal_autocheckpoint(mut self, pages: u32) -> Self {
        self.wal_autocheckpoint = pages;
        self
    }

    /// How many bytes of the `-wal` file are kept once it was folded; a long reader can make it larger for a while.
    /// 64 MiB by default.
    pub fn wal_size_limit(mut self, bytes: u64) -> Self {
        self.wal_size_limit = bytes;
        self
    }

    /// How many prepared statements are kept for `prepare_cached`. 64 by default.
    pub fn statement_cache(mut self, statements: usize) -> Self {
        self.statement_cache = statements;
        self
    }

    /// Whether foreign keys are enforced. They are by default.
    pub fn foreign_keys(mut self, enforced: bool) -> Self {
        self.foreign_keys = enforced;
        self
    }

    /// Brings the schema about at every opening, in one transaction of its own: all of it is kept, or nothing.
    pub fn schema(
        mut self,
        schema: impl FnOnce(&Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> Self {
        self.schema = Some(Box::new(schema));
        self
    }

    /// Opens the file, creating it if it is not there, and makes a sink that writes each record with `apply`.
    ///
    /// `apply` runs inside a transaction: it must neither begin, commit nor roll back. It may run twice for one record,
    /// when its batch is replayed, the first time undone. Use `prepare_cached`.
    ///
    /// Blocks on the disk, and for the busy time-out if another process sets the database up: from async code open it on
    /// the writer's thread with [`Builder::open`](tidegate_single_writer::Builder::open).
    ///
    /// # Errors
    /// See [`OpenError`]. The path is taken literally: `file:` addresses and `:memory:` are file names.
    pub fn open<R, A>(
        mut self,
        path: impl AsRef<Path>,
        apply: impl FnMut(&Connection, &R) -> rusqlite::Result<A> + Send + 'static,
    ) -> Result<SqliteSink<R, A>, OpenError> {
        let path = path.as_ref();
        let db = connect(path)?;
        self.set_up(&db, path)?;
        if let Some(schema) = self.schema.take() {
            set_schema(&db, schema).map_err(|source| OpenError::Schema { path: path.to_owned(), source })?;
        }
        let apply: Apply<R, A> = Box::new(apply);
        Ok(SqliteSink::new(db, path.to_owned(), apply, self.synchronous, self.busy_retry, self.on_busy))
    }

    fn set_up(&self, db: &Connection, path: &Path) -> Result<(), OpenError> {
        let mode = self.set_pragmas(db).map_err(|source| of_sqlite(path, source))?;
        if mode.eq_ignore_ascii_case("wal") {
            Ok(())
        } else {
            Err(OpenError::NoWal { path: path.to_owned(), mode })
        }
    }

    /// Gives the journal mode, which is the only setting that may be refused without an error.
    fn set_pragmas(&self, db: &Connection) -> rusqlite::Result<String> {
        db.busy_timeout(self.busy_timeout.min(Duration::from_millis(i32::MAX as u64)))?;
        db.set_prepared_statement_cache_capacity(self.statement_cache);
        let mode = db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
        db.pragma_update(None, "synchronous", self.synchronous.pragma())?;
        // Where a plain fsync leaves the data in the disk's cache (macOS), ask for more; elsewhere this does nothing.
        db.pragma_update(None, "fullfsync", self.synchronous == Synchronous::Full)?;
        db.pragma_update(None, "foreign_keys", self.foreign_keys)?;
        let pages = i64::from(self.wal_autocheckpoint);
        db.pragma_update_and_check(None, "wal_autocheckpoint", pages, |_| Ok(()))?;
        let bytes = i64::try_from(self.wal_size_limit).unwrap_or(i64::MAX);
        db.pragma_update_and_check(None, "journal_size_limit", bytes, |_| Ok(()))?;
        Ok(mode)
    }
}

/// Opens the file and makes sure that it is a database that can be written.
fn connect(path: &Path) -> Result<Connection, OpenError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(OpenError::MissingFolder { path: path.to_owned() });
    }
    if path.exists() && !path.is_file() {
        return Err(OpenError::NotAFile { path: path.to_owned() });
    }
    // Not ..._URI: a path is a path.
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        // A path that begins with a dot or a slash is never `:memory:`.
        let db = Connection::open_with_flags(Path::new(".").join(path), flags)?;
        // Nothing is read before the first statement: only this shows whether it is a database at all.
        db.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(()))?;
        let read_only = db.is_readonly("main")?;
        Ok((db, read_only))
    };
    match open() {
        Ok((db, false)) => Ok(db),
        Ok((_, true)) => Err(OpenError::ReadOnly { path: path.to_owned() }),
        Err(source) => Err(of_sqlite(path, source)),
    }
}

fn of_sqlite(path: &Path, source: rusqlite::Error) -> OpenError {
    let path = path.to_owned();
    match code::of(&source).map(primary) {
        Some(code::NOTADB) => OpenError::NotADatabase { path },
        Some(code::READONLY) => OpenError::ReadOnly { path },
        _ => OpenError::Sqlite { path, source },
    }
}

fn set_schema(db: &Connection, schema: Schema) -> rusqlite::Result<()> {
    db.execute_batch("BEGIN IMMEDIATE")?;
    schema(db)?;
    db.execute_batch("COMMIT")
    // If anything failed, the connection is dropped with its transaction open, which rolls it back.
}

impl fmt::Debug for SqliteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteOptions")
            .field("synchronous", &self.synchronous)
            .field("busy_timeout", &self.busy_timeout)
            .field("wal_autocheckpoint", &self.wal_autocheckpoint)
            .field("wal_size_limit", &self.wal_size_limit)
            .field("statement_cache", &self.statement_cache)
            .field("foreign_keys", &self.foreign_keys)
            .finish_non_exhaustive()
    }
}
