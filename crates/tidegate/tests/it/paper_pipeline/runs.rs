//! Runs that go well.

use rusqlite::Connection;
use serde_json::Value;

use super::{Ran, Run, number};

/// What both sides counted must be the same: every request arrived, every answer was seen.
fn assert_both_sides_agree(json: &Value) {
    for (service, server) in [("fetch", "render"), ("llm", "chat")] {
        for (ours, theirs) in
            [("requests", "requests"), ("ok", "ok"), ("throttled", "throttled"), ("retries", "retries")]
        {
            let ours = number(json, &format!("/services/{service}/calls/{ours}"));
            assert_eq!(
                ours,
                number(json, &format!("/servers/{server}/{theirs}")),
                "{service} {theirs}: {json}"
            );
        }
        let throttled_retries = number(json, &format!("/services/{service}/calls/throttled_retries"));
        assert_eq!(throttled_retries, number(json, &format!("/servers/{server}/throttled_retries")));
    }
    let sum = |name: &str| -> u64 {
        ["fetch", "llm"]
            .iter()
            .map(|service| number(json, &format!("/services/{service}/calls/{name}")))
            .sum()
    };
    assert_eq!(number(json, "/requests"), sum("requests"));
    assert_eq!(number(json, "/throttled_requests"), sum("throttled"));
    assert_eq!(number(json, "/retries"), sum("retries"));
    assert_eq!(number(json, "/throttled_retries"), sum("throttled_retries"));
}

#[tokio::test]
async fn every_paper_is_persisted_and_the_report_is_one_json_object() {
    let ran = Run::quick(&[]).finish().await;
    let json = ran.success();
    assert_eq!(ran.stderr, "", "no progress beside JSON");
    assert_eq!((number(&json, "/papers"), number(&json, "/persisted")), (40, 40));
    for none in ["failed", "throttled", "lost", "left", "already_stored"] {
        assert_eq!(number(&json, &format!("/{none}")), 0, "{none}");
    }
    assert!(json["aborted"].is_null() && json["wall_s"].as_f64().unwrap() > 0.0);
    assert_both_sides_agree(&json);
    for stage in json["stages"].as_array().unwrap() {
        for count in
            "consumed completed emitted filtered failed throttled panicked left queue_high_water".split(' ')
        {
            assert!(stage[count].is_u64(), "{count} in {stage}");
        }
        for seconds in "busy blocked_on_output starved wall p50 p99".split(' ') {
            assert!(stage[seconds].is_f64(), "{seconds} in {stage}");
        }
    }
    assert_eq!((ran.count("papers"), ran.count("results"), ran.count("errors")), (40, 40, 0));
}

#[tokio::test]
async fn the_data_sets_that_a_page_mentions_arrive_in_the_database() {
    let ran = Run::quick(&[]).finish().await;
    ran.success();
    let database = Connection::open(ran.db()).unwrap();
    let mut rows = database
        .prepare("SELECT mentions, name.value ->> 'name' FROM papers JOIN results ON papers.key = paper, json_each(content, '$.datasets') name")
        .unwrap();
    let rows = rows.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap();
    let rows: Vec<_> = rows.map(Result::unwrap).collect();
    assert!(rows.len() > 20, "{rows:?}");
    for (mentions, name) in rows {
        assert!(mentions.contains(&name), "{name} in {mentions}");
    }
}

#[tokio::test]
async fn every_strategy_accounts_for_every_paper_on_a_hard_server() {
    for strategy in ["naive", "article", "tidegate"] {
        let ran = Run::quick(&["--strategy", strategy, "--server", "a4"]).finish().await;
        let json = ran.json();
        let sum: u64 =
            ["persisted", "failed", "throttled"].map(|end| number(&json, &format!("/{end}"))).iter().sum();
        assert_eq!((sum, number(&json, "/lost")), (40, 0), "{ran}");
        assert!(number(&json, "/throttled_requests") > 0, "{ran}");
        assert_eq!(ran.count("results"), number(&json, "/persisted"));
        assert_eq!(ran.count("errors WHERE class = 'throttled'"), number(&json, "/throttled"));
        assert_both_sides_agree(&json);
        if strategy == "tidegate" {
            assert_eq!(number(&json, "/persisted"), 40, "{ran}");
        }
    }
}

#[tokio::test]
async fn settings_come_from_the_environment() {
    let run = Run::quick(&[])
        .env("TIDEGATE_FETCH_MAX", "3")
        .env("TIDEGATE_LLM_MAX", "2")
        .env("TIDEGATE_ROUNDS", "5");
    let json = run.finish().await.success();
    assert!(number(&json, "/services/fetch/calls/peak_in_flight") <= 3, "{json}");
    assert!(number(&json, "/services/llm/calls/peak_in_flight") <= 2, "{json}");
    assert_eq!(number(&json, "/services/fetch/rounds"), 5);
}

#[tokio::test]
async fn what_is_stored_is_not_fetched_again() {
    let first = Run::quick(&["--quota", "10"]).finish().await;
    assert_eq!(first.code, Some(1), "{first}");
    let (pages, results) = (first.count("papers"), first.count("results"));
    let second = again(first, &[]).await;
    let json = second.success();
    assert_eq!(number(&json, "/already_stored"), results);
    assert_eq!(
        number(&json, "/servers/render/ok"),
        40 - pages,
        "pages without an answer are asked about, not fetched"
    );
    assert_eq!(number(&json, "/servers/chat/ok"), 40 - results);
    assert_eq!((second.count("papers"), second.count("results")), (40, 40));
    let third = again(second, &["--papers", "41"]).await;
    assert_eq!(number(&third.success(), "/requests"), 2, "one new paper");
}

async fn again(before: Ran, args: &[&str]) -> Ran {
    let usual = if args.is_empty() { &["--papers", "40"][..] } else { args };
    Run::in_folder(before.folder, &[&["--time-scale", "200", "--json"], usual].concat()).finish().await
}

#[tokio::test]
async fn people_get_tables_and_the_place_of_the_database() {
    let ran = Run::new(&["--papers", "40", "--time-scale", "200"]).finish().await;
    assert_eq!(ran.code, Some(0), "{ran}");
    for part in
        ["queue high water", "429 to retries", "cooldowns", "persisted  40", "lost       0", "papers.db"]
    {
        assert!(ran.stdout.contains(part), "{part}: {ran}");
    }
    assert!(ran.stderr.contains("40 papers into"), "{ran}");
    let widest = ran.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|widest| widest <= 120), "{ran}");
}

#[tokio::test]
async fn what_stays_throttled_goes_through_shrinking_rounds_and_is_then_given_up() {
    // A burst of 32 at a server that takes two, and three rounds of calls that wait so briefly that all of them end within
    // the cooldown of 60 s.
    let run =
        Run::quick(&["--server", "a4"]).env("TIDEGATE_FETCH_INITIAL", "32").env("TIDEGATE_DEADLINE", "5");
    let ran = run.env("TIDEGATE_ROUND_PAUSE", "5").finish().await;
    let json = ran.success();
    let later = json.pointer("/services/fetch/later_rounds").and_then(Value::as_array).unwrap();
    let concurrency: Vec<_> = later.iter().map(|round| number(round, "/concurrency")).collect();
    assert_eq!(concurrency, [16, 10], "{ran}");
    assert!(number(&later[0], "/papers") >= number(&later[1], "/papers"), "{ran}");
    let throttled = number(&json, "/throttled");
    assert!(throttled > 0, "{ran}");
    assert_eq!((number(&json, "/persisted"), number(&json, "/lost")), (40 - throttled, 0));
    assert_eq!(ran.count("errors WHERE class = 'throttled' AND stage = 'fetch'"), throttled);
}
