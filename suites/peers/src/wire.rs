//! What hosts send before a tool is used, and what they take for a denial. By their own documentation, not by either program's idea of it.

use camino::Utf8Path;
use serde_json::{Value, json};

use crate::run::Run;

/// The hosts with hooks that both programs know.
pub(crate) const HOSTS: [&str; 5] = ["claude", "codex", "copilot", "kiro", "antigravity"];

/// The name of a host's shell, and what it sends before it is used.
pub(crate) fn before_tool(host: &str, workspace: &Utf8Path, command: &str) -> Value {
    let input = json!({ "command": command });
    match host {
        "copilot" => json!({
            "timestamp": 1_763_300_000_000_i64, "cwd": workspace, "toolName": "bash",
            "toolArgs": input.to_string(),
        }),
        "kiro" => json!({
            "hook_event_name": "preToolUse", "cwd": workspace, "session_id": "s1",
            "tool_name": "execute_bash", "tool_input": input,
        }),
        "antigravity" => json!({
            "conversationId": "s1", "workspacePaths": [workspace], "transcriptPath": "/tmp/t",
            "artifactDirectoryPath": "/tmp/a", "modelName": "m", "stepIdx": 3,
            "toolCall": { "name": "run_command", "args": { "CommandLine": command } },
        }),
        _ => json!({
            "hook_event_name": "PreToolUse", "session_id": "s1", "cwd": workspace,
            "transcript_path": "/tmp/t", "permission_mode": "default",
            "tool_name": "Bash", "tool_input": input, "tool_use_id": "t1",
        }),
    }
}

/// What Claude Code sends when a session begins.
pub(crate) fn session_start(workspace: &Utf8Path) -> Value {
    json!({
        "hook_event_name": "SessionStart", "session_id": "s1", "cwd": workspace,
        "transcript_path": "/tmp/t", "source": "startup",
    })
}

/// Why the host does not run the tool; nothing, if it does.
pub(crate) fn denial(host: &str, run: &Run) -> Option<String> {
    let answer: Value = serde_json::from_str(&run.stdout).unwrap_or(Value::Null);
    let said = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let specific = &answer["hookSpecificOutput"];
    let written = match host {
        "claude" | "codex" if specific["permissionDecision"] == "deny" => {
            Some(said(&specific["permissionDecisionReason"]))
        }
        "claude" | "codex" if answer["decision"] == "block" => Some(said(&answer["reason"])),
        "copilot" if answer["permissionDecision"] == "deny" => {
            Some(said(&answer["permissionDecisionReason"]))
        }
        "antigravity" if answer["decision"] == "deny" => Some(said(&answer["reason"])),
        _ => None,
    };
    // Antigravity is the one that does not look at the exit code.
    let by_code = || (run.code() == Some(2) && host != "antigravity").then(|| run.stderr.clone());
    written.or_else(by_code)
}

/// What the tool is given instead.
pub(crate) fn rewritten(host: &str, run: &Run) -> Option<Value> {
    let answer: Value = serde_json::from_str(&run.stdout).ok()?;
    let input = match host {
        "copilot" => &answer["modifiedArgs"],
        "antigravity" => &answer["overwrite"],
        _ => &answer["hookSpecificOutput"]["updatedInput"],
    };
    (!input.is_null()).then(|| input.clone())
}
