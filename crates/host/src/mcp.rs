//! What the entry of an MCP server looks like, host by host.
//!
//! Every function here is pure: a [`McpServer`] in, a JSON value out. The value is also what is written
//! into TOML and YAML files; only tables, lists, strings, numbers and truth values occur.

use agents_plugin::manifest::{McpServer, McpTransport};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::host::Transport;

/// What an entry looks like, named after the host that came with it first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum McpShape {
    /// `command`, `args`, `env`; `type`, `url`, `headers`.
    Claude,
    /// `command`, `args`, `env`; `url`, `http_headers`.
    Codex,
    /// Like Claude, with a `type` always and the list of `tools`.
    Copilot,
    /// `httpUrl` for streamable HTTP, `url` for server-sent events.
    Gemini,
    /// `serverUrl` for everything remote.
    Antigravity,
    /// `command`, `args`, `env`; `url`, `headers`; no `type`.
    Plain,
    /// `type` local or remote, the command as one list, `environment`.
    Opencode,
    /// `cmd`, `args`, `envs`; `uri`.
    Goose,
    /// Like Claude, with a `type` always.
    Typed,
}

impl McpShape {
    /// All of them, as descriptors write them.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("claude", Self::Claude),
        ("codex", Self::Codex),
        ("copilot", Self::Copilot),
        ("gemini", Self::Gemini),
        ("antigravity", Self::Antigravity),
        ("plain", Self::Plain),
        ("opencode", Self::Opencode),
        ("goose", Self::Goose),
        ("typed", Self::Typed),
    ];
}

/// The host has no way to reach such a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("MCP server `{server}` uses `{transport}`, which the host cannot")]
pub struct Unsupported {
    /// The server.
    pub server: String,
    /// How it wants to be reached.
    pub transport: Transport,
}

/// How long Goose waits for a server, in seconds; it wants to be told.
const GOOSE_TIMEOUT: u32 = 300;

/// The entry of a server.
pub fn entry(shape: McpShape, server: &McpServer) -> Result<Value, Unsupported> {
    let transport = Transport::of(&server.transport);
    let sse = transport == Transport::Sse;
    if sse && matches!(shape, McpShape::Codex | McpShape::Goose) {
        return Err(Unsupported { server: server.name.clone(), transport });
    }
    let fields = match &server.transport {
        McpTransport::Stdio { command, args, env } => {
            stdio(shape, &server.name, command, args, env)
        }
        McpTransport::Remote { url, headers, .. } => {
            remote(shape, &server.name, transport, url, headers)
        }
    };
    Ok(Value::Object(fields))
}

fn stdio(
    shape: McpShape,
    name: &str,
    command: &str,
    args: &[String],
    env: &[(String, String)],
) -> Map<String, Value> {
    let mut entry = Map::new();
    match shape {
        McpShape::Opencode => {
            let words: Vec<&str> =
                std::iter::once(command).chain(args.iter().map(String::as_str)).collect();
            put(&mut entry, "type", "local");
            put(&mut entry, "command", words);
            put_pairs(&mut entry, "environment", env);
            put(&mut entry, "enabled", true);
        }
        McpShape::Goose => {
            put(&mut entry, "name", name);
            put(&mut entry, "type", "stdio");
            put(&mut entry, "cmd", command);
            put(&mut entry, "args", args);
            put_pairs(&mut entry, "envs", env);
            put(&mut entry, "enabled", true);
            put(&mut entry, "timeout", GOOSE_TIMEOUT);
        }
        _ => {
            match shape {
                McpShape::Copilot => put(&mut entry, "type", "local"),
                McpShape::Typed => put(&mut entry, "type", "stdio"),
                _ => {}
            }
            put(&mut entry, "command", command);
            put(&mut entry, "args", args);
            put_pairs(&mut entry, "env", env);
            if shape == McpShape::Copilot {
                put(&mut entry, "tools", ["*"]);
            }
        }
    }
    entry
}

fn remote(
    shape: McpShape,
    name: &str,
    transport: Transport,
    url: &str,
    headers: &[(String, String)],
) -> Map<String, Value> {
    let mut entry = Map::new();
    match shape {
        McpShape::Claude | McpShape::Typed | McpShape::Copilot => {
            put(&mut entry, "type", transport.word());
            put(&mut entry, "url", url);
            put_pairs(&mut entry, "headers", headers);
            if shape == McpShape::Copilot {
                put(&mut entry, "tools", ["*"]);
            }
        }
        McpShape::Codex => {
            put(&mut entry, "url", url);
            put_pairs(&mut entry, "http_headers", headers);
        }
        McpShape::Gemini => {
            let key = if transport == Transport::Http { "httpUrl" } else { "url" };
            put(&mut entry, key, url);
            put_pairs(&mut entry, "headers", headers);
        }
        McpShape::Antigravity => {
            put(&mut entry, "serverUrl", url);
            put_pairs(&mut entry, "headers", headers);
        }
        McpShape::Plain => {
            put(&mut entry, "url", url);
            put_pairs(&mut entry, "headers", headers);
        }
        McpShape::Opencode => {
            put(&mut entry, "type", "remote");
            put(&mut entry, "url", url);
            put_pairs(&mut entry, "headers", headers);
            put(&mut entry, "enabled", true);
        }
        McpShape::Goose => {
            put(&mut entry, "name", name);
            put(&mut entry, "type", "streamable_http");
            put(&mut entry, "uri", url);
            put_pairs(&mut entry, "headers", headers);
            put(&mut entry, "enabled", true);
            put(&mut entry, "timeout", GOOSE_TIMEOUT);
        }
    }
    entry
}

fn put(entry: &mut Map<String, Value>, key: &str, value: impl Serialize) {
    entry.insert(key.to_owned(), json!(value));
}

/// As an object, left out when there is nothing in it. The last of two equal names wins.
fn put_pairs(entry: &mut Map<String, Value>, key: &str, pairs: &[(String, String)]) {
    if !pairs.is_empty() {
        let object: Map<String, Value> =
            pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        entry.insert(key.to_owned(), Value::Object(object));
    }
}

#[cfg(test)]
mod tests;
