//! Where `initdb` and `postgres` are; on Debian, root can have them installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use super::URL;
use super::user::is_root;
use crate::cargo::succeeds;
use crate::process;
use crate::screen::Screen;

/// Where Debian keeps the programs of each version.
const DEBIAN: &str = "/usr/lib/postgresql";

pub(super) struct Programs {
    pub(super) initdb: PathBuf,
    pub(super) postgres: PathBuf,
}

impl Programs {
    pub(super) fn find_or_install(screen: &mut Screen) -> Result<Self> {
        if let Some(found) = Self::find() {
            return Ok(found);
        }
        if is_root()? && succeeds(Command::new("apt-get").arg("--version")) {
            install(screen)?;
            if let Some(found) = Self::find() {
                return Ok(found);
            }
        }
        bail!(
            "there is no Postgres here (initdb is neither on the PATH nor in {DEBIAN}/*/bin). Three ways out:\n  \
             1. install it (Debian: apt-get install postgresql)\n  \
             2. use a server of yours: {URL}=postgresql://user@host/database cargo x test\n  \
             3. leave its tests out, visibly: cargo x test --no-postgres"
        );
    }

    fn find() -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        folders.extend(newest_first(Path::new(DEBIAN)));
        folders.iter().find_map(|folder| Self::in_folder(folder))
    }

    fn in_folder(folder: &Path) -> Option<Self> {
        let programs = Self { initdb: folder.join("initdb"), postgres: folder.join("postgres") };
        (programs.initdb.is_file() && programs.postgres.is_file()).then_some(programs)
    }
}

/// `15/bin`, `9.6/bin` .. below `root`, the newest version first.
fn newest_first(root: &Path) -> Vec<PathBuf> {
    let mut versions: Vec<(Vec<u32>, PathBuf)> = fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let version = name.to_str()?.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versions.sort();
    versions.into_iter().rev().map(|(_, folder)| folder).collect()
}

fn install(screen: &mut Screen) -> Result<()> {
    screen.line(
        "there is no Postgres here: installing the Debian package postgresql (as root, takes a moment)",
    );
    for args in [&["update"][..], &["install", "--yes", "--no-install-recommends", "postgresql"]] {
        let mut command = Command::new("apt-get");
        command.args(["-q"]).args(args).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        if !process::stream(&mut command, screen)?.ok {
            screen.failure(&format!("apt-get {} failed (see above)", args.join(" ")));
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_comes_first() {
        let root = tempfile::tempdir().unwrap();
        for version in ["9.6", "15", "9.10", "common"] {
            fs::create_dir(root.path().join(version)).unwrap();
        }
        let names: Vec<_> = newest_first(root.path())
            .iter()
            .map(|folder| folder.strip_prefix(root.path()).unwrap().display().to_string())
            .collect();
        assert_eq!(names, ["15/bin", "9.10/bin", "9.6/bin"]);
    }

    #[test]
    fn a_folder_needs_both_programs() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("initdb"), "").unwrap();
        assert!(Programs::in_folder(folder.path()).is_none());
        fs::write(folder.path().join("postgres"), "").unwrap();
        assert!(Programs::in_folder(folder.path()).is_some());
    }
}
