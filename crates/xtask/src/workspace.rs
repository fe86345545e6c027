//! What there is: the packages of the workspace and the files under version control.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::{Metadata, MetadataCommand, Package};

use crate::cargo;

/// The workspace that the current directory belongs to.
pub(crate) struct Workspace {
    metadata: Metadata,
}

impl Workspace {
    pub(crate) fn here() -> Result<Self> {
        let mut command = MetadataCommand::new();
        command.no_deps();
        for name in cargo::inherited() {
            command.env_remove(name);
        }
        let metadata =
            command.exec().context("cannot read the workspace: is this a checkout of tidegate?")?;
        Ok(Self { metadata })
    }

    pub(crate) fn root(&self) -> &Path {
        self.metadata.workspace_root.as_std_path()
    }

    /// Where cargo builds: respects `CARGO_TARGET_DIR`.
    pub(crate) fn target(&self) -> &Path {
        self.metadata.target_directory.as_std_path()
    }

    pub(crate) fn packages(&self) -> Vec<&Package> {
        self.metadata.workspace_packages()
    }

    /// The packages called `names` (all of them when empty). The family prefix may be left out: `core` is
    /// `tidegate-core`.
    pub(crate) fn select(&self, names: &[String]) -> Result<Vec<&Package>> {
        let all = self.packages();
        if names.is_empty() {
            return Ok(all);
        }
        let find = |name: &String| {
            let full = format!("tidegate-{name}");
            all.iter().copied().find(|p| p.name.as_str() == name || p.name.as_str() == full).with_context(
                || {
                    let known: Vec<&str> = all.iter().map(|p| p.name.as_str()).collect();
                    format!("no package is called {name:?}; there are: {}", known.join(", "))
                },
            )
        };
        names.iter().map(find).collect()
    }

    /// Every file that is tracked or would be (not ignored), relative to the root, sorted.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        files_of(self.root())
    }
}

/// The folder of a package.
pub(crate) fn folder(package: &Package) -> &Path {
    package.manifest_path.parent().map_or(Path::new("."), |folder| folder.as_std_path())
}

/// Whether other packages can depend on it.
pub(crate) fn is_library(package: &Package) -> bool {
    package.targets.iter().any(|target| target.is_lib() || target.is_proc_macro())
}

fn files_of(root: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root)
        .output()
        .context("cannot run git: it is needed to know which files belong to the repository")?;
    ensure!(
        output.status.success(),
        "git cannot list the files of {}: {}",
        root.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let Ok(text) = String::from_utf8(output.stdout) else { bail!("a file name is not UTF-8: rename it") };
    let mut files: Vec<PathBuf> =
        text.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
    files.sort();
    files.dedup();
    files.retain(|file| root.join(file).is_file());
    Ok(files)
}
