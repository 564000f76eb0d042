//! Sessions of their own for events that one ordinary session does not bring about.
//!
//! Somebody must be asked for permission, a conversation must grow too long, a session must be deleted: each is a call of the client
//! with other options, and a model that says other things.

use std::sync::{Arc, Mutex, PoisonError};

use agents_probe::client::{Client, Place};
use agents_system::process::Call;
use agents_testkit::{
    endpoint::{Reply, Request, Script, Usage},
    terminal::keys,
};
use serde_json::{Value, json};

/// One such session.
pub(crate) struct Occasion {
    /// What it brings about.
    pub(crate) event: &'static str,
    pub(crate) calls: Vec<Call>,
    pub(crate) model: Model,
    pub(crate) seat: Seat,
}

/// Where the client runs.
pub(crate) enum Seat {
    /// Without a terminal.
    Nowhere,
    /// At one, with somebody who types: what is waited for on the screen, and which keys are pressed then.
    Terminal(&'static [(&'static str, &'static [&'static str])]),
}

/// A model that says one thing now and another later.
pub(crate) struct Talk(Arc<Mutex<Says>>);

type Says = Box<dyn FnMut(&Request) -> Reply + Send>;

impl Talk {
    pub(crate) fn new(says: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Box::new(says))))
    }

    /// For an endpoint.
    pub(crate) fn script(&self) -> Script {
        let says = Arc::clone(&self.0);
        Script::rule(move |request| says.lock().unwrap_or_else(PoisonError::into_inner)(request))
    }

    /// From now on it says this.
    pub(crate) fn becomes(&self, says: impl FnMut(&Request) -> Reply + Send + 'static) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(says);
    }
}

/// What the model says there: it calls one tool, once, and then has nothing more to say.
pub(crate) struct Model {
    call: Option<(&'static str, Value)>,
    /// What it says that the request before that call has cost.
    usage: Usage,
}

impl Model {
    fn calls(name: &'static str, input: Value) -> Self {
        Self { call: Some((name, input)), usage: Usage::default() }
    }

    fn silent() -> Self {
        Self { call: None, usage: Usage::default() }
    }

    /// The conversation is longer than what any model can read. Only once: a client that compacts it asks on.
    fn too_long(mut self) -> Self {
        self.usage.input = 2_000_000;
        self
    }

    pub(crate) fn reply(&mut self, request: &Request) -> Reply {
        let tool = self.call.as_ref().and_then(|(name, _)| request.tool(name));
        match tool.and_then(|tool| Some((tool, self.call.take()?))) {
            Some((tool, (_, input))) => Reply::from(tool.call(input)).with_usage(self.usage),
            None => Reply::text("So it is."),
        }
    }
}

/// What Claude Code wants to know about a folder first; the other answer is the usual one.
const TRUST: (&str, &[&str]) = ("Yes, I trust this folder", &[keys::DOWN, keys::ENTER]);

/// And about a key that it finds.
const KEY: (&str, &[&str]) = ("Do you want to use this API key?", &[keys::UP, keys::ENTER]);
/// What Qwen Code wants to know about a server of the workspace.
const APPROVE: (&str, &[&str]) = ("1. Approve this server", &[keys::ENTER]);
/// How somebody ends a session, once they have an answer.
const QUIT: (&str, &[&str]) = ("So it is.", &["/quit", keys::ENTER]);

/// Those of a client.
pub(crate) fn of(client: &dyn Client, place: &Place<'_>) -> Vec<Occasion> {
    let prompt = |text: &str| client.prompt(place, text);
    let shell = || Model::calls(client.shell(), client.shell_input("touch asked.txt"));
    let settings = |json: Value| prompt("Go on.").env("OPENCODE_CONFIG_CONTENT", json.to_string());
    let several =
        |event, calls: Vec<Call>, model| Occasion { event, calls, model, seat: Seat::Nowhere };
    let one = |event, call: Call, model| several(event, vec![call], model);
    let at_terminal = |event, call: Call, model, keys| {
        let call = call.env("TERM", "xterm-256color").without_env("NO_COLOR");
        Occasion { seat: Seat::Terminal(keys), ..one(event, call, model) }
    };
    // What is typed as a command is about the session before it.
    let typed = |command: &str| vec![prompt("Go on."), prompt(command).arg("--continue")];
    match client.host() {
        "codex" => {
            // Whoever is asked for permission here is a model, and nobody is without this.
            let exec = ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"];
            let ask = place.call(client).args(exec).args(["--approve-for-me", "Go on."]);
            let more = json!({"cmd": "touch asked.txt", "sandbox_permissions": "require_escalated", "justification": "May I?"});
            let limit = ["-c", "model_auto_compact_token_limit=1000"];
            vec![
                one("PermissionRequest", ask, Model::calls(client.shell(), more)),
                one("PreCompact", prompt("Go on.").args(limit), shell().too_long()),
            ]
        }
        "claude" => {
            // What the user's settings allow is not asked for, and this is not among it.
            let file = place.workspace.join("asked.txt");
            let write = || Model::calls("Write", json!({"file_path": file, "content": "x"}));
            let asks = ["--permission-mode", "default"];
            let session =
                place.call(client).args(["--model", place.model]).args(asks).arg("Go on.");
            vec![
                one("PermissionRequest", prompt("Go on."), write()),
                several("PreCompact", typed("/compact"), Model::silent()),
                at_terminal("Notification", session, write(), &[TRUST, KEY]),
            ]
        }
        "opencode" => {
            let limit = json!({"limit": {"context": 20_000, "output": 1_000}});
            let models = json!({"provider": {"scripted": {"models": {place.model: limit}}}});
            let delete = "\"$1\" session list --format json | grep -o 'ses_[A-Za-z0-9]*' | head -n 1 | xargs \"$1\" session delete";
            let ask = json!({"permission": {"bash": "ask"}}).to_string();
            let session = place.call(client).args(["--prompt", "Go on."]);
            vec![
                one("PreCompact", settings(models), shell().too_long()),
                one(
                    "SessionEnd",
                    place.call(client).through("sh", ["-c", delete]),
                    Model::silent(),
                ),
                at_terminal(
                    "PermissionRequest",
                    session.env("OPENCODE_CONFIG_CONTENT", ask),
                    shell(),
                    &[],
                ),
            ]
        }
        "gemini" => {
            let session = place.call(client).args(["--model", place.model, "-i", "Go on."]);
            vec![at_terminal("Notification", session, shell(), &[])]
        }
        "copilot" => {
            let input = json!({"command": "sleep 1", "description": "Waits", "mode": "async"});
            let in_background = Model::calls(client.shell(), input);
            vec![
                one("Notification", prompt("Go on."), in_background),
                several("PreCompact", typed("/compact"), shell().too_long()),
            ]
        }
        "qwen" => {
            let session =
                || place.call(client).args(["--approval-mode", "default", "-i", "Go on."]);
            vec![
                several("PreCompact", typed("/compress"), shell()),
                at_terminal("PermissionRequest", session(), shell(), &[APPROVE]),
                at_terminal("SessionEnd", session(), Model::silent(), &[QUIT]),
            ]
        }
        _ => Vec::new(),
    }
}
