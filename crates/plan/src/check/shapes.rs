//! What tasks hand in.

use serde_json::{Value, json};

use crate::{
    check::Facts,
    file::{Bundle, Task},
    reference::{Reference, Root, Side, Template},
    shape::{Reach, reach},
};

/// How deep plans within plans are looked into.
const MAX_DEPTH: usize = 8;

/// The schema of what a reference of a file means, or why it means nothing. Whatever is unknown is `true`.
pub(super) fn shape_of(bundle: &Bundle, facts: &Facts, at: usize, of: &Reference) -> Reach {
    Shapes { bundle, facts }.reference(at, of, 0)
}

struct Shapes<'a> {
    bundle: &'a Bundle,
    facts: &'a Facts,
}

impl Shapes<'_> {
    fn reference(&self, at: usize, of: &Reference, depth: usize) -> Reach {
        let plan = &self.bundle.files[at].plan;
        let schema = match &of.root {
            Root::Item => Value::Bool(true),
            Root::Param(name) => {
                plan.params.get(name).map_or(Value::Bool(true), |it| it.kind.schema())
            }
            Root::Task(id, side) => match plan.tasks.iter().position(|it| it.id == *id) {
                Some(index) => self.side(at, index, *side, depth),
                None => Value::Bool(true),
            },
        };
        reach(&schema, &of.path)
    }

    fn side(&self, at: usize, index: usize, side: Side, depth: usize) -> Value {
        let task = &self.bundle.files[at].plan.tasks[index];
        let one = self.single(at, index, depth);
        match side {
            Side::Text | Side::Ending => json!({ "type": "string" }),
            Side::Output if task.for_each.is_some() => json!({ "type": "array", "items": one }),
            Side::Output => one,
            Side::Items => json!({
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": { "item": true, "ending": { "type": "string" }, "output": one, "text": { "type": "string" } },
                },
            }),
        }
    }

    fn single(&self, at: usize, index: usize, depth: usize) -> Value {
        let task = &self.bundle.files[at].plan.tasks[index];
        if let Some(schema) = &task.output {
            return agents_task::schema::Schema::compile(schema)
                .map_or(Value::Bool(true), |it| it.json().clone());
        }
        if task.plan.is_some() {
            return self.part(at, index, depth);
        }
        self.agent(task).unwrap_or(Value::Bool(true))
    }

    fn part(&self, at: usize, index: usize, depth: usize) -> Value {
        let Some(part) = self.bundle.parts[at].get(&index).copied().filter(|_| depth < MAX_DEPTH)
        else {
            return Value::Bool(true);
        };
        let outputs = self.bundle.files[part].plan.outputs.iter().map(|(name, text)| {
            let reference = Template::parse(text).ok().and_then(|it| it.only_reference().cloned());
            let schema = match reference.map(|it| self.reference(part, &it, depth + 1)) {
                Some(Reach::Schema(schema)) => schema,
                Some(Reach::Nowhere(_)) | None => Value::Bool(true),
            };
            (name.clone(), schema)
        });
        let properties: serde_json::Map<String, Value> = outputs.collect();
        json!({ "type": "object", "properties": properties, "additionalProperties": false })
    }

    /// What the agent hands in, if all who may do it hand in the same.
    fn agent(&self, task: &Task) -> Option<Value> {
        let contenders = task.race.iter().flat_map(|it| &it.contenders);
        let mut names: Vec<Option<&String>> =
            contenders.map(|it| it.agent.as_ref().or(task.agent.as_ref())).collect();
        if names.is_empty() {
            names.push(task.agent.as_ref());
        }
        let mut schemas = names.into_iter().map(|it| self.facts.agents.get(it?)?.output.clone());
        let first = schemas.next()??;
        schemas.all(|it| it.as_ref() == Some(&first)).then_some(first)
    }
}
