//! Whoever runs the tasks of a plan: the same runner that runs what the user starts by hand.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use agents_agent::definition::PermissionMode;
use agents_plan::{
    engine::{Executor, Life, Start},
    event::{Ending, Outcome},
    graph::NodeId,
};
use agents_system::{explain::Explain as _, process};
use agents_task::{
    Batch, Caller, Runner, TaskId,
    event::{Event, What},
    id::MAX_NAME,
};
use agents_tool::Grant;

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
    pub(super) runner: Runner,
    pub(super) caller: Caller,
    pub(super) leave: Leave,
    pub(super) floor: Floor,
}

/// What the user lets all tasks do.
#[derive(Debug, Clone)]
pub(super) struct Leave {
    pub(super) mode: Option<PermissionMode>,
    pub(super) grants: Vec<Grant>,
}

impl Executor for Crew {
    async fn run(&self, start: Start, life: Life) -> Outcome {
        let Start { node, mut request, .. } = start;
        request.name = Some(short(node.as_str()));
        request.mode = self.leave.mode;
        request.grants.clone_from(&self.leave.grants);
        let started = match self.runner.start(&Batch::from(request), &self.caller) {
            Ok(started) => started,
            Err(refused) => {
                let hint = refused.hint().map(|it| format!(" ({it})")).unwrap_or_default();
                return Outcome::ended(Ending::Refused, format!("{refused}{hint}"));
            }
        };
        let Some(running) = started.into_iter().next() else {
            return Outcome::ended(Ending::Lost, "it was not started");
        };
        let name = running.path.clone();
        self.floor.enter(running.id, Worker { node, name, life: life.clone() });
        let cancel = running.cancel.clone();
        // Whoever drops us must not leave it running.
        let _guard = cancel.clone().drop_guard();
        let outcome = running.outcome();
        tokio::pin!(outcome);
        let outcome = tokio::select! {
            biased;
            outcome = &mut outcome => outcome,
            () = life.stopped() => {
                cancel.cancel();
                outcome.await
            }
        };
        let outcome = Outcome::from(&outcome);
        if process::interrupted() && outcome.ending != Ending::Completed {
            // Ctrl-C reaches the programs of tasks, too: how those end then says nothing. The run is about to be suspended, and
            // the task will be started again.
            std::future::pending::<()>().await;
        }
        outcome
    }
}

/// Names of nodes can be longer than those of tasks; their ends tell more.
fn short(name: &str) -> String {
    let skip = name.chars().count().saturating_sub(MAX_NAME);
    name.chars().skip(skip).collect()
}
