//! Whether a plan makes sense, before anything runs: everything that is wrong with it, at once, each with its place.
//!
//! The findings that are errors keep a plan from being expanded; the others are worth knowing. What is referred to is needed: a
//! reference to a task is a dependency on it, whether `needs` says so or not (and only on its end if `after` names it).

mod refer;
mod shapes;
mod whole;

pub(crate) use whole::needs_of;

use std::collections::BTreeMap;

use agents_system::{
    finding::{Finding, Severity},
    nearest::{nearest, quoted_list},
};
use agents_task::schema::Schema;
use camino::Utf8PathBuf;
use serde_json::Value;

use crate::file::{Bundle, Path, Pick, PlanFile, Task};

/// The longest name.
const MAX_NAME: usize = 64;

/// What is known about the place where a plan is to run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// The agents that there are.
    pub agents: BTreeMap<String, AgentFacts>,
    /// The members of the workspace.
    pub members: Vec<MemberFacts>,
}

/// What is known about an agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentFacts {
    /// The JSON Schema of what it hands in, if its definition has one.
    pub output: Option<Value>,
    /// The provider that answers for it, where that is known.
    pub provider: Option<String>,
}

/// What is known about a member of the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberFacts {
    /// Its name.
    pub name: String,
    /// Its directory, from the root of the workspace.
    pub dir: Utf8PathBuf,
    /// The names of the members that it depends on.
    pub depends_on: Vec<String>,
}

/// Everything that is wrong with a plan.
#[must_use]
pub fn check(bundle: &Bundle, facts: &Facts) -> Vec<Finding> {
    let mut check = Check { bundle, facts, at: 0, findings: Vec::new() };
    for at in 0..bundle.files.len() {
        check.at = at;
        check.plan();
        let tasks = &bundle.files[at].plan.tasks;
        tasks.iter().enumerate().for_each(|(index, task)| check.task(index, task));
        check.references();
        check.order();
    }
    check.at = 0;
    check.parts();
    check.budget();
    check.findings
}

/// Whether none of these keeps a plan from being run.
#[must_use]
pub fn is_sound(findings: &[Finding]) -> bool {
    findings.iter().all(|it| it.severity != Severity::Error)
}

struct Check<'a> {
    bundle: &'a Bundle,
    facts: &'a Facts,
    /// Which file is looked at.
    at: usize,
    findings: Vec<Finding>,
}

/// Lower-case letters, digits and dashes inside.
fn is_name(text: &str) -> bool {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let inside = !text.starts_with('-') && !text.ends_with('-');
    !text.is_empty() && text.len() <= MAX_NAME && inside && text.chars().all(fine)
}

impl<'a> Check<'a> {
    fn file(&self) -> &'a PlanFile {
        &self.bundle.files[self.at]
    }

    fn at_value(&mut self, path: &Path, finding: Finding) {
        self.findings.push(self.file().at_value(path, finding));
    }

    fn error(&mut self, path: &Path, message: impl Into<String>) {
        self.at_value(path, Finding::error(message));
    }

    fn name(&mut self, path: &Path, what: &str, name: &str) {
        if !is_name(name) {
            let finding = Finding::error(format!("`{name}` is no name for {what}"));
            let hint =
                format!("lower-case letters, digits and `-` between them, at most {MAX_NAME}");
            self.at_value(path, finding.hint(hint));
        }
    }

    /// A finding about something that is not there, with what was probably meant.
    fn unknown<'k>(
        &mut self,
        path: &Path,
        message: String,
        typed: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) {
        let finding = Finding::error(message);
        self.at_value(path, suggested(finding, typed, known));
    }

    /// What the plan itself says.
    fn plan(&mut self) {
        let plan = &self.file().plan;
        let top = Path::top();
        self.name(&top.then("plan"), "a plan", &plan.plan);
        if plan.tasks.is_empty() {
            self.error(&top, "the plan has no tasks");
        }
        for (name, param) in &plan.params {
            let path = top.then("params").then(name);
            self.name(&path, "a parameter", name);
            if let Some(default) = param.default.as_ref().filter(|it| !param.kind.takes(it)) {
                let message =
                    format!("the default of `{name}` is {default}, not {}", param.kind.told());
                self.error(&path.then("default"), message);
            }
        }
        let limits = &plan.concurrency;
        let path = top.then("concurrency");
        if limits.total == Some(0) {
            self.error(&path.then("total"), "nothing could ever run");
        }
        for (kind, named) in [
            ("agents", &limits.agents),
            ("providers", &limits.providers),
            ("resources", &limits.resources),
        ] {
            for (name, _) in named.iter().filter(|(_, most)| **most == 0) {
                let path = path.then(kind).then(name);
                self.error(&path, format!("nothing that uses `{name}` could ever run"));
            }
        }
        for name in limits.agents.keys().filter(|it| !self.facts.agents.contains_key(*it)) {
            let finding = Finding::warning(format!("there is no agent `{name}` to be limited"));
            self.at_value(&path.then("agents").then(name), finding);
        }
    }

    /// What one task says by itself.
    fn task(&mut self, index: usize, task: &Task) {
        let path = self.file().path_of(index);
        self.name(&path.then("id"), "a task", &task.id);
        let tasks = &self.file().plan.tasks;
        if tasks[..index].iter().any(|it| it.id == task.id) {
            self.error(&path.then("id"), format!("there are two tasks named `{}`", task.id));
        }
        self.work(&path, task);
        if let Some(Err(error)) = task.output.as_ref().map(Schema::compile) {
            self.error(&path.then("output"), error.to_string());
        }
        let retry = task.retry.as_ref();
        if retry.is_some_and(|it| it.attempts == 0) {
            self.error(&path.then("retry").then("attempts"), "it would never be tried");
        }
        let limits = &task.limits;
        let limited = [
            ("turns", limits.turns == Some(0)),
            ("tokens", limits.tokens == Some(0)),
            ("cost", limits.cost.is_some_and(|it| it.0.0 == 0)),
            ("time", limits.time.is_some_and(|it| it.0.is_zero())),
            ("idle", limits.idle.is_some_and(|it| it.0.is_zero())),
        ];
        for (name, _) in limited.iter().filter(|(_, none)| *none) {
            self.error(&path.then("limits").then(name), "nothing can be done with nothing");
        }
        for (resource, amount) in &task.resources {
            let most = self.file().plan.concurrency.resources.get(resource).copied().unwrap_or(1);
            if *amount > most {
                let message = format!("it uses {amount} of `{resource}`, and there is {most}");
                self.error(&path.then("resources").then(resource), message);
            }
        }
        for (key, paths) in [("reads", &task.reads), ("writes", &task.writes)] {
            for (at, lease) in paths.iter().enumerate() {
                if let Some(member) = lease.strip_prefix("member:").filter(|it| !it.contains("${{"))
                {
                    self.member(&path.then(key).then(at), member);
                }
            }
        }
        self.each(&path, task);
    }

    fn member(&mut self, path: &Path, name: &str) {
        let facts = self.facts;
        if facts.members.iter().all(|it| it.name != name) {
            let message = format!("the workspace has no member `{name}`");
            self.unknown(path, message, name, facts.members.iter().map(|it| it.name.as_str()));
        }
    }

    fn agent(&mut self, path: &Path, name: &str) {
        let facts = self.facts;
        if !facts.agents.contains_key(name) {
            let message = format!("there is no agent `{name}`");
            self.unknown(path, message, name, facts.agents.keys().map(String::as_str));
        }
    }

    /// Who does it.
    fn work(&mut self, path: &Path, task: &Task) {
        let prompted = task.prompt.is_some();
        if let Some(agent) = &task.agent {
            self.agent(&path.then("agent"), agent);
        }
        match (&task.plan, &task.race) {
            (Some(_), Some(_)) => {
                self.error(&path.then("plan"), "a task is either a plan or a race, not both");
            }
            (Some(_), None) => self.only_a_plan(path, task),
            (None, Some(race)) => {
                if race.contenders.len() < 2 {
                    self.error(&path.then("race"), "a race has at least two contenders");
                }
                for (at, contender) in race.contenders.iter().enumerate() {
                    let path = path.then("race").then("contenders").then(at);
                    match &contender.agent {
                        Some(agent) => self.agent(&path.then("agent"), agent),
                        None if task.agent.is_none() => {
                            self.error(&path, "neither the contender nor the task says `agent`");
                        }
                        None => {}
                    }
                    if contender.prompt.is_none() && !prompted {
                        self.error(&path, "neither the contender nor the task says `prompt`");
                    }
                }
                match (&race.judge, race.pick) {
                    (None, Pick::Judge) => self.error(&path.then("race"), "`judge` is missing"),
                    (Some(judge), Pick::Judge) => {
                        self.agent(&path.then("race").then("judge").then("agent"), &judge.agent);
                    }
                    (Some(_), Pick::First | Pick::Vote) => {
                        let finding = Finding::error("nobody asks the judge");
                        let finding =
                            finding.hint("say `pick = \"judge\"`, or leave the judge out");
                        self.at_value(&path.then("race").then("judge"), finding);
                    }
                    (None, _) => {}
                }
                let apart = task.isolation == Some(crate::file::Isolation::Worktree);
                if !task.writes.is_empty() && !apart {
                    let finding =
                        Finding::error("the contenders would write the same files at once");
                    let hint = "say `isolation = \"worktree\"`";
                    self.at_value(&path.then("writes"), finding.hint(hint));
                }
            }
            (None, None) => {
                if task.agent.is_none() {
                    let finding = Finding::error(format!("nobody does `{}`", task.id));
                    self.at_value(path, finding.hint("say `agent`, `plan` or `race`"));
                }
                if !prompted {
                    self.error(path, format!("`prompt` is missing in `{}`", task.id));
                }
            }
        }
        if task.plan.is_none() && !task.with.is_empty() {
            self.error(&path.then("with"), "only a plan takes parameters");
        }
    }

    fn only_a_plan(&mut self, path: &Path, task: &Task) {
        let limits = crate::file::Limits::default();
        let said = [
            ("agent", task.agent.is_some()),
            ("prompt", task.prompt.is_some()),
            ("output", task.output.is_some()),
            ("done-when", !task.done_when.is_empty()),
            ("limits", task.limits != limits),
            ("retry", task.retry.is_some()),
            ("isolation", task.isolation.is_some()),
            ("model", !task.model.is_empty()),
            ("reads", !task.reads.is_empty()),
            ("writes", !task.writes.is_empty()),
            ("resources", !task.resources.is_empty()),
        ];
        for (key, _) in said.iter().filter(|(_, said)| *said) {
            self.error(&path.then(key), format!("`{key}` is said by the tasks of the other plan"));
        }
    }

    fn each(&mut self, path: &Path, task: &Task) {
        let Some(each) = &task.for_each else { return };
        let path = path.then("for-each");
        match (&each.list, &each.members) {
            (None, None) => self.error(&path, "for each of what? say `in` or `members`"),
            (Some(_), Some(_)) => self.error(&path, "`in` and `members` exclude each other"),
            _ => {}
        }
        for (at, name) in each.members.iter().flatten().enumerate().filter(|(_, it)| *it != "*") {
            self.member(&path.then("members").then(at), name);
        }
    }
}

fn suggested<'k>(
    finding: Finding,
    typed: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> Finding {
    let mut known: Vec<&str> = known.into_iter().collect();
    known.dedup();
    let near = nearest(typed, known.iter().copied());
    match (near.as_slice(), known.len()) {
        ([], 1..=12) => finding.hint(format!("there are {}", quoted_list(&known, "and"))),
        ([], _) => finding,
        (near, _) => finding.label(format!("did you mean {}?", quoted_list(near, "or"))),
    }
}

#[cfg(test)]
pub(crate) mod tests;
