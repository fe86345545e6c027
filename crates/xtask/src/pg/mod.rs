//! A Postgres server for the tests: a private one, or the one that `TIDEGATE_PG_URL` names.
//!
//! The private server listens on a unix socket in a folder of its own, so there are no port races, and forgets all
//! durability. It runs under a small shell that waits on a pipe from us: when we end, however we end, the pipe closes,
//! and the shell stops the server and removes the folder.

mod programs;
mod user;

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::screen::Screen;
use programs::Programs;
use user::User;

pub(crate) const URL: &str = "TIDEGATE_PG_URL";
const START_LIMIT: Duration = Duration::from_secs(60);

/// `$1` initdb, `$2` postgres, `$3` the folder. The interrupt goes to the whole process group, and again and again,
/// because a program that is just starting may lose it.
const KEEPER: &str = r#"
{
    "$1" -D "$3/data" -A trust -U postgres -E UTF8 --locale=C --no-sync --wal-segsize=1 &&
    "$2" -D "$3/data" -k "$3" -c listen_addresses= -c fsync=off -c full_page_writes=off
    echo "ended with status $?"
} </dev/null >"$3/log" 2>&1 &
server=$!
read -r _
trap '' INT
while :; do kill -INT 0; sleep 0.1; done &
nagger=$!
wait "$server"
kill "$nagger"
rm -rf "$3"
"#;
/// How the log begins its last line when the server is gone.
const ENDED: &str = "ended with status ";

/// A server that tests may use; a private one stops when this is dropped.
pub(crate) struct Server {
    url: String,
    _keeper: Option<Keeper>,
}

struct Keeper {
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Server {
    /// The server that `TIDEGATE_PG_URL` names, else a private one.
    pub(crate) fn start(screen: &mut Screen) -> Result<Self> {
        if let Some(url) = std::env::var(URL).ok().filter(|url| !url.trim().is_empty()) {
            screen.line(&format!("using the server that {URL} names"));
            return Ok(Self { url, _keeper: None });
        }
        let programs = Programs::find_or_install(screen)?;
        screen.status("starting a private Postgres");
        let server = Self::start_private(&programs)?;
        screen.line(&format!("a private server of {}", programs.initdb.display()));
        Ok(server)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    fn start_private(programs: &Programs) -> Result<Self> {
        let user = User::for_server()?;
        let folder = tempfile::Builder::new()
            .prefix("tidegate-pg-")
            .tempdir()
            .context("cannot create a folder for the server")?;
        if let Some(user) = &user {
            chown(folder.path(), Some(user.uid), Some(user.gid))
                .with_context(|| format!("cannot give {} to {}", folder.path().display(), user.name))?;
        }
        let mut shell = Command::new("sh");
        shell
            .args(["-c", KEEPER, "sh"])
            .args([programs.initdb.as_path(), programs.postgres.as_path(), folder.path()])
            // Another user may not enter the folder that we are in.
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C on a terminal reaches us, not the shell: it must live to clean up.
            .process_group(0);
        if let Some(user) = &user {
            shell.uid(user.uid).gid(user.gid);
        }
        let mut shell = shell.spawn().context("cannot start sh")?;
        // From here on the shell owns the folder.
        let folder = folder.keep();
        let keeper = Keeper { pipe: shell.stdin.take(), shell };
        wait_until_ready(&folder)?;
        let url = format!("postgresql:///postgres?host={}&user=postgres", percent_encoded(&folder)?);
        Ok(Self { url, _keeper: Some(keeper) })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.pipe.take());
        // It has nobody left to report to.
        let _ = self.shell.wait();
    }
}

/// Line 8 of postmaster.pid says when connections are taken.
fn wait_until_ready(folder: &Path) -> Result<()> {
    let start = Instant::now();
    loop {
        let pid_file = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap_or_default();
        if pid_file.lines().nth(7).is_some_and(|line| line.trim() == "ready") {
            return Ok(());
        }
        let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
        if log.lines().any(|line| line.starts_with(ENDED)) || start.elapsed() > START_LIMIT {
            bail!("the private Postgres does not start:\n{}", log.trim());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// A path as the value of a URL parameter.
fn percent_encoded(path: &Path) -> Result<String> {
    let text = path.to_str().with_context(|| format!("{} is not UTF-8: set TMPDIR", path.display()))?;
    let safe = |b: u8| b.is_ascii_alphanumeric() || b"/-._~".contains(&b);
    Ok(text.bytes().map(|b| if safe(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_fit_for_a_url() -> Result<()> {
        assert_eq!(percent_encoded(Path::new("/a-b/c d&é"))?, "/a-b/c%20d%26%C3%A9");
        Ok(())
    }
}
