//! Names and inputs of our tools as Claude Code has them, and back: a guard that was written for `Write` and its `file_path` must
//! also see our `write` and its `path`.

use agents_agent::{
    definition::Dialect,
    tools::{ToolPattern, names},
};
use serde_json::{Map, Value};

/// Keys that differ, ours first, by tool. What is not listed is the same or has nothing like it there.
const KEYS: &[(&str, &str, &str)] = &[
    ("read", "path", "file_path"),
    ("write", "path", "file_path"),
    ("edit", "path", "file_path"),
    ("search", "ignore_case", "-i"),
    ("search", "context", "-C"),
    ("search", "limit", "head_limit"),
    ("task", "agent", "subagent_type"),
];

/// What Claude Code calls a tool.
pub(super) fn name(tool: &str) -> String {
    // Ours for both is the one word of the table.
    let (ours, _) = names::from_host(Dialect::Ours, tool);
    let pattern = ours.into_iter().next().unwrap_or_else(|| ToolPattern::new(tool));
    names::to_host(Dialect::Claude, &pattern).unwrap_or_else(|| tool.to_owned())
}

/// What Claude Code would have given it.
pub(super) fn input(tool: &str, input: &Value) -> Value {
    let mut renamed = rename(tool, input.clone(), |(_, ours, theirs)| (*ours, *theirs));
    if tool == "edit" {
        one_edit(&mut renamed);
    }
    renamed
}

/// What our tool is to be given. What it does not understand is an error of its own.
pub(super) fn input_back(tool: &str, input: Value) -> Value {
    let mut renamed = rename(tool, input, |(_, ours, theirs)| (*theirs, *ours));
    if let Some(object) = renamed.as_object_mut()
        && tool == "edit"
    {
        let keys = [("old_string", "old"), ("new_string", "new"), ("replace_all", "all")];
        let edit: Map<String, Value> = keys
            .into_iter()
            .filter_map(|(theirs, ours)| Some((ours.to_owned(), object.shift_remove(theirs)?)))
            .collect();
        if !edit.is_empty() {
            object.insert("edits".to_owned(), Value::Array(vec![Value::Object(edit)]));
        }
    }
    renamed
}

fn rename(
    tool: &str,
    mut input: Value,
    way: impl Fn(&'static (&'static str, &'static str, &'static str)) -> (&'static str, &'static str),
) -> Value {
    let Some(object) = input.as_object_mut() else { return input };
    for row in KEYS.iter().filter(|(of, ..)| *of == tool) {
        let (from, to) = way(row);
        if let Some(value) = object.shift_remove(from) {
            object.insert(to.to_owned(), value);
        }
    }
    input
}

/// A single replacement is what Claude Code's `Edit` is; several stay as they are, and `edits` can be looked at.
fn one_edit(input: &mut Value) {
    let Some(object) = input.as_object_mut() else { return };
    let Some([Value::Object(edit)]) =
        object.get("edits").and_then(Value::as_array).map(Vec::as_slice)
    else {
        return;
    };
    let edit = edit.clone();
    object.shift_remove("edits");
    for (ours, theirs) in [("old", "old_string"), ("new", "new_string"), ("all", "replace_all")] {
        if let Some(value) = edit.get(ours) {
            object.insert(theirs.to_owned(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_those_that_guards_are_written_for() {
        for (ours, theirs) in [
            ("bash", "Bash"),
            ("read", "Read"),
            ("write", "Write"),
            ("edit", "Edit"),
            ("search", "Grep"),
            ("find", "Glob"),
            ("web_fetch", "WebFetch"),
            ("web_search", "WebSearch"),
            ("task", "Agent"),
            ("mcp__github__list", "mcp__github__list"),
            ("outline", "outline"),
        ] {
            assert_eq!(name(ours), theirs);
        }
    }

    #[test]
    fn inputs_come_back_as_they_were() {
        for (tool, ours, theirs) in [
            ("bash", json!({"command": "ls"}), json!({"command": "ls"})),
            ("read", json!({"offset": 2, "path": "a"}), json!({"offset": 2, "file_path": "a"})),
            (
                "edit",
                json!({"path": "a", "edits": [{"old": "x", "new": "y", "all": true}]}),
                json!({"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true}),
            ),
            (
                "edit",
                json!({"path": "a", "edits": [{"old": "x", "new": "y"}, {"old": "z", "new": ""}]}),
                json!({"file_path": "a", "edits": [{"old": "x", "new": "y"}, {"old": "z", "new": ""}]}),
            ),
            ("find", Value::Null, Value::Null),
        ] {
            assert_eq!(input(tool, &ours), theirs, "{tool}");
            assert_eq!(input_back(tool, theirs), ours, "{tool}");
        }
    }
}
