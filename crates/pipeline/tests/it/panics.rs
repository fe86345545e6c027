//! Panics, wherever they come from.

use std::sync::Arc;
use std::time::Duration;

use tidegate_pipeline::{AbortSignal, Cause, Cx, OnPanic, Opts, Outcome, Pipeline, Step, Tx, queue};
use tokio::time::sleep;

use crate::support::{assert_conserved, numbers, quiet_panic, run, stage};

#[tokio::test(start_paused = true)]
async fn pl4_a_panic_in_a_closure_aborts_with_its_stage_and_text() {
    for in_future in [false, true] {
        let mut p = Pipeline::new("p", AbortSignal::new());
        let source = numbers(&mut p, 1000, 1);
        let built = p.stage("build", source, Opts::workers(4).queue(1), move |number, _cx| {
            if number == 10 && !in_future {
                quiet_panic("no tenth");
            }
            async move {
                sleep(Duration::from_millis(1)).await;
                if number == 10 {
                    quiet_panic("no tenth");
                }
                Step::emit(number)
            }
        });
        p.sink_fn("store", built, Opts::default(), async |_number| Step::done());
        let report = run(p).await;
        let cause = report.cause().expect("it was aborted");
        assert_eq!(cause.to_string(), "stage `build` panicked: no tenth");
        assert_eq!((report.panics.len(), stage(&report, "build").panicked), (1, 1));
        assert_conserved(&report);
    }
}

#[tokio::test(start_paused = true)]
async fn pl4_a_skipped_panic_is_listed_and_the_run_goes_on() {
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = numbers(&mut p, 200, 8);
    p.sink_fn("store", source, Opts::workers(3).on_panic(OnPanic::Skip), async |number: u64| {
        if number % 2 == 0 { quiet_panic("even") } else { Step::done() }
    });
    let report = run(p).await;
    assert!(matches!(report.outcome, Outcome::Completed), "{report}");
    let store = stage(&report, "store");
    assert_eq!((store.panicked, store.completed), (100, 100));
    // Counted all, listed the first.
    assert_eq!(report.panics.len(), 64);
    assert_conserved(&report);
}

#[tokio::test(start_paused = true)]
async fn pl4_a_panicking_source_aborts() {
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = p.source("list", queue(1), |out: Tx<u64>| async move {
        if out.send(1).await.is_ok() {
            quiet_panic("torn list");
        }
    });
    p.sink_fn("store", source, Opts::default(), async |_number| Step::done());
    let report = run(p).await;
    assert!(matches!(report.cause(), Some(Cause::Panicked { stage, .. }) if &**stage == "list"), "{report}");
}

/// Panics when dropped.
struct Grenade;

impl Drop for Grenade {
    fn drop(&mut self) {
        quiet_panic("dropped");
    }
}

#[tokio::test(start_paused = true)]
async fn pl4_a_panic_in_a_drop_is_an_error_too() {
    // In the drop of the closure, when its worker ends.
    let mut p = Pipeline::new("closure", AbortSignal::new());
    let source = numbers(&mut p, 1, 1);
    let grenade = Grenade;
    p.sink_fn("store", source, Opts::default(), move |_number| {
        let _ = &grenade;
        async { Step::done() }
    });
    let report = run(p).await;
    assert_eq!(report.cause().map(ToString::to_string).as_deref(), Some("stage `store` panicked: dropped"));
    assert_conserved(&report);

    // In the drop of an item in hand, of one in the queue, at an abort.
    let signal = AbortSignal::new();
    let mut p = Pipeline::new("items", signal.clone());
    let source = p.source("grenades", queue(2), |out| async move {
        for _ in 0..2 {
            let _ = out.send(Grenade).await;
        }
    });
    let kept = p.stage("hold", source, Opts::workers(1), |item, _cx: Cx<Grenade>| async move {
        std::future::pending::<()>().await;
        Step::emit(item)
    });
    p.sink_fn("store", kept, Opts::default(), async |_item| Step::done());
    tokio::spawn(async move {
        sleep(Duration::from_secs(1)).await;
        signal.abort("now");
    });
    let report = run(p).await;
    assert_eq!(report.panics.len(), 2, "{report}");
    assert!(report.panics.iter().all(|panic| panic.stage == "hold" && panic.message == "dropped"));
    assert_eq!((stage(&report, "hold").left, stage(&report, "hold").queued), (1, 1));
    assert_conserved(&report);
}

#[tokio::test(start_paused = true)]
async fn a_panicking_stage_leaves_no_producer_parked_and_no_join_hanging() {
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = numbers(&mut p, u64::MAX, 1);
    let built =
        p.stage("build", source, Opts::workers(8).queue(1), async |number: u64, _| Step::emit(number));
    let count = Arc::new(std::sync::atomic::AtomicU64::new(0));
    p.sink_fn("store", built, Opts::default(), move |_number| {
        let count = Arc::clone(&count);
        async move {
            sleep(Duration::from_millis(1)).await;
            if count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 20 {
                std::panic::resume_unwind(Box::new(7));
            }
            Step::done()
        }
    });
    let report = run(p).await;
    let cause = report.cause().expect("it was aborted").to_string();
    assert_eq!(cause, "stage `store` panicked: a panic without a text");
    assert!(report.stuck.is_empty(), "{report}");
    assert_conserved(&report);
}
