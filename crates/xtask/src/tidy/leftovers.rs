//! Nothing half done: no stub, no test that is switched off.

use super::{Finding, Repo, numbered};

const LEFTOVERS: [(&str, &str); 4] = [
    ("todo!", "write it, or leave it out"),
    ("unimplemented!", "write it, or leave it out"),
    ("#[ignore", "a test that is switched off holds nothing: mend it or remove it"),
    ("#![ignore", "a test that is switched off holds nothing: mend it or remove it"),
];

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in repo.rust_files() {
        for (line, text) in numbered(&rust.code) {
            for (leftover, advice) in LEFTOVERS.iter().filter(|(leftover, _)| text.contains(leftover)) {
                findings.push(Finding::new(&file.path, line, format!("`{leftover}`: {advice}")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_and_ignored_tests_are_found_in_code_only() {
        let text = "fn a() { todo!() }\n#[ignore = \"slow\"]\nunimplemented!()\n// todo! later\n\"todo!\"\n";
        let lines: Vec<usize> =
            check(&Repo::of(&[("a.rs", text)])).into_iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 2, 3]);
    }
}
