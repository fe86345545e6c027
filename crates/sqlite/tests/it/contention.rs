//! Another connection writes too.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidegate_retry_policy::{Class, Classify, RetryPolicy};
use tidegate_single_writer::{WriteError, Writer};
use tidegate_sqlite::{SqliteOptions, class_of_sqlite, needs_restart, sqlite_classifier};

use crate::store::{Store, schema};

/// Tries again at once, SQLite itself not waiting at all.
fn impatient(tries: u32) -> SqliteOptions {
    let policy = RetryPolicy::new().max_attempts(tries).initial_delay(Duration::ZERO);
    SqliteOptions::new().schema(schema).busy_timeout(Duration::ZERO).busy_retry(policy)
}

#[tokio::test]
async fn a_busy_database_is_tried_again_and_nothing_is_lost() {
    let store = Store::new();
    let tries = Arc::new(Mutex::new(Vec::new()));
    let (told, other) = (Arc::clone(&tries), Arc::new(Mutex::new(None)));
    let holder = Arc::clone(&other);
    let sink = store.sink(impatient(5).on_busy(move |attempt, pause| {
        told.lock().unwrap().push((attempt, pause));
        if attempt == 3 {
            // The other connection is dropped, and its lock with it.
            *holder.lock().unwrap() = None;
        }
    }));
    let db = store.connect();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    *other.lock().unwrap() = Some(db);
    let (writer, owner) = Writer::spawn(sink).unwrap();
    for number in 0..10 {
        drop(writer.send((number, 0)).await.unwrap());
    }
    drop(writer);
    let report = owner.finished().await;
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(*tries.lock().unwrap(), [1, 2, 3].map(|attempt| (attempt, Duration::ZERO)));
    assert_eq!(store.numbers(), (0..10).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_database_that_stays_busy_fails_the_batch_as_transient() {
    let store = Store::new();
    let sink = store.sink(impatient(3));
    let db = store.connect();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (writer, _owner) = Writer::spawn(sink).unwrap();
    let error = writer.send((1, 0)).await.unwrap().await.unwrap_err();
    assert!(matches!(error, WriteError::NotCommitted(_)));
    assert_eq!(sqlite_classifier().classify(&error), Class::Transient);
    db.execute_batch("ROLLBACK").unwrap();
    writer.send((1, 0)).await.unwrap().await.unwrap();
    assert_eq!(store.numbers(), [1]);
}

#[test]
fn a_snapshot_that_grew_old_is_transient_and_needs_the_whole_transaction_again() {
    let store = Store::new();
    drop(store.sink(SqliteOptions::new().schema(schema)));
    let (old, other) = (store.connect(), store.connect());
    old.execute_batch("BEGIN; SELECT * FROM numbers").unwrap();
    other.execute_batch("INSERT INTO numbers VALUES (1, NULL)").unwrap();
    let write = || old.execute_batch("INSERT INTO numbers VALUES (2, NULL)");
    let error = write().unwrap_err();
    assert_eq!(class_of_sqlite(&error), Some(Class::Transient));
    assert!(needs_restart(&error));
    assert!(needs_restart(&write().unwrap_err()), "the statement alone is tried in vain");
    old.execute_batch("ROLLBACK; BEGIN IMMEDIATE").unwrap();
    write().unwrap();
    old.execute_batch("COMMIT").unwrap();
    assert_eq!(store.numbers(), [1, 2]);
}

#[test]
fn two_writers_on_one_file_lose_nothing() {
    const EACH: i64 = 100;
    let store = Store::new();
    let owners: Vec<_> = (0..2)
        .map(|half| {
            let sink = store.sink(SqliteOptions::new().schema(schema));
            let (writer, owner) = Writer::builder().max_batch(4).spawn(sink).unwrap();
            for number in 0..EACH {
                drop(writer.send_blocking((half * EACH + number, 0)).unwrap());
            }
            owner
        })
        .collect();
    for owner in owners {
        let report = owner.join_blocking();
        assert_eq!((report.rows, report.failed), (EACH as u64, 0), "{report:?}");
    }
    assert_eq!(store.numbers(), (0..2 * EACH).collect::<Vec<_>>());
}
