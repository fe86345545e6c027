//! SW-3: a panic is an error, never a hang.
#![expect(clippy::panic, reason = "a drop that panics is what is tested")]

use tidegate_single_writer::{Durability, Sink, WriteError, Writer};

use crate::probe::{At, Fault, Probe, Record, Refused};

#[tokio::test]
async fn sw3_a_panic_is_the_error_of_its_record_and_the_thread_lives_on() {
    let (probe, view) = Probe::new();
    let (writer, owner) = Writer::builder().queue(1).spawn(probe).unwrap();
    for number in 0..100 {
        let said = writer.send(Record::Panic(number)).await.unwrap().await;
        assert!(matches!(said, Err(WriteError::Panicked(_))));
    }
    writer.send(Record::Row(100)).await.unwrap().await.unwrap();
    drop(writer);
    let report = owner.finished().await;
    assert_eq!((report.panics, report.failed, report.rows), (100, 100, 1));
    assert_eq!(report.panic.as_deref(), Some("record 0"));
    assert_eq!(view.rows(), [100]);
}

#[tokio::test]
async fn sw3_a_panic_while_beginning_or_committing_is_the_error_of_its_batch() {
    for at in [At::Begin, At::Commit] {
        let (probe, view) = Probe::new();
        let (writer, _owner) = Writer::spawn(probe.failing(at, Fault::Panic("broken"))).unwrap();
        let said = writer.send(Record::Row(1)).await.unwrap().await;
        assert!(matches!(said, Err(WriteError::Panicked(text)) if &*text == "broken"), "{at:?}");
        writer.send(Record::Row(2)).await.unwrap().await.unwrap();
        assert_eq!(view.rows(), [2]);
    }
}

#[tokio::test]
async fn sw3_a_panic_in_idle_or_in_close_is_counted_and_ends_nothing() {
    for at in [At::Idle, At::Close] {
        let (probe, view) = Probe::new();
        let (writer, owner) = Writer::spawn(probe.failing(at, Fault::Panic("upkeep"))).unwrap();
        for number in 1..=2 {
            writer.send(Record::Row(number)).await.unwrap().await.unwrap();
        }
        drop(writer);
        let report = owner.finished().await;
        assert_eq!((report.rows, report.panics), (2, 1), "{at:?}");
        assert_eq!(report.panic.as_deref(), Some("upkeep"));
        assert_eq!(view.closed_and_dropped(), (1, 1));
    }
}

/// A record that panics when it is dropped.
struct Explodes;

impl Drop for Explodes {
    fn drop(&mut self) {
        panic!("a record's drop");
    }
}

struct Takes;

impl Sink for Takes {
    type Record = Explodes;
    type Ack = ();
    type Error = Refused;

    fn begin(&mut self) -> Result<(), Refused> {
        Ok(())
    }
    fn apply(&mut self, _: &Explodes) -> Result<(), Refused> {
        Ok(())
    }
    fn commit(&mut self) -> Result<Durability, Refused> {
        Ok(Durability::Memory)
    }
    fn rollback(&mut self) {}
    fn savepoint(&mut self) -> Result<(), Refused> {
        Ok(())
    }
    fn release(&mut self) -> Result<(), Refused> {
        Ok(())
    }
    fn rollback_to(&mut self) -> Result<(), Refused> {
        Ok(())
    }
    fn close(&mut self) -> Result<(), Refused> {
        Ok(())
    }
}

#[tokio::test]
async fn sw3_a_record_that_panics_when_dropped_is_acknowledged_all_the_same() {
    let (writer, owner) = Writer::spawn(Takes).unwrap();
    for _ in 0..3 {
        writer.send(Explodes).await.unwrap().await.unwrap();
    }
    drop(writer);
    let report = owner.finished().await;
    assert_eq!((report.rows, report.panics), (3, 3));
}
