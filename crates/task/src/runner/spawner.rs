//! Tasks that a task starts.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
};

use agents_agent::definition::{Isolation, Spawns};
use agents_tool::{
    CallContext, Output, Standing, ToolError,
    tools::{self, AgentLine},
};
use futures_util::future::{BoxFuture, join_all};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Known, Parent, Runner, Running};
use crate::{
    effective::EffectiveAgent,
    id::TaskId,
    limits::Budget,
    outcome::{Ending, Outcome},
    preflight::Caller,
    request::{Batch, TaskRequest},
    turns::Tools,
    workplace::{Settled, Site},
};

/// The slot of a task. While the task only waits for others, these can have it: a tree that is deeper than there are slots would
/// wait for ever otherwise.
#[derive(Debug)]
pub(super) struct Holder {
    slots: Arc<Semaphore>,
    state: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    slot: Option<OwnedSemaphorePermit>,
    /// How many calls wait for others.
    waiting: usize,
}

impl Holder {
    pub(super) fn new(slot: OwnedSemaphorePermit, slots: Arc<Semaphore>) -> Self {
        Self { slots, state: Mutex::new(Held { slot: Some(slot), waiting: 0 }) }
    }

    fn lend(&self) {
        let mut held = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        held.waiting += 1;
        held.slot = None;
    }

    async fn take_back(&self) {
        {
            let mut held = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            held.waiting -= 1;
            if held.waiting > 0 {
                return;
            }
        }
        let slot = Arc::clone(&self.slots).acquire_owned().await.ok();
        let mut held = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if held.waiting == 0 {
            held.slot = slot;
        }
    }
}

/// Starts tasks for an agent.
pub(super) struct Spawner {
    pub(super) runner: Runner,
    pub(super) id: TaskId,
    pub(super) agent: Arc<EffectiveAgent>,
    pub(super) budget: Arc<Budget>,
    pub(super) holder: Arc<Holder>,
    /// Where the agent works; so do those that it starts.
    pub(super) site: Site,
    /// What the agent is told that it could start. What there is when it does counts.
    pub(super) known: Known,
    /// The agent's own tools, which know what it may do at this moment.
    pub(super) tools: OnceLock<Weak<Tools>>,
}

impl Spawner {
    fn caller(&self) -> Caller {
        let tools = self.tools.get().and_then(Weak::upgrade);
        let standing = match tools {
            Some(tools) => tools.inner().inner().standing(),
            None => Arc::clone(&self.agent.standing),
        };
        Caller::agent(&self.agent, Standing::clone(&standing), Vec::new())
    }
}

impl tools::Spawner for Spawner {
    fn agents(&self) -> Vec<AgentLine> {
        let may = |name: &str| match &self.agent.spawns {
            Spawns::None => false,
            Spawns::Any => true,
            Spawns::Only(names) => names.iter().any(|it| it.trim() == name),
        };
        let settings = &self.runner.0.common.settings;
        let startable = self.known.iter().filter(|it| {
            let name = it.name.as_str();
            may(name) && !settings.disabled.contains(name) && !self.agent.lineage.contains(&it.name)
        });
        let line = |it: &Arc<agents_agent::AgentDefinition>| AgentLine {
            name: it.name.to_string(),
            description: it.description.clone(),
        };
        startable.map(line).collect()
    }

    fn spawn<'a>(
        &'a self,
        batch: tools::Batch,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            let batch = request(&batch);
            let parent = Parent { id: self.id, budget: &self.budget, site: &self.site };
            let started = self
                .runner
                .launch(&batch, &self.caller(), Some(parent), &context.cancelled, |_, _| {})
                .map_err(|refused| ToolError::failed(refused.to_string()))?;
            self.holder.lend();
            let tokens: Vec<_> = started.iter().map(|it| it.cancel.clone()).collect();
            let ended = join_all(started.into_iter().map(Running::outcome));
            tokio::pin!(ended);
            let outcomes = tokio::select! {
                biased;
                outcomes = &mut ended => outcomes,
                () = tokio::time::sleep_until(context.deadline.into()) => {
                    // They end soon now, and what they have is kept.
                    tokens.iter().for_each(tokio_util::sync::CancellationToken::cancel);
                    ended.await
                }
            };
            self.holder.take_back().await;
            Ok(told(&outcomes))
        })
    }
}

fn request(batch: &tools::Batch) -> Batch {
    let isolation =
        |said: Option<bool>| said.map(|it| if it { Isolation::Worktree } else { Isolation::None });
    let tasks = batch.tasks.iter().map(|item| TaskRequest {
        name: Some(item.id.trim().to_owned()),
        agent: batch.agent_of(item).map(str::to_owned),
        prompt: item.assignment.clone(),
        schema: item.schema.clone().or_else(|| batch.schema.clone()),
        tools: item.tools.clone().unwrap_or_default(),
        isolation: isolation(item.isolated.or(batch.isolated)),
        ..TaskRequest::default()
    });
    Batch { tasks: tasks.collect(), context: batch.context.clone() }
}

/// What the agent that asked reads: each result in the order of the assignments, with how it came to be.
fn told(outcomes: &[Outcome]) -> Output {
    let done = outcomes.iter().filter(|it| it.ending == Ending::Completed).count();
    let mut text = format!("{done} of {} tasks completed\n", outcomes.len());
    for outcome in outcomes {
        let report = &outcome.report;
        let _ = write!(text, "\n## {}: {}\n", outcome.path.name(), outcome.ending.told());
        let result = match &report.output {
            Some(output) => match &output.value {
                Value::String(text) => text.clone(),
                value => format!("{value:#}"),
            },
            None => report.text.trim().to_owned(),
        };
        text.push_str(if result.is_empty() { "(it said nothing)" } else { &result });
        text.push('\n');
        if let Some(changes) = report.changes.as_ref().and_then(Settled::told) {
            let _ = writeln!(text, "[{changes}]");
        }
        for line in &report.not_agreed {
            let _ = writeln!(text, "[not done: {line}]");
        }
    }
    Output { failed: done == 0, ..Output::data(text) }
}
