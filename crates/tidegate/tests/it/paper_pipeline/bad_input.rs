//! What is wrong with the input is said, by name, before anything starts.

use std::fs;

use super::Run;

async fn refused(run: Run) -> (Option<i32>, String) {
    let ran = run.finish().await;
    assert_eq!(ran.stdout, "", "{ran}");
    assert_eq!(ran.count_if_any(), 0, "{ran}");
    (ran.code, ran.stderr)
}

impl super::Ran {
    fn count_if_any(&self) -> u64 {
        if self.db().exists() { self.count("papers") } else { 0 }
    }
}

#[tokio::test]
async fn a_bad_setting_is_refused_with_its_name_its_value_and_what_is_allowed() {
    let (code, error) = refused(Run::quick(&[]).env("TIDEGATE_LLM_MAX", "lots")).await;
    assert_eq!(code, Some(2));
    assert_eq!(error, "error: TIDEGATE_LLM_MAX is \"lots\", but must be a whole number from 1 to 100000\n");
    let (code, error) = refused(Run::quick(&[]).env("TIDEGATE_ROUND_PAUSES", "1")).await;
    assert_eq!(code, Some(2));
    assert!(error.contains("TIDEGATE_ROUND_PAUSES is not a setting"), "{error}");
}

#[tokio::test]
async fn bad_arguments_are_refused() {
    for (bad, said) in [
        (&["--time-scale", "0"][..], "--time-scale"),
        (&["--time-scale", "NaN"], "from 0.01 to 1000"),
        (&["--papers", "-3"], "-3"),
        (&["--server", "h1"], "possible values: a1"),
        (&["--urls", "list.txt"], "--llm-url"),
        (&["--what"], "--what"),
    ] {
        let (code, error) = refused(Run::new(bad)).await;
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(said), "{said}: {error}");
    }
}

#[tokio::test]
async fn a_list_that_cannot_be_used_is_refused_with_its_name_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("list.txt");
    let path = list.to_str().unwrap();
    let run = || Run::new(&["--urls", path, "--llm-url", "http://127.0.0.1:9/v1"]);
    let (code, error) = refused(run()).await;
    assert_eq!(code, Some(1));
    assert!(error.contains("list.txt") && error.contains("cannot read"), "{error}");
    fs::write(&list, "# mine\nhttps://a.org/1\n\nnot a url\n").unwrap();
    let (code, error) = refused(run()).await;
    assert_eq!(code, Some(1));
    assert!(error.contains("list.txt, line 4") && error.contains("not a url"), "{error}");
}

#[tokio::test]
async fn a_database_that_cannot_be_used_is_refused_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(&text, "something else ".repeat(100)).unwrap();
    for (path, said) in [
        (folder.path().join("missing/papers.db"), "there is no folder"),
        (text.clone(), "not a database"),
        (folder.path().to_owned(), "is a folder"),
    ] {
        let mut run = Run::quick(&[]);
        run.command = tokio::process::Command::new(super::binary::path());
        run.command.arg("--db").arg(&path).args(["--papers", "3"]);
        run.command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let (code, error) = refused(run).await;
        assert_eq!(code, Some(1), "{error}");
        assert!(error.contains(said) && error.contains(path.to_str().unwrap()), "{error}");
    }
    assert_eq!(fs::read_to_string(&text).unwrap(), "something else ".repeat(100), "it was left alone");
}
