//! Names, and what servers say about their tools.

use std::{collections::BTreeSet, fmt};

use agents_system::finding::Finding;
use serde_json::{Map, Value, json};

use super::Described;

/// The most tools that one server may have.
const MAX_TOOLS: usize = 256;
/// Longer descriptions are cut.
const MAX_DESCRIPTION: usize = 4 * 1024;
/// Larger schemas are replaced.
const MAX_SCHEMA: usize = 64 * 1024;
/// No model takes longer names.
const MAX_NAME: usize = 64;

/// What a server is called: letters, digits, `-` and single `_`, so that `mcp__server__tool` can be taken apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(String);

/// A name that no server can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot be the name of an MCP server: it must be 1 to 32 letters, digits, `-` and single `_`"
)]
pub struct BadServerName(String);

impl ServerName {
    /// Reads one.
    pub fn parse(text: &str) -> Result<Self, BadServerName> {
        let is_fine = (1..=32).contains(&text.len())
            && text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-' || it == b'_')
            && !text.contains("__")
            && !text.starts_with('_')
            && !text.ends_with('_');
        if is_fine { Ok(Self(text.to_owned())) } else { Err(BadServerName(text.to_owned())) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The tools under the names that models use, and what is wrong with the others.
pub(super) fn describe(
    server: &ServerName,
    listed: Vec<Value>,
) -> (Vec<(String, Described)>, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut taken = BTreeSet::new();
    let mut tools = Vec::new();
    if listed.len() > MAX_TOOLS {
        findings.push(Finding::warning(format!(
            "the MCP server `{server}` has {} tools: only the first {MAX_TOOLS} are offered",
            listed.len()
        )));
    }
    for tool in listed.into_iter().take(MAX_TOOLS) {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let shown = shown(server, &name);
        if name.is_empty() || !taken.insert(shown.clone()) {
            let which = if name.is_empty() {
                "a tool without a name".to_owned()
            } else {
                format!("a second tool `{}`", first(&name, MAX_NAME))
            };
            let message = format!("the MCP server `{server}` has {which}: it is left out");
            findings.push(Finding::warning(message));
            continue;
        }
        let description = tool.get("description").and_then(Value::as_str).unwrap_or_default();
        let (schema, wrong) = schema(tool.get("inputSchema"));
        if let Some(wrong) = wrong {
            findings.push(Finding::warning(format!(
                "the schema of `{shown}` is none ({wrong}): the tool is offered with any input"
            )));
        }
        let description = plain(first(description, MAX_DESCRIPTION));
        tools.push((shown, Described { name, description, schema: schema.into() }));
    }
    (tools, findings)
}

/// `mcp__server__tool` with characters that models may use, and not too many.
fn shown(server: &ServerName, tool: &str) -> String {
    let fine = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    let mut name: String =
        format!("mcp__{server}__").chars().chain(tool.chars().map(fine)).collect();
    name.truncate(MAX_NAME);
    name
}

fn first(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Without what could change how a terminal shows it, or hide from whoever reads it.
fn plain(text: &str) -> String {
    let is_odd = |c: char| {
        c.is_control() && c != '\n' && c != '\t'
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().filter(|c| !is_odd(*c)).collect()
}

/// A schema that models can be shown, and what was wrong if it had to be replaced.
fn schema(given: Option<&Value>) -> (Value, Option<&'static str>) {
    let wrong = match given {
        None => Some("there is none"),
        Some(Value::Object(object)) => problem(object),
        Some(_) => Some("it is not an object"),
    };
    match (given, wrong) {
        (Some(schema), None) => {
            let mut schema = schema.clone();
            schema["type"] = json!("object");
            (schema, None)
        }
        (_, wrong) => (json!({"type": "object"}), wrong),
    }
}

fn problem(schema: &Map<String, Value>) -> Option<&'static str> {
    let is_text = |it: &Value| it.is_string();
    if schema.get("type").is_some_and(|it| it != "object") {
        Some("its `type` is not `object`")
    } else if schema.get("properties").is_some_and(|it| !are_schemas(it)) {
        Some("its `properties` are no schemas")
    } else if schema
        .get("required")
        .is_some_and(|it| !it.as_array().is_some_and(|it| it.iter().all(is_text)))
    {
        Some("its `required` is not a list of names")
    } else if Value::Object(schema.clone()).to_string().len() > MAX_SCHEMA {
        Some("it is too large")
    } else {
        None
    }
}

fn are_schemas(properties: &Value) -> bool {
    let is_schema = |it: &Value| it.is_object() || it.is_boolean();
    properties.as_object().is_some_and(|it| it.values().all(is_schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_taken_apart() {
        for (text, fine) in [
            ("github", true),
            ("my-server_2", true),
            ("a__b", false),
            ("", false),
            ("a.b", false),
            ("_a", false),
        ] {
            assert_eq!(ServerName::parse(text).is_ok(), fine, "{text}");
        }
        let server = ServerName::parse("docs").unwrap();
        assert_eq!(shown(&server, "find.by name"), "mcp__docs__find_by_name");
        assert_eq!(shown(&server, &"x".repeat(100)).len(), MAX_NAME);
    }

    #[test]
    fn what_is_no_schema_is_replaced() {
        let fine = json!({"properties": {"a": {"type": "string"}, "b": true}, "required": ["a"]});
        let (schema, wrong) = super::schema(Some(&fine));
        assert_eq!((schema["type"].as_str(), wrong), (Some("object"), None));
        let large = json!({"description": "x".repeat(MAX_SCHEMA)});
        for given in [
            json!("text"),
            json!({"type": "array"}),
            json!({"properties": []}),
            json!({"properties": {"a": "string"}}),
            json!({"required": "a"}),
            large,
        ] {
            let (schema, wrong) = super::schema(Some(&given));
            assert_eq!(schema, json!({"type": "object"}), "{given}");
            assert!(wrong.is_some(), "{given}");
        }
    }

    #[test]
    fn tools_are_told_apart_and_bounded() {
        let server = ServerName::parse("s").unwrap();
        let mut listed =
            vec![json!({"name": "a b"}), json!({"name": "a_b"}), json!({"title": "x"})];
        listed.extend((0..300).map(|it| json!({"name": it.to_string(), "inputSchema": {}, "description": "a\u{1b}[2J\u{202e}b"})));
        let (tools, findings) = describe(&server, listed);
        assert_eq!(tools.len(), MAX_TOOLS - 2);
        assert_eq!(tools[0].1.name, "a b");
        assert_eq!(tools[1].1.description, "a[2Jb");
        assert_eq!(findings.len(), 4, "{findings:?}");
    }
}
