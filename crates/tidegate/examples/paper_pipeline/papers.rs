//! Which papers to process: generated ones, or those of a list.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use url::Url;

/// A paper to process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Paper {
    /// Names it in the database, the same in every run.
    pub(crate) key: Arc<str>,
    /// Where its page is.
    pub(crate) url: Url,
}

/// Papers 1 to `count` of the rendering service. Its port changes from run to run, so the key leaves it out.
pub(crate) fn generated(base: &Url, count: usize) -> Result<Vec<Paper>> {
    (1..=count)
        .map(|id| {
            let key = format!("paper/{id}");
            Ok(Paper { url: base.join(&key)?, key: key.into() })
        })
        .collect()
}

/// The papers of a list: one URL a line; blank lines and comments (#) are skipped, repetitions too.
///
/// # Errors
/// Names the file, and the line that is no URL.
pub(crate) fn listed(file: &Path) -> Result<Vec<Paper>> {
    let bytes = fs::read(file).with_context(|| format!("cannot read the list of URLs {}", file.display()))?;
    let mut seen = HashSet::new();
    let mut papers = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let place = || format!("{}, line {number}", file.display());
        let line = std::str::from_utf8(line).with_context(place)?.trim_start_matches('\u{feff}').trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let url = page_url(line).with_context(|| format!("`{line}` is not a URL")).with_context(place)?;
        if seen.insert(url.clone()) {
            papers.push(Paper { key: url.as_str().into(), url });
        }
    }
    if papers.is_empty() {
        bail!("{} holds no URL", file.display());
    }
    Ok(papers)
}

fn page_url(line: &str) -> Result<Url> {
    let url = Url::parse(line)?;
    if !matches!(url.scheme(), "http" | "https") {
        bail!("only http and https are fetched, not {}", url.scheme());
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(content: &[u8]) -> Result<Vec<Paper>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), content).unwrap();
        let name = file.path().display().to_string();
        listed(file.path()).map_err(|error| format!("{error:#}").replace(&name, "LIST"))
    }

    #[test]
    fn comments_blanks_repetitions_and_windows_lines_are_understood() {
        let papers =
            list(b"\xef\xbb\xbf# mine\r\nhttps://a.org/1\r\n\r\n  http://b.org/2  \nhttps://a.org/1\n")
                .unwrap();
        let keys: Vec<_> = papers.iter().map(|paper| &*paper.key).collect();
        assert_eq!(keys, ["https://a.org/1", "http://b.org/2"]);
    }

    #[test]
    fn a_bad_line_is_named_with_its_file() {
        let error = list(b"https://a.org/1\n\na.org/2\n").unwrap_err();
        assert!(error.starts_with("LIST, line 3: `a.org/2` is not a URL"), "{error}");
        let error = list(b"file:///etc/passwd\n").unwrap_err();
        assert!(error.starts_with("LIST, line 1") && error.contains("not file"), "{error}");
        let error = list(b"https://a.org/1\n\xff\xfe\n").unwrap_err();
        assert!(error.starts_with("LIST, line 2"), "{error}");
    }

    #[test]
    fn an_empty_or_missing_list_is_an_error() {
        assert_eq!(list(b"# nothing\n").unwrap_err(), "LIST holds no URL");
        let error = listed(Path::new("no/such/list")).unwrap_err();
        assert!(format!("{error:#}").contains("no/such/list"));
    }

    #[test]
    fn generated_papers_have_keys_without_the_port() {
        let papers = generated(&Url::parse("http://127.0.0.1:4567/").unwrap(), 2).unwrap();
        assert_eq!(&*papers[1].key, "paper/2");
        assert_eq!(papers[1].url.as_str(), "http://127.0.0.1:4567/paper/2");
    }
}
