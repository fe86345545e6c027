//! What the report says.

use std::fmt;
use std::time::Duration;

use tidegate_pipeline::{AbortSignal, Opts, Pipeline, Step};
use tokio::time::sleep;

use crate::support::{numbers, run, stage};

#[tokio::test(start_paused = true)]
async fn times_say_who_waited_for_whom() {
    let mut p = Pipeline::new("p", AbortSignal::new());
    let source = numbers(&mut p, 10, 1);
    let fast = p.stage("fast", source, Opts::workers(1).queue(1), async |number, _| {
        sleep(Duration::from_secs(1)).await;
        Step::emit(number)
    });
    p.sink_fn("slow", fast, Opts::workers(1), async |_number: u64| {
        sleep(Duration::from_secs(3)).await;
        Step::done()
    });
    let report = run(p).await;
    assert_eq!(report.wall, Duration::from_secs(31));
    let (fast, slow) = (stage(&report, "fast"), stage(&report, "slow"));
    assert_eq!((fast.busy, slow.busy), (Duration::from_secs(10), Duration::from_secs(30)));
    assert_eq!((slow.starved, slow.wall), (Duration::from_secs(1), Duration::from_secs(31)));
    // Its last item goes into the queue when the sink takes the last but one, at 25 s.
    assert_eq!((fast.blocked_on_output, fast.wall), (Duration::from_secs(15), Duration::from_secs(25)));
    for (stage, seconds) in [(fast, 1.0), (slow, 3.0)] {
        for time in [stage.p50, stage.p99] {
            assert!((seconds..seconds * 1.0625).contains(&time.as_secs_f64()), "{time:?}");
        }
    }
}

#[derive(Debug)]
struct Outer(std::num::ParseIntError);

impl fmt::Display for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no number")
    }
}

impl std::error::Error for Outer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

async fn parse(_number: u64) -> Step<std::convert::Infallible> {
    Step::from("x".parse::<u32>().map_err(Outer).map(|_| unreachable!("it is no number")))
}

#[tokio::test(start_paused = true)]
async fn errors_are_kept_with_what_caused_them() {
    let mut p = Pipeline::new("import", AbortSignal::new());
    let source = numbers(&mut p, 1, 1);
    p.sink_fn("parse", source, Opts::default(), parse);
    let report = run(p).await;
    assert_eq!(stage(&report, "parse").errors, ["no number: invalid digit found in string"]);
    let text =
        "import completed after 0.000ns\n  numbers: 0 consumed, 1 emitted\n  parse: 1 consumed, 1 failed";
    assert_eq!(report.to_string(), text);
}

#[cfg(feature = "serde")]
#[tokio::test(start_paused = true)]
async fn serialised_durations_are_seconds_and_causes_are_texts() {
    let mut p = Pipeline::new("import", AbortSignal::new());
    let monitor = p.monitor();
    let source = numbers(&mut p, 1, 1);
    p.sink_fn("store", source, Opts::default(), async |_number| {
        sleep(Duration::from_millis(1500)).await;
        Step::fatal("disk full")
    });
    let report = serde_json::to_value(run(p).await).unwrap();
    assert_eq!(report["wall"], 1.5);
    let cause = &report["outcome"]["aborted"]["cause"];
    assert_eq!(*cause, "stage `store` met a fatal error: disk full");
    let fields = [
        "consumed",
        "completed",
        "emitted",
        "filtered",
        "failed",
        "throttled",
        "panicked",
        "left",
        "busy",
        "blocked_on_output",
        "starved",
        "queue_high_water",
        "wall",
        "p50",
        "p99",
    ];
    for field in fields {
        assert!(report["stages"][1][field].is_number(), "{field}");
    }
    let live = serde_json::to_value(monitor.stages()).unwrap();
    assert_eq!((&live[1]["name"], &live[1]["phase"]), (&"store".into(), &"ended".into()));
}
