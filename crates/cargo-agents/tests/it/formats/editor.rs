//! An editor that speaks to `cargo agents acp`.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdout, Command, Stdio},
};

use camino::Utf8Path;
use serde_json::{Value, json};

/// One that has introduced itself.
pub(super) struct Editor {
    child: Child,
    lines: BufReader<ChildStdout>,
    asked: u64,
}

impl Editor {
    pub(super) fn of(mut command: Command) -> Self {
        command.args(["acp", "--agent", "counter"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut editor = Self { child, lines, asked: 0 };
        editor.ask("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }));
        editor
    }

    /// The answer to a request, and what was told before it came.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> (Value, Vec<Value>) {
        self.asked += 1;
        let request =
            json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params });
        writeln!(self.child.stdin.as_mut().unwrap(), "{request}").unwrap();
        let mut told = Vec::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.lines.read_line(&mut line).unwrap(), 0, "no answer to {request}");
            let said: Value = serde_json::from_str(&line).unwrap();
            if said["id"] == self.asked {
                assert!(said["error"].is_null(), "{request}: {said}");
                return (said["result"].clone(), told);
            }
            told.push(said);
        }
    }

    /// A session in a directory, in which this is said.
    pub(super) fn says(&mut self, cwd: &Utf8Path, text: &str) {
        let (session, _) = self.ask("session/new", &json!({ "cwd": cwd, "mcpServers": [] }));
        let prompt = json!([{ "type": "text", "text": text }]);
        self.ask("session/prompt", &json!({ "sessionId": session["sessionId"], "prompt": prompt }));
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
