//! The sink that is a single writer. Its thread is real, so time is not paused; nothing here depends on it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::Mutex;

use tidegate_core::Class;
use tidegate_pipeline::{AbortSignal, Cause, Opts, Outcome, Pipeline, Step, queue};
use tidegate_single_writer::{Durability, Owner, Sink, WriteError, Writer};

use crate::support::{assert_conserved, numbers, quiet_panic, stage};

/// A table in memory that takes anything but what it was told to refuse.
#[derive(Default)]
struct Table {
    rows: Arc<Mutex<Vec<u64>>>,
    open: Vec<u64>,
    mark: usize,
    refuse: Option<u64>,
    panic: Option<u64>,
    full_from: Option<u64>,
}

#[derive(Debug, PartialEq)]
enum Fault {
    Bad,
    Full,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bad => "bad row",
            Self::Full => "disk full",
        })
    }
}

impl Error for Fault {}

impl Sink for Table {
    type Record = u64;
    type Ack = ();
    type Error = Fault;

    fn begin(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn apply(&mut self, row: &u64) -> Result<(), Fault> {
        if self.panic == Some(*row) {
            quiet_panic("a bug in the table");
        }
        if self.refuse == Some(*row) {
            return Err(Fault::Bad);
        }
        self.open.push(*row);
        Ok(())
    }

    fn commit(&mut self) -> Result<Durability, Fault> {
        if self.open.iter().any(|row| self.full_from.is_some_and(|full| *row >= full)) {
            return Err(Fault::Full);
        }
        self.rows.lock().unwrap().append(&mut self.open);
        Ok(Durability::Memory)
    }

    fn rollback(&mut self) {
        self.open.clear();
    }

    fn savepoint(&mut self) -> Result<(), Fault> {
        self.mark = self.open.len();
        Ok(())
    }

    fn release(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn rollback_to(&mut self) -> Result<(), Fault> {
        self.open.truncate(self.mark);
        Ok(())
    }

    fn close(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

fn table(table: Table) -> (Writer<Table>, Owner<Table>, Arc<Mutex<Vec<u64>>>) {
    let rows = Arc::clone(&table.rows);
    let (writer, owner) = Writer::builder().queue(16).max_batch(8).spawn(table).unwrap();
    (writer, owner, rows)
}

#[tokio::test]
async fn a_record_is_completed_when_it_is_committed_and_order_is_kept() {
    let (writer, owner, rows) = table(Table::default());
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = numbers(&mut p, 5000, 64);
    p.sink("db", source, writer);
    let report = p.run().await;
    assert!(matches!(report.outcome, Outcome::Completed), "{report}");
    assert_conserved(&report);
    assert_eq!(stage(&report, "db").completed, 5000);
    // Committed before the run was over: no waiting for the owner.
    assert_eq!(*rows.lock().unwrap(), (0..5000).collect::<Vec<_>>());
    // The stage dropped its handle, the last one: the writer ends by itself.
    assert!(owner.finished().await.is_clean());
}

#[tokio::test]
async fn a_refused_record_fails_alone() {
    let (writer, _owner, rows) = table(Table { refuse: Some(7), ..Table::default() });
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = numbers(&mut p, 50, 64);
    p.sink("db", source, writer);
    let report = p.run().await;
    assert!(matches!(report.outcome, Outcome::Completed), "{report}");
    let db = stage(&report, "db");
    assert_eq!((db.completed, db.failed, rows.lock().unwrap().len()), (49, 1, 49));
    assert_eq!(db.errors, ["the sink refused the record: bad row"]);
}

#[tokio::test]
async fn a_full_disk_aborts_with_its_cause_and_what_was_committed_is_counted() {
    let (writer, _owner, rows) = table(Table { full_from: Some(100), ..Table::default() });
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = numbers(&mut p, 100_000, 16);
    p.sink("db", source, writer);
    let report = p.run().await;
    assert_conserved(&report);
    let cause = report.cause().expect("it was aborted").to_string();
    assert_eq!(cause, "stage `db` met a fatal error: the batch was not committed: disk full");
    let committed = u64::try_from(rows.lock().unwrap().len()).unwrap();
    assert_eq!(stage(&report, "db").completed, committed);
    assert!(stage(&report, "numbers").emitted < 100_000);
}

#[tokio::test]
async fn a_panic_of_the_sink_aborts_and_is_listed() {
    let (writer, _owner, _rows) = table(Table { panic: Some(3), ..Table::default() });
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = numbers(&mut p, 100, 16);
    p.sink("db", source, writer);
    let report = p.run().await;
    assert_conserved(&report);
    assert!(
        matches!(report.cause(), Some(Cause::Panicked { message, .. }) if &**message == "a bug in the table")
    );
    assert_eq!((stage(&report, "db").panicked, report.panics.len()), (1, 1));
}

#[tokio::test]
async fn a_classifier_decides_what_a_failure_means() {
    // A refused record is fatal here, and a panicking one is not.
    let fatal = |error: &WriteError<Fault>| match error.sink_error() {
        Some(Fault::Bad) => Class::Fatal,
        _ => Class::Terminal,
    };
    let (writer, _owner, _rows) = table(Table { panic: Some(3), refuse: Some(40), ..Table::default() });
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = numbers(&mut p, 100_000, 16);
    p.sink_by("db", source, writer, fatal);
    let report = p.run().await;
    assert_conserved(&report);
    assert!(matches!(report.cause(), Some(Cause::Fatal { .. })), "{report}");
    assert_eq!((stage(&report, "db").panicked, stage(&report, "db").failed), (1, 1), "{report}");

    let throttled = |_: &WriteError<Fault>| Class::Throttled(None);
    let (writer, _owner, _rows) = table(Table { refuse: Some(4), ..Table::default() });
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = numbers(&mut p, 10, 16);
    p.sink_by("db", source, writer, throttled);
    let report = p.run().await;
    assert_eq!((stage(&report, "db").throttled, stage(&report, "db").completed), (1, 9), "{report}");
}

#[tokio::test]
async fn after_an_abort_answers_to_what_was_sent_are_still_taken() {
    let (writer, owner, rows) = table(Table::default());
    let signal = AbortSignal::new();
    let mut p = Pipeline::new("p", signal.clone());
    let source = p.source("source", queue(4), async |out| {
        let mut number = 0;
        while out.send(number).await.is_ok() {
            number += 1;
        }
    });
    let aborting = p.stage("abort", source, Opts::default(), move |number, _cx| {
        if number == 1000 {
            signal.abort("from outside");
        }
        async move { Step::emit(number) }
    });
    p.sink("db", aborting, writer);
    let report = p.run().await;
    assert!(matches!(report.cause(), Some(Cause::Signal(_))), "{report}");
    assert_conserved(&report);
    let rows = u64::try_from(rows.lock().unwrap().len()).unwrap();
    assert_eq!(stage(&report, "db").completed, rows, "{report}");
    assert_eq!(owner.finished().await.rows, rows);
}

#[tokio::test]
async fn a_writer_that_was_closed_or_aborted_by_others_is_fatal() {
    let (writer, owner, _rows) = table(Table::default());
    drop(owner.close(std::time::Duration::ZERO).await);
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = numbers(&mut p, 100, 16);
    p.sink("db", source, writer);
    let report = p.run().await;
    assert_conserved(&report);
    assert!(matches!(report.cause(), Some(Cause::Fatal { .. })), "{report}");
    assert_eq!(stage(&report, "db").completed, 0);
}
