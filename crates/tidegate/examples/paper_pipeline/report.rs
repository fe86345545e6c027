//! The report at the end: one JSON object, or tables for people.

use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::Duration;

use clap::ValueEnum;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table, TableComponent};
use serde_json::{Value, json};
use tidegate::pipeline::{PipelineReport, StageReport};
use tidegate_servers::ServerId;

use super::errand::Round;
use super::meter::Counts;
use super::servers::service::Tally;
use super::stages;
use super::store::Ended;
use super::strategy::Performance;

/// Everything that is known at the end of a run.
pub(crate) struct Report {
    /// Papers that were asked for, and those of them that a former run had finished.
    pub(crate) asked: usize,
    pub(crate) already_stored: usize,
    /// Papers that this run had to do, and what became of them.
    pub(crate) papers: usize,
    pub(crate) ended: Ended,
    pub(crate) services: [Service; 2],
    pub(crate) servers: Vec<Server>,
    pub(crate) wall: Duration,
    pub(crate) interrupted: bool,
    /// Why the run is not whole; none if it is.
    pub(crate) aborted: Option<String>,
    /// What its user should know all the same.
    pub(crate) warning: Option<String>,
    pub(crate) pipeline: PipelineReport,
    pub(crate) db: PathBuf,
    pub(crate) strategy: &'static str,
    pub(crate) server: Option<ServerId>,
    pub(crate) time_scale: f64,
}

/// One of the two services, as its callers saw it.
pub(crate) struct Service {
    name: &'static str,
    counts: Counts,
    performance: Performance,
    rounds: u32,
    later: Vec<Round>,
}

impl Service {
    pub(crate) fn of(name: &'static str, service: &stages::Service) -> Self {
        let later = service.log.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (counts, performance) = (service.caller.counts(), service.caller.performance());
        Self { name, counts, performance, rounds: service.rounds.rounds, later }
    }
}

/// One of the two services, as it saw its callers.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) tally: Tally,
}

impl Report {
    /// Papers that an interrupted or aborted run did not get to: nothing is recorded, and another run does them.
    fn left(&self) -> usize {
        if self.aborted.is_some() { self.unaccounted() } else { 0 }
    }

    /// Papers of a whole run that are neither persisted nor recorded as failed or throttled: there must be none.
    pub(crate) fn lost(&self) -> usize {
        if self.aborted.is_some() { 0 } else { self.unaccounted() }
    }

    fn unaccounted(&self) -> usize {
        let Ended { persisted, failed, throttled } = self.ended;
        self.papers.saturating_sub(persisted + failed + throttled)
    }

    /// What went wrong with the run as a whole.
    pub(crate) fn problem(&self) -> Option<String> {
        let Ended { persisted, failed, throttled } = self.ended;
        if let Some(cause) = &self.aborted {
            return Some(format!("the run ended early: {cause}"));
        }
        if self.lost() > 0 {
            return Some(format!("{} papers are lost: neither stored nor recorded as failed", self.lost()));
        }
        if self.papers > 0 && persisted == 0 {
            let stages = self.pipeline.stages.iter();
            let first = stages.flat_map(|stage| &stage.errors).next();
            let first = first.map(|error| format!("; the first: {error}")).unwrap_or_default();
            return Some(format!(
                "no paper could be processed ({failed} failed, {throttled} throttled){first}"
            ));
        }
        None
    }

    pub(crate) fn json(&self) -> Value {
        let total = |count: fn(&Counts) -> u64| {
            self.services.iter().map(|service| count(&service.counts)).sum::<u64>()
        };
        let services = self.services.iter().map(|service| {
            let Service { counts, performance, rounds, later, .. } = service;
            (service.name.to_owned(), json!({ "calls": counts, "concurrency": performance, "rounds": rounds, "later_rounds": later }))
        });
        let servers = self.servers.iter().map(|server| (server.name.to_owned(), json!(server.tally)));
        json!({
            "strategy": self.strategy,
            "server": self.server.map(name),
            "time_scale": self.time_scale,
            "asked": self.asked,
            "already_stored": self.already_stored,
            "papers": self.papers,
            "persisted": self.ended.persisted,
            "failed": self.ended.failed,
            "throttled": self.ended.throttled,
            "left": self.left(),
            "lost": self.lost(),
            "requests": total(|counts| counts.requests),
            "throttled_requests": total(|counts| counts.throttled),
            "retries": total(|counts| counts.retries),
            "throttled_retries": total(|counts| counts.throttled_retries),
            "wall_s": self.wall.as_secs_f64(),
            "ideal_s": self.ideal(),
            "aborted": self.aborted,
            "warning": self.warning,
            "stages": self.pipeline.stages,
            "services": services.collect::<serde_json::Map<_, _>>(),
            "servers": servers.collect::<serde_json::Map<_, _>>(),
            "db": self.db,
        })
    }

    /// Seconds that a client who knows the server would take; known for 1000 papers.
    fn ideal(&self) -> Option<f64> {
        let server = self.server.filter(|_| self.papers == 1000)?;
        Some(f64::from(server.ideal_for_1000()) / self.time_scale)
    }

    /// The report as tables.
    pub(crate) fn text(&self) -> String {
        let sections = [
            Some(self.headline()),
            Some(format!(
                "Stages (busy, blocked and starved of all workers added up; p50 and p99 for one item)\n{}",
                self.stages()
            )),
            Some(format!("Calls\n{}", self.calls())),
            Some(format!("Concurrency\n{}", self.concurrency())),
            (!self.servers.is_empty()).then(|| format!("As the servers counted\n{}", self.tallies())),
            Some(self.outcome()),
        ];
        sections.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
    }

    fn headline(&self) -> String {
        let server = match self.server {
            Some(server) => format!("server {}, time scale {}", name(server), self.time_scale),
            None => "your list".to_owned(),
        };
        format!("Paper pipeline: strategy {}, {server}", self.strategy)
    }

    fn outcome(&self) -> String {
        let Ended { persisted, failed, throttled } = self.ended;
        let mut rows = vec![
            ("papers", self.papers.to_string()),
            ("persisted", persisted.to_string()),
            ("failed", failed.to_string()),
            ("throttled", throttled.to_string()),
            ("lost", self.lost().to_string()),
        ];
        if self.left() > 0 {
            rows.push(("left", format!("{}, for another run with this --db", self.left())));
        }
        if self.already_stored > 0 {
            rows[0].1 =
                format!("{} of {}; {} were stored before", self.papers, self.asked, self.already_stored);
        }
        let ideal = self.ideal().map(|ideal| format!("; a client that knows the server: {ideal:.1} s"));
        rows.push(("wall", format!("{:.1} s{}", self.wall.as_secs_f64(), ideal.unwrap_or_default())));
        rows.push(("database", self.db.display().to_string()));
        rows.extend(self.warning.clone().map(|warning| ("warning", warning)));
        let rows = rows.into_iter().map(|(name, value)| format!("{name:<10} {value}"));
        rows.collect::<Vec<_>>().join("\n")
    }

    /// A column for each stage that had anything to do.
    fn stages(&self) -> String {
        let stages = self.pipeline.stages.iter().filter(|stage| stage.consumed + stage.emitted > 0);
        let stages: Vec<_> = stages.collect();
        let mut table =
            table(&[&["stage"], &stages.iter().map(|stage| &*stage.name).collect::<Vec<_>>()[..]].concat());
        let mut row = |name: &str, cell: fn(&StageReport) -> String| {
            table.add_row([name.to_owned()].into_iter().chain(stages.iter().map(|stage| cell(stage))));
        };
        row("workers", |stage| stage.workers.to_string());
        row("consumed", |stage| stage.consumed.to_string());
        row("completed", |stage| stage.completed.to_string());
        row("emitted", |stage| stage.emitted.to_string());
        row("filtered", |stage| stage.filtered.to_string());
        row("failed", |stage| stage.failed.to_string());
        row("throttled", |stage| stage.throttled.to_string());
        row("panicked", |stage| stage.panicked.to_string());
        row("left", |stage| stage.left.to_string());
        row("queued", |stage| stage.queued.to_string());
        row("busy", |stage| seconds(stage.busy));
        row("blocked on output", |stage| seconds(stage.blocked_on_output));
        row("starved", |stage| seconds(stage.starved));
        row("queue high water", |stage| format!("{}/{}", stage.queue_high_water, stage.queue_capacity));
        row("wall", |stage| seconds(stage.wall));
        row("p50", |stage| milliseconds(stage.p50));
        row("p99", |stage| milliseconds(stage.p99));
        align(table)
    }

    fn calls(&self) -> String {
        let mut table =
            table(&["service", "requests", "ok", "429", "retries", "429 to retries", "peak in flight"]);
        for Service { name, counts, .. } in &self.services {
            let Counts { requests, ok, throttled, retries, throttled_retries, peak_in_flight, .. } = counts;
            let counts = [requests, ok, throttled, retries].into_iter().map(u64::to_string);
            let again = format!("{throttled_retries} ({})", percent(*throttled_retries, *retries));
            let row = [(*name).to_owned()].into_iter().chain(counts);
            table.add_row(row.chain([again, peak_in_flight.to_string()]));
        }
        align(table)
    }

    fn concurrency(&self) -> String {
        let mut table =
            table(&["service", "initial", "peak", "final", "ramp", "cooldowns", "rounds", "later rounds"]);
        for Service { name, performance, rounds, later, .. } in &self.services {
            let Performance { initial, peak, last, ramp_per_s, cooldowns } = performance;
            let took_place = later.iter().map(|round| format!("{} at {}", round.papers, round.concurrency));
            let later: Vec<_> = took_place.collect();
            let numbers = [initial, peak, last].into_iter().map(usize::to_string);
            let row = [(*name).to_owned()].into_iter().chain(numbers).chain([
                format!("+{ramp_per_s:.2}/s"),
                cooldowns.to_string(),
                format!("{} of {rounds}", later.len() + 1),
                if later.is_empty() { "-".to_owned() } else { later.join(", ") },
            ]);
            table.add_row(row);
        }
        align(table)
    }

    fn tallies(&self) -> String {
        let mut table =
            table(&["server", "requests", "ok", "429", "401", "429 to retries", "peak in flight"]);
        for Server { name, tally } in &self.servers {
            let Tally { requests, ok, throttled, refused, throttled_retries, max_in_flight, .. } = tally;
            let counts = [requests, ok, throttled, refused, throttled_retries, max_in_flight];
            table.add_row([(*name).to_owned()].into_iter().chain(counts.into_iter().map(u64::to_string)));
        }
        align(table)
    }
}

fn name(server: ServerId) -> String {
    server.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(header);
    table
        .set_style(TableComponent::HeaderLines, '─')
        .set_style(TableComponent::MiddleHeaderIntersections, '─');
    table
}

/// Names to the left, numbers to the right, nothing behind them.
fn align(mut table: Table) -> String {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

fn percent(part: u64, whole: u64) -> String {
    (part * 100).checked_div(whole).map_or_else(|| "-".to_owned(), |share| format!("{share} %"))
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
