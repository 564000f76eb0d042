//! As HTML.

use std::fmt::Write as _;

use agents_model::message::ToolStatus;

use super::{Item, Page, tokens};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c1e21;background:#fff}\
    h1{font-size:1.3rem}h2{font-size:1.05rem;border-top:1px solid #d5d8dc;padding-top:.8rem;margin-top:1.6rem}\
    dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}dt{color:#5b6168}dd{margin:0;overflow-wrap:anywhere}\
    pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f5f6f7;padding:.6rem .8rem;border-radius:4px;margin:.3rem 0}\
    .failed{border-left:3px solid #b3261e}.warning{color:#b3261e}.told{color:#5b6168}\
    @media(prefers-color-scheme:dark){body{color:#e4e6e9;background:#17191c}pre{background:#22262a}h2{border-color:#3a3f45}dt,.told{color:#9aa1a9}}";

impl Page {
    /// As one page of HTML that needs nothing else: no script, no font, no picture. Everything that was said is escaped, and the page
    /// forbids its browser to load or run anything.
    #[must_use]
    pub fn html(&self) -> String {
        let title = format!("Task {}", self.meta.id.short());
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
             <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style></head><body>\n\
             <h1>{title}</h1>\n<dl>\n"
        );
        for (name, value) in self.facts() {
            let _ = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escape(&value));
        }
        out.push_str("</dl>\n");
        let lines = self.lines();
        if lines.len() > 1 {
            out.push_str("<h2>Tree</h2>\n");
            for (depth, line) in lines {
                let _ = writeln!(out, "<p style=\"margin:0 0 0 {depth}rem\">{}</p>", escape(&line));
            }
        }
        for damage in &self.damage {
            let _ = writeln!(out, "<p class=\"warning\">{}</p>", escape(damage));
        }
        if let Some(begin) = &self.begin {
            let system = escape(&begin.system);
            let _ = writeln!(
                out,
                "<details><summary>Instructions</summary><pre>{system}</pre></details>"
            );
        }
        for item in &self.items {
            self::item(&mut out, item);
        }
        out.push_str("</body></html>\n");
        out
    }
}

fn item(out: &mut String, item: &Item) {
    let mut pre = |class: &str, text: &str| {
        let _ = writeln!(out, "<pre class=\"{class}\">{}</pre>", escape(text.trim_end()));
    };
    match item {
        Item::Told(text) => pre("told", text),
        Item::Said(text) => pre("said", text),
        Item::Turn { number, at, usage, cost } => {
            let cost = cost.map(|it| format!(", {it}")).unwrap_or_default();
            let _ = writeln!(
                out,
                "<h2>Turn {number}</h2>\n<p class=\"told\">{at}, {}{cost}</p>",
                tokens(usage)
            );
        }
        Item::Thought(text) => {
            let text = escape(text.trim_end());
            let _ = writeln!(out, "<details><summary>Thought</summary><pre>{text}</pre></details>");
        }
        Item::Called { tool, input } => {
            let (tool, input) = (escape(tool), escape(input));
            let _ = writeln!(out, "<p>Calls <b>{tool}</b></p><pre>{input}</pre>");
        }
        Item::Answered { tool, content, status } => {
            let class = if *status == ToolStatus::Failed { "failed" } else { "answered" };
            let (tool, content) = (escape(tool), escape(content.trim_end()));
            let _ = writeln!(
                out,
                "<details><summary><b>{tool}</b> {class}</summary><pre class=\"{class}\">{content}</pre></details>"
            );
        }
        Item::Compacted(left_out) => {
            let _ = writeln!(
                out,
                "<p class=\"told\">{left_out} earlier messages were left out from here on.</p>"
            );
        }
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // What no page may hold.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
