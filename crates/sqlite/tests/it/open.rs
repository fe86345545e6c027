//! What can be opened, and what a refusal says.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a part of the tests, which may")]

use std::error::Error;
use std::fs;

use rusqlite::Connection;
use tidegate_single_writer::{StartError, Writer};
use tidegate_sqlite::{OpenError, SqliteOptions, SqliteSink, Synchronous};

use crate::store::{Row, Store, insert, schema};

fn refusal(path: impl AsRef<std::path::Path>) -> OpenError {
    let path = path.as_ref();
    let error = SqliteSink::open(path, insert).expect_err("it was opened");
    assert_eq!(error.path(), path);
    assert!(error.to_string().contains(path.to_str().unwrap()), "the path is named: {error}");
    error
}

#[test]
fn sqlite_is_recent_enough_to_reset_its_log_safely() {
    assert!(rusqlite::version_number() >= 3_051_003, "SQLite {}", rusqlite::version());
}

#[test]
fn a_missing_folder_is_said() {
    let store = Store::new();
    assert!(matches!(refusal(store.folder.path().join("no/such.db")), OpenError::MissingFolder { .. }));
}

#[test]
fn a_folder_is_not_a_file() {
    let store = Store::new();
    assert!(matches!(refusal(store.folder.path()), OpenError::NotAFile { .. }));
}

#[test]
fn a_file_of_another_kind_is_not_touched() {
    let store = Store::new();
    for text in ["short", &"a text that is much longer than the header of a database ".repeat(100)] {
        fs::write(store.path(), text).unwrap();
        assert!(matches!(refusal(store.path()), OpenError::NotADatabase { .. }));
        assert_eq!(fs::read_to_string(store.path()).unwrap(), text);
    }
}

#[test]
fn a_schema_is_kept_whole_or_not_at_all() {
    let store = Store::new();
    let options = SqliteOptions::new()
        .schema(|db| db.execute_batch("CREATE TABLE first (x); CREATE TABLE second (x); CREATE GARBAGE"));
    let error = options.open(store.path(), insert).expect_err("it was opened");
    assert!(matches!(error, OpenError::Schema { .. }));
    assert!(error.source().is_some_and(|cause| cause.to_string().contains("GARBAGE")));
    let tables: i64 =
        store.connect().query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0)).unwrap();
    assert_eq!(tables, 0);
}

#[test]
fn the_connection_is_set_up_as_the_options_say() {
    let store = Store::new();
    let settings = |options: SqliteOptions| {
        let (say, said) = std::sync::mpsc::channel();
        let ask = move |db: &Connection| {
            let pragma = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            let names =
                ["synchronous", "foreign_keys", "wal_autocheckpoint", "journal_size_limit", "busy_timeout"];
            say.send(names.map(|name| pragma(name).unwrap())).unwrap();
            Ok(())
        };
        drop(options.schema(ask).open(store.path(), insert).unwrap());
        said.recv().unwrap()
    };
    assert_eq!(settings(SqliteOptions::new()), [2, 1, 1000, 64 << 20, 5000]);
    let other = SqliteOptions::new()
        .synchronous(Synchronous::Normal)
        .foreign_keys(false)
        .wal_autocheckpoint(0)
        .wal_size_limit(u64::MAX)
        .busy_timeout(std::time::Duration::MAX);
    assert_eq!(settings(other), [1, 0, 0, i64::MAX, i64::from(i32::MAX)]);
    let mode: String = store.connect().pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn a_path_is_a_path() {
    let store = Store::new();
    for name in ["file:numbers.db?mode=memory", ":memory:"] {
        let path = store.folder.path().join(name);
        drop(SqliteSink::open(&path, insert).unwrap());
        assert!(path.is_file(), "{name}");
    }
}

#[tokio::test]
async fn the_opener_of_a_writer_hears_why_there_is_none() {
    let store = Store::new();
    let path = store.folder.path().join("no/such.db");
    let refused =
        Writer::<SqliteSink<Row>>::open(move || SqliteOptions::new().schema(schema).open(path, insert));
    assert!(matches!(refused.await, Err(StartError::Open(OpenError::MissingFolder { .. }))));
}
