//! The rows for reading.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table, TableComponent};

use crate::plan::Subject;
use crate::rows::Row;
use crate::stats::{float, geometric_mean, integer, quantile};

/// What the mark behind a ratio means.
pub(crate) const NOTE: &str = "\
* Gave papers up or did not finish within two hours: the time that all papers would have taken, at most two hours.
(at best): who knows the servers, but has no more requests under way than there are tasks.";

/// The line of the bound.
const AT_BEST: &str = "(at best)";

/// Groups of servers that behave alike, by the first letter of their names.
const GROUPS: [(&str, &str); 4] = [("A B G", "ABG"), ("E F", "EF"), ("C", "C"), ("D", "D")];

/// A line for each row.
pub(crate) fn results(rows: &[Row]) -> String {
    let mut table = table(
        &[
            "server",
            "strategy",
            "ratio",
            "p90",
            "requests",
            "429",
            "429 to retries",
            "first ok",
            "lost",
            "unfinished",
        ],
        2,
    );
    for (n, row) in rows.iter().enumerate() {
        let repeated = n > 0 && rows[n - 1].server == row.server;
        table.add_row([
            if repeated { String::new() } else { row.server.clone() },
            row.strategy.clone(),
            ratio(row.ratio, row.unfinished, row.lost),
            format!("{:.3}", row.ratio_p90),
            format!("{:.0}", row.requests),
            format!("{:.1}", row.throttled),
            format!("{:.1}", row.throttled_retries),
            row.first_ok.map_or_else(|| "-".to_owned(), percent),
            short(row.lost),
            row.unfinished.to_string(),
        ]);
    }
    table.trim_fmt()
}

/// The servers on which each strategy was worst, and what they are.
pub(crate) fn worst(rows: &[Row], number: usize) -> String {
    let mut table = table(&["strategy", "worst on", "what it is", "ratio", "429", "lost", "unfinished"], 3);
    for strategy in strategies(rows) {
        let mut of: Vec<&Row> = rows.iter().filter(|row| row.strategy == strategy).collect();
        of.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
        for (n, row) in of.into_iter().take(number).enumerate() {
            table.add_row([
                if n > 0 { String::new() } else { row.strategy.clone() },
                row.server.clone(),
                row.model.clone(),
                ratio(row.ratio, row.unfinished, row.lost),
                format!("{:.1}", row.throttled),
                short(row.lost),
                row.unfinished.to_string(),
            ]);
        }
    }
    table.trim_fmt()
}

/// In the order of their first rows.
fn strategies(rows: &[Row]) -> Vec<&str> {
    let mut strategies: Vec<&str> = Vec::new();
    for row in rows {
        if !strategies.contains(&row.strategy.as_str()) {
            strategies.push(&row.strategy);
        }
    }
    strategies
}

/// A line for each strategy over all servers.
///
/// Below them, what a client is at best who knows the servers but has no more requests under way than there are tasks.
pub(crate) fn summary(rows: &[Row], subjects: &[Subject], random: bool) -> String {
    let groups: &[_] = if random { &[] } else { &GROUPS };
    let mut header = vec!["strategy", "geo mean"];
    header.extend(groups.iter().map(|group| group.0));
    header.extend(["p50", "p90", "max", "429", "429 to retries", "first ok", "lost", "unfinished"]);
    let mut table = table(&header, 1);
    for strategy in strategies(rows) {
        let of: Vec<&Row> = rows.iter().filter(|row| row.strategy == strategy).collect();
        table.add_row(line(strategy, &of, groups));
    }
    let best: Vec<_> = subjects.iter().map(|subject| (subject.name.as_str(), subject.at_best)).collect();
    table.add_row([vec![AT_BEST.to_owned()], ratios(&best, groups, " ")].concat());
    table.trim_fmt()
}

fn line(strategy: &str, rows: &[&Row], groups: &[(&str, &str)]) -> Vec<String> {
    let mean = |of: fn(&Row) -> f64| rows.iter().map(|row| of(row)).sum::<f64>() / float(rows.len());
    let lost = mean(|row| row.lost);
    let unfinished: usize = rows.iter().map(|row| row.unfinished).sum();
    let all: Vec<_> = rows.iter().map(|row| (row.server.as_str(), row.ratio)).collect();
    let mut line = vec![strategy.to_owned()];
    line.extend(ratios(&all, groups, mark(unfinished, lost)));
    line.extend([
        format!("{:.1}", mean(|row| row.throttled)),
        format!("{:.1}", mean(|row| row.throttled_retries)),
    ]);
    let (firsts, ok) = rows.iter().fold((0, 0), |sum, row| (sum.0 + row.cooldowns, sum.1 + row.firsts_ok));
    line.push(if firsts == 0 { "-".to_owned() } else { percent(integer(ok) / integer(firsts)) });
    line.extend([short(lost), unfinished.to_string()]);
    line
}

/// Geometric means of the ratios of all servers and of each group, then median, p90 and the worst.
fn ratios(of: &[(&str, f64)], groups: &[(&str, &str)], mark: &str) -> Vec<String> {
    let all: Vec<f64> = of.iter().map(|(_, ratio)| *ratio).collect();
    let group = |letters: &str| -> String {
        let is = |server: &str| server.starts_with(|c| letters.contains(c));
        let ratios: Vec<f64> = of.iter().filter(|(server, _)| is(server)).map(|(_, ratio)| *ratio).collect();
        if ratios.is_empty() { "-".to_owned() } else { format!("{:.3}", geometric_mean(&ratios)) }
    };
    let mut texts = vec![format!("{:.3}{mark}", geometric_mean(&all))];
    texts.extend(groups.iter().map(|(_, letters)| group(letters)));
    texts.extend([0.5, 0.9, 1.0].map(|share| format!("{:.2}", quantile(all.clone(), share))));
    texts
}

/// With a mark where it is not the time of all papers.
fn ratio(ratio: f64, unfinished: usize, lost: f64) -> String {
    format!("{ratio:.3}{}", mark(unfinished, lost))
}

fn mark(unfinished: usize, lost: f64) -> &'static str {
    if unfinished > 0 || lost > 0.0 { "*" } else { " " }
}

/// A mean of counts; a single one among many must not read as none.
fn short(mean: f64) -> String {
    if mean > 0.0 && mean < 9.95 { format!("{mean:.2}") } else { format!("{mean:.0}") }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The first `names` columns are names, the others numbers.
fn table(header: &[&str], names: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(header);
    table
        .set_style(TableComponent::HeaderLines, '─')
        .set_style(TableComponent::MiddleHeaderIntersections, '─');
    for column in table.column_iter_mut().skip(names) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
