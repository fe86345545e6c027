//! Source checks: one file per kind. A check looks at the files that were read once, and gives its findings.

pub(crate) mod format;
mod guarantees;
mod layers;
mod leftovers;
mod links;
mod manifests;
mod msrv;
mod orderings;
mod paths;
mod rust;
mod size;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::DependencyKind;

use crate::workspace::{Workspace, folder, is_library};
use rust::Masked;

type Check = fn(&Repo) -> Vec<Finding>;

/// Every check with its name.
pub(crate) const CHECKS: [(&str, Check); 9] = [
    ("layers", layers::check),
    ("guarantees", guarantees::check),
    ("file size", size::check),
    ("orderings", orderings::check),
    ("machine paths", paths::check),
    ("leftovers", leftovers::check),
    ("manifests", manifests::check),
    ("links", links::check),
    ("oldest rust", msrv::check),
];

/// Something to mend.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    file: PathBuf,
    line: usize,
    what: String,
}

impl Finding {
    fn new(file: &Path, line: usize, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.what)
    }
}

/// A text file of the repository.
struct TextFile {
    /// Relative to the root.
    path: PathBuf,
    text: String,
    /// For Rust files.
    rust: Option<Masked>,
}

impl TextFile {
    fn new(path: &Path, text: String) -> Self {
        let rust = path.extension().is_some_and(|extension| extension == "rs").then(|| Masked::new(&text));
        Self { path: path.to_owned(), text, rust }
    }

    /// Whether it is source (not a test target) of a crate, and not a file of models or tests.
    fn is_product_code(&self) -> bool {
        let parts: Vec<&str> = self.path.iter().filter_map(|part| part.to_str()).collect();
        let in_src = matches!(parts[..], ["crates", _, "src", ..]);
        let is_test = |part: &&str| matches!(*part, "models" | "models.rs" | "tests" | "tests.rs");
        in_src && !parts.iter().skip(3).any(is_test)
    }
}

/// What the checks need to know of a package.
struct Member {
    name: String,
    /// Relative to the root.
    folder: PathBuf,
    /// The oldest compiler: major and minor.
    rust: Option<(u64, u64)>,
    library: bool,
    /// Its normal dependencies within the workspace and outside.
    dependencies: Vec<String>,
}

/// Everything that the checks look at.
pub(crate) struct Repo {
    files: Vec<TextFile>,
    /// Every file, also those that are not text.
    paths: Vec<PathBuf>,
    members: Vec<Member>,
}

impl Repo {
    pub(crate) fn read(workspace: &Workspace) -> Result<Self> {
        let root = workspace.root();
        let paths = workspace.files()?;
        let mut files = Vec::new();
        for path in &paths {
            let bytes =
                std::fs::read(root.join(path)).with_context(|| format!("cannot read {}", path.display()))?;
            if let Ok(text) = String::from_utf8(bytes)
                && !text.contains('\0')
            {
                files.push(TextFile::new(path, text));
            }
        }
        let member = |package: &&cargo_metadata::Package| Member {
            name: package.name.to_string(),
            folder: folder(package).strip_prefix(root).unwrap_or(folder(package)).to_owned(),
            rust: package.rust_version.as_ref().map(|version| (version.major, version.minor)),
            library: is_library(package),
            dependencies: (package.dependencies.iter())
                .filter(|dependency| dependency.kind == DependencyKind::Normal)
                .map(|dependency| dependency.name.clone())
                .collect(),
        };
        Ok(Self { files, members: workspace.packages().iter().map(member).collect(), paths })
    }

    /// For tests: these files, no package.
    #[cfg(test)]
    fn of(files: &[(&str, &str)]) -> Self {
        let files: Vec<TextFile> =
            files.iter().map(|(path, text)| TextFile::new(Path::new(path), (*text).to_owned())).collect();
        Self { paths: files.iter().map(|file| file.path.clone()).collect(), files, members: Vec::new() }
    }

    fn file(&self, path: impl AsRef<Path>) -> Option<&TextFile> {
        self.files.iter().find(|file| file.path == path.as_ref())
    }

    /// The Rust files with their masked text.
    fn rust_files(&self) -> impl Iterator<Item = (&TextFile, &Masked)> {
        self.files.iter().filter_map(|file| file.rust.as_ref().map(|rust| (file, rust)))
    }
}

/// The lines of a text with their numbers, from 1.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(n, line)| (n + 1, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_code_is_what_ships() {
        let is = |path: &str| TextFile::new(Path::new(path), String::new()).is_product_code();
        assert!(is("crates/a/src/lib.rs") && is("crates/a/src/word/state.rs"));
        assert!(!is("crates/a/src/models.rs") && !is("crates/a/src/word/models/deep.rs"));
        assert!(
            !is("crates/a/tests/it/main.rs") && !is("crates/a/src/word/tests.rs") && !is("fuzz/src/a.rs")
        );
    }
}
