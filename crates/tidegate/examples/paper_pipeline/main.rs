//! The paper pipeline: fetch a thousand papers, ask a language model about each, and keep the answers, while both
//! services say "slow down" whenever they like.
//!
//! ```text
//! cargo run --release --example paper_pipeline -- --help
//! ```
//!
//! # Where to look
//! | file | what |
//! |---|---|
//! | `strategy/tidegate.rs` | how one service is called through this library; `naive.rs` and `article.rs` for comparison |
//! | `stages.rs`, `errand.rs` | the pipeline: stages, error records, rounds over what was throttled |
//! | `run.rs` | one run from the command line to the report: signals, database, resuming |
//! | `judge.rs`, `http.rs`, `meter.rs`, `reach.rs`, `caller.rs` | what an answer means, and one call with everything around it |
//! | `store.rs` | the database, and what goes through the single writer |
//! | `page.rs`, `llm.rs`, `papers.rs` | what is read, asked and answered |
//! | `args.rs`, `settings.rs` | command line and environment |
//! | `progress.rs`, `report.rs` | what is shown |
//! | `servers/` | the two services that say "slow down" |

mod args;
mod caller;
mod errand;
mod http;
mod judge;
mod llm;
mod meter;
mod page;
mod papers;
mod progress;
mod reach;
mod report;
mod run;
mod servers;
mod settings;
mod stages;
mod store;
mod strategy;

use std::io::{Write as _, stderr, stdout};
use std::process::ExitCode;

use clap::Parser;

use args::Args;
use report::Report;
use settings::Settings;

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let settings = match Settings::read(std::env::vars_os()) {
        Ok(settings) => settings,
        Err(error) => return fail(&error.to_string(), 2),
    };
    match run::run(&args, settings).await {
        Ok(report) => finish(&args, &report),
        Err(error) => fail(&format!("{error:#}"), 1),
    }
}

fn finish(args: &Args, report: &Report) -> ExitCode {
    let text = if args.json { report.json().to_string() } else { report.text() };
    if writeln!(stdout(), "{text}").is_err() {
        return fail("the report could not be written to standard output", 1);
    }
    match report.problem() {
        Some(problem) => fail(&problem, if report.interrupted { 130 } else { 1 }),
        None => ExitCode::SUCCESS,
    }
}

fn fail(problem: &str, code: u8) -> ExitCode {
    // If standard error is closed, too, the exit status must do.
    let _ = writeln!(stderr(), "error: {problem}");
    ExitCode::from(code)
}
