//! The 429 storm: 1000 papers, twelve tasks, one server that says "slow down", and the ways to obey.
//!
//! Every run is a simulation: a model of a server from `tidegate-servers`, a client strategy, tokio's clock, paused. It
//! takes milliseconds, and the same seed gives the same run to the last event.
//!
//! Ground: `service` (a server as clients see it, with its counters), `crew` (tasks that work through the papers),
//! `stats`. On it: `strategy` (one file each), `run` (one simulation), `plan` (which ones, on how many threads), `rows`
//! (what comes of them), `table`, `plot`.
//!
//! What it measures, and how each strategy is made fair, is in `docs/benchmarks/README.md`.

mod args;
mod crew;
mod plan;
mod plot;
mod rows;
mod run;
mod service;
mod stats;
mod strategy;
mod table;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use args::Args;
use rows::Row;
use strategy::Suite;

/// Of random servers, so many for each strategy are shown.
const WORST: usize = 5;

fn main() -> ExitCode {
    match storm(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // Who reads our output, such as `head`, has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // With standard error closed there is nobody to tell.
            drop(writeln!(std::io::stderr(), "error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

fn storm(args: &Args) -> Result<()> {
    let plan = plan::Plan::of(args)?;
    let mut out = std::io::stdout().lock();
    if args.trace {
        for line in plan.trace()? {
            writeln!(out, "{line}")?;
        }
        return Ok(());
    }
    let rows = rows::rows(&plan, &plan.run()?);
    let random = args.random.is_some() || args.suite != Suite::Storm;
    let table = if args.random.is_some() { table::worst(&rows, WORST) } else { table::results(&rows) };
    writeln!(out, "{table}\n\n{}\n\n{}", table::summary(&rows, &plan.subjects, random), table::NOTE)?;
    if let Some(path) = &args.json {
        write_json(path, &rows).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &args.plot {
        std::fs::write(path, plot::svg(&rows)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn write_json(path: &Path, rows: &[Row]) -> Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    serde_json::to_writer_pretty(&mut file, rows)?;
    writeln!(file)?;
    file.flush()?;
    Ok(())
}
