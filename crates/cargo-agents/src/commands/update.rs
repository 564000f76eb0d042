//! `cargo agents update [name]`: read what changed, then accept it.

use std::process::ExitCode;

use agents_sync::Edited;
use agents_system::{
    ask::Answer,
    explain::{Code, ErrorKind},
    finding::{Finding, Severity},
    nearest::{nearest, quoted_list},
};
use agents_trust::lock::{Entry, Kind, Source};
use serde::Serialize;

use super::{
    agreed::{Pending, Terms, Waits, hashes},
    sync_hosts::{self, Mode},
};
use crate::{
    failure::{Failure, FindingView},
    output::Output,
    settings::Settings,
};

/// How something is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Only show it.
    OnlyShow,
    /// `--yes`.
    Accept,
    /// Ask the person at the terminal, if there is one.
    Ask,
}

/// `cargo agents update --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UpdateDocument {
    pending: Vec<PendingView>,
    /// What was said while hosts were brought up to date
    findings: Vec<FindingView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PendingView {
    /// `plugin`, `skill`, `agent`, `installation` or `tree`
    kind: &'static str,
    /// `new`, `changed`, or `altered` for another content under the same version, which only its name accepts
    why: &'static str,
    name: String,
    /// What was agreed to; absent for something new
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    after: String,
    /// How many lines changed
    lines: usize,
    /// A unified diff; hidden characters are written as `\u{…}`
    diff: String,
    /// What a machine finds suspicious about it
    suspicions: Vec<FindingView>,
    accepted: bool,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    name: Option<&str>,
    manner: Manner,
) -> Result<ExitCode, Failure> {
    let looked = sync_hosts::bring(settings, Mode::DryRun, Edited::Keep, &Terms::default())?;
    let mut settled = looked.settled;
    let mut pending =
        settled.as_mut().map(|it| std::mem::take(&mut it.pending)).unwrap_or_default();
    if let (Some(settled), Some(name)) = (&settled, name)
        && !settled.knows(|entry| is_named(entry, name))
    {
        return Err(unknown(name, &pending));
    }
    drop(settled);
    pending.retain(|it| name.is_none_or(|name| is_named(&it.entry, name)));
    if pending.is_empty() {
        return nothing(output, name);
    }
    if !output.is_json() {
        for it in &pending {
            show(it, output)?;
        }
        output.flush()?;
    }
    let accepted = match manner {
        Manner::OnlyShow => Vec::new(),
        Manner::Accept => {
            let meant = pending.iter().filter(|it| name.is_some() || it.why != Waits::Altered);
            meant.map(|it| it.entry.clone()).collect()
        }
        Manner::Ask => ask(&pending, output)?,
    };
    let mut views: Vec<PendingView> = pending.iter().map(PendingView::from).collect();
    for (view, it) in views.iter_mut().zip(&pending) {
        view.accepted = accepted.contains(&it.entry);
    }
    let mut findings = Vec::new();
    if !accepted.is_empty() {
        let terms = Terms { accepted: accepted.clone(), ..Terms::default() };
        findings = sync_hosts::bring(settings, Mode::Apply, Edited::Keep, &terms)?.findings;
    } else if manner == Manner::Accept {
        findings.extend(pending.iter().map(|it| unnamed(&it.entry)));
    }
    let failed = findings.iter().any(|it| it.severity == Severity::Error);
    if output.is_json() {
        let findings = findings.iter().map(FindingView::from).collect();
        output.document(&UpdateDocument { pending: views, findings })?;
    } else {
        let count = views.iter().filter(|it| it.accepted).count();
        output.line(format!("{count} of {} accepted.", views.len()))?;
        output.flush()?;
        output.findings(&findings);
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// By its own name, or by that of the crate or the registry that it comes from.
fn is_named(entry: &Entry, name: &str) -> bool {
    let of_it = match &entry.source {
        Source::Crate { name: it, .. } => it == name && entry.kind != Kind::Installation,
        Source::Registry { name: it, .. } => it == name,
        Source::Workspace { .. } | Source::Git { .. } => false,
    };
    entry.name == name || of_it
}

/// A name that nothing here goes by: most likely a slip, and the user believes that something was accepted.
fn unknown(name: &str, pending: &[Pending]) -> Failure {
    let failure = Failure::new(ErrorKind::Usage, format!("nothing is called `{name}` here"));
    if pending.is_empty() {
        return failure.hint("nothing is pending; `cargo agents audit` lists what is active");
    }
    let lines: Vec<String> = pending.iter().map(|it| format!("{} waits", it.entry)).collect();
    let near = nearest(name, pending.iter().map(|it| it.entry.name.as_str()));
    let hint = match near.is_empty() {
        true => "`cargo agents update` without a name shows everything that is pending".to_owned(),
        false => format!("did you mean {}?", quoted_list(&near, "or")),
    };
    failure.details(lines.join("\n")).hint(hint)
}

/// One word for everything does not accept what cannot be right.
fn unnamed(entry: &Entry) -> Finding {
    let message = format!("{entry} is not what was agreed to, although the version is the same");
    let hint = format!("`cargo agents update {} --yes` accepts this one", entry.name);
    Finding::error(message).hint(hint)
}

fn nothing(output: &Output, name: Option<&str>) -> Result<ExitCode, Failure> {
    if output.is_json() {
        output.document(&UpdateDocument { pending: Vec::new(), findings: Vec::new() })?;
    } else {
        output.line(match name {
            Some(name) => format!("Nothing of `{name}` is pending."),
            None => "Nothing is pending.".to_owned(),
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(it: &Pending, output: &Output) -> Result<(), Failure> {
    let Entry { kind, name, source, .. } = &it.entry;
    let elsewhere = it.before.as_ref().filter(|before| before.source != *source);
    let was = elsewhere.map(|before| format!("{} -> ", before.source));
    if it.why == Waits::Altered {
        output.line(format!(
            "{} `{name}`: {source} is not what was agreed to, although the version is the same",
            kind.word()
        ))?;
        for line in hashes(&it.entry, it.before.as_ref()) {
            output.line(format!("  {line}"))?;
        }
    } else {
        output.line(format!("{} `{name}`: {}{source}", kind.word(), was.unwrap_or_default()))?;
    }
    output.text(&it.review.diff)?;
    output.flush()?;
    output.findings(&it.suspicions);
    Ok(())
}

/// One question for each; no answer is a no.
fn ask(pending: &[Pending], output: &Output) -> Result<Vec<Entry>, Failure> {
    let Some(asker) = output.asker() else {
        return Err(Failure::new(ErrorKind::Refused, "there is nobody here to accept it")
            .code(Code::NobodyToAsk)
            .hint("`--yes` accepts it, after you have read it with `--dry-run`"));
    };
    let mut accepted = Vec::new();
    for it in pending {
        let anyway = if it.why == Waits::Altered { " all the same" } else { "" };
        let question = format!("Accept the {} `{}`{anyway}?", it.entry.kind.word(), it.entry.name);
        if asker.yes(&question, Answer::No)? == Answer::Yes {
            accepted.push(it.entry.clone());
        }
    }
    Ok(accepted)
}

impl From<&Pending> for PendingView {
    fn from(it: &Pending) -> Self {
        let view = |finding: &Finding| FindingView::from(finding);
        Self {
            kind: it.entry.kind.word(),
            why: match it.why {
                Waits::New => "new",
                Waits::Changed => "changed",
                Waits::Altered => "altered",
            },
            name: it.entry.name.clone(),
            before: it.before.as_ref().map(|before| before.source.to_string()),
            after: it.entry.source.to_string(),
            lines: it.review.lines,
            diff: it.review.diff.clone(),
            suspicions: it.suspicions.iter().map(view).collect(),
            accepted: false,
        }
    }
}
