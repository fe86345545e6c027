//! `cargo x mutants`: a model that cannot fail proves nothing. Each row of `docs/verification/mutants.toml` breaks the
//! sources in one place; its test must then fail with its message.

mod row;
mod scratch;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::cargo;
use crate::cmd::loom;
use crate::harness::{self, Built, Outcome, TestBinary, TestRun};
use crate::screen::Screen;
use crate::table::Table;
use crate::tally::Tally;
use crate::workspace::Workspace;

pub(crate) use row::{Row, parse};
use scratch::Scratch;

pub(crate) const FILE: &str = "docs/verification/mutants.toml";
const LIMIT: Duration = Duration::from_secs(120);

#[derive(Default, clap::Args)]
#[command(after_help = "\
Examples:
  cargo x mutants             every row of docs/verification/mutants.toml
  cargo x mutants XX-1        the rows that attack one guarantee
  cargo x mutants gate        the rows whose name or package contains gate")]
pub(crate) struct Args {
    /// Only rows whose name or package contains this, or whose guarantee is this
    filter: Option<String>,
}

/// What became of a mutant. Only a kill is good.
enum Verdict {
    Killed,
    Survived,
    /// The test failed, but for another reason.
    WrongMessage,
    TimedOut,
    /// The row cannot be judged: its text, its build or its test is not as it says.
    Broken(String),
}

struct Judged<'a> {
    row: &'a Row,
    verdict: Verdict,
    output: String,
    time: Duration,
}

pub(crate) fn run(workspace: &Workspace, args: &Args, screen: &mut Screen) -> Result<bool> {
    let path = workspace.root().join(FILE);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {FILE}"))?;
    let mut rows = parse(&text).with_context(|| format!("{FILE} is not as it should be"))?;
    if let Some(filter) = &args.filter {
        rows.retain(|row| {
            row.name.contains(filter)
                || row.package.contains(filter)
                || row.guarantee.eq_ignore_ascii_case(filter)
        });
        ensure!(!rows.is_empty(), "no mutant matches {filter:?}: the names are in {FILE}");
    }
    ensure!(!rows.is_empty(), "{FILE} has no rows: nothing is proven");

    let lab = Lab::open(workspace)?;
    screen.header("the unmutated tree: every named test must pass");
    let broken = lab.baseline(&rows, screen)?;
    screen.header(&format!("{} mutants", rows.len()));
    let mut judged = Vec::new();
    for row in &rows {
        screen.status(&format!("{}/{} {}", judged.len() + 1, rows.len(), row.name));
        let start = Instant::now();
        let (verdict, output) = match broken.get(&key(row)) {
            Some(why) => (Verdict::Broken(why.clone()), String::new()),
            None => lab.judge(row)?,
        };
        let judgement = Judged { row, verdict, output, time: start.elapsed() };
        judgement.complain(screen);
        judged.push(judgement);
    }
    screen.clear();

    let tally = report(&judged, screen);
    screen.line("");
    screen.line(&tally.to_string());
    Ok(tally.good())
}

fn report(judged: &[Judged<'_>], screen: &mut Screen) -> Tally {
    let mut table = Table::new(["mutant", "guarantee", "test", "verdict", "seconds"]);
    let mut tally = Tally::default();
    for one in judged {
        tally += Tally::one(matches!(one.verdict, Verdict::Killed));
        table.row([
            one.row.name.clone(),
            one.row.guarantee.clone(),
            one.row.test.clone(),
            one.verdict.word().to_owned(),
            format!("{:.1}", one.time.as_secs_f64()),
        ]);
    }
    screen.lines(&table.render());
    tally
}

impl Verdict {
    fn word(&self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Survived => "SURVIVED",
            Self::WrongMessage => "WRONG MESSAGE",
            Self::TimedOut => "TIMED OUT",
            Self::Broken(_) => "BROKEN ROW",
        }
    }
}

impl Judged<'_> {
    /// Says what is wrong, with the end of what the test printed.
    fn complain(&self, screen: &mut Screen) {
        let row = self.row;
        let what = match &self.verdict {
            Verdict::Killed => return,
            Verdict::Survived => {
                format!("{} still passes: the test does not hold {}", row.test, row.guarantee)
            }
            Verdict::WrongMessage => format!("{} fails, but does not print {:?}", row.test, row.message),
            Verdict::TimedOut => format!("{} did not end within {} s", row.test, LIMIT.as_secs()),
            Verdict::Broken(why) => why.clone(),
        };
        screen.failure(&format!("{}: {what}", row.name));
        let lines: Vec<&str> = self.output.lines().collect();
        for line in lines.iter().skip(lines.len().saturating_sub(25)) {
            screen.line(&format!("    {line}"));
        }
    }
}

/// Rows that share a package and a way of building share their test executables.
fn key(row: &Row) -> (String, bool, String) {
    (row.package.clone(), row.loom, row.test.clone())
}

/// The scratch tree and its builds.
struct Lab<'a> {
    workspace: &'a Workspace,
    scratch: Scratch,
}

impl<'a> Lab<'a> {
    fn open(workspace: &'a Workspace) -> Result<Self> {
        let tree = workspace.target().join("mutants").join("tree");
        let scratch = Scratch::sync(workspace.root(), &workspace.files()?, tree)?;
        Ok(Self { workspace, scratch })
    }

    /// Runs every named test on the unmutated tree; gives those that do not pass there, with the reason.
    fn baseline(
        &self,
        rows: &[Row],
        screen: &mut Screen,
    ) -> Result<BTreeMap<(String, bool, String), String>> {
        let mut groups: BTreeMap<(String, bool), Vec<&Row>> = BTreeMap::new();
        for row in rows {
            groups.entry((row.package.clone(), row.loom)).or_default().push(row);
        }
        let mut broken = BTreeMap::new();
        for ((package, model), rows) in groups {
            screen.status(&format!("building the tests of {package}"));
            let Built::Tests(binaries) = harness::build(&mut self.cargo(&package, model), screen)? else {
                bail!("the tests of {package} do not compile on the unmutated tree (see above)");
            };
            for row in rows {
                if broken.contains_key(&key(row)) {
                    continue;
                }
                screen.status(&format!("{package} {}", row.test));
                let run = run_in(&binaries, row)?;
                let why = match run.outcome {
                    Outcome::Passed => continue,
                    Outcome::Missing => format!("{package} has no test {:?}: give its full path", row.test),
                    Outcome::Failed => format!("{} fails on the unmutated tree:\n{}", row.test, run.output),
                    Outcome::TimedOut => format!("{} hangs on the unmutated tree", row.test),
                };
                broken.insert(key(row), why);
            }
        }
        screen.clear();
        Ok(broken)
    }

    /// Breaks the tree as the row says, runs its test, and mends the tree.
    fn judge(&self, row: &Row) -> Result<(Verdict, String)> {
        let whole = match self.scratch.read(&row.file) {
            Ok(text) => text,
            Err(error) => return Ok((Verdict::Broken(format!("{error:#}")), String::new())),
        };
        let mutated = match row.apply(&whole) {
            Ok(text) => text,
            Err(error) => return Ok((Verdict::Broken(format!("{error:#}")), String::new())),
        };
        self.scratch.write(&row.file, &mutated)?;
        let judged = self.test_mutated(row);
        self.scratch.write(&row.file, &whole)?;
        judged
    }

    fn test_mutated(&self, row: &Row) -> Result<(Verdict, String)> {
        let binaries = match harness::build(&mut self.cargo(&row.package, row.loom), &mut Screen::silent())? {
            Built::Tests(binaries) => binaries,
            Built::Broken(said) => {
                return Ok((Verdict::Broken("the mutated tree does not compile".to_owned()), said));
            }
        };
        let run = run_in(&binaries, row)?;
        let verdict = match run.outcome {
            Outcome::Failed if run.output.contains(&row.message) => Verdict::Killed,
            Outcome::Failed => Verdict::WrongMessage,
            Outcome::Passed => Verdict::Survived,
            Outcome::TimedOut => Verdict::TimedOut,
            Outcome::Missing => Verdict::Broken("the mutation removed the test".to_owned()),
        };
        Ok((verdict, run.output))
    }

    fn cargo(&self, package: &str, model: bool) -> Command {
        let target = |name: &str| self.workspace.target().join("mutants").join(name);
        let root: &Path = self.scratch.root();
        let mut command = if model {
            loom::cargo_test(root, &target("loom"))
        } else {
            let mut command = cargo::command(root);
            command.args(["test", "--tests", "--all-features"]).env("CARGO_TARGET_DIR", target("plain"));
            command
        };
        // A mutant changes one line: an incremental build takes a quarter of the time.
        command.args(["-p", package]).env("CARGO_INCREMENTAL", "1");
        command
    }
}

/// Runs the test of the row in the executable that has it.
fn run_in(binaries: &[TestBinary], row: &Row) -> Result<TestRun> {
    // The row names what it waits for; a backtrace only costs time.
    let env = [loom::env(loom::BOUND), ("RUST_BACKTRACE", "0".to_owned())];
    let mut missing = TestRun { outcome: Outcome::Missing, output: String::new(), time: Duration::ZERO };
    for binary in binaries {
        let run = binary.run(&row.test, LIMIT, &env)?;
        if run.outcome != Outcome::Missing {
            return Ok(run);
        }
        missing = run;
    }
    Ok(missing)
}
