//! Normal completion: the cascade of dropped senders, and drain.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tidegate_pipeline::{AbortSignal, Cx, Opts, Outcome, Pipeline, Rejected, Step, queue};
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::support::{assert_conserved, numbers, run, stage};

#[tokio::test(start_paused = true)]
async fn pl2_the_cascade_of_dropped_senders_loses_nothing() {
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = numbers(&mut p, 1000, 3);
    let built = p.stage("build", source, Opts::workers(12).queue(5), |number, _cx| async move {
        sleep(Duration::from_millis(number % 7)).await;
        Step::emit(number)
    });
    let called = p.stage("call", built, Opts::workers(32).queue(1), |number, _cx| async move {
        sleep(Duration::from_millis(number % 13)).await;
        Step::emit(number)
    });
    let sum = Arc::new(AtomicU64::new(0));
    let total = Arc::clone(&sum);
    p.sink_fn("store", called, Opts::default(), move |number| {
        total.fetch_add(number, Ordering::Relaxed);
        async { Step::done() }
    });
    let report = run(p).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{report}");
    assert_conserved(&report);
    assert_eq!((stage(&report, "store").completed, sum.load(Ordering::Relaxed)), (1000, 499_500));
    assert!(report.stages.iter().all(|stage| stage.left + stage.queued == 0), "{report}");
    assert!(report.into_result().is_ok());
}

#[tokio::test(start_paused = true)]
async fn pl2_drain_stops_the_sources_and_loses_nothing_that_was_sent() {
    let signal = AbortSignal::new();
    let mut p = Pipeline::new("p", signal.clone());
    let source = p.source("endless", queue(16), async |out| {
        let mut number = 0_u64;
        loop {
            out.send(number).await?;
            number += 1;
            if number == u64::MAX {
                return Ok::<(), Rejected<u64>>(());
            }
        }
    });
    let slow = p.stage("slow", source, Opts::workers(3).queue(4), |number, _cx| async move {
        sleep(Duration::from_secs(1)).await;
        Step::emit(number)
    });
    p.sink_fn("store", slow, Opts::default(), async |_number| Step::done());
    tokio::spawn(async move {
        sleep(Duration::from_millis(10_500)).await;
        signal.drain("enough");
    });
    let report = run(p).await;
    assert!(matches!(report.outcome, Outcome::Drained), "{report}");
    assert_conserved(&report);
    let sent = stage(&report, "endless").emitted;
    assert!(sent > 30, "{report}");
    assert_eq!(stage(&report, "store").completed, sent, "lost by the drain");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_waits_for_something_else_is_told_of_the_drain() {
    let signal = AbortSignal::new();
    let mut p = Pipeline::new("p", signal.clone());
    let source = p.source("listener", queue(1), |out| async move {
        let _ = out.send(1).await;
        out.stopping().await;
        assert!(out.is_stopping());
    });
    p.sink_fn("store", source, Opts::default(), async |_number: i32| Step::done());
    tokio::spawn(async move {
        sleep(Duration::from_secs(1)).await;
        signal.drain("enough");
    });
    let report = run(p).await;
    assert!(matches!(report.outcome, Outcome::Drained), "{report}");
    assert_eq!(stage(&report, "store").completed, 1);
}

#[tokio::test(start_paused = true)]
async fn a_drain_after_the_sources_have_ended_changes_nothing() {
    let signal = AbortSignal::new();
    let mut p = Pipeline::new("p", signal.clone());
    let source = numbers(&mut p, 3, 8);
    p.sink_fn("store", source, Opts::default(), async |_number| {
        sleep(Duration::from_secs(1)).await;
        Step::done()
    });
    tokio::spawn(async move {
        sleep(Duration::from_millis(1500)).await;
        signal.drain("late");
    });
    let report = run(p).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{report}");
}

#[tokio::test(start_paused = true)]
async fn merged_flows_arrive_whole_and_one_worker_keeps_the_order() {
    let mut p = Pipeline::new("p", AbortSignal::new());
    let (left, right) = (numbers(&mut p, 50, 2), numbers(&mut p, 70, 2));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    p.sink_fn("store", left.merge(right), Opts::default(), move |number| {
        let sink = Arc::clone(&sink);
        async move {
            sink.lock().await.push(number);
            Step::done()
        }
    });
    let report = run(p).await;
    assert_conserved(&report);
    assert_eq!((stage(&report, "store").completed, stage(&report, "store").queue_capacity), (120, 4));
    let mut rest = seen.lock().await.clone();
    // Each source's items are in order: taking one rising series out leaves the other.
    for expected in 0..50 {
        let at = rest.iter().position(|number| *number == expected).expect("an item of the shorter source");
        rest.remove(at);
    }
    assert_eq!(rest, (0..70).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_stage_emits_none_one_or_many_for_an_item() {
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = numbers(&mut p, 10, 4);
    let fanned = p.stage("fan", source, Opts::workers(2).queue(1), |number, cx: Cx<u64>| async move {
        for copy in 0..number {
            if cx.emit(copy).await.is_err() {
                break;
            }
        }
        if number == 0 { Step::filter() } else { Step::done() }
    });
    p.sink_fn("store", fanned, Opts::default(), async |_number| Step::done());
    let report = run(p).await;
    assert_conserved(&report);
    let fan = stage(&report, "fan");
    assert_eq!((fan.consumed, fan.completed, fan.filtered, fan.emitted), (10, 9, 1, 45));
}

#[tokio::test(start_paused = true)]
async fn a_failed_item_can_leave_an_error_record_and_still_counts_as_failed() {
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = numbers(&mut p, 30, 4);
    let (good, bad) = p.stage_aside("call", source, Opts::workers(4).queue(2), |number, _cx| async move {
        match number % 3 {
            0 => Step::emit(number),
            1 => Step::fail("404").aside(number),
            _ => Step::throttled("429").aside(number),
        }
    });
    p.sink_fn("store", good.merge(bad), Opts::default(), async |_number| Step::done());
    let report = run(p).await;
    assert_conserved(&report);
    let call = stage(&report, "call");
    assert_eq!((call.completed, call.failed, call.throttled, call.emitted), (10, 10, 10, 30));
    assert_eq!(call.errors.len(), 8);
    assert_eq!(stage(&report, "store").completed, 30);
}

#[tokio::test(start_paused = true)]
async fn each_worker_has_a_state_of_its_own() {
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = numbers(&mut p, 40, 4);
    let tagged = p.stage_with("tag", source, Opts::workers(4).queue(4), |worker| {
        let mut seen = 0_u64;
        move |_number, cx: Cx<(usize, u64)>| {
            assert_eq!((cx.worker(), cx.stage()), (worker, "tag"));
            seen += 1;
            let tag = (worker, seen);
            async move {
                sleep(Duration::from_millis(1)).await;
                Step::emit(tag)
            }
        }
    });
    let total = Arc::new(Mutex::new([0_u64; 4]));
    let sink = Arc::clone(&total);
    p.sink_fn("store", tagged, Opts::default(), move |(worker, seen): (usize, u64)| {
        let sink = Arc::clone(&sink);
        async move {
            let last = &mut sink.lock().await[worker];
            assert_eq!(seen, *last + 1);
            *last = seen;
            Step::done()
        }
    });
    let report = run(p).await;
    assert!(report.panics.is_empty(), "{:?}", report.panics);
    assert_eq!(total.lock().await.iter().sum::<u64>(), 40);
}

#[tokio::test(start_paused = true)]
async fn back_pressure_bounds_what_is_under_way() {
    let mut p = Pipeline::new("p", AbortSignal::new());
    let sent = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&sent);
    let source = p.source("fast", queue(5), |out| async move {
        for number in 0..100_u64 {
            if out.send(number).await.is_err() {
                break;
            }
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    p.sink_fn("slow", source, Opts::workers(2), move |number| {
        // What was sent is at most what was taken, the queue, and nothing more.
        assert!(sent.load(Ordering::Relaxed) <= number + 1 + 5 + 2);
        async {
            sleep(Duration::from_secs(1)).await;
            Step::done()
        }
    });
    let report = run(p).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{report}");
    assert_eq!(stage(&report, "slow").queue_high_water, 5);
}

#[tokio::test(start_paused = true)]
async fn empty_pipelines_and_empty_sources_complete_at_once() {
    let report = run(Pipeline::new("nothing", AbortSignal::new())).await;
    assert!(matches!(report.outcome, Outcome::Completed) && report.stages.is_empty());
    let mut p = Pipeline::new("dry", AbortSignal::new());
    let source = numbers(&mut p, 0, 1);
    p.sink_fn("store", source, Opts::default(), async |_number| Step::done());
    let report = run(p).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{report}");
    assert_conserved(&report);
}
