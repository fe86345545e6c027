//! Any batch, against any sink that fails in any of its calls.

use std::cell::Cell;
use std::fmt;
use std::sync::Once;

use proptest::prelude::*;
use tidegate_core::Never;

use super::*;
use crate::Receipt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Good,
    Refused,
    Panics,
    /// Refused, and the store rolled the whole transaction back by itself.
    LosesTheTransaction,
    /// Taken, but its mark cannot be released.
    FailsAtRelease,
    /// Taken, but no transaction that holds it commits.
    FailsAtCommit,
}

#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    Record(usize),
    Commit,
    Scripted,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Refusal {}

/// A store in memory that notes every breach of the protocol, and whose calls fail as scripted.
#[derive(Default)]
struct Store {
    committed: Vec<(usize, u64)>,
    commits: u64,
    open: Option<Vec<(usize, Kind)>>,
    mark: Option<usize>,
    must_roll_back: bool,
    breaches: Vec<&'static str>,
    /// Which of the calls to begin, commit and savepoint fail: by error, or by panic.
    faults: Vec<Option<bool>>,
}

impl Store {
    fn demand(&mut self, holds: bool, breach: &'static str) {
        if !holds {
            self.breaches.push(breach);
        }
    }

    fn scripted(&mut self) -> Result<(), Refusal> {
        match self.faults.pop().flatten() {
            None => Ok(()),
            Some(by_panic) => {
                self.must_roll_back = true;
                assert!(!by_panic, "scripted");
                Err(Refusal::Scripted)
            }
        }
    }
}

impl Sink for Store {
    type Record = (usize, Kind);
    type Ack = usize;
    type Error = Refusal;

    fn begin(&mut self) -> Result<(), Refusal> {
        self.demand(self.open.is_none() && !self.must_roll_back, "begin inside a transaction");
        self.scripted()?;
        self.open = Some(Vec::new());
        self.mark = None;
        Ok(())
    }

    fn apply(&mut self, &(number, kind): &(usize, Kind)) -> Result<usize, Refusal> {
        self.demand(self.open.is_some() && !self.must_roll_back, "apply outside a transaction");
        if matches!(kind, Kind::Refused | Kind::Panics | Kind::LosesTheTransaction) {
            self.must_roll_back = true;
        }
        if kind == Kind::LosesTheTransaction {
            self.open = None;
            self.mark = None;
        }
        assert!(kind != Kind::Panics, "record {number}");
        if self.must_roll_back {
            return Err(Refusal::Record(number));
        }
        if let Some(open) = &mut self.open {
            open.push((number, kind));
        }
        Ok(number)
    }

    fn commit(&mut self) -> Result<Durability, Refusal> {
        self.demand(self.open.is_some() && !self.must_roll_back && self.mark.is_none(), "commit of nothing");
        self.scripted()?;
        let open = self.open.as_ref().map_or(&[][..], Vec::as_slice);
        if open.iter().any(|(_, kind)| *kind == Kind::FailsAtCommit) {
            self.must_roll_back = true;
            return Err(Refusal::Commit);
        }
        self.commits += 1;
        let commit = self.commits;
        self.committed.extend(self.open.take().into_iter().flatten().map(|(number, _)| (number, commit)));
        Ok(Durability::Memory)
    }

    fn rollback(&mut self) {
        self.open = None;
        self.mark = None;
        self.must_roll_back = false;
    }

    fn savepoint(&mut self) -> Result<(), Refusal> {
        self.demand(self.open.is_some() && !self.must_roll_back, "savepoint outside a transaction");
        self.scripted()?;
        self.mark = self.open.as_ref().map(Vec::len);
        Ok(())
    }

    fn release(&mut self) -> Result<(), Refusal> {
        self.demand(self.mark.is_some(), "release without a mark");
        let last = self.open.as_ref().and_then(|open| open.last().copied());
        if let Some((number, Kind::FailsAtRelease)) = last {
            self.must_roll_back = true;
            return Err(Refusal::Record(number));
        }
        self.mark = None;
        Ok(())
    }

    fn rollback_to(&mut self) -> Result<(), Refusal> {
        let (Some(open), Some(mark)) = (&mut self.open, self.mark.take()) else {
            return Err(Refusal::Scripted);
        };
        open.truncate(mark);
        self.must_roll_back = false;
        Ok(())
    }

    fn is_record_fault(error: &Refusal) -> bool {
        *error == Refusal::Commit
    }

    fn close(&mut self) -> Result<(), Refusal> {
        Ok(())
    }
}

type Said = Result<Committed<usize>, WriteError<Refusal>>;

/// Writes one batch and gives what each record was answered.
fn write(store: &mut Store, kinds: &[Kind]) -> (Vec<Said>, Written) {
    let mut receipts = Vec::new();
    let mut entries = Vec::new();
    for record in kinds.iter().copied().enumerate() {
        let (reply, receipt) = Receipt::pair();
        receipts.push(receipt);
        entries.push(Entry::new(Item { record, weight: 0, reply }));
    }
    let written = Batch::new(store, &mut entries, &Never, 0).write();
    for entry in entries {
        let (item, answer) = entry.into_answer();
        item.reply.send(answer).unwrap();
    }
    (receipts.into_iter().map(Receipt::wait_blocking).collect(), written)
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        8 => Just(Kind::Good),
        2 => Just(Kind::Refused),
        1 => Just(Kind::Panics),
        1 => Just(Kind::LosesTheTransaction),
        1 => Just(Kind::FailsAtRelease),
        1 => Just(Kind::FailsAtCommit),
    ]
}

fn fault() -> impl Strategy<Value = Option<bool>> {
    prop_oneof![6 => Just(None), 1 => any::<bool>().prop_map(Some)]
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the deliberate panics out of the test's output, and only those.
fn quietly<R>(run: impl FnOnce() -> R) -> R {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                loud(info);
            }
        }));
    });
    QUIET.set(true);
    let result = run();
    QUIET.set(false);
    result
}

/// What is acknowledged is exactly what is committed, in order and under the same number.
fn acknowledged(said: &[Said]) -> Vec<(usize, u64)> {
    said.iter().flatten().map(|committed| (committed.ack, committed.batch)).collect()
}

proptest! {
    #[test]
    fn sw2_every_bad_record_fails_alone_whatever_is_bad_about_it(kinds in prop::collection::vec(kind(), 1..24)) {
        let mut store = Store::default();
        let (said, written) = quietly(|| write(&mut store, &kinds));
        prop_assert_eq!(&store.breaches, &Vec::<&str>::new());
        prop_assert_eq!(&acknowledged(&said), &store.committed);
        prop_assert_eq!(written.batches, store.commits);
        let plain = !kinds.iter().any(|kind| matches!(kind, Kind::Refused | Kind::Panics | Kind::LosesTheTransaction));
        for (kind, said) in kinds.iter().zip(&said) {
            match kind {
                Kind::Good => prop_assert!(said.is_ok(), "a good record failed: {:?}", said),
                // Without a replay no mark is ever released, so nothing is wrong with it.
                Kind::FailsAtRelease => prop_assert!(!plain || said.is_ok()),
                Kind::Panics => prop_assert!(matches!(said, Err(WriteError::Panicked(_)))),
                _ => prop_assert!(matches!(said, Err(WriteError::Refused(_))), "{:?}", said),
            }
        }
    }

    #[test]
    fn sw1_what_is_acknowledged_is_what_is_committed_whichever_call_fails(
        kinds in prop::collection::vec(kind(), 1..12),
        faults in prop::collection::vec(fault(), 0..40),
    ) {
        let mut store = Store { faults, ..Store::default() };
        let (said, _) = quietly(|| write(&mut store, &kinds));
        prop_assert_eq!(&store.breaches, &Vec::<&str>::new());
        prop_assert_eq!(&acknowledged(&said), &store.committed);
        prop_assert!(store.committed.is_sorted(), "out of order: {:?}", store.committed);
    }
}

#[test]
fn a_batch_of_good_records_needs_no_savepoint() {
    let mut store = Store { faults: vec![Some(false), None, None], ..Store::default() };
    let (said, written) = write(&mut store, &[Kind::Good; 3]);
    assert!(said.iter().all(Result::is_ok));
    assert!(!written.replayed);
    assert_eq!(store.faults.len(), 1, "begin and commit only");
}

#[test]
fn sw3_a_payload_that_panics_when_dropped_is_caught_too() {
    struct Explodes;
    impl Drop for Explodes {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("again"));
        }
    }
    let caught = guard(|| -> Result<(), Refusal> { std::panic::resume_unwind(Box::new(Explodes)) });
    assert!(matches!(caught, Err(Fault::Panic(text)) if &*text == "a panic without a text"));
}
