//! A sink that tells what is done to it, and that a test can hold up.
#![expect(
    clippy::panic,
    clippy::expect_used,
    reason = "a part of the tests, which may; its panics are what they test"
)]

use std::collections::VecDeque;
use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use tidegate_single_writer::{Durability, Sink};

/// What a record does to the sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Row(u32),
    Bad(u32),
    Panic(u32),
}

impl Record {
    fn number(self) -> u32 {
        match self {
            Self::Row(number) | Self::Bad(number) | Self::Panic(number) => number,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused(pub(crate) &'static str);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Refused {}

/// What the test sees of the sink.
#[derive(Clone, Default)]
pub(crate) struct View(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    committed: Vec<Vec<u32>>,
    idles: usize,
    closed: usize,
    dropped: usize,
}

impl View {
    fn with<R>(&self, look: impl FnOnce(&mut Seen) -> R) -> R {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The rows of each transaction.
    pub(crate) fn batches(&self) -> Vec<Vec<u32>> {
        self.with(|seen| seen.committed.clone())
    }

    pub(crate) fn rows(&self) -> Vec<u32> {
        self.batches().concat()
    }

    pub(crate) fn idles(&self) -> usize {
        self.with(|seen| seen.idles)
    }

    /// How often the sink was closed, and dropped.
    pub(crate) fn closed_and_dropped(&self) -> (usize, usize) {
        self.with(|seen| (seen.closed, seen.dropped))
    }
}

/// Where the sink can be held up or made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    Begin,
    Apply,
    Commit,
    Idle,
    Close,
}

/// Holds the sink at one place: it says that it has arrived, and goes on when told to.
pub(crate) struct Hold {
    arrived: Receiver<()>,
    go: Sender<()>,
}

impl Hold {
    /// Blocks until the sink has arrived.
    pub(crate) fn arrived(&self) {
        self.arrived.recv().expect("the sink is gone");
    }

    pub(crate) fn go(&self) {
        self.go.send(()).expect("the sink is gone");
    }
}

#[derive(Default)]
pub(crate) struct Probe {
    view: View,
    open: Vec<u32>,
    mark: usize,
    hold: Option<(At, Sender<()>, Receiver<()>)>,
    faults: VecDeque<(At, Fault)>,
    durability: Option<Durability>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Error(&'static str),
    Panic(&'static str),
}

impl Probe {
    pub(crate) fn new() -> (Self, View) {
        let probe = Self::default();
        let view = probe.view.clone();
        (probe, view)
    }

    /// Holds the sink whenever it comes to `at`, until the hold is dropped.
    pub(crate) fn held(mut self, at: At) -> (Self, Hold) {
        let (arrive, arrived) = channel();
        let (go, going) = channel();
        self.hold = Some((at, arrive, going));
        (self, Hold { arrived, go })
    }

    /// The next time that the sink comes to `at`, it fails.
    pub(crate) fn failing(mut self, at: At, fault: Fault) -> Self {
        self.faults.push_back((at, fault));
        self
    }

    pub(crate) fn durable(mut self, durability: Durability) -> Self {
        self.durability = Some(durability);
        self
    }

    fn at(&mut self, at: At) -> Result<(), Refused> {
        let released = match &self.hold {
            Some((held, arrive, go)) if *held == at => arrive.send(()).is_err() || go.recv().is_err(),
            _ => false,
        };
        if released {
            self.hold = None;
        }
        match self.faults.front() {
            Some((next, _)) if *next == at => match self.faults.pop_front().map(|(_, fault)| fault) {
                Some(Fault::Error(text)) => Err(Refused(text)),
                Some(Fault::Panic(text)) => panic!("{text}"),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

impl Sink for Probe {
    type Record = Record;
    type Ack = u32;
    type Error = Refused;

    fn begin(&mut self) -> Result<(), Refused> {
        self.at(At::Begin)
    }

    fn apply(&mut self, record: &Record) -> Result<u32, Refused> {
        self.at(At::Apply)?;
        match *record {
            Record::Row(number) => {
                self.open.push(number);
                Ok(number)
            }
            Record::Bad(_) => Err(Refused("a bad record")),
            Record::Panic(number) => panic!("record {number}"),
        }
    }

    fn commit(&mut self) -> Result<Durability, Refused> {
        self.at(At::Commit)?;
        let open = std::mem::take(&mut self.open);
        self.view.with(|seen| seen.committed.push(open));
        Ok(self.durability.unwrap_or(Durability::Memory))
    }

    fn rollback(&mut self) {
        self.open.clear();
    }

    fn savepoint(&mut self) -> Result<(), Refused> {
        self.mark = self.open.len();
        Ok(())
    }

    fn release(&mut self) -> Result<(), Refused> {
        Ok(())
    }

    fn rollback_to(&mut self) -> Result<(), Refused> {
        self.open.truncate(self.mark);
        Ok(())
    }

    fn idle(&mut self) {
        self.view.with(|seen| seen.idles += 1);
        // A fault at idle can only be a panic.
        let _ = self.at(At::Idle);
    }

    fn close(&mut self) -> Result<(), Refused> {
        self.view.with(|seen| seen.closed += 1);
        self.at(At::Close)
    }

    /// Ten times the number.
    fn weigh(record: &Record) -> usize {
        record.number() as usize * 10
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.view.with(|seen| seen.dropped += 1);
    }
}
