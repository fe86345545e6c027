//! The numbers while it runs, and what the types promise.

use std::time::Duration;

use tidegate_pipeline::{
    AbortSignal, ConfigError, Cx, Flow, Monitor, Opts, Phase, Pipeline, PipelineError, PipelineReport,
    Rejected, Step, Tx,
};
use tokio::time::sleep;

use crate::support::{numbers, run};

#[tokio::test(start_paused = true)]
async fn a_monitor_shows_what_is_in_hand_and_in_queues() {
    let mut p = Pipeline::new("p", AbortSignal::new());
    let monitor = p.monitor();
    let source = numbers(&mut p, 10, 4);
    p.sink_fn("slow", source, Opts::workers(2), async |number: u64| {
        sleep(Duration::from_secs(10)).await;
        if number == 1 { Step::fail("bad") } else { Step::done() }
    });
    assert!(monitor.holding().is_none());
    let watch = monitor.clone();
    let looked = tokio::spawn(async move {
        sleep(Duration::from_secs(15)).await;
        watch.stages()
    });
    assert!(run(p).await.into_result().is_ok());
    let looked = looked.await.unwrap();
    let slow = &looked[1];
    assert_eq!((&*slow.name, slow.phase, slow.workers), ("slow", Phase::Running, 2));
    assert_eq!((slow.consumed, slow.completed, slow.failed, slow.in_flight), (4, 1, 1, 2));
    assert_eq!((slow.queue_depth, slow.queue_capacity), (4, 4));
    assert_eq!((looked[0].phase, looked[0].emitted, looked[0].senders), (Phase::Running, 8, 1));
    // After the end it still tells.
    let over = monitor.stages();
    assert!(over.iter().all(|stage| stage.phase == Phase::Ended && stage.senders == 0));
    assert_eq!((over[1].in_flight, over[1].queue_depth), (0, 0));
    assert!(monitor.holding().is_none());
}

#[test]
fn everything_can_be_sent_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    fn sent<T: Send + 'static>(_: T) {}
    shared::<Tx<u64>>();
    shared::<Cx<u64, u64>>();
    shared::<Flow<u64>>();
    shared::<Monitor>();
    shared::<PipelineReport>();
    shared::<PipelineError>();
    shared::<ConfigError>();
    shared::<Rejected<u64>>();
    sent(Pipeline::new("p", AbortSignal::new()));
    sent(Pipeline::new("p", AbortSignal::new()).run());
}

#[test]
fn debug_shows_state_and_never_an_item() {
    let mut p = Pipeline::new("p", AbortSignal::new());
    let flow = numbers(&mut p, 1, 4);
    assert_eq!(format!("{flow:?}"), "Flow { feeders: 1, capacity: 4 }");
    assert_eq!(format!("{p:?}"), r#"Pipeline { name: "p", stages: ["numbers"] }"#);
    assert_eq!(format!("{:?}", Rejected("secret")), "Rejected(..)");
    let step: Step<&str, &str> = Step::fail("404").aside("secret");
    assert_eq!(format!("{step:?}"), r#"Step { end: "failed", emits: false, aside: true, error: "404" }"#);
}
