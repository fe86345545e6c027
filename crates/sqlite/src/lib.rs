//! tidegate on SQLite: a sink for the single writer, and a classifier for its errors.
//!
//! SQLite takes one writer at a time; everybody else gets "database is locked". With a
//! [`Writer`](tidegate_single_writer::Writer) over an [`SqliteSink`] one thread owns the connection, commits what is
//! queued in one transaction, and acknowledges a row only once that commit has returned.
//!
//! # Example
//! ```
//! use rusqlite::Connection;
//! use tidegate_single_writer::{Durability, Writer};
//! use tidegate_sqlite::SqliteOptions;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("papers.db");
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let open = move || {
//!     SqliteOptions::new()
//!         .schema(|db| db.execute_batch("CREATE TABLE IF NOT EXISTS papers (id INTEGER PRIMARY KEY, title TEXT)"))
//!         .open(path, |db: &Connection, title: &String| {
//!             db.prepare_cached("INSERT INTO papers (title) VALUES (?1)")?.execute([title])?;
//!             Ok(db.last_insert_rowid())
//!         })
//! };
//! let (writer, owner) = Writer::open(open).await?; // on the writer's own thread
//!
//! let saved = writer.send("A title".to_owned()).await?.await?;
//! assert_eq!((saved.ack, saved.durability), (1, Durability::Synced));
//!
//! drop(writer);
//! assert!(owner.finished().await.is_clean());
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # When not to use it
//! For reads: in WAL mode readers neither wait nor make others wait, so open connections of their own. For more than one
//! machine: SQLite's log needs shared memory, which network file systems do not have.
//!
//! # Durability
//! | [`Synchronous`] | an acknowledged row survives |
//! |---|---|
//! | `Full` (default) | a loss of power, as far as the disk keeps its word: [`Durability::Synced`](tidegate_single_writer::Durability::Synced) |
//! | `Normal` | `kill -9`: [`Durability::Process`](tidegate_single_writer::Durability::Process); a loss of power may take the last rows, never the database |
//!
//! # Guarantees
//! - **SW-1** An acknowledged row is committed: it is there, and the database whole, after `kill -9` at any moment.
//! - **SW-2** A bad record fails alone, also where SQLite rolls the whole transaction back by itself (a full disk), and
//!   where the fault shows at the commit only (a deferred constraint).
//!
//! # Panics and errors
//! Nothing here panics. [`OpenError`] names the file. [`SqliteError`] is what receipts carry; [`sqlite_classifier`] says
//! which are worth a retry ("database is locked" is, a full disk stops everybody).
//!
//! # Performance
//! One transaction, and with `Full` one sync, for a whole batch; savepoints only when a batch is replayed. Statements are
//! prepared once if the closure uses `prepare_cached`. SQLite is bundled (3.51.3 or later: earlier ones can damage a
//! database when two connections reset its log).
#![cfg_attr(docsrs, feature(doc_cfg))]

mod busy;
mod classify;
mod code;
mod error;
mod options;
mod sink;

pub use classify::{class_of_sqlite, needs_restart, sqlite_classifier};
pub use error::{OpenError, SqliteError};
pub use options::{SqliteOptions, Synchronous};
pub use sink::SqliteSink;
