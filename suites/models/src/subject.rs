//! Who is asked.

use serde_json::{Value, json};

use crate::install::Package;

/// Somebody who answers as a model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) way: Way,
}

/// In which way it is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    /// As a host, run without a terminal.
    Host(Client),
    /// As an ACP agent, with these arguments.
    Acp(Client, &'static [&'static str]),
    /// As a server that has a model of its own.
    Server,
}

/// A program from npm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client {
    /// The host that it is for us.
    pub(crate) host: &'static str,
    pub(crate) package: Package,
    /// What the model sees as the name of the tool that runs commands.
    pub(crate) shell: &'static str,
    /// The key of the command in what that tool is given.
    command: &'static str,
}

impl Client {
    /// What the tool is given to run a command.
    pub(crate) fn shell_input(&self, command: &str) -> Value {
        let mut input = json!({"description": "Runs it", "is_background": false, "mode": "sync"});
        input[self.command] = json!(command);
        input
    }
}

impl Subject {
    pub(crate) fn package(&self) -> Option<Package> {
        self.client().map(|client| client.package)
    }

    pub(crate) fn client(&self) -> Option<Client> {
        match self.way {
            Way::Host(client) | Way::Acp(client, _) => Some(client),
            Way::Server => None,
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self.way {
            Way::Host(_) => "host",
            Way::Acp(..) => "acp",
            Way::Server => "openai-compatible",
        }
    }
}

const fn client(
    host: &'static str,
    name: &'static str,
    program: &'static str,
    shell: &'static str,
    command: &'static str,
) -> Client {
    Client { host, package: Package { name, program }, shell, command }
}

/// All that the suite knows.
pub(crate) fn all() -> Vec<Subject> {
    let claude = client(
        "claude",
        "@anthropic-ai/claude-code",
        "node_modules/.bin/claude",
        "Bash",
        "command",
    );
    let codex = client("codex", "@openai/codex", "node_modules/.bin/codex", "exec_command", "cmd");
    let gemini = client(
        "gemini",
        "@google/gemini-cli",
        "node_modules/.bin/gemini",
        "run_shell_command",
        "command",
    );
    let opencode =
        client("opencode", "opencode-ai", "node_modules/.bin/opencode", "bash", "command");
    let copilot =
        client("copilot", "@github/copilot", "node_modules/.bin/copilot", "bash", "command");
    let qwen = client(
        "qwen",
        "@qwen-code/qwen-code",
        "node_modules/.bin/qwen",
        "run_shell_command",
        "command",
    );
    let goose = client(
        "goose",
        "@aaif/goose-binary-linux-x64",
        "node_modules/@aaif/goose-binary-linux-x64/bin/goose",
        "shell",
        "command",
    );
    let subject = |name, way| Subject { name, way };
    vec![
        subject("llama", Way::Server),
        subject("claude", Way::Host(claude)),
        subject("codex", Way::Host(codex)),
        subject("gemini", Way::Host(gemini)),
        subject("opencode", Way::Host(opencode)),
        subject("copilot", Way::Host(copilot)),
        subject("qwen", Way::Host(qwen)),
        subject("goose", Way::Host(goose)),
        subject("gemini-acp", Way::Acp(gemini, &["--acp"])),
        subject("opencode-acp", Way::Acp(opencode, &["acp"])),
        subject("goose-acp", Way::Acp(goose, &["acp"])),
        subject("qwen-acp", Way::Acp(qwen, &["--acp"])),
    ]
}
