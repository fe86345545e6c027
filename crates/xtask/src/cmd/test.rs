//! `cargo x test`: everything that must hold, in phases, with one line of counts at the end.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use cargo_metadata::Package;

use crate::cargo;
use crate::cmd::loom;
use crate::harness::{self, Built, is_in};
use crate::pg::Server;
use crate::process;
use crate::screen::Screen;
use crate::table::Table;
use crate::tally::{self, Tally};
use crate::workspace::{Workspace, is_library};

/// The phase whose results are builds, not tests.
const ALONE: &str = "each crate alone";

#[derive(Default, clap::Args)]
#[command(after_help = "\
Examples:
  cargo x test                                 everything
  cargo x test -p abort-signal                 one crate
  cargo x test --no-loom --no-postgres         the quick part
  TIDEGATE_PG_URL=postgresql://me@db/scratch cargo x test

The Postgres tests run against a private server that is started for them and vanishes afterwards; with
TIDEGATE_PG_URL they use yours. With cargo-nextest every test has a process of its own; without it,
plain cargo runs them.")]
pub(crate) struct Args {
    /// Count the Postgres tests as skipped
    #[arg(long)]
    no_postgres: bool,
    /// Count the models as skipped (they still run once each, as plain unit tests)
    #[arg(long)]
    no_loom: bool,
    /// Only this package, may be repeated (the prefix `tidegate-` may be left out)
    #[arg(short, long, value_name = "PKG")]
    package: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args, screen: &mut Screen) -> Result<bool> {
    let mut suite = Suite {
        workspace,
        packages: workspace.select(&args.package)?,
        whole: args.package.is_empty(),
        nextest: cargo::has(workspace.root(), "nextest"),
        screen,
        phases: Vec::new(),
        models: 0,
        postgres: 0,
        server: None,
    };
    // What stopped the suite is said and counted already.
    let _ = suite.run(args);
    Ok(suite.finish())
}

/// Which tests to run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Plain,
    Postgres,
}

struct Phase {
    name: &'static str,
    tally: Tally,
    time: Duration,
}

struct Suite<'a> {
    workspace: &'a Workspace,
    packages: Vec<&'a Package>,
    /// No package was named.
    whole: bool,
    nextest: bool,
    screen: &'a mut Screen,
    phases: Vec<Phase>,
    /// How many tests live in modules `models`.
    models: usize,
    /// How many tests live in modules `postgres`.
    postgres: usize,
    server: Option<Server>,
}

impl<'a> Suite<'a> {
    fn run(&mut self, args: &Args) -> Result<()> {
        self.phase("build", Self::build)?;
        if self.postgres > 0 && !args.no_postgres {
            self.phase("postgres server", Self::start_server)?;
        }
        self.phase("unit and integration tests", |suite| suite.tests(Part::Plain))?;
        self.phase("doc tests", Self::doc_tests)?;
        if args.no_loom {
            self.skip("models", self.models);
        } else {
            self.phase("models", Self::explore_models)?;
        }
        self.phase(ALONE, Self::crates_alone)?;
        if args.no_postgres {
            self.skip("postgres tests", self.postgres);
        } else if self.postgres > 0 {
            self.phase("postgres tests", |suite| suite.tests(Part::Postgres))?;
        }
        Ok(())
    }

    /// Runs a phase, times it and keeps its counts. A phase that cannot run counts as one failure.
    fn phase(&mut self, name: &'static str, run: impl FnOnce(&mut Self) -> Result<Tally>) -> Result<()> {
        self.screen.header(name);
        let start = Instant::now();
        let result = run(self);
        let time = start.elapsed();
        let tally = match &result {
            Ok(tally) => *tally,
            Err(error) => {
                self.screen.error(error);
                Tally::one(false)
            }
        };
        if tally.ran() > 0 {
            self.screen.line(&format!("{tally} in {:.1} s", time.as_secs_f64()));
        }
        self.phases.push(Phase { name, tally, time });
        result.map(drop)
    }

    fn skip(&mut self, name: &'static str, count: usize) {
        self.screen.header(name);
        self.screen.line(&format!("{count} skipped, as asked"));
        self.phases.push(Phase { name, tally: Tally::skipped(count), time: Duration::ZERO });
    }

    /// Builds all tests and counts those that need something special.
    fn build(&mut self) -> Result<Tally> {
        let mut command = self.cargo(&["test", "--all-features", "--tests", "--examples"]);
        let Built::Tests(binaries) = harness::build(&mut command, self.screen)? else {
            bail!("the tests do not compile (see above): nothing was run");
        };
        let mut all = 0;
        for binary in &binaries {
            let tests = binary.tests()?;
            all += tests.len();
            self.models += tests.iter().filter(|test| is_in(test, "models")).count();
            self.postgres += tests.iter().filter(|test| is_in(test, "postgres")).count();
        }
        self.screen.line(&format!("{all} tests"));
        Ok(Tally::default())
    }

    fn start_server(&mut self) -> Result<Tally> {
        self.server = Some(Server::start(self.screen)?);
        Ok(Tally::default())
    }

    fn tests(&mut self, part: Part) -> Result<Tally> {
        let mut command = if self.nextest {
            let mut command = self.cargo(&["nextest", "run", "--all-features", "--tests", "--examples"]);
            command.args(["--no-fail-fast", "--no-tests", "pass", "--final-status-level", "none", "-E"]).arg(
                match part {
                    Part::Plain => "not test(/(^|::)postgres::/)",
                    Part::Postgres => "test(/(^|::)postgres::/)",
                },
            );
            command
        } else {
            let mut command =
                self.cargo(&["test", "--all-features", "--tests", "--examples", "--no-fail-fast"]);
            command.arg("--").args(match part {
                Part::Plain => &["--skip", "postgres::"][..],
                Part::Postgres => &["postgres::"],
            });
            command
        };
        if let (Part::Postgres, Some(server)) = (part, &self.server) {
            command.env("TIDEGATE_PG_URL", server.url());
        }
        let count = if self.nextest { tally::nextest } else { |output: &str| Some(tally::libtest(output)) };
        self.count(&mut command, count)
    }

    fn doc_tests(&mut self) -> Result<Tally> {
        let libraries = self.libraries();
        if libraries.is_empty() {
            self.screen.line("no library is selected");
            return Ok(Tally::default());
        }
        let mut command = cargo::command(self.workspace.root());
        command.args(["test", "--doc", "--all-features", "--no-fail-fast"]);
        for package in libraries {
            command.args(["-p", package.name.as_str()]);
        }
        self.count(&mut command, |output| Some(tally::libtest(output)))
    }

    /// Runs a command and counts its tests. One that failed without a failed test counts as a failure too.
    fn count(&mut self, command: &mut Command, count: impl Fn(&str) -> Option<Tally>) -> Result<Tally> {
        let finished = process::stream(command, self.screen)?;
        let mut tally = count(&finished.all).unwrap_or_default();
        if !finished.ok && tally.failed == 0 {
            self.screen.failure("this phase did not come to its end (see above)");
            tally += Tally::one(false);
        }
        Ok(tally)
    }

    fn explore_models(&mut self) -> Result<Tally> {
        let packages = loom::with_models(self.packages.clone())?;
        if packages.is_empty() {
            if self.whole {
                bail!("no crate has a module `models`: nothing is proven about interleavings");
            }
            self.screen.line("no selected crate has models");
            return Ok(Tally::default());
        }
        loom::explore(self.workspace, &packages, loom::BOUND, None, self.screen)
    }

    /// Checks each library on its own: in a workspace build, features that others switch on hide missing ones.
    fn crates_alone(&mut self) -> Result<Tally> {
        let mut tally = Tally::default();
        for package in self.libraries() {
            let has_defaults = package.features.get("default").is_some_and(|features| !features.is_empty());
            let variants: &[&[&str]] = if has_defaults { &[&[], &["--no-default-features"]] } else { &[&[]] };
            for variant in variants {
                let mut command = cargo::command(self.workspace.root());
                command.args(["check", "-p", package.name.as_str()]).args(*variant);
                let finished = process::stream(&mut command, self.screen)?;
                let warned = finished.all.contains(&format!("warning: `{}` ", package.name));
                if !finished.ok || warned {
                    let problem = if warned { "warns" } else { "does not compile" };
                    self.screen.failure(&format!(
                        "cargo check -p {} {}: {problem}",
                        package.name,
                        variant.join(" ")
                    ));
                }
                tally += Tally::one(finished.ok && !warned);
            }
        }
        Ok(tally)
    }

    fn libraries(&self) -> Vec<&'a Package> {
        self.packages.iter().copied().filter(|package| is_library(package)).collect()
    }

    /// A cargo on the selected packages.
    fn cargo(&self, args: &[&str]) -> Command {
        let mut command = cargo::command(self.workspace.root());
        command.args(args);
        if self.whole {
            command.arg("--workspace");
        } else {
            for package in &self.packages {
                command.args(["-p", package.name.as_str()]);
            }
        }
        command
    }

    /// The table and the last line; whether all is well.
    fn finish(mut self) -> bool {
        if self.phases.iter().all(|phase| phase.name == ALONE || phase.tally.ran() == 0) {
            self.screen.failure("no test ran");
            self.phases.push(Phase { name: "no test ran", tally: Tally::one(false), time: Duration::ZERO });
        }
        let mut total = Tally::default();
        let mut table = Table::new(["phase", "passed", "failed", "skipped", "time"]);
        for Phase { name, tally, time } in &self.phases {
            total += *tally;
            table.row([
                (*name).to_owned(),
                tally.passed.to_string(),
                tally.failed.to_string(),
                tally.skipped.to_string(),
                format!("{:.1} s", time.as_secs_f64()),
            ]);
        }
        // The server goes before the last line.
        drop(self.server.take());
        self.screen.header("summary");
        self.screen.lines(&table.render());
        self.screen.line("");
        self.screen.line(&total.to_string());
        total.good()
    }
}
