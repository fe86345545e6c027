//! `cargo x bench`: the primitives and their peers side by side, in `crates/bench`, which is a workspace of its own.

use std::ffi::OsString;

use anyhow::{Context, Result, ensure};

use crate::cargo;
use crate::workspace::Workspace;

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// Passed on; `cargo x bench --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Builds and runs it on our terminal, for it shows its own progress.
pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<bool> {
    let root = workspace.root();
    let manifest = root.join("crates/bench/Cargo.toml");
    ensure!(manifest.is_file(), "there is no {}: is this a whole checkout?", manifest.display());
    let mut command = cargo::bench(root, "perf");
    // A path on the command line is meant from where the user is.
    command.current_dir(std::env::current_dir().context("the current directory is gone")?);
    let status = command.args(&args.arguments).status().context("cannot start cargo")?;
    Ok(status.success())
}
