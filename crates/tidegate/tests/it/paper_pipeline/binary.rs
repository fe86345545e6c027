//! Finds the example's executable, and builds it where cargo did not: `cargo test --examples` makes test harnesses only.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// The executable of the example, built from the sources as they are.
pub(super) fn path() -> PathBuf {
    // .../<profile>/deps/it-0123456789abcdef
    let this = env::current_exe().unwrap();
    let profile = this.parent().and_then(Path::parent).unwrap();
    let path = profile.join("examples").join(format!("paper_pipeline{}", env::consts::EXE_SUFFIX));
    if !is_fresh(&path) {
        build(profile);
    }
    path
}

/// Whether it was built after the last change of the workspace's sources.
fn is_fresh(path: &Path) -> bool {
    let built = fs::metadata(path).and_then(|metadata| metadata.modified());
    built.is_ok_and(|built| built >= newest(&crates()))
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// When a file that the example is built from was changed last.
fn newest(folder: &Path) -> SystemTime {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let times = entries.filter_map(|entry| {
        let path = entry.path();
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if path.is_dir() {
            return (!matches!(name, "tests" | "xtask" | "target")).then(|| newest(&path));
        }
        let matters = name == "Cargo.toml" || path.extension() == Some(OsStr::new("rs"));
        matters.then(|| entry.metadata().and_then(|metadata| metadata.modified()).unwrap())
    });
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

fn build(profile: &Path) {
    let name = match profile.file_name().and_then(OsStr::to_str).unwrap() {
        "debug" => "dev",
        name => name,
    };
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Cargo's own variables of this test would make it rebuild what reads them.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_")
            || text.starts_with("CARGO_MANIFEST_")
            || text.starts_with("CARGO_BIN_")
        {
            cargo.env_remove(&name);
        }
    }
    // The whole workspace's features, as the tests had them: then the dependencies are there already.
    cargo.args([
        "build",
        "--quiet",
        "--workspace",
        "--all-features",
        "--example",
        "paper_pipeline",
        "--profile",
        name,
    ]);
    cargo.arg("--target-dir").arg(profile.parent().unwrap()).current_dir(crates());
    assert!(cargo.status().unwrap().success(), "the example does not build");
}
