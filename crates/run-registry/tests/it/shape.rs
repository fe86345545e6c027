//! What the types promise by themselves.

use std::error::Error;
use std::time::Duration;

use tidegate_run_registry::{
    Admission, CancelOutcome, Conflict, OnConflict, Run, RunRecord, RunRegistry, RunSpec, TransitionError,
    WaitTerminal,
};

fn shared<T: Send + Sync + 'static>() {}

#[test]
fn every_public_type_may_be_shared_between_threads() {
    shared::<RunRegistry>();
    shared::<Run>();
    shared::<WaitTerminal>();
    shared::<RunRecord>();
    shared::<Conflict>();
    shared::<Admission>();
    shared::<TransitionError>();
    shared::<CancelOutcome>();
}

#[tokio::test(start_paused = true)]
async fn a_conflict_says_who_blocks_since_when_and_whose_it_is() {
    let registry = RunRegistry::new();
    let run = registry.create_or_reject("chat", RunSpec::new().owner("gateway-2")).unwrap();
    run.start().unwrap();
    tokio::time::advance(Duration::from_millis(3_200)).await;
    let conflict = registry.create_or_reject("chat", RunSpec::new().meta("prompt", "private")).unwrap_err();
    assert_eq!(
        conflict.to_string(),
        format!(
            "thread \"chat\" is occupied by run {} (running, created 3.2s ago, owner gateway-2)",
            run.id()
        )
    );
    assert_eq!(conflict.age, Duration::from_millis(3_200));
    assert_eq!(conflict.rejected, RunSpec::new().meta("prompt", "private"));
    assert!(!format!("{conflict:?}").contains("private"));
    let _: &dyn Error = &conflict;
}

#[test]
fn a_conflict_without_an_owner_names_none() {
    let registry = RunRegistry::new();
    let _run = registry.create_or_reject("chat", RunSpec::new()).unwrap();
    let conflict = registry.create("chat", RunSpec::new(), OnConflict::Reject).unwrap_err();
    assert!(conflict.to_string().ends_with(" ago)"), "{conflict}");
    assert_eq!(conflict.owner, None);
}

#[test]
fn a_refused_transition_names_both_statuses() {
    let registry = RunRegistry::new();
    let run = registry.create_or_reject("chat", RunSpec::new()).unwrap();
    run.start().unwrap();
    assert_eq!(
        run.start().unwrap_err().to_string(),
        format!("run {} is running and cannot become running", run.id())
    );
}

#[test]
fn debug_output_shows_state_and_no_metadata() {
    let registry = RunRegistry::new();
    let run = registry.create_or_reject("chat", RunSpec::new().meta("prompt", "private")).unwrap();
    assert_eq!(format!("{registry:?}"), "RunRegistry { runs: 1, threads: 1, .. }");
    assert!(!format!("{run:?} {:?}", run.record()).contains("private"));
}
