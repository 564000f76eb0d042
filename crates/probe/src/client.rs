//! One file per client: the user's own files, its command line, and how it names things toward the model.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod goose;
mod opencode;
mod qwen;

use std::{
    ffi::{OsStr, OsString},
    fmt,
};

use agents_system::process::Call;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

/// A host that we know how to start without a terminal, against a model of our own.
pub trait Client {
    /// The host that it is for us.
    fn host(&self) -> &'static str;
    /// The newest version in which everything was seen to work, as `docs/real-hosts.md` has it.
    fn proven(&self) -> &'static str {
        proven(self.host())
    }
    /// Where it can have MCP servers.
    fn scopes(&self) -> &'static [Scope] {
        &[Scope::Project, Scope::Global]
    }
    /// The user's own files, as they are before we come: path and text. Below [`Place::home`].
    fn files(&self, place: &Place<'_>) -> Vec<(Utf8PathBuf, String)>;
    /// The user's environment: it leads to the scripted model.
    fn env(&self, place: &Place<'_>) -> Vec<(&'static str, String)>;
    /// The command line of one prompt without a terminal, with its environment.
    fn prompt(&self, place: &Place<'_>, text: &str) -> Call;
    /// What the model sees as the name of a tool of an MCP server.
    fn tool(&self, server: &str, tool: &str) -> String;
    /// What the model sees as the name of the tool that runs commands.
    fn shell(&self) -> &'static str;
    /// What that tool is given to run a command.
    fn shell_input(&self, command: &str) -> Value {
        json!({"command": command, "description": "Runs it"})
    }
    /// What the model calls, and what it gives, so that a tool fails.
    fn failing(&self) -> (&'static str, Value) {
        (self.shell(), self.shell_input("ls /there-is-no-such-file"))
    }
    /// What the model calls to have an agent do something.
    fn delegate(&self, agent: &str, prompt: &str) -> (&'static str, Value);
    /// What it calls to hear what became of that, if the first call does not wait for it; from what that one answered.
    fn hear(&self) -> fn(answered: &str) -> Option<(&'static str, Value)> {
        |_| None
    }
    /// What the user does in the host after a `sync`, once and for all: files, as above.
    fn accepted(&self, _place: &Place<'_>) -> Vec<(Utf8PathBuf, String)> {
        Vec::new()
    }
    /// The names that it would look up besides the model's.
    fn calls_home(&self) -> &'static [&'static str] {
        &[]
    }
}

/// Where MCP servers and hooks are registered, as `--hook-scope` takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In the workspace.
    Project,
    /// In the user's own files.
    Global,
}

impl Scope {
    /// Its word on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Global => "global",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Where a client runs.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The client's program.
    pub program: &'a Utf8Path,
    /// Its `PATH`: our own program must be on it, and what the client itself is run by.
    pub path: &'a OsStr,
    /// The user's.
    pub home: &'a Utf8Path,
    /// Where it works.
    pub workspace: &'a Utf8Path,
    /// The model's address, without a path.
    pub url: &'a str,
    /// Its name.
    pub model: &'a str,
}

impl Place<'_> {
    /// A call of the client in the workspace, with no environment but what every program has.
    #[must_use]
    pub fn call(&self, client: &dyn Client) -> Call {
        let call = Call::new(self.program.as_str())
            .in_empty_env()
            .env("PATH", OsString::from(self.path))
            .env("HOME", self.home)
            .env("LANG", "C.UTF-8")
            .env("TERM", "dumb")
            .env("NO_COLOR", "1")
            .cwd(self.workspace);
        client.env(self).into_iter().fold(call, |call, (name, value)| call.env(name, value))
    }
}

/// A line for each host, written by `suites/hosts` together with its page.
const PROVEN: &str = include_str!("client/proven.txt");

fn proven(host: &str) -> &'static str {
    let mut lines = PROVEN.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(name, _)| *name == host).map_or("", |(_, version)| version)
}

/// All that there are.
#[must_use]
pub fn all() -> Vec<Box<dyn Client>> {
    vec![
        Box::new(codex::Codex),
        Box::new(claude::Claude),
        Box::new(opencode::Opencode),
        Box::new(gemini::Gemini),
        Box::new(copilot::Copilot),
        Box::new(qwen::Qwen),
        Box::new(goose::Goose),
    ]
}

/// The one that is this host.
#[must_use]
pub fn of_host(host: &str) -> Option<Box<dyn Client>> {
    all().into_iter().find(|client| client.host() == host)
}
