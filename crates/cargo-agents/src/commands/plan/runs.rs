//! `cargo agents plan list|logs|pause|cancel|gc`

use std::{process::ExitCode, time::Duration};

use agents_plan::{
    engine::wall_clock,
    event::What,
    journal::{Journals, Retention, RunId, Summary, View},
    schedule::Scheduler,
};
use agents_system::{
    explain::{Code, ErrorKind},
    process, span,
};
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
    commands::order::{Action, Done, Object, Told},
    failure::{Failure, FindingView},
    output::Output,
    settings::Settings,
};

/// How often it is looked whether there is more.
const PAUSE: Duration = Duration::from_millis(100);

/// `cargo agents plan list --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PlanListDocument {
    /// The newest first
    runs: Vec<RunView>,
    findings: Vec<FindingView>,
}

#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunView {
    run: String,
    plan: String,
    /// `running`, `paused`, `suspended`, `completed`, `partly`, `failed`, `cancelled` or `out-of-budget`
    state: &'static str,
    pub(crate) began_at: String,
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
    /// How many results cannot be recalled any more
    forgotten: usize,
}

/// Where a run stands.
pub(crate) fn stand(journals: &Journals, id: &RunId, scheduler: &Scheduler) -> Stand {
    match scheduler.ending() {
        Some(ending) => Stand::Ended(ending),
        None if scheduler.is_paused() => Stand::Paused,
        None if journals.is_driven(id) => Stand::Running,
        None => Stand::Suspended,
    }
}

/// Where a run stands, of which a few words are known.
fn standing(journals: &Journals, run: &Summary) -> Result<Stand, Failure> {
    match run.ending {
        Some(ending) => Ok(Stand::Ended(ending)),
        None => Ok(stand(journals, &run.id, &journals.view(&run.id)?.now()?)),
    }
}

impl RunView {
    fn new(run: &Summary, stand: Stand) -> Self {
        Self {
            run: run.id.to_string(),
            plan: run.name.clone(),
            state: stand.word(),
            began_at: view::stamp(run.created),
            changed_at: view::stamp(run.changed),
            file: run.origin.file.as_ref().map(ToString::to_string),
            dir: run.origin.dir.as_ref().map(ToString::to_string),
            fork_of: run.origin.fork_of.clone(),
        }
    }

    /// One run as it is now; `None` if it ended before it began.
    #[cfg(feature = "http")]
    pub(crate) fn now(journals: &Journals, id: &RunId) -> Result<Option<Self>, Failure> {
        let Some(run) = journals.summary(id)? else { return Ok(None) };
        let stand = standing(journals, &run)?;
        Ok(Some(Self::new(&run, stand)))
    }
}

pub(super) fn list(settings: &Settings, output: &Output, most: usize) -> Result<ExitCode, Failure> {
    let journals = journals(settings);
    let (mut runs, mut findings) = (Vec::new(), Vec::new());
    for run in journals.list()?.into_iter().take(most) {
        match run {
            Ok(run) => {
                let stand = standing(&journals, &run)?;
                runs.push((run, stand));
            }
            Err((id, error)) => {
                findings.push(Failure::from(error).into_finding(&format!("`{id}`")));
            }
        }
    }
    if output.is_json() {
        let views = runs.iter().map(|(run, stand)| RunView::new(run, *stand));
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

/// Whether to wait for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    Until,
    No,
}

/// Prints what happened; with [`Follow::Until`] until the run has ended, nobody drives it, or Ctrl-C.
pub(super) fn logs(
    settings: &Settings,
    output: &Output,
    run: &str,
    follow: Follow,
) -> Result<ExitCode, Failure> {
    let journals = journals(settings);
    let id = meant(&journals, run)?;
    let seen = journals.view(&id)?;
    if follow == Follow::No && output.is_json() {
        let events = views(&seen, 0)?;
        output.document(&PlanLogsDocument { run: id.to_string(), events })?;
        return Ok(ExitCode::SUCCESS);
    }
    process::listen_for_interrupts();
    let mut last = 0;
    loop {
        // Asked before reading, so that nothing which is written in between is missed.
        let lives = journals.is_driven(&id);
        for event in views(&seen, last)? {
            last = event.number.unwrap_or(last);
            if output.is_json() {
                output.json_line(&event)?;
            } else {
                output.line(event.logged())?;
            }
        }
        output.reach()?;
        if follow == Follow::No || !lives || process::interrupted() {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(PAUSE);
    }
}

/// The events after one of them.
fn views(seen: &View, after: u64) -> Result<Vec<EventView>, Failure> {
    let events = seen.events_after(after)?;
    if events.is_empty() {
        return Ok(Vec::new());
    }
    // Nodes that were added later have names, too.
    let scheduler = seen.now()?;
    let view = |(number, event)| EventView {
        number: Some(number),
        ..EventView::new(&event, scheduler.graph())
    };
    Ok(events.into_iter().map(view).collect())
}

pub(super) fn pause(settings: &Settings, output: &Output, run: &str) -> Result<ExitCode, Failure> {
    pause_one(settings, run)?.tell(output, Told::Result)?;
    Ok(ExitCode::SUCCESS)
}

/// Lets nothing more of a run start, and says so.
pub(crate) fn pause_one(settings: &Settings, run: &str) -> Result<Done, Failure> {
    let journals = journals(settings);
    let id = meant(&journals, run)?;
    if !journals.is_driven(&id) || orders::send(&journals, &id, &Order::Pause)? == Sent::Nobody {
        let scheduler = journals.view(&id)?.now()?;
        let stand = stand(&journals, &id, &scheduler);
        let message = format!("nobody runs `{id}` now: it is {}", stand.word());
        return Err(Failure::new(ErrorKind::Usage, message).code(Code::RunIdle));
    }
    let said = format!("{id} is paused: `cargo agents plan resume {id}` lets things start again");
    Ok(Done::new(Action::Paused, Object::Run, said).id(id.as_str()))
}

/// Lets a run go on in the process that drives it, and says so; `None` if nobody does.
pub(crate) fn resume_driven(journals: &Journals, id: &RunId) -> Result<Option<Done>, Failure> {
    let resumes =
        journals.is_driven(id) && orders::send(journals, id, &Order::Resume)? == Sent::Done;
    Ok(resumes.then(|| {
        let said = format!("{id} continues in the process that runs it");
        Done::new(Action::Continued, Object::Run, said).id(id.as_str())
    }))
}

pub(super) fn cancel(
    settings: &Settings,
    output: &Output,
    run: &str,
    task: Option<&str>,
) -> Result<ExitCode, Failure> {
    cancel_one(settings, run, task)?.tell(output, Told::Result)?;
    Ok(ExitCode::SUCCESS)
}

/// Ends a run, or one of its tasks, and says so.
pub(crate) fn cancel_one(
    settings: &Settings,
    run: &str,
    task: Option<&str>,
) -> Result<Done, Failure> {
    let journals = journals(settings);
    let id = meant(&journals, run)?;
    let graph = journals.view(&id)?.now()?.graph().clone();
    let index = task.map(|task| node(&graph, task)).transpose()?;
    let order = Order::Cancel { node: index };
    if team::engine_of(&journals, &id) == Engine::Restate && !journals.is_driven(&id) {
        if let Some(task) = task {
            let message = format!("nobody drives `{id}`, so `{task}` alone cannot be cancelled");
            return Err(Failure::new(ErrorKind::Usage, message).code(Code::RunIdle).hint(format!(
                "`cargo agents plan resume {id}` drives it; without `--task` all of it is cancelled"
            )));
        }
        team::clear(settings, &id)?;
    }
    say(&journals, &id, &order, What::Cancelled { node: index })?;
    let what = task.map_or_else(|| id.to_string(), |task| format!("`{task}` of {id}"));
    let done = Done::new(Action::Cancelled, Object::Run, format!("{what} is cancelled"));
    Ok(done.id(id.as_str()).tasks(task.map(str::to_owned)))
}

/// Says something to whoever drives a run, or writes it down if nobody does.
pub(super) fn say(
    journals: &Journals,
    id: &RunId,
    order: &Order,
    what: What,
) -> Result<(), Failure> {
    if journals.is_driven(id) && orders::send(journals, id, order)? == Sent::Done {
        return Ok(());
    }
    let mut opened = open(journals, id)?;
    // Whoever ran these is gone, unless they are on a cluster: then the next driver finds them.
    let is_here = team::engine_of(journals, id) == Engine::Local;
    let is_over = is_here || matches!(what, What::Cancelled { .. });
    let gone = opened.1.busy().filter(|_| is_over).map(|attempt| What::Interrupted { attempt });
    let said: Vec<What> = gone.chain([what]).collect();
    tell_all((&mut opened.0, &mut opened.1), said)
}

pub(super) fn gc(
    settings: &Settings,
    output: &Output,
    older_than: Duration,
    keep: usize,
) -> Result<ExitCode, Failure> {
    let retention = Retention { newest: keep, young: older_than };
    let (journals, now) = (journals(settings), wall_clock());
    let removed = journals.gc(&retention, now)?;
    // What can be recalled is as old as the run that paid for it.
    let forgotten = journals.memo()?.forget_before(now.before(older_than))?;
    let removed: Vec<String> = removed.iter().map(ToString::to_string).collect();
    if output.is_json() {
        output.document(&PlanGcDocument { removed, forgotten })?;
        return Ok(ExitCode::SUCCESS);
    }
    for run in &removed {
        output.line(format!("{run}  removed"))?;
    }
    if forgotten > 0 {
        output.line(format!("{forgotten} results of earlier runs forgotten"))?;
    } else if removed.is_empty() {
        output.line("nothing to remove")?;
    }
    Ok(ExitCode::SUCCESS)
}
