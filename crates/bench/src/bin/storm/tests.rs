//! The scenarios as a whole.

use clap::Parser;
use serde_json::Value;

use crate::args::Args;
use crate::plan::Plan;
use crate::plot;
use crate::rows::{Row, rows};
use crate::run::Outcome;
use crate::table;

fn plan(arguments: &str) -> Plan {
    Plan::of(&Args::try_parse_from(arguments.split_whitespace()).unwrap()).unwrap()
}

fn outcomes(arguments: &str) -> Vec<Outcome> {
    plan(arguments).run().unwrap()
}

fn rows_of(arguments: &str) -> Vec<Row> {
    let plan = plan(arguments);
    rows(&plan, &plan.run().unwrap())
}

#[test]
fn the_same_options_give_the_same_bytes_on_any_number_of_threads() {
    for what in ["storm --server A1,C1,D3,E1 --seeds 2 --papers 200", "storm --random 7 --papers 60"] {
        let json = |more: &str| serde_json::to_string(&rows_of(&format!("{what} {more}"))).unwrap();
        let first = json("--threads 1");
        assert_eq!(first, json("--threads 1"));
        assert_eq!(first, json("--threads 3"));
        assert_ne!(first, json("--rng 2"));
    }
}

#[test]
fn a_tiny_run_goes_as_it_always_went() {
    // One token a second, two to begin with: one of the first three is late, and tries again a second later.
    let run = outcomes("storm --server A4 --strategy naive --seeds 1 --papers 6 --tasks 3")[0];
    let tally = run.tally;
    assert_eq!((tally.requests, tally.done, tally.throttled, tally.throttled_retries), (13, 6, 7, 3));
    assert_eq!((tally.firsts, tally.firsts_ok, run.lost, run.finished), (7, 4, 0, true));
    assert!((run.time - 8.114).abs() < 1e-9, "{}", run.time);
}

#[test]
fn every_strategy_does_every_paper_of_a_server_that_is_never_short() {
    // Fewer papers than there are tokens.
    for row in rows_of("storm --server A1 --papers 50 --seeds 3") {
        let counts = (row.requests, row.throttled, row.lost, row.unfinished, row.cooldowns);
        assert_eq!(counts, (50.0, 0.0, 0.0, 0, 0), "{}", row.strategy);
        assert_eq!(row.first_ok, None);
    }
}

#[test]
fn a_limiter_that_is_told_the_rate_keeps_it_on_the_paused_clock() {
    for row in rows_of("storm --server A3,B2,D1,F --strategy governor --seeds 3") {
        assert_eq!(row.throttled, 0.0, "{}", row.server);
        assert!((1.05..1.3).contains(&row.ratio), "{}: {}", row.server, row.ratio);
    }
}

#[test]
fn hints_are_heeded_where_there_are_any() {
    let row = |server| rows_of(&format!("storm --server {server} --strategy backon --seeds 3")).remove(0);
    assert_eq!(row("B1").first_ok, Some(1.0), "the server said when its window ends");
    assert!(row("B2").first_ok < Some(0.5));
}

#[test]
fn papers_that_were_given_up_do_not_make_a_run_fast() {
    let row = rows_of("storm --server D1 --strategy naive --seeds 3").remove(0);
    assert!(row.lost > 900.0 && row.unfinished == 0);
    assert!((row.ratio - 7200.0 / 471.0).abs() < 0.01, "the limit: {}", row.ratio);
}

#[test]
fn the_rows_have_the_keys_that_readers_rely_on() {
    let rows =
        serde_json::to_value(rows_of("storm --server A1,F --strategy article,tidegate --seeds 2")).unwrap();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 4);
    let keys = ["ratio", "ratio_p90", "requests", "throttled", "throttled_retries", "lost", "first_ok"];
    for row in rows {
        assert_eq!((&row["suite"], &row["seeds"]), (&Value::from("storm"), &Value::from(2)));
        assert!(keys.iter().all(|key| row[key].is_number()), "{row}");
        assert!(row["unfinished"].is_u64());
    }
    let names: Vec<_> = rows.iter().map(|row| (row["server"].as_str(), row["strategy"].as_str())).collect();
    assert_eq!(names[1], (Some("A1"), Some("tidegate")));
    assert_eq!(names[2], (Some("F"), Some("article")));
}

#[test]
fn tables_and_picture_show_every_server_and_strategy() {
    let plan = plan("storm --server A1,C2,G --strategy naive,tidegate --seeds 1 --papers 100");
    let rows = rows(&plan, &plan.run().unwrap());
    let (results, svg) = (table::results(&rows), plot::svg(&rows).unwrap());
    let summary = table::summary(&rows, &plan.subjects, false);
    for name in ["A1", "C2", "G"] {
        assert!(results.contains(name) && svg.contains(name), "{name}");
    }
    for name in ["naive", "tidegate"] {
        assert!(results.contains(name) && summary.contains(name) && svg.contains(name), "{name}");
    }
    assert!(summary.contains("A B G") && !table::summary(&rows, &plan.subjects, true).contains("A B G"));
    assert!(table::worst(&rows, 1).lines().count() == 4);
}

#[test]
fn a_server_is_found_by_its_name_in_any_case_and_a_missing_one_is_named() {
    let names = |arguments: &str| plan(arguments).subjects.into_iter().map(|s| s.name).collect::<Vec<_>>();
    assert_eq!(names("storm --server g,A1"), ["A1", "G"]);
    assert_eq!(names("storm --random 20 --server R017"), ["R017"]);
    let args = Args::try_parse_from(["storm", "--server", "A1,Z9"]).unwrap();
    let error = Plan::of(&args).map(drop).unwrap_err().to_string();
    assert_eq!(error, "no server is called Z9: there are A1 to G");
}

#[test]
fn numbers_out_of_range_are_refused() {
    for arguments in
        ["--seeds 0", "--random 10001", "--tasks 0", "--papers 0", "--threads 0", "--strategy best"]
    {
        assert!(Args::try_parse_from(format!("storm {arguments}").split(' ')).is_err(), "{arguments}");
    }
    assert_eq!(plan(&format!("storm --seeds 2 --rng {}", u64::MAX)).seeds, [u64::MAX, 0]);
}

#[test]
fn a_trace_has_a_line_for_each_request_and_each_answer() {
    let lines = plan("storm --server A4 --strategy tidegate --papers 6 --tasks 3").trace().unwrap();
    let of = |event: &str| lines.iter().filter(|line| line.contains(event)).count();
    assert_eq!(of("  ok "), 6);
    assert_eq!(of("  send"), 6 + of("  429"));
    assert!(lines.last().is_some_and(|line| line.contains("finished: true")));
}
