//! Programs that run when a sub-agent starts, and when it has ended.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agents_system::{env, process::Call};
use tokio::sync::Notify;

use super::{run::state_of, state::SubAgentState};
use crate::{
    event::{Event, Sink, What},
    id::TaskId,
};

/// A command that runs at a moment of a sub-agent's life. It has a process group of its own, is ended with everything that it started
/// when its time is over, and gets no variables but `PATH` and those below. What it prints is nobody's business.
///
/// | variable | holds |
/// |---|---|
/// | `CARGO_AGENTS_TASK_ID` | the id of the sub-agent |
/// | `CARGO_AGENTS_AGENT` | the name of its definition |
/// | `CARGO_AGENTS_STATE` | `submitted` when it starts; `completed`, `failed` or `canceled` when it has ended |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookDef {
    /// What a shell is given.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
    /// What its failure means for those after it.
    pub failure: OnFailure,
}

/// What the failure of a hook means for those after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// They run all the same.
    #[default]
    GoOn,
    /// They do not.
    Stop,
}

impl HookDef {
    /// A command that may take 30 seconds.
    pub fn new(command: impl Into<String>) -> Self {
        let timeout = Duration::from_secs(30);
        Self { command: command.into(), timeout, failure: OnFailure::GoOn }
    }
}

/// Whose life it is.
pub(super) struct Whose {
    pub(super) id: String,
    pub(super) agent: String,
    pub(super) state: SubAgentState,
}

/// What still runs: sub-agents, and what runs after they have ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail(Arc<Counted>);

#[derive(Debug, Default)]
struct Counted {
    running: AtomicUsize,
    /// Wakes whoever waits until nothing does.
    gone: Notify,
}

/// Something that still runs.
pub(super) struct Still(Tail);

impl Tail {
    pub(super) fn still(&self) -> Still {
        self.0.running.fetch_add(1, Ordering::AcqRel);
        Still(self.clone())
    }

    /// Waits until nothing does.
    pub(super) fn gone(&self) -> impl Future<Output = ()> + Send + use<> {
        let counted = Arc::clone(&self.0);
        async move {
            loop {
                let mut gone = std::pin::pin!(counted.gone.notified());
                // From here on it is heard of.
                gone.as_mut().enable();
                if counted.running.load(Ordering::Acquire) == 0 {
                    return;
                }
                gone.await;
            }
        }
    }

    fn running(&self) -> usize {
        self.0.running.load(Ordering::Acquire)
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        let counted = &self.0.0;
        if counted.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            counted.gone.notify_waiters();
        }
    }
}

/// How many lists of hooks run at the same time; more are not started.
const MAX_AT_A_TIME: usize = 64;

/// Runs hooks when tasks begin and when they have ended, whoever started them, and tells somebody else what happens.
pub struct LifeHooks {
    start: Vec<HookDef>,
    stop: Vec<HookDef>,
    next: Arc<dyn Sink>,
    tail: Tail,
    /// The agents of those that have not ended.
    agents: Mutex<HashMap<TaskId, String>>,
}

impl LifeHooks {
    /// With these hooks, before somebody else is told.
    #[must_use]
    pub fn new(start: Vec<HookDef>, stop: Vec<HookDef>, next: Arc<dyn Sink>) -> Self {
        Self { start, stop, next, tail: Tail::default(), agents: Mutex::default() }
    }

    /// Waits until no hook runs any more, but not for ever.
    pub fn drained(&self, longest: Duration) -> impl Future<Output = ()> + Send + use<> {
        let gone = self.tail.gone();
        async move {
            let _ = tokio::time::timeout(longest, gone).await;
        }
    }

    fn run(&self, hooks: &[HookDef], whose: Whose) {
        // Without a runtime there is nothing to run anything on.
        if hooks.is_empty()
            || self.tail.running() >= MAX_AT_A_TIME
            || tokio::runtime::Handle::try_current().is_err()
        {
            return;
        }
        run(hooks.to_vec(), whose, self.tail.still());
    }
}

impl Sink for LifeHooks {
    fn event(&self, event: &Event) {
        let agents = || self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let id = event.task.to_string();
        match &event.what {
            What::Started { agent, .. } => {
                agents().insert(event.task, agent.clone());
                let state = SubAgentState::Submitted;
                self.run(&self.start, Whose { id, agent: agent.clone(), state });
            }
            What::Ended { outcome } => {
                let agent = agents().remove(&event.task).unwrap_or_default();
                let state = state_of(outcome);
                self.run(&self.stop, Whose { id, agent, state });
            }
            _ => {}
        }
        self.next.event(event);
    }
}

/// Runs hooks one after the other. Nobody waits for it but whoever waits for everything to be over.
pub(super) fn run(hooks: Vec<HookDef>, whose: Whose, still: Still) {
    if hooks.is_empty() {
        return;
    }
    tokio::task::spawn_blocking(move || {
        let _still = still;
        let state = match whose.state {
            SubAgentState::Submitted | SubAgentState::Working | SubAgentState::Canceling => {
                "submitted"
            }
            SubAgentState::Completed => "completed",
            SubAgentState::Failed => "failed",
            SubAgentState::Canceled => "canceled",
        };
        for hook in hooks {
            let call = Call::new("/bin/sh")
                .args(["-c", hook.command.as_str()])
                .in_empty_env()
                .env("PATH", env::handed_on("PATH").unwrap_or_default())
                .env("CARGO_AGENTS_TASK_ID", whose.id.as_str())
                .env("CARGO_AGENTS_AGENT", whose.agent.as_str())
                .env("CARGO_AGENTS_STATE", state)
                .deadline(hook.timeout);
            let done = call.capture().is_ok_and(|it| it.status.success());
            if !done && hook.failure == OnFailure::Stop {
                break;
            }
        }
    });
}
