//! The paper pipeline as its users run it: a process, its output, its exit status, and the file it leaves.

mod bad_input;
mod binary;
mod lists;
mod runs;
mod stops;

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// A run about to start, with a folder of its own for its database.
struct Run {
    command: Command,
    folder: TempDir,
}

/// What a run has left.
struct Ran {
    stdout: String,
    stderr: String,
    code: Option<i32>,
    folder: TempDir,
}

impl Run {
    /// With these arguments and `--db` in a fresh folder; no setting of the surroundings reaches it.
    fn new(args: &[&str]) -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), args)
    }

    fn in_folder(folder: TempDir, args: &[&str]) -> Self {
        let mut command = Command::new(binary::path());
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("TIDEGATE_")
                || name == "OPENAI_API_KEY"
                || name.to_lowercase().ends_with("_proxy")
            {
                command.env_remove(&*name);
            }
        }
        command.args(["--db"]).arg(db(folder.path())).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        Self { command, folder }
    }

    /// Small, fast, and as JSON.
    fn quick(args: &[&str]) -> Self {
        Self::new(&[&["--papers", "40", "--time-scale", "200", "--json"], args].concat())
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    fn spawn(&mut self) -> Child {
        self.command.spawn().unwrap()
    }

    async fn finish(mut self) -> Ran {
        let child = self.spawn();
        self.finished(child).await
    }

    async fn finished(self, child: Child) -> Ran {
        let Output { status, stdout, stderr } = child.wait_with_output().await.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { stdout: text(stdout), stderr: text(stderr), code: status.code(), folder: self.folder }
    }
}

impl Ran {
    /// The one JSON object on standard output.
    fn json(&self) -> Value {
        assert_eq!(self.stdout.trim_end().lines().count(), 1, "{self}");
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// Which must be a success.
    fn success(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self}");
        self.json()
    }

    fn count(&self, rows: &str) -> u64 {
        count(&self.db(), rows)
    }

    fn db(&self) -> PathBuf {
        db(self.folder.path())
    }

    /// Stage, class and message of what is recorded about the one paper whose key ends so.
    fn error(&self, key: &str) -> (String, String, String) {
        let database = Connection::open(self.db()).unwrap();
        let sql = "SELECT stage, class, message FROM errors WHERE paper LIKE '%' || ?1";
        let row = database.query_row(sql, [key], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        row.unwrap_or_else(|error| panic!("no error of {key}: {error}"))
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit {:?}\nstdout: {}\nstderr: {}", self.code, self.stdout, self.stderr)
    }
}

fn db(folder: &Path) -> PathBuf {
    folder.join("papers.db")
}

/// How many rows `SELECT count(*) FROM` these gives.
fn count(db: &Path, rows: &str) -> u64 {
    let database = Connection::open(db).unwrap();
    let rows: i64 =
        database.query_row(&format!("SELECT count(*) FROM {rows}"), [], |row| row.get(0)).unwrap();
    rows.try_into().unwrap()
}

fn number(json: &Value, path: &str) -> u64 {
    json.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("no number at {path} in {json}"))
}
