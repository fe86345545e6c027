//! PL-1 under anything: random shapes, random ends, panics, slow sinks, aborts and drains at random moments.

use std::time::Duration;

use proptest::prelude::*;
use tidegate_pipeline::{AbortSignal, Cx, Flow, OnPanic, Opts, Outcome, Pipeline, PipelineReport, Step};
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

use crate::support::{assert_conserved, numbers, quiet_panic, run};

/// What a closure does with an item. Which one, the item and the stage decide.
#[derive(Clone, Copy, Debug)]
enum Act {
    Emit,
    Many(u8),
    Filter,
    Fail,
    FailAside,
    Throttled,
    PanicAtOnce,
    PanicLater,
    Fatal,
    Hang,
}

#[derive(Clone, Debug)]
struct Plan {
    workers: usize,
    queue: usize,
    pause: u64,
    skip: bool,
    acts: Vec<Act>,
}

#[derive(Clone, Debug)]
struct Case {
    items: u64,
    plans: Vec<Plan>,
    sink: Plan,
    drain_at: Option<u64>,
    abort_at: Option<u64>,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        20 => Just(Act::Emit),
        4 => (0..5_u8).prop_map(Act::Many),
        3 => Just(Act::Filter),
        3 => Just(Act::Fail),
        3 => Just(Act::FailAside),
        3 => Just(Act::Throttled),
        1 => Just(Act::PanicAtOnce),
        1 => Just(Act::PanicLater),
        1 => Just(Act::Fatal),
        1 => Just(Act::Hang),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let acts = prop::collection::vec(act(), 1..12);
    (1..6_usize, 1..5_usize, 0..4_u64, any::<bool>(), acts)
        .prop_map(|(workers, queue, pause, skip, acts)| Plan { workers, queue, pause, skip, acts })
}

fn case() -> impl Strategy<Value = Case> {
    let plans = prop::collection::vec(plan(), 0..4);
    let moment = || prop::option::of(0..60_u64);
    (0..60_u64, plans, plan(), moment(), moment()).prop_map(|(items, plans, sink, drain_at, abort_at)| {
        // An item that hangs is ended by an abort only.
        let hangs =
            plans.iter().chain([&sink]).any(|plan| plan.acts.iter().any(|act| matches!(act, Act::Hang)));
        let abort_at = if hangs { abort_at.or(Some(200)) } else { abort_at };
        Case { items, plans, sink, drain_at, abort_at }
    })
}

impl Plan {
    fn opts(&self) -> Opts {
        let on_panic = if self.skip { OnPanic::Skip } else { OnPanic::Abort };
        Opts::workers(self.workers).queue(self.queue).on_panic(on_panic)
    }

    fn act(&self, item: u64) -> Act {
        let at = usize::try_from(item).unwrap_or(0) % self.acts.len();
        self.acts[at]
    }
}

async fn perform(act: Act, pause: u64, item: u64, cx: Cx<u64, u64>) -> Step<u64, u64> {
    sleep(Duration::from_millis(pause)).await;
    match act {
        Act::Emit | Act::PanicAtOnce => Step::emit(item + 1),
        Act::Many(count) => {
            for copy in 0..u64::from(count) {
                if cx.emit(item + copy).await.is_err() {
                    break;
                }
            }
            Step::done()
        }
        Act::Filter => Step::filter(),
        Act::Fail => Step::fail("failed"),
        Act::FailAside => Step::fail("failed").aside(item),
        Act::Throttled => Step::throttled("throttled").aside(item),
        Act::PanicLater => quiet_panic("later"),
        Act::Fatal => Step::fatal("fatal"),
        Act::Hang => std::future::pending().await,
    }
}

fn stage(p: &mut Pipeline, input: Flow<u64>, plan: Plan) -> (Flow<u64>, Flow<u64>) {
    p.stage_aside("stage", input, plan.opts(), move |item, cx| {
        let act = plan.act(item);
        if matches!(act, Act::PanicAtOnce) {
            quiet_panic("at once");
        }
        perform(act, plan.pause, item, cx)
    })
}

fn sink(p: &mut Pipeline, input: Flow<u64>, plan: Plan) {
    p.sink_fn("sink", input, plan.opts(), move |item| {
        let (act, pause) = (plan.act(item), plan.pause);
        async move {
            sleep(Duration::from_millis(pause)).await;
            match act {
                Act::Emit | Act::Many(_) => Step::done(),
                Act::Filter => Step::filter(),
                Act::Fail | Act::FailAside => Step::fail("failed"),
                Act::Throttled => Step::throttled("throttled"),
                Act::PanicAtOnce | Act::PanicLater => quiet_panic("in the sink"),
                Act::Fatal => Step::fatal("fatal"),
                Act::Hang => std::future::pending().await,
            }
        }
    });
}

fn perform_case(case: Case, runtime: &Runtime) -> PipelineReport {
    runtime.block_on(async {
        let signal = AbortSignal::new();
        let mut p = Pipeline::new("p", signal.clone());
        let mut flow = numbers(&mut p, case.items, 3);
        let mut aside: Option<Flow<u64>> = None;
        for plan in case.plans {
            let (main, side) = stage(&mut p, flow, plan);
            flow = main;
            aside = Some(match aside {
                Some(aside) => aside.merge(side),
                None => side,
            });
        }
        if let Some(aside) = aside {
            flow = flow.merge(aside);
        }
        sink(&mut p, flow, case.sink);
        let later = async {
            if let Some(at) = case.drain_at {
                sleep(Duration::from_millis(at)).await;
                signal.drain("drain");
            }
            if let Some(at) = case.abort_at {
                sleep(Duration::from_millis(at)).await;
                signal.abort("abort");
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            report = run(p) => report,
            () = later => unreachable!("it is never ready"),
        }
    })
}

fn assert_sound(report: &PipelineReport) {
    assert_conserved(report);
    assert!(report.stuck.is_empty(), "{report}");
    let panicked: u64 = report.stages.iter().map(|stage| stage.panicked).sum();
    assert_eq!(report.panics.len() as u64, panicked.min(64), "{report}");
    let dropped: u64 = report.stages.iter().map(|stage| stage.left + stage.queued).sum();
    match report.outcome {
        Outcome::Completed | Outcome::Drained => assert_eq!(dropped, 0, "lost without an abort:\n{report}"),
        _ => assert!(report.cause().is_some()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn pl1_every_item_is_counted_once_whatever_happens(case in case()) {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        assert_sound(&perform_case(case, &runtime));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn pl1_holds_on_several_threads_too(mut case in case()) {
        // In real time: no pauses, so that threads meet.
        for plan in case.plans.iter_mut().chain([&mut case.sink]) {
            plan.pause = 0;
        }
        case.abort_at = case.abort_at.map(|at| at % 8);
        let runtime = Builder::new_multi_thread().worker_threads(3).enable_time().build().unwrap();
        assert_sound(&perform_case(case, &runtime));
    }
}
