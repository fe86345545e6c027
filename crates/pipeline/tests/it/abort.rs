//! The emergency stop.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tidegate_pipeline::{AbortSignal, Cause, Cx, Opts, Outcome, Pipeline, Rejected, Step, Tx, queue};
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::support::{assert_conserved, numbers, run, stage};

fn never() {
    panic!("the source was started");
}

#[tokio::test(start_paused = true)]
async fn pl3_after_an_abort_no_worker_starts_another_item() {
    let signal = AbortSignal::new();
    let mut p = Pipeline::new("p", signal.clone());
    let source = numbers(&mut p, 100, 100);
    let calls = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&calls);
    // Never waits, so nothing but the look between two items can stop it.
    p.sink_fn("call", source, Opts::workers(4), move |_number| {
        let call = counter.fetch_add(1, Ordering::Relaxed);
        let signal = signal.clone();
        async move {
            if call == 9 {
                signal.abort("from outside");
            }
            Step::done()
        }
    });
    let report = run(p).await;
    assert_eq!(calls.load(Ordering::Relaxed), 10, "calls after the abort");
    assert!(matches!(report.cause(), Some(Cause::Signal(reason)) if reason.text() == "from outside"));
    assert_conserved(&report);
    assert_eq!(stage(&report, "call").queued + stage(&report, "call").left, 90);
}

#[tokio::test(start_paused = true)]
async fn pl3_an_abort_ends_every_wait_at_once() {
    let signal = AbortSignal::new();
    let mut p = Pipeline::new("p", signal.clone());
    // Waits: the source for a place, `stuck` in its closure, `full` for a place by its step, `starved` for an item.
    let source = numbers(&mut p, 100, 1);
    let full = p.stage("full", source, Opts::workers(2).queue(1), |number, _cx| async move {
        Step::emit(number).and_emit(number + 1)
    });
    let none = p.stage("stuck", full, Opts::workers(1), |_number, _cx: Cx<u64>| std::future::pending());
    p.sink_fn("starved", none, Opts::default(), async |_number| Step::done());
    tokio::spawn(async move {
        sleep(Duration::from_secs(7)).await;
        signal.abort("now");
    });
    let report = run(p).await;
    assert_eq!(report.wall, Duration::from_secs(7));
    assert!(report.stuck.is_empty(), "{report}");
    assert_conserved(&report);
    let (full, stuck) = (stage(&report, "full"), stage(&report, "stuck"));
    assert_eq!((full.consumed, full.completed, full.left, full.queued), (4, 2, 2, 1), "{report}");
    assert_eq!((stuck.consumed, stuck.left, stuck.queued), (1, 1, 1), "{report}");
    assert_eq!((stuck.busy, stage(&report, "starved").starved), (report.wall, report.wall));
    assert_eq!((full.blocked_on_output, full.busy), (report.wall * 2, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_signal_raised_before_the_run_lets_nothing_start() {
    let signal = AbortSignal::new();
    signal.abort("too late");
    let mut p = Pipeline::new("p", signal);
    let source = p.source("never", queue(1), |_out: Tx<u64>| async { never() });
    p.sink_fn("store", source, Opts::default(), async |_number| Step::done());
    let report = run(p).await;
    assert!(matches!(report.outcome, Outcome::Aborted { .. }) && report.panics.is_empty(), "{report}");
}

#[tokio::test(start_paused = true)]
async fn a_fatal_step_is_the_cause_and_the_report_is_the_error() {
    let signal = AbortSignal::new();
    let mut p = Pipeline::new("import", signal.clone());
    let source = numbers(&mut p, 100, 4);
    p.sink_fn("store", source, Opts::default(), async |number| match number {
        50 => Step::fatal(io::Error::from(io::ErrorKind::StorageFull)),
        _ => Step::done(),
    });
    let error = run(p).await.into_result().unwrap_err();
    assert_eq!(error.to_string(), "import aborted: stage `store` met a fatal error");
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::StorageFull));
    assert_eq!(error.cause().stage(), Some("store"));
    assert_conserved(error.report());
    let store = stage(error.report(), "store");
    assert_eq!((store.consumed, store.completed, store.failed), (51, 50, 1));
    // Everybody else who listens to the signal learns it too, with the error behind it.
    let reason = signal.reason().expect("it was aborted");
    assert_eq!(reason.text(), "stage `store` met a fatal error");
    assert!(reason.source().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_aborts_and_one_that_was_rejected_does_not() {
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = p.source("list", queue(4), |out| async move {
        out.send(1).await.map_err(|_| "stopped")?;
        Err("the list is unreadable")
    });
    p.sink_fn("store", source, Opts::default(), async |_number: i32| Step::done());
    let report = run(p).await;
    let cause = report.cause().expect("it was aborted").to_string();
    assert_eq!(cause, "stage `list` met a fatal error: the list is unreadable");

    let signal = AbortSignal::new();
    signal.drain("before the start");
    let mut p = Pipeline::new("p", signal);
    let source = p.source("list", queue(4), async |out| {
        out.send(1).await.map_err(io::Error::other)?;
        Ok::<(), io::Error>(())
    });
    p.sink_fn("store", source, Opts::default(), async |_number: i32| Step::done());
    let report = run(p).await;
    assert!(matches!(report.outcome, Outcome::Drained), "{report}");
}

#[tokio::test(start_paused = true)]
async fn pl3_a_producer_parked_on_the_queue_of_a_failing_stage_gets_its_item_back() {
    let (tell, told) = oneshot::channel();
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = p.source("source", queue(1), |out: Tx<u64>| async move {
        // Detached: no abort reaches it but through the queue.
        tokio::spawn(async move {
            let mut number = 0;
            let rejected = loop {
                match out.send(number).await {
                    Ok(()) => number += 1,
                    Err(rejected) => break rejected,
                }
            };
            let _ = tell.send(rejected);
        });
    });
    p.sink_fn("sink", source, Opts::default(), async |_number| {
        sleep(Duration::from_secs(1)).await;
        Step::fatal("disk full")
    });
    let report = run(p).await;
    assert_eq!(report.cause().and_then(Cause::stage), Some("sink"));
    let rejected = tokio::time::timeout(Duration::from_secs(1), told).await;
    assert_eq!(rejected.expect("the producer is still parked"), Ok(Rejected(2)));
    assert_conserved(&report);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn pl3_a_blocked_worker_is_named_after_the_grace_and_keeps_nobody_parked() {
    let signal = AbortSignal::new();
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let (entered, inside) = oneshot::channel();
    let (give, given) = oneshot::channel();
    let mut p = Pipeline::new("p", signal.clone()).grace(Duration::ZERO);
    let source = p.source("source", queue(1), |out: Tx<u64>| async move {
        let _ = out.send(1).await;
        let _ = give.send(out);
    });
    let mut once = Some((entered, blocked));
    let none = p.stage_with("blocks", source, Opts::workers(1), |_worker| {
        let mut once = once.take();
        move |_number, _cx: Cx<u64>| {
            if let Some((entered, blocked)) = once.take() {
                let _ = entered.send(());
                // Until the sender is dropped.
                let _ = blocked.recv();
            }
            std::future::ready(Step::done())
        }
    });
    p.sink_fn("sink", none, Opts::default(), async |_number| Step::done());
    let running = tokio::spawn(p.run());
    inside.await.expect("the closure was entered");
    let out = given.await.expect("the source gave its sender away");
    assert_eq!(out.send(2).await, Ok(()));
    // Parked first, then aborted.
    let (rejected, ()) = tokio::join!(out.send(3), async {
        signal.abort("stop");
    });
    assert_eq!(rejected, Err(Rejected(3)));
    let report = running.await.expect("run never panics");
    assert!(report.stuck.contains(&"blocks".to_owned()), "{report}");
    let blocks = stage(&report, "blocks");
    assert_eq!((blocks.consumed, blocks.left), (1, 1));
    drop(release);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_run_drops_everything_in_it() {
    let alive = Arc::new(());
    let mut p = Pipeline::new("p", AbortSignal::new());
    let held = Arc::clone(&alive);
    let source =
        p.source("source", queue(1), |out| async move { while out.send(Arc::clone(&held)).await.is_ok() {} });
    let kept = p.stage("stage", source, Opts::workers(3), |item, _cx: Cx<Arc<()>>| async move {
        std::future::pending::<()>().await;
        Step::emit(item)
    });
    p.sink_fn("sink", kept, Opts::default(), async |_item| Step::done());
    let _ = tokio::time::timeout(Duration::from_secs(1), p.run()).await.expect_err("it never ends by itself");
    // The aborted tasks are dropped as the runtime gets to them.
    sleep(Duration::from_millis(1)).await;
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stage_without_a_reader_aborts_before_anything_starts() {
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = p.source("source", queue(1), |_out: Tx<u64>| async { never() });
    drop(p.stage("lonely", source, Opts::default(), async |number: u64, _| Step::<u64>::emit(number)));
    let report = run(p).await;
    assert!(
        matches!(report.cause(), Some(Cause::Disconnected { stage }) if &**stage == "lonely"),
        "{report}"
    );
    assert!(report.panics.is_empty(), "{report}");
}

#[tokio::test(start_paused = true)]
async fn a_pipeline_that_reads_from_an_aborted_one_takes_it_down_too() {
    let mut first = Pipeline::new("first", AbortSignal::new());
    let flow = numbers(&mut first, 100, 1);
    let mut second = Pipeline::new("second", AbortSignal::new());
    second.sink_fn("sink", flow, Opts::default(), async |_number| Step::fatal("full"));
    let (first, second) = tokio::join!(run(first), run(second));
    assert_eq!(second.cause().and_then(Cause::stage), Some("sink"));
    assert!(matches!(first.cause(), Some(Cause::Disconnected { stage }) if &**stage == "numbers"), "{first}");
}
