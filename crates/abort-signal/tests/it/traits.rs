//! What the types are and show.

use std::error::Error;
use std::future::Pending;
use std::sync::Arc;

use tidegate_abort_signal::{
    AbortOnDrop, AbortSignal, AbortSnapshot, Aborted, Level, Reached, ReachedOwned, Reason, Run, RunOwned,
};
use tidegate_core::Stop;

#[test]
fn everything_may_cross_threads() {
    fn crosses<T: Send + Sync + 'static>() {}
    crosses::<AbortSignal>();
    crosses::<AbortSignal<u8>>();
    crosses::<AbortSnapshot>();
    crosses::<Aborted>();
    crosses::<AbortOnDrop>();
    crosses::<Reached<'static>>();
    crosses::<ReachedOwned>();
    crosses::<Run<'static, Pending<()>>>();
    crosses::<RunOwned<Pending<()>>>();
    crosses::<Reason>();
}

#[test]
fn an_aborted_is_one_pointer_and_an_error() {
    fn is_error<E: Error + Send + Sync + 'static>() {}
    is_error::<Aborted>();
    assert_eq!(size_of::<Result<(), Aborted>>(), size_of::<usize>());
}

#[test]
fn a_signal_shows_its_state_and_never_its_reason() {
    let signal = AbortSignal::new();
    signal.abort("a secret of the user's");
    let shown = format!("{signal:?} {:?} {:?}", signal.aborted(), signal.abort_on_drop("secret"));
    assert!(shown.contains("Abort"), "{shown}");
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn levels_are_named_and_ordered() {
    let levels = [Level::Run, Level::Drain, Level::Abort];
    assert!(levels.is_sorted());
    assert_eq!(levels.map(Level::name), ["run", "drain", "abort"]);
    assert_eq!(Level::default(), Level::Run);
}

#[tokio::test]
async fn other_primitives_stop_at_the_abort_and_learn_why() {
    async fn until_stopped<S: Stop>(stop: &S) -> Option<S::Why> {
        stop.stopped().await;
        stop.why()
    }
    let signal = AbortSignal::<u8>::typed();
    signal.drain(1);
    assert!(!signal.is_stopped(), "draining does not stop");
    assert!(signal.why().is_none());
    let (why, ()) = tokio::join!(until_stopped(&signal), async {
        signal.abort(2);
    });
    assert_eq!(why, Some(Arc::new(2)));
    assert!(signal.is_stopped());
}
