//! What stays in memory, for how long, and what is never thrown out.

use std::time::Duration;

use tidegate_run_registry::{Ending, Run, RunRegistry, RunSpec, Status};

fn run_on(registry: &RunRegistry, thread: &str) -> Run {
    registry.create_or_reject(thread, RunSpec::new()).unwrap()
}

fn run_through(registry: &RunRegistry, thread: &str) {
    let run = run_on(registry, thread);
    run.start().unwrap();
    run.finish(Ending::Success).unwrap();
}

#[test]
fn rr6_ten_thousand_threads_leave_nothing_behind() {
    let registry = RunRegistry::new();
    for number in 0..10_000 {
        run_through(&registry, &format!("thread-{number}"));
    }
    assert_eq!((registry.len(), registry.snapshot().success), (10_000, 10_000));
    assert_eq!(registry.cleanup(Duration::ZERO), 10_000);
    assert!(registry.is_empty(), "nothing stays behind");
    assert_eq!(registry.snapshot(), RunRegistry::new().snapshot());
}

#[tokio::test(start_paused = true)]
async fn rr6_finished_runs_leave_after_their_retention_and_not_before() {
    let registry = RunRegistry::new();
    run_through(&registry, "a");
    tokio::time::advance(Duration::from_secs(30)).await;
    run_through(&registry, "a");
    run_through(&registry, "b");
    tokio::time::advance(Duration::from_secs(30)).await;
    assert_eq!(registry.cleanup(Duration::from_secs(61)), 0);
    assert_eq!(registry.cleanup(Duration::from_secs(60)), 1);
    assert_eq!(registry.len(), 2);
    assert_eq!(registry.cleanup(Duration::MAX), 0);
    assert_eq!(registry.cleanup(Duration::from_secs(30)), 2);
    assert!(registry.is_empty());
}

#[tokio::test(start_paused = true)]
async fn rr6_a_cleanup_never_drops_a_live_run_nor_admits_a_second() {
    let registry = RunRegistry::new();
    run_through(&registry, "thread");
    let run = run_on(&registry, "thread");
    for status in [Status::Pending, Status::Running, Status::Cancelling] {
        match status {
            Status::Running => run.start().unwrap(),
            Status::Cancelling => drop(registry.cancel(run.id())),
            _ => {}
        }
        tokio::time::advance(Duration::from_secs(1_000_000)).await;
        registry.cleanup(Duration::ZERO);
        let known = registry.get(run.id()).map(|record| record.status);
        assert_eq!(known, Some(status), "a live run is never forgotten");
        assert_eq!(registry.create_or_reject("thread", RunSpec::new()).unwrap_err().run_id, run.id());
        assert_eq!(registry.len(), 1);
    }
}

#[test]
fn rr6_a_forgotten_run_is_unknown_by_id_and_by_thread() {
    let registry = RunRegistry::new();
    let run = run_on(&registry, "thread");
    let waiting = registry.wait_terminal(run.id());
    run.finish(Ending::Interrupted).unwrap();
    assert_eq!(registry.cleanup(Duration::ZERO), 1);
    assert!(registry.get(run.id()).is_none());
    assert!(registry.list_by_thread(run.thread()).is_empty());
    assert_eq!(run.status(), Status::Interrupted);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(waiting), Some(Status::Interrupted));
}
