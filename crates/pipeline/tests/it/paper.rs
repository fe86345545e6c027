//! The paper pipeline: a fatal error seen by one of many callers, and error records from every stage.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tidegate_pipeline::{AbortSignal, Cause, Opts, Outcome, Pipeline, Step};
use tokio::time::sleep;

use crate::support::{assert_conserved, numbers, run, stage};

/// 200 callers; the service answers 401 from call 300 on. Returns the report and the calls made after the first 401.
async fn callers(pause: Option<Duration>) -> (tidegate_pipeline::PipelineReport, u64) {
    let mut p = Pipeline::new("papers", AbortSignal::new());
    let source = numbers(&mut p, 10_000, 200);
    let (calls, after) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let refused = Arc::clone(&after);
    let called = p.stage("llm", source, Opts::workers(200).queue(100), move |number, _cx| {
        let (calls, refused) = (Arc::clone(&calls), Arc::clone(&refused));
        async move {
            if let Some(pause) = pause {
                sleep(pause).await;
            } else {
                tokio::task::yield_now().await;
            }
            if calls.fetch_add(1, Ordering::Relaxed) >= 300 {
                refused.fetch_add(1, Ordering::Relaxed);
                return Step::fatal("401: quota exhausted");
            }
            Step::emit(number)
        }
    });
    p.sink_fn("db", called, Opts::default(), async |_number| Step::done());
    let report = p.run().await;
    (report, after.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn a_fatal_error_seen_by_one_of_200_callers_stops_the_others_in_their_calls() {
    let (report, refused) = callers(Some(Duration::from_millis(100))).await;
    assert_eq!(refused, 1);
    let cause = report.cause().expect("it was aborted");
    assert_eq!(cause.to_string(), "stage `llm` met a fatal error: 401: quota exhausted");
    assert_conserved(&report);
    // All 200 were in a call of the same length; those behind the first 401 were dropped in it.
    assert_eq!((stage(&report, "llm").completed, stage(&report, "llm").failed), (300, 1), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fatal_error_costs_at_most_one_call_per_worker_on_many_threads() {
    let (report, refused) = callers(None).await;
    assert!((1..=200).contains(&refused), "{refused} calls after the first 401");
    assert!(matches!(report.cause(), Some(Cause::Fatal { .. })), "{report}");
    assert_conserved(&report);
}

/// What goes to the database.
enum Record {
    Result(u64),
    Error { stage: &'static str, item: u64 },
}

#[tokio::test(start_paused = true)]
async fn terminal_failures_of_every_stage_become_error_records_and_nothing_is_lost() {
    let mut p = Pipeline::new("papers", AbortSignal::new());
    let urls = numbers(&mut p, 1000, 64);
    let (pages, lost) = p.stage_aside("fetch", urls, Opts::workers(12).queue(64), async |url: u64, _| {
        sleep(Duration::from_millis(url % 9)).await;
        match url % 10 {
            0 => Step::fail("404").aside(Record::Error { stage: "fetch", item: url }),
            _ => Step::emit(url),
        }
    });
    let (requests, unread) =
        p.stage_aside("build", pages, Opts::workers(4).queue(64), async |page: u64, _| match page % 10 {
            1 => Step::fail("no text in it").aside(Record::Error { stage: "build", item: page }),
            2 => Step::filter(),
            _ => Step::emit(page),
        });
    let results = p.stage("llm", requests, Opts::workers(32).queue(164), async |request: u64, _| {
        sleep(Duration::from_millis(request % 50)).await;
        match request % 10 {
            3 => Step::throttled("429").and_emit(Record::Error { stage: "llm", item: request }),
            _ => Step::emit(Record::Result(request)),
        }
    });
    let errors = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&errors);
    p.sink_fn("db", results.merge(lost).merge(unread), Opts::default(), move |record| {
        match record {
            Record::Result(item) => assert!(item % 10 > 3),
            Record::Error { stage, item } => {
                assert_eq!(["fetch", "build", "?", "llm"][usize::try_from(item % 10).unwrap()], stage);
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
        async { Step::done() }
    });
    let report = run(p).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{report}");
    assert_conserved(&report);
    assert_eq!((stage(&report, "db").completed, errors.load(Ordering::Relaxed)), (900, 300));
    assert_eq!((stage(&report, "fetch").failed, stage(&report, "build").filtered), (100, 100));
    assert_eq!((stage(&report, "build").failed, stage(&report, "llm").throttled), (100, 100));
}
