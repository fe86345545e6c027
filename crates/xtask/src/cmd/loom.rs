//! `cargo x loom`: every test in a module `models`, under the family cfg, each in a process of its own.

use std::collections::VecDeque;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cargo_metadata::Package;

use crate::cargo;
use crate::harness::{self, Built, Outcome, TestBinary, TestRun};
use crate::screen::Screen;
use crate::table::Table;
use crate::tally::Tally;
use crate::workspace::{Workspace, folder};

/// The everyday bound: where the last mutants die (`docs/verification`).
pub(crate) const BOUND: u32 = 3;
const DEEP_BOUND: u32 = 4;
/// A model that takes longer is cut too coarsely.
const LIMIT: Duration = Duration::from_secs(90);
const DEEP_LIMIT: Duration = Duration::from_secs(900);

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo x loom                      all models at preemption bound 3
  cargo x loom -p cooldown-gate     the models of one crate
  cargo x loom --deep cg1           bound 4, only models whose path contains cg1")]
pub(crate) struct Args {
    /// Explore at preemption bound 4 with a longer time limit
    #[arg(long, conflicts_with = "bound")]
    deep: bool,
    /// Explore at this preemption bound [default: 3]
    #[arg(long, value_name = "N")]
    bound: Option<u32>,
    /// Only the models of this package (the prefix `tidegate-` may be left out)
    #[arg(short, long, value_name = "PKG")]
    package: Vec<String>,
    /// Only models whose path contains this
    filter: Option<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args, screen: &mut Screen) -> Result<bool> {
    let packages = with_models(workspace.select(&args.package)?)?;
    if packages.is_empty() {
        bail!("no selected package has models (a `mod models` under its src): choose another with -p");
    }
    let bound = args.bound.unwrap_or(if args.deep { DEEP_BOUND } else { BOUND });
    screen.header("models");
    let tally = explore(workspace, &packages, bound, args.filter.as_deref(), screen)?;
    screen.line("");
    screen.line(&tally.to_string());
    Ok(tally.good())
}

/// The packages that have a module `models` somewhere in their sources.
pub(crate) fn with_models(packages: Vec<&Package>) -> Result<Vec<&Package>> {
    let mut found = Vec::new();
    for package in packages {
        if package.targets.iter().any(cargo_metadata::Target::is_lib)
            && declares_models(&folder(package).join("src"))?
        {
            found.push(package);
        }
    }
    Ok(found)
}

fn declares_models(dir: &Path) -> Result<bool> {
    for entry in std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))? {
        let path = entry?.path();
        let declares = if path.is_dir() {
            declares_models(&path)?
        } else {
            path.extension().is_some_and(|extension| extension == "rs")
                && std::fs::read_to_string(&path)
                    .with_context(|| format!("cannot read {}", path.display()))?
                    .lines()
                    .any(|line| line.trim_start().starts_with("mod models"))
        };
        if declares {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A `cargo test` of library tests under the model checker, building in `target`.
pub(crate) fn cargo_test(root: &Path, target: &Path) -> Command {
    let mut command = cargo::command(root);
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    command
        .args(["test", "--lib", "--all-features", "--profile", "loom"])
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", format!("{flags} --cfg tidegate_loom").trim_start())
        .env("CARGO_TARGET_DIR", target);
    command
}

/// What a model reads to know its bound.
pub(crate) fn env(bound: u32) -> (&'static str, String) {
    ("TIDEGATE_LOOM_BOUND", bound.to_string())
}

/// Builds and explores the models of `packages`; shows each with its iterations. No model at all is a failure.
pub(crate) fn explore(
    workspace: &Workspace,
    packages: &[&Package],
    bound: u32,
    filter: Option<&str>,
    screen: &mut Screen,
) -> Result<Tally> {
    screen.line(&format!("preemption bound {bound}"));
    let mut command = cargo_test(workspace.root(), &workspace.target().join("loom"));
    for package in packages {
        command.args(["-p", package.name.as_str()]);
    }
    let Built::Tests(binaries) = harness::build(&mut command, screen)? else {
        screen.failure("the models do not compile (see above)");
        return Ok(Tally::one(false));
    };

    let mut models = VecDeque::new();
    for binary in &binaries {
        let wanted =
            |test: &String| harness::is_in(test, "models") && filter.is_none_or(|part| test.contains(part));
        models.extend(binary.tests()?.into_iter().filter(wanted).map(|test| (binary, test)));
    }
    if models.is_empty() {
        screen.failure("no model matches: nothing was explored");
        return Ok(Tally::one(false));
    }

    let limit = if bound > BOUND { DEEP_LIMIT } else { LIMIT };
    let mut reports = run_all(models, bound, limit, screen)?;
    reports.sort_by(|a, b| (&a.package, &a.test).cmp(&(&b.package, &b.test)));
    let mut table = Table::new(["crate", "model", "iterations", "time", "verdict"]);
    let mut tally = Tally::default();
    for report in &reports {
        tally += Tally::one(report.fault.is_none());
        table.row([
            report.package.clone(),
            report.test.clone(),
            report.iterations.map_or_else(|| "-".to_owned(), |n| n.to_string()),
            format!("{:.2} s", report.time.as_secs_f64()),
            report.verdict(),
        ]);
    }
    screen.lines(&table.render());
    Ok(tally)
}

struct Report {
    package: String,
    test: String,
    iterations: Option<u64>,
    must_fail: bool,
    time: Duration,
    fault: Option<&'static str>,
}

impl Report {
    fn verdict(&self) -> String {
        match self.fault {
            Some(fault) => fault.to_owned(),
            None if self.must_fail => "fails, as it must".to_owned(),
            None => "holds".to_owned(),
        }
    }
}

/// Runs every model, as many at once as there are processors.
fn run_all(
    models: VecDeque<(&TestBinary, String)>,
    bound: u32,
    limit: Duration,
    screen: &mut Screen,
) -> Result<Vec<Report>> {
    let total = models.len();
    let queue = Mutex::new(models);
    let queue = &queue;
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let (done, results) = mpsc::channel();
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..workers {
            let done = done.clone();
            scope.spawn(move || {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some((binary, test)) = next else { return };
                    let run = binary.run(&test, limit, &[env(bound)]);
                    if done.send((binary, test, run)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        let mut reports = Vec::new();
        for (binary, test, run) in results {
            let run = run?;
            let report = judge(&binary.package, test, &run);
            if let Some(fault) = report.fault {
                screen.failure(&format!("{} {}: {fault}", report.package, report.test));
                screen.lines(&run.output);
            }
            reports.push(report);
            screen.status(&format!(
                "{}/{total} models, {:.0} s",
                reports.len(),
                start.elapsed().as_secs_f64()
            ));
        }
        screen.clear();
        Ok(reports)
    })
}

fn judge(package: &str, test: String, run: &TestRun) -> Report {
    let lines: Vec<ModelLine> = run.output.lines().filter_map(model_line).collect();
    let fault = match run.outcome {
        Outcome::Passed if lines.is_empty() => Some("explored nothing (no loom-model line)"),
        Outcome::Passed => None,
        Outcome::Failed => Some("FAILED"),
        Outcome::TimedOut => Some("TIMED OUT"),
        Outcome::Missing => Some("MISSING"),
    };
    Report {
        package: package.to_owned(),
        test,
        iterations: lines.iter().filter_map(|line| line.iterations).reduce(u64::saturating_add),
        must_fail: lines.iter().any(|line| line.must_fail),
        time: run.time,
        fault,
    }
}

#[derive(Debug, PartialEq, Eq)]
struct ModelLine {
    iterations: Option<u64>,
    must_fail: bool,
}

/// What the shim prints: `loom-model: NAME 12 iterations`, or `loom-model: NAME failed as it must`, perhaps with
/// `after 3 iterations`. libtest may have begun the line.
fn model_line(line: &str) -> Option<ModelLine> {
    let (_, said) = line.split_once("loom-model: ")?;
    let said = said.trim_end();
    let iterations = said
        .strip_suffix(" iterations")
        .and_then(|rest| rest.rsplit_once(' '))
        .and_then(|(_, count)| count.parse().ok());
    let must_fail = said.contains(" failed as it must");
    (must_fail || iterations.is_some()).then_some(ModelLine { iterations, must_fail })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_line_is_found_even_behind_the_words_of_libtest() {
        let held = model_line("test models::a ... loom-model: two closers 812 iterations");
        assert_eq!(held, Some(ModelLine { iterations: Some(812), must_fail: false }));
        let failed = model_line("loom-model: check-then-create failed as it must after 7 iterations");
        assert_eq!(failed, Some(ModelLine { iterations: Some(7), must_fail: true }));
        let failed = model_line("loom-model: check-then-create failed as it must");
        assert_eq!(failed, Some(ModelLine { iterations: None, must_fail: true }));
        assert_eq!(model_line("loom-model: nothing to see"), None);
    }

    #[test]
    fn a_model_that_says_nothing_explored_nothing() {
        let run = TestRun { outcome: Outcome::Passed, output: "ok".to_owned(), time: Duration::ZERO };
        assert!(judge("p", "models::a".to_owned(), &run).fault.is_some());
    }
}
