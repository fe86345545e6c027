//! Every atomic operation says why its ordering is enough.

use super::{Finding, Repo, numbered};

const ORDERINGS: [&str; 5] = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];
/// How many lines above an operation its comment may begin.
const REACH: usize = 4;

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in repo.rust_files().filter(|(file, _)| file.is_product_code()) {
        let comments: Vec<&str> = rust.comments.lines().collect();
        for (line, text) in numbered(&rust.product_code()) {
            if text.trim_start().starts_with("use ") && imports_a_variant(text) {
                let what = "import `Ordering` itself, so that every use can be seen to have its comment";
                findings.push(Finding::new(&file.path, line, what));
            } else if uses_an_ordering(text) {
                let first = line.saturating_sub(REACH + 1);
                let said =
                    (comments.iter().take(line).skip(first)).any(|comment| comment.contains("// Ordering:"));
                if !said {
                    let what = format!(
                        "an ordering without its reason: say it in `// Ordering: ..` at most {REACH} lines above"
                    );
                    findings.push(Finding::new(&file.path, line, what));
                }
            }
        }
    }
    findings
}

/// `Ordering::Acquire` and its like, as whole words.
fn uses_an_ordering(code: &str) -> bool {
    code.split("Ordering::").skip(1).any(|rest| {
        let word = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next();
        word.is_some_and(|word| ORDERINGS.contains(&word))
    })
}

fn imports_a_variant(code: &str) -> bool {
    code.split_once("Ordering::").is_some_and(|(_, rest)| {
        rest.starts_with('*') || ORDERINGS.iter().any(|ordering| rest.contains(ordering))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&Repo::of(&[("crates/a/src/lib.rs", text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_reason_nearby_is_enough() {
        assert!(lines("x.load(Ordering::Acquire); // Ordering: pairs with y").is_empty());
        assert!(lines("// Ordering: Release; pairs with x\n\n\n\nx.store(1, Ordering::Release);").is_empty());
    }

    #[test]
    fn no_reason_or_a_far_one_is_not() {
        assert_eq!(lines("a\nx.load(Ordering::Acquire);"), [2]);
        assert_eq!(lines("// Ordering: far\n\n\n\n\nx.store(1, Ordering::Release);"), [6]);
        assert_eq!(lines("let x = \"// Ordering: in a string\"; x.load(Ordering::SeqCst);"), [1]);
    }

    #[test]
    fn comparisons_tests_and_models_need_none() {
        assert!(lines("a.cmp(b) == Ordering::Less; // not Ordering::Acquire").is_empty());
        assert!(lines("mod tests {\n x.load(Ordering::Relaxed);\n}").is_empty());
        assert!(check(&Repo::of(&[("crates/a/src/models.rs", "x.load(Ordering::Relaxed)")])).is_empty());
    }

    #[test]
    fn variants_are_not_imported() {
        assert_eq!(lines("use std::sync::atomic::Ordering::{Acquire, Release};"), [1]);
        assert!(lines("use std::sync::atomic::{AtomicU64, Ordering};").is_empty());
    }
}
