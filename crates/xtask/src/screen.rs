//! Talking to the user: headers, lines that stay, and one status line that moves.
//!
//! On a terminal the status overwrites itself. Elsewhere (CI, a file) it becomes a line every ten seconds, so that a
//! log shows life without drowning in progress.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

const HEARTBEAT: Duration = Duration::from_secs(10);

/// Whether output may be coloured: standard output is a terminal and `NO_COLOR` is not set.
pub(crate) fn colours() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

pub(crate) struct Screen {
    terminal: bool,
    colour: bool,
    silent: bool,
    width: usize,
    status_shown: bool,
    after_blank: bool,
    last_beat: Instant,
}

impl Screen {
    pub(crate) fn new() -> Self {
        let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(100);
        Self {
            terminal: std::io::stdout().is_terminal(),
            colour: colours(),
            silent: false,
            width,
            status_shown: false,
            after_blank: true,
            last_beat: Instant::now(),
        }
    }

    /// A screen that shows nothing.
    pub(crate) fn silent() -> Self {
        Self { silent: true, ..Self::new() }
    }

    /// Begins a phase.
    pub(crate) fn header(&mut self, text: &str) {
        if !self.after_blank {
            self.line("");
        }
        let text = self.paint("1;36", &format!("== {text}"));
        self.line(&text);
        self.last_beat = Instant::now();
    }

    /// A line that stays.
    pub(crate) fn line(&mut self, text: &str) {
        self.clear();
        self.after_blank = text.is_empty();
        self.write(&format!("{text}\n"));
    }

    /// Several lines that stay.
    pub(crate) fn lines(&mut self, text: &str) {
        for line in text.lines() {
            self.line(line);
        }
    }

    /// A line that stays and says what failed.
    pub(crate) fn failure(&mut self, text: &str) {
        let text = self.paint("31", text);
        self.line(&text);
    }

    /// What goes on just now.
    pub(crate) fn status(&mut self, text: &str) {
        if self.terminal {
            let cut: String = text.chars().take(self.width.saturating_sub(1)).collect();
            self.write(&format!("\r\x1b[2K{cut}"));
            self.status_shown = true;
        } else if self.last_beat.elapsed() >= HEARTBEAT {
            self.last_beat = Instant::now();
            self.write(&format!("   ... {text}\n"));
            self.after_blank = false;
        }
    }

    /// Takes the status away.
    pub(crate) fn clear(&mut self) {
        if self.status_shown {
            self.write("\r\x1b[2K");
            self.status_shown = false;
        }
    }

    /// A line of a child: progress moves the status, everything else stays.
    pub(crate) fn show(&mut self, line: &str) {
        let text = plain(line);
        let trimmed = text.trim();
        if is_progress(trimmed) {
            if !trimmed.is_empty() && !trimmed.starts_with('{') {
                self.status(trimmed);
            }
        } else {
            self.line(line);
        }
    }

    /// Why a command cannot go on; goes to standard error.
    pub(crate) fn error(&mut self, error: &anyhow::Error) {
        self.clear();
        if !self.silent {
            eprintln!("{} {error:#}", self.paint("1;31", "error:"));
        }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn write(&mut self, text: &str) {
        if self.silent {
            return;
        }
        let mut out = std::io::stdout().lock();
        // A closed pipe (`cargo x test | head`) is no reason to stop the work.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// Whether a trimmed line of cargo, nextest or libtest only says that things go on well.
fn is_progress(line: &str) -> bool {
    const STARTS: [&str; 26] = [
        "Compiling ",
        "Checking ",
        "Building ",
        "Fresh ",
        "Finished ",
        "Running ",
        "Doc-tests ",
        "Documenting ",
        "Generated ",
        "Executable ",
        "Downloading ",
        "Downloaded ",
        "Updating ",
        "Locking ",
        "Adding ",
        "Blocking ",
        "Installing ",
        "Scanning ",
        "Nextest run ID ",
        "Starting ",
        "Summary [",
        "PASS [",
        "test result: ok.",
        "all doctests ran in ",
        "{\"reason\":",
        "────────────",
    ];
    line.is_empty()
        || STARTS.iter().any(|start| line.starts_with(start))
        || line.starts_with("test ") && (line.ends_with(" ... ok") || line.contains(" ... ignored"))
        || line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test"))
}

/// A line without its colours.
pub(crate) fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c != '\x1b' {
            out.push(c);
        } else if chars.next() == Some('[') {
            // A sequence ends with the first byte from @ to ~.
            for c in chars.by_ref() {
                if ('@'..='~').contains(&c) {
                    break;
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_taken_off() {
        assert_eq!(plain("\x1b[32;1m        PASS\x1b[0m [ 0.1s] a::b"), "        PASS [ 0.1s] a::b");
        assert_eq!(plain("no colour"), "no colour");
    }

    #[test]
    fn good_news_is_progress() {
        for line in
            ["Compiling a v0.1.0", "PASS [   0.004s] (1/2) a b::c", "test a::b ... ok", "running 3 tests", ""]
        {
            assert!(is_progress(line), "{line:?}");
        }
    }

    #[test]
    fn bad_news_stays() {
        for line in
            ["FAIL [   0.004s] (1/2) a b::c", "test a::b ... FAILED", "error[E0308]: x", "warning: unused"]
        {
            assert!(!is_progress(line), "{line:?}");
        }
    }
}
