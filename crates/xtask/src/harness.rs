//! Test executables, and single tests in processes of their own: aborts and hangs stay isolated, and a time limit kills
//! one test, not the run. Works without nextest.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use cargo_metadata::Message;

use crate::process;
use crate::screen::Screen;

/// An executable that holds tests.
#[derive(Clone, Debug)]
pub(crate) struct TestBinary {
    pub(crate) package: String,
    pub(crate) executable: PathBuf,
    /// The folder of its package, where its tests run.
    pub(crate) folder: PathBuf,
}

/// What became of one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Failed,
    TimedOut,
    /// The executable has no test of this name.
    Missing,
}

pub(crate) struct TestRun {
    pub(crate) outcome: Outcome,
    pub(crate) output: String,
    pub(crate) time: Duration,
}

/// What a build gave.
pub(crate) enum Built {
    Tests(Vec<TestBinary>),
    /// It does not compile; what cargo said.
    Broken(String),
}

/// Builds the tests that `cargo` names (`cargo test ..`, without running them), with progress on the screen.
pub(crate) fn build(cargo: &mut Command, screen: &mut Screen) -> Result<Built> {
    cargo.args(["--no-run", "--message-format", "json-render-diagnostics"]);
    let finished = process::stream(cargo, screen)?;
    if !finished.ok {
        let said = finished.all.lines().filter(|line| !line.starts_with("{\"reason\":"));
        return Ok(Built::Broken(said.collect::<Vec<_>>().join("\n")));
    }
    let mut binaries = Vec::new();
    for message in Message::parse_stream(finished.stdout.as_bytes()) {
        let Message::CompilerArtifact(artifact) = message? else { continue };
        if let Some(executable) = artifact.executable
            && artifact.profile.test
        {
            let folder =
                artifact.manifest_path.parent().map_or_else(PathBuf::new, |f| f.as_std_path().to_owned());
            binaries.push(TestBinary {
                package: package_name(&artifact.package_id.repr).to_owned(),
                executable: executable.into_std_path_buf(),
                folder,
            });
        }
    }
    Ok(Built::Tests(binaries))
}

/// The name in a package id: `path+file:///x/crates/core#tidegate-core@0.1.0`, or `..crates/xtask#0.1.0` where the
/// folder has the name.
fn package_name(id: &str) -> &str {
    let (path, fragment) = id.rsplit_once('#').unwrap_or(("", id));
    match fragment.split_once('@') {
        Some((name, _)) => name,
        None => Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(fragment),
    }
}

impl TestBinary {
    /// The names of its tests.
    pub(crate) fn tests(&self) -> Result<Vec<String>> {
        let listed = process::limited(self.command().arg("--list"), Duration::from_secs(60))?;
        Ok(listed_tests(&listed.output))
    }

    /// Runs one test, for at most `limit`.
    pub(crate) fn run(&self, test: &str, limit: Duration, env: &[(&str, String)]) -> Result<TestRun> {
        let mut command = self.command();
        command.args([test, "--exact", "--nocapture"]).envs(env.iter().map(|(name, value)| (*name, value)));
        let limited = process::limited(&mut command, limit)?;
        let outcome = match limited.status {
            None => Outcome::TimedOut,
            Some(status) if !status.success() => Outcome::Failed,
            Some(_) if limited.output.contains("running 0 tests") => Outcome::Missing,
            Some(_) => Outcome::Passed,
        };
        Ok(TestRun { outcome, output: limited.output, time: limited.time })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

/// The tests in what `--list` prints: `a::b: test`.
pub(crate) fn listed_tests(output: &str) -> Vec<String> {
    output.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

/// Whether the test lives in a module `module`, at any depth.
pub(crate) fn is_in(test: &str, module: &str) -> bool {
    test.rsplit("::").skip(1).any(|part| part == module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_id_gives_its_name() {
        assert_eq!(package_name("path+file:///x/crates/core#tidegate-core@0.1.0"), "tidegate-core");
        assert_eq!(package_name("path+file:///x/crates/xtask#0.1.0"), "xtask");
    }

    #[test]
    fn only_tests_are_listed() {
        let output = "a::b: test\nc: benchmark\n\n2 tests, 1 benchmark\n";
        assert_eq!(listed_tests(output), ["a::b"]);
    }

    #[test]
    fn a_module_counts_at_any_depth_but_a_test_name_does_not() {
        assert!(is_in("models::cg1_a", "models"));
        assert!(is_in("word::models::deep::cg1_a", "models"));
        assert!(!is_in("word::models", "models"));
        assert!(!is_in("supermodels::a", "models"));
    }
}
