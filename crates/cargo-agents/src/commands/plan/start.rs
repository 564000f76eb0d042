//! `cargo agents plan run|resume|retry|fork`

use std::{process::ExitCode, sync::Arc};

use agents_plan::{
    engine::{Recall, wall_clock},
    event::{Index, PlanEnding, What},
    graph::{Graph, NodeId},
    journal::{Journals, Options, Origin, RunId},
};
use agents_system::{
    explain::ErrorKind,
    nearest::{nearest, quoted_list},
};

use camino::Utf8PathBuf;

use super::{
    drive::{Opened, Run, Studio, drive, open, tell, tell_all},
    facts::{self, Found},
    journals, meant,
    orders::Order,
    runs, team,
};
use crate::{
    args::{
        Engine, PlanAddArgs, PlanAgainArgs, PlanForkArgs, PlanManner, PlanParams, PlanResumeArgs,
        PlanRunArgs,
    },
    commands::order::{Action, Done, Object, Told},
    failure::Failure,
    output::Output,
    settings::Settings,
};

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    args: &PlanRunArgs,
) -> Result<ExitCode, Failure> {
    let engine = team::available(settings, args.manner.engine.unwrap_or_default())?;
    let studio = Studio::new(settings, output, &args.manner, &args.named.agents, engine)?;
    let found = facts::found(settings, &args.file, &args.named.agents)?;
    let graph = planned(&studio, found, &args.params)?;
    let (mut concurrency, budget) = (graph.concurrency().clone(), *graph.budget());
    concurrency.total = args.concurrency.map_or(concurrency.total, Into::into);
    let graph = graph.within(concurrency, budget);
    let origin = Origin {
        file: Some(settings.cwd.join(&args.file)),
        dir: Some(settings.cwd.clone()),
        params: args.params.params.iter().cloned().collect(),
        fork_of: None,
    };
    begin(settings, output, studio, &graph, origin, &args.manner)
}

/// Begins a run, and drives it.
pub(super) fn begin(
    settings: &Settings,
    output: &Output,
    studio: Studio,
    graph: &Graph,
    origin: Origin,
    manner: &PlanManner,
) -> Result<ExitCode, Failure> {
    let journals = journals(settings);
    let opened = journals.create(graph, wall_clock(), &origin, Options::default())?;
    team::settle_on(settings, &journals, opened.0.id(), Some(studio.engine()))?;
    let run = Run { output, journals: &journals, manner, origin, recall: manner.recall() };
    drive(&run, studio, opened)
}

/// A plan as it can run here.
pub(super) fn planned(
    studio: &Studio,
    mut found: Found,
    params: &PlanParams,
) -> Result<Graph, Failure> {
    let mut graph = found.graph(params)?;
    if !graph.concurrency().providers.is_empty() {
        for (agent, facts) in &mut found.facts.agents {
            facts.provider = studio.provider(agent);
        }
        graph = found.graph(params)?;
    }
    let (mut concurrency, budget) = (graph.concurrency().clone(), *graph.budget());
    // A plan is not a reason to do more at once than the user's configuration allows; the user is.
    let most = u32::try_from(studio.concurrency).unwrap_or(u32::MAX);
    // How much a cluster does at once is for its workers to say.
    if studio.engine() == Engine::Local {
        concurrency.total = concurrency.total.min(most);
    }
    Ok(graph.within(concurrency, budget))
}

pub(super) fn resume(
    settings: &Settings,
    output: &Output,
    args: &PlanResumeArgs,
) -> Result<ExitCode, Failure> {
    let journals = journals(settings);
    let id = meant(&journals, &args.run)?;
    if args.answers.is_empty()
        && let Some(done) = runs::resume_driven(&journals, &id)?
    {
        done.tell(output, Told::Result)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut opened = open(&journals, &id)?;
    if let Some(ending) = opened.1.ending() {
        let message = format!("`{id}` has ended: {}", ending.word());
        return Err(Failure::new(ErrorKind::Usage, message).hint(format!(
            "`cargo agents plan retry {id}` does again what did not complete, `plan fork` begins a new run with its results"
        )));
    }
    available_for(settings, &journals, &id, &args.manner)?;
    let mut said = Vec::new();
    if opened.1.is_paused() {
        said.push(What::Resumed);
    }
    for (task, answer) in &args.answers {
        said.push(What::Answered { node: node(opened.1.graph(), task)?, answer: *answer });
    }
    tell_all((&mut opened.0, &mut opened.1), said)?;
    let taken = Taken { id: &id, opened, recall: args.manner.recall() };
    go_on(settings, output, &journals, taken, &args.manner, &args.named.agents)
}

pub(super) fn retry(
    settings: &Settings,
    output: &Output,
    args: &PlanAgainArgs,
) -> Result<ExitCode, Failure> {
    let journals = journals(settings);
    let id = meant(&journals, &args.run)?;
    let mut opened = open(&journals, &id)?;
    match opened.1.ending() {
        None => {
            let message = format!("`{id}` has not ended");
            return Err(Failure::new(ErrorKind::Usage, message)
                .hint(format!("`cargo agents plan resume {id}` continues it")));
        }
        Some(PlanEnding::Completed) => {
            let message = format!("everything in `{id}` completed, so there is nothing to retry");
            return Err(Failure::new(ErrorKind::Usage, message).hint(format!(
                "`cargo agents plan fork {id} --from TASK` reruns a task and everything after it, in a new run"
            )));
        }
        Some(_) => {}
    }
    available_for(settings, &journals, &id, &args.manner)?;
    tell(&mut opened, What::Reopened)?;
    let taken = Taken { id: &id, opened, recall: args.manner.recall() };
    go_on(settings, output, &journals, taken, &args.manner, &args.named.agents)
}

pub(super) fn fork(
    settings: &Settings,
    output: &Output,
    args: &PlanForkArgs,
) -> Result<ExitCode, Failure> {
    let journals = journals(settings);
    let of = meant(&journals, &args.run)?;
    let engine = available_for(settings, &journals, &of, &args.manner)?;
    let mut origin = journals.summary(&of)?.map(|it| it.origin).unwrap_or_default();
    let graph = match &args.file {
        Some(file) => {
            origin.file = Some(settings.cwd.join(file));
            origin.params.extend(args.params.params.iter().cloned());
            let params = PlanParams { params: origin.params.clone().into_iter().collect() };
            let there = place_of(settings, &origin, &of)?;
            let named = absolute(settings, &args.named.agents);
            let studio = Studio::new(&there, output, &args.manner, &named, engine)?;
            let found = facts::found(&there, &settings.cwd.join(file), &named)?;
            planned(&studio, found, &params)?
        }
        None if args.params.params.is_empty() => journals.view(&of)?.now()?.graph().clone(),
        None => {
            return Err(Failure::new(ErrorKind::Usage, "`--param` needs the plan that it is for")
                .hint("name it with `--file`"));
        }
    };
    let again: Result<Vec<NodeId>, Failure> = args
        .from
        .iter()
        .map(|task| node(&graph, task).map(|_| NodeId::new(task.as_str())))
        .collect();
    let opened = journals.fork(&of, &graph, &again?, wall_clock(), origin, Options::default())?;
    let id = opened.0.id().clone();
    team::settle_on(settings, &journals, &id, Some(engine))?;
    // What is to be done again is not to be recalled instead.
    let recall = if args.from.is_empty() { args.manner.recall() } else { Recall::Nothing };
    let taken = Taken { id: &id, opened, recall };
    go_on(settings, output, &journals, taken, &args.manner, &args.named.agents)
}

/// The engine that was asked for, else that of the run, if it is there.
fn available_for(
    settings: &Settings,
    journals: &Journals,
    run: &RunId,
    manner: &PlanManner,
) -> Result<Engine, Failure> {
    let engine = manner.engine.unwrap_or_else(|| team::engine_of(journals, run));
    team::available(settings, engine)
}

/// Takes in the tasks that the plan has now, and had not when the run began.
pub(super) fn add(
    settings: &Settings,
    output: &Output,
    args: &PlanAddArgs,
) -> Result<ExitCode, Failure> {
    let journals = journals(settings);
    let id = meant(&journals, &args.run)?;
    let origin = journals.summary(&id)?.map(|it| it.origin).unwrap_or_default();
    let params = PlanParams { params: origin.params.clone().into_iter().collect() };
    let there = place_of(settings, &origin, &id)?;
    let named = absolute(settings, &args.named.agents);
    let graph = facts::found(&there, &settings.cwd.join(&args.file), &named)?.graph(&params)?;
    let old = journals.view(&id)?.now()?;
    let injection = old.graph().growth(&graph).map_err(|error| {
        Failure::new(ErrorKind::Usage, error.to_string()).hint(format!(
            "`cargo agents plan fork {id} --file {}` begins a new run with the results that still hold",
            args.file
        ))
    })?;
    let names: Vec<String> = injection.nodes.iter().map(|it| it.id.to_string()).collect();
    if names.is_empty() {
        let message = format!("`{}` has no task that `{id}` has not", args.file);
        return Err(Failure::new(ErrorKind::Usage, message));
    }
    let order = Order::Add { injection: injection.clone() };
    runs::say(&journals, &id, &order, What::Injected { injection: Arc::new(injection) })?;
    let said = format!("{id}: added {}", quoted_list(&names, "and"));
    let done = Done::new(Action::Added, Object::Run, said).id(id.as_str()).tasks(names);
    done.tell(output, Told::Result)?;
    Ok(ExitCode::SUCCESS)
}

/// A run that was taken up.
struct Taken<'a> {
    id: &'a RunId,
    opened: Opened,
    recall: Recall,
}

/// Where the tasks of a run work, with the settings that hold there.
fn place_of(settings: &Settings, origin: &Origin, id: &RunId) -> Result<Settings, Failure> {
    let dir = origin.dir.clone().unwrap_or_else(|| settings.cwd.clone());
    if !dir.is_dir() {
        let message = format!("`{dir}`, where the tasks of `{id}` work, is gone");
        return Err(Failure::new(ErrorKind::Usage, message));
    }
    Ok(Settings::with_dirs(&settings.flags, settings.dirs.clone(), dir))
}

/// Paths that were typed where the user stands.
fn absolute(settings: &Settings, paths: &[Utf8PathBuf]) -> Vec<Utf8PathBuf> {
    paths.iter().map(|it| settings.cwd.join(it)).collect()
}

/// Drives a run where it was begun, wherever the user stands now.
fn go_on(
    settings: &Settings,
    output: &Output,
    journals: &Journals,
    taken: Taken<'_>,
    manner: &PlanManner,
    named: &[Utf8PathBuf],
) -> Result<ExitCode, Failure> {
    let Taken { id, opened, recall } = taken;
    let origin = journals.summary(id)?.map(|it| it.origin).unwrap_or_default();
    let there = place_of(settings, &origin, id)?;
    let engine = team::settle_on(settings, journals, id, manner.engine)?;
    let studio = Studio::new(&there, output, manner, &absolute(settings, named), engine)?;
    let run = Run { output, journals, manner, origin, recall };
    drive(&run, studio, opened)
}

/// A task of a plan, by its name.
pub(super) fn node(graph: &Graph, name: &str) -> Result<Index, Failure> {
    graph.find(&NodeId::new(name)).ok_or_else(|| {
        let failure = Failure::new(ErrorKind::Usage, format!("the plan has no task `{name}`"));
        let near = nearest(name, graph.nodes().iter().map(|it| it.id.as_str()));
        if near.is_empty() {
            failure
        } else {
            failure.hint(format!("did you mean {}?", quoted_list(&near, "or")))
        }
    })
}
