//! A file that grew past a size has more than one reason to change.

use super::{Finding, Repo};

const LIMIT: usize = 400;

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let count = |code: &str| code.lines().filter(|line| !line.trim().is_empty()).count();
    repo.rust_files()
        .map(|(file, rust)| (file, count(&rust.code)))
        .filter(|(_, lines)| *lines > LIMIT)
        .map(|(file, lines)| {
            let what = format!("{lines} code lines, more than {LIMIT}: split it by reason to change");
            Finding::new(&file.path, 1, what)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_lines_count() {
        let full = "x();\n\n// a comment\n".repeat(LIMIT);
        assert!(check(&Repo::of(&[("a.rs", &full)])).is_empty());
        let over = format!("{full}y();\n");
        assert!(check(&Repo::of(&[("a.rs", &over)]))[0].what.starts_with("401 code lines"));
    }
}
