//! As plain text.

use std::fmt::Write as _;

use agents_model::message::ToolStatus;
use agents_system::tame::{Styles, tame};

use super::{Item, Page, tokens};

impl Page {
    /// As plain text. Nothing in it is obeyed by a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (name, value) in self.facts() {
            let _ = writeln!(out, "{name:<13} {value}");
        }
        let lines = self.lines();
        if lines.len() > 1 {
            out.push_str("\ntree\n");
            for (depth, line) in lines {
                let _ = writeln!(out, "{:1$}{line}", "", 2 + depth * 2);
            }
        }
        for damage in &self.damage {
            let _ = writeln!(out, "\nwarning: {damage}");
        }
        for item in &self.items {
            item.write(&mut out);
        }
        tame(&out, Styles::Shown).into_owned()
    }
}

impl Item {
    /// As plain text, with the end of its last line. Nothing in it is obeyed by a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        tame(&out, Styles::Shown).into_owned()
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Turn { number, at, usage, cost } => {
                let cost = cost.map(|it| format!(", {it}")).unwrap_or_default();
                let _ = writeln!(out, "\n--- turn {number} ({at}, {}{cost})", tokens(usage));
            }
            Self::Told(text) => block(out, "> ", text),
            Self::Said(text) => block(out, "", text),
            Self::Thought(text) => block(out, "~ ", text),
            Self::Called { tool, input } => block(out, "", &format!("[{tool}] {input}")),
            Self::Answered { tool, content, status } => {
                let failed = if *status == ToolStatus::Failed { " failed" } else { "" };
                let _ = writeln!(out, "  [{tool}{failed}]");
                block(out, "  | ", content);
            }
            Self::Compacted(left_out) => {
                let _ = writeln!(out, "({left_out} earlier messages were left out from here on)");
            }
        }
    }
}

fn block(out: &mut String, before: &str, text: &str) {
    for line in text.trim_end().lines() {
        let _ = writeln!(out, "{before}{line}");
    }
}
