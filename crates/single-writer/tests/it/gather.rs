//! SW-5 and SW-6: what goes into a batch, and in which order.

use std::thread;
use std::time::Duration;

use tidegate_single_writer::{TrySendError, Writer};

use crate::probe::{At, Probe, Record};

#[test]
fn sw5_each_producers_records_are_committed_in_its_order() {
    const EACH: u32 = 200;
    let (probe, view) = Probe::new();
    let (writer, owner) = Writer::builder().queue(8).max_batch(16).spawn(probe).unwrap();
    thread::scope(|scope| {
        for producer in 0..4 {
            let writer = writer.clone();
            scope.spawn(move || {
                for number in 0..EACH {
                    let at = producer * EACH + number;
                    let record = if number % 7 == 3 { Record::Bad(at) } else { Record::Row(at) };
                    drop(writer.send_blocking(record).unwrap());
                }
            });
        }
    });
    drop(writer);
    let report = owner.join_blocking();
    assert_eq!(report.rows + report.failed, 4 * u64::from(EACH));
    for producer in 0..4 {
        let rows: Vec<_> = view.rows().into_iter().filter(|at| at / EACH == producer).collect();
        assert!(rows.is_sorted(), "out of order: {rows:?}");
        assert_eq!(rows.len(), (0..EACH).filter(|number| number % 7 != 3).count());
    }
}

#[test]
fn sw6_no_more_than_the_queue_and_the_batch_in_hand_is_ever_taken() {
    let (probe, _) = Probe::new();
    let (probe, hold) = probe.held(At::Begin);
    let (writer, _owner) = Writer::builder().queue(4).max_batch(2).spawn(probe).unwrap();
    let mut taken = vec![writer.try_send(Record::Row(0)).unwrap()];
    hold.arrived();
    let refused = loop {
        match writer.try_send(Record::Row(1)) {
            Ok(receipt) => taken.push(receipt),
            Err(error) => break error,
        }
        assert!(taken.len() < 100, "unbounded");
    };
    assert_eq!(refused, TrySendError::Full(Record::Row(1)));
    assert_eq!(taken.len(), 5, "one in hand, four queued");
    assert_eq!(writer.stats().queued, 4);
    drop(hold);
    for receipt in taken {
        receipt.wait_blocking().unwrap();
    }
}

#[tokio::test]
async fn what_is_queued_goes_into_one_batch_up_to_its_limits() {
    let (probe, view) = Probe::new();
    let (probe, hold) = probe.held(At::Begin);
    let (writer, owner) = Writer::builder().max_batch(3).max_batch_bytes(100).spawn(probe).unwrap();
    for (n, number) in [0, 1, 2, 1, 3, 10, 9, 1, 1].into_iter().enumerate() {
        drop(writer.send(Record::Row(number)).await.unwrap());
        if n == 0 {
            hold.arrived();
        }
    }
    drop((hold, writer));
    owner.finished().await;
    // By number: three a batch. By weight (ten times the number): a batch ends with the record that reaches a hundred.
    assert_eq!(view.batches(), [vec![0], vec![1, 2, 1], vec![3, 10], vec![9, 1], vec![1]]);
}

#[tokio::test]
async fn a_batch_lingers_until_it_is_full() {
    let (probe, view) = Probe::new();
    let (writer, _owner) = Writer::builder().max_batch(3).linger(Duration::MAX).spawn(probe).unwrap();
    let mut receipts = Vec::new();
    for number in 0..3 {
        receipts.push(writer.send(Record::Row(number)).await.unwrap());
    }
    for receipt in receipts {
        assert_eq!(receipt.await.unwrap().batch, 1);
    }
    assert_eq!(view.batches(), [vec![0, 1, 2]]);
}

#[tokio::test]
async fn a_linger_ends_by_itself() {
    let (probe, _) = Probe::new();
    let (writer, _owner) = Writer::builder().linger(Duration::from_millis(1)).spawn(probe).unwrap();
    writer.send(Record::Row(1)).await.unwrap().await.unwrap();
}

#[tokio::test]
async fn a_flush_ends_a_linger_and_waits_for_everything_before_it() {
    let (probe, view) = Probe::new();
    let (writer, _owner) = Writer::builder().linger(Duration::MAX).spawn(probe).unwrap();
    let other = writer.clone();
    drop(writer.send(Record::Row(1)).await.unwrap());
    drop(other.send(Record::Bad(2)).await.unwrap());
    drop(other.send(Record::Row(3)).await.unwrap());
    writer.flush().await;
    assert_eq!(view.rows(), [1, 3]);
    let stats = writer.stats();
    assert_eq!((stats.rows, stats.failed), (2, 1));
}

#[tokio::test]
async fn a_flush_of_an_empty_queue_is_answered() {
    let (probe, view) = Probe::new();
    let (writer, _owner) = Writer::spawn(probe).unwrap();
    writer.flush().await;
    assert!(view.batches().is_empty(), "no transaction for nothing");
}

#[tokio::test]
async fn the_sink_is_told_when_the_queue_runs_empty() {
    let (probe, view) = Probe::new();
    let (probe, hold) = probe.held(At::Idle);
    let (writer, _owner) = Writer::spawn(probe).unwrap();
    writer.send(Record::Row(1)).await.unwrap().await.unwrap();
    hold.arrived();
    assert_eq!(view.idles(), 1);
}
