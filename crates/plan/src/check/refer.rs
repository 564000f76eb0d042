//! What tasks refer to.

use agents_system::finding::Finding;
use serde_json::Value;

use super::{Check, shapes::shape_of, suggested};
use crate::{
    file::{List, Path, Task},
    reference::{Condition, Reference, ReferenceError, Root, Side, Template},
    shape::{Reach, comparable, schema_of, types},
};

/// What a text may refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum May {
    /// Everything: it is read when a task starts.
    All,
    /// What is known before the plan runs.
    Known,
}

impl Check<'_> {
    pub(super) fn references(&mut self) {
        let plan = &self.file().plan;
        for (index, task) in plan.tasks.iter().enumerate() {
            let path = self.file().path_of(index);
            for (path, text) in task_texts(&path, task) {
                self.text(&path, &text, May::All, Some(task));
            }
            for (path, text) in early_texts(&path, task) {
                self.text(&path, &text, May::Known, Some(task));
            }
            for (name, value) in &task.with {
                if let Value::String(text) = value {
                    self.text(&path.then("with").then(name), text, May::Known, Some(task));
                }
            }
            if let Some(when) = &task.when {
                self.condition(&path.then("when"), when, task);
            }
            self.list(&path, task);
            for (key, names) in [("needs", &task.needs), ("after", &task.after)] {
                for (at, name) in names.iter().enumerate() {
                    self.needed(&path.then(key).then(at), name, task);
                }
            }
        }
        for (name, text) in &plan.outputs {
            self.text(&Path::top().then("outputs").then(name), text, May::All, None);
        }
    }

    fn needed(&mut self, path: &Path, name: &str, task: &Task) {
        let tasks = &self.file().plan.tasks;
        if name == task.id {
            self.error(path, format!("`{name}` cannot come after itself"));
        } else if tasks.iter().all(|it| it.id != name) {
            let message = format!("there is no task `{name}`");
            self.unknown(path, message, name, tasks.iter().map(|it| it.id.as_str()));
        }
    }

    fn text(&mut self, path: &Path, text: &str, may: May, task: Option<&Task>) {
        match Template::parse(text) {
            Err(error) => self.bad_text(path, text, &error),
            Ok(template) => {
                for (reference, span) in template.references() {
                    self.reference(path, &text[span], reference, may, task);
                }
            }
        }
    }

    fn bad_text(&mut self, path: &Path, text: &str, error: &ReferenceError) {
        let part = text.get(error.span.clone()).unwrap_or_default();
        let finding = Finding::error(error.what.clone());
        self.findings.push(self.file().at_part(path, part, finding));
    }

    fn reference(
        &mut self,
        path: &Path,
        written: &str,
        reference: &Reference,
        may: May,
        task: Option<&Task>,
    ) {
        let plan = &self.file().plan;
        let mut wrong = |finding: Finding| {
            self.findings.push(self.bundle.files[self.at].at_part(path, written, finding));
        };
        match &reference.root {
            Root::Item if task.is_none_or(|it| it.for_each.is_none()) => {
                let finding = Finding::error("there is no `item` without `for-each`");
                return wrong(finding);
            }
            Root::Param(name) if !plan.params.contains_key(name) => {
                let finding = Finding::error(format!("the plan has no parameter `{name}`"));
                let known = plan.params.keys().map(String::as_str);
                return wrong(suggested(finding, name, known));
            }
            Root::Task(id, side) => {
                let Some(of) = plan.tasks.iter().find(|it| it.id == *id) else {
                    let finding = Finding::error(format!("there is no task `{id}`"));
                    let known = plan.tasks.iter().map(|it| it.id.as_str());
                    return wrong(suggested(finding, id, known));
                };
                if task.is_some_and(|it| it.id == *id) {
                    return wrong(Finding::error(format!("`{id}` cannot refer to itself")));
                }
                if may == May::Known {
                    let finding = Finding::error("results of tasks are not known here");
                    let hint = "only parameters and items are: it is read before the plan runs";
                    return wrong(finding.hint(hint));
                }
                if *side == Side::Items && of.for_each.is_none() {
                    let finding =
                        Finding::error(format!("`{id}` is not done for each of something"));
                    return wrong(finding.hint(format!("`tasks.{id}.output` is its result")));
                }
            }
            Root::Item | Root::Param(_) => {}
        }
        if let Reach::Nowhere(why) = shape_of(self.bundle, self.facts, self.at, reference) {
            let whole = Reference { path: Vec::new(), root: reference.root.clone() };
            let message = format!("`{reference}` can never be there");
            wrong(Finding::error(message).hint(format!("of `{whole}`: {why}")));
        }
    }

    fn condition(&mut self, path: &Path, text: &str, task: &Task) {
        let condition = match Condition::parse(text) {
            Err(error) => return self.bad_text(path, text, &error),
            Ok(condition) => condition,
        };
        for (reference, span) in condition.references() {
            self.reference(path, &text[span], reference, May::All, Some(task));
        }
        for (one, operator, other) in condition.comparisons() {
            let (Some(a), Some(b)) = (self.operand(one), self.operand(other)) else { continue };
            let ordered = |schema: &Value| {
                types(schema).is_none_or(|it| {
                    it.iter().any(|it| matches!(*it, "string" | "number" | "integer"))
                })
            };
            let sign = operator.sign();
            if !comparable(&a, &b) {
                let told = |schema: &Value| {
                    types(schema).unwrap_or_default().into_iter().collect::<Vec<_>>().join(" or ")
                };
                let message = format!("`{sign}` compares {} with {}", told(&a), told(&b));
                self.error(path, message);
            } else if operator.is_order() && !(ordered(&a) && ordered(&b)) {
                self.error(path, format!("`{sign}` needs numbers or texts"));
            }
        }
        if condition.references().is_empty() && condition.holds(&Nothing) == Ok(false) {
            let finding = Finding::warning(format!("`{}` is never done", task.id));
            self.at_value(path, finding);
        }
    }

    fn operand(&self, of: &Condition) -> Option<Value> {
        match of {
            Condition::Value(value) => Some(schema_of(value)),
            Condition::Reference(reference, _) => {
                match shape_of(self.bundle, self.facts, self.at, reference) {
                    Reach::Schema(schema) => Some(schema),
                    Reach::Nowhere(_) => None,
                }
            }
            _ => Some(serde_json::json!({ "type": "boolean" })),
        }
    }

    fn list(&mut self, path: &Path, task: &Task) {
        let Some(List::Reference(text)) = task.for_each.as_ref().and_then(|it| it.list.as_ref())
        else {
            return;
        };
        let path = path.then("for-each").then("in");
        // The list is there before there is an item.
        let outside = Task { for_each: None, ..task.clone() };
        let before = self.findings.len();
        self.text(&path, text, May::Known, Some(&outside));
        let template = Template::parse(text).ok();
        let reference = template.as_ref().and_then(Template::only_reference);
        let is_list =
            reference.is_some_and(|it| match shape_of(self.bundle, self.facts, self.at, it) {
                Reach::Schema(schema) => types(&schema).is_none_or(|it| it.contains("array")),
                Reach::Nowhere(_) => true,
            });
        if !is_list && self.findings.len() == before {
            self.error(&path, format!("`{text}` is not a list"));
        }
    }
}

pub(super) struct Nothing;

impl crate::reference::Lookup for Nothing {
    fn look_up(&self, _: &Reference) -> Option<Value> {
        None
    }
}

/// The texts that are read when a task starts.
fn task_texts(path: &Path, task: &Task) -> Vec<(Path, String)> {
    let mut texts: Vec<(Path, String)> =
        task.prompt.iter().map(|it| (path.then("prompt"), it.clone())).collect();
    if let Some(race) = &task.race {
        let path = path.then("race");
        for (at, contender) in race.contenders.iter().enumerate() {
            let prompt = contender.prompt.iter();
            let path = path.then("contenders").then(at).then("prompt");
            texts.extend(prompt.map(|it| (path.clone(), it.clone())));
        }
        let judge =
            race.judge.iter().map(|it| (path.then("judge").then("prompt"), it.prompt.clone()));
        texts.extend(judge);
    }
    texts
}

/// The texts that are read before the plan runs.
fn early_texts(path: &Path, task: &Task) -> Vec<(Path, String)> {
    let done = path.then("done-when");
    let lists = [
        (path.then("reads"), &task.reads),
        (path.then("writes"), &task.writes),
        (done.then("commands"), &task.done_when.commands),
        (done.then("changed"), &task.done_when.changed),
        (done.then("unchanged"), &task.done_when.unchanged),
    ];
    let entries = lists.into_iter().flat_map(|(path, texts)| {
        texts.iter().enumerate().map(move |(at, text)| (path.then(at), text.clone()))
    });
    entries.collect()
}
