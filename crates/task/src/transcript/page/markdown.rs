//! As Markdown.

use std::fmt::Write as _;

use agents_model::message::ToolStatus;

use super::{Item, Page, tokens};

impl Page {
    /// As Markdown. What was said stands in fences, so that nothing in it becomes part of the page.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut out = format!("# Task {}\n\n", self.meta.id.short());
        for (name, value) in self.facts() {
            let _ = writeln!(out, "- **{name}**: {}", code(&value));
        }
        let lines = self.lines();
        if lines.len() > 1 {
            out.push_str("\n## Tree\n\n");
            for (depth, line) in lines {
                let _ = writeln!(out, "{:1$}- {2}", "", depth * 2, code(&line));
            }
        }
        for damage in &self.damage {
            let _ = writeln!(out, "\n> **Warning:** {}", code(damage));
        }
        if let Some(begin) = &self.begin {
            let _ = write!(out, "\n## Instructions\n\n{}", fence(&begin.system));
        }
        for item in &self.items {
            match item {
                Item::Turn { number, at, usage, cost } => {
                    let cost = cost.map(|it| format!(", {it}")).unwrap_or_default();
                    let _ = writeln!(out, "\n## Turn {number}\n\n{at}, {}{cost}", tokens(usage));
                }
                Item::Told(text) => section(&mut out, "Told", text),
                Item::Said(text) => section(&mut out, "Said", text),
                Item::Thought(text) => section(&mut out, "Thought", text),
                Item::Called { tool, input } => {
                    section(&mut out, &format!("Calls {}", code(tool)), input);
                }
                Item::Answered { tool, content, status } => {
                    let how = if *status == ToolStatus::Failed { "failed" } else { "answered" };
                    section(&mut out, &format!("{} {how}", code(tool)), content);
                }
                Item::Compacted(left_out) => {
                    let _ = writeln!(
                        out,
                        "\n*{left_out} earlier messages were left out from here on.*"
                    );
                }
            }
        }
        out
    }
}

fn section(out: &mut String, what: &str, text: &str) {
    let _ = write!(out, "\n**{what}**\n\n{}", fence(text));
}

/// The longest run of backticks in a text.
fn ticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// A text that nothing in it can end.
fn fence(text: &str) -> String {
    let fence = "`".repeat((ticks(text) + 1).max(3));
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}

/// The same in a line.
fn code(text: &str) -> String {
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let fence = "`".repeat(ticks(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}
