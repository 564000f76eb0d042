//! A small MCP server over standard input and output.
//!
//! Its one tool answers with the value of `NOTES_TOKEN` and writes a line to the file that `--log` names. Neither can come
//! from anywhere else: an answer with the token proves that the host started this program with the arguments and
//! the environment of the plugin's manifest.

use std::io::{self, BufRead, Write};

use camino::Utf8PathBuf;
use serde_json::{Value, json};

use crate::sample::{SERVER, TOOL};

/// What it knows, and where it notes that somebody asked.
#[derive(Debug)]
pub struct Notes {
    /// A line is added to it for each call.
    pub log: Utf8PathBuf,
    /// What it answers.
    pub token: String,
}

impl Notes {
    /// Answers until nobody asks any more.
    ///
    /// # Errors
    /// Somebody went away in the middle, or the file cannot be written.
    pub fn serve(&self, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
        for line in input.split(b'\n') {
            let Ok(message) = serde_json::from_slice::<Value>(&line?) else { continue };
            // What has no id wants no answer.
            let Some(id) = message.get("id") else { continue };
            let mut answer = json!({"jsonrpc": "2.0", "id": id});
            match self.answer(&message)? {
                Ok(result) => answer["result"] = result,
                Err(error) => answer["error"] = error,
            }
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
        Ok(())
    }

    fn answer(&self, message: &Value) -> io::Result<Result<Value, Value>> {
        let params = &message["params"];
        Ok(match message["method"].as_str().unwrap_or_default() {
            "initialize" => Ok(json!({
                "protocolVersion": params["protocolVersion"].as_str().unwrap_or("2025-06-18"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": SERVER, "version": "1.0.0"},
            })),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({"tools": [{
                "name": TOOL,
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
