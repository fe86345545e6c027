//! No let-chains where the oldest compiler does not know them: clippy's `incompatible_msrv` looks at the library only.

use super::{Finding, Repo, numbered};

/// The first compiler that knows `if let .. && ..`.
const LET_CHAINS: (u64, u64) = (1, 88);

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &repo.members {
        let Some(oldest) = member.rust.filter(|oldest| *oldest < LET_CHAINS) else { continue };
        for (file, rust) in repo.rust_files().filter(|(file, _)| file.path.starts_with(&member.folder)) {
            for line in let_chains(&rust.code) {
                let (major, minor) = oldest;
                let what = format!(
                    "a let-chain, but rust {major}.{minor} must compile it: nest, or use `let .. else`"
                );
                findings.push(Finding::new(&file.path, line, what));
            }
        }
    }
    findings
}

/// The lines where a chain has its second part: `&& let`, or `&&` in the condition of an `if let`.
fn let_chains(code: &str) -> Vec<usize> {
    let mut lines: Vec<usize> =
        numbered(code).filter(|(_, text)| text.contains("&& let ")).map(|(line, _)| line).collect();
    for start in ["if let ", "while let "] {
        for (at, _) in code.match_indices(start) {
            if let Some(and) = chained(&code[at + start.len()..]) {
                lines.push(code[..at + start.len() + and].matches('\n').count() + 1);
            }
        }
    }
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Where `&&` stands at the top of `pattern = condition {`.
fn chained(text: &str) -> Option<usize> {
    let (mut depth, mut in_condition) = (0_i32, false);
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let next = bytes.get(at + 1).copied();
        match byte {
            b'{' if depth == 0 && in_condition => return None,
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b'=' if depth == 0 && !in_condition && next == Some(b' ') => in_condition = true,
            b'&' if depth == 0 && in_condition && text[at..].starts_with("&& ") => return Some(at),
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::Member;

    #[test]
    fn chains_are_found() {
        assert_eq!(let_chains("if let Some(x) = y && x > 1 {"), [1]);
        assert_eq!(let_chains("a\nif let A { b, .. } = f(|| { g() })\n    && h {"), [3]);
        assert_eq!(let_chains("if x && let Some(y) = z {"), [1]);
        assert_eq!(let_chains("while let Some(x) = y && z {"), [1]);
    }

    #[test]
    fn other_conditions_are_none() {
        for text in [
            "if let Some(x) = f(a && b) { c && d }",
            "if let 1..=3 = x { a && b }",
            "if a && b { let c = d; }",
            "let Some(x) = y else { return a && b };",
            "match x { _ if let_it && b => {} }",
            "if let Some(x) = &&y[..] { }",
        ] {
            assert_eq!(let_chains(text), [0; 0], "{text}");
        }
    }

    #[test]
    fn only_crates_with_an_old_compiler_are_looked_at() {
        let text = [
            ("crates/a/src/lib.rs", "if let A = b && c {}"),
            ("crates/x/src/main.rs", "if let A = b && c {}"),
        ];
        let mut repo = Repo::of(&text);
        for (name, rust) in [("a", (1, 85)), ("x", (1, 95))] {
            repo.members.push(Member {
                name: name.to_owned(),
                folder: format!("crates/{name}").into(),
                rust: Some(rust),
                library: true,
                dependencies: Vec::new(),
            });
        }
        let found = check(&repo);
        assert!(found.len() == 1 && found[0].file.starts_with("crates/a"));
    }
}
