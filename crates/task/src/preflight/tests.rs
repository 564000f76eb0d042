use std::time::Duration;

use agents_agent::definition::{
    AgentName, MemoryScope, ModelPattern, OutputSchema, SchemaLanguage, Waiting,
};
use agents_model::select::{Available, Credentials, ModelRef};
use agents_tool::Moment;
use serde_json::{Value, json};

use super::*;
use crate::{refusal::Again, submission::YIELD};

mod alike;
mod availability;
mod dispatch;
mod plan_mode;
mod rights;
mod room;
mod schemas;
mod shape;

/// A small world in which everything is allowed, to be changed by each test.
struct World {
    agents: Vec<AgentDefinition>,
    settings: Settings,
    caller: Caller,
    no_worktrees: Option<String>,
    left: Limits,
    slots: Option<usize>,
    models: Vec<Available>,
}

fn agent(name: &str) -> AgentDefinition {
    let mut agent = AgentDefinition::blank(AgentName::new(name).unwrap());
    agent.description = format!("use it to {name} things");
    agent.prompt = format!("You {name}.");
    agent
}

fn standing(mode: PermissionMode) -> Standing {
    Standing::root(Rights::all(), mode, Bypass::Allowed)
}

fn model(id: &str) -> Available {
    Available::new(ModelRef::new("script", id), Credentials::Ready)
}

impl World {
    fn new() -> Self {
        let mut spawner = agent("task");
        spawner.spawns = Spawns::Any;
        Self {
            agents: vec![agent("explore"), agent("review"), spawner],
            settings: Settings::default(),
            caller: Caller::user(standing(PermissionMode::AcceptEdits)),
            no_worktrees: None,
            left: Limits::default(),
            slots: None,
            models: vec![model("one"), model("two")],
        }
    }

    /// The caller is an agent this deep, and may start these.
    fn called_by_agent(mut self, depth: usize, spawns: Spawns) -> Self {
        self.caller.source = Some(DispatchSource::TaskTool);
        for at in 0..depth {
            let name = format!("ancestor{at}");
            self.caller.path = self.caller.path.child(&name, &crate::id::Taken::default());
            let own = AgentName::new(&name).unwrap();
            self.caller.lineage = self.caller.lineage.iter().cloned().chain([own]).collect();
        }
        self.caller.spawns = spawns;
        self
    }

    fn agent(&mut self, name: &str) -> &mut AgentDefinition {
        self.agents.iter_mut().find(|it| it.name.as_str() == name).unwrap()
    }

    fn batch(&self, batch: &Batch) -> Result<Vec<EffectiveAgent>, Refused> {
        self.after(None, batch)
    }

    /// The same, with what was decided before.
    fn after(
        &self,
        before: Option<&Decided>,
        batch: &Batch,
    ) -> Result<Vec<EffectiveAgent>, Refused> {
        let agents: Vec<&AgentDefinition> = self.agents.iter().collect();
        let situation = Situation {
            agents: &agents,
            models: &self.models,
            no_worktrees: self.no_worktrees.clone(),
            left: self.left,
            slots: self.slots,
            running: 3,
            taken: Box::leak(Box::default()),
            now: Moment::default(),
            before,
        };
        preflight(batch, &self.caller, &self.settings, &situation)
    }

    fn run(&self, request: TaskRequest) -> Result<EffectiveAgent, Refusal> {
        match self.batch(&request.into()) {
            Ok(mut agents) => Ok(agents.remove(0)),
            Err(mut refused) => Err(refused.items.remove(0).1),
        }
    }

    fn start(&self, name: &str) -> Result<EffectiveAgent, Refusal> {
        self.run(TaskRequest::new(name, "do it"))
    }

    #[track_caller]
    fn refuses(&self, name: &str, rule: &str, message: &str) -> Refusal {
        let refusal = self.start(name).unwrap_err();
        assert_eq!((refusal.rule(), refusal.to_string().as_str()), (rule, message));
        refusal
    }
}

fn only(names: &[&str]) -> Spawns {
    Spawns::Only(names.iter().map(|it| (*it).to_owned()).collect())
}
