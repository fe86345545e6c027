//! Levels and reasons.

use std::error::Error;
use std::io;

use tidegate_abort_signal::{AbortSignal, Level, Reason};

#[derive(Debug, PartialEq)]
enum Cause {
    Quota,
    Disk,
}

fn text(signal: &AbortSignal) -> Option<String> {
    signal.reason().map(|reason| reason.text().to_owned())
}

#[test]
fn a_new_signal_runs_and_has_no_reason() {
    let signal = AbortSignal::new();
    assert_eq!(signal.level(), Level::Run);
    assert!(!signal.is_aborted());
    assert!(signal.check().is_ok());
    assert!(signal.reason().is_none());
    assert!(signal.reason_of(Level::Run).is_none());
}

#[test]
fn ab1_an_aborted_signal_always_has_its_reason() {
    for round in 0..200 {
        let signal = AbortSignal::<u32>::typed();
        std::thread::scope(|scope| {
            scope.spawn(|| signal.abort(round));
            scope.spawn(|| {
                while !signal.is_aborted() {
                    std::thread::yield_now();
                }
                assert_eq!(signal.reason().as_deref(), Some(&round));
                assert_eq!(signal.check().map_err(|aborted| *aborted), Err(round));
            });
        });
    }
}

#[test]
fn ab3_the_first_abort_wins_and_later_ones_change_nothing() {
    let signal = AbortSignal::<Cause>::typed();
    assert!(signal.abort(Cause::Quota));
    assert!(!signal.abort(Cause::Disk));
    assert_eq!(signal.reason().as_deref(), Some(&Cause::Quota));
}

#[test]
fn ab3_an_abort_after_a_drain_gives_the_aborts_reason_and_keeps_the_drains() {
    let signal = AbortSignal::new();
    assert!(signal.drain("closing time"));
    assert!(!signal.drain("again"));
    assert!(signal.check().is_ok(), "draining is no error");
    assert_eq!(text(&signal).as_deref(), Some("closing time"));
    assert!(signal.abort(String::from("disk full")));
    assert_eq!(text(&signal).as_deref(), Some("disk full"));
    assert_eq!(
        signal.reason_of(Level::Drain).map(|reason| reason.to_string()).as_deref(),
        Some("closing time")
    );
}

#[test]
fn ab4_a_drain_never_follows_an_abort() {
    let signal = AbortSignal::new();
    assert!(signal.abort("disk full"));
    assert!(!signal.drain("closing time"));
    assert_eq!(signal.level(), Level::Abort);
    assert!(signal.reason_of(Level::Drain).is_none());
}

#[test]
fn clones_share_one_signal() {
    let signal = AbortSignal::new();
    let other = signal.clone();
    other.abort("stop");
    assert!(signal.is_aborted());
}

#[test]
fn a_failed_check_tells_the_reason_and_the_error_behind_it() {
    let signal = AbortSignal::new();
    let full = io::Error::from(io::ErrorKind::StorageFull);
    signal.abort(Reason::new("cannot write").with_source(full));
    let aborted = signal.check().unwrap_err();
    assert_eq!(aborted.to_string(), "aborted: cannot write");
    let source = aborted.source().and_then(|source| source.downcast_ref::<io::Error>());
    assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::StorageFull));
    assert_eq!(aborted.clone().into_reason().text(), "cannot write");
}

#[test]
fn a_reason_that_looks_at_its_signal_when_dropped_finds_it_unlocked() {
    struct Looks(AbortSignal<Looks>);
    impl Drop for Looks {
        fn drop(&mut self) {
            assert!(self.0.reason().is_some());
            let _ = self.0.snapshot();
        }
    }
    let signal = AbortSignal::<Looks>::typed();
    // The winner stays inside its own signal: a cycle of this test's making. The loser is dropped at once.
    assert!(signal.abort(Looks(signal.clone())));
    assert!(!signal.abort(Looks(signal.clone())));
}

#[test]
fn a_guard_aborts_on_a_panic_and_not_once_disarmed() {
    let signal = AbortSignal::new();
    signal.abort_on_drop("left").disarm();
    assert!(!signal.is_aborted());
    let inner = signal.clone();
    let panicked = std::thread::spawn(move || {
        let _guard = inner.abort_on_drop("a stage panicked");
        std::panic::resume_unwind(Box::new("in the stage"));
    });
    assert!(panicked.join().is_err());
    assert_eq!(text(&signal).as_deref(), Some("a stage panicked"));
}
