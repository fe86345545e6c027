//! SW-4: the ways it ends.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tidegate_core::Stop;
use tidegate_single_writer::{CloseReport, End, Owner, Receipt, Rejected, StartError, WriteError, Writer};
use tokio::sync::watch;

use crate::probe::{At, Fault, Probe, Record, Refused};

#[tokio::test]
async fn sw4_when_the_last_writer_is_gone_the_queue_is_drained_and_the_sink_closed() {
    let (probe, view) = Probe::new();
    let (probe, hold) = probe.held(At::Begin);
    let (writer, owner) = Writer::builder().max_batch(2).spawn(probe).unwrap();
    let second = writer.clone();
    for number in 0..7 {
        drop(second.send(Record::Row(number)).await.unwrap());
    }
    drop((writer, second));
    assert_eq!(view.closed_and_dropped(), (0, 0));
    drop(hold);
    let report = owner.finished().await;
    assert_eq!((report.end, report.rows, report.left), (End::Drained, 7, 0));
    assert!(report.is_clean());
    assert_eq!(view.rows(), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(view.closed_and_dropped(), (1, 1));
}

#[tokio::test]
async fn sw4_closing_drains_what_is_queued_and_gives_back_what_is_not() {
    let (probe, view) = Probe::new();
    let (probe, hold) = probe.held(At::Begin);
    let (writer, owner) = Writer::builder().queue(2).spawn(probe).unwrap();
    let first = writer.send(Record::Row(0)).await.unwrap();
    hold.arrived();
    let queued = [writer.try_send(Record::Row(1)).unwrap(), writer.try_send(Record::Row(2)).unwrap()];
    let mut context = Context::from_waker(Waker::noop());
    let mut waiting = pin!(writer.send(Record::Row(3)));
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    let mut closing = pin!(owner.close(Duration::MAX));
    assert!(closing.as_mut().poll(&mut context).is_pending());
    drop(hold);

    let report = closing.await;
    assert_eq!((report.end, report.rows, report.left), (End::Drained, 3, 0));
    first.await.unwrap();
    for receipt in queued {
        receipt.await.unwrap();
    }
    assert_eq!(waiting.await.unwrap_err(), Rejected(Record::Row(3)));
    assert_eq!(writer.send(Record::Row(4)).await.unwrap_err().into_inner(), Record::Row(4));
    assert!(writer.is_closed());
    assert_eq!(view.rows(), [0, 1, 2]);
    writer.flush().await;
}

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_the_drain_after_the_batch_in_hand() {
    let (probe, view) = Probe::new();
    let (probe, hold) = probe.held(At::Commit);
    let (writer, owner) = Writer::builder().max_batch(1).grace(Duration::MAX).spawn(probe).unwrap();
    let first = writer.send(Record::Row(0)).await.unwrap();
    hold.arrived();
    let second = writer.send(Record::Row(1)).await.unwrap();
    let mut closing = pin!(owner.close(Duration::from_secs(10)));
    tokio::select! {
        biased;
        report = &mut closing => panic!("ended while the sink was held: {report:?}"),
        () = tokio::time::sleep(Duration::from_secs(11)) => drop(hold),
    }

    let report = closing.await;
    assert_eq!((report.end, report.rows, report.left), (End::Deadline, 1, 1));
    first.await.unwrap();
    assert!(matches!(second.await, Err(WriteError::Closed)));
    assert_eq!(view.rows(), [0]);
    assert_eq!(view.closed_and_dropped(), (1, 1));
}

#[tokio::test]
async fn a_sink_that_does_not_come_back_is_reported_as_stuck() {
    let (probe, _) = Probe::new();
    let (probe, hold) = probe.held(At::Commit);
    let (writer, owner) = Writer::builder().grace(Duration::ZERO).spawn(probe).unwrap();
    let receipt = writer.send(Record::Row(0)).await.unwrap();
    hold.arrived();
    let report = owner.close(Duration::ZERO).await;
    assert_eq!((report.end, report.rows), (End::Stuck, 0));
    drop(hold);
    receipt.await.unwrap();
}

#[tokio::test]
async fn an_owner_that_is_dropped_changes_nothing() {
    let (probe, view) = Probe::new();
    let (writer, owner) = Writer::spawn(probe).unwrap();
    drop(owner);
    writer.send(Record::Row(1)).await.unwrap().await.unwrap();
    assert_eq!(view.rows(), [1]);
}

#[tokio::test]
async fn a_complaint_of_the_closing_sink_is_in_the_report() {
    let (probe, _) = Probe::new();
    let (writer, owner) = Writer::spawn(probe.failing(At::Close, Fault::Error("a reader holds it"))).unwrap();
    drop(writer);
    let report = owner.finished().await;
    assert_eq!(report.close_error.as_deref(), Some(&Refused("a reader holds it")));
    assert!(!report.is_clean());
}

/// A stop that a test pulls.
#[derive(Clone)]
struct Switch(watch::Receiver<bool>);

impl Stop for Switch {
    type Why = ();
    type Stopped<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

    fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    fn stopped(&self) -> Self::Stopped<'_> {
        let mut pulled = self.0.clone();
        Box::pin(async move {
            let _ = pulled.wait_for(|pulled| *pulled).await;
        })
    }

    fn why(&self) -> Option<()> {
        self.is_stopped().then_some(())
    }
}

#[tokio::test]
async fn an_abort_commits_what_is_applied_and_fails_the_rest() {
    let (pull, pulled) = watch::channel(false);
    let (probe, view) = Probe::new();
    let (probe, hold) = probe.held(At::Apply);
    let builder = Writer::builder().abort(Switch(pulled)).max_batch(3).linger(Duration::MAX);
    let (writer, owner) = builder.spawn(probe).unwrap();
    let mut receipts = Vec::new();
    for number in 0..5 {
        receipts.push(writer.send(Record::Row(number)).await.unwrap());
    }
    hold.arrived();
    pull.send(true).unwrap();
    drop(hold);

    let report = owner.finished().await;
    assert_eq!((report.end, report.rows, report.left, report.failed), (End::Aborted, 1, 4, 0));
    let mut said = Vec::new();
    for receipt in receipts {
        said.push(receipt.await);
    }
    assert!(said[0].is_ok());
    assert!(said[1..].iter().all(|said| matches!(said, Err(WriteError::Aborted))));
    assert_eq!(view.rows(), [0]);
    assert_eq!(view.closed_and_dropped(), (1, 1));
    assert!(writer.send(Record::Row(9)).await.is_err());
}

#[tokio::test]
async fn an_abort_ends_a_writer_that_waits() {
    let (pull, pulled) = watch::channel(false);
    let (probe, _) = Probe::new();
    let (_writer, owner) = Writer::builder().abort(Switch(pulled)).spawn(probe).unwrap();
    let mut finished = pin!(owner.finished());
    assert!(matches!(finished.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending));
    pull.send(true).unwrap();
    assert_eq!(finished.await.end, End::Aborted);
}

#[derive(Debug)]
struct NoSuchFile;

impl fmt::Display for NoSuchFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such file")
    }
}

impl std::error::Error for NoSuchFile {}

#[tokio::test]
async fn a_sink_that_cannot_be_opened_is_an_error_of_whoever_opens_it() {
    let refused = Writer::<Probe>::open(|| Err(NoSuchFile)).await;
    assert!(matches!(refused, Err(StartError::Open(NoSuchFile))));
    let panicked = Writer::<Probe>::open(|| -> Result<Probe, NoSuchFile> { panic!("while opening") }).await;
    assert!(matches!(panicked, Err(StartError::Panicked(text)) if &*text == "while opening"));
}

#[tokio::test]
async fn a_sink_is_made_on_its_own_thread() {
    let (probe, _) = Probe::new();
    let (say, said) = mpsc::channel();
    let builder = Writer::builder().name("owns-the-store");
    let opened = builder
        .open(move || {
            say.send(std::thread::current().name().map(str::to_owned)).unwrap();
            Ok::<_, NoSuchFile>(probe)
        })
        .await;
    let (writer, _owner) = opened.unwrap();
    assert_eq!(said.recv().unwrap().as_deref(), Some("owns-the-store"));
    writer.send(Record::Row(1)).await.unwrap().await.unwrap();
}

#[test]
fn handles_cross_threads_and_say_nothing_of_the_data() {
    fn crosses<T: Send + Sync + 'static>() {}
    crosses::<Writer<Probe>>();
    crosses::<Owner<Probe>>();
    crosses::<Receipt<u32, Refused>>();
    crosses::<CloseReport<Refused>>();
    crosses::<WriteError<Refused>>();
    assert_eq!(format!("{:?}", Rejected("secret")), "Rejected(..)");
    assert_eq!(format!("{:?}", WriteError::Refused(Arc::new(Refused("why")))), "Refused(Refused(\"why\"))");
}
