//! Changing a definition by the names of its parts: `limits.turns=20`.
//!
//! The names are the keys of our own dialect, whatever the dialect of the file; what stands after the `=` is read as if it stood
//! in such a file. Nothing is guessed: a part that is unknown, and a value that cannot be understood, are errors.
//!
//! ```
//! use agents_agent::{assign::{Assignment, assign}, bundled};
//! let mut reviewer = bundled::agents().iter().find(|it| it.name.as_str() == "reviewer").unwrap().clone();
//! let changes = ["limits.turns=20", "model=haiku, inherit"].map(|text| Assignment::parse(text).unwrap());
//! assign(&mut reviewer, &changes).unwrap();
//! assert_eq!(reviewer.limits.turns, Some(20));
//! assert_eq!(reviewer.model.len(), 2);
//! ```

use agents_system::{
    edit::{self, Format},
    explain::{Code, ErrorKind, Explain},
    finding::{Finding, Severity},
    nearest::{nearest, quoted_list},
};
use serde_json::{Map, Value};

use crate::{
    definition::{AgentDefinition, AgentName, Dialect, MAX_NAME, Source, Spawns},
    entries,
    parse::{Input, Strictness, parse, settle},
};

/// Every part that can be changed: the keys of our own dialect, the two halves of its tables, and the prompt.
pub const PARTS: &[&str] = &[
    "name",
    "description",
    "prompt",
    "tools",
    "tools.allow",
    "tools.deny",
    "spawns",
    "model",
    "effort",
    "permission-mode",
    "waiting",
    "isolation",
    "limits.turns",
    "limits.time",
    "limits.tokens",
    "limits.cost",
    "limits.history",
    "limits.grant",
    "skills",
    "skills.include",
    "skills.exclude",
    "mcp-servers",
    "hooks",
    "memory",
    "secrets",
    "priority",
    "mutex",
    "output",
    "done-when",
    "done-when.commands",
    "done-when.changed",
    "done-when.unchanged",
];

/// What must hold before a task is done. Whoever runs it reads it; here it is one of the keys beside the known ones.
const DONE_WHEN: &str = "done-when";

/// Its lists.
const CONDITIONS: &[&str] = &["commands", "changed", "unchanged"];

/// Parts that are text, whatever it looks like.
const TEXTS: &[&str] = &["name", "description", "prompt", "mutex"];

/// Parts without which there is no definition.
const REQUIRED: &[&str] = &["name", "description"];

/// Names of tools that nobody knows are fine: the host may have them.
const TOOLS: &[&str] = &["tools", "tools.allow", "tools.deny"];

/// One part of a definition, and what it shall be.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    part: &'static str,
    /// `None` takes away what is said.
    value: Option<Value>,
}

/// Why a definition cannot be changed like that.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AssignError {
    /// There is no `=`.
    #[error("`{text}` is not a change")]
    NoChange {
        /// What was said.
        text: String,
    },
    /// There is no such part.
    #[error("an agent has no `{key}`")]
    Unknown {
        /// What was said.
        key: String,
    },
    /// Nothing stands after the `=`.
    #[error("`{part}=` says nothing")]
    Empty {
        /// The part.
        part: &'static str,
    },
    /// An agent cannot be without it.
    #[error("an agent must have a {part}")]
    Required {
        /// The part.
        part: &'static str,
    },
    /// It cannot be that.
    #[error("`{part}` cannot be that: {}", reasons(findings))]
    Value {
        /// The part.
        part: &'static str,
        /// Why not.
        findings: Vec<Finding>,
    },
}

fn reasons(findings: &[Finding]) -> String {
    findings.iter().map(|it| it.message.as_str()).collect::<Vec<_>>().join("; ")
}

impl Explain for AssignError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Usage
    }

    fn code(&self) -> Option<Code> {
        Some(Code::BadAssignment)
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoChange { .. } => Some("a change is written `KEY=VALUE`".to_owned()),
            Self::Unknown { key } => {
                let mut near = nearest(key, PARTS.iter().copied());
                let last = |part: &&str| part.rsplit_once('.').is_some_and(|(_, it)| it == key);
                near.extend(PARTS.iter().copied().filter(last));
                Some(match near.is_empty() {
                    true => format!("it has {}", quoted_list(PARTS, "and")),
                    false => format!("did you mean {}?", quoted_list(&near, "or")),
                })
            }
            Self::Empty { part } if REQUIRED.contains(part) => None,
            Self::Empty { part } => Some(format!("`--unset {part}` takes it away")),
            Self::Required { .. } => None,
            Self::Value { findings, .. } => findings.iter().find_map(|it| it.hint.clone()),
        }
    }
}

impl Assignment {
    /// `KEY=VALUE`. Lists have commas between their items; JSON is understood where more is to be said.
    pub fn parse(text: &str) -> Result<Self, AssignError> {
        let Some((key, value)) = text.split_once('=') else {
            return Err(AssignError::NoChange { text: text.to_owned() });
        };
        Self::set(key.trim(), value.trim())
    }

    /// Makes a part what a text says.
    pub fn set(key: &str, text: &str) -> Result<Self, AssignError> {
        let part = part(key)?;
        if text.is_empty() {
            return Err(AssignError::Empty { part });
        }
        let as_text = || Value::String(text.to_owned());
        let value = match serde_json::from_str(text) {
            Ok(list @ Value::Array(_)) if condition(part).is_some() => list,
            // There are commas in commands and in patterns, so that a text is always one of them.
            _ if condition(part).is_some() => Value::Array(vec![as_text()]),
            Ok(value) if !TEXTS.contains(&part) => value,
            _ => as_text(),
        };
        Ok(Self { part, value: Some(value) })
    }

    /// Takes away what is said about a part.
    pub fn unset(key: &str) -> Result<Self, AssignError> {
        let part = part(key)?;
        match REQUIRED.contains(&part) {
            true => Err(AssignError::Required { part }),
            false => Ok(Self { part, value: None }),
        }
    }
}

/// The list of `done-when` that a part is.
fn condition(part: &str) -> Option<&str> {
    part.strip_prefix(DONE_WHEN)?.strip_prefix('.')
}

fn part(key: &str) -> Result<&'static str, AssignError> {
    let found = PARTS.iter().find(|part| **part == key);
    found.copied().ok_or_else(|| AssignError::Unknown { key: key.to_owned() })
}

/// Makes these changes, all or none of them. What is doubtful about a value is handed back.
pub fn assign(
    definition: &mut AgentDefinition,
    changes: &[Assignment],
) -> Result<Vec<Finding>, AssignError> {
    let mut new = definition.clone();
    let mut doubts = Vec::new();
    for Assignment { part, value } in changes {
        let said = match value {
            None => AgentDefinition::blank(definition.name.clone()),
            Some(Value::String(text)) if *part == "prompt" => AgentDefinition {
                prompt: text.clone(),
                ..AgentDefinition::blank(definition.name.clone())
            },
            Some(value) => {
                let (said, findings) = understood(part, value)?;
                doubts.extend(findings);
                said
            }
        };
        copy(part, said, &mut new);
    }
    settle(&mut new);
    *definition = new;
    Ok(doubts)
}

/// A text as the name of an agent.
pub fn name(text: &str) -> Result<AgentName, AssignError> {
    AgentName::new(text).ok_or_else(|| {
        let hint = format!("letters, digits, `-` and `_`, at most {MAX_NAME} of them");
        let findings = vec![Finding::error(format!("`{text}` is not a name")).hint(hint)];
        AssignError::Value { part: "name", findings }
    })
}

/// A definition in which only this is said.
fn understood(
    part: &'static str,
    value: &Value,
) -> Result<(AgentDefinition, Vec<Finding>), AssignError> {
    let wrong =
        |message: String| AssignError::Value { part, findings: vec![Finding::error(message)] };
    if part == "name" {
        name(value.as_str().unwrap_or_default())?;
    }
    if part == DONE_WHEN || condition(part).is_some() {
        check_conditions(part, value)?;
    }
    let mut said = Map::new();
    said.insert("name".to_owned(), "x".into());
    said.insert("description".to_owned(), "x".into());
    let path: Vec<String> = part.split('.').map(str::to_owned).collect();
    entries::insert(&mut said, &path, value.clone());
    let header = edit::write(Format::Yaml, &said).map_err(|error| wrong(error.to_string()))?;
    let (definition, findings) = parse(&Input {
        file: "x.md".into(),
        text: &format!("---\n{}\n---\n", header.trim_end()),
        dialect: Dialect::Ours,
        source: Source::Named,
        strictness: match TOOLS.contains(&part) {
            true => Strictness::Lenient,
            false => Strictness::Strict,
        },
    });
    // Where in our own text it stood is of no use to anybody.
    let findings = findings.into_iter().map(|it| Finding { place: None, ..it });
    let (errors, doubts): (Vec<_>, Vec<_>) =
        findings.partition(|it| it.severity == Severity::Error);
    match definition {
        Some(definition) if errors.is_empty() => Ok((definition, doubts)),
        _ => Err(AssignError::Value { part, findings: errors }),
    }
}

/// An error if whoever runs the agent could not read it.
fn check_conditions(part: &'static str, value: &Value) -> Result<(), AssignError> {
    let is_text = |it: &Value| it.as_str().is_some_and(|it| !it.trim().is_empty());
    let is_list = |it: &Value| it.as_array().is_some_and(|all| all.iter().all(is_text));
    let is_fine = match (condition(part), value) {
        (Some(_), list) => is_list(list),
        (None, Value::Object(lists)) => {
            lists.iter().all(|(key, list)| CONDITIONS.contains(&key.as_str()) && is_list(list))
        }
        (None, _) => false,
    };
    if is_fine {
        return Ok(());
    }
    let (message, hint) = match condition(part) {
        Some(_) => {
            (format!("`{part}` must be a list of texts"), "several are JSON: `[\"one\", \"two\"]`")
        }
        None => (
            format!("`{part}` must be lists of {}", quoted_list(CONDITIONS, "and")),
            "for example `done-when.commands=cargo test`",
        ),
    };
    Err(AssignError::Value { part, findings: vec![Finding::error(message).hint(hint)] })
}

/// One of the lists as the other definition has it, or all of them.
fn copy_conditions(list: Option<&str>, from: &AgentDefinition, to: &mut AgentDefinition) {
    let of = |it: &AgentDefinition| {
        it.extra.get(DONE_WHEN).and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let all = match list {
        None => of(from),
        Some(list) => {
            let mut all = of(to);
            match of(from).shift_remove(list) {
                Some(new) => all.insert(list.to_owned(), new),
                None => all.shift_remove(list),
            };
            all
        }
    };
    match all.is_empty() {
        true => to.extra.shift_remove(DONE_WHEN),
        false => to.extra.insert(DONE_WHEN.to_owned(), Value::Object(all)),
    };
}

fn copy(part: &str, from: AgentDefinition, to: &mut AgentDefinition) {
    match part {
        "name" => to.name = from.name,
        "description" => to.description = from.description,
        "prompt" => to.prompt = from.prompt,
        "tools" | "tools.allow" | "tools.deny" => {
            // The tool for it among them lets an agent start others.
            if from.spawns != Spawns::None {
                to.spawns = from.spawns;
            }
            match part {
                "tools" => to.tools = from.tools,
                // None at all are said by taking everything away.
                "tools.allow" if from.tools.is_nothing() => to.tools = from.tools,
                "tools.allow" => to.tools.allow = from.tools.allow,
                _ => to.tools.deny = from.tools.deny,
            }
        }
        "spawns" => to.spawns = from.spawns,
        "model" => to.model = from.model,
        "effort" => to.effort = from.effort,
        "permission-mode" => to.permission_mode = from.permission_mode,
        "waiting" => to.waiting = from.waiting,
        "isolation" => to.isolation = from.isolation,
        "limits.turns" => to.limits.turns = from.limits.turns,
        "limits.time" => to.limits.time = from.limits.time,
        "limits.tokens" => to.limits.tokens = from.limits.tokens,
        "limits.cost" => to.limits.cost = from.limits.cost,
        "limits.history" => to.limits.history = from.limits.history,
        "limits.grant" => to.limits.grant = from.limits.grant,
        "skills" => to.skills = from.skills,
        "skills.include" => to.skills.include = from.skills.include,
        "skills.exclude" => to.skills.exclude = from.skills.exclude,
        "mcp-servers" => to.mcp_servers = from.mcp_servers,
        "hooks" => to.hooks = from.hooks,
        "memory" => to.memory = from.memory,
        "secrets" => to.secrets = from.secrets,
        "priority" => to.choice.priority = from.choice.priority,
        "mutex" => to.choice.mutex = from.choice.mutex,
        "output" => to.output = from.output,
        DONE_WHEN => copy_conditions(None, &from, to),
        part if condition(part).is_some() => copy_conditions(condition(part), &from, to),
        // The table of parts has no others.
        _ => {}
    }
}

#[cfg(test)]
mod tests;
