//! Versions and lints have one home: the root manifest.

use toml::{Table, Value};

use super::{Finding, Repo, numbered};

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &repo.members {
        let path = member.folder.join("Cargo.toml");
        let Some(file) = repo.file(&path) else {
            findings.push(Finding::new(
                &path,
                1,
                "this manifest is not in the repository: is it ignored by git?",
            ));
            continue;
        };
        let manifest: Table = match file.text.parse() {
            Ok(manifest) => manifest,
            Err(error) => {
                findings.push(Finding::new(&path, 1, format!("{error}")));
                continue;
            }
        };
        for name in versioned(&manifest) {
            let what = format!(
                "{name} has its version here: put it into the root manifest and write `workspace = true`"
            );
            findings.push(Finding::new(&path, line_of(&file.text, &name), what));
        }
        let inherits =
            manifest.get("lints").and_then(|lints| lints.get("workspace")) == Some(&Value::Boolean(true));
        if !inherits {
            let what = "the lints of the workspace are not used: add `[lints]` with `workspace = true`";
            findings.push(Finding::new(&path, line_of(&file.text, "[lints]"), what));
        }
    }
    findings
}

/// The dependencies that name a version themselves, in any table.
fn versioned(manifest: &Table) -> Vec<String> {
    const KINDS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let sections = std::iter::once(manifest).chain(targets.filter_map(Value::as_table));
    let tables = sections.flat_map(|section| KINDS.iter().filter_map(|kind| section.get(*kind)?.as_table()));
    let has_version = |value: &Value| value.is_str() || value.get("version").is_some();
    tables.flatten().filter(|(_, value)| has_version(value)).map(|(name, _)| name.clone()).collect()
}

/// The line that begins with `start`; 1 if there is none.
pub(super) fn line_of(text: &str, start: &str) -> usize {
    numbered(text).find(|(_, line)| line.trim_start().starts_with(start)).map_or(1, |(line, _)| line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::Member;

    fn findings(manifest: &str) -> Vec<String> {
        let mut repo = Repo::of(&[("crates/x/Cargo.toml", manifest)]);
        repo.members.push(Member {
            name: "x".to_owned(),
            folder: "crates/x".into(),
            rust: None,
            library: true,
            dependencies: Vec::new(),
        });
        check(&repo).into_iter().map(|finding| finding.to_string()).collect()
    }

    const LINTS: &str = "[lints]\nworkspace = true\n";

    #[test]
    fn inherited_versions_and_lints_are_right() {
        let manifest = format!(
            "[dependencies]\na = {{ workspace = true, features = [\"b\"] }}\nc.path = \".\"\n{LINTS}"
        );
        assert!(findings(&manifest).is_empty());
    }

    #[test]
    fn a_version_is_found_in_every_table() {
        for (section, line) in
            [("dependencies", 2), ("dev-dependencies", 2), ("target.'cfg(x)'.dependencies", 2)]
        {
            for version in ["\"1\"", "{ version = \"1\" }"] {
                let found = findings(&format!("[{section}]\naa = {version}\n{LINTS}"));
                let start = format!("crates/x/Cargo.toml:{line}: aa has its version");
                assert!(found.len() == 1 && found[0].starts_with(&start), "{found:?}");
            }
        }
    }

    #[test]
    fn missing_lints_are_found() {
        assert!(findings("[package]\nname = \"x\"\n")[0].contains("lints"));
        assert!(findings("[lints]\nworkspace = false\n")[0].contains(":1: the lints"));
    }

    #[test]
    fn a_manifest_that_is_no_toml_is_a_finding() {
        assert_eq!(findings("[dependencies").len(), 1);
    }
}
