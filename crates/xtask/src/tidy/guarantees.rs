//! Every guarantee has one id in three places: the documentation that promises it, the name of a test that holds it, and
//! the ledger. Every mutant attacks a guarantee of the ledger.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Finding, Repo, numbered};
use crate::cmd::mutants;

const LEDGER: &str = "docs/verification/README.md";
const PREFIXES: [&str; 10] = ["CG", "AS", "KL", "AB", "RP", "SW", "TH", "PL", "RR", "EL"];

type Id = (&'static str, u32);
/// Where each id was seen first.
type Seen = BTreeMap<Id, (PathBuf, usize)>;

pub(super) fn check(repo: &Repo) -> Vec<Finding> {
    let (promised, held) = (promised(repo), held(repo));
    let Some(ledger) = repo.file(LEDGER) else {
        return vec![Finding::new(Path::new(LEDGER), 1, "there is no ledger: write one row per guarantee")];
    };
    let mut listed = Seen::new();
    for (line, text) in numbered(&ledger.text) {
        let cell = text.strip_prefix('|').and_then(|rest| rest.split('|').next());
        if let Some(id) = cell.and_then(|cell| whole_id(cell.trim())) {
            listed.entry(id).or_insert_with(|| (ledger.path.clone(), line));
        }
    }

    let mut findings = Vec::new();
    let mut ids: Vec<Id> = promised.keys().chain(held.keys()).chain(listed.keys()).copied().collect();
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        let (prefix, number) = id;
        let name = format!("{}{number}_", prefix.to_lowercase());
        let places = [
            (
                &promised,
                "no documentation promises it: name it in the doc comment of the item that does".to_owned(),
            ),
            (&held, format!("no test holds it: name one `fn {name}..`")),
            (&listed, format!("the ledger lacks it: add a row `| {prefix}-{number} | ..` to {LEDGER}")),
        ];
        let Some((file, line)) = places.iter().find_map(|(seen, _)| seen.get(&id)) else { continue };
        for (_, what) in places.iter().filter(|(seen, _)| !seen.contains_key(&id)) {
            findings.push(Finding::new(file, *line, format!("{prefix}-{number}: {what}")));
        }
    }
    findings.extend(stray_mutants(repo, &listed));
    findings
}

/// Ids in the doc comments of the crates.
fn promised(repo: &Repo) -> Seen {
    let mut seen = Seen::new();
    for (file, rust) in repo.rust_files().filter(|(file, _)| file.is_product_code()) {
        for (line, text) in numbered(&rust.comments) {
            let text = text.trim_start();
            if text.starts_with("///") || text.starts_with("//!") {
                for id in ids_in(text) {
                    seen.entry(id).or_insert_with(|| (file.path.clone(), line));
                }
            }
        }
    }
    seen
}

/// Ids in the names of functions: `fn cg1_..` holds one, `fn cg1_as2_..` two.
fn held(repo: &Repo) -> Seen {
    let mut seen = Seen::new();
    for (file, rust) in repo.rust_files().filter(|(file, _)| file.path.starts_with("crates")) {
        for (line, text) in numbered(&rust.code) {
            let Some((_, name)) = text.split_once("fn ") else { continue };
            for id in name.split('_').map_while(name_id) {
                seen.entry(id).or_insert_with(|| (file.path.clone(), line));
            }
        }
    }
    seen
}

/// Rows of the mutants' table that attack what the ledger does not list.
fn stray_mutants(repo: &Repo, listed: &Seen) -> Vec<Finding> {
    let path = Path::new(mutants::FILE);
    let Some(file) = repo.file(path) else {
        return vec![Finding::new(path, 1, "there is no table of mutants")];
    };
    let rows = match mutants::parse(&file.text) {
        Ok(rows) => rows,
        Err(error) => return vec![Finding::new(path, 1, format!("{error:#}"))],
    };
    let stray = |row: &&mutants::Row| !whole_id(&row.guarantee).is_some_and(|id| listed.contains_key(&id));
    let finding = |row: &mutants::Row| {
        let name = format!("name = {:?}", row.name);
        let line = numbered(&file.text).find(|(_, text)| text.trim() == name).map_or(1, |(line, _)| line);
        let what = format!("mutant {} attacks {:?}, which the ledger does not list", row.name, row.guarantee);
        Finding::new(path, line, what)
    };
    rows.iter().filter(stray).map(finding).collect()
}

/// `cg1` of a function's name.
fn name_id(part: &str) -> Option<Id> {
    PREFIXES.iter().find_map(|prefix| {
        let number = part.strip_prefix(&prefix.to_lowercase())?;
        Some((*prefix, number.parse().ok()?))
    })
}

/// An id that is all of the text.
fn whole_id(text: &str) -> Option<Id> {
    let (prefix, number) = text.split_once('-')?;
    let prefix = PREFIXES.iter().find(|known| **known == prefix)?;
    number
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| number.parse().ok())
        .flatten()
        .map(|number| (*prefix, number))
}

/// Every id in a text, as a word of its own.
fn ids_in(text: &str) -> Vec<Id> {
    text.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_').filter_map(whole_id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOC: &str = "//! Holds CG-1.\n";
    const TEST: &str = "fn cg1_never_shortens() {}\n";
    const ROW: &str = "| id | x |\n|---|---|\n| CG-1 | never shortens |\n";

    fn findings(doc: &str, test: &str, ledger: &str, mutants: &str) -> Vec<String> {
        let repo = Repo::of(&[
            ("crates/a/src/lib.rs", doc),
            ("crates/a/tests/it/main.rs", test),
            (LEDGER, ledger),
            (mutants::FILE, mutants),
        ]);
        check(&repo).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn all_three_places_are_enough() {
        assert!(findings(DOC, TEST, ROW, "").is_empty());
        assert!(
            findings("/// (CG-1, AS-2)\n", "fn cg1_as2_x() {}", &format!("{ROW}| AS-2 |"), "").is_empty()
        );
    }

    #[test]
    fn each_missing_place_is_named() {
        let only = |found: Vec<String>, what: &str| {
            assert!(found.len() == 1 && found[0].contains(what), "{found:?}");
        };
        only(findings("// CG-1 is no promise here\n", TEST, ROW, ""), "no documentation promises it");
        only(findings(DOC, "// fn cg1_x\nfn xcg1_y() {}", ROW, ""), "no test holds it");
        only(findings(DOC, TEST, "about CG-1", ""), "the ledger lacks it");
    }

    #[test]
    fn a_mutant_attacks_a_listed_guarantee() {
        let row = "[[mutant]]\nname = \"m\"\nguarantee = \"CG-2\"\nfile = \"a\"\nfind = \"b\"\nreplace = \"c\"\n\
                   package = \"d\"\ntest = \"e\"\nmessage = \"f\"\nloom = true\n";
        let found = findings(DOC, TEST, ROW, row);
        assert!(
            found.len() == 1 && found[0].starts_with("docs/verification/mutants.toml:2: mutant m"),
            "{found:?}"
        );
        assert!(findings(DOC, TEST, ROW, &row.replace("CG-2", "CG-1")).is_empty());
    }

    #[test]
    fn ids_are_whole_words() {
        assert_eq!(ids_in("see CG-1, (AS-12) and XX-3, ACG-1, CG-1x, CG--1"), [("CG", 1), ("AS", 12)]);
    }
}
