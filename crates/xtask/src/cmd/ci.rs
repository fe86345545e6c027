//! `cargo x ci`: what every change must pass, the cheap parts first.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::cargo;
use crate::cmd::{mutants, test, tidy};
use crate::process;
use crate::screen::Screen;
use crate::table::Table;
use crate::tally::Tally;
use crate::workspace::Workspace;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo x ci                   everything
  cargo x ci --without-test    everything but `cargo x test` (.ci/run calls that itself)")]
pub(crate) struct Args {
    /// Leave `cargo x test` out
    #[arg(long)]
    without_test: bool,
}

const CLIPPY: [&str; 7] =
    ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
/// In its own workspace, which brings the lints with it.
const BENCH_CLIPPY: [&str; 5] = ["clippy", "--all-targets", "--", "-D", "warnings"];
const DOC: [&str; 4] = ["doc", "--workspace", "--all-features", "--no-deps"];

pub(crate) fn run(workspace: &Workspace, args: &Args, screen: &mut Screen) -> Result<bool> {
    let root = workspace.root();
    let fuzz = root.join("fuzz");
    let bench = root.join("crates/bench");
    let mut steps = Steps { screen, done: Vec::new() };
    steps.step("tidy", |screen| tidy::run(workspace, screen));
    steps.step("clippy", |screen| succeeds(cargo::command(root).args(CLIPPY), screen));
    steps.step("docs", |screen| {
        succeeds(cargo::command(root).args(DOC).env("RUSTDOCFLAGS", "-D warnings"), screen)
    });
    if fuzz.join("Cargo.toml").is_file() {
        steps.step("fuzz targets", |screen| succeeds(cargo::command(&fuzz).arg("check"), screen));
    }
    steps.step("benches", |screen| succeeds(cargo::command(&bench).args(BENCH_CLIPPY), screen));
    steps.step("mutants", |screen| mutants::run(workspace, &mutants::Args::default(), screen));
    let good = steps.finish();
    if args.without_test {
        return Ok(good);
    }
    Ok(test::run(workspace, &test::Args::default(), screen)? && good)
}

fn succeeds(command: &mut Command, screen: &mut Screen) -> Result<bool> {
    Ok(process::stream(command, screen)?.ok)
}

struct Steps<'a> {
    screen: &'a mut Screen,
    done: Vec<(&'static str, bool, Duration)>,
}

impl Steps<'_> {
    /// Runs a step; one that cannot run has failed, and the others go on.
    fn step(&mut self, name: &'static str, run: impl FnOnce(&mut Screen) -> Result<bool>) {
        self.screen.header(&format!("ci: {name}"));
        let start = Instant::now();
        let passed = run(self.screen).unwrap_or_else(|error| {
            self.screen.error(&error);
            false
        });
        self.done.push((name, passed, start.elapsed()));
    }

    /// The table and its counts; whether all passed.
    fn finish(self) -> bool {
        let mut table = Table::new(["step", "verdict", "time"]);
        let mut tally = Tally::default();
        for (name, passed, time) in self.done {
            tally += Tally::one(passed);
            let verdict = if passed { "passed" } else { "FAILED" };
            table.row([name.to_owned(), verdict.to_owned(), format!("{:.1} s", time.as_secs_f64())]);
        }
        self.screen.header("ci");
        self.screen.lines(&table.render());
        self.screen.line("");
        self.screen.line(&tally.to_string());
        tally.good()
    }
}
