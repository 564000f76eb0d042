//! `cargo agents task gc`

use std::{process::ExitCode, time::Duration};

use agents_task::isolate::{Collected, Manner, What};
use serde::Serialize;

use super::worktrees;
use crate::{failure::Failure, output::Output, settings::Settings};

/// `cargo agents task gc --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskGcDocument {
    /// Whether this is only what would be done
    dry_run: bool,
    items: Vec<ItemView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ItemView {
    name: String,
    path: String,
    /// The task that a worktree was made for
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    /// `live`, `young`, `removed`, `forgotten`, `freed` or `kept`
    what: &'static str,
    /// The branch that has what was done in a worktree that is removed
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// Why it is kept
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    older_than: Duration,
    manner: Manner,
) -> Result<ExitCode, Failure> {
    let done = worktrees(&settings.dirs).gc(older_than, manner);
    if output.is_json() {
        let items = done.iter().map(view).collect();
        output.document(&TaskGcDocument { dry_run: manner == Manner::OnlyShow, items })?;
        return Ok(ExitCode::SUCCESS);
    }
    let told: Vec<String> = done.iter().filter_map(|it| told(it, manner)).collect();
    for line in &told {
        output.line(line)?;
    }
    if told.is_empty() {
        output.line("nothing to clean up")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn told(item: &Collected, manner: Manner) -> Option<String> {
    let Collected { path, what, .. } = item;
    let would = if manner == Manner::OnlyShow { "would be " } else { "" };
    Some(match what {
        What::Live | What::Young => return None,
        What::Removed { branch: Some(branch) } => {
            format!("{path}  {would}removed; what was done is on branch `{branch}`")
        }
        What::Removed { branch: None } => format!("{path}  {would}removed; nothing was done in it"),
        What::Forgotten => format!("{path}  {would}forgotten"),
        What::Freed => format!("{path}  {would}removed; it was only built in"),
        What::Kept { why } => format!("{path}  kept: {why}"),
    })
}

fn view(item: &Collected) -> ItemView {
    let (what, branch, why) = match &item.what {
        What::Live => ("live", None, None),
        What::Young => ("young", None, None),
        What::Removed { branch } => ("removed", branch.clone(), None),
        What::Forgotten => ("forgotten", None, None),
        What::Freed => ("freed", None, None),
        What::Kept { why } => ("kept", None, Some(why.clone())),
    };
    ItemView {
        name: item.name.clone(),
        path: item.path.to_string(),
        task: item.task.map(|it| it.to_string()),
        what,
        branch,
        why,
    }
}
