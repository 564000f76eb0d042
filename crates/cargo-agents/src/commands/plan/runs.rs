//! `cargo agents plan list|logs|pause|cancel|gc`

use std::{process::ExitCode, time::Duration};

use agents_plan::{
    engine::wall_clock,
    event::What,
    journal::{Journals, Retention, RunId},
    schedule::Scheduler,
};
use agents_system::{explain::ErrorKind, span};
use serde::Serialize;

use super::{
    drive::{open, tell_all},
    journals, meant,
    orders::{self, Order, Sent},
    start::node,
    team,
    view::{self, EventView, Stand},
};
use crate::{
    args::Engine,
    failure::{Failure, FindingView},
    output::Output,
    settings::Settings,
};

/// `cargo agents plan list --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PlanListDocument {
    /// The newest first
    runs: Vec<RunView>,
    findings: Vec<FindingView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RunView {
    run: String,
    plan: String,
    /// `running`, `paused`, `suspended`, `completed`, `partly`, `failed`, `cancelled` or `out-of-budget`
    state: &'static str,
    began_at: String,
    changed_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dir: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fork_of: Option<String>,
}

/// `cargo agents plan logs --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PlanLogsDocument {
    run: String,
    events: Vec<EventView>,
}

/// `cargo agents plan gc --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PlanGcDocument {
    /// The runs that are gone
    removed: Vec<String>,
}

/// Where a run stands.
pub(super) fn stand(journals: &Journals, id: &RunId, scheduler: &Scheduler) -> Stand {
    match scheduler.ending() {
        Some(ending) => Stand::Ended(ending),
        None if scheduler.is_paused() => Stand::Paused,
        None if journals.is_driven(id) => Stand::Running,
        None => Stand::Suspended,
    }
}

pub(super) fn list(settings: &Settings, output: &Output, most: usize) -> Result<ExitCode, Failure> {
    let journals = journals(settings);
    let (mut runs, mut findings) = (Vec::new(), Vec::new());
    for run in journals.list()?.into_iter().take(most) {
        match run {
            Ok(run) => {
                let stand = match run.ending {
                    Some(ending) => Stand::Ended(ending),
                    None => stand(&journals, &run.id, &journals.view(&run.id)?.now()?),
                };
                runs.push((run, stand));
            }
            Err((id, error)) => {
                findings.push(Failure::from(error).into_finding(&format!("`{id}`")));
            }
        }
    }
    if output.is_json() {
        let views = runs.iter().map(|(run, stand)| RunView {
            run: run.id.to_string(),
            plan: run.name.clone(),
            state: stand.word(),
            began_at: view::stamp(run.created),
            changed_at: view::stamp(run.changed),
            file: run.origin.file.as_ref().map(ToString::to_string),
            dir: run.origin.dir.as_ref().map(ToString::to_string),
            fork_of: run.origin.fork_of.clone(),
        });
        output.document(&PlanListDocument {
            runs: views.collect(),
            findings: findings.iter().map(FindingView::from).collect(),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    if runs.is_empty() && findings.is_empty() {
        output.line("no plan has run yet: `cargo agents plan run` starts one")?;
    }
    let widest = runs.iter().map(|(run, _)| run.id.as_str().len()).max().unwrap_or(0);
    for (run, stand) in &runs {
        let ago = span::told(wall_clock().since(run.created));
        let dir = run.origin.dir.as_ref().map(|it| format!("   {it}")).unwrap_or_default();
        output.line(format!("{:widest$}  {:13}  {ago} ago{dir}", run.id, stand.word()))?;
    }
    output.flush()?;
    output.findings(&findings);
    Ok(ExitCode::SUCCESS)
}

pub(super) fn logs(settings: &Settings, output: &Output, run: &str) -> Result<ExitCode, Failure> {
    let journals = journals(settings);
    let id = meant(&journals, run)?;
    let seen = journals.view(&id)?;
    // Nodes that were added later have names, too.
    let scheduler = seen.now()?;
    let events = seen.events()?.into_iter().map(|(number, event)| EventView {
        number: Some(number),
        ..EventView::new(&event, scheduler.graph())
    });
    if output.is_json() {
        output.document(&PlanLogsDocument { run: id.to_string(), events: events.collect() })?;
        return Ok(ExitCode::SUCCESS);
    }
    for event in events {
        output.line(event.logged())?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn pause(settings: &Settings, output: &Output, run: &str) -> Result<ExitCode, Failure> {
    let journals = journals(settings);
    let id = meant(&journals, run)?;
    if !journals.is_driven(&id) || orders::send(&journals, &id, Order::Pause)? == Sent::Nobody {
        let scheduler = journals.view(&id)?.now()?;
        let stand = stand(&journals, &id, &scheduler);
        let message = format!("nobody runs `{id}` now: it is {}", stand.word());
        return Err(Failure::new(ErrorKind::Usage, message));
    }
    output
        .line(format!("{id} is paused: `cargo agents plan resume {id}` lets things start again"))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn cancel(
    settings: &Settings,
    output: &Output,
    run: &str,
    task: Option<&str>,
) -> Result<ExitCode, Failure> {
    let journals = journals(settings);
    let id = meant(&journals, run)?;
    let graph = journals.view(&id)?.now()?.graph().clone();
    let index = task.map(|task| node(&graph, task)).transpose()?;
    let order = Order::Cancel { node: index };
    if !journals.is_driven(&id) || orders::send(&journals, &id, order)? == Sent::Nobody {
        let mut opened = open(&journals, &id)?;
        if team::engine_of(&journals, &id) == Engine::Restate {
            if let Some(task) = task {
                let message =
                    format!("nobody drives `{id}`, so `{task}` alone cannot be cancelled");
                return Err(Failure::new(ErrorKind::Usage, message).hint(format!(
                    "`cargo agents plan resume {id}` drives it; without `--task` all of it is cancelled"
                )));
            }
            team::clear(settings, &id)?;
        }
        // Whoever ran these is gone.
        let gone = opened.1.busy().map(|attempt| What::Interrupted { attempt });
        let mut said: Vec<What> = gone.collect();
        said.push(What::Cancelled { node: index });
        tell_all((&mut opened.0, &mut opened.1), said)?;
    }
    let what = task.map_or_else(|| id.to_string(), |task| format!("`{task}` of {id}"));
    output.line(format!("{what} is cancelled"))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn gc(
    settings: &Settings,
    output: &Output,
    older_than: Duration,
    keep: usize,
) -> Result<ExitCode, Failure> {
    let retention = Retention { newest: keep, young: older_than };
    let removed = journals(settings).gc(&retention, wall_clock())?;
    let removed: Vec<String> = removed.iter().map(ToString::to_string).collect();
    if output.is_json() {
        output.document(&PlanGcDocument { removed })?;
        return Ok(ExitCode::SUCCESS);
    }
    for run in &removed {
        output.line(format!("{run}  removed"))?;
    }
    if removed.is_empty() {
        output.line("nothing to remove")?;
    }
    Ok(ExitCode::SUCCESS)
}
