//! What a gate tells the log and the metrics: each change once, however many tasks it stops.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use tidegate_cooldown_gate::{CooldownGate, GateMap, Reopen, describe_metrics};
use tracing_subscriber::filter::LevelFilter;

use crate::{hint, let_others_run, secs};

/// The log, one event a line.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Listens to this thread until the guard is dropped.
    fn listen(&self) -> tracing::subscriber::DefaultGuard {
        let log = self.clone();
        let lines =
            tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).without_time().with_ansi(false);
        tracing::subscriber::set_default(lines.with_writer(move || log.clone()).finish())
    }

    /// What was told since the last look.
    fn told(&self) -> Vec<String> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap());
        String::from_utf8(bytes).unwrap().lines().map(|line| line.trim().to_owned()).collect()
    }
}

/// The values of the metrics since the last look, with their names and labels.
fn counted(snapshotter: &Snapshotter) -> Vec<(String, DebugValue)> {
    let metrics = snapshotter.snapshot().into_vec().into_iter();
    let mut counted: Vec<_> = metrics
        .map(|(key, _, _, value)| {
            let labels: Vec<_> =
                key.key().labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
            (format!("{}{{{}}}", key.key().name(), labels.join(",")), value)
        })
        .collect();
    counted.sort_by(|(one, _), (other, _)| one.cmp(other));
    counted
}

/// A hundred tasks that make one call each, of a second.
fn crowd(gate: &CooldownGate) -> tokio::task::JoinSet<()> {
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let gate = gate.clone();
        tasks.spawn(async move {
            let pass = gate.pass().await.unwrap();
            tokio::time::sleep(secs(1)).await;
            pass.success();
        });
    }
    tasks
}

#[tokio::test(start_paused = true)]
async fn a_hundred_waiters_hear_one_event_for_each_change() {
    let log = Log::default();
    let _listening = log.listen();
    let gate = CooldownGate::builder().name("llm").reopen(Reopen::AtOnce).build();

    let burst: Vec<_> = (0..100).map(|_| gate.try_pass().unwrap()).collect();
    for pass in burst {
        pass.throttled(hint(secs(30)));
    }
    assert_eq!(
        log.told(),
        [r#"INFO tidegate_cooldown_gate: gate closed gate="llm" epoch=0 cooldown=30s strikes=1"#]
    );

    let mut tasks = crowd(&gate);
    let_others_run().await;
    gate.close_for(secs(40));
    assert_eq!(
        log.told(),
        [r#"INFO tidegate_cooldown_gate: gate closed for longer gate="llm" cooldown=40s"#]
    );

    tokio::time::advance(secs(40)).await;
    let_others_run().await;
    assert_eq!(log.told(), [r#"DEBUG tidegate_cooldown_gate: gate sends a probe gate="llm" epoch=1"#]);

    tokio::time::advance(secs(1)).await;
    let_others_run().await;
    assert_eq!(log.told(), [r#"INFO tidegate_cooldown_gate: gate opened gate="llm" epoch=1"#]);

    while tasks.join_next().await.is_some() {}
    gate.shutdown();
    gate.shutdown();
    assert_eq!(log.told(), [r#"INFO tidegate_cooldown_gate: gate shut down gate="llm""#]);
}

#[tokio::test(start_paused = true)]
async fn each_change_of_the_pace_is_one_event_and_its_end_another() {
    let log = Log::default();
    let _listening = log.listen();
    let gate = CooldownGate::new();
    gate.close_for(secs(30));
    let mut tasks = crowd(&gate);
    while tasks.join_next().await.is_some() {}

    let told = log.told();
    let pace =
        |line: &String| line.split_once("pace_per_second=").map(|(_, pace)| pace.parse::<f64>().unwrap());
    let paces: Vec<_> = told.iter().filter_map(pace).collect();
    let expected: Vec<_> = (0..paces.len()).map(|step| 2_f64.powi(i32::try_from(step).unwrap())).collect();
    assert!(paces.len() > 4 && paces == expected, "one a second, then twice as fast each time: {told:#?}");
    let with = |text| told.iter().filter(|line| line.contains(text)).count();
    assert_eq!((with("gate opened"), with("changed its pace")), (1, paces.len() - 1), "{told:#?}");
    assert_eq!(
        told.last().unwrap(),
        "DEBUG tidegate_cooldown_gate: gate lets everybody in epoch=1",
        "nobody was found to need a pace"
    );
    assert_eq!(told.len(), paces.len() + 3, "closed, a probe, and the end: {told:#?}");
}

#[tokio::test(start_paused = true)]
async fn the_metrics_count_what_happened_and_not_who_waited() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);
    describe_metrics();
    let gate = CooldownGate::builder().name("llm").build();

    gate.close_for(secs(30));
    gate.close_for(secs(40));
    let mut tasks = crowd(&gate);
    let_others_run().await;
    assert_eq!(
        counted(&snapshotter),
        [
            ("tidegate_gate_closings_total{gate=llm}".to_owned(), DebugValue::Counter(1)),
            ("tidegate_gate_cooldown_seconds{gate=llm}".to_owned(), DebugValue::Histogram(vec![30.0.into()])),
            ("tidegate_gate_extensions_total{gate=llm}".to_owned(), DebugValue::Counter(1)),
        ]
    );

    tokio::time::advance(secs(40)).await;
    let_others_run().await;
    assert_eq!(
        counted(&snapshotter),
        [
            ("tidegate_gate_closings_total{gate=llm}".to_owned(), DebugValue::Counter(0)),
            ("tidegate_gate_cooldown_seconds{gate=llm}".to_owned(), DebugValue::Histogram(vec![])),
            ("tidegate_gate_extensions_total{gate=llm}".to_owned(), DebugValue::Counter(0)),
            ("tidegate_gate_probes_total{gate=llm}".to_owned(), DebugValue::Counter(1)),
        ]
    );

    tokio::time::advance(secs(1)).await;
    let_others_run().await;
    let opened = counted(&snapshotter);
    for expected in [
        ("tidegate_gate_openings_total{gate=llm}".to_owned(), DebugValue::Counter(1)),
        ("tidegate_gate_pace_per_second{gate=llm}".to_owned(), DebugValue::Gauge(1.0.into())),
    ] {
        assert!(opened.contains(&expected), "{opened:?}");
    }
    tasks.abort_all();
}

#[tokio::test(start_paused = true)]
async fn a_key_of_a_map_is_told_to_nobody() {
    let (log, recorder) = (Log::default(), DebuggingRecorder::new());
    let snapshotter = recorder.snapshotter();
    let (_listening, _recording) = (log.listen(), metrics::set_default_local_recorder(&recorder));
    let keys: GateMap<String> = GateMap::new();
    keys.gate("sk-secret").unwrap().close_for(Duration::from_secs(3));
    let told = (log.told(), counted(&snapshotter));
    assert_eq!((told.0.len(), told.1.len()), (1, 2), "{told:?}");
    assert!(!format!("{told:?}").contains("secret"), "{told:?}");
    assert_eq!(told.1[0].0, "tidegate_gate_closings_total{gate=unnamed}");
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_asks_the_gate_or_panics_leaves_it_whole() {
    struct Asks(CooldownGate);
    impl Write for Asks {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            assert!(!self.0.is_open());
            assert_eq!(self.0.snapshot().waiting, 0);
            assert!(bytes.is_empty(), "the listener panics");
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let gate = CooldownGate::new();
    let asked = gate.clone();
    let lines = tracing_subscriber::fmt().with_writer(move || Asks(asked.clone())).finish();
    let told = tracing::subscriber::with_default(lines, || {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| gate.close_for(secs(3))))
    });
    assert_eq!(
        told.unwrap_err().downcast_ref(),
        Some(&"the listener panics"),
        "it heard the gate's answers first"
    );
    let start = tokio::time::Instant::now();
    gate.pass().await.unwrap().success();
    assert_eq!(start.elapsed().as_secs(), 3);
}
