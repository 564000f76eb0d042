//! From a request to the agent that will run, or to the rule that stands in the way.
//!
//! The order is always the same: who asks, the shape of the request, defaults, plan mode, depth, blocked name and cycle, spawn
//! policy, lookup, disabled list, permission mode, model, output schema, isolation, budget, slot. A batch passes whole or not at
//! all, and everything that stands in its way is told at once. Nothing here has an effect.

mod given;

use std::{collections::BTreeMap, sync::Arc};

use agents_agent::{
    UnknownAgent,
    definition::{AgentDefinition, AgentName, Isolation, PermissionMode, Spawns},
    select::{Activation, Contender, Descriptions, select},
    tools::ToolPattern,
};
use agents_model::select::{self as model, Ask};
use agents_tool::{Birth, Bypass, Rights, Standing};

use crate::{
    done_when::DoneWhen,
    effective::{self, EffectiveAgent, PLAN_TOOLS, Planning, SchemaFrom, TASK},
    id::{MAX_NAME, Taken, TaskPath},
    limits::{Limit, Limits},
    memory::MEMORY,
    refusal::{Refusal, Refused},
    request::{Batch, DispatchSource, Form, TaskRequest},
    schema::Schema,
    secret::REQUEST_SECRET,
    skills::SKILL,
};

pub use self::given::{Caller, Decided, Settings, Situation};

/// Checks a batch. Nothing happens.
///
/// # Errors
/// Everything that stands in its way.
pub fn preflight(
    batch: &Batch,
    caller: &Caller,
    settings: &Settings,
    situation: &Situation<'_>,
) -> Result<Vec<EffectiveAgent>, Refused> {
    let of = batch.tasks.len();
    let whole = |refusal| Refused { items: vec![(None, refusal)], of };
    if caller.source.is_none() {
        return Err(whole(Refusal::NotAuthorized));
    }
    shape(batch, settings).map_err(|items| Refused { items, of })?;
    let check = Check { batch, caller, settings, situation };
    let (mut agents, mut items) = (Vec::with_capacity(of), Vec::new());
    let mut taken = Taken::after(situation.taken);
    let mut last: Option<&TaskRequest> = None;
    for (index, request) in batch.tasks.iter().enumerate() {
        // Batches are often one assignment many times: what was decided for the one before holds for this one, too.
        let before = last.filter(|it| it.is_decided_like(request)).and_then(|_| agents.last());
        let before = before.or_else(|| situation.before?.like(request));
        let agent = match before {
            Some(before) => Ok(check.another(before, request, &taken)),
            None => check.one(request, &taken),
        };
        match agent {
            Ok(agent) => {
                taken.add(agent.path.clone());
                agents.push(agent);
                last = Some(request);
            }
            Err(refusal) => {
                items.push((Some(index), refusal));
                last = None;
            }
        }
    }
    if !items.is_empty() {
        return Err(Refused { items, of });
    }
    budget(of, &situation.left).map_err(|limit| whole(Refusal::Budget(limit)))?;
    if situation.slots.is_some_and(|slots| slots < of) {
        return Err(whole(Refusal::NoSlot { running: situation.running }));
    }
    Ok(agents)
}

type Items = Vec<(Option<usize>, Refusal)>;

/// What can be said without knowing anything but the request and the settings.
fn shape(batch: &Batch, settings: &Settings) -> Result<(), Items> {
    let mut items = Items::new();
    // That something is said counts, even if it is nothing.
    let schema = batch.tasks.iter().any(|it| it.schema.is_some()) && !settings.form.takes_schema();
    let context = batch.context.is_some() && !settings.form.takes_context();
    let given: Vec<&str> = [(context, "context"), (schema, "schema")]
        .into_iter()
        .filter(|it| it.0)
        .map(|it| it.1)
        .collect();
    if !given.is_empty() {
        let form = if settings.form == Form::SchemaFree { "schema-free" } else { "independent" };
        items.push((None, Refusal::Field { given, form }));
    }
    if batch.tasks.is_empty() {
        items.push((None, Refusal::EmptyBatch));
    }
    let mut names: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, request) in batch.tasks.iter().enumerate() {
        if request.prompt.trim().is_empty() {
            items.push((Some(index), Refusal::EmptyPrompt));
        }
        let Some(name) = &request.name else { continue };
        if name.trim().is_empty() || name.chars().count() > MAX_NAME {
            items.push((Some(index), Refusal::Name(name.clone())));
        } else {
            names.entry(name.trim().to_lowercase()).or_default().push(index);
        }
    }
    for at in names.into_values().filter(|at| at.len() > 1) {
        let name = batch.tasks[at[0]].name.clone().unwrap_or_default();
        items.push((None, Refusal::SameName { name, at }));
    }
    if items.is_empty() { Ok(()) } else { Err(items) }
}

/// Whether something is left of everything. How much each gets is settled when it starts.
fn budget(children: usize, left: &Limits) -> Result<(), Limit> {
    let some = |left: Option<u64>| left.is_none_or(|it| it > 0);
    let enough = left.children.is_none_or(|it| it >= children as u64);
    for (fine, limit) in [
        (some(left.turns), Limit::Turns),
        (some(left.tokens), Limit::Tokens),
        (some(left.cost.map(|it| it.0)), Limit::Cost),
        (left.time.is_none_or(|it| !it.is_zero()), Limit::Time),
        (enough, Limit::Children),
    ] {
        if !fine {
            return Err(limit);
        }
    }
    Ok(())
}

struct Check<'a> {
    batch: &'a Batch,
    caller: &'a Caller,
    settings: &'a Settings,
    situation: &'a Situation<'a>,
}

impl Check<'_> {
    fn one(&self, request: &TaskRequest, taken: &Taken<'_>) -> Result<EffectiveAgent, Refusal> {
        let Self { caller, settings, situation, .. } = self;
        // Defaults.
        let (name, chosen) = match &request.agent {
            Some(name) => (name.clone(), None),
            None => self.choose(request)?,
        };
        let planning = self.planning(request)?;
        self.depth()?;
        self.recursion(&name)?;
        if !self.may_spawn(&name) {
            let allowed = match &caller.spawns {
                Spawns::Only(names) => names.clone(),
                Spawns::None | Spawns::Any => Vec::new(),
            };
            return Err(Refusal::Spawn { name, allowed });
        }
        let definition = self.lookup(&name)?;
        if settings.disabled.contains(&name) {
            let enabled = situation.agents.iter().map(|it| it.name.to_string());
            let enabled =
                enabled.filter(|it| !settings.disabled.contains(it) && self.may_spawn(it));
            return Err(Refusal::Disabled { name, enabled: enabled.collect() });
        }
        let mode = self.mode(request, definition, planning)?;
        let model = self.model(request, definition)?;
        let schema = self.schema(request, definition)?;
        let own = DoneWhen::of(definition)
            .map_err(|what| Refusal::DoneWhen { name: name.clone(), what })?;
        let (done_when, users_word) = match caller.source {
            Some(DispatchSource::User) => (own, request.done_when.clone()),
            _ => (own.and(&request.done_when), DoneWhen::default()),
        };
        let isolation = self.isolation(request, definition, planning)?;

        // From here on only the effective agent counts.
        let spawns = self.spawns(definition, planning);
        let standing = self.standing(request, definition, planning, mode, &spawns);
        let limits = self.limits(request, definition);
        let compiled = schema.as_ref().map(|(schema, _)| schema);
        let context = self.batch.context.as_deref();
        let (system, ending_at) = effective::system(definition, planning, context, compiled);
        let mut lineage = caller.lineage.to_vec();
        lineage.push(definition.name.clone());
        Ok(EffectiveAgent {
            name: definition.name.clone(),
            path: self.path(request, &definition.name, taken),
            lineage: lineage.into(),
            system: system.into(),
            ending_at,
            prompt: request.prompt.trim().to_owned(),
            standing: Arc::new(standing),
            spawns,
            model: Arc::new(model),
            schema,
            limits,
            // Nothing is trimmed at 0.
            history: definition.limits.history.filter(|it| *it > 0).map(|it| it as usize),
            isolation,
            waiting: definition.waiting,
            planning,
            done_when: Arc::new(done_when),
            users_word: Arc::new(users_word),
            chosen,
            continues: request.continues.clone(),
        })
    }

    /// One more like this one, with a name and an assignment of its own.
    fn another(
        &self,
        before: &EffectiveAgent,
        request: &TaskRequest,
        taken: &Taken<'_>,
    ) -> EffectiveAgent {
        EffectiveAgent {
            path: self.path(request, &before.name, taken),
            prompt: request.prompt.trim().to_owned(),
            ..before.clone()
        }
    }

    fn path(&self, request: &TaskRequest, agent: &AgentName, taken: &Taken<'_>) -> TaskPath {
        let called = request.name.as_deref().unwrap_or(agent.as_str());
        self.caller.path.child(called, taken)
    }

    /// The agent that fits best, of those that could be started.
    fn choose(&self, request: &TaskRequest) -> Result<(String, Option<String>), Refusal> {
        let startable = self.situation.agents.iter().copied().filter(|it| {
            !self.settings.disabled.contains(it.name.as_str())
                && self.may_spawn(it.name.as_str())
                && !self.caller.lineage.contains(&it.name)
        });
        let startable: Vec<&AgentDefinition> = startable.collect();
        let descriptions = Descriptions::of(startable.iter().copied());
        let contenders = startable
            .iter()
            .map(|agent| Contender { agent, matchers: vec![descriptions.matcher(agent)] });
        let wanted = Activation { prompt: request.prompt.clone(), ..Activation::default() };
        let ranking = select(contenders, &wanted);
        match ranking.first() {
            Some(first) => Ok((first.name.clone(), Some(first.reason.clone()))),
            None => {
                let available = startable.iter().map(|it| it.name.to_string()).collect();
                Err(Refusal::NoMatch { available })
            }
        }
    }

    fn planning(&self, request: &TaskRequest) -> Result<Planning, Refusal> {
        let plans = self.caller.planning == Planning::Plan
            || self.caller.standing.mode == PermissionMode::Plan
            || request.mode == Some(PermissionMode::Plan);
        match (plans, request.isolation) {
            (true, Some(Isolation::Worktree)) => Err(Refusal::IsolatedPlan),
            (true, _) => Ok(Planning::Plan),
            (false, _) => Ok(Planning::Act),
        }
    }

    /// The lowest of what is said. Only the user's own word goes beyond the bounds, and a definition is nobody's word.
    fn limits(&self, request: &TaskRequest, definition: &AgentDefinition) -> Limits {
        let Settings { limits, bounds, .. } = self.settings;
        let asked = match self.caller.source {
            Some(DispatchSource::User) => request.limits.or(*bounds),
            _ => request.limits.meet(*bounds),
        };
        asked.meet(Limits::from(&definition.limits)).or(*limits)
    }

    /// The user is no agent: what the user starts is as deep as anything starts.
    fn depth(&self) -> Result<(), Refusal> {
        match self.settings.max_depth {
            Some(max)
                if self.caller.source != Some(DispatchSource::User)
                    && self.caller.depth() >= max =>
            {
                Err(Refusal::Depth { max })
            }
            _ => Ok(()),
        }
    }

    fn recursion(&self, name: &str) -> Result<(), Refusal> {
        if let Some((blocked, variable)) = &self.settings.blocked
            && blocked == name
        {
            return Err(Refusal::Blocked { name: name.to_owned(), variable: variable.clone() });
        }
        if self.caller.lineage.iter().any(|it| it.as_str() == name) {
            let chain = self.caller.lineage.iter().map(ToString::to_string).collect();
            return Err(Refusal::Cycle { name: name.to_owned(), chain });
        }
        Ok(())
    }

    fn may_spawn(&self, name: &str) -> bool {
        match &self.caller.spawns {
            Spawns::Any => true,
            Spawns::None => false,
            Spawns::Only(names) => names.iter().any(|it| it.trim() == name),
        }
    }

    fn lookup(&self, name: &str) -> Result<&AgentDefinition, Refusal> {
        let agents = self.situation.agents;
        let found = agents.iter().find(|it| it.name.as_str() == name).copied();
        found.ok_or_else(|| {
            let available = agents.iter().map(|it| it.name.to_string()).collect();
            Refusal::Unknown(UnknownAgent { name: name.to_owned(), available })
        })
    }

    fn mode(
        &self,
        request: &TaskRequest,
        definition: &AgentDefinition,
        planning: Planning,
    ) -> Result<Option<PermissionMode>, Refusal> {
        let mode = request.mode.or(definition.permission_mode).or(self.caller.usual_mode);
        let forbidden = self.settings.bypass == Bypass::Forbidden;
        let asked = [request.mode, definition.permission_mode];
        match asked.contains(&Some(PermissionMode::BypassPermissions)) && forbidden {
            true => Err(Refusal::Mode(PermissionMode::BypassPermissions)),
            false if planning == Planning::Plan => Ok(Some(PermissionMode::Plan)),
            false => Ok(mode),
        }
    }

    fn model(
        &self,
        request: &TaskRequest,
        definition: &AgentDefinition,
    ) -> Result<model::Resolution, Refusal> {
        let patterns: Vec<String> = definition.model.iter().map(|it| it.0.clone()).collect();
        let parent = model::Parent {
            active: self.caller.model.as_ref(),
            configured: &self.caller.model_patterns,
        };
        let ask = Ask {
            name: Some(definition.name.as_str()),
            request: &request.model,
            agent: &patterns,
            request_effort: request.effort,
            agent_effort: definition.effort,
            parent: Some(parent),
        };
        Ok(model::select(&ask, self.situation.models, &self.settings.models)?)
    }

    /// That of the call, then of the definition, then of the parent. `null` says nothing.
    fn schema(
        &self,
        request: &TaskRequest,
        definition: &AgentDefinition,
    ) -> Result<Option<(Schema, SchemaFrom)>, Refusal> {
        let (compiled, from) =
            if let Some(schema) = request.schema.as_ref().filter(|it| !it.is_null()) {
                (Schema::compile(schema), SchemaFrom::Call)
            } else if let Some(schema) = &definition.output {
                (Schema::of(schema), SchemaFrom::Definition)
            } else if let Some(schema) = &self.caller.schema {
                (Schema::of(schema), SchemaFrom::Parent)
            } else {
                return Ok(None);
            };
        let compiled = compiled.map_err(|source| Refusal::Schema { from, source })?;
        Ok(Some((compiled, from)))
    }

    fn isolation(
        &self,
        request: &TaskRequest,
        definition: &AgentDefinition,
        planning: Planning,
    ) -> Result<Isolation, Refusal> {
        let wanted = request.isolation.or(definition.isolation).unwrap_or(Isolation::None);
        match (wanted, planning, &self.situation.no_worktrees) {
            (Isolation::None, ..) | (_, Planning::Plan, _) => Ok(Isolation::None),
            (Isolation::Worktree, Planning::Act, None) => Ok(Isolation::Worktree),
            (Isolation::Worktree, Planning::Act, Some(why)) => {
                Err(Refusal::Isolation { why: why.clone() })
            }
        }
    }

    fn spawns(&self, definition: &AgentDefinition, planning: Planning) -> Spawns {
        let depth = self.caller.depth() + 1;
        let deepest = self.settings.max_depth.is_some_and(|max| depth >= max);
        if planning == Planning::Plan || deepest { Spawns::None } else { definition.spawns.clone() }
    }

    /// The meet of parent, definition, request and mode; never more than any of these.
    fn standing(
        &self,
        request: &TaskRequest,
        definition: &AgentDefinition,
        planning: Planning,
        mode: Option<PermissionMode>,
        spawns: &Spawns,
    ) -> Standing {
        let mut tools = definition.tools.clone();
        if let Some(listed) = tools.allow.as_mut().filter(|it| !it.is_empty()) {
            // Who may start agents or ask for secrets, names skills or keeps notes, has the tool for it, listed or not.
            if *spawns != Spawns::None {
                listed.push(ToolPattern::new(TASK));
            }
            let said = [
                (!definition.secrets.is_empty(), REQUEST_SECRET),
                (!definition.skills.include.is_empty(), SKILL),
                (definition.memory.is_some(), MEMORY),
            ];
            listed.extend(said.iter().filter(|it| it.0).map(|(_, tool)| ToolPattern::new(tool)));
        }
        let mut own = Rights::from(&tools);
        if *spawns == Spawns::None {
            own = own.without([TASK]);
        }
        if planning == Planning::Plan {
            own = own.meet(&Rights::only(PLAN_TOOLS));
        }
        let birth = Birth {
            definition: own,
            request: Rights::all().restrict(&request.tools),
            mode,
            grants: &request.grants,
        };
        self.caller.standing.child(&birth, self.situation.now)
    }
}

#[cfg(test)]
mod tests;
