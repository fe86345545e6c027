//! Live progress: a bar for each stage on a terminal, otherwise a line every few seconds.

use std::io::{IsTerminal, Write as _, stderr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tidegate::abort_signal::{AbortSignal, Level};
use tidegate::pipeline::{LiveStage, Monitor};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::caller::Caller;

const REDRAW: Duration = Duration::from_millis(100);
const LINE: Duration = Duration::from_secs(5);
const DRAINING: &str = "interrupted: finishing what is under way; press Ctrl-C again to stop at once";

/// The task that shows progress.
pub(crate) struct Progress {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// What is to be seen of the pipeline.
pub(crate) struct View {
    pub(crate) monitor: Monitor,
    pub(crate) fetch: Arc<Caller>,
    pub(crate) llm: Arc<Caller>,
    pub(crate) signal: AbortSignal,
    pub(crate) papers: usize,
    pub(crate) begun: Instant,
}

/// One line of the display.
struct Row {
    name: &'static str,
    done: u64,
    of: usize,
    /// Rate, calls in flight, 429s, gate: whatever the stage has of these.
    more: String,
}

impl Progress {
    /// Starts showing, on standard error; nothing at all if `quiet`.
    pub(crate) fn start(view: View, quiet: bool, db: &Path) -> Self {
        let (stop, stopped) = oneshot::channel();
        let begin = format!("{} papers into {}", view.papers, db.display());
        let task = tokio::spawn(async move {
            if !quiet {
                say(&begin);
                if stderr().is_terminal() { bars(&view, stopped).await } else { lines(&view, stopped).await }
            }
        });
        Self { stop, task }
    }

    /// Shows the last state and ends.
    pub(crate) async fn stop(self) {
        // A task that shows nothing has left already.
        let _ = self.stop.send(());
        let _ = self.task.await;
    }
}

/// Standard error may be closed: then nobody wants to know.
fn say(line: &str) {
    let _ = writeln!(stderr(), "{line}");
}

async fn bars(view: &View, mut stopped: oneshot::Receiver<()>) {
    let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{prefix:>6} {bar:30} {pos:>6}/{len} {msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ");
    let bar = |row: &Row| {
        let length = u64::try_from(row.of).unwrap_or(u64::MAX);
        all.add(ProgressBar::new(length).with_style(style.clone()).with_prefix(row.name))
    };
    let bars: Vec<_> = view.rows().iter().map(bar).collect();
    let draw = || {
        for (bar, row) in bars.iter().zip(view.rows()) {
            bar.set_message(row.more);
            bar.set_position(row.done);
        }
    };
    let mut told = false;
    loop {
        draw();
        tokio::select! {
            _ = &mut stopped => break,
            () = view.signal.reached(Level::Drain), if !told => {
                told = true;
                if view.drains() {
                    // As with every line: standard error may be closed.
                    let _ = all.println(DRAINING);
                }
            }
            () = sleep(REDRAW) => {}
        }
    }
    draw();
    for bar in bars {
        bar.abandon();
    }
    // The cursor stands behind the last bar.
    say("");
}

async fn lines(view: &View, mut stopped: oneshot::Receiver<()>) {
    let mut told = false;
    loop {
        tokio::select! {
            _ = &mut stopped => return,
            () = view.signal.reached(Level::Drain), if !told => {
                told = true;
                if view.drains() {
                    say(DRAINING);
                }
                continue;
            }
            () = sleep(LINE) => {}
        }
        let rows = view
            .rows()
            .into_iter()
            .map(|row| format!("{} {} {}", row.name, row.done, row.more).trim_end().to_owned());
        let rows: Vec<_> = rows.collect();
        say(&format!(
            "{:>4.0} s of {} papers: {}",
            view.begun.elapsed().as_secs_f64(),
            view.papers,
            rows.join("; ")
        ));
    }
}

impl View {
    /// An abort goes beyond a drain, and says so itself.
    fn drains(&self) -> bool {
        self.signal.level() == Level::Drain
    }

    fn rows(&self) -> Vec<Row> {
        let stages = self.monitor.stages();
        // What goes into another round is not emitted yet.
        let done = |names: &[&str]| {
            stages.iter().filter(|stage| names.contains(&&*stage.name)).map(|stage| stage.emitted).sum()
        };
        let rate = |done: u64| {
            let seconds = self.begun.elapsed().as_secs_f64();
            // Exact for any number of papers that a run can have.
            f64::from(u32::try_from(done).unwrap_or(u32::MAX)) / seconds.max(0.001)
        };
        let calls = |name, names: &[&str], caller: &Caller| {
            let (done, counts) = (done(names), caller.counts());
            let more = format!(
                "({:.1}/s, {} in flight, {} x 429, {})",
                rate(done),
                counts.in_flight,
                counts.throttled,
                caller.state()
            );
            Row { name, done, of: self.papers, more }
        };
        let settled = |name: &str| {
            let ended = |stage: &LiveStage| stage.completed + stage.filtered + stage.failed + stage.throttled;
            stages.iter().filter(|stage| &*stage.name == name).map(ended).sum()
        };
        vec![
            calls("fetch", &["stored", "fetch", "fetch again"], &self.fetch),
            Row { name: "build", done: settled("build"), of: self.papers, more: String::new() },
            calls("llm", &["llm", "llm again"], &self.llm),
            // A page and an answer for each paper, at the most.
            Row { name: "db", done: settled("db"), of: 2 * self.papers, more: "records".to_owned() },
        ]
    }
}
