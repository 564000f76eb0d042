//! From events to spans. Nothing here waits, reads a clock or sends anything.

use std::{
    collections::HashMap,
    time::{SystemTime, UNIX_EPOCH},
};

use agents_model::{Usage, cost::MicroDollars};
use agents_tool::secrets::Mask;
use serde_json::json;

use super::{names, settings::Content};
use crate::{
    effective::TASK,
    event::{Event, ToolState, What},
    id::{TaskId, TaskPath},
    outcome::{Ending, Outcome},
};

/// The most that is kept of what was said or given.
const MAX_CONTENT: usize = 16 * 1024;
/// More tasks than this are not followed at the same time.
const MAX_OPEN: usize = 100_000;

/// The id of a trace.
pub(super) type Trace = [u8; 16];
/// The id of a span.
pub(super) type Id = [u8; 8];

/// Something that took a while.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// What it belongs to.
    pub trace: [u8; 16],
    /// Its id.
    pub id: [u8; 8],
    /// What it is a part of.
    pub parent: Option<[u8; 8]>,
    /// What it has to do with besides, each with the trace of that: the run that a task goes on from.
    pub links: Vec<([u8; 16], [u8; 8])>,
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// When it began, in nanoseconds since 1970.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// What there is to say about it.
    pub attributes: Vec<(&'static str, Value)>,
    /// How it failed, in one word.
    pub error: Option<String>,
}

/// Whether something happened here or elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Here.
    Internal,
    /// Somebody else was asked.
    Client,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A number.
    Number(u64),
    /// One that need not be whole.
    Real(f64),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Span {
    /// Takes out what nobody may see.
    pub(super) fn hide(&mut self, mask: &Mask) {
        for (_, value) in &mut self.attributes {
            if let Value::Text(text) = value {
                *text = mask.apply(text);
            }
        }
    }
}

/// Something that has begun.
#[derive(Clone, Copy)]
struct Begun {
    id: Id,
    start: u64,
}

/// A task that has not ended.
struct Open {
    path: TaskPath,
    agent: String,
    provider: String,
    model: String,
    trace: Trace,
    root: TaskId,
    parent: Option<Id>,
    /// The span of the task that it goes on from.
    earlier: Option<(Trace, Id)>,
    own: Begun,
    turn: Option<Begun>,
    /// What the model has said in this turn, if that is shown.
    text: String,
    calls: HashMap<String, (Begun, String, Option<String>)>,
    usage: Usage,
    cost: Option<MicroDollars>,
    /// How many spans it has had.
    count: u64,
}

/// The spans of all tasks that have not ended.
pub(super) struct Spans {
    /// What the first tasks are a part of.
    above: Option<(Trace, Id)>,
    content: Content,
    open: HashMap<TaskId, Open>,
    /// Where they stand. Within a program no two stand in the same place.
    places: HashMap<TaskPath, TaskId>,
}

/// A span of a task, made from its id so that it can be found by it.
fn own_id(task: TaskId) -> Id {
    let bytes = task.bytes();
    let mut id = [0; 8];
    id.copy_from_slice(&bytes[8..]);
    id
}

fn derived(task: TaskId, number: u64) -> Id {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&task.bytes()).update(&number.to_le_bytes());
    let mut id = [0; 8];
    id.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    id
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn bounded(text: &str) -> String {
    text.chars().take(MAX_CONTENT).collect()
}

impl Spans {
    pub(super) fn new(above: Option<(Trace, Id)>, content: Content) -> Self {
        Self { above, content, open: HashMap::new(), places: HashMap::new() }
    }

    /// Something happened: what is over because of it.
    pub(super) fn hear(&mut self, event: &Event, now: SystemTime) -> Vec<Span> {
        let now = nanoseconds(now);
        if let What::Started { agent, model, resumed_from, .. } = &event.what {
            let earlier = resumed_from.map(|it| (it.trace.0, own_id(it.task)));
            self.begin(event, (agent, model), earlier, now);
            return Vec::new();
        }
        let shown = self.content == Content::Shown;
        let Some(open) = self.open.get_mut(&event.task) else { return Vec::new() };
        match &event.what {
            What::Turn { .. } => {
                let before = open.end_turn(Usage::default(), None, None, now);
                open.turn = Some(open.next(event.task, now));
                before.into_iter().collect()
            }
            What::Text { text } if shown => {
                if open.text.len() < MAX_CONTENT {
                    open.text.push_str(text);
                }
                Vec::new()
            }
            What::Spent { usage, cost } => {
                let more = since(usage, &open.usage);
                let price =
                    cost.map(|it| MicroDollars(it.0 - open.cost.unwrap_or_default().0.min(it.0)));
                (open.usage, open.cost) = (*usage, *cost);
                open.end_turn(more, price, None, now).into_iter().collect()
            }
            What::ToolStarted { call, tool, input } => {
                let before = open.end_turn(Usage::default(), None, None, now);
                let given = shown.then(|| bounded(&input.to_string()));
                let begun = open.next(event.task, now);
                open.calls.insert(call.clone(), (begun, tool.clone(), given));
                before.into_iter().collect()
            }
            What::ToolEnded { call, state, .. } => {
                let failed = (*state == ToolState::Failed).then_some("tool_error");
                let called = open.calls.remove(call);
                called.map(|it| open.tool(call, it, failed, now)).into_iter().collect()
            }
            What::Ended { outcome } => {
                let Some(open) = self.open.remove(&event.task) else { return Vec::new() };
                self.places.remove(&open.path);
                open.end(event.task, outcome, now)
            }
            _ => Vec::new(),
        }
    }

    fn begin(
        &mut self,
        event: &Event,
        (agent, model): (&str, &str),
        earlier: Option<(Trace, Id)>,
        now: u64,
    ) {
        if self.open.len() >= MAX_OPEN {
            return;
        }
        let above = event.path.parent().and_then(|it| self.open.get(self.places.get(&it)?));
        let (trace, root, parent) = match above {
            Some(above) => (above.trace, above.root, Some(above.caller())),
            None => match self.above {
                Some((trace, parent)) => (trace, event.task, Some(parent)),
                None => (event.task.bytes(), event.task, None),
            },
        };
        let (provider, model) = model.split_once('/').unwrap_or(("", model));
        let open = Open {
            path: event.path.clone(),
            agent: agent.to_owned(),
            provider: names::provider(provider).to_owned(),
            model: model.to_owned(),
            trace,
            root,
            parent,
            earlier,
            own: Begun { id: own_id(event.task), start: now },
            turn: None,
            text: String::new(),
            calls: HashMap::new(),
            usage: Usage::default(),
            cost: None,
            count: 0,
        };
        self.places.insert(event.path.clone(), event.task);
        self.open.insert(event.task, open);
    }
}

/// What came since.
fn since(now: &Usage, before: &Usage) -> Usage {
    Usage {
        input: now.input.saturating_sub(before.input),
        output: now.output.saturating_sub(before.output),
        cache_read: now.cache_read.saturating_sub(before.cache_read),
        cache_write: now.cache_write.saturating_sub(before.cache_write),
        reasoning: now.reasoning.saturating_sub(before.reasoning),
    }
}

impl Open {
    fn next(&mut self, task: TaskId, now: u64) -> Begun {
        self.count += 1;
        Begun { id: derived(task, self.count), start: now }
    }

    /// What starts other tasks now: the call that does, where there is only one, and the task itself otherwise.
    fn caller(&self) -> Id {
        let mut calls = self.calls.values().filter(|it| it.1 == TASK);
        match (calls.next(), calls.next()) {
            (Some(one), None) => one.0.id,
            _ => self.own.id,
        }
    }

    fn span(&self, operation: &'static str, of: &str, kind: Kind, begun: Begun, end: u64) -> Span {
        let mut attributes = vec![(names::OPERATION, Value::from(operation))];
        if !self.provider.is_empty() && operation != names::EXECUTE_TOOL {
            attributes.push((names::PROVIDER, Value::from(self.provider.as_str())));
        }
        Span {
            trace: self.trace,
            id: begun.id,
            parent: Some(self.own.id),
            links: Vec::new(),
            name: format!("{operation} {of}"),
            kind,
            start: begun.start,
            end: end.max(begun.start),
            attributes,
            error: None,
        }
    }

    /// The call of the model is over, if there is one.
    fn end_turn(
        &mut self,
        usage: Usage,
        cost: Option<MicroDollars>,
        error: Option<&str>,
        now: u64,
    ) -> Option<Span> {
        let begun = self.turn.take()?;
        let mut span = self.span(names::CHAT, &self.model, Kind::Client, begun, now);
        span.attributes.push((names::REQUEST_MODEL, Value::from(self.model.as_str())));
        spent(&mut span, &usage, cost);
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            let part = json!({"type": "text", "content": bounded(&text)});
            let said = json!([{"role": "assistant", "parts": [part]}]);
            span.attributes.push((names::OUTPUT_MESSAGES, Value::Text(said.to_string())));
        }
        fail(&mut span, error);
        Some(span)
    }

    fn tool(
        &self,
        call: &str,
        (begun, tool, given): (Begun, String, Option<String>),
        error: Option<&str>,
        now: u64,
    ) -> Span {
        let mut span = self.span(names::EXECUTE_TOOL, &tool, Kind::Internal, begun, now);
        span.attributes.extend([
            (names::TOOL_NAME, Value::Text(tool)),
            (names::TOOL_CALL, Value::from(call)),
            (names::TOOL_TYPE, Value::from("function")),
        ]);
        span.attributes.extend(given.map(|it| (names::TOOL_ARGUMENTS, Value::Text(it))));
        fail(&mut span, error);
        span
    }

    /// Everything that is still open, and the task itself.
    fn end(mut self, task: TaskId, outcome: &Outcome, now: u64) -> Vec<Span> {
        let error = error_of(&outcome.ending);
        let mut spans: Vec<Span> =
            self.end_turn(Usage::default(), None, error.as_deref(), now).into_iter().collect();
        for (call, begun) in std::mem::take(&mut self.calls) {
            spans.push(self.tool(&call, begun, error.as_deref().or(Some("cancelled")), now));
        }
        let mut span = self.span(names::INVOKE_AGENT, &self.agent, Kind::Internal, self.own, now);
        span.parent = self.parent;
        span.links.extend(self.earlier);
        let report = &outcome.report;
        span.attributes.extend([
            (names::AGENT_NAME, Value::from(self.agent.as_str())),
            (names::AGENT_ID, Value::Text(task.to_string())),
            (names::CONVERSATION, Value::Text(self.root.to_string())),
            (names::REQUEST_MODEL, Value::from(self.model.as_str())),
            (names::PATH, Value::Text(self.path.to_string())),
            (names::TURNS, Value::Number(report.turns)),
        ]);
        if !report.model.is_empty() {
            span.attributes.push((names::RESPONSE_MODEL, Value::from(report.model.as_str())));
        }
        spent(&mut span, &report.usage, report.cost);
        fail(&mut span, error.as_deref());
        spans.push(span);
        spans
    }
}

fn spent(span: &mut Span, usage: &Usage, cost: Option<MicroDollars>) {
    if *usage == Usage::default() {
        return;
    }
    let counted = [
        (names::INPUT_TOKENS, usage.asked()),
        (names::OUTPUT_TOKENS, usage.output),
        (names::CACHE_READ_TOKENS, usage.cache_read),
        (names::CACHE_CREATION_TOKENS, usage.cache_write),
    ];
    let told = counted.into_iter().filter(|(name, count)| *count > 0 || !name.contains("cache"));
    span.attributes.extend(told.map(|(name, count)| (name, Value::Number(count))));
    #[expect(clippy::cast_precision_loss, reason = "nobody has spent that much")]
    let dollars = |it: MicroDollars| it.0 as f64 / MicroDollars::DOLLAR.0 as f64;
    span.attributes.extend(cost.map(|it| (names::COST, Value::Real(dollars(it)))));
}

fn fail(span: &mut Span, error: Option<&str>) {
    if let Some(error) = error {
        span.attributes.push((names::ERROR_TYPE, Value::from(error)));
        span.error = Some(error.to_owned());
    }
}

/// The word for how a task did not complete. What agents and providers said about it is nobody's business.
fn error_of(ending: &Ending) -> Option<String> {
    if *ending == Ending::Completed {
        return None;
    }
    let value = serde_json::to_value(ending).unwrap_or_default();
    let detail = ["why", "limit", "rule"].iter().find_map(|key| value.get(key)?.as_str());
    Some(match detail {
        Some(detail) => format!("{}.{detail}", ending.word()),
        None => ending.word().to_owned(),
    })
}
