//! Links between the documents lead somewhere.

use std::path::{Component, Path, PathBuf};

use super::{Finding, Repo, numbered};

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    let documents =
        repo.files.iter().filter(|file| file.path.extension().is_some_and(|extension| extension == "md"));
    for file in documents {
        let mut fenced = false;
        for (line, text) in numbered(&file.text) {
            if text.trim_start().starts_with("```") {
                fenced = !fenced;
            }
            if fenced {
                continue;
            }
            for target in targets(text) {
                if !leads_somewhere(repo, &file.path, target) {
                    let what = format!("the link {target} leads nowhere: mend the path");
                    findings.push(Finding::new(&file.path, line, what));
                }
            }
        }
    }
    findings
}

/// The targets of `[text](target)` and `[name]: target`, outside of code.
fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    // Every second piece between backticks is code.
    for prose in line.split('`').step_by(2) {
        found.extend(prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()));
    }
    if let Some((_, target)) = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
        found.push(target.trim());
    }
    found
}

fn leads_somewhere(repo: &Repo, from: &Path, target: &str) -> bool {
    let path = target.split('#').next().unwrap_or_default();
    if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
        return true;
    }
    let mut resolved = PathBuf::new();
    for part in from.parent().unwrap_or(Path::new("")).join(path).components() {
        match part {
            Component::Normal(name) => resolved.push(name),
            Component::ParentDir => {
                if !resolved.pop() {
                    return false;
                }
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    repo.paths.iter().any(|file| file.starts_with(&resolved))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<usize> {
        let repo = Repo::of(&[("docs/guide/a.md", text), ("docs/b.md", ""), ("crates/x/src/lib.rs", "")]);
        check(&repo).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn files_folders_anchors_and_the_web_are_somewhere() {
        let text = "[a](../b.md) [b](../b.md#part \"title\") [c](#here) [d](https://x.org/y) [`e`](../../crates/x)\n[f]: ../b.md\n";
        assert!(findings(text).is_empty());
    }

    #[test]
    fn a_missing_file_is_nowhere() {
        assert_eq!(findings("\n[a](b.md) and [`c`](../../crates/y)"), [2, 2]);
        assert_eq!(findings("[a](/docs/b.md)"), [1]);
        assert_eq!(findings("[a](../../../../b.md)"), [1]);
        assert_eq!(findings("[f]: nowhere.md"), [1]);
    }

    #[test]
    fn code_has_no_links() {
        assert!(findings("`[a](b)`\n```text\n[a](b)\n```\n").is_empty());
    }
}
