//! The database: its schema, what may be written to it, and what a former run left in it.
//!
//! | table | one row for each | written |
//! |---|---|---|
//! | `papers` | page that was fetched and understood | by the builder, so that a later run need not fetch it again |
//! | `results` | answer of the language model | at the end of a paper's way; clears the paper's errors |
//! | `errors` | paper and stage that failed | instead of the above, with class and message |

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use rusqlite::{Connection, OpenFlags, params};

use super::llm::Reading;
use super::page::Page;
use super::strategy::Fault;

/// Marks a database as one of this program ("tgpp").
const APPLICATION: i32 = 0x7467_7070;
/// Raised with every change of the schema.
const VERSION: i32 = 1;

const SCHEMA: &str = "
CREATE TABLE papers (
    key        TEXT PRIMARY KEY,
    url        TEXT NOT NULL,
    title      TEXT NOT NULL,
    abstract   TEXT NOT NULL,
    mentions   TEXT NOT NULL CHECK (json_valid(mentions)),
    fetched_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ'))
) STRICT;
CREATE TABLE results (
    paper             TEXT PRIMARY KEY REFERENCES papers (key),
    model             TEXT NOT NULL,
    content           TEXT NOT NULL CHECK (json_valid(content)),
    datasets          INTEGER NOT NULL,
    prompt_tokens     INTEGER,
    completion_tokens INTEGER,
    at                TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ'))
) STRICT;
CREATE TABLE errors (
    paper   TEXT NOT NULL,
    stage   TEXT NOT NULL CHECK (stage IN ('fetch', 'build', 'llm')),
    class   TEXT NOT NULL CHECK (class IN ('transient', 'throttled', 'terminal', 'fatal')),
    message TEXT NOT NULL,
    at      TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
    PRIMARY KEY (paper, stage)
) STRICT;";

/// Something to write.
#[derive(Clone, Debug)]
pub(crate) enum Record {
    /// A page that was fetched and understood.
    Paper { key: Arc<str>, url: Arc<str>, page: Page },
    /// What the language model said about a paper.
    Result { paper: Arc<str>, reading: Reading },
    /// What went wrong with a paper.
    Error { paper: Arc<str>, stage: &'static str, class: &'static str, message: String },
}

impl Record {
    /// The record of a paper that a stage gave up.
    pub(crate) fn failed(paper: &Arc<str>, stage: &'static str, fault: &Fault) -> Self {
        Self::Error { paper: Arc::clone(paper), stage, class: fault.class(), message: fault.to_string() }
    }

    /// Writes the record in the transaction that is open.
    ///
    /// # Errors
    /// What the database says.
    pub(crate) fn write(&self, database: &Connection) -> rusqlite::Result<()> {
        let run = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
            database.prepare_cached(sql).and_then(|mut statement| statement.execute(values)).map(drop)
        };
        match self {
            Self::Paper { key, url, page } => run(
                "INSERT INTO papers (key, url, title, abstract, mentions) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (key) DO UPDATE SET url = excluded.url, title = excluded.title,
                 abstract = excluded.abstract, mentions = excluded.mentions, fetched_at = excluded.fetched_at",
                params![key, url, page.title, page.summary, serde_json::Value::from(page.mentions.clone()).to_string()],
            ),
            Self::Result { paper, reading } => {
                let Reading { model, content, datasets, prompt_tokens, completion_tokens } = reading;
                run(
                    "INSERT INTO results (paper, model, content, datasets, prompt_tokens, completion_tokens)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                     ON CONFLICT (paper) DO UPDATE SET model = excluded.model, content = excluded.content,
                     datasets = excluded.datasets, prompt_tokens = excluded.prompt_tokens,
                     completion_tokens = excluded.completion_tokens, at = excluded.at",
                    params![paper, model, content, i64::try_from(*datasets).ok(), prompt_tokens, completion_tokens],
                )?;
                run("DELETE FROM errors WHERE paper = ?1", params![paper])
            }
            Self::Error { paper, stage, class, message } => run(
                "INSERT INTO errors (paper, stage, class, message) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (paper, stage) DO UPDATE SET class = excluded.class, message = excluded.message,
                 at = excluded.at",
                params![paper, stage, class, message],
            ),
        }
    }
}

/// What a database holds of former runs.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    /// Papers with a result, or with an error that no repetition would cure.
    pub(crate) finished: HashSet<String>,
    /// Pages of the others.
    pub(crate) pages: HashMap<String, Page>,
    /// When it was read, on the database's clock: errors recorded since are new.
    pub(crate) at: String,
}

/// How the papers of a run have ended, as the database tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) persisted: usize,
    pub(crate) failed: usize,
    pub(crate) throttled: usize,
}

/// Makes sure that `path` is a database of this program, creating it if there is none, and reads what it holds.
///
/// # Errors
/// Names the path, and says what is wrong with it.
pub(crate) fn prepare(path: &Path) -> Result<Stored> {
    let name = || format!("the database {}", path.display());
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        if !folder.is_dir() {
            bail!("{}: there is no folder {}", name(), folder.display());
        }
    }
    if path.is_dir() {
        bail!("{} is a folder, not a file", name());
    }
    let database = Connection::open_with_flags(path, OpenFlags::default()).with_context(name)?;
    check(&database).with_context(name)?;
    stored(&database).with_context(name)
}

fn check(database: &Connection) -> Result<()> {
    let number = |sql| database.query_row(sql, [], |row| row.get::<_, i32>(0));
    // The first read of the file: whether it is a database at all shows here.
    match (number("PRAGMA application_id")?, number("PRAGMA user_version")?) {
        (APPLICATION, VERSION) => Ok(()),
        (APPLICATION, other) => {
            bail!("its schema has version {other}; this program writes version {VERSION}")
        }
        _ if number("SELECT count(*) FROM sqlite_schema")? > 0 => bail!("it belongs to another program"),
        _ => {
            let create = format!(
                "BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; {SCHEMA} COMMIT"
            );
            Ok(database.execute_batch(&create)?)
        }
    }
}

/// Counts how the papers with these keys have ended since `at`.
///
/// # Errors
/// The database cannot be read any more.
pub(crate) fn ended<'a>(path: &Path, at: &str, keys: impl Iterator<Item = &'a str>) -> Result<Ended> {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .with_context(|| format!("the database {}", path.display()))?;
    let mut persisted = database.prepare("SELECT EXISTS (SELECT 1 FROM results WHERE paper = ?1)")?;
    let mut errors = database
        .prepare("SELECT class FROM errors WHERE paper = ?1 AND at >= ?2 ORDER BY at DESC LIMIT 1")?;
    let mut ended = Ended::default();
    for key in keys {
        if persisted.query_row([key], |row| row.get(0))? {
            ended.persisted += 1;
        } else if let Some(class) = errors.query_map([key, at], |row| row.get::<_, String>(0))?.next() {
            match class?.as_str() {
                "throttled" => ended.throttled += 1,
                _ => ended.failed += 1,
            }
        }
    }
    Ok(ended)
}

fn stored(database: &Connection) -> Result<Stored> {
    let at = database.query_row("SELECT strftime('%Y-%m-%dT%H:%M:%fZ')", [], |row| row.get(0))?;
    let mut finished = database
        .prepare("SELECT paper FROM results UNION SELECT paper FROM errors WHERE class = 'terminal'")?;
    let finished = finished.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut pages = database.prepare(
        "SELECT key, title, abstract, mentions FROM papers
         WHERE key NOT IN (SELECT paper FROM results)",
    )?;
    let pages = pages.query_map([], |row| {
        let mentions: String = row.get(3)?;
        let mentions = serde_json::from_str(&mentions).unwrap_or_default();
        Ok((row.get(0)?, Page { title: row.get(1)?, summary: row.get(2)?, mentions }))
    })?;
    let pages = pages.collect::<rusqlite::Result<_>>()?;
    Ok(Stored { finished, pages, at })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn page() -> Page {
        Page { title: "T".into(), summary: "S".into(), mentions: vec!["'; DROP TABLE papers; --".into()] }
    }

    fn reading() -> Reading {
        let content = r#"{"datasets":[]}"#.to_owned();
        Reading { model: "m".into(), content, datasets: 0, prompt_tokens: Some(3), completion_tokens: None }
    }

    fn paper(key: &str) -> Record {
        Record::Paper { key: key.into(), url: "http://h/".into(), page: page() }
    }

    fn error(key: &str, class: &'static str) -> Record {
        Record::Error { paper: key.into(), stage: "llm", class, message: "no".into() }
    }

    #[test]
    fn a_later_run_sees_what_is_finished_and_which_pages_need_no_fetching() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("papers.db");
        let first = prepare(&path).unwrap();
        assert!(first.finished.is_empty());
        let database = Connection::open(&path).unwrap();
        let done = Record::Result { paper: "done".into(), reading: reading() };
        let records = [
            paper("done"),
            error("done", "throttled"),
            done,
            paper("later"),
            error("later", "throttled"),
            error("gone", "terminal"),
        ];
        for record in records.iter().chain(&records) {
            record.write(&database).unwrap();
        }
        let stored = prepare(&path).unwrap();
        assert_eq!(stored.finished, HashSet::from(["done".into(), "gone".into()]));
        assert_eq!(stored.pages.keys().collect::<Vec<_>>(), ["later"]);
        assert_eq!(stored.pages["later"], page());
        let keys = ["done", "later", "gone", "new"];
        let ended = |at: &str| ended(&path, at, keys.into_iter()).unwrap();
        assert_eq!(ended(&first.at), Ended { persisted: 1, failed: 1, throttled: 1 });
        assert_eq!(
            ended("9999"),
            Ended { persisted: 1, failed: 0, throttled: 0 },
            "old errors are another run's"
        );
        let errors: i64 = database.query_row("SELECT count(*) FROM errors", [], |row| row.get(0)).unwrap();
        assert_eq!(errors, 2, "one each for `later` and `gone`, however often they fail; none for `done`");
    }

    #[test]
    fn what_is_no_database_of_ours_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |path: &Path| format!("{:#}", prepare(path).unwrap_err());
        let text = folder.path().join("notes.txt");
        fs::write(&text, "not a database, but long enough to look at; ".repeat(40)).unwrap();
        let error = refused(&text);
        assert!(error.contains("notes.txt") && error.contains("not a database"), "{error}");
        assert!(fs::read_to_string(&text).unwrap().starts_with("not a database, but"), "it is left alone");
        let error = refused(&folder.path().join("missing/papers.db"));
        assert!(error.contains("there is no folder") && error.contains("missing"), "{error}");
        assert!(refused(folder.path()).contains("is a folder"));
        let foreign = folder.path().join("foreign.db");
        Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        assert!(refused(&foreign).contains("belongs to another program"));
        let newer = folder.path().join("newer.db");
        prepare(&newer).unwrap();
        Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
        assert!(refused(&newer).contains("version 99"));
    }
}
