//! What came of it, as a table and as JSON.

use std::io::Write;

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::contest::{Case, Contestant, Goal};
use crate::harness::{Outcome, Score};

/// One contestant of one case with one number of threads.
#[derive(Serialize)]
pub(crate) struct Row {
    suite: &'static str,
    case: &'static str,
    contestant: &'static str,
    threads: usize,
    median: f64,
    unit: &'static str,
    ratio_to_floor: f64,
    rounds: usize,
    #[serde(skip)]
    tried: usize,
    #[serde(skip)]
    goals: String,
}

pub(crate) fn rows(suite: &'static str, case: &Case, threads: usize, outcome: &Outcome) -> Vec<Row> {
    let row = |(number, (contestant, score)): (usize, (&Contestant, &Score))| Row {
        suite,
        case: case.name,
        contestant: contestant.name,
        threads,
        median: thousandths(score.median * case.unit.per_second()),
        unit: case.unit.name(),
        ratio_to_floor: thousandths(score.ratio),
        rounds: outcome.rounds.len(),
        tried: outcome.tried,
        goals: verdicts(case, threads, number, outcome),
    };
    case.contestants.iter().zip(&outcome.scores).enumerate().map(row).collect()
}

/// No more digits than can be believed.
fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

pub(crate) fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["case", "contestant", "threads", "median", "unit", "x floor", "rounds", "goal"]);
    let mut last = ("", 0);
    for row in rows {
        let case = if last == (row.case, row.threads) { "" } else { row.case };
        last = (row.case, row.threads);
        table.add_row([
            case.to_owned(),
            row.contestant.to_owned(),
            row.threads.to_string(),
            format!("{:.2}", row.median),
            row.unit.to_owned(),
            format!("{:.2}", row.ratio_to_floor),
            format!("{} of {}", row.rounds, row.tried),
            row.goals.clone(),
        ]);
    }
    for number in [2, 3, 5, 6] {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// Whether a contestant kept what it promises with so many threads.
fn verdicts(case: &Case, threads: usize, number: usize, outcome: &Outcome) -> String {
    let goals =
        case.contestants[number].goals.iter().filter(|goal| goal.threads.is_none_or(|only| only == threads));
    let verdict = |goal: &Goal| {
        let other = |name| case.contestants.iter().position(|contestant| contestant.name == name);
        let ratio = thousandths(outcome.ratio(number, goal.of.and_then(other).unwrap_or_default()));
        let kept = if ratio <= goal.most { "reached" } else { "missed" };
        match goal.of {
            None => format!("{} {kept}", goal.most),
            Some(name) => format!("{} of {name} {kept}: {ratio:.2}", goal.most),
        }
    };
    goals.map(verdict).collect::<Vec<_>>().join("; ")
}

/// Writes the rows as one array, a row a line.
pub(crate) fn json(rows: &[Row], mut out: impl Write) -> Result<()> {
    for (n, row) in rows.iter().enumerate() {
        out.write_all(if n == 0 { b"[\n  " } else { b",\n  " })?;
        serde_json::to_writer(&mut out, row)?;
    }
    out.write_all(if rows.is_empty() { b"[]\n" } else { b"\n]\n" })?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contest::Unit;

    fn two() -> Vec<Row> {
        let contestant = |name| Contestant::each(name, || ());
        let of_load = Goal { most: 2.5, of: Some("load"), threads: Some(2) };
        let elsewhere = Goal { most: 0.1, of: None, threads: Some(1) };
        let gate = contestant("gate").at_most(1.2).promises(of_load).promises(elsewhere);
        let contestants = vec![contestant("load"), gate];
        let case = Case { name: "check", unit: Unit::Nanoseconds, threads: &[2], contestants };
        let scores =
            vec![Score { median: 5e-10, ratio: 1.0 }, Score { median: 1.234_567e-9, ratio: 2.469_134 }];
        let rounds = vec![vec![1.0, 2.469_134]; 7];
        rows("suite", &case, 2, &Outcome { scores, rounds, tried: 9 })
    }

    #[test]
    fn a_row_of_json_has_what_is_promised() {
        let mut out = Vec::new();
        json(&two(), &mut out).unwrap();
        let expected = "[\n  \
            {\"suite\":\"suite\",\"case\":\"check\",\"contestant\":\"load\",\"threads\":2,\"median\":0.5,\"unit\":\"ns\",\
            \"ratio_to_floor\":1.0,\"rounds\":7},\n  \
            {\"suite\":\"suite\",\"case\":\"check\",\"contestant\":\"gate\",\"threads\":2,\"median\":1.235,\"unit\":\"ns\",\
            \"ratio_to_floor\":2.469,\"rounds\":7}\n]\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let mut none = Vec::new();
        json(&[], &mut none).unwrap();
        assert_eq!(none, b"[]\n");
    }

    #[test]
    fn the_table_names_a_case_once_and_says_whether_a_goal_was_reached() {
        let table = table(&two());
        assert_eq!(table.matches("check").count(), 1);
        assert!(table.contains("7 of 9"), "{table}");
        assert!(
            table.contains("1.2 missed; 2.5 of load reached: 2.47\n") || table.ends_with("2.47"),
            "{table}"
        );
    }
}
