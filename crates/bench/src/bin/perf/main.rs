//! Peers side by side: what the primitives cost, against a floor and against what else one could use.
//!
//! Ground: `contest` (suites, cases, contestants), `team` (threads that start together and know whether they were
//! preempted). On it: `harness` (rounds), `report` (table, JSON), and a file per suite.
//!
//! How it measures, and what its numbers mean, is in `docs/benchmarks/method.md`.

mod contest;
mod gate;
mod gate_map;
mod harness;
mod report;
mod semaphore;
mod team;

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Error, Result, ensure};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};

use contest::{Case, Suite};
use harness::Effort;
use report::Row;

/// Every suite, in the order of the layers. A new one is a file with its `SUITE`, and a line here.
const SUITES: [Suite; 3] = [gate::SUITE, gate_map::SUITE, semaphore::SUITE];

const QUICK: Effort = Effort {
    batch: Duration::from_micros(50),
    rounds: 1_001,
    time: Duration::from_millis(1_200),
    least: 31,
    tries: 3_000,
};
const WHOLE: Effort = Effort {
    batch: Duration::from_micros(100),
    rounds: 5_001,
    time: Duration::from_secs(10),
    least: 101,
    tries: 20_000,
};

/// Peers side by side: what each primitive costs, against a floor and against what else one could use.
#[derive(Parser)]
#[command(
    name = "cargo x bench",
    bin_name = "cargo x bench",
    after_help = "\
Examples:
  cargo x bench                                 every suite
  cargo x bench --quick --only gate             one suite, in about ten seconds
  cargo x bench --only gate 'check open'        the cases whose name contains `check open`
  cargo x bench --quick --json bench.json       the rows also as JSON

Every contestant runs in every round, in a rotated order; a round in which a thread was preempted does not count.
`x floor` is the median, over the rounds, of the contestant's time by the floor's (the first of each case) in the
same round. More: docs/benchmarks/method.md."
)]
struct Args {
    /// Fewer and shorter rounds: about ten seconds a suite
    #[arg(long)]
    quick: bool,
    /// Only this suite (may be given several times)
    #[arg(long, value_name = "SUITE")]
    only: Vec<String>,
    /// Also write the rows to this file, as a JSON array
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Only the cases whose name contains this
    case: Option<String>,
}

fn main() -> ExitCode {
    match perf(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // With standard error closed there is nobody to tell.
            drop(writeln!(std::io::stderr(), "error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn perf(args: &Args) -> Result<()> {
    team::preemptions()
        .context("only rounds without preemption count, but nothing tells of preemptions here")?;
    let chosen = chosen(args)?;
    // Opened before anything is measured: a path that cannot be written should not cost a run.
    let open =
        |path: &PathBuf| File::create(path).with_context(|| format!("cannot write {}", path.display()));
    let json = args.json.as_ref().map(open).transpose()?;
    let effort = if args.quick { QUICK } else { WHOLE };
    let (rows, failure) = run(&chosen, &effort)?;
    let table = writeln!(std::io::stdout(), "{}", report::table(&rows));
    // Who reads our output, such as `head`, may have seen enough.
    table.or_else(|error| if error.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })?;
    if let Some(file) = json {
        report::json(&rows, BufWriter::new(file)).context("cannot write the rows")?;
    }
    failure.map_or(Ok(()), Err)
}

/// Every case with every number of threads. One that cannot be measured does not stop the others: the first such failure
/// comes back with the rows.
fn run(chosen: &[(&'static str, Case)], effort: &Effort) -> Result<(Vec<Row>, Option<Error>)> {
    let runs = chosen.iter().flat_map(|(suite, case)| case.threads.iter().map(move |t| (*suite, case, *t)));
    let progress = progress(runs.clone().count() * effort.rounds)?;
    let mut rows = Vec::new();
    let mut failure = None;
    for (n, (suite, case, threads)) in runs.enumerate() {
        progress.set_position(u64::try_from(n * effort.rounds)?);
        progress.set_message(format!("{suite}: {}, threads: {threads}", case.name));
        match harness::measure(case, threads, effort, &progress) {
            Ok(outcome) => rows.extend(report::rows(suite, case, threads, &outcome)),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    progress.finish_and_clear();
    Ok((rows, failure))
}

/// The cases that were asked for, each with the name of its suite.
fn chosen(args: &Args) -> Result<Vec<(&'static str, Case)>> {
    let names: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
    for asked in &args.only {
        ensure!(
            names.contains(&asked.as_str()),
            "no suite is called {asked:?}; there are: {}",
            names.join(", ")
        );
    }
    let suites =
        SUITES.iter().filter(|suite| args.only.is_empty() || args.only.iter().any(|o| o == suite.name));
    let cases: Vec<_> =
        suites.flat_map(|suite| (suite.cases)().into_iter().map(|case| (suite.name, case))).collect();
    let names: Vec<&str> = cases.iter().map(|(_, case)| case.name).collect();
    let names = names.join(", ");
    let wanted = args.case.as_deref().unwrap_or_default();
    let cases: Vec<_> = cases.into_iter().filter(|(_, case)| case.name.contains(wanted)).collect();
    ensure!(!cases.is_empty(), "no case has {wanted:?} in its name; there are: {names}");
    Ok(cases)
}

/// On standard error, and only if that is a terminal.
fn progress(rounds: usize) -> Result<ProgressBar> {
    let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {elapsed}  {msg}")?;
    Ok(ProgressBar::new(u64::try_from(rounds)?).with_style(style))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(args: &[&str]) -> Result<Vec<&'static str>> {
        let args = Args::try_parse_from([&["perf"], args].concat())?;
        Ok(chosen(&args)?.into_iter().map(|(_, case)| case.name).collect())
    }

    #[test]
    fn suites_and_cases_can_be_chosen() {
        assert!(names(&[]).unwrap().contains(&"check open"));
        assert_eq!(names(&["--only", "gate", "check"]).unwrap(), ["check open"]);
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_right_ones() {
        let suite = names(&["--only", "gaet"]).unwrap_err().to_string();
        assert!(suite.contains("\"gaet\"; there are: gate"), "{suite}");
        let case = names(&["chekc"]).unwrap_err().to_string();
        assert!(case.contains("\"chekc\"") && case.contains("check open, pass"), "{case}");
    }

    #[test]
    fn every_contestant_does_its_work() {
        for case in SUITES.iter().flat_map(|suite| (suite.cases)()) {
            for contestant in &case.contestants {
                contestant.run(3);
            }
        }
    }
}
