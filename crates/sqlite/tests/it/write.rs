//! What is written, and what a bad record does.

use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use tidegate_retry_policy::{Class, Classify};
use tidegate_single_writer::{Durability, End, WriteError, Writer};
use tidegate_sqlite::{SqliteError, SqliteOptions, Synchronous, sqlite_classifier};

use crate::store::{Row, Store, insert, schema};

#[tokio::test]
async fn rows_are_acknowledged_with_the_durability_that_the_setting_gives() {
    for (synchronous, durability) in
        [(Synchronous::Full, Durability::Synced), (Synchronous::Normal, Durability::Process)]
    {
        let store = Store::new();
        let options = SqliteOptions::new().schema(schema).synchronous(synchronous);
        let (writer, _owner) = Writer::spawn(store.sink(options)).unwrap();
        let saved = writer.send((7, 0)).await.unwrap().await.unwrap();
        assert_eq!((saved.ack, saved.durability), (7, durability));
        assert_eq!(store.numbers(), [7], "a reader sees it at once");
    }
}

#[tokio::test]
async fn the_log_is_folded_into_the_file_at_the_close() {
    let store = Store::new();
    let (writer, owner) = Writer::spawn(store.sink(SqliteOptions::new().schema(schema))).unwrap();
    // Keeps the log in place: the last connection to close would remove it anyway.
    let other = store.connect();
    other.query_row("SELECT count(*) FROM numbers", (), |_| Ok(())).unwrap();
    for number in 0..100 {
        drop(writer.send((number, 100)).await.unwrap());
    }
    drop(writer);
    assert!(owner.finished().await.is_clean());
    assert_eq!(store.path().with_extension("db-wal").metadata().unwrap().len(), 0);
}

#[tokio::test]
async fn a_reader_that_holds_the_log_at_the_close_is_reported() {
    let store = Store::new();
    let options = SqliteOptions::new().schema(schema).busy_timeout(std::time::Duration::ZERO);
    let (writer, owner) = Writer::spawn(store.sink(options)).unwrap();
    let reader = store.connect();
    reader.execute_batch("BEGIN; SELECT * FROM numbers").unwrap();
    writer.send((1, 0)).await.unwrap().await.unwrap();
    drop(writer);
    let report = owner.finished().await;
    assert_eq!((report.end, report.rows, report.failed), (End::Drained, 1, 0));
    let complaint = report.close_error.unwrap();
    assert!(matches!(&*complaint, SqliteError::CheckpointBusy { logged, folded } if folded < logged));
    assert_eq!(sqlite_classifier().classify(&*complaint), Class::Transient);
    drop(reader);
    assert_eq!(store.numbers(), [1], "nothing is lost");
}

#[tokio::test]
async fn sw2_a_constraint_that_fails_concerns_its_record_only() {
    let store = Store::new();
    let (writer, owner) = Writer::spawn(store.sink(SqliteOptions::new().schema(schema))).unwrap();
    let mut receipts = Vec::new();
    for number in [1, 2, 2, 3] {
        receipts.push(writer.send((number, 0)).await.unwrap());
    }
    let mut said = Vec::new();
    for receipt in receipts {
        said.push(receipt.await);
    }
    assert_eq!(said.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, false, true]);
    let error = said.swap_remove(2).unwrap_err();
    assert!(matches!(error, WriteError::Refused(_)));
    assert_eq!(sqlite_classifier().classify(&error), Class::Terminal);
    drop(writer);
    assert_eq!(owner.finished().await.rows, 3);
    assert_eq!(store.numbers(), [1, 2, 3]);
}

#[tokio::test]
async fn sw2_a_constraint_that_is_checked_at_the_commit_concerns_its_record_only() {
    let store = Store::new();
    let options = SqliteOptions::new().schema(|db| {
        db.execute_batch(
            "CREATE TABLE parents (id INTEGER PRIMARY KEY);
             CREATE TABLE numbers (number INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
             INSERT INTO parents VALUES (1), (2), (4)",
        )
    });
    let sink = options.open(store.path(), |db: &Connection, number: &i64| {
        db.prepare_cached("INSERT INTO numbers VALUES (?1)")?.execute([number])
    });
    let (writer, owner) = Writer::builder().linger(std::time::Duration::MAX).spawn(sink.unwrap()).unwrap();
    let mut receipts = Vec::new();
    for number in [1, 2, 3, 4] {
        receipts.push(writer.send(number).await.unwrap());
    }
    writer.flush().await;
    let mut said = Vec::new();
    for receipt in receipts {
        said.push(receipt.await);
    }
    assert_eq!(said.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, false, true]);
    assert!(matches!(said.swap_remove(2), Err(WriteError::Refused(_))));
    drop(writer);
    assert_eq!(owner.finished().await.replayed, 1);
    assert_eq!(store.numbers(), [1, 2, 4]);
}

#[tokio::test]
async fn a_full_disk_is_fatal_and_leaves_the_earlier_rows_whole() {
    let store = Store::new();
    // A bound on the pages fails with the code of a full disk, at the same place in SQLite.
    let options = SqliteOptions::new().schema(|db| {
        schema(db)?;
        db.pragma_update_and_check(None, "max_page_count", 64, |_| Ok(()))
    });
    let told = Arc::new(Mutex::new(Vec::new()));
    let hear = Arc::clone(&told);
    let builder = Writer::builder().max_batch(16).on_failure(move |error: &WriteError<SqliteError>| {
        hear.lock().unwrap().push(sqlite_classifier().classify(error));
    });
    let (writer, owner) = builder.spawn(store.sink(options)).unwrap();
    let mut receipts = Vec::new();
    for number in 0..200 {
        receipts.push((number, writer.send((number, 3000)).await.unwrap()));
    }
    let mut acknowledged = Vec::new();
    for (number, receipt) in receipts {
        match receipt.await {
            Ok(saved) => acknowledged.push(saved.ack),
            Err(error) => {
                assert_eq!(sqlite_classifier().classify(&error), Class::Fatal, "row {number}: {error:?}");
            }
        }
    }
    drop(writer);
    let report = owner.finished().await;
    assert!(report.failed > 0 && report.rows > 0, "{report:?}");
    assert_eq!(report.rows + report.failed, 200);
    assert_eq!(told.lock().unwrap().len() as u64, report.failed);
    assert!(told.lock().unwrap().iter().all(|class| *class == Class::Fatal));
    assert_eq!(store.numbers(), acknowledged, "exactly what was acknowledged");
    assert_eq!(store.integrity(), "ok");
}

#[tokio::test]
async fn a_closure_that_ends_the_transaction_is_refused() {
    let store = Store::new();
    let sink = SqliteOptions::new().schema(schema).open(store.path(), |db: &Connection, row: &Row| {
        if row.0 == 2 {
            db.execute_batch("ROLLBACK")?;
        }
        insert(db, row)
    });
    let (writer, _owner) = Writer::spawn(sink.unwrap()).unwrap();
    writer.send((1, 0)).await.unwrap().await.unwrap();
    let error = writer.send((2, 0)).await.unwrap().await.unwrap_err();
    assert!(matches!(error.sink_error(), Some(SqliteError::TransactionLost)));
    writer.send((3, 0)).await.unwrap().await.unwrap();
}
