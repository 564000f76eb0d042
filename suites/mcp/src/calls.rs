//! What is called, and what must come of it.

use serde_json::{Value, json};

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    /// Whether it must fail: a tool that tells what is wrong works, too.
    fails: bool,
    /// What its text must have in it.
    says: &'static str,
}

/// Every tool at least once. No call needs what another one gave: the inspector starts anew for each.
pub(crate) fn all() -> Vec<Asked> {
    let asked = |tool, arguments, fails, says| Asked { tool, arguments, fails, says };
    vec![
        asked("task", json!({"tasks": [{"agent": "helper", "prompt": "x"}]}), false, "Done."),
        asked("task_status", json!({}), false, "tasks"),
        asked("task_output", json!({"id": "nothing"}), true, "there is no task `nothing`"),
        asked("task_cancel", json!({"ids": ["nothing"]}), true, "is not a task of this connection"),
        asked("agents", json!({"query": "helper"}), false, "helps"),
        asked("skills", json!({"query": "SQL"}), false, "queries"),
        asked("skills", json!({"load": "queries"}), false, "Bind values."),
        asked("crate_info", json!({"name": "tiny-sql"}), false, "0.3.1"),
        asked("commands", json!({}), false, "crate-info"),
        asked("list_tools", json!({"servers": ["again"]}), false, "// server again"),
        asked("call_tool", json!({"server": "again", "tool": "agents"}), false, "helps"),
        asked(
            "execute",
            json!({"script": "const it = await tools.again.agents({ query: 'helper' }); return it.agents[0].description"}),
            false,
            "helps",
        ),
        asked("execute", json!({"script": "return process.env"}), true, "process is not defined"),
    ]
}

impl Asked {
    /// The tool, for the table.
    pub(crate) fn named(&self) -> String {
        format!("`{}`", self.tool)
    }

    /// The arguments, for the table.
    pub(crate) fn given(&self) -> String {
        format!("`{}`", self.arguments)
    }

    /// What must come of it, for the table.
    pub(crate) fn outcome(&self) -> String {
        let verb = if self.fails { "fail with" } else { "say" };
        format!("{verb} \"{}\"", self.says)
    }

    /// What is wrong with an answer.
    pub(crate) fn wrong(&self, answer: &Value) -> Option<String> {
        let has_failed = answer["isError"] == true;
        let text = answer["content"][0]["text"].as_str().unwrap_or_default();
        let is_structured = answer["structuredContent"].is_object() || has_failed;
        let is_right = has_failed == self.fails && text.contains(self.says) && is_structured;
        (!is_right).then(|| answer.to_string())
    }
}
