//! SW-1 and SW-2: what a receipt means.

use std::error::Error;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use tidegate_single_writer::{Durability, WriteError, Writer};

use crate::probe::{At, Fault, Probe, Record, Refused};

#[test]
fn sw1_a_receipt_waits_for_the_commit() {
    let (probe, view) = Probe::new();
    let (probe, hold) = probe.held(At::Commit);
    let (writer, owner) = Writer::spawn(probe).unwrap();
    let mut receipt = pin!(writer.send_blocking(Record::Row(7)).unwrap());

    hold.arrived();
    let mut context = Context::from_waker(Waker::noop());
    assert!(receipt.as_mut().poll(&mut context).is_pending(), "acknowledged before the commit");
    assert!(view.rows().is_empty());
    hold.go();
    drop(writer);
    drop(hold);
    assert_eq!(owner.join_blocking().rows, 1);
    let ready = receipt.poll(&mut context).map(|said| said.unwrap().ack);
    assert_eq!(ready, std::task::Poll::Ready(7));
}

#[tokio::test]
async fn sw1_a_receipt_states_the_durability_of_its_commit_and_its_batch() {
    let (probe, _) = Probe::new();
    let (writer, _owner) = Writer::spawn(probe.durable(Durability::Synced)).unwrap();
    for batch in 1..=3 {
        let committed = writer.send(Record::Row(1)).await.unwrap().await.unwrap();
        assert_eq!((committed.batch, committed.durability), (batch, Durability::Synced));
    }
}

#[tokio::test]
async fn sw1_a_batch_that_does_not_commit_acknowledges_nothing() {
    let (probe, view) = Probe::new();
    let (probe, hold) = probe.failing(At::Commit, Fault::Error("disk full")).held(At::Begin);
    let (writer, _owner) = Writer::spawn(probe).unwrap();
    let first = writer.send(Record::Row(0)).await.unwrap();
    hold.arrived();
    let second = writer.send(Record::Row(1)).await.unwrap();
    drop(hold);

    let error = first.await.unwrap_err();
    assert!(matches!(&error, WriteError::NotCommitted(cause) if **cause == Refused("disk full")));
    let cause = error.source().and_then(|cause| cause.downcast_ref::<Refused>());
    assert_eq!(cause, Some(&Refused("disk full")), "a classifier finds the sink's error in the chain");
    second.await.unwrap();
    assert_eq!(view.rows(), [1], "the next batch is not concerned");
}

#[tokio::test]
async fn sw2_a_bad_record_fails_alone() {
    let (probe, view) = Probe::new();
    let (probe, hold) = probe.held(At::Begin);
    let (writer, owner) = Writer::spawn(probe).unwrap();
    let first = writer.send(Record::Row(0)).await.unwrap();
    hold.arrived();
    let records = [Record::Row(1), Record::Bad(2), Record::Row(3), Record::Panic(4), Record::Row(5)];
    let mut receipts = Vec::new();
    for record in records {
        receipts.push(writer.send(record).await.unwrap());
    }
    drop(hold);

    assert_eq!(first.await.unwrap().batch, 1);
    for (record, receipt) in records.into_iter().zip(receipts) {
        let said = receipt.await;
        match record {
            Record::Row(number) => {
                let committed = said.expect("the rest of the batch commits");
                assert_eq!((committed.ack, committed.batch), (number, 2));
            }
            Record::Bad(_) => assert!(matches!(said, Err(WriteError::Refused(_)))),
            Record::Panic(_) => {
                assert!(matches!(said, Err(WriteError::Panicked(text)) if &*text == "record 4"));
            }
        }
    }
    drop(writer);
    let report = owner.finished().await;
    assert_eq!(view.batches(), [vec![0], vec![1, 3, 5]]);
    assert_eq!((report.rows, report.failed, report.batches, report.replayed), (4, 2, 2, 1));
    assert!(!report.is_clean());
    assert!(matches!(report.first_failure, Some(WriteError::Refused(_))));
}

#[tokio::test]
async fn a_receipt_that_is_dropped_loses_the_receipt_only() {
    let (probe, view) = Probe::new();
    let (writer, owner) = Writer::spawn(probe).unwrap();
    drop(writer.send(Record::Row(1)).await.unwrap());
    drop(writer);
    assert!(owner.finished().await.is_clean());
    assert_eq!(view.rows(), [1]);
}

#[tokio::test]
async fn failures_are_told_even_when_nobody_holds_the_receipt_and_before_it_resolves() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let hear = Arc::clone(&told);
    let (probe, _) = Probe::new();
    let builder = Writer::builder().on_failure(move |error: &WriteError<Refused>| {
        hear.lock().unwrap().push(error.to_string());
        assert_ne!(error.to_string(), "the sink panicked: record 2", "a panic in here is caught");
    });
    let (writer, owner) = builder.spawn(probe).unwrap();
    writer.send(Record::Bad(1)).await.unwrap().await.unwrap_err();
    assert_eq!(*told.lock().unwrap(), ["the sink refused the record"]);
    drop(writer.send(Record::Panic(2)).await.unwrap());
    drop(writer);
    let report = owner.finished().await;
    assert_eq!((report.failed, report.panics), (2, 2));
    assert_eq!(told.lock().unwrap().len(), 2);
}
