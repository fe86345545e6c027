//! What the tests share.

use std::time::Duration;

use tidegate_pipeline::{Flow, Pipeline, PipelineReport, StageReport, queue};
use tokio::time::timeout;

/// Runs a pipeline, and fails if it is not over within an hour of (paused) time.
pub(crate) async fn run(pipeline: Pipeline) -> PipelineReport {
    let hour = Duration::from_secs(3600);
    timeout(hour, pipeline.run()).await.expect("the run hangs")
}

/// A source that sends `0..count`.
pub(crate) fn numbers(p: &mut Pipeline, count: u64, capacity: usize) -> Flow<u64> {
    p.source("numbers", queue(capacity), move |out| async move {
        for number in 0..count {
            if out.send(number).await.is_err() {
                break;
            }
        }
    })
}

pub(crate) fn stage<'a>(report: &'a PipelineReport, name: &str) -> &'a StageReport {
    report.stage(name).expect("a stage of that name")
}

/// PL-1, and that nothing vanishes between two stages.
pub(crate) fn assert_conserved(report: &PipelineReport) {
    for stage in &report.stages {
        let ends =
            stage.completed + stage.filtered + stage.failed + stage.throttled + stage.panicked + stage.left;
        assert_eq!(stage.consumed, ends, "an item of `{}` is not accounted for:\n{report}", stage.name);
    }
    let emitted: u64 = report.stages.iter().map(|stage| stage.emitted).sum();
    let received: u64 = report.stages.iter().map(|stage| stage.consumed + stage.queued).sum();
    assert_eq!(emitted, received, "an item vanished between two stages:\n{report}");
}

/// A panic that does not print: the hook is left out.
pub(crate) fn quiet_panic(text: &str) -> ! {
    std::panic::resume_unwind(Box::new(text.to_owned()))
}
