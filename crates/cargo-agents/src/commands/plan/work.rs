//! Whoever runs the tasks of a plan: the same runner that runs what the user starts by hand.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use agents_agent::definition::{Isolation, PermissionMode};
use agents_plan::{
    engine::{Executor, Life, Start},
    event::{Ending, Outcome},
    graph::NodeId,
    ground::{Ground, tree},
};
use agents_system::{
    cache::{Digest, digest},
    explain::Explain as _,
    process::{self, Call},
};
use agents_task::{
    Batch, Broker, Caller, Patience, Runner, Surroundings, TaskId, TaskRequest, TaskSettings,
    effective::EffectiveAgent,
    event::{Event, Sink, What},
    id::MAX_NAME,
    request::DispatchSource,
    runner::{Common, Running},
    secret::Desk,
    workplace::Settle,
};
use agents_tool::{Grant, artifacts::ArtifactDir};
use camino::{Utf8Path, Utf8PathBuf};
use tokio_util::sync::CancellationToken;

use super::super::task::{self, Place};
use crate::settings::Settings;

/// The tasks that run now.
#[derive(Debug, Clone, Default)]
pub(super) struct Floor(Arc<Mutex<HashMap<TaskId, Worker>>>);

#[derive(Debug, Clone)]
struct Worker {
    node: NodeId,
    /// The name that its own tasks have before theirs.
    name: agents_task::TaskPath,
    life: Life,
}

impl Floor {
    fn enter(&self, id: TaskId, worker: Worker) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, worker);
    }

    /// Something happened to a task, or to one that it started: it is alive. Tells whose it is.
    pub(super) fn heard(&self, event: &Event) -> Option<NodeId> {
        let mut workers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = matches!(event.what, What::Ended { .. });
        if let Some(worker) = workers.get(&event.task) {
            worker.life.beat();
            let node = worker.node.clone();
            if is_over {
                workers.remove(&event.task);
            }
            return Some(node);
        }
        let worker = workers.values().find(|it| event.path.is_within(&it.name))?;
        worker.life.beat();
        Some(worker.node.clone())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

/// Runs tasks for a plan.
pub(super) struct Crew {
    pub(super) team: Performer,
    pub(super) floor: Floor,
    /// Where the paths of the plan begin.
    pub(super) root: Utf8PathBuf,
    pub(super) settle: Settle,
}

/// Whoever does what a task says, here or at a worker.
#[derive(Clone)]
pub(crate) struct Performer {
    pub(crate) runner: Runner,
    pub(crate) caller: Caller,
    pub(crate) leave: Leave,
}

/// What the user lets all tasks do.
#[derive(Debug, Clone)]
pub(crate) struct Leave {
    pub(crate) mode: Option<PermissionMode>,
    pub(crate) grants: Vec<Grant>,
}

impl Leave {
    /// Whoever starts tasks of plans, with what the user lets them do: at most, and where nobody says anything.
    pub(crate) fn caller(&self, runner: &Runner, ceiling: Option<PermissionMode>) -> Caller {
        // Where the user says nothing, definitions may: how much depends on who wrote them.
        let highest = ceiling.unwrap_or(PermissionMode::BypassPermissions);
        let usual = self.mode.map_or(PermissionMode::Default.min(highest), |it| it.min(highest));
        let user = runner.user(highest, usual);
        let mut caller = Caller { source: Some(DispatchSource::Plan), ..user };
        self.grants.iter().for_each(|grant| caller.standing.grants.add(grant.clone()));
        caller
    }
}

impl Performer {
    /// What a task is asked to do, as the runner wants it.
    fn batch(&self, mut request: TaskRequest) -> Batch {
        request.mode = self.leave.mode;
        request.grants.clone_from(&self.leave.grants);
        Batch::from(request)
    }

    /// Runs a task to its end, or until it is to stop. Whoever is told that it runs may be told its name.
    pub(crate) async fn perform(
        &self,
        request: TaskRequest,
        stopped: impl Future<Output = ()>,
        entered: impl FnOnce(&Running),
    ) -> Result<agents_task::Outcome, Outcome> {
        let started = self.runner.start(&self.batch(request), &self.caller);
        let started = started.map_err(|refused| {
            let hint = refused.hint().map(|it| format!(" ({it})")).unwrap_or_default();
            Outcome::ended(Ending::Refused, format!("{refused}{hint}"))
        })?;
        let Some(running) = started.into_iter().next() else {
            return Err(Outcome::ended(Ending::Lost, "it was not started"));
        };
        entered(&running);
        let cancel = running.cancel.clone();
        // Whoever drops us must not leave it running.
        let _guard = cancel.clone().drop_guard();
        let outcome = running.outcome();
        tokio::pin!(outcome);
        Ok(tokio::select! {
            biased;
            outcome = &mut outcome => outcome,
            () = stopped => {
                cancel.cancel();
                outcome.await
            }
        })
    }
}

impl Executor for Crew {
    async fn run(&self, start: Start, life: Life) -> Outcome {
        let Start { node, mut request, .. } = start;
        request.name = Some(short(node.as_str()));
        let entered = |running: &Running| {
            let name = running.path.clone();
            self.floor.enter(running.id, Worker { node, name, life: life.clone() });
        };
        let outcome = match self.team.perform(request, life.stopped(), entered).await {
            Ok(outcome) => Outcome::from(&outcome),
            Err(refused) => return refused,
        };
        if process::interrupted() && outcome.ending != Ending::Completed {
            // Ctrl-C reaches the programs of tasks, too: how those end then says nothing. The run is about to be suspended, and
            // the task will be started again.
            std::future::pending::<()>().await;
        }
        outcome
    }

    async fn ground(&self, start: &Start) -> Option<Ground> {
        let mut request = start.request.clone();
        request.name = Some(short(start.node.as_str()));
        let Performer { runner, caller, .. } = &self.team;
        let agents = runner.check(&self.team.batch(request), caller).ok()?;
        let agent = agents.into_iter().next()?;
        let worktree = agent.isolation == Isolation::Worktree;
        // What is only on a branch is not where whoever recalls the result would look for it.
        if worktree && self.settle == Settle::Branch {
            return None;
        }
        let (root, files) = (self.root.clone(), start.files.clone());
        let read = tokio::task::spawn_blocking(move || {
            // Those who work in a worktree of their own begin with what is committed.
            let begins = if worktree { committed(&root)? } else { String::new() };
            Some(Ground {
                definition: definition(&agent, &begins),
                tree: tree(&root, &files).ok()?,
            })
        });
        read.await.ok()?
    }
}

/// Who works, and how: everything that was put together for the task, besides what it is told to do and where it stands.
fn definition(agent: &EffectiveAgent, begins: &str) -> Digest {
    let said = format!(
        "{}\n{begins}\n{}\n{:?}\n{:?}\n{:?} {:?}\n{:?}\n{:?} {:?}\n{}",
        env!("CARGO_PKG_VERSION"),
        agent.name,
        agent.model.model,
        agent.model.effort.map(|(effort, _)| effort),
        agent.standing.rights,
        agent.standing.mode,
        agent.spawns,
        agent.planning,
        agent.schema.as_ref().map(|(schema, _)| schema.json()),
        agent.system,
    );
    digest(said.as_bytes())
}

/// The files of the last commit, by git's own name for them.
fn committed(root: &Utf8Path) -> Option<String> {
    let asked = Call::new("git").args(["rev-parse", "--verify", "HEAD^{tree}"]).cwd(root);
    let told = asked.capture().ok().filter(|it| it.status.success())?;
    Some(told.stdout_text().trim().to_owned())
}

/// Who answers what tasks ask.
pub(crate) struct Questions {
    pub(crate) broker: Broker,
    pub(crate) secrets: Option<Desk>,
}

/// What runs tasks at a place, for a plan.
pub(crate) fn runner(
    settings: &Settings,
    said: &TaskSettings,
    place: &Arc<Place>,
    Questions { broker, secrets }: Questions,
    sink: Arc<dyn Sink>,
    cancel: CancellationToken,
) -> Runner {
    let common = Common {
        settings: said.for_preflight(place.preferences()),
        broker,
        sink,
        artifacts: Arc::new(ArtifactDir::new(&settings.dirs.state.join("artifacts"))),
        transcripts: Some(task::transcripts(settings)),
        secrets,
        patience: Patience::default(),
        // The scheduler counts those of the plan; what they start shares the rest.
        concurrency: said.concurrency.max(1024),
        cancel,
    };
    Runner::new(Arc::clone(place) as Arc<dyn Surroundings>, common)
}

/// Names of nodes can be longer than those of tasks; their ends tell more.
pub(super) fn short(name: &str) -> String {
    let skip = name.chars().count().saturating_sub(MAX_NAME);
    name.chars().skip(skip).collect()
}
