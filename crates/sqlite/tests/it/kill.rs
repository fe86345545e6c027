//! SW-1: what was acknowledged is there after `kill -9`.
#![expect(clippy::unwrap_used, reason = "a part of the tests, which may")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use tidegate_single_writer::Writer;
use tidegate_sqlite::SqliteOptions;

use crate::store::{Store, insert, schema};

/// Tells the child where to write, and from which number on.
const FILE: &str = "TIDEGATE_SQLITE_KILL_FILE";
const FROM: &str = "TIDEGATE_SQLITE_KILL_FROM";

/// Not a test of its own: what the other one starts, in a process of its own, and kills. Does nothing otherwise.
#[test]
fn child_writes_until_it_is_killed() {
    let (Ok(file), Ok(from)) = (std::env::var(FILE), std::env::var(FROM)) else { return };
    let from: i64 = from.parse().unwrap();
    let sink = SqliteOptions::new().schema(schema).open(file, insert).unwrap();
    let (writer, _owner) = Writer::builder().max_batch(8).spawn(sink).unwrap();
    std::thread::scope(|scope| {
        for producer in 0..4 {
            let writer = writer.clone();
            scope.spawn(move || {
                for number in (from + producer..).step_by(4) {
                    let saved = writer.send_blocking((number, 500)).unwrap().wait_blocking().unwrap();
                    // One write a line, only once the receipt says so.
                    println!("acknowledged {}", saved.ack);
                }
            });
        }
    });
}

#[test]
fn sw1_every_acknowledged_row_is_there_after_kill_9() {
    let store = Store::new();
    let mut acknowledged = BTreeSet::new();
    // Again and again over the same file, so that the recovery of a killed writer's log is killed into as well.
    for (round, kill_after) in [1, 40, 150, 400].into_iter().enumerate() {
        let from = 1_000_000 * round as i64;
        acknowledged.append(&mut write_and_kill(&store.path(), from, kill_after));
        assert_eq!(store.integrity(), "ok");
        let there: BTreeSet<_> = store.numbers().into_iter().collect();
        let lost: Vec<_> = acknowledged.difference(&there).collect();
        assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    }
    assert!(acknowledged.len() >= 591);
}

/// Starts a child that writes, kills it with SIGKILL after so many acknowledgements, and gives all it acknowledged.
fn write_and_kill(file: &Path, from: i64, kill_after: usize) -> BTreeSet<i64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child_writes_until_it_is_killed", "--nocapture"])
        .env(FILE, file)
        .env(FROM, from.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut acknowledged = BTreeSet::new();
    let mut killed = false;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        // The harness prints lines of its own.
        let number: Option<i64> =
            line.unwrap().rsplit_once("acknowledged ").and_then(|(_, number)| number.parse().ok());
        acknowledged.extend(number);
        if acknowledged.len() >= kill_after && !killed {
            child.kill().unwrap();
            killed = true;
        }
    }
    assert!(killed, "the child ended by itself: {:?}", child.wait());
    child.wait().unwrap();
    acknowledged
}
