//! Hooks that the definition of an agent brings along: programs that are asked before and after calls of its tools.
//!
//! They are written as Claude Code has them: `PreToolUse` and `PostToolUse`, each a list of matchers with lists of commands. A handler
//! may also say `timeout` (in seconds, 30 if absent), `fail_closed` (that it could not be asked is a no) and `if: "tool:WORD"`. Names of tools
//! are Claude Code's or ours. A command gets a shell, `PATH`, `HOME` and what is below, and nothing else of our environment.
//!
//! | variable | holds |
//! |---|---|
//! | `CARGO_AGENTS_AGENT` | the name of the agent |
//! | `CARGO_AGENTS_TASK_ID` | the id of its task |
//! | `CARGO_AGENTS_TOOL` | the tool, as definitions call it |
//! | `CLAUDE_PROJECT_DIR` | where the agent works |
//!
//! Whose definitions may bring hooks at all is said elsewhere: whoever makes one of these has checked it.

use std::time::Duration;

use agents_agent::{AgentName, definition::Dialect, tools::names};
use agents_hook::{Handler, HookInput, Matcher, Source, Wire, input::ToolCall, wire::Format};
use agents_host::Event;
use agents_system::{env, finding::Finding, process::Call};
use serde_json::Value;

use super::{Choose, Chosen};

/// How long a handler may take that does not say.
const PATIENCE: Duration = Duration::from_secs(30);

/// The hooks of one definition.
#[derive(Debug)]
pub struct OwnHooks {
    agent: String,
    hooks: Vec<OwnHook>,
}

#[derive(Debug)]
struct OwnHook {
    event: Event,
    names: Names,
    /// What `if` asks for.
    only: Option<Only>,
    run: Run,
    timeout: Duration,
    failure: Failure,
    source: Source,
}

/// Which tools.
#[derive(Debug)]
enum Names {
    /// By the rules of Claude Code.
    Claude(Matcher),
    /// Those with one of these words in their names, as zeph has it.
    Containing(Vec<String>),
}

#[derive(Debug)]
enum Only {
    /// Those with this word in their names.
    Tool(String),
    /// None: it is not understood.
    Never,
}

#[derive(Debug)]
enum Run {
    Command(String),
    /// Something that cannot be run here.
    Nothing(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// The call is made.
    Open,
    /// It is not.
    Closed,
}

impl OwnHooks {
    /// The hooks that a definition has; `None` if there are none. What cannot be understood is told.
    #[must_use]
    pub fn parse(
        agent: &AgentName,
        dialect: Dialect,
        hooks: &Value,
    ) -> (Option<Self>, Vec<Finding>) {
        let mut findings = Vec::new();
        let mut own = Self { agent: agent.to_string(), hooks: Vec::new() };
        let wrong = |what: String| {
            Finding::warning(format!("the hooks of agent `{agent}`: {what}"))
                .hint("`PreToolUse` and `PostToolUse` are lists of `matcher` and `hooks`")
        };
        let Some(events) = hooks.as_object() else {
            return (None, vec![wrong("they are not a table of events".to_owned())]);
        };
        for (name, matchers) in events {
            let event = match name.as_str() {
                "PreToolUse" => Event::PreToolUse,
                "PostToolUse" => Event::PostToolUse,
                _ => {
                    findings.push(wrong(format!("`{name}` is not an event of a tool: left out")));
                    continue;
                }
            };
            for matcher in matchers.as_array().into_iter().flatten() {
                let text = matcher.get("matcher").and_then(Value::as_str);
                let names = match tools(dialect, event, text) {
                    Ok(names) => names,
                    Err(why) => {
                        findings.push(wrong(why));
                        continue;
                    }
                };
                let handlers = matcher.get("hooks").and_then(Value::as_array);
                for handler in handlers.into_iter().flatten() {
                    let number = own.hooks.len() + 1;
                    let source = Source::new(agent.as_str(), format!("{name}-{number}"));
                    let hook = OwnHook::parse(event, names.clone(), handler, source);
                    if let Run::Nothing(why) = &hook.run {
                        findings.push(wrong(why.clone()));
                    }
                    own.hooks.push(hook);
                }
            }
        }
        ((!own.hooks.is_empty()).then_some(own), findings)
    }
}

fn tools(dialect: Dialect, event: Event, text: Option<&str>) -> Result<Names, String> {
    if dialect == Dialect::Zeph {
        let words = text.unwrap_or_default().split('|').map(str::trim);
        let words: Vec<String> = words.filter(|it| !it.is_empty()).map(str::to_owned).collect();
        return Ok(Names::Containing(words));
    }
    Matcher::parse(Wire::Claude, event, text).map(Names::Claude).map_err(|it| it.to_string())
}

impl Clone for Names {
    fn clone(&self) -> Self {
        match self {
            Self::Claude(matcher) => Self::Claude(matcher.clone()),
            Self::Containing(words) => Self::Containing(words.clone()),
        }
    }
}

impl OwnHook {
    fn parse(event: Event, names: Names, handler: &Value, source: Source) -> Self {
        let text = |key: &str| handler.get(key).and_then(Value::as_str);
        let run = match (text("type").unwrap_or("command"), text("command")) {
            ("command", Some(command)) if !command.trim().is_empty() => {
                Run::Command(command.to_owned())
            }
            ("command", _) => Run::Nothing("a handler has no `command`".to_owned()),
            (kind, _) => Run::Nothing(format!("handlers of type `{kind}` are not run here")),
        };
        let only = handler.get("if").map(|it| {
            let word = it.as_str().and_then(|it| it.strip_prefix("tool:")).map(str::trim);
            match word.filter(|it| !it.is_empty()) {
                Some(word) => Only::Tool(word.to_owned()),
                None => Only::Never,
            }
        });
        let seconds = handler.get("timeout").and_then(Value::as_f64);
        let timeout = seconds.and_then(|it| Duration::try_from_secs_f64(it).ok());
        let closed = handler.get("fail_closed").and_then(Value::as_bool) == Some(true);
        Self {
            event,
            names,
            only,
            run,
            timeout: timeout.filter(|it| !it.is_zero()).unwrap_or(PATIENCE),
            failure: if closed { Failure::Closed } else { Failure::Open },
            source,
        }
    }

    /// Whether it is for this call. Both names of the tool count.
    fn is_for(&self, input: &HookInput, ours: &str, theirs: &str) -> bool {
        let has = |word: &str| ours.contains(word) || theirs.contains(word);
        let event = match input.event() {
            // Whoever wants to know what became of a call wants to know of failures, too.
            Event::PostToolUseFailure => Event::PostToolUse,
            event => event,
        };
        let named = match &self.names {
            Names::Claude(matcher) => matcher.matches(input) || matcher.matches_name(ours),
            Names::Containing(words) => words.iter().any(|it| has(it)),
        };
        let only = match &self.only {
            None => true,
            Some(Only::Tool(word)) => has(word),
            Some(Only::Never) => false,
        };
        self.event == event && named && only
    }
}

fn call_of(input: &HookInput) -> Option<&ToolCall> {
    match input {
        HookInput::PreToolUse(call) => Some(call),
        HookInput::PostToolUse(result) => Some(&result.call),
        HookInput::PostToolUseFailure(failure) => Some(&failure.call),
        _ => None,
    }
}

impl Choose for OwnHooks {
    fn choose(&self, input: &HookInput) -> Chosen {
        let mut chosen = Chosen::default();
        let Some(call) = call_of(input) else { return chosen };
        let (ours, _) = names::from_host(Dialect::Claude, &call.tool_name);
        let ours = ours.first().map_or(call.tool_name.as_str(), |it| it.as_str()).to_owned();
        let cwd = call.session.cwd.clone().unwrap_or_default();
        let task = call.session.session_id.clone().unwrap_or_default();
        for hook in self.hooks.iter().filter(|it| it.is_for(input, &ours, &call.tool_name)) {
            if hook.failure == Failure::Closed {
                chosen.fail_closed.push(hook.source.clone());
            }
            let command = match &hook.run {
                Run::Command(command) => command.clone(),
                // What cannot be run has failed; that is only worth a word where it counts.
                Run::Nothing(_) if hook.failure == Failure::Open => continue,
                Run::Nothing(why) => format!("echo '{}' >&2; exit 1", why.replace('\'', "")),
            };
            let program = Call::new("/bin/sh")
                .args(["-c", command.as_str()])
                .in_empty_env()
                .env("PATH", env::handed_on("PATH").unwrap_or_default())
                .env("HOME", env::handed_on("HOME").unwrap_or_default())
                .env("CARGO_AGENTS_AGENT", self.agent.as_str())
                .env("CARGO_AGENTS_TASK_ID", task.as_str())
                .env("CARGO_AGENTS_TOOL", ours.as_str())
                .env("CLAUDE_PROJECT_DIR", cwd.as_str())
                .cwd(cwd.clone())
                .deadline(hook.timeout);
            let (source, format) = (hook.source.clone(), Format::Native(Wire::Claude));
            chosen.handlers.push(Handler { source, call: program, format });
        }
        chosen
    }
}

/// Several that know hooks, as one.
pub struct All(pub Vec<std::sync::Arc<dyn Choose>>);

impl Choose for All {
    fn choose(&self, input: &HookInput) -> Chosen {
        let mut all = Chosen::default();
        for one in &self.0 {
            let Chosen { handlers, temporary, findings, fail_closed } = one.choose(input);
            all.handlers.extend(handlers);
            all.temporary.extend(temporary);
            all.findings.extend(findings);
            all.fail_closed.extend(fail_closed);
        }
        all
    }
}

#[cfg(test)]
mod tests;
