//! `cargo x tidy`: cheap checks of the sources; each finding says where, what, and what to do.

use anyhow::Result;

use crate::screen::Screen;
use crate::table::Table;
use crate::tally::Tally;
use crate::tidy::{self, Repo};
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, screen: &mut Screen) -> Result<bool> {
    screen.header("tidy");
    let repo = Repo::read(workspace)?;
    let mut table = Table::new(["check", "findings", "verdict"]);
    let mut tally = Tally::default();
    let mut row = |name: &str, findings: usize| {
        tally += Tally::one(findings == 0);
        let verdict = if findings == 0 { "passed" } else { "FAILED" };
        table.row([name.to_owned(), findings.to_string(), verdict.to_owned()]);
    };
    for (name, check) in tidy::CHECKS {
        let mut findings = check(&repo);
        findings.sort();
        for finding in &findings {
            screen.failure(&finding.to_string());
        }
        row(name, findings.len());
    }
    row("formatting", tidy::format::unformatted(workspace, screen)?);
    screen.lines(&table.render());
    screen.line("");
    screen.line(&tally.to_string());
    Ok(tally.good())
}
