//! Nothing half done: no stub, no test that is switched off, no place in the documentation that was to be filled in later.

use super::{Finding, Repo, numbered};

const LEFTOVERS: [(&str, &str); 4] = [
    ("todo!", "write it, or leave it out"),
    ("unimplemented!", "write it, or leave it out"),
    ("#[ignore", "a test that is switched off holds nothing: mend it or remove it"),
    ("#![ignore", "a test that is switched off holds nothing: mend it or remove it"),
];

/// What stands in a text where something was to come. In two parts, so that it is not found here.
const PLACES: [[&str; 2]; 4] = [["TB", "D"], ["FIX", "ME"], ["XX", "X"], ["MEAS", "URED_"]];

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in repo.files.iter().filter(|file| file.path.extension().is_some_and(|kind| kind == "md")) {
        for (line, text) in numbered(&file.text) {
            if let Some(place) = PLACES.iter().map(|parts| parts.concat()).find(|place| text.contains(place))
            {
                findings.push(Finding::new(
                    &file.path,
                    line,
                    format!("`{place}`: fill it in, or leave it out"),
                ));
            }
        }
    }
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

    #[test]
    fn a_place_that_was_to_be_filled_in_is_found_in_documentation() {
        for [one, other] in PLACES {
            let text = format!("It takes\n{one}{other}SWEEP ns.\n");
            let findings = check(&Repo::of(&[("docs/a.md", &text)]));
            assert!(findings.len() == 1 && findings[0].line == 2, "{text}");
        }
    }
}
