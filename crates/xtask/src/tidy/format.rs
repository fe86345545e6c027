//! Formatting, of the workspace and of those that are their own.

use anyhow::Result;

use crate::cargo;
use crate::process;
use crate::screen::{self, Screen};
use crate::workspace::Workspace;

/// How many of the workspaces are not formatted; the screen shows the differences.
pub(crate) fn unformatted(workspace: &Workspace, screen: &mut Screen) -> Result<usize> {
    let mut unformatted = 0;
    for (folder, args) in [("", &["fmt", "--all"][..]), ("crates/bench", &["fmt"]), ("fuzz", &["fmt"])] {
        let root = workspace.root().join(folder);
        if !root.join("Cargo.toml").is_file() {
            continue;
        }
        let colour = if screen::colours() { "always" } else { "never" };
        if !process::stream(
            cargo::command(&root).args(args).args(["--check", "--", "--color", colour]),
            screen,
        )?
        .ok
        {
            screen.failure(&format!("./{folder} is not formatted: run `cargo {}` there", args.join(" ")));
            unformatted += 1;
        }
    }
    Ok(unformatted)
}
