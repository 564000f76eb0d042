//! What the registration of our hooks looks like, host by host.
//!
//! A host is told to run `cargo-agents hook <host> <event>` for every event that it has. What must be
//! written where follows from the [`HookShape`] of its descriptor; nothing here touches a file.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    event::Event,
    host::{HookShape, Hooks, Host},
    id::HostId,
};

/// The name under which we appear in files of hosts that want one.
pub const OUR_NAME: &str = "cargo-agents";

/// The program that hosts run.
pub const OUR_PROGRAM: &str = "cargo-agents";

/// What the model of every session in a Rust workspace should know.
pub const DISCOVERY: &str = "Tools that know the crates of this workspace are available through `cargo agents`. Run \
    `cargo agents --help` before working with the Rust code here. Use only those under 'Commands for agents', unless the user \
    explicitly asks for one under 'Commands for humans'.";

/// The same as a skill, for a host whose model sees the descriptions of skills but nothing that a hook says.
#[must_use]
pub fn discovery_skill() -> String {
    let description = json!(DISCOVERY);
    format!(
        "---\nname: {OUR_NAME}\ndescription: {description}\n---\n\n\
         Run `cargo agents --help` in the workspace and use what it lists for agents.\n"
    )
}

/// One thing to write into a host's hook file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Registration {
    /// The keys that lead to the place, from the top of the file; empty for the whole file.
    pub at: Vec<String>,
    /// What is written. In a file that is ours as a whole a text is the file itself, anything else is JSON.
    pub value: Value,
    /// How much of the place is ours.
    pub owned: Owned,
    /// The event that it is for, when it is for one.
    pub event: Option<Event>,
}

/// How much of the place of a registration is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owned {
    /// The file holds nothing else: write it, and remove it at the end.
    WholeFile,
    /// `at` is a list that others use too: add one item, and remove that at the end.
    ListItem,
    /// The key at `at` holds nothing else: set it, and remove it at the end.
    Key,
    /// The file needs this key: set it only where it is missing, and never change it.
    Scaffold,
}

impl Registration {
    /// The text of a file that is ours as a whole.
    #[must_use]
    pub fn file_text(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            json => format!("{json:#}\n"),
        }
    }
}

/// The module that OpenCode runs in place of a command. It calls this program of ours, for every event that OpenCode has.
#[must_use]
pub fn opencode_module(program: &str) -> String {
    include_str!("hooks/opencode.js").replace("\"@program@\"", &json!(program).to_string())
}

/// The command line that a host runs for an event.
#[must_use]
pub fn command(host: &HostId, event: Event) -> String {
    format!("{}{}", mark(host), event.kebab())
}

/// What every command line that a host runs for an event begins with: so an entry of ours is known, also one that an earlier
/// version or a colleague wrote.
#[must_use]
pub fn mark(host: &HostId) -> String {
    format!("{OUR_PROGRAM} hook {host} ")
}

/// What to write for these events. Events that the host does not have are left out; a host without hooks,
/// or with none of the events, gets nothing.
#[must_use]
pub fn registrations(host: &Host, events: &[Event]) -> Vec<Registration> {
    let Some(hooks) = host.hooks.get() else { return Vec::new() };
    let wanted: Vec<Call<'_>> = hooks
        .events
        .iter()
        .filter(|(event, _)| events.contains(event))
        .map(|(event, name)| Call {
            hooks,
            event: *event,
            name,
            command: command(&host.id, *event),
        })
        .collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    match hooks.shape {
        HookShape::Groups | HookShape::NamedGroups => {
            wanted.iter().map(|call| call.item(hooks, call.group())).collect()
        }
        HookShape::GroupsFile => whole_file(nested(hooks, by_event(&wanted, Call::group))),
        HookShape::Antigravity => {
            let value = by_event(&wanted, |call| match call.event.is_about_a_tool() {
                true => call.group(),
                false => call.handler(),
            });
            let at = hooks.container.iter().cloned().chain([OUR_NAME.to_owned()]).collect();
            vec![Registration { at, value, owned: Owned::Key, event: None }]
        }
        HookShape::Copilot => {
            let mut file = Map::new();
            file.insert("version".to_owned(), json!(1));
            if let Value::Object(events) = nested(hooks, by_event(&wanted, Call::per_shell)) {
                file.extend(events);
            }
            whole_file(Value::Object(file))
        }
        HookShape::Cursor => {
            let version = Registration {
                at: vec!["version".to_owned()],
                value: json!(1),
                owned: Owned::Scaffold,
                event: None,
            };
            let items = wanted.iter().map(|call| call.item(hooks, call.plain()));
            std::iter::once(version).chain(items).collect()
        }
        HookShape::Kiro => {
            let triggers: Vec<Value> = wanted.iter().map(Call::trigger).collect();
            let mut file = Map::new();
            file.insert("version".to_owned(), json!("v1"));
            file.insert("hooks".to_owned(), json!(triggers));
            whole_file(Value::Object(file))
        }
        HookShape::OpenCode => whole_file(json!(opencode_module(OUR_PROGRAM))),
    }
}

/// One event to register.
struct Call<'h> {
    hooks: &'h Hooks,
    event: Event,
    /// What the host calls the event.
    name: &'h str,
    command: String,
}

impl Call<'_> {
    /// `{matcher, hooks: [handler]}`, the matcher only where tools are matched.
    fn group(&self) -> Value {
        let mut group = Map::new();
        self.put_matcher(&mut group);
        group.insert("hooks".to_owned(), json!([self.handler()]));
        Value::Object(group)
    }

    /// `{type, command, timeout}`.
    fn handler(&self) -> Value {
        let mut handler = Map::new();
        if self.hooks.shape == HookShape::NamedGroups {
            handler.insert("name".to_owned(), json!(OUR_NAME));
        }
        handler.insert("type".to_owned(), json!("command"));
        handler.insert("command".to_owned(), json!(self.command));
        self.put_timeout(&mut handler, "timeout");
        Value::Object(handler)
    }

    /// `{type, bash, powershell, timeoutSec}`.
    fn per_shell(&self) -> Value {
        let mut handler = Map::new();
        handler.insert("type".to_owned(), json!("command"));
        handler.insert("bash".to_owned(), json!(self.command));
        handler.insert("powershell".to_owned(), json!(self.command));
        self.put_timeout(&mut handler, "timeoutSec");
        Value::Object(handler)
    }

    /// `{command, timeout}`.
    fn plain(&self) -> Value {
        let mut handler = Map::new();
        handler.insert("command".to_owned(), json!(self.command));
        self.put_timeout(&mut handler, "timeout");
        Value::Object(handler)
    }

    /// `{name, trigger, matcher, action, timeout, enabled}`.
    fn trigger(&self) -> Value {
        let mut trigger = Map::new();
        trigger.insert("name".to_owned(), json!(format!("{OUR_NAME}-{}", self.event.kebab())));
        trigger.insert("trigger".to_owned(), json!(self.name));
        self.put_matcher(&mut trigger);
        trigger.insert("action".to_owned(), json!({"type": "command", "command": self.command}));
        self.put_timeout(&mut trigger, "timeout");
        trigger.insert("enabled".to_owned(), json!(true));
        Value::Object(trigger)
    }

    fn item(&self, hooks: &Hooks, value: Value) -> Registration {
        let at = hooks.container.iter().cloned().chain([self.name.to_owned()]).collect();
        Registration { at, value, owned: Owned::ListItem, event: Some(self.event) }
    }

    fn put_matcher(&self, into: &mut Map<String, Value>) {
        if let Some(matcher) = &self.hooks.matcher
            && self.event.is_about_a_tool()
        {
            into.insert("matcher".to_owned(), json!(matcher));
        }
    }

    fn put_timeout(&self, into: &mut Map<String, Value>, key: &str) {
        if let Some(timeout) = self.hooks.timeout {
            into.insert(key.to_owned(), json!(timeout.value));
        }
    }
}

/// `{event: [value]}`.
fn by_event<'h>(calls: &[Call<'h>], value: impl Fn(&Call<'h>) -> Value) -> Value {
    Value::Object(calls.iter().map(|call| (call.name.to_owned(), json!([value(call)]))).collect())
}

/// The value below the keys of the container.
fn nested(hooks: &Hooks, value: Value) -> Value {
    hooks.container.iter().rev().fold(value, |inner, key| json!({ key: inner }))
}

fn whole_file(value: Value) -> Vec<Registration> {
    vec![Registration { at: Vec::new(), value, owned: Owned::WholeFile, event: None }]
}

#[cfg(test)]
mod tests;
