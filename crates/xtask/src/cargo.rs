//! Child cargos: a clean environment, colours only on a terminal, and what is installed.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::screen;

/// What the outer `cargo run` left in our environment. Build scripts that watch these would run again at every switch
/// between `cargo x` and plain cargo, and rebuild everything above them.
pub(crate) fn inherited() -> Vec<OsString> {
    let ours = |name: &str| {
        name.starts_with("CARGO_PKG_") || matches!(name, "CARGO_MANIFEST_DIR" | "CARGO_MANIFEST_PATH")
    };
    std::env::vars_os().map(|(name, _)| name).filter(|name| name.to_str().is_some_and(ours)).collect()
}

/// A `cargo` that runs in `root`, with the toolchain that runs us.
pub(crate) fn command(root: &Path) -> Command {
    clean(Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())), root)
}

/// A `cargo +nightly` that runs in `root`.
pub(crate) fn nightly(root: &Path) -> Command {
    let mut command = clean(Command::new("cargo"), root);
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("LD_LIBRARY_PATH").arg("+nightly");
    command
}

/// A `cargo run` of a binary of `crates/bench`, a workspace of its own; what follows is for the binary.
pub(crate) fn bench(root: &Path, binary: &str) -> Command {
    let mut command = command(root);
    command.args(["run", "--release", "--manifest-path"]).arg(root.join("crates/bench/Cargo.toml"));
    command.args(["--bin", binary, "--"]);
    command
}

fn clean(mut command: Command, root: &Path) -> Command {
    for name in inherited() {
        command.env_remove(name);
    }
    command.env("CARGO_TERM_COLOR", if screen::colours() { "always" } else { "never" });
    command.current_dir(root).stdin(Stdio::null());
    command
}

/// Whether `cargo NAME` exists for the toolchain that runs us.
pub(crate) fn has(root: &Path, subcommand: &str) -> bool {
    succeeds(command(root).args([subcommand, "--version"]))
}

/// Whether the command can be run at all and exits with 0. Its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}
