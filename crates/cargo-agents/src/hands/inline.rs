//! MCP servers that a definition describes itself, in the form that most hosts have: `command`, `args` and `env`, or `url` and
//! `headers`. Only definitions that the user wrote or trusts may: others lose them when they are read.

use agents_tool::mcp::{Reach, ServerName, ServerSettings};
use secrecy::SecretString;
use serde_json::Value;

/// The server of an entry, or what is wrong with that.
pub(super) fn server(name: &str, entry: &Value) -> Result<ServerSettings, String> {
    let name = ServerName::parse(name).map_err(|error| error.to_string())?;
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let reach = match (text("command"), text("url"), text("type")) {
        (_, _, Some("sse")) => {
            return Err(format!("`{name}` speaks `sse`, and our agents only speak `http`"));
        }
        (Some(command), None, _) => Reach::Program {
            program: command.to_owned(),
            args: texts(entry.get("args"))
                .ok_or_else(|| format!("`args` of `{name}` is not a list of texts"))?,
            env: pairs(entry.get("env"))
                .ok_or_else(|| format!("`env` of `{name}` is not a table of texts"))?,
            cwd: None,
        },
        (None, Some(url), _) => Reach::Address {
            url: url.to_owned(),
            headers: pairs(entry.get("headers"))
                .ok_or_else(|| format!("`headers` of `{name}` is not a table of texts"))?,
        },
        _ => return Err(format!("`{name}` says neither `command` nor `url`, or both")),
    };
    Ok(ServerSettings { name, reach, start: None, call: None })
}

fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    let Some(value) = value else { return Some(Vec::new()) };
    value.as_array()?.iter().map(|it| it.as_str().map(str::to_owned)).collect()
}

fn pairs(value: Option<&Value>) -> Option<Vec<(String, SecretString)>> {
    let Some(value) = value else { return Some(Vec::new()) };
    let pairs = value.as_object()?.iter();
    pairs.map(|(name, value)| Some((name.clone(), value.as_str()?.into()))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_is_a_program_or_an_address() {
        let it = server("a", &json!({"command": "x", "args": ["y"], "env": {"K": "v"}})).unwrap();
        let Reach::Program { program, args, env, .. } = it.reach else { panic!() };
        assert_eq!((program.as_str(), args.len(), env.len()), ("x", 1, 1));
        let it = server("a", &json!({"type": "http", "url": "https://x.example"})).unwrap();
        assert!(matches!(it.reach, Reach::Address { .. }));
        for (name, entry) in [
            ("a", json!({})),
            ("a", json!("x")),
            ("a", json!({"command": "x", "url": "y"})),
            ("a", json!({"command": "x", "args": "y"})),
            ("a", json!({"command": "x", "env": {"K": 1}})),
            ("a", json!({"type": "sse", "url": "https://x.example"})),
            ("a__b", json!({"command": "x"})),
        ] {
            assert!(server(name, &entry).is_err(), "{name} {entry}");
        }
    }
}
