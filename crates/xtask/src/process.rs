//! Running a child: with its output streamed to the screen, or captured under a time limit.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::screen::{Screen, plain};

/// A child that ended: its output without colours, line by line as it came.
pub(crate) struct Finished {
    pub(crate) ok: bool,
    pub(crate) stdout: String,
    /// Standard output and standard error.
    pub(crate) all: String,
}

/// Runs `command`; what it says goes to the screen at once: news as a line, progress as the status.
pub(crate) fn stream(command: &mut Command, screen: &mut Screen) -> Result<Finished> {
    run(command, screen, Screen::show)
}

/// Runs `command`; what it says is only the status.
pub(crate) fn watch(command: &mut Command, screen: &mut Screen) -> Result<Finished> {
    run(command, screen, |screen, line| screen.status(plain(line).trim()))
}

fn run(command: &mut Command, screen: &mut Screen, show: impl Fn(&mut Screen, &str)) -> Result<Finished> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {name}"))?;
    let (lines, received) = mpsc::channel();
    let readers = [
        child.stdout.take().map(|pipe| read_lines(pipe, true, lines.clone())),
        child.stderr.take().map(|pipe| read_lines(pipe, false, lines.clone())),
    ];
    drop(lines);

    let mut finished = Finished { ok: false, stdout: String::new(), all: String::new() };
    for (is_stdout, line) in received {
        show(screen, &line);
        let text = plain(&line);
        finished.all.push_str(&text);
        finished.all.push('\n');
        if is_stdout {
            finished.stdout.push_str(&text);
            finished.stdout.push('\n');
        }
    }
    for reader in readers.into_iter().flatten() {
        // A reader only ends early when its pipe breaks; the exit status below says what happened.
        let _ = reader.join();
    }
    finished.ok = child.wait().with_context(|| format!("lost {name}"))?.success();
    screen.clear();
    Ok(finished)
}

fn read_lines(
    pipe: impl Read + Send + 'static,
    is_stdout: bool,
    lines: mpsc::Sender<(bool, String)>,
) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while pipe.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
            if lines.send((is_stdout, text)).is_err() {
                return;
            }
            line.clear();
        }
    })
}

/// A child that ended or was ended.
pub(crate) struct Limited {
    /// `None`: it ran into the limit and was killed.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) output: String,
    pub(crate) time: Duration,
}

/// Runs `command` for at most `limit` and captures its output, both streams in the order of writing.
pub(crate) fn limited(command: &mut Command, limit: Duration) -> Result<Limited> {
    let mut file = tempfile::tempfile().context("cannot create a temporary file")?;
    let both = || -> std::io::Result<(File, File)> { Ok((file.try_clone()?, file.try_clone()?)) };
    let (stdout, stderr) = both().context("cannot share a temporary file")?;
    let name = command.get_program().to_string_lossy().into_owned();
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .with_context(|| format!("cannot start {name}"))?;
    let mut pause = Duration::from_millis(1);
    let status = loop {
        if let Some(status) = child.try_wait().with_context(|| format!("lost {name}"))? {
            break Some(status);
        }
        if start.elapsed() >= limit {
            child.kill().and_then(|()| child.wait()).with_context(|| format!("cannot end {name}"))?;
            break None;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    let time = start.elapsed();
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).context("cannot read a temporary file")?;
    Ok(Limited { status, output: String::from_utf8_lossy(&bytes).into_owned(), time })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_streams_are_kept_and_only_one_is_stdout() -> Result<()> {
        let finished = stream(&mut shell("echo out; echo err >&2; exit 3"), &mut Screen::silent())?;
        assert!(!finished.ok);
        assert_eq!(finished.stdout, "out\n");
        assert!(finished.all.contains("out\n") && finished.all.contains("err\n"));
        Ok(())
    }

    #[test]
    fn a_child_within_its_limit_gives_status_and_output() -> Result<()> {
        let limited = limited(&mut shell("echo one; echo two >&2; exit 7"), Duration::from_secs(60))?;
        assert_eq!(limited.status.and_then(|status| status.code()), Some(7));
        assert_eq!(limited.output, "one\ntwo\n");
        Ok(())
    }

    #[test]
    fn a_child_past_its_limit_is_killed() -> Result<()> {
        let limited = limited(&mut shell("exec sleep 600"), Duration::from_millis(20))?;
        assert!(limited.status.is_none());
        Ok(())
    }

    #[test]
    fn a_missing_program_is_named() {
        let error =
            stream(&mut Command::new("no-such-program"), &mut Screen::silent()).map(|f| f.ok).unwrap_err();
        assert!(format!("{error:#}").contains("no-such-program"));
    }
}
