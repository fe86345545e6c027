//! Senders that outlive their stage.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidegate_pipeline::{AbortSignal, Cause, Cx, Opts, Outcome, Phase, Pipeline, Step, Tx, queue};
use tokio::time::sleep;

use crate::support::{assert_conserved, numbers, run, stage};

#[tokio::test(start_paused = true)]
async fn pl5_a_live_sender_clone_is_named_instead_of_hanging_the_drain() {
    let stash: Arc<Mutex<Option<Tx<u64>>>> = Arc::default();
    let kept = Arc::clone(&stash);
    let mut p = Pipeline::new("p", AbortSignal::new());
    let monitor = p.monitor();
    let source = p.source("fetch", queue(4), move |out| async move {
        let _ = out.send(1).await;
        *kept.lock().unwrap() = Some(out.clone());
        let _ = out.send(2).await;
    });
    let built = p.stage("build", source, Opts::workers(3), async |number, _| Step::emit(number));
    p.sink_fn("store", built, Opts::default(), async |_number: u64| Step::done());

    let looked = tokio::spawn(async move {
        sleep(Duration::from_secs(30)).await;
        monitor.holding()
    });
    let report = run(p).await;
    let held = looked.await.unwrap().expect("somebody holds the run up");
    assert_eq!((&*held.name, held.phase, held.senders), ("fetch", Phase::Held, 1));
    let cause = report.cause().expect("it was aborted");
    assert!(matches!(cause, Cause::HeldOpen { senders: 1, .. }), "{cause}");
    assert_eq!(cause.to_string(), "stage `fetch` ended, but 1 of its senders kept its output open");
    assert_eq!(report.wall, Duration::from_secs(60));
    assert_eq!(stage(&report, "store").completed, 2);
    assert_conserved(&report);
    // The sender that was kept leads nowhere now.
    let sender = stash.lock().unwrap().take().expect("it was stashed");
    assert_eq!(sender.send(3).await.unwrap_err().into_inner(), 3);
}

#[tokio::test(start_paused = true)]
async fn pl5_a_context_that_a_stage_gave_away_is_named_too() {
    let stash: Arc<Mutex<Vec<Cx<u64>>>> = Arc::default();
    let kept = Arc::clone(&stash);
    let mut p = Pipeline::new("p", AbortSignal::new()).stall_after(Duration::from_secs(5));
    let source = numbers(&mut p, 4, 4);
    let built = p.stage("build", source, Opts::workers(1), move |number, cx: Cx<u64>| {
        kept.lock().unwrap().push(cx);
        async move { Step::emit(number) }
    });
    p.sink_fn("store", built, Opts::default(), async |_number| Step::done());
    let report = run(p).await;
    assert_eq!(report.cause().and_then(Cause::stage), Some("build"));
    assert_eq!(report.wall, Duration::from_secs(5));
    assert_eq!(stash.lock().unwrap().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_outlives_its_source_may_go_on_sending() {
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = p.source("spawns", queue(1), |out| async move {
        for worker in 0..3_u64 {
            let out = out.clone();
            tokio::spawn(async move {
                for number in 0..5 {
                    // Silent for less than the limit at a time, for longer in all.
                    sleep(Duration::from_secs(40)).await;
                    if out.send(worker * 100 + number).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    p.sink_fn("store", source, Opts::default(), async |_number| Step::done());
    let report = run(p).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{report}");
    assert_eq!(stage(&report, "store").completed, 15);
    assert_eq!(stage(&report, "spawns").wall, Duration::from_secs(200));
}

#[tokio::test(start_paused = true)]
async fn a_sender_parked_on_a_slow_stage_is_not_silent() {
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = p.source("spawns", queue(1), |out| async move {
        tokio::spawn(async move {
            for number in 0..6 {
                let _ = out.send(number).await;
            }
        });
    });
    p.sink_fn("store", source, Opts::default(), async |_number| {
        sleep(Duration::from_secs(300)).await;
        Step::done()
    });
    let report = run(p).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{report}");
    assert_eq!(stage(&report, "store").completed, 6);
}
