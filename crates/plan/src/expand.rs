//! From what a plan says to the nodes that run: no `for-each`, no plans within plans, no races and no parameters any more.
//!
//! Names are stable: the same plan with the same facts has the same nodes, so that results can be found again.
//!
//! | in the plan | nodes |
//! |---|---|
//! | a task `a` | `a` |
//! | `a` for each of `x`, `y` | `a/x`, `a/y`, and `a`, which gathers them |
//! | a race `a` with two contenders | `a/1`, `a/2`, `a/judge` if there is one, and `a`, which is the winner |
//! | a plan `a` with the tasks `b`, `c` | `a/b`, `a/c`, and `a`, which has what the plan hands on |

mod items;
mod race;

use std::collections::BTreeMap;

use agents_system::finding::Finding;
use agents_task::done_when;
use camino::Utf8PathBuf;
use serde_json::Value;

use crate::{
    check::{Facts, check, is_sound, needs_of},
    event::Ending,
    file::{self, Bundle, Path, Plan, PlanFile, Task},
    graph::{
        Assignment, Budget, Concurrency, Deadlines, Graph, Join, Need, Node, NodeId, Retry, Until,
        Uses, Work,
    },
    reference::{Condition, Lookup, Reference, Root, Template, walk},
};

/// The most nodes of one graph.
const MAX_NODES: usize = 100_000;

/// Checks a plan and makes it into a graph, with values for its parameters.
///
/// # Errors
/// Everything that is wrong.
pub fn expand(
    bundle: &Bundle,
    facts: &Facts,
    values: &BTreeMap<String, Value>,
) -> Result<Graph, Vec<Finding>> {
    let mut findings = check(bundle, facts);
    let main = bundle.main();
    let params = given(main, values, &mut findings);
    if !is_sound(&findings) {
        return Err(findings);
    }
    let mut expansion = Expansion { bundle, facts, nodes: Vec::new() };
    let scope = Scope { at: 0, prefix: String::new(), params, needs: Vec::new(), when: None };
    expansion.plan(&scope);
    let whole = |message: String| vec![main.at_value(&Path::top(), Finding::error(message))];
    if expansion.nodes.len() >= MAX_NODES {
        return Err(whole(format!("the plan has more than {MAX_NODES} nodes")));
    }
    let plan = &main.plan;
    let graph =
        Graph::new(plan.plan.clone(), expansion.nodes).map_err(|error| whole(error.to_string()))?;
    Ok(graph.within(concurrency(plan), budget(plan)))
}

/// The values of parameters: what was said, else the defaults.
fn given(
    main: &PlanFile,
    values: &BTreeMap<String, Value>,
    findings: &mut Vec<Finding>,
) -> BTreeMap<String, Value> {
    let declared = &main.plan.params;
    for name in values.keys().filter(|it| !declared.contains_key(*it)) {
        findings.push(Finding::error(format!("the plan has no parameter `{name}`")));
    }
    let mut params = BTreeMap::new();
    for (name, param) in declared {
        let path = Path::top().then("params").then(name);
        match values.get(name).or(param.default.as_ref()) {
            Some(value) if param.kind.takes(value) => {
                params.insert(name.clone(), value.clone());
            }
            Some(value) => {
                let message = format!("`{name}` must be {}, not {value}", param.kind.told());
                findings.push(main.at_key(&path, Finding::error(message)));
            }
            None => {
                let finding = Finding::error(format!("the plan needs a value for `{name}`"));
                findings
                    .push(main.at_key(&path, finding.hint(format!("say `--param {name}=...`"))));
            }
        }
    }
    params
}

fn concurrency(plan: &Plan) -> Concurrency {
    let file::Concurrency { total, agents, providers, resources } = plan.concurrency.clone();
    Concurrency { total: total.unwrap_or(Concurrency::TOTAL), agents, providers, resources }
}

fn budget(plan: &Plan) -> Budget {
    let file::Budget { turns, tokens, cost } = plan.budget;
    Budget { turns, tokens, cost: cost.map(|it| it.0) }
}

/// Where a plan stands in the whole.
struct Scope {
    /// Which file.
    at: usize,
    /// Before the names of its tasks.
    prefix: String,
    params: BTreeMap<String, Value>,
    /// What all of its tasks need.
    needs: Vec<Need>,
    /// What must hold for all of its tasks.
    when: Option<Condition>,
}

/// What is known about one instance of a task.
struct Instance<'s> {
    scope: &'s Scope,
    task: &'s Task,
    name: String,
    item: Option<Value>,
    needs: Vec<Need>,
    when: Option<Condition>,
}

impl Lookup for Instance<'_> {
    fn look_up(&self, reference: &Reference) -> Option<Value> {
        let value = match &reference.root {
            Root::Param(name) => self.scope.params.get(name)?,
            Root::Item => self.item.as_ref()?,
            Root::Task(..) => return None,
        };
        Some(walk(value, &reference.path).cloned().unwrap_or_default())
    }
}

impl Scope {
    fn rename(&self) -> impl Fn(&str) -> String + '_ {
        |id| format!("{}{id}", self.prefix)
    }
}

impl Instance<'_> {
    fn bind(&self, text: &str) -> Template {
        let template = Template::parse(text).unwrap_or_else(|_| Template::plain(text));
        template.bind(self, &self.scope.rename())
    }

    /// A text in which everything is known.
    fn text(&self, text: &str) -> String {
        self.bind(text).render(self)
    }

    fn texts(&self, texts: &[String]) -> Vec<String> {
        texts.iter().map(|it| self.text(it)).collect()
    }
}

struct Expansion<'a> {
    bundle: &'a Bundle,
    facts: &'a Facts,
    nodes: Vec<Node>,
}

impl Expansion<'_> {
    /// Adds the nodes of a plan, and returns the names of its tasks.
    fn plan(&mut self, scope: &Scope) -> Vec<NodeId> {
        let bundle = self.bundle;
        let tasks = &bundle.files[scope.at].plan.tasks;
        for (index, task) in tasks.iter().enumerate() {
            if self.nodes.len() >= MAX_NODES {
                break;
            }
            self.task(scope, index, task);
        }
        tasks.iter().map(|it| NodeId::new(format!("{}{}", scope.prefix, it.id))).collect()
    }

    fn task(&mut self, scope: &Scope, index: usize, task: &Task) {
        let id = format!("{}{}", scope.prefix, task.id);
        let mut needs = scope.needs.clone();
        for (on, until) in needs_of(task) {
            needs.push(Need { on: NodeId::new(format!("{}{on}", scope.prefix)), until });
        }
        let Some(each) = &task.for_each else {
            self.instance(index, scope, task, id, None, needs);
            return;
        };
        let items = self.items(scope, each);
        let names: Vec<NodeId> =
            items.iter().map(|it| NodeId::new(format!("{id}/{}", it.name))).collect();
        let mut values = Vec::new();
        for (item, name) in items.into_iter().zip(&names) {
            let mut needs = needs.clone();
            needs.extend(item.after.iter().map(|it| Need::completed(names[*it].clone())));
            let name = name.as_str().to_owned();
            values.push(item.value.clone());
            self.instance(index, scope, task, name, Some(item.value), needs);
        }
        let join = Join::Each { of: names.clone(), items: values };
        // What the items wait for, the whole waits for, too, also if there are none.
        self.join(scope, task, NodeId::new(id), join, names, needs);
    }

    fn join(
        &mut self,
        scope: &Scope,
        task: &Task,
        id: NodeId,
        join: Join,
        of: Vec<NodeId>,
        more: Vec<Need>,
    ) {
        let mut node = Node::of(id, Work::Join(join));
        node.needs = of.into_iter().map(Need::ended).collect();
        if node.needs.is_empty() {
            node.needs = more;
        }
        node.on_failure = self.on_failure(scope, task);
        self.nodes.push(node);
    }

    fn on_failure(&self, scope: &Scope, task: &Task) -> file::OnFailure {
        let plan = &self.bundle.files[scope.at].plan;
        task.on_failure.or(plan.on_failure).unwrap_or_default()
    }

    fn instance(
        &mut self,
        index: usize,
        scope: &Scope,
        task: &Task,
        name: String,
        item: Option<Value>,
        needs: Vec<Need>,
    ) {
        let mut instance = Instance { scope, task, name, item, needs, when: None };
        let own = task.when.as_deref().and_then(|it| Condition::parse(it).ok());
        let own = own.map(|it| it.bind(&instance, &scope.rename()));
        instance.when = match (scope.when.clone(), own) {
            (Some(outer), Some(own)) => Some(outer.and(own)),
            (outer, own) => outer.or(own),
        };
        if let Some(part) = self.bundle.parts[scope.at].get(&index).copied() {
            self.part(part, &instance);
        } else if let Some(race) = &task.race {
            self.race(race, &instance);
        } else {
            let agent = task.agent.clone().unwrap_or_default();
            let prompt = instance.bind(task.prompt.as_deref().unwrap_or_default());
            let node = self.agent(
                &instance,
                NodeId::new(instance.name.clone()),
                agent,
                prompt,
                &task.model,
            );
            self.nodes.push(node);
        }
    }

    fn part(&mut self, part: usize, instance: &Instance<'_>) {
        let params = &self.bundle.files[part].plan.params;
        let values = params.iter().filter_map(|(name, param)| {
            let value = match instance.task.with.get(name) {
                Some(Value::String(text)) => instance.bind(text).value(instance),
                Some(value) => value.clone(),
                None => param.default.clone()?,
            };
            Some((name.clone(), value))
        });
        let inner = Scope {
            at: part,
            prefix: format!("{}/", instance.name),
            params: values.collect(),
            needs: instance.needs.clone(),
            when: instance.when.clone(),
        };
        let of = self.plan(&inner);
        let nobody = Task::default();
        let known = Instance {
            scope: &inner,
            task: &nobody,
            name: String::new(),
            item: None,
            needs: Vec::new(),
            when: None,
        };
        let outputs = &self.bundle.files[part].plan.outputs;
        let outputs = outputs.iter().map(|(name, text)| (name.clone(), known.bind(text))).collect();
        let id = NodeId::new(instance.name.clone());
        let join = Join::Plan { of: of.clone(), outputs };
        self.join(instance.scope, instance.task, id, join, of, instance.needs.clone());
    }

    /// The node of an agent.
    fn agent(
        &self,
        instance: &Instance<'_>,
        id: NodeId,
        agent: String,
        prompt: Template,
        model: &[String],
    ) -> Node {
        let task = instance.task;
        let plan = &self.bundle.files[instance.scope.at].plan;
        let by_model = model.first().and_then(|it| it.split_once('/')).map(|it| it.0.to_owned());
        let by_agent = || self.facts.agents.get(&agent)?.provider.clone();
        let uses = Uses {
            provider: by_model.or_else(by_agent),
            resources: task.resources.clone(),
            reads: self.paths(instance, &task.reads),
            writes: self.paths(instance, &task.writes),
        };
        let assignment = Assignment {
            agent,
            prompt,
            schema: task.output.clone(),
            done_when: done_when::DoneWhen {
                commands: instance.texts(&task.done_when.commands),
                changed: instance.texts(&task.done_when.changed),
                unchanged: instance.texts(&task.done_when.unchanged),
            },
            model: model.to_vec(),
            isolation: task.isolation,
            turns: task.limits.turns,
            tokens: task.limits.tokens,
            cost: task.limits.cost.map(|it| it.0),
        };
        let mut node = Node::of(id, Work::Agent(Box::new(assignment)));
        node.needs = instance.needs.clone();
        node.when = instance.when.clone();
        node.retry = task.retry.as_ref().or(plan.retry.as_ref()).map(retry).unwrap_or_default();
        node.on_failure = self.on_failure(instance.scope, task);
        node.deadlines = Deadlines {
            run: task.limits.time.map(|it| it.0),
            idle: task.limits.idle.map(|it| it.0),
        };
        node.uses = uses;
        node.priority = task.priority;
        node
    }

    /// Paths, with members as their directories.
    fn paths(&self, instance: &Instance<'_>, texts: &[String]) -> Vec<Utf8PathBuf> {
        let path = |text: String| match text.strip_prefix("member:") {
            Some(name) => {
                let member = self.facts.members.iter().find(|it| it.name == name);
                member.map_or_else(|| Utf8PathBuf::from(name), |it| it.dir.clone())
            }
            None => Utf8PathBuf::from(text),
        };
        instance.texts(texts).into_iter().map(path).collect()
    }
}

fn retry(said: &file::Retry) -> Retry {
    let default = Retry::default();
    Retry {
        attempts: said.attempts,
        backoff: said.backoff.map_or(default.backoff, |it| it.0),
        on: said.on.clone().unwrap_or(default.on),
    }
}

/// Whether a node has completed, as a condition.
fn completed(id: &NodeId) -> Condition {
    let root = Root::Task(id.as_str().to_owned(), crate::reference::Side::Ending);
    let ending = Condition::Reference(Reference { root, path: Vec::new() }, 0..0);
    let word = Condition::Value(Value::String(Ending::Completed.word().to_owned()));
    Condition::Compare(Box::new(ending), crate::reference::Operator::Equal, Box::new(word))
}

/// That all of these have ended.
fn ended(of: &[NodeId]) -> Vec<Need> {
    of.iter().map(|it| Need { on: it.clone(), until: Until::Ended }).collect()
}

#[cfg(test)]
mod tests;
