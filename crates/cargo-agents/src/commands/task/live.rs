//! What happens, while it happens: lines for people on a terminal, lines of JSON for programs, nothing in a pipe.

use std::{collections::HashMap, sync::Arc, time::Instant};

use agents_agent::AgentDefinition;
use agents_model::cost::MicroDollars;
use agents_system::span;
use agents_task::{
    EffectiveAgent, Limits, Outcome, TaskId,
    event::{Awaited, Event, ToolState, What},
};
use serde_json::Value;

use super::place::Place;
use crate::{
    failure::Failure,
    output::Output,
    reader::{Reader, StatusLine},
};

/// How much of what a tool is given is shown.
const MAX_PREVIEW: usize = 60;
/// How much of what an agent thinks or says in between is shown.
const MAX_ASIDE: usize = 100;

/// Shows what happens to tasks.
pub(super) struct Live<'a> {
    output: &'a Output,
    reader: Reader,
    tasks: HashMap<TaskId, Shown>,
    status: StatusLine,
    /// Whether there is more than one task, so that lines need names.
    several: bool,
}

/// What is shown of one task.
struct Shown {
    name: String,
    began: Instant,
    turn: u64,
    doing: String,
    cost: Option<MicroDollars>,
    calls: HashMap<String, (Instant, String)>,
    /// What it said or thought since the last line, and which of both.
    aside: (&'static str, String),
}

impl<'a> Live<'a> {
    pub(super) fn new(output: &'a Output, reader: Reader) -> Self {
        let tasks = HashMap::new();
        Self { output, reader, tasks, status: StatusLine::default(), several: false }
    }

    /// Whether a program reads all of it.
    pub(super) fn is_for_a_program(&self) -> bool {
        self.reader == Reader::Program
    }

    pub(super) fn shows_lines(&self) -> bool {
        self.reader.reads_lines()
    }

    /// One of so many tasks is going to run.
    pub(super) fn begins(&mut self, told: &str, of: usize) {
        self.several = of > 1;
        if self.shows_lines() {
            self.line(told);
        }
    }

    pub(super) fn event(&mut self, event: &Event) -> Result<(), Failure> {
        match self.reader {
            Reader::Program => return self.output.json_line(event),
            Reader::Nobody => return Ok(()),
            Reader::Person | Reader::Log => {}
        }
        let shown = self.tasks.entry(event.task).or_insert_with(|| Shown {
            name: event.path.to_string(),
            began: Instant::now(),
            turn: 0,
            doing: "waiting".to_owned(),
            cost: None,
            calls: HashMap::new(),
            aside: ("", String::new()),
        });
        let mut line = None;
        match &event.what {
            What::Started { .. } if event.path.depth() > 1 => {
                self.several = true;
                line = Some("starts".to_owned());
            }
            What::Started { .. } => {}
            What::Waiting { what: Awaited::BuildSlot, of } => {
                shown.doing = "waiting for a build slot".to_owned();
                let taken = if *of == 1 { "the only one is" } else { "all of them are" };
                line = Some(format!("     waits for a build slot: {taken} taken"));
            }
            What::Turn { number } => {
                shown.turn = *number;
                shown.doing = "thinking".to_owned();
            }
            What::Text { text } => shown.aside("says", text),
            What::Thinking { text } => shown.aside("thinks", text),
            What::ToolStarted { call, tool, input } => {
                let preview = called(tool, input);
                shown.doing.clone_from(&preview);
                shown.calls.insert(call.clone(), (Instant::now(), preview));
                line = shown.take_aside();
            }
            What::ToolEnded { call, tool, state } => {
                let (began, preview) =
                    shown.calls.remove(call).unwrap_or_else(|| (Instant::now(), tool.clone()));
                let failed = if *state == ToolState::Failed { "   failed" } else { "" };
                shown.doing = "thinking".to_owned();
                let took = span::told(began.elapsed());
                line = Some(format!("{:3}  {preview:54}{failed}  {took}", shown.turn));
            }
            What::Spent { cost, .. } => shown.cost = *cost,
            What::Notice { message, .. } => line = Some(format!("     {message}")),
            What::Reminded { number } => {
                line = Some(format!("     no result yet, reminded ({number} of 3)"));
            }
            What::Rejected { message } => {
                let first = message.lines().next().unwrap_or_default();
                line = Some(format!("     sent back: {}", short(first, MAX_ASIDE)));
            }
            What::Compacted { left_out } => {
                line = Some(format!(
                    "     {left_out} messages were left out: the conversation was too long"
                ));
            }
            What::Ended { outcome } => line = Some(ended(shown, outcome)),
        }
        if let Some(line) = line {
            let name = shown.name.clone();
            let line = if self.several { format!("{name:20} {line}") } else { line };
            self.line(&format!("  {line}"));
        }
        if matches!(event.what, What::Ended { .. }) {
            self.tasks.remove(&event.task);
        }
        Ok(())
    }

    /// Draws the status line: what is being done, for how long, what it has cost.
    pub(super) fn tick(&mut self) {
        if self.reader != Reader::Person || self.tasks.is_empty() {
            return;
        }
        let began = self.tasks.values().map(|it| it.began).min();
        let took = began.map(|it| span::told(it.elapsed())).unwrap_or_default();
        let mut costs = self.tasks.values().filter_map(|it| it.cost).peekable();
        let cost = costs.peek().is_some().then(|| costs.sum::<MicroDollars>());
        let doing = match self.tasks.len() {
            1 => self.tasks.values().next().map(|it| it.doing.clone()).unwrap_or_default(),
            many => format!("{many} tasks"),
        };
        let cost = cost.map(|it| format!("   {it}")).unwrap_or_default();
        self.status.draw(&format!("  {}   {took}{cost}", short(&doing, MAX_PREVIEW)));
    }

    /// Takes the status line away: somebody else wants to write.
    pub(super) fn pause(&mut self) {
        self.status.clear();
    }

    fn line(&mut self, line: &str) {
        self.pause();
        self.output.talk(line.trim_end());
    }
}

impl Shown {
    fn aside(&mut self, which: &'static str, text: &str) {
        if self.aside.0 != which {
            self.aside = (which, String::new());
        }
        self.doing = if which == "says" { "writing" } else { "thinking" }.to_owned();
        // Only its beginning is ever shown.
        if self.aside.1.len() < 4 * MAX_ASIDE {
            self.aside.1.push_str(text);
        }
    }

    fn take_aside(&mut self) -> Option<String> {
        let (which, text) = std::mem::take(&mut self.aside);
        let text = text.trim();
        (!text.is_empty()).then(|| format!("     {which}: {}", short(text, MAX_ASIDE)))
    }
}

fn ended(shown: &Shown, outcome: &Outcome) -> String {
    let report = &outcome.report;
    let tokens = report.usage.total();
    let cost = report.cost.map(|it| format!(", {it}")).unwrap_or_default();
    let how = match outcome.ending {
        agents_task::Ending::Completed => "done".to_owned(),
        _ => outcome.ending.told(),
    };
    let turns =
        if report.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", report.turns) };
    let took = span::told(shown.began.elapsed());
    let more = match outcome.path.depth() {
        1 => format!("     transcript: cargo agents task show {}", outcome.id.short()),
        _ => String::new(),
    };
    format!("{how} in {took}, {turns}, {} tokens{cost}{more}", thousands(tokens))
}

/// The agent, model and limits of a task that is going to run.
pub(super) fn told(
    place: &Place,
    agent: &EffectiveAgent,
    known: &[Arc<AgentDefinition>],
) -> String {
    let definition = known.iter().find(|it| it.name == agent.name);
    let because = agent.chosen.as_ref().map(|why| format!("   chosen: {why}"));
    format!(
        "{}  ({})   model {}   limit {}{}",
        agent.path,
        place.of(definition.map(AsRef::as_ref)),
        agent.model.model,
        limits(&agent.limits),
        because.unwrap_or_default()
    )
}

/// `18,204`
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// What limits a task, the things that people think of first.
fn limits(limits: &Limits) -> String {
    let parts = [
        limits.turns.map(|it| format!("{it} turns")),
        limits.time.map(span::set),
        limits.cost.map(|it| it.to_string()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

/// A call of a tool, in a few words.
pub(crate) fn called(tool: &str, input: &Value) -> String {
    format!("{tool} {}", preview(input))
}

/// What a tool is given, in a few words: the first thing in it that says something.
fn preview(input: &Value) -> String {
    const TELLING: [&str; 9] =
        ["command", "file_path", "path", "pattern", "query", "url", "args", "assignment", "prompt"];
    let text = TELLING.iter().find_map(|key| match input.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let words = items.iter().filter_map(Value::as_str);
            Some(words.collect::<Vec<_>>().join(" "))
        }
        _ => None,
    });
    let tasks = || {
        let names = input.get("tasks")?.as_array()?.iter().filter_map(|it| it.get("id")?.as_str());
        Some(names.collect::<Vec<_>>().join(", "))
    };
    let text = text.or_else(tasks);
    text.map(|it| short(&it, MAX_PREVIEW)).unwrap_or_default()
}

/// The first line, and not too much of it.
fn short(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let mut cut: String = line.chars().take(most - 1).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_tool_is_given_in_a_few_words() {
        assert_eq!(preview(&json!({"path": "src/net.rs", "offset": 3})), "src/net.rs");
        assert_eq!(preview(&json!({"command": "cargo test\n  -p net"})), "cargo test -p net");
        assert_eq!(preview(&json!({"tasks": [{"id": "a"}, {"id": "b"}]})), "a, b");
        assert_eq!(preview(&json!({"items": []})), "");
        assert_eq!(preview(&json!({"path": "x".repeat(80)})).chars().count(), MAX_PREVIEW);
    }

    #[test]
    fn numbers_and_limits_as_people_read_them() {
        assert_eq!(
            [thousands(7), thousands(18_204), thousands(1_000_000)],
            ["7", "18,204", "1,000,000"]
        );
        let all =
            Limits { turns: Some(20), cost: Some(MicroDollars(500_000)), ..Limits::default() };
        assert_eq!(limits(&all), "20 turns, $0.50");
    }
}
