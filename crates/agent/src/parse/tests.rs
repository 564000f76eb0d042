use std::time::Duration;

use serde_json::json;

use super::*;
use crate::definition::{
    Effort, Isolation, McpServerUse, MemoryScope, PermissionMode, SchemaLanguage, Spawns, Waiting,
};

fn input<'t>(dialect: Dialect, file: &'t str, text: &'t str) -> Input<'t> {
    let (source, strictness) = (Source::Project, Strictness::Lenient);
    Input { file: file.into(), text, dialect, source, strictness }
}

/// The definition, and the findings as `line:column message`.
fn read(dialect: Dialect, text: &str) -> (Option<AgentDefinition>, Vec<String>) {
    let file = dialect.file_name("x");
    let (definition, findings) = parse(&input(dialect, &file, text));
    let shown = findings.iter().map(|finding| {
        let spot = finding.place.as_ref().unwrap().spot.as_ref();
        let place = spot.map_or_else(|| "-".to_owned(), |it| format!("{}:{}", it.line, it.column));
        format!("{place} {}", finding.message)
    });
    (definition, shown.collect())
}

#[track_caller]
fn good(dialect: Dialect, text: &str) -> AgentDefinition {
    let (definition, findings) = read(dialect, text);
    assert_eq!(findings, [""; 0], "{dialect}\n{text}");
    definition.unwrap()
}

/// A definition that loads with these findings.
#[track_caller]
fn warned(dialect: Dialect, text: &str, expected: &[&str]) -> AgentDefinition {
    let (definition, findings) = read(dialect, text);
    assert_eq!(findings, expected, "{dialect}\n{text}");
    definition.unwrap()
}

#[track_caller]
fn refused(dialect: Dialect, text: &str, expected: &[&str]) {
    let (definition, findings) = read(dialect, text);
    assert_eq!(findings, expected, "{dialect}\n{text}");
    assert_eq!(definition, None, "{dialect}\n{text}");
}

/// A file with these lines in its header.
fn with(lines: &str) -> String {
    format!("---\nname: x\ndescription: d\n{lines}\n---\nBody\n")
}

/// `allow - deny`.
fn tools(definition: &AgentDefinition) -> String {
    let list = |patterns: &[crate::tools::ToolPattern]| {
        patterns.iter().map(|it| it.as_str().to_owned()).collect::<Vec<_>>().join(" ")
    };
    let tools = &definition.tools;
    let allow = tools.allow.as_deref().map_or("all".to_owned(), list);
    if tools.deny.is_empty() { allow } else { format!("{allow} - {}", list(&tools.deny)) }
}

mod dialects;
mod headers;
mod tool_lists;
