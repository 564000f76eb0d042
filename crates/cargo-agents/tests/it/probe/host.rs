//! A coding agent: it reads the files of Claude Code, speaks Messages, runs hooks and MCP servers.
//!
//! It is this test binary, called by a script of the name `claude`. It knows nothing of the code under test, only what the
//! documentation of Claude Code says.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use agents_testkit::knock::knock;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

/// The name of the variable that says which version it is; set by the script.
pub(super) const VERSION: &str = "FAKE_HOST";

/// Not a test: what the script calls. Without the variable there is nothing to do.
#[test]
fn is_a_host() {
    match std::env::var(VERSION).as_deref() {
        Ok("new") => Host::start(Hooks::Run).work(),
        Ok("old") => Host::start(Hooks::Ignored).work(),
        Ok("deaf") => Host::start(Hooks::AllBut("SubagentStop")).work(),
        Ok("clinging") => Host::start(Hooks::Run).clinging().work(),
        _ => {}
    }
}

/// What a version does about hooks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hooks {
    Run,
    Ignored,
    AllBut(&'static str),
}

struct Host {
    hooks: Hooks,
    settings: Vec<Value>,
    servers: Vec<Server>,
    /// Names, descriptions and texts.
    skills: Vec<[String; 3]>,
    agents: Vec<[String; 3]>,
}

impl Host {
    fn start(hooks: Hooks) -> Self {
        let home = Utf8PathBuf::from(std::env::var("HOME").unwrap());
        let work = Utf8PathBuf::from_path_buf(std::env::current_dir().unwrap()).unwrap();
        let read = |path: Utf8PathBuf| -> Option<Value> {
            serde_json::from_str(&std::fs::read_to_string(path).ok()?).unwrap()
        };
        let dirs = [home.join(".claude"), work.join(".claude")];
        let settings = dirs.iter().filter_map(|dir| read(dir.join("settings.json"))).collect();
        let files = [home.join(".claude.json"), work.join(".mcp.json")];
        let servers = files.into_iter().filter_map(read).flat_map(|file| {
            let servers = file["mcpServers"].as_object().cloned().unwrap_or_default();
            servers.into_iter().map(|(name, entry)| Server::start(name, &entry))
        });
        let servers = servers.collect();
        let all = |what: &str| -> Vec<[String; 3]> {
            let files = dirs.iter().flat_map(|dir| definitions(&dir.join(what)));
            files.map(|file| matter(&std::fs::read_to_string(file).unwrap())).collect()
        };
        Self { hooks, settings, servers, skills: all("skills"), agents: all("agents") }
    }

    /// One that never forgets what it has seen: skills in a file of its own, settings in the user's.
    fn clinging(mut self) -> Self {
        let home = Utf8PathBuf::from(std::env::var("HOME").unwrap());
        let memory = home.join(".claude/memory.json");
        if let Ok(known) = std::fs::read_to_string(&memory) {
            self.skills = serde_json::from_str(&known).unwrap();
        } else {
            std::fs::write(memory, serde_json::to_string(&self.skills).unwrap()).unwrap();
            let settings = home.join(".claude/settings.json");
            let mut copy: Value =
                serde_json::from_slice(&std::fs::read(&settings).unwrap()).unwrap();
            copy["last"] = copy["hooks"].clone();
            std::fs::write(settings, copy.to_string()).unwrap();
        }
        self
    }

    fn work(mut self) {
        let told: String = self
            .hook("SessionStart", &json!({"source": "startup"}))
            .into_iter()
            .filter_map(|it| {
                Some(it["hookSpecificOutput"]["additionalContext"].as_str()?.to_owned())
            })
            .collect();
        let listed = |all: &[[String; 3]]| -> String {
            all.iter().map(|[name, about, _]| format!("- {name}: {about}\n")).collect()
        };
        let system = format!(
            "You are a coding agent.\n{told}\nSkills:\n{}\nAgents:\n{}",
            listed(&self.skills),
            listed(&self.agents)
        );
        let prompt = std::env::args().next_back().unwrap_or_default();
        self.hook("UserPromptSubmit", &json!({"prompt": prompt}));
        self.converse(&system, &prompt);
        self.hook("Stop", &json!({"stop_hook_active": false}));
        self.hook("SessionEnd", &json!({"reason": "other"}));
    }

    /// Asks until the model calls nothing any more; its last words.
    fn converse(&mut self, system: &str, prompt: &str) -> String {
        let mut messages = vec![json!({"role": "user", "content": prompt})];
        loop {
            let answer = ask(&json!({
                "model": "scripted-model", "max_tokens": 100, "system": system,
                "messages": messages, "tools": self.tools(),
            }));
            let content = answer["content"].as_array().unwrap().clone();
            messages.push(json!({"role": "assistant", "content": content}));
            let calls: Vec<&Value> = content.iter().filter(|it| it["type"] == "tool_use").collect();
            if calls.is_empty() {
                let texts = content.iter().filter_map(|it| it["text"].as_str());
                return texts.collect();
            }
            let results: Vec<Value> = calls
                .into_iter()
                .map(|call| {
                    let text = self.call(call["name"].as_str().unwrap(), &call["input"]);
                    json!({"type": "tool_result", "tool_use_id": call["id"], "content": text})
                })
                .collect();
            messages.push(json!({"role": "user", "content": results}));
        }
    }

    fn tools(&self) -> Vec<Value> {
        let tool = |name: String| json!({"name": name, "description": "", "input_schema": {"type": "object"}});
        let own = ["Bash", "Agent"].map(str::to_owned).into_iter();
        let theirs = self.servers.iter().flat_map(|server| {
            server.tools.iter().map(|name| format!("mcp__{}__{name}", server.name))
        });
        own.chain(theirs).map(tool).collect()
    }

    fn call(&mut self, name: &str, input: &Value) -> String {
        for answer in self.hook("PreToolUse", &json!({"tool_name": name, "tool_input": input})) {
            let said = &answer["hookSpecificOutput"];
            if said["permissionDecision"] == "deny" {
                return said["permissionDecisionReason"].as_str().unwrap().to_owned();
            }
        }
        let facts = json!({"tool_name": name, "tool_input": input});
        match self.answer(name, input) {
            Ok(text) => {
                self.hook("PostToolUse", &facts);
                text
            }
            Err(text) => {
                self.hook("PostToolUseFailure", &facts);
                text
            }
        }
    }

    /// What a tool says, if it works and if it does not.
    fn answer(&mut self, name: &str, input: &Value) -> Result<String, String> {
        Ok(match name {
            "Bash" => {
                let words = input["command"].as_str().unwrap();
                let done = Command::new("sh").args(["-c", words]).output().unwrap();
                let said =
                    String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
                return if done.status.success() { Ok(said) } else { Err(said) };
            }
            "Agent" => {
                let wanted = input["subagent_type"].as_str().unwrap();
                let found = self.agents.iter().find(|it| it[0] == wanted).cloned();
                let Some([_, _, text]) = found else { return Err("no such agent".to_owned()) };
                self.hook("SubagentStart", &json!({"agent_type": wanted}));
                let said = self.converse(&text, input["prompt"].as_str().unwrap());
                self.hook("SubagentStop", &json!({"agent_type": wanted}));
                said
            }
            _ => {
                let (server, tool) = name.strip_prefix("mcp__").unwrap().split_once("__").unwrap();
                let server = self.servers.iter_mut().find(|it| it.name == server).unwrap();
                server.ask("tools/call", &json!({"name": tool, "arguments": input})).to_string()
            }
        })
    }

    /// What the hooks of an event say.
    fn hook(&self, event: &'static str, facts: &Value) -> Vec<Value> {
        if self.hooks == Hooks::Ignored || self.hooks == Hooks::AllBut(event) {
            return Vec::new();
        }
        let mut input = json!({"hook_event_name": event, "session_id": "s", "cwd": std::env::current_dir().unwrap()});
        input.as_object_mut().unwrap().extend(facts.as_object().unwrap().clone());
        let groups = self.settings.iter().filter_map(|it| it["hooks"][event].as_array()).flatten();
        let hooks = groups.flat_map(|it| it["hooks"].as_array().unwrap());
        let said = hooks.map(|hook| {
            let mut child = Command::new("sh")
                .args(["-c", hook["command"].as_str().unwrap()])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
            let output = child.wait_with_output().unwrap();
            serde_json::from_slice(&output.stdout).unwrap_or_default()
        });
        said.collect()
    }
}

fn ask(body: &Value) -> Value {
    let url = std::env::var("ANTHROPIC_BASE_URL").unwrap();
    let port = url.rsplit(':').next().unwrap().parse().unwrap();
    let answer =
        knock(port, "POST", "/v1/messages", &[("x-api-key", "none")], body.to_string().as_bytes());
    let body = answer.body.split_once('{').unwrap().1;
    let body = &body[..body.rfind('}').unwrap()];
    serde_json::from_str(&format!("{{{body}}}")).unwrap()
}

/// The files of a directory that define something: `NAME.md`, or `NAME/SKILL.md`.
fn definitions(dir: &Utf8Path) -> Vec<Utf8PathBuf> {
    let entries = dir.read_dir_utf8().into_iter().flatten().flatten();
    let files = entries.map(camino::Utf8DirEntry::into_path).map(|it| match it.is_dir() {
        true => it.join("SKILL.md"),
        false => it,
    });
    files.filter(|it| it.extension() == Some("md")).collect()
}

/// Name, description and text.
fn matter(file: &str) -> [String; 3] {
    let mut parts = file.splitn(3, "---\n").skip(1);
    let (head, text) = (parts.next().unwrap(), parts.next().unwrap());
    let value = |key: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(&format!("{key}: ")));
        line.unwrap_or_default().to_owned()
    };
    [value("name"), value("description"), text.to_owned()]
}

struct Server {
    name: String,
    tools: Vec<String>,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(name: String, entry: &Value) -> Self {
        let args = entry["args"].as_array().cloned().unwrap_or_default();
        let env = entry["env"].as_object().cloned().unwrap_or_default();
        let mut child = Command::new(entry["command"].as_str().unwrap())
            .args(args.iter().map(|it| it.as_str().unwrap()))
            .envs(env.iter().map(|(name, value)| (name, value.as_str().unwrap())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut server =
            Self { name, tools: Vec::new(), child, input, output: BufReader::new(output) };
        let client = json!({"name": "fake", "version": "1"});
        server.ask(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}),
        );
        writeln!(
            server.input,
            "{}",
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
        )
        .unwrap();
        let tools = server.ask("tools/list", &json!({}))["tools"].as_array().unwrap().clone();
        server.tools = tools.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect();
        server
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        writeln!(
            self.input,
            "{}",
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        )
        .unwrap();
        loop {
            let mut line = String::new();
            assert_ne!(
                self.output.read_line(&mut line).unwrap(),
                0,
                "`{method}`: the server is gone"
            );
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == 1 {
                return answer["result"].clone();
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
