//! The wire formats of the hosts, one small module each.
//!
//! Both ways for both directions: what a host sends becomes a [`HookInput`]; a [`HookInput`] becomes what
//! a host would have sent, for a handler that was written for that host; an answer becomes what the host
//! understands, with a report of what it cannot be told; and what a handler printed in a host's format
//! becomes an answer again.

mod antigravity;
mod claude;
mod codex;
mod copilot;
mod cursor;
mod facts;
mod gemini;
mod goose;
mod kiro;
mod mend;
mod opencode;

use std::borrow::Cow;

use agents_host::Event;
use agents_system::nested::{MAX_DEPTH, fits};
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::{Map, Value};

use crate::{
    Answered, HookInput, HookOutput,
    loss::{Loss, Part, lower},
};

/// The wire format of one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Copilot CLI.
    Copilot,
    /// Gemini CLI.
    Gemini,
    /// Antigravity CLI.
    Antigravity,
    /// Kiro.
    Kiro,
    /// Goose.
    Goose,
    /// OpenCode, through our plugin module.
    OpenCode,
    /// Cursor.
    Cursor,
    /// Qwen Code.
    Qwen,
    /// Factory's droid.
    Factory,
}

/// What a handler speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The neutral format, `symposium` in manifests.
    Neutral,
    /// That of a host.
    Native(Wire),
}

/// What arrived from a host.
#[derive(Debug, Clone, PartialEq)]
pub enum Received {
    /// Something happened.
    Input(Box<HookInput>),
    /// The host called, but nothing happened that we have a name for: the empty answer is right.
    Nothing,
}

/// What the host gets from us.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Standard output, byte for byte.
    pub stdout: String,
    /// Standard error, byte for byte.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

/// Why bytes could not be understood.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// They are not JSON.
    #[error("not JSON: {0}")]
    NotJson(#[source] serde_json::Error),
    /// They are JSON, but no object.
    #[error("not a JSON object")]
    NotAnObject,
    /// They are nested deeper than what is passed on can be.
    #[error("there are more than {MAX_DEPTH} lists or objects within each other")]
    TooDeep,
    /// Something that the event is about is missing.
    #[error("`{key}` is missing")]
    Missing {
        /// What.
        key: &'static str,
    },
    /// A value has another type than the format says.
    #[error("not in the format: {0}")]
    Shape(#[source] serde_json::Error),
    /// Text in a place where the format has no meaning for text.
    #[error("printed text where the format wants JSON")]
    Text,
}

/// What one host's format is like. Everything here is pure.
trait Dialect: Sync {
    /// What the host calls an event.
    fn event(&self, event: Event) -> Option<&'static str>;

    /// The key under which the input names the event.
    fn event_key(&self) -> Option<&'static str> {
        Some("hook_event_name")
    }

    /// The host's names for a fact, the one that is written first; `None` where it is ours.
    fn keys(&self, _: Event, _fact: &str) -> Option<&'static [&'static str]> {
        None
    }

    /// Corrects what was read by name.
    fn reading(&self, _: Event, _native: &mut Map<String, Value>, _ours: &mut Map<String, Value>) {}

    /// Corrects what is written by name.
    fn writing(&self, _: Event, _native: &mut Map<String, Value>) {}

    /// Whether the host calls for something that is not the event it is registered for.
    fn is_nothing(&self, _: Event, _native: &Map<String, Value>) -> bool {
        false
    }

    /// What it can be told.
    fn can(&self, event: Event) -> &'static [Part];

    /// Moves what has the same meaning in another place, before anything counts as lost.
    fn adapt(&self, _: Event, _output: &mut HookOutput) {}

    /// Says what was reduced to what can be said.
    fn say(&self, event: Event, output: &HookOutput) -> Said;

    /// Reads an object that a handler printed, taking out what is understood.
    fn hear(&self, event: Event, said: &mut Map<String, Value>) -> Result<HookOutput, WireError>;

    /// Reads text that a handler printed and that is no JSON.
    fn hear_text(&self, _: Event, _text: &str) -> Result<HookOutput, WireError> {
        Err(WireError::Text)
    }
}

/// An answer in a host's format.
enum Said {
    Json(Map<String, Value>),
    Plain(Answer),
}

impl Wire {
    /// All of them, in the order in which the hosts are listed.
    pub const ALL: [Self; 11] = [
        Self::Claude,
        Self::Codex,
        Self::Copilot,
        Self::Gemini,
        Self::Antigravity,
        Self::Kiro,
        Self::Goose,
        Self::OpenCode,
        Self::Cursor,
        Self::Qwen,
        Self::Factory,
    ];

    /// The name of the host, as in its descriptor.
    #[must_use]
    pub fn host(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini",
            Self::Antigravity => "antigravity",
            Self::Kiro => "kiro",
            Self::Goose => "goose",
            Self::OpenCode => "opencode",
            Self::Cursor => "cursor",
            Self::Qwen => "qwen",
            Self::Factory => "factory",
        }
    }

    /// The format of this host; `None` for one that calls no hooks.
    #[must_use]
    pub fn of(host: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wire| wire.host() == host)
    }

    fn dialect(self) -> &'static dyn Dialect {
        match self {
            Self::Claude => &claude::CLAUDE,
            Self::Codex => &codex::Codex,
            Self::Copilot => &copilot::Copilot,
            Self::Gemini => &gemini::Gemini,
            Self::Antigravity => &antigravity::Antigravity,
            Self::Kiro => &kiro::Kiro,
            Self::Goose => &goose::Goose,
            Self::OpenCode => &opencode::OpenCode,
            Self::Cursor => &cursor::Cursor,
            Self::Qwen => &claude::QWEN,
            Self::Factory => &claude::FACTORY,
        }
    }

    /// What the host calls an event in its input, if it has it.
    #[must_use]
    pub fn event(self, event: Event) -> Option<&'static str> {
        self.dialect().event(event)
    }

    /// What the host can be told at an event.
    #[must_use]
    pub fn can(self, event: Event) -> &'static [Part] {
        self.dialect().can(event)
    }

    /// Reads what the host sent. Facts that the host did not send are unknown; what it sent besides is
    /// kept as `extra`.
    pub fn parse_input(self, event: Event, bytes: &[u8]) -> Result<Received, WireError> {
        let mut native = object(bytes)?;
        let dialect = self.dialect();
        if dialect.is_nothing(event, &native) {
            return Ok(Received::Nothing);
        }
        let mut ours = facts::read(dialect, event, &mut native);
        // A text that holds JSON is no way around the limit: handlers get what is in it as such.
        if !ours.values().all(fits) {
            return Err(WireError::TooDeep);
        }
        ours.insert("host".to_owned(), self.host().into());
        if event.is_about_a_tool() && !ours.contains_key("tool_name") {
            let key = dialect.keys(event, "tool_name").map_or("tool_name", |keys| keys[0]);
            return Err(WireError::Missing { key });
        }
        if let Some(key) = dialect.event_key() {
            native.shift_remove(key);
        }
        ours.insert("extra".to_owned(), Value::Object(native));
        let tagged = Map::from_iter([(event.name().to_owned(), Value::Object(ours))]);
        let input = serde_json::from_value(Value::Object(tagged)).map_err(WireError::Shape)?;
        Ok(Received::Input(Box::new(input)))
    }

    /// Writes what the host would have sent. What another host told besides is left out.
    #[must_use]
    pub fn render_input(self, input: &HookInput) -> Vec<u8> {
        let (event, dialect) = (input.event(), self.dialect());
        let mut native = facts::write(dialect, event, input);
        dialect.writing(event, &mut native);
        Value::Object(native).to_string().into_bytes()
    }

    /// Writes an answer, with a report of what the host cannot be told.
    #[must_use]
    pub fn render_output(self, event: Event, output: &HookOutput) -> (Answer, Vec<Loss>) {
        let dialect = self.dialect();
        let (output, losses) = self.reduce(event, output);
        let answer = match dialect.say(event, &output) {
            Said::Json(mut object) => {
                add_missing(&mut object, &output.native);
                let stdout = Value::Object(object).to_string();
                Answer { stdout, stderr: String::new(), code: 0 }
            }
            Said::Plain(answer) => answer,
        };
        (answer, losses)
    }

    /// An answer reduced to what the host can be told.
    #[must_use]
    pub fn reduce(self, event: Event, output: &HookOutput) -> (HookOutput, Vec<Loss>) {
        let mut adapted = output.clone();
        self.dialect().adapt(event, &mut adapted);
        let (mut reduced, losses) = lower(event, &adapted, self.can(event));
        // What became a denial only now has its places, too.
        self.dialect().adapt(event, &mut reduced);
        (reduced, losses)
    }

    /// Reads what a handler printed in this host's format. What is not understood is kept as `native`.
    pub fn parse_output(self, event: Event, stdout: &str) -> Result<HookOutput, WireError> {
        let dialect = self.dialect();
        let text = stdout.trim();
        if text.is_empty() {
            return Ok(HookOutput::default());
        }
        if !text.starts_with('{') {
            return dialect.hear_text(event, text);
        }
        let mut object = object(text.as_bytes())?;
        let mut output = dialect.hear(event, &mut object)?;
        object.retain(|_, value| value.as_object().is_none_or(|inner| !inner.is_empty()));
        output.native = object;
        Ok(output)
    }
}

impl Format {
    /// The format of this name in a manifest.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "symposium" => Some(Self::Neutral),
            host => Wire::of(host).map(Self::Native),
        }
    }

    /// As manifests write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Neutral => "symposium",
            Self::Native(wire) => wire.host(),
        }
    }

    /// What a handler of this format gets. For the format of the calling host that is what the host sent,
    /// byte for byte.
    #[must_use]
    pub fn render_input<'r>(
        self,
        calling: Wire,
        raw: &'r [u8],
        input: &HookInput,
    ) -> Cow<'r, [u8]> {
        match self {
            Self::Native(wire) if wire == calling => Cow::Borrowed(raw),
            Self::Native(wire) => Cow::Owned(wire.render_input(input)),
            // Maps with string keys and no foreign types: this cannot fail.
            Self::Neutral => Cow::Owned(serde_json::to_vec(input).unwrap_or_default()),
        }
    }

    /// Reads what a handler of this format printed.
    ///
    /// The neutral format is read leniently: the event's name around the answer may be missing or that of
    /// another event, and an answer in the calling host's own format is understood too.
    pub fn parse_output(
        self,
        calling: Wire,
        event: Event,
        stdout: &str,
    ) -> Result<HookOutput, WireError> {
        let text = stdout.trim();
        match self {
            Self::Native(wire) => {
                let mut output = wire.parse_output(event, text)?;
                if wire != calling {
                    output.native.clear();
                }
                Ok(output)
            }
            Self::Neutral if text.is_empty() => Ok(HookOutput::default()),
            Self::Neutral if !text.starts_with('{') => Err(WireError::Text),
            Self::Neutral => {
                let object = object(text.as_bytes())?;
                let tagged = object.len() == 1
                    && object.keys().next().is_some_and(|key| Event::parse(key).is_some());
                if tagged {
                    return serde_json::from_value(Value::Object(object))
                        .map(Answered::into_output)
                        .map_err(WireError::Shape);
                }
                if object.keys().all(|key| OURS.contains(&key.as_str())) {
                    return serde_json::from_value(Value::Object(object)).map_err(WireError::Shape);
                }
                calling.parse_output(event, text)
            }
        }
    }
}

/// The directory that a call is about, read without making anything of the rest, which may be large.
#[must_use]
pub fn whereabouts(bytes: &[u8]) -> Option<Utf8PathBuf> {
    /// Antigravity names the workspaces instead.
    #[derive(Deserialize)]
    struct Where {
        cwd: Option<Utf8PathBuf>,
        #[serde(rename = "workspacePaths", default)]
        workspaces: Vec<Utf8PathBuf>,
    }
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let found: Where = serde_json::from_slice(bytes)
        .or_else(|error| serde_json::from_str(&mend::mend(bytes)).map_err(|_| error))
        .ok()?;
    found.cwd.or_else(|| found.workspaces.into_iter().next())
}

/// Whether what came in the words of Claude Code is said by Copilot CLI, which also runs the hooks of the project's `.claude/settings.json`.
///
/// It says when it was, and mostly not where its transcript is. Claude Code always says the latter, and not the former; before it does
/// something it also says in which mode it is, so that nothing gets past a guard if it says more one day.
#[must_use]
pub fn is_by_copilot(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Said {
        timestamp: Option<IgnoredAny>,
        transcript_path: Option<IgnoredAny>,
        permission_mode: Option<IgnoredAny>,
    }
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let said: Result<Said, _> = serde_json::from_slice(bytes)
        .or_else(|error| serde_json::from_str(&mend::mend(bytes)).map_err(|_| error));
    // Who cannot be understood is whoever was expected.
    said.is_ok_and(|said| {
        let without_mode = said.permission_mode.is_none();
        said.transcript_path.is_none() || (said.timestamp.is_some() && without_mode)
    })
}

/// The keys of a neutral answer.
const OURS: [&str; 9] = [
    "decision",
    "reason",
    "updatedInput",
    "additionalContext",
    "updatedOutput",
    "continue",
    "stopReason",
    "systemMessage",
    "suppressOutput",
];

/// Some hosts on Windows begin with it.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The one object in these bytes; none for no bytes.
fn object(bytes: &[u8]) -> Result<Map<String, Value>, WireError> {
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    if bytes.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    let value = serde_json::from_slice(bytes)
        .or_else(|error| serde_json::from_str(&mend::mend(bytes)).map_err(|_| error));
    match value.map_err(WireError::NotJson)? {
        // Some formats have things one level deeper than others, and all handlers must be able to read them.
        Value::Object(object) if object.values().all(fits) => Ok(object),
        Value::Object(_) => Err(WireError::TooDeep),
        _ => Err(WireError::NotAnObject),
    }
}

/// Adds what is not there, at any depth.
fn add_missing(to: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (key, value) in from {
        match (to.get_mut(key), value) {
            (None, value) => {
                to.insert(key.clone(), value.clone());
            }
            (Some(Value::Object(to)), Value::Object(from)) => add_missing(to, from),
            (Some(_), _) => {}
        }
    }
}

/// Takes a text out of an object.
fn take_text(from: &mut Map<String, Value>, key: &str) -> Option<String> {
    match from.get(key)? {
        Value::String(_) => match from.shift_remove(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Takes a value that is not `null` out of an object.
fn take(from: &mut Map<String, Value>, key: &str) -> Option<Value> {
    from.shift_remove(key).filter(|value| !value.is_null())
}

/// Takes a flag that is set out of an object.
fn take_flag(from: &mut Map<String, Value>, key: &str, set: bool) -> bool {
    let found = from.get(key) == Some(&Value::Bool(set));
    if found {
        from.shift_remove(key);
    }
    found
}

/// Puts something that was said into an object.
fn put(into: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        into.insert(key.to_owned(), value.into());
    }
}
