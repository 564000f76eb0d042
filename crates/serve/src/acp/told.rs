//! What happens, in the words of the protocol.

use std::collections::HashMap;

use agent_client_protocol::{
    Error,
    v1::schema::{
        AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, Content, ContentBlock,
        ContentChunk, EmbeddedResourceResource, PermissionOption, PermissionOptionKind,
        PromptResponse, RequestPermissionRequest, SessionUpdate, StopReason, TextContent, ToolCall,
        ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
        UnstructuredCommandInput, Usage,
    },
};
use agents_model::{Message, Part, Role, ToolInput, message::ToolStatus};
use agents_task::{
    Ending, Outcome, TaskId,
    broker::{Ask, Reply},
    event::{Event, ToolState, What},
    limits::Limit,
};
use agents_tool::policy::{Question, Why};
use serde_json::Value;

use crate::offer::TypedCommand;

/// Longer titles are cut.
const MAX_TITLE: usize = 200;

/// What can be answered to a question.
const ANSWERS: [(&str, PermissionOptionKind, Reply); 3] = [
    ("once", PermissionOptionKind::AllowOnce, Reply::Once),
    ("always", PermissionOptionKind::AllowAlways, Reply::Tree),
    ("no", PermissionOptionKind::RejectOnce, Reply::No),
];

fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
}

/// Tells what happens in one turn of a session.
#[derive(Debug, Default)]
pub(super) struct Teller {
    /// The turn that each task is in.
    turns: HashMap<TaskId, u64>,
}

impl Teller {
    /// What an editor shows of something that happened. Of tasks that tasks start, only their calls.
    pub(super) fn update(&mut self, event: &Event) -> Option<SessionUpdate> {
        let is_first = event.path.depth() <= 1;
        Some(match &event.what {
            What::Turn { number } => {
                self.turns.insert(event.task, *number);
                return None;
            }
            What::Text { text } if is_first => SessionUpdate::AgentMessageChunk(chunk(text)),
            What::Thinking { text } if is_first => SessionUpdate::AgentThoughtChunk(chunk(text)),
            What::Notice { message, .. } if is_first => {
                SessionUpdate::AgentThoughtChunk(chunk(message))
            }
            What::ToolStarted { call, tool, input } => {
                let own = title(tool, input);
                let title = if is_first { own } else { format!("{}: {own}", event.path) };
                let call = ToolCall::new(self.unique(event, call), title)
                    .kind(kind(tool))
                    .status(ToolCallStatus::InProgress)
                    .raw_input(input.clone());
                SessionUpdate::ToolCall(call)
            }
            What::ToolEnded { call, state, .. } => {
                let status = match state {
                    ToolState::Done => ToolCallStatus::Completed,
                    ToolState::Failed => ToolCallStatus::Failed,
                };
                let fields = ToolCallUpdateFields::new().status(status);
                SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(self.unique(event, call), fields))
            }
            _ => return None,
        })
    }

    /// Ids of calls are those of the model: another task may have the same, and where a provider gives none, every answer has.
    fn unique(&self, event: &Event, call: &str) -> String {
        let turn = self.turns.get(&event.task).copied().unwrap_or_default();
        format!("{}/{turn}/{call}", event.task.short())
    }
}

/// What a call is about, in one line.
pub(crate) fn title(tool: &str, input: &Value) -> String {
    let words = ["command", "path", "file_path", "pattern", "query", "url", "prompt", "name"];
    let about = words.iter().find_map(|it| input[*it].as_str());
    let line = about.and_then(|it| it.lines().next()).unwrap_or_default();
    let mut title = format!("{tool} {line}").trim_end().to_owned();
    title.truncate(title.floor_char_boundary(MAX_TITLE));
    title
}

fn kind(tool: &str) -> ToolKind {
    match tool {
        "read" | "outline" | "lsp" => ToolKind::Read,
        "write" | "edit" => ToolKind::Edit,
        "search" | "find" => ToolKind::Search,
        "bash" => ToolKind::Execute,
        "todo" => ToolKind::Think,
        "web_fetch" | "web_search" => ToolKind::Fetch,
        _ => ToolKind::Other,
    }
}

/// What a task handed in, if that is more than what it said.
pub(super) fn result(outcome: &Outcome) -> Option<SessionUpdate> {
    let value = &outcome.report.output.as_ref()?.value;
    let text = match value {
        Value::String(text) if text.trim() == outcome.report.text.trim() => return None,
        Value::String(text) => text.clone(),
        value => format!("```json\n{value:#}\n```"),
    };
    Some(SessionUpdate::AgentMessageChunk(chunk(&text)))
}

/// How a turn ended.
pub(super) fn ended(outcome: &Outcome) -> Result<PromptResponse, Error> {
    let reason = match &outcome.ending {
        Ending::Completed => StopReason::EndTurn,
        Ending::Cancelled => StopReason::Cancelled,
        Ending::OutOfLimits { limit: Limit::Tokens } => StopReason::MaxTokens,
        Ending::OutOfLimits { .. } => StopReason::MaxTurnRequests,
        Ending::Refused { .. } => StopReason::Refusal,
        Ending::Failed { .. } => return Err(Error::internal_error().data(outcome.ending.told())),
    };
    let used = &outcome.report.usage;
    let usage = Usage::new(used.total(), used.asked(), used.output);
    Ok(PromptResponse::new(reason).usage(usage))
}

/// Everything that was said, once more.
pub(super) fn everything(messages: &[Message]) -> Vec<SessionUpdate> {
    let (mut updates, mut calls) = (Vec::new(), Replayed::default());
    for message in messages {
        for part in &message.parts {
            updates.push(match part {
                Part::Text(text) if message.role == Role::User => {
                    SessionUpdate::UserMessageChunk(chunk(text))
                }
                Part::Text(text) => SessionUpdate::AgentMessageChunk(chunk(text)),
                Part::Thinking(_) => continue,
                Part::ToolCall(call) => {
                    let input = match &call.input {
                        ToolInput::Json(value) => value.clone(),
                        ToolInput::Raw(text) => Value::from(text.as_str()),
                    };
                    let told = ToolCall::new(calls.begin(&call.id), title(&call.name, &input))
                        .kind(kind(&call.name))
                        .status(ToolCallStatus::InProgress)
                        .raw_input(input);
                    SessionUpdate::ToolCall(told)
                }
                Part::ToolResult(result) => {
                    let status = match result.status {
                        ToolStatus::Done => ToolCallStatus::Completed,
                        ToolStatus::Failed => ToolCallStatus::Failed,
                    };
                    let text = ContentBlock::Text(TextContent::new(result.content.clone()));
                    let content = vec![ToolCallContent::Content(Content::new(text))];
                    let fields = ToolCallUpdateFields::new().status(status).content(content);
                    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(calls.of(&result.id), fields))
                }
            });
        }
    }
    updates
}

/// The calls of a conversation, numbered: answers, and the tasks that it consists of, have the same ids again.
#[derive(Debug, Default)]
struct Replayed {
    number: u64,
    /// The numbers of the last calls with these ids.
    last: HashMap<String, u64>,
}

impl Replayed {
    fn begin(&mut self, id: &str) -> String {
        self.number += 1;
        self.last.insert(id.to_owned(), self.number);
        self.of(id)
    }

    fn of(&self, id: &str) -> String {
        let number = self.last.get(id).copied().unwrap_or_default();
        format!("said/{number}/{id}")
    }
}

/// What can be typed.
pub(super) fn commands(all: &[TypedCommand]) -> AvailableCommandsUpdate {
    let command = |it: &TypedCommand| {
        let hint = UnstructuredCommandInput::new("what to do it with");
        AvailableCommand::new(it.name.clone(), it.description.clone())
            .input(AvailableCommandInput::Unstructured(hint))
    };
    AvailableCommandsUpdate::new(all.iter().map(command).collect())
}

/// The words of a block; pictures and sounds have none.
pub(super) fn words_of(block: &ContentBlock) -> Option<String> {
    match block {
        ContentBlock::Text(it) => Some(it.text.clone()),
        ContentBlock::ResourceLink(it) => Some(format!("[{}]({})", it.name, it.uri)),
        ContentBlock::Resource(it) => match &it.resource {
            EmbeddedResourceResource::TextResourceContents(it) => {
                Some(format!("{}:\n```\n{}\n```", it.uri, it.text))
            }
            _ => None,
        },
        _ => None,
    }
}

/// A question of a task.
pub(super) fn question(session: &str, number: u64, ask: &Ask) -> RequestPermissionRequest {
    let fields = ToolCallUpdateFields::new()
        .title(format!("{}: {}", ask.path, ask.question))
        .status(ToolCallStatus::Pending);
    let call = ToolCallUpdate::new(format!("ask-{number}"), fields);
    let option = |(id, kind, reply): (&str, PermissionOptionKind, Reply)| {
        PermissionOption::new(id.to_owned(), offered(reply, &ask.question), kind)
    };
    RequestPermissionRequest::new(session.to_owned(), call, ANSWERS.map(option).to_vec())
}

/// An answer as an editor shows it. A secret is given for a time, and for a session only to those that may ask for it.
fn offered(reply: Reply, question: &Question) -> String {
    match (reply, &question.why) {
        (Reply::No, _) => "Deny".to_owned(),
        (Reply::Once, Why::Secret(_)) => format!("Allow {}", reply.means(question)),
        (Reply::Once, _) => "Allow once".to_owned(),
        (Reply::Task | Reply::Tree, _) => "Allow for this session".to_owned(),
    }
}

/// What was answered to it.
pub(super) fn reply(option: &str) -> Reply {
    ANSWERS.iter().find(|it| it.0 == option).map_or(Reply::No, |it| it.2)
}

#[cfg(test)]
mod tests {
    use agents_model::ToolResult;
    use agents_task::TaskPath;
    use serde_json::json;

    use super::*;

    fn call(id: &str, input: ToolInput) -> Part {
        let name = "bash".to_owned();
        Part::ToolCall(agents_model::ToolCall { id: id.to_owned(), name, input, signature: None })
    }

    fn answer(id: &str) -> Part {
        let (name, content) = ("bash".to_owned(), "done".to_owned());
        Part::ToolResult(ToolResult { id: id.to_owned(), name, content, status: ToolStatus::Done })
    }

    #[test]
    fn calls_that_are_told_once_more_have_ids_of_their_own_and_say_what_they_are_about() {
        let said = [
            (Role::Assistant, call("call_0", ToolInput::Json(json!({"command": "cargo test"})))),
            (Role::User, answer("call_0")),
            (Role::Assistant, call("call_0", ToolInput::Raw("{command".to_owned()))),
            (Role::User, answer("call_0")),
        ];
        let said = said.map(|(role, part)| Message { role, parts: vec![part] });
        let told = serde_json::to_value(everything(&said)).unwrap();
        let ids: Vec<&Value> = (0..4).map(|at| &told[at]["toolCallId"]).collect();
        assert!(ids[0] == ids[1] && ids[2] == ids[3] && ids[0] != ids[2], "{ids:?}");
        assert_eq!(
            (&told[0]["title"], &told[0]["rawInput"]),
            (&json!("bash cargo test"), &json!({"command": "cargo test"}))
        );
        assert_eq!((&told[2]["title"], &told[2]["rawInput"]), (&json!("bash"), &json!("{command")));
    }

    #[test]
    fn calls_of_every_answer_have_ids_of_their_own() {
        let (task, path) = (TaskId::new(), TaskPath::root());
        let mut teller = Teller::default();
        let mut id = |what: What| {
            let update = teller.update(&Event { task, path: path.clone(), what });
            update.map(|it| serde_json::to_value(it).unwrap()["toolCallId"].clone())
        };
        let started = || {
            let (call, tool) = ("call_0".to_owned(), "bash".to_owned());
            What::ToolStarted { call, tool, input: json!({}) }
        };
        assert_eq!(id(What::Turn { number: 1 }), None);
        let first = id(started());
        assert_eq!(id(What::Turn { number: 2 }), None);
        assert!(first.is_some() && id(started()) != first);
    }
}
