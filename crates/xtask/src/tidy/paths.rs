//! No file may know a folder of the machine it was written on.

use super::{Finding, Repo, numbered};

/// Names of folders at the root of a machine.
const FOLDERS: [&str; 4] = ["work", "root", "farm", "tmp"];

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in repo.files.iter().filter(|file| !file.path.ends_with("Cargo.lock")) {
        for (line, text) in numbered(&file.text) {
            if let Some(folder) = FOLDERS.iter().find(|folder| begins_a_path(text, folder)) {
                let what = format!("a path below /{folder} holds on one machine only: make it relative");
                findings.push(Finding::new(&file.path, line, what));
            }
        }
    }
    findings
}

/// Whether `/folder/` occurs where a path can begin.
fn begins_a_path(text: &str, folder: &str) -> bool {
    text.match_indices(&format!("/{folder}/")).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_-./}~*$".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_path_is_found_wherever_it_begins() {
        for before in ["", "cd ", "\"", "(", "=", "file://x ", "`"] {
            let text = format!("first\n{before}/{}/x", "tmp");
            let found = check(&Repo::of(&[("README.md", &text)]));
            assert!(found.len() == 1 && found[0].line == 2, "{text:?}");
        }
    }

    #[test]
    fn the_same_word_within_a_path_is_none() {
        for path in ["target/{}/x", "./{}/x", "https://host.org/{}/x", "$HOME/{}/x", "/{}x/y"] {
            let text = path.replace("{}", "tmp");
            assert!(check(&Repo::of(&[("README.md", &text)])).is_empty(), "{text:?}");
        }
        assert!(check(&Repo::of(&[("Cargo.lock", &format!("/{}/x", "work"))])).is_empty());
    }
}
