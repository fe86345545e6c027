//! The rows of `docs/verification/mutants.toml`, and what a row does to a text.

use std::path::{Component, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// A way to break the sources, and the test that must notice.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// The guarantee that it attacks.
    pub(crate) guarantee: String,
    /// The file that it changes, relative to the root.
    pub(crate) file: PathBuf,
    /// Text that occurs exactly once in the file.
    pub(crate) find: String,
    pub(crate) replace: String,
    pub(crate) package: String,
    /// The full path of the test that must fail.
    pub(crate) test: String,
    /// What the failing test must print.
    pub(crate) message: String,
    /// Whether the test is a model, run under the model checker.
    pub(crate) loom: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "mutant")]
    mutants: Vec<Row>,
}

/// Reads rows; each must be complete, with a name of its own.
pub(crate) fn parse(text: &str) -> Result<Vec<Row>> {
    let rows = toml::from_str::<File>(text)?.mutants;
    for (n, row) in rows.iter().enumerate() {
        row.check().with_context(|| format!("mutant {:?}", row.name))?;
        ensure!(
            !rows.iter().take(n).any(|other| other.name == row.name),
            "mutant {:?} is there twice",
            row.name
        );
    }
    Ok(rows)
}

impl Row {
    fn check(&self) -> Result<()> {
        for (field, value) in [
            ("name", &self.name),
            ("guarantee", &self.guarantee),
            ("find", &self.find),
            ("package", &self.package),
            ("test", &self.test),
            ("message", &self.message),
        ] {
            ensure!(!value.trim().is_empty(), "`{field}` is empty");
        }
        ensure!(self.find != self.replace, "`find` and `replace` are the same: it breaks nothing");
        let inside = self.file.components().all(|part| matches!(part, Component::Normal(_)));
        ensure!(inside, "`file` must be a path below the root, not {}", self.file.display());
        Ok(())
    }

    /// The broken text.
    pub(crate) fn apply(&self, text: &str) -> Result<String> {
        match text.matches(self.find.as_str()).count() {
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            0 => {
                anyhow::bail!("`find` does not occur in {}: adapt the row to the source", self.file.display())
            }
            n => anyhow::bail!("`find` occurs {n} times in {}: take more of the line", self.file.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"
[[mutant]]
name = "load-then-store"
guarantee = "XX-1"
file = "crates/a/src/word.rs"
find = "fetch_max(x)"
replace = "store(x)"
package = "a"
test = "models::xx1_holds"
message = "went down"
loom = true
"#;

    fn row() -> Row {
        parse(ROW).unwrap().remove(0)
    }

    fn refusal(text: &str) -> String {
        format!("{:#}", parse(text).unwrap_err())
    }

    #[test]
    fn a_whole_row_is_read() {
        let row = row();
        assert_eq!((row.name.as_str(), row.loom), ("load-then-store", true));
        assert!(parse("").unwrap().is_empty());
    }

    #[test]
    fn a_row_that_lacks_a_field_or_has_an_unknown_one_is_refused() {
        assert!(refusal(&ROW.replace("loom = true\n", "")).contains("loom"));
        assert!(refusal(&format!("{ROW}colour = 1\n")).contains("colour"));
    }

    #[test]
    fn a_name_given_twice_is_refused() {
        assert!(refusal(&format!("{ROW}{ROW}")).contains("twice"));
    }

    #[test]
    fn a_row_that_breaks_nothing_or_demands_nothing_is_refused() {
        assert!(refusal(&ROW.replace("store(x)", "fetch_max(x)")).contains("breaks nothing"));
        assert!(refusal(&ROW.replace("went down", "")).contains("message"));
    }

    #[test]
    fn a_file_outside_the_tree_is_refused() {
        assert!(refusal(&ROW.replace("crates/a", "../a")).contains("below the root"));
        assert!(refusal(&ROW.replace("crates/a", "/a")).contains("below the root"));
    }

    #[test]
    fn the_text_must_occur_exactly_once() {
        let row = row();
        assert_eq!(row.apply("w.fetch_max(x);").unwrap(), "w.store(x);");
        assert!(row.apply("w.fetch_min(x);").unwrap_err().to_string().contains("does not occur"));
        assert!(row.apply("fetch_max(x) fetch_max(x)").unwrap_err().to_string().contains("2 times"));
    }
}
