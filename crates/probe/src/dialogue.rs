//! What the scripted model says: it tries what was brought, one call after the other, and then thanks.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use agents_model::endpoint::{Reply, Request, Script};
use serde_json::{Value, json};

use crate::{
    client::Client,
    sample::{AGENT, AGENT_PROMPT, ALLOWED, FORBIDDEN, Servers},
};

/// What the user types. It names nothing that we bring.
pub const PROMPT: &str = "Say what you know about the crates of this workspace.";

/// What the agent answers.
pub const ANSWER: &str = "amber-plover-3094 is wrong with them.";

/// What the model says when there is nothing to try.
const THANKS: &str = "Thank you, that is all.";

/// How a client hears what became of an agent: [`Client::hear`].
type Hear = fn(&str) -> Option<(&'static str, Value)>;

/// The calls that the model makes.
#[derive(Debug, Clone)]
pub struct Dialogue {
    calls: Vec<(String, Value)>,
    hear: Hear,
    /// What was called so far in the conversation, in order.
    made: Vec<Made>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    Call(usize),
    Heard,
}

impl Dialogue {
    /// Looks something up in the plugin's MCP server, runs a command that the plugin's hook denies and one that it does not, and
    /// hands a task to the plugin's agent.
    #[must_use]
    pub fn new(client: &dyn Client, servers: Servers) -> Self {
        let touch = |file: &str| client.shell_input(&format!("touch {file}"));
        let (hand_over, task) = client.delegate(AGENT, "Read them all.");
        let calls = vec![
            servers.call(client),
            (client.shell().to_owned(), touch(FORBIDDEN)),
            (client.shell().to_owned(), touch(ALLOWED)),
            (hand_over.to_owned(), task),
        ];
        Self { calls, hear: client.hear(), made: Vec::new() }
    }

    /// The same with a call that fails, before the last one.
    #[must_use]
    pub fn with_failure(mut self, client: &dyn Client) -> Self {
        let (name, input) = client.failing();
        self.calls.insert(self.calls.len() - 1, (name.to_owned(), input));
        self
    }

    /// For an endpoint. Once it is `over`, the model tries nothing any more.
    #[must_use]
    pub fn script(mut self, over: Arc<AtomicBool>) -> Script {
        Script::rule(move |request| match over.load(Ordering::Relaxed) {
            true => Reply::text(THANKS),
            false => self.reply(request),
        })
    }

    /// What the model says to this. What an agent answers is always the same. What else a client asks (a title for the session) has no such tools, and gets a word.
    pub fn reply(&mut self, request: &Request) -> Reply {
        if is_agent(request) {
            // Agents of Gemini say it through a tool.
            let tool = request.tool("complete_task").map(|it| it.call(json!({"result": ANSWER})));
            return tool.map_or_else(|| Reply::text(ANSWER), Reply::from);
        }
        let call = self.next(request);
        let call = call.and_then(|(name, input)| Some(request.tool(&name)?.call(input)));
        call.map_or_else(|| Reply::text(THANKS), Reply::from)
    }

    /// The next call that can be made. A tool that is not offered (yet) keeps nobody from calling the others, and a
    /// request that is made once more gets the same answer.
    fn next(&mut self, request: &Request) -> Option<(String, Value)> {
        let answered = request.results().count();
        self.made.truncate(answered);
        if self.made.len() < answered {
            return None;
        }
        let is_next = |(at, (name, _)): &(usize, &(String, Value))| {
            !self.made.contains(&Made::Call(*at)) && request.tool(name).is_some()
        };
        if let Some((at, call)) = self.calls.iter().enumerate().find(is_next) {
            self.made.push(Made::Call(at));
            return Some(call.clone());
        }
        let delegated = self.calls.len().checked_sub(1).map(Made::Call);
        if self.made.last().copied() == delegated
            && let Some((name, input)) = request.results().last().and_then(self.hear)
        {
            self.made.push(Made::Heard);
            return Some((name.to_owned(), input));
        }
        None
    }
}

/// Whether it is the agent that asks, and not the session.
#[must_use]
pub fn is_agent(request: &Request) -> bool {
    request.text().contains(AGENT_PROMPT)
}
