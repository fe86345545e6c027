//! The command line.

use std::path::PathBuf;

use clap::Parser;
use clap::builder::RangedU64ValueParser;

use crate::strategy::{Strategy, Suite};

/// The 429 storm: many tasks, a server that says "slow down", and the ways to obey, simulated.
///
/// Each run sends papers to one model of a server until all are done, on a paused clock; its figure is the time it took
/// by the time of an ideal client who knows the server. Runs are deterministic: the same options give the same results.
#[derive(Debug, Parser)]
#[command(
    name = "cargo x storm",
    bin_name = "cargo x storm",
    after_help = "\
Examples:
  cargo x storm                                        all servers, all strategies, 20 seeds
  cargo x storm --server A1,C2 --strategy tidegate     two servers, one strategy
  cargo x storm --json storm.json --plot storm.svg     for the documentation
  cargo x storm --random 100 --rng 7                   a hundred servers drawn with seed 7
  cargo x storm --suite semaphore                      services whose capacity is to be found
  cargo x storm --server D1 --strategy tidegate --trace
                                                       every event of one run
  cargo x storm --random 100 --rng 7 --server R017 --strategy tidegate --trace
                                                       the same for one of the hundred

What servers, strategies and columns are: docs/benchmarks/README.md."
)]
pub(crate) struct Args {
    /// What is measured
    #[arg(long, value_name = "SUITE", value_enum, default_value_t)]
    pub(crate) suite: Suite,
    /// Runs of each strategy on each server [default: 20; with --random 1]
    #[arg(long, value_name = "N", value_parser = up_to(10_000))]
    pub(crate) seeds: Option<usize>,
    /// Seed of the first run; with --random also of the draw of the servers
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) rng: u64,
    /// Only these servers: A1 to G, or of random ones R001 and so on, or of the suite semaphore steps and so on
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) server: Vec<String>,
    /// Only these strategies
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    pub(crate) strategy: Vec<Strategy>,
    /// Draw N servers of mixed kinds instead of those with a name
    #[arg(long, value_name = "N", value_parser = up_to(10_000), conflicts_with = "suite")]
    pub(crate) random: Option<usize>,
    /// Tasks that send (article and throttle have their own number) [default: 12; of the suite semaphore 64]
    #[arg(long, value_name = "N", value_parser = up_to(10_000))]
    pub(crate) tasks: Option<usize>,
    /// Papers to do
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = up_to(1_000_000))]
    pub(crate) papers: usize,
    /// Threads to run on; results do not depend on it [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = up_to(1_000))]
    pub(crate) threads: Option<usize>,
    /// Write the rows to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Draw time / ideal on each server into this file, as SVG
    #[arg(long, value_name = "FILE", conflicts_with_all = ["random", "suite"])]
    pub(crate) plot: Option<PathBuf>,
    /// Print every event of the first run of the first server with the first strategy instead
    #[arg(long)]
    pub(crate) trace: bool,
}

/// From one to so many.
fn up_to(most: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=most)
}
