//! A copy of the repository that may be broken. It stays between runs, with its build, and only files that differ are
//! written: cargo then rebuilds what changed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

/// cargo compares the time of a source with the time of its last build. Clocks of file systems tick this coarsely at
/// most; a file written in the same tick as that build would look unchanged.
const TICK: Duration = Duration::from_millis(20);

pub(crate) struct Scratch {
    root: PathBuf,
}

impl Scratch {
    /// Makes `root` equal to `files` of `source`: differing files are written, others are left, strays are removed.
    pub(crate) fn sync(source: &Path, files: &[PathBuf], root: PathBuf) -> Result<Self> {
        fs::create_dir_all(&root).with_context(|| format!("cannot create {}", root.display()))?;
        let wanted: BTreeSet<&Path> = files.iter().map(PathBuf::as_path).collect();
        remove_strays(&root, Path::new(""), &wanted)?;
        for file in files {
            let from = source.join(file);
            let bytes = fs::read(&from).with_context(|| format!("cannot read {}", from.display()))?;
            let to = root.join(file);
            if fs::read(&to).is_ok_and(|old| old == bytes) {
                continue;
            }
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            }
            fs::write(&to, bytes).with_context(|| format!("cannot write {}", to.display()))?;
        }
        Ok(Self { root })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn read(&self, file: &Path) -> Result<String> {
        let path = self.root.join(file);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", file.display()))
    }

    /// Writes a file so that cargo sees it as newer than anything built before.
    pub(crate) fn write(&self, file: &Path, text: &str) -> Result<()> {
        let path = self.root.join(file);
        thread::sleep(TICK);
        fs::write(&path, text)
            .and_then(|()| fs::File::options().write(true).open(&path)?.set_modified(SystemTime::now()))
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

fn remove_strays(root: &Path, below: &Path, wanted: &BTreeSet<&Path>) -> Result<()> {
    let folder = root.join(below);
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let (path, name) = (entry.path(), below.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            if wanted.iter().any(|file| file.starts_with(&name)) {
                remove_strays(root, &name, wanted)?;
            } else {
                fs::remove_dir_all(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            }
        } else if !wanted.contains(name.as_path()) {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_tree_becomes_equal_and_untouched_files_keep_their_time() -> Result<()> {
        let (source, target) = (tempfile::tempdir()?, tempfile::tempdir()?);
        fs::create_dir(source.path().join("a"))?;
        fs::write(source.path().join("a/x.rs"), "one")?;
        fs::write(source.path().join("y.rs"), "two")?;
        let files = [PathBuf::from("a/x.rs"), PathBuf::from("y.rs")];
        let sync = || Scratch::sync(source.path(), &files, target.path().to_owned());

        let scratch = sync()?;
        let time = fs::metadata(target.path().join("a/x.rs"))?.modified()?;
        scratch.write(Path::new("y.rs"), "broken")?;
        fs::create_dir_all(target.path().join("stray/deep"))?;
        fs::write(target.path().join("stray/deep/z.rs"), "")?;
        fs::write(target.path().join("a/stray.rs"), "")?;

        let scratch = sync()?;
        assert_eq!(scratch.read(Path::new("y.rs"))?, "two");
        assert_eq!(fs::metadata(target.path().join("a/x.rs"))?.modified()?, time);
        assert!(!target.path().join("stray").exists() && !target.path().join("a/stray.rs").exists());
        Ok(())
    }
}
