//! From a transcript to a task that goes on.
//!
//! A run that has ended, in whatever way, or whose program died can be resumed: a new task, with an id of its own, has the whole
//! conversation of the old one, that of the tasks which the old one itself went on from included, and is told what to do next. The
//! transcript says where it comes from. Only one at a time goes on from a task ([`Claim`](crate::transcript::Claim)).
//!
//! What was cut off in the middle is made whole first ([`conversation`]): a call of a tool whose result is not known gets one that says
//! so, since no model takes a call without.

use std::{collections::BTreeSet, sync::Arc};

use agents_model::{Message, Part, Role, ToolResult, message::ToolStatus};
use agents_system::explain::{Code, ErrorKind, Explain};

use crate::{
    effective::Continuation,
    id::TaskId,
    preflight::Caller,
    refusal::{Refusal, Refused},
    request::{Batch, TaskRequest},
    runner::{Runner, Running},
    transcript::{Loaded, Meta, Standing, Store, TranscriptError},
};

/// What a call is told whose result is not known.
const INTERRUPTED: &str = "interrupted: whether this was done, wholly or in part, is not known. Look before you do it again.";

/// Why a task cannot be resumed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// It has not ended, or another one goes on from it and has not.
    #[error("task `{0}` is still running")]
    StillRunning(TaskId),
    /// Its transcript cannot be had.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
    /// Nothing is kept here.
    #[error("no transcripts are kept here, so no task can be resumed")]
    NoTranscripts,
    /// Its definition is gone.
    #[error("the agent `{agent}` that task `{id}` ran by is gone")]
    DefinitionGone {
        /// The task.
        id: TaskId,
        /// The agent.
        agent: String,
    },
    /// It may not be started.
    #[error(transparent)]
    Refused(Refused),
}

impl Explain for ResumeError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Transcript(error) => error.kind(),
            Self::Refused(refused) => refused.kind(),
            Self::StillRunning(_) | Self::NoTranscripts | Self::DefinitionGone { .. } => {
                ErrorKind::Usage
            }
        }
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::StillRunning(_) => Some(Code::StillRunning),
            Self::Transcript(error) => error.code(),
            Self::DefinitionGone { .. } => Some(Code::UnknownAgent),
            Self::Refused(refused) => refused.code(),
            Self::NoTranscripts => None,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::StillRunning(id) => Some(format!(
                "wait for it, or end it with `cargo agents task cancel {}`",
                id.short()
            )),
            Self::Transcript(error) => error.hint(),
            Self::NoTranscripts => None,
            Self::DefinitionGone { agent, .. } => Some(format!(
                "bring back the definition of `{agent}`, or start another agent with what `cargo agents task show` says"
            )),
            Self::Refused(refused) => refused.hint(),
        }
    }
}

/// What a task that goes on begins with.
#[derive(Debug, Clone)]
pub struct Resumption {
    /// The task that it goes on from.
    pub meta: Meta,
    /// What is to be started.
    pub request: TaskRequest,
    /// What is wrong with the transcripts, in words.
    pub damage: Vec<String>,
}

/// The one task whose id begins like this, made ready to go on. Nothing is started.
///
/// # Errors
/// It is still running, or there is no such transcript, or more than one, or it cannot be read.
pub fn prepare(store: &Store, prefix: &str, prompt: &str) -> Result<Resumption, ResumeError> {
    let id = store.find_by_prefix(prefix)?;
    if store.standing(&store.meta(id)?) == Standing::Running {
        return Err(ResumeError::StillRunning(id));
    }
    let Some(claim) = store.claim(id)? else {
        return Err(ResumeError::StillRunning(store.successor(id).unwrap_or(id)));
    };
    let mut segments = store.segments(id)?;
    let damage = segments.iter().flat_map(|segment| {
        let id = segment.meta.id;
        segment.damage.iter().map(move |it| format!("`{id}`: {}", it.told()))
    });
    let damage = damage.collect();
    let messages = conversation(&segments);
    let Some(last) = segments.pop() else { return Err(TranscriptError::Lost(id).into()) };
    // What the definition says about results is looked up again; what only the call said would be lost.
    let schema = last.begin().and_then(|it| it.asked_schema().cloned());
    let continues = Some(Arc::new(Continuation {
        from: id,
        trace: store.trace(&last.meta),
        messages,
        claim: Some(claim),
    }));
    let request = TaskRequest {
        name: Some(last.meta.name.clone()).filter(|it| !it.is_empty()),
        schema,
        continues,
        ..TaskRequest::new(last.meta.agent.as_str(), prompt)
    };
    Ok(Resumption { meta: last.meta, request, damage })
}

/// Resumes a task.
///
/// # Errors
/// It cannot be made ready, or may not be started.
pub fn resume(
    runner: &Runner,
    prefix: &str,
    prompt: &str,
    caller: &Caller,
) -> Result<Running, ResumeError> {
    let store = runner.transcripts().ok_or(ResumeError::NoTranscripts)?;
    let Resumption { meta, request, .. } = prepare(store, prefix, prompt)?;
    let gone = || ResumeError::DefinitionGone { id: meta.id, agent: meta.agent.clone() };
    let started = runner.start(&Batch::from(request), caller).map_err(|refused| {
        let unknown = |(_, it): &(Option<usize>, Refusal)| matches!(it, Refusal::Unknown(_));
        if refused.items.iter().any(unknown) { gone() } else { ResumeError::Refused(refused) }
    })?;
    started.into_iter().next().ok_or_else(gone)
}

/// What was said in all of these, as a conversation that a model takes: it begins with an assignment, each call of a tool has its result
/// right after it, and there is no result without its call.
#[must_use]
pub fn conversation(segments: &[Loaded]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    // Calls of the last message that have no result yet.
    let mut open: Vec<(String, String)> = Vec::new();
    if segments
        .first()
        .is_some_and(|it| it.messages().next().is_none_or(|it| it.role != Role::User))
    {
        let prompt = segments.first().and_then(Loaded::begin).map(|it| it.prompt.clone());
        messages
            .push(Message::user(prompt.unwrap_or_else(|| "[the assignment is lost]".to_owned())));
    }
    for message in segments.iter().flat_map(Loaded::messages) {
        match message.role {
            Role::Assistant => {
                close(&mut messages, &mut open);
                let mut seen = BTreeSet::new();
                let mut message = message.clone();
                // A call that has the id of another one could never have a result of its own.
                message.parts.retain(|part| match part {
                    Part::ToolCall(call) => seen.insert(call.id.clone()),
                    _ => true,
                });
                open = message.tool_calls().map(|it| (it.id.clone(), it.name.clone())).collect();
                if !message.parts.is_empty() {
                    messages.push(message);
                }
            }
            Role::User => {
                let (mut results, mut rest) = (Vec::new(), Vec::new());
                for part in message.parts.iter().cloned() {
                    match part {
                        Part::ToolResult(result) => {
                            match open.iter().position(|(id, _)| *id == result.id) {
                                Some(at) => {
                                    open.remove(at);
                                    results.push(Part::ToolResult(result));
                                }
                                None => rest.push(Part::Text(format!(
                                    "[what `{}` answered to a call that is lost:]\n{}",
                                    result.name, result.content
                                ))),
                            }
                        }
                        other => rest.push(other),
                    }
                }
                results.extend(interrupted(&mut open));
                results.extend(rest);
                if !results.is_empty() {
                    messages.push(Message { role: Role::User, parts: results });
                }
            }
        }
    }
    close(&mut messages, &mut open);
    messages
}

/// Gives all calls that are still open a result.
fn close(messages: &mut Vec<Message>, open: &mut Vec<(String, String)>) {
    let parts: Vec<Part> = interrupted(open).collect();
    if !parts.is_empty() {
        messages.push(Message { role: Role::User, parts });
    }
}

fn interrupted(open: &mut Vec<(String, String)>) -> impl Iterator<Item = Part> {
    std::mem::take(open).into_iter().map(|(id, name)| {
        let (content, status) = (INTERRUPTED.to_owned(), ToolStatus::Failed);
        Part::ToolResult(ToolResult { id, name, content, status })
    })
}
