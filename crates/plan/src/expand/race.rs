//! Races: contenders, the judge, and the join that is the winner.

use serde_json::json;

use super::{Expansion, Instance, completed, ended};
use crate::{
    file::{Isolation, OnFailure, Pick, Race},
    graph::{Join, Need, NodeId, Work},
    reference::{Condition, Reference, Root, Side, Template},
};

impl Expansion<'_> {
    pub(super) fn race(&mut self, race: &Race, instance: &Instance<'_>) {
        let task = instance.task;
        let of: Vec<NodeId> = (1..=race.contenders.len())
            .map(|number| NodeId::new(format!("{}/{number}", instance.name)))
            .collect();
        for (contender, id) in race.contenders.iter().zip(&of) {
            let agent = contender.agent.clone().or_else(|| task.agent.clone()).unwrap_or_default();
            let prompt = contender.prompt.as_ref().or(task.prompt.as_ref());
            let prompt = instance.bind(prompt.map_or("", String::as_str));
            let model = if contender.model.is_empty() { &task.model } else { &contender.model };
            let mut node = self.agent(instance, id.clone(), agent, prompt, model);
            // The race fails if all of them do.
            node.on_failure = OnFailure::Continue;
            if task.isolation == Some(Isolation::Worktree) {
                // Each has files of its own.
                node.uses.writes.clear();
                node.uses.reads.clear();
            }
            self.nodes.push(node);
        }
        let mut gathered = of.clone();
        let join = match race.pick {
            Pick::First => Join::First { of: of.clone() },
            Pick::Vote => Join::Vote { of: of.clone() },
            Pick::Judge => {
                let judge = self.judge(race, instance, &of);
                gathered.push(judge.clone());
                Join::Judge { of: of.clone(), judge }
            }
        };
        let id = NodeId::new(instance.name.clone());
        self.join(instance.scope, task, id, join, gathered, Vec::new());
    }

    fn judge(&mut self, race: &Race, instance: &Instance<'_>, of: &[NodeId]) -> NodeId {
        let id = NodeId::new(format!("{}/judge", instance.name));
        let said = race.judge.clone().unwrap_or_default();
        let mut prompt = if said.prompt.is_empty() {
            Template::plain(
                "Several agents were given the same task. Decide which result is the best.",
            )
        } else {
            instance.bind(&said.prompt)
        };
        for (number, contender) in (1..).zip(of) {
            prompt = prompt.and_text(format!("\n\nResult {number} ("));
            for (side, before) in [(Side::Ending, ""), (Side::Output, "):\n"), (Side::Text, "\n")] {
                let root = Root::Task(contender.as_str().to_owned(), side);
                prompt =
                    prompt.and_text(before).and_reference(Reference { root, path: Vec::new() });
            }
        }
        let prompt = prompt.and_text(
            "\n\nHand in the number of the best result as `winner`, and why as `reason`.",
        );
        let mut node = self.agent(instance, id.clone(), said.agent, prompt, &[]);
        if let Work::Agent(assignment) = &mut node.work {
            assignment.schema = Some(json!({
                "type": "object",
                "properties": {
                    "winner": { "type": "integer", "minimum": 1, "maximum": of.len() },
                    "reason": { "type": "string" },
                },
                "required": ["winner"],
            }));
            // What must hold, holds for the contenders; the judge only looks.
            assignment.done_when = Default::default();
            assignment.isolation = None;
        }
        node.needs = ended(of);
        node.needs.extend(instance.needs.iter().cloned().map(|it| Need::ended(it.on)));
        node.when = Some(Condition::Any(of.iter().map(completed).collect()));
        node.on_failure = OnFailure::Continue;
        node.uses = Default::default();
        self.nodes.push(node);
        id
    }
}
