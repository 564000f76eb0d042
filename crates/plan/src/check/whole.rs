//! What only shows when tasks are seen together.

use std::collections::{BTreeMap, BTreeSet};

use agents_system::finding::Finding;
use serde_json::Value;

use super::{Check, refer::Nothing};
use crate::{
    file::{Path, Task},
    reference::{Condition, Template},
    shape::{Reach, comparable, schema_of, types},
};

/// The tasks that a task needs, with whether each of them must complete: what it says, and what it refers to.
pub(crate) fn needs_of(task: &Task) -> BTreeMap<String, crate::graph::Until> {
    use crate::graph::Until;
    let mut needs: BTreeMap<String, Until> =
        task.needs.iter().map(|it| (it.clone(), Until::Completed)).collect();
    let contenders = task.race.iter().flat_map(|it| &it.contenders);
    let judge = task.race.iter().filter_map(|it| it.judge.as_ref()).map(|it| &it.prompt);
    let texts =
        task.prompt.iter().chain(contenders.filter_map(|it| it.prompt.as_ref())).chain(judge);
    let mut referred: Vec<String> = Vec::new();
    for template in texts.filter_map(|it| Template::parse(it).ok()) {
        referred.extend(template.references().filter_map(|(it, _)| it.task().map(str::to_owned)));
    }
    if let Some(condition) = task.when.as_deref().and_then(|it| Condition::parse(it).ok()) {
        let references = condition.references();
        referred.extend(references.iter().filter_map(|(it, _)| it.task().map(str::to_owned)));
    }
    for id in referred {
        needs.entry(id).or_insert(Until::Completed);
    }
    for id in &task.after {
        // What is only waited for may also be referred to; what `needs` names must complete.
        if !task.needs.contains(id) {
            needs.insert(id.clone(), Until::Ended);
        }
    }
    needs
}

impl Check<'_> {
    /// Circles, and what can never be reached.
    pub(super) fn order(&mut self) {
        let tasks = &self.file().plan.tasks;
        let position: BTreeMap<&str, usize> =
            tasks.iter().enumerate().rev().map(|(at, it)| (it.id.as_str(), at)).collect();
        let needs: Vec<Vec<usize>> = tasks
            .iter()
            .enumerate()
            .map(|(at, task)| {
                let known = needs_of(task).into_keys();
                known
                    .filter_map(|it| position.get(it.as_str()).copied())
                    .filter(|it| *it != at)
                    .collect()
            })
            .collect();
        for circle in circles(&needs) {
            let names: Vec<String> = circle
                .iter()
                .chain(circle.first())
                .map(|it| format!("`{}`", tasks[*it].id))
                .collect();
            let message = format!("tasks need each other: {}", names.join(" needs "));
            let path = self.file().path_of(circle[0]).then("id");
            self.error(&path, message);
        }
        self.unreachable(&position);
    }

    /// What needs something that is never done.
    fn unreachable(&mut self, position: &BTreeMap<&str, usize>) {
        let tasks = &self.file().plan.tasks;
        let never = |task: &Task| {
            let condition = task.when.as_deref().and_then(|it| Condition::parse(it).ok());
            condition
                .is_some_and(|it| it.references().is_empty() && it.holds(&Nothing) == Ok(false))
        };
        let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
        for (at, task) in tasks.iter().enumerate() {
            for (id, until) in needs_of(task) {
                if let Some(on) = position.get(id.as_str())
                    && until == crate::graph::Until::Completed
                {
                    dependents[*on].push(at);
                }
            }
        }
        let mut waiting: Vec<usize> = (0..tasks.len()).filter(|it| never(&tasks[*it])).collect();
        let mut dead: BTreeSet<usize> = waiting.iter().copied().collect();
        while let Some(on) = waiting.pop() {
            for at in dependents[on].clone() {
                if dead.insert(at) {
                    waiting.push(at);
                    let message = format!(
                        "`{}` is never done, because `{}` is not",
                        tasks[at].id, tasks[on].id
                    );
                    let path = self.file().path_of(at).then("id");
                    self.at_value(&path, Finding::warning(message));
                }
            }
        }
    }

    /// Plans that are parts of plans: that they end, and what they are given.
    pub(super) fn parts(&mut self) {
        let parts: Vec<Vec<usize>> =
            self.bundle.parts.iter().map(|it| it.values().copied().collect()).collect();
        for circle in circles(&parts) {
            let names: Vec<String> = circle
                .iter()
                .chain(circle.first())
                .map(|it| format!("`{}`", self.bundle.files[*it].file))
                .collect();
            self.at = circle[0];
            let to = circle.get(1).unwrap_or(&circle[0]);
            let task = self.bundle.parts[self.at].iter().find(|(_, part)| *part == to);
            let path =
                task.map_or(Path::top(), |(task, _)| self.file().path_of(*task).then("plan"));
            self.error(&path, format!("plans are parts of each other: {}", names.join(" has ")));
        }
        for at in 0..self.bundle.files.len() {
            self.at = at;
            for (task, part) in &self.bundle.parts[at] {
                self.given(*task, *part);
            }
        }
        self.at = 0;
    }

    fn given(&mut self, index: usize, part: usize) {
        let path = self.file().path_of(index);
        let task = &self.file().plan.tasks[index];
        let params = &self.bundle.files[part].plan.params;
        for (name, param) in params {
            if param.default.is_none() && !task.with.contains_key(name) {
                let finding = Finding::error(format!("the plan needs `{name}`"));
                self.at_value(
                    &path.then("plan"),
                    finding.hint(format!("say `with = {{ {name} = ... }}`")),
                );
            }
        }
        for (name, value) in &task.with {
            let at = path.then("with").then(name);
            let Some(param) = params.get(name) else {
                let message = format!("the plan takes no `{name}`");
                self.unknown(&at, message, name, params.keys().map(String::as_str));
                continue;
            };
            let template = value.as_str().and_then(|it| Template::parse(it).ok());
            let fits = match template.as_ref().and_then(Template::only_reference) {
                Some(reference) => {
                    match super::shapes::shape_of(self.bundle, self.facts, self.at, reference) {
                        Reach::Schema(schema) => {
                            types(&param.kind.schema()).is_none()
                                || comparable(&schema, &param.kind.schema())
                        }
                        Reach::Nowhere(_) => true,
                    }
                }
                None => param.kind.takes(value) || comparable_text(value, &param.kind.schema()),
            };
            if !fits {
                self.error(&at, format!("`{name}` must be {}", param.kind.told()));
            }
        }
    }

    /// Whether what is to be done can be paid at all.
    pub(super) fn budget(&mut self) {
        let budget = self.file().plan.budget;
        let path = Path::top().then("budget");
        let nothing = [
            ("turns", budget.turns == Some(0)),
            ("tokens", budget.tokens == Some(0)),
            ("cost", budget.cost.is_some_and(|it| it.0.0 == 0)),
        ];
        for (key, _) in nothing.iter().filter(|(_, none)| *none) {
            self.error(&path.then(key), "nothing can be done with nothing");
        }
        let (least, words) = self.least(0, 0);
        if let Some(turns) = budget.turns.filter(|it| *it > 0 && *it < least) {
            let message = format!(
                "the budget cannot suffice: {least} tasks need at least {least} turns, and there are {turns}"
            );
            self.error(&path.then("turns"), message);
        }
        // A token is seldom more than a dozen bytes; the prompts alone are that much.
        let tokens = words / 12;
        if let Some(most) = budget.tokens.filter(|it| *it > 0 && *it < tokens) {
            let message = format!(
                "the budget cannot suffice: the prompts alone are about {tokens} tokens, and there are {most}"
            );
            self.error(&path.then("tokens"), message);
        }
        for (index, task) in self.file().plan.tasks.iter().enumerate() {
            let path = self.file().path_of(index).then("limits");
            let more = |own: Option<u64>, all: Option<u64>| {
                own.zip(all).is_some_and(|(own, all)| own > all)
            };
            let cost = |it: Option<crate::file::Dollars>| it.map(|it| it.0.0);
            let exceeding = [
                ("turns", more(task.limits.turns, budget.turns)),
                ("tokens", more(task.limits.tokens, budget.tokens)),
                ("cost", more(cost(task.limits.cost), cost(budget.cost))),
            ];
            for (key, _) in exceeding.iter().filter(|(_, exceeds)| *exceeds) {
                let finding =
                    Finding::warning(format!("`{}` may use more than the whole plan", task.id));
                self.at_value(&path.then(key), finding);
            }
        }
    }

    /// How many tasks run at least, and how many bytes of prompts.
    fn least(&self, at: usize, depth: usize) -> (u64, u64) {
        if depth > 8 {
            return (0, 0);
        }
        let mut least = (0, 0);
        for (index, task) in self.bundle.files[at].plan.tasks.iter().enumerate() {
            // Whether it is done, or how often, is not known.
            if task.when.is_some() {
                continue;
            }
            let times = match &task.for_each {
                None => 1,
                Some(each) => match (&each.list, &each.members) {
                    (Some(crate::file::List::Items(items)), _) => items.len() as u64,
                    (_, Some(members)) if members.iter().any(|it| it == "*") => {
                        self.facts.members.len() as u64
                    }
                    (_, Some(members)) => members.len() as u64,
                    _ => 0,
                },
            };
            let (tasks, bytes) = match self.bundle.parts[at].get(&index) {
                Some(part) => self.least(*part, depth + 1),
                None => (1, task.prompt.as_ref().map_or(0, |it| it.len() as u64)),
            };
            least = (least.0 + times * tasks, least.1 + times * bytes);
        }
        least
    }
}

/// A text with references in it is a text.
fn comparable_text(value: &Value, schema: &Value) -> bool {
    let is_text = value.as_str().is_some_and(|it| it.contains("${{"));
    is_text && comparable(&schema_of(value), schema)
}

/// One circle for each group of things that lead to each other.
fn circles(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; next.len()];
    let mut found = Vec::new();
    for start in 0..next.len() {
        if marks[start] != Mark::New {
            continue;
        }
        // The way from the start, with how many of its neighbours have been looked at.
        let mut way: Vec<(usize, usize)> = vec![(start, 0)];
        marks[start] = Mark::Open;
        while let Some((at, looked)) = way.last_mut() {
            let Some(to) = next[*at].get(*looked).copied() else {
                marks[*at] = Mark::Done;
                way.pop();
                continue;
            };
            *looked += 1;
            match marks[to] {
                Mark::New => {
                    marks[to] = Mark::Open;
                    way.push((to, 0));
                }
                Mark::Open => {
                    let first = way.iter().position(|(it, _)| *it == to).unwrap_or(0);
                    found.push(way[first..].iter().map(|(it, _)| *it).collect());
                }
                Mark::Done => {}
            }
        }
    }
    found
}
