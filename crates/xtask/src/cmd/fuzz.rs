//! `cargo x fuzz`: every target of `fuzz/` for its share of the time.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::cargo;
use crate::process;
use crate::screen::Screen;
use crate::table::Table;
use crate::tally::Tally;
use crate::workspace::Workspace;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo x fuzz --seconds 60                a minute, shared by all targets
  cargo x fuzz --seconds 600 retry_hint    ten minutes for one target

Needs a nightly toolchain; installs cargo-fuzz when it is missing. Starts from fuzz/seeds; what it finds
stays in fuzz/artifacts.")]
pub(crate) struct Args {
    /// How long to fuzz in all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Only this target
    target: Option<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args, screen: &mut Screen) -> Result<bool> {
    let root = workspace.root();
    let manifest = root.join("fuzz").join("Cargo.toml");
    let text =
        std::fs::read_to_string(&manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
    let all = targets(&text).context("fuzz/Cargo.toml is not as it should be")?;
    let chosen: Vec<&String> =
        all.iter().filter(|name| args.target.as_ref().is_none_or(|t| t == *name)).collect();
    let asked = args.target.as_deref().unwrap_or_default();
    ensure!(!chosen.is_empty(), "no fuzz target is called {asked}; there are: {}", all.join(", "));
    ensure_tools(root, screen)?;

    let share = share(args.seconds, chosen.len());
    let mut table = Table::new(["target", "executions", "new units", "coverage", "verdict"]);
    let mut tally = Tally::default();
    for target in chosen {
        screen.header(&format!("{target} for {share} s"));
        let mut command = cargo::nightly(root);
        command.args(["fuzz", "run", target]).args(inputs(root, target)?);
        command.args(["--", "-print_final_stats=1"]).arg(format!("-max_total_time={share}"));
        let finished = process::watch(&mut command, screen)?;
        let stats = Stats::read(&finished.all);
        let good = finished.ok && stats.executions.is_some_and(|n| n > 0);
        if !good {
            screen.failure(&format!("{target} failed; the end of what it said:"));
            screen.lines(last_lines(&finished.all, 40));
        }
        tally += Tally::one(good);
        let number = |n: Option<u64>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
        table.row([
            target.clone(),
            number(stats.executions),
            number(stats.new_units),
            number(stats.coverage),
            if good { "nothing found" } else { "FAILED" }.to_owned(),
        ]);
    }
    screen.header("summary");
    screen.lines(&table.render());
    screen.line("");
    screen.line(&tally.to_string());
    Ok(tally.good())
}

fn last_lines(text: &str, count: usize) -> &str {
    let start = text.rmatch_indices('\n').nth(count).map_or(0, |(at, _)| at + 1);
    &text[start..]
}

/// Where inputs come from: the corpus, which grows, and the seeds of the repository, where there are any.
fn inputs(root: &Path, target: &str) -> Result<Vec<PathBuf>> {
    let corpus = root.join("fuzz").join("corpus").join(target);
    std::fs::create_dir_all(&corpus).with_context(|| format!("cannot create {}", corpus.display()))?;
    let seeds = root.join("fuzz").join("seeds").join(target);
    Ok(if seeds.is_dir() { vec![corpus, seeds] } else { vec![corpus] })
}

/// The seconds of each of `targets`, at least one.
fn share(seconds: u64, targets: usize) -> u64 {
    let targets = u64::try_from(targets).unwrap_or(u64::MAX);
    seconds.checked_div(targets).unwrap_or(seconds).max(1)
}

fn ensure_tools(root: &Path, screen: &mut Screen) -> Result<()> {
    if !cargo::succeeds(cargo::nightly(root).arg("--version")) {
        bail!("fuzzing needs a nightly toolchain: rustup toolchain install nightly --profile minimal");
    }
    if cargo::has(root, "fuzz") {
        return Ok(());
    }
    screen.header("cargo-fuzz is missing: installing it (once, about a minute)");
    let mut install: Command = cargo::command(root);
    install.args(["install", "cargo-fuzz", "--locked"]);
    let installed = process::stream(&mut install, screen)?.ok;
    ensure!(
        installed,
        "cannot install cargo-fuzz (see above): do it by hand, `cargo install cargo-fuzz --locked`"
    );
    Ok(())
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    bin: Vec<Bin>,
}

#[derive(Deserialize)]
struct Bin {
    name: String,
}

fn targets(manifest: &str) -> Result<Vec<String>> {
    let manifest: Manifest = toml::from_str(manifest)?;
    ensure!(!manifest.bin.is_empty(), "it has no [[bin]]: there is nothing to fuzz");
    Ok(manifest.bin.into_iter().map(|bin| bin.name).collect())
}

/// What libFuzzer says at the end.
#[derive(Debug, Default, PartialEq, Eq)]
struct Stats {
    executions: Option<u64>,
    new_units: Option<u64>,
    coverage: Option<u64>,
}

impl Stats {
    fn read(output: &str) -> Self {
        let after = |key: &str| {
            let (_, rest) = output.rsplit_once(key)?;
            rest.split_whitespace().next()?.parse().ok()
        };
        Self {
            executions: after("stat::number_of_executed_units:"),
            new_units: after("stat::new_units_added:"),
            coverage: after(" cov: "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_the_binaries() {
        assert_eq!(
            targets("[[bin]]\nname = \"a\"\n[[bin]]\nname = \"b\"\npath = \"b.rs\"\n").unwrap(),
            ["a", "b"]
        );
        assert!(targets("[package]\nname = \"x\"\n").is_err());
    }

    #[test]
    fn the_last_lines_are_taken() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc\n");
        assert_eq!(last_lines("a\n", 2), "a\n");
    }

    #[test]
    fn every_target_gets_its_share_and_at_least_a_second() {
        assert_eq!((share(60, 3), share(2, 5), share(7, 1)), (20, 1, 7));
    }

    #[test]
    fn the_final_statistics_are_read() {
        let output = "#2 INITED cov: 10 ft: 11\n#512 DONE   cov: 57 ft: 96 corp: 15\nDone 512 runs\n\
                      stat::number_of_executed_units: 512\nstat::new_units_added:          14\n";
        let stats = Stats { executions: Some(512), new_units: Some(14), coverage: Some(57) };
        assert_eq!(Stats::read(output), stats);
        assert_eq!(Stats::read("error: could not compile"), Stats::default());
    }
}
