//! Runs that end early: the quota is used up, the disk is full, somebody presses Ctrl-C.

use std::path::Path;
use std::process::Command;

use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::{Run, count, number};

#[tokio::test]
async fn a_used_up_quota_stops_everybody_and_leaves_what_was_written() {
    let ran = Run::new(&["--papers", "300", "--time-scale", "200", "--json", "--quota", "50"]).finish().await;
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stderr.contains("You exceeded your current quota"), "{ran}");
    let json = ran.json();
    assert!(json["aborted"].as_str().unwrap().contains("401 Unauthorized"), "{ran}");
    assert_eq!(number(&json, "/servers/chat/ok"), 50, "{ran}");
    let refused = number(&json, "/servers/chat/refused");
    assert!((1..=32).contains(&refused), "at most one call for each worker: {ran}");
    let results = ran.count("results");
    assert!((18..=50).contains(&results), "all but those whose answer was still on its way: {results}");
    assert_eq!(number(&json, "/persisted"), results);
    assert_eq!(number(&json, "/left") + results, 300);
}

#[tokio::test]
async fn a_full_disk_aborts_with_its_cause() {
    // No file may grow beyond 256 blocks of 512 bytes; the signal that says so is ignored, the error is not.
    let mut run = Run::quick(&["--papers", "400"]);
    let mut shell = tokio::process::Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 256; exec \"$0\" \"$@\""]);
    let inner = run.command.as_std();
    shell.arg(inner.get_program()).args(["--papers", "400", "--time-scale", "200", "--json", "--db"]);
    shell.arg(super::db(run.folder.path()));
    shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    run.command = shell;
    let ran = run.finish().await;
    assert_eq!(ran.code, Some(1), "{ran}");
    let cause = ran.json()["aborted"].as_str().unwrap().to_owned();
    assert!(cause.contains("stage `db` met a fatal error"), "{cause}");
    assert!(cause.contains("disk"), "{cause}");
    assert_eq!(number(&ran.json(), "/persisted"), ran.count("results"), "what was acknowledged is there");
}

/// Sends the signal of Ctrl-C.
fn interrupt(process: u32) {
    assert!(Command::new("kill").args(["-INT", &process.to_string()]).status().unwrap().success());
}

/// Waits until the run has written a result.
async fn underway(db: &Path) {
    while !db.exists() || count(db, "sqlite_schema WHERE name = 'results'") == 0 || count(db, "results") == 0
    {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_interrupt_drains_what_is_under_way() {
    let mut run = Run::new(&["--papers", "2000", "--json"]);
    let child = run.spawn();
    underway(&super::db(run.folder.path())).await;
    interrupt(child.id().unwrap());
    let ran = run.finished(child).await;
    assert_eq!(ran.code, Some(130), "{ran}");
    let json = ran.json();
    assert_eq!(json["aborted"], "interrupted");
    let persisted = number(&json, "/persisted");
    assert!((1..2000).contains(&persisted), "{ran}");
    assert_eq!((number(&json, "/left"), number(&json, "/lost")), (2000 - persisted, 0));
    assert_eq!(number(&json, "/servers/chat/ok"), persisted, "every answer that was paid for is kept");
    assert_eq!((ran.count("results"), ran.count("papers")), (persisted, persisted));
}

#[tokio::test]
async fn a_second_interrupt_stops_at_once() {
    // On this server the drain would take minutes.
    let mut run = Run::new(&["--papers", "2000", "--server", "a4", "--time-scale", "1"]);
    let mut child = run.spawn();
    underway(&super::db(run.folder.path())).await;
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    interrupt(child.id().unwrap());
    while !said.next_line().await.unwrap().unwrap().contains("press Ctrl-C again to stop at once") {}
    interrupt(child.id().unwrap());
    let ran = run.finished(child).await;
    assert_eq!(ran.code, Some(130), "{ran}");
    assert!(ran.stdout.contains(&format!("persisted  {}\n", ran.count("results"))), "{ran}");
    assert!(
        ran.stdout.contains("lost       0\n") && ran.stdout.contains("for another run with this --db"),
        "{ran}"
    );
}

#[tokio::test]
async fn a_time_limit_ends_a_run_that_would_not_end() {
    let ran =
        Run::new(&["--server", "a4", "--time-scale", "1", "--time-limit", "1", "--json"]).finish().await;
    assert_eq!(ran.code, Some(1), "{ran}");
    assert_eq!(ran.json()["aborted"], "the time limit of 1 s is over");
}
