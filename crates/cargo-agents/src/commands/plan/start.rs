//! `cargo agents plan run|resume|retry|fork`

use std::process::ExitCode;

use agents_plan::{
    engine::wall_clock,
    event::{Index, What},
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
    facts, journals, meant,
    orders::{self, Order, Sent},
    team,
};
use crate::{
    args::{Engine, PlanAgainArgs, PlanForkArgs, PlanManner, PlanResumeArgs, PlanRunArgs},
    failure::Failure,
    output::Output,
    settings::Settings,
};

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    args: &PlanRunArgs,
) -> Result<ExitCode, Failure> {
    let mut found = facts::found(settings, &args.file, &args.named.agents)?;
    let mut graph = found.graph(&args.params)?;
    let engine = args.manner.engine.unwrap_or_default();
    if engine == Engine::Restate {
        team::available()?;
    }
    let studio = Studio::new(settings, output, &args.manner, &args.named.agents, engine)?;
    if !graph.concurrency().providers.is_empty() {
        for (agent, facts) in &mut found.facts.agents {
            facts.provider = studio.provider(agent);
        }
        graph = found.graph(&args.params)?;
    }
    let (mut concurrency, budget) = (graph.concurrency().clone(), *graph.budget());
    // A plan is not a reason to do more at once than the user's configuration allows; the user is.
    let most = u32::try_from(studio.concurrency).unwrap_or(u32::MAX);
    // How much a cluster does at once is for its workers to say.
    let most = if engine == Engine::Restate { u32::MAX } else { most };
    concurrency.total = args.concurrency.map_or(concurrency.total.min(most), Into::into);
    let graph = graph.within(concurrency, budget);
    let journals = journals(settings);
    let origin = Origin {
        file: Some(settings.cwd.join(&args.file)),
        dir: Some(settings.cwd.clone()),
        fork_of: None,
    };
    let opened = journals.create(&graph, wall_clock(), &origin, Options::default())?;
    team::settle_on(settings, &journals, opened.0.id(), Some(engine))?;
    let run = Run { output, journals: &journals, manner: &args.manner, origin };
    drive(&run, studio, opened)
}

pub(super) fn resume(
    settings: &Settings,
    output: &Output,
    args: &PlanResumeArgs,
) -> Result<ExitCode, Failure> {
    let journals = journals(settings);
    let id = meant(&journals, &args.run)?;
    if args.answers.is_empty()
        && journals.is_driven(&id)
        && orders::send(&journals, &id, Order::Resume)? == Sent::Done
    {
        output.line(format!("{id} goes on in the process that runs it"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut opened = open(&journals, &id)?;
    if let Some(ending) = opened.1.ending() {
        let message = format!("`{id}` has ended: {}", ending.word());
        return Err(Failure::new(ErrorKind::Usage, message).hint(format!(
            "`cargo agents plan retry {id}` does again what did not complete, `plan fork` begins a new run with its results"
        )));
    }
    let mut said = Vec::new();
    if opened.1.is_paused() {
        said.push(What::Resumed);
    }
    for (task, answer) in &args.answers {
        said.push(What::Answered { node: node(opened.1.graph(), task)?, answer: *answer });
    }
    tell_all((&mut opened.0, &mut opened.1), said)?;
    go_on(settings, output, (&journals, &id), opened, &args.manner, &args.named.agents)
}

pub(super) fn retry(
    settings: &Settings,
    output: &Output,
    args: &PlanAgainArgs,
) -> Result<ExitCode, Failure> {
    let journals = journals(settings);
    let id = meant(&journals, &args.run)?;
    let mut opened = open(&journals, &id)?;
    if opened.1.ending().is_none() {
        let message = format!("`{id}` has not ended");
        return Err(Failure::new(ErrorKind::Usage, message)
            .hint(format!("`cargo agents plan resume {id}` goes on with it")));
    }
    tell(&mut opened, What::Reopened)?;
    go_on(settings, output, (&journals, &id), opened, &args.manner, &args.named.agents)
}

pub(super) fn fork(
    settings: &Settings,
    output: &Output,
    args: &PlanForkArgs,
) -> Result<ExitCode, Failure> {
    let journals = journals(settings);
    let of = meant(&journals, &args.run)?;
    let old = journals.view(&of)?.now()?;
    let graph = old.graph().clone();
    let again: Result<Vec<NodeId>, Failure> = args
        .from
        .iter()
        .map(|task| node(&graph, task).map(|_| NodeId::new(task.as_str())))
        .collect();
    let opened = journals.fork(&of, &graph, &again?, wall_clock(), Options::default())?;
    let id = opened.0.id().clone();
    go_on(settings, output, (&journals, &id), opened, &args.manner, &args.named.agents)
}

/// Drives a run where it was begun, wherever the user stands now.
fn go_on(
    settings: &Settings,
    output: &Output,
    (journals, id): (&Journals, &RunId),
    opened: Opened,
    manner: &PlanManner,
    named: &[Utf8PathBuf],
) -> Result<ExitCode, Failure> {
    let origin = journals.summary(id)?.map(|it| it.origin).unwrap_or_default();
    let dir = origin.dir.clone().unwrap_or_else(|| settings.cwd.clone());
    if !dir.is_dir() {
        let message = format!("`{dir}`, where the tasks of `{id}` work, is gone");
        return Err(Failure::new(ErrorKind::Usage, message));
    }
    let engine = team::settle_on(settings, journals, id, manner.engine)?;
    let named: Vec<Utf8PathBuf> = named.iter().map(|it| settings.cwd.join(it)).collect();
    let settings = Settings::with_dirs(&settings.flags, settings.dirs.clone(), dir);
    let studio = Studio::new(&settings, output, manner, &named, engine)?;
    let run = Run { output, journals, manner, origin };
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
