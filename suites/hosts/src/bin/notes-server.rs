//! A small MCP server over standard input and output, for the suite to register in real hosts.
//!
//! Its one tool, `look_up`, answers with the value of `NOTES_TOKEN` and writes a line to the file that
//! `--log` names. Neither can come from anywhere else: an answer with the token proves that the host
//! started this program with the arguments and the environment of the plugin's manifest.

use std::io::{BufRead as _, Write as _};

use agents_system::env;
use anyhow::Context as _;
use serde_json::{Value, json};

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip_while(|arg| arg != "--log");
    let log = args.nth(1).context("`--log <file>` is missing")?;
    let token = env::named_by_plugin("NOTES_TOKEN").context("`NOTES_TOKEN` is not set")?;
    let server = Server { log, token: token.to_string_lossy().into_owned() };
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        // What has no id wants no answer.
        let Some(id) = message.get("id") else { continue };
        let mut answer = json!({"jsonrpc": "2.0", "id": id});
        match server.answer(&message)? {
            Ok(result) => answer["result"] = result,
            Err(error) => answer["error"] = error,
        }
        writeln!(stdout, "{answer}")?;
        stdout.flush()?;
    }
    Ok(())
}

struct Server {
    log: String,
    token: String,
}

impl Server {
    fn answer(&self, message: &Value) -> anyhow::Result<Result<Value, Value>> {
        let params = &message["params"];
        Ok(match message["method"].as_str().unwrap_or_default() {
            "initialize" => Ok(json!({
                "protocolVersion": params["protocolVersion"].as_str().unwrap_or("2025-06-18"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "notes", "version": "1.0.0"},
            })),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({"tools": [{
                "name": "look_up",
                "description": "Looks up what is noted about a crate",
                "inputSchema": {
                    "type": "object",
                    "properties": {"krate": {"type": "string"}},
                    "required": ["krate"],
                },
            }]})),
            "tools/call" => {
                let krate = params["arguments"]["krate"].as_str().unwrap_or("nothing");
                let mut log =
                    fs_err::OpenOptions::new().create(true).append(true).open(&self.log)?;
                writeln!(log, "{krate}")?;
                let text = format!("the note about {krate} is {}", self.token);
                Ok(json!({"content": [{"type": "text", "text": text}], "isError": false}))
            }
            // Some hosts ask for things of a newer protocol first, and go on when they are unknown.
            _ => Err(json!({"code": -32601, "message": "method not found"})),
        })
    }
}
