//! `cargo agents audit`: everything that is active here, who it is from, what it may do, and who has reviewed it.

pub(crate) mod records;
mod rights;
mod rows;

use std::process::ExitCode;

use agents_plugin::probes::Acquire;
use agents_system::finding::Finding;
use agents_trust::sbom::{Component, cyclonedx};
use serde::Serialize;

pub(crate) use self::records::all_records;
use self::rows::{Row, rows};
use crate::{
    args::AuditCommand,
    failure::{Failure, FindingView},
    here::{BrokenWorkspace, visit},
    output::Output,
    settings::Settings,
};

/// `cargo agents audit --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AuditDocument {
    active: Vec<ActiveView>,
    findings: Vec<FindingView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ActiveView {
    /// `plugin`, `skill`, `agent`, `hook`, `mcp`, `subcommand`, `condition` or `installation`
    kind: &'static str,
    name: String,
    /// The plugin that brings it
    plugin: String,
    /// Where it comes from, in words, with its version or commit
    source: String,
    /// From the crate's manifest, as far as it says
    authors: Vec<String>,
    /// Of its content, or of the manifest that defines it
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    /// What it could do: `runs code`, `writes files`, `uses the network`, `no network`, `network unknown`, `sandboxed`,
    /// `not sandboxed`, `steers the agent`; `-` for nothing of its own
    rights: Vec<&'static str>,
    /// `registry`, `workspace` or `crate`: who stands for the content
    trust: &'static str,
    /// Why it is active
    consent: String,
    /// `agreed`, `waiting` or `altered`
    state: &'static str,
    records: Vec<RecordView>,
}

/// Somebody has looked at it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct RecordView {
    who: String,
    date: String,
    note: String,
    /// Where somebody else's record was taken from
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    sbom: bool,
    command: Option<AuditCommand>,
) -> Result<ExitCode, Failure> {
    match command {
        Some(AuditCommand::Import { from }) => return records::import(settings, output, &from),
        Some(AuditCommand::Record { name, note, user }) => {
            return visit(settings, Acquire::Never, BrokenWorkspace::Fails, |here, _| {
                let (rows, _) = rows(here)?;
                let home = if user { records::Home::User } else { records::Home::Workspace };
                records::record(here, output, &rows, &name, &note, home)
            });
        }
        None => {}
    }
    visit(settings, Acquire::Never, BrokenWorkspace::Fails, |here, _| {
        let (rows, findings) = rows(here)?;
        if sbom {
            let components: Vec<Component> = rows.iter().filter_map(component).collect();
            output.document(&cyclonedx(&components, env!("CARGO_PKG_VERSION")))?;
            return Ok(ExitCode::SUCCESS);
        }
        show(&rows, &findings, output)?;
        Ok(ExitCode::SUCCESS)
    })
}

fn show(rows: &[Row], findings: &[Finding], output: &Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.document(&AuditDocument {
            active: rows.iter().map(view).collect(),
            findings: findings.iter().map(FindingView::from).collect(),
        });
    }
    let header = ["WHAT", "NAME", "FROM", "AUTHOR", "HASH", "RIGHTS", "CONSENT", "AUDITED"];
    let mut table: Vec<[String; 8]> = vec![header.map(str::to_owned)];
    table.extend(rows.iter().map(cells));
    let width = |at: usize| table.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    for row in &table {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        output.line(cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    output.flush()?;
    output.findings(findings);
    Ok(())
}

fn cells(row: &Row) -> [String; 8] {
    let or_dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
    let hash = row.entry.hash.as_ref().map(|hash| hash.digits()[..12].to_owned());
    let audited: Vec<&str> = row.records.iter().map(|it| it.who.as_str()).collect();
    let consent = match row.state {
        "agreed" => row.consent.clone(),
        state => format!("{} ({state})", row.consent),
    };
    [
        row.kind.to_owned(),
        row.name.clone(),
        row.entry.source.to_string(),
        or_dash(row.authors.join(", ")),
        or_dash(hash.unwrap_or_default()),
        row.rights.join(", "),
        consent,
        or_dash(audited.join(", ")),
    ]
}

fn view(row: &Row) -> ActiveView {
    ActiveView {
        kind: row.kind,
        name: row.name.clone(),
        plugin: row.plugin.clone(),
        source: row.entry.source.to_string(),
        authors: row.authors.clone(),
        hash: row.entry.hash.as_ref().map(ToString::to_string),
        rights: row.rights.clone(),
        trust: row.trust,
        consent: row.consent.clone(),
        state: row.state,
        records: row.records.clone(),
    }
}

/// What a bill of materials lists: things with a content of their own.
fn component(row: &Row) -> Option<Component> {
    let is_own = matches!(row.kind, "plugin" | "skill" | "agent" | "installation");
    is_own.then(|| {
        let property = |name: &str, value: &str| (format!("cargo-agents:{name}"), value.to_owned());
        let audits = row
            .records
            .iter()
            .map(|it| property("audit", &format!("{} {}: {}", it.date, it.who, it.note)));
        let fixed = [
            property("plugin", &row.plugin),
            property("trust", row.trust),
            property("rights", &row.rights.join(", ")),
            property("consent", &row.consent),
        ];
        Component {
            entry: row.entry.clone(),
            authors: row.authors.clone(),
            properties: fixed.into_iter().chain(audits).collect(),
        }
    })
}
