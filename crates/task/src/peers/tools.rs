//! The tools.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use agents_tool::{
    CallContext, Catalogue, Effects, Intent, Output, ToolError, Typed, catalogue::TwoTools,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Peer;

/// Sends a message.
pub const SEND_PEER_MESSAGE: &str = "send_peer_message";
/// Reads those that have come.
pub const CHECK_MESSAGES: &str = "check_messages";
/// Says whom a task may write to.
pub const LIST_PEERS: &str = "list_peers";

/// Gives a task what it takes to write to others.
///
/// # Errors
/// Another tool has the name of one of them.
pub fn add_tools(catalogue: &mut Catalogue, peer: &Arc<Peer>) -> Result<(), TwoTools> {
    catalogue.add(Send(Arc::clone(peer)))?;
    catalogue.add(Check(Arc::clone(peer)))?;
    catalogue.add(List(Arc::clone(peer)))
}

struct Send(Arc<Peer>);
struct Check(Arc<Peer>);
struct List(Arc<Peer>);

/// A message.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SendInput {
    /// The task to write to: its name, its path or its id, as `list_peers` shows it.
    target: String,
    /// What to tell it.
    body: String,
}

/// Whether to wait.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CheckInput {
    /// How long to wait for a message if there is none, in milliseconds.
    #[serde(default)]
    wait_ms: Option<u64>,
}

/// Nothing.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListInput {}

impl Typed for Send {
    type Input = SendInput;

    const NAME: &'static str = SEND_PEER_MESSAGE;
    const DESCRIPTION: &'static str = "Sends a message to another task that runs now: to whoever started you, to those that were started with you, or to what you started. \
        It reads it when it looks; nothing waits.";

    fn intent(&self, _: &SendInput, _: &CallContext) -> Result<Intent, ToolError> {
        Ok(Intent::plain(Effects::NONE))
    }

    async fn run(&self, input: SendInput, _: &CallContext) -> Result<Output, ToolError> {
        match self.0.send(&input.target, &input.body) {
            Ok(path) => Ok(Output::said(format!("sent to `{path}`"))),
            Err(error) => Err(ToolError::failed(error.to_string())),
        }
    }
}

impl Typed for Check {
    type Input = CheckInput;

    const NAME: &'static str = CHECK_MESSAGES;
    const DESCRIPTION: &'static str = "Gives the messages that other tasks have sent you, the oldest first, each once. With `wait_ms` it waits for one if there is none.";

    fn intent(&self, _: &CheckInput, _: &CallContext) -> Result<Intent, ToolError> {
        Ok(Intent::plain(Effects::NONE))
    }

    async fn run(&self, input: CheckInput, context: &CallContext) -> Result<Output, ToolError> {
        let wait = Duration::from_millis(input.wait_ms.unwrap_or(0));
        let letters = context.bounded(self.0.receive(wait)).await?;
        if letters.is_empty() {
            return Ok(Output::said("there are no messages"));
        }
        let mut text = String::new();
        for letter in letters {
            let _ = writeln!(text, "from {}:\n{}\n", letter.from, letter.body);
        }
        Ok(Output::data(text))
    }
}

impl Typed for List {
    type Input = ListInput;

    const NAME: &'static str = LIST_PEERS;
    const DESCRIPTION: &'static str = "Lists the tasks that you can send messages to.";

    fn intent(&self, _: &ListInput, _: &CallContext) -> Result<Intent, ToolError> {
        Ok(Intent::plain(Effects::NONE))
    }

    async fn run(&self, _: ListInput, _: &CallContext) -> Result<Output, ToolError> {
        let others = self.0.others();
        if others.is_empty() {
            return Ok(Output::said("there is nobody to write to"));
        }
        let line = |(id, path): &_| format!("{path}  ({id})");
        Ok(Output::said(others.iter().map(line).collect::<Vec<_>>().join("\n")))
    }
}
