//! The commands of the repository. `cargo x --help` lists them; each file under `cmd` is one.
//!
//! Ground: `workspace` (what there is), `process` (run a child), `cargo` (child cargos), `screen` and `table` (talk to
//! the user), `tally` (count results). On it: `harness` (test executables, one process per test), `pg` (a Postgres
//! server of our own), `tidy` (source checks).
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its user")]

mod cargo;
mod cmd;
mod harness;
mod pg;
mod process;
mod screen;
mod table;
mod tally;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::screen::Screen;
use crate::workspace::Workspace;

const EXAMPLES: &str = "\
Examples:
  cargo x test                          everything that must hold
  cargo x test -p core --no-postgres    one crate, without a database
  cargo x loom cg1                      the models whose name contains cg1
  cargo x mutants gate                  the mutants whose name contains gate
  cargo x fuzz --seconds 60             a minute of fuzzing, shared by all targets
  cargo x bench --quick --only gate     the gate and its peers, in about ten seconds
  cargo x storm --seeds 5               the 429 storm: servers by strategies, simulated

Each command that checks ends with a table, then with one line `N passed, N failed`; it exits with 0 only if all
passed.";

/// The commands of the tidegate repository.
#[derive(Parser)]
#[command(name = "cargo x", bin_name = "cargo x", after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run everything that must hold: tests, doc tests, models, each crate alone, Postgres
    Test(cmd::test::Args),
    /// Explore the models: every interleaving up to a bound
    Loom(cmd::loom::Args),
    /// Break the sources on purpose: every mutant must be killed by its test
    Mutants(cmd::mutants::Args),
    /// Check the sources: layers, guarantees, sizes, orderings, links, formatting
    Tidy,
    /// Fuzz the targets of `fuzz/` for a while (needs a nightly toolchain)
    Fuzz(cmd::fuzz::Args),
    /// Measure the primitives and their peers side by side: what each costs, as a multiple of a floor
    Bench(cmd::bench::Args),
    /// Simulate the 429 storm: time / ideal of each strategy on each server
    Storm(cmd::storm::Args),
    /// Run what every change must pass: tidy, clippy, docs, fuzz targets, benches, mutants, then test
    Ci(cmd::ci::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut screen = Screen::new();
    match run(&cli.command, &mut screen) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            screen.error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Whether all passed.
fn run(command: &Command, screen: &mut Screen) -> anyhow::Result<bool> {
    let workspace = Workspace::here()?;
    match command {
        Command::Test(args) => cmd::test::run(&workspace, args, screen),
        Command::Loom(args) => cmd::loom::run(&workspace, args, screen),
        Command::Mutants(args) => cmd::mutants::run(&workspace, args, screen),
        Command::Tidy => cmd::tidy::run(&workspace, screen),
        Command::Fuzz(args) => cmd::fuzz::run(&workspace, args, screen),
        Command::Bench(args) => cmd::bench::run(&workspace, args),
        Command::Storm(args) => cmd::storm::run(&workspace, args),
        Command::Ci(args) => cmd::ci::run(&workspace, args, screen),
    }
}
