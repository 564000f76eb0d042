//! `outline`: what a file holds, without reading all of it.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use schemars::JsonSchema;
use serde::Deserialize;
use tree_sitter::{Language, Node, ParseOptions, ParseState, Parser};

use super::about;
use crate::{
    context::CallContext,
    policy::Effects,
    tool::{Intent, Output, ToolError, Typed},
};

/// Larger files are written by programs, for programs.
const MAX_FILE: u64 = 4 * 1024 * 1024;
/// Whatever takes longer to parse is not what its name says.
const MAX_TIME: Duration = Duration::from_secs(5);
/// What is nested deeper is not shown.
const MAX_DEPTH: usize = 16;
/// Longer lines are cut.
const MAX_LINE: usize = 200;

/// Shows what a file holds.
#[derive(Debug, Clone, Copy)]
pub struct Outline;

/// The file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutlineInput {
    /// The file, relative to the working directory or absolute: `.rs`, `.py`, `.md` or `.toml`.
    pub path: String,
}

impl Typed for Outline {
    type Input = OutlineInput;

    const NAME: &'static str = "outline";
    const DESCRIPTION: &'static str = "Lists what a file holds with line numbers: items of Rust and Python, headings of Markdown, tables of TOML. \
        Shorter than reading it; `read` with `offset` and `limit` then shows a part.";

    fn intent(&self, input: &OutlineInput, context: &CallContext) -> Result<Intent, ToolError> {
        about(&input.path, Effects::READS, context)
    }

    async fn run(&self, input: OutlineInput, context: &CallContext) -> Result<Output, ToolError> {
        context
            .blocking(move |context| {
                let place = context.area.locate(&input.path)?;
                let shown = context.area.shown(&place);
                let kind = Kind::of(shown.extension().unwrap_or_default()).ok_or_else(|| {
                    ToolError::hinted(
                        format!("there is no outline of `{shown}`: only of `.rs`, `.py`, `.md` and `.toml`"),
                        "read it, or search in it",
                    )
                })?;
                let bytes = context.area.read(&place, MAX_FILE)?;
                let text = String::from_utf8_lossy(&bytes);
                let lines = outline(kind, &text, context)?;
                if lines.is_empty() {
                    return Ok(Output::said("it holds nothing that an outline would show"));
                }
                Ok(Output::data(lines))
            })
            .await
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rust,
    Python,
    Markdown,
    Toml,
}

impl Kind {
    fn of(extension: &str) -> Option<Self> {
        match extension {
            "rs" => Some(Self::Rust),
            "py" | "pyi" => Some(Self::Python),
            "md" | "markdown" => Some(Self::Markdown),
            "toml" => Some(Self::Toml),
            _ => None,
        }
    }
}

fn outline(kind: Kind, text: &str, context: &CallContext) -> Result<String, ToolError> {
    match kind {
        Kind::Rust => parsed(&tree_sitter_rust::LANGUAGE.into(), rust, text, context),
        Kind::Python => parsed(&tree_sitter_python::LANGUAGE.into(), python, text, context),
        Kind::Markdown => Ok(markdown(text)),
        Kind::Toml => Ok(toml(text)),
    }
}

/// What becomes of a node of a syntax tree.
enum Seen<'t> {
    /// It is shown, up to the end of its head; what is in it is looked at if there is a body for that.
    Item { head: usize, body: Option<Node<'t>> },
    /// Only what is in it is looked at.
    Around,
    /// Nothing.
    Nothing,
}

fn parsed(
    language: &Language,
    look: for<'t> fn(Node<'t>) -> Seen<'t>,
    text: &str,
    context: &CallContext,
) -> Result<String, ToolError> {
    let mut parser = Parser::new();
    let broken = |_| ToolError::failed("the grammar cannot be used: this is a bug");
    parser.set_language(language).map_err(broken)?;
    let since = Instant::now();
    let mut progress = |_: &ParseState| since.elapsed() > MAX_TIME || context.check().is_err();
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = text.as_bytes();
    let mut read = |at: usize, _| bytes.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    context.check()?;
    let tree = tree.ok_or_else(|| ToolError::failed("it takes too long to parse"))?;
    let mut out = String::new();
    walk(tree.root_node(), look, text, 0, &mut out);
    Ok(out)
}

fn walk(
    node: Node<'_>,
    look: for<'t> fn(Node<'t>) -> Seen<'t>,
    text: &str,
    depth: usize,
    out: &mut String,
) {
    if depth > MAX_DEPTH {
        return;
    }
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor) {
        match look(child) {
            Seen::Item { head, body } => {
                let head = text.get(child.start_byte()..head).unwrap_or_default();
                line(out, child.start_position().row + 1, depth, head);
                if let Some(body) = body {
                    walk(body, look, text, depth + 1, out);
                }
            }
            Seen::Around => walk(child, look, text, depth, out),
            Seen::Nothing => {}
        }
    }
}

fn rust(node: Node<'_>) -> Seen<'_> {
    let body = node.child_by_field_name("body");
    let before = |field: &str| {
        let part = node.child_by_field_name(field);
        part.map_or(node.end_byte(), |it| it.start_byte())
    };
    match node.kind() {
        "function_item" | "struct_item" | "enum_item" | "union_item" => {
            Seen::Item { head: before("body"), body: None }
        }
        "impl_item" | "trait_item" | "mod_item" | "foreign_mod_item" => {
            Seen::Item { head: before("body"), body }
        }
        "const_item" | "static_item" => Seen::Item { head: before("value"), body: None },
        "type_item" => Seen::Item { head: before("type"), body: None },
        "function_signature_item" | "associated_type" => {
            Seen::Item { head: node.end_byte(), body: None }
        }
        "macro_definition" => {
            let name = node.child_by_field_name("name");
            Seen::Item { head: name.map_or(node.end_byte(), |it| it.end_byte()), body: None }
        }
        // A mistake somewhere does not hide what is around it.
        "ERROR" => Seen::Around,
        _ => Seen::Nothing,
    }
}

fn python(node: Node<'_>) -> Seen<'_> {
    let body = node.child_by_field_name("body");
    let head = body.map_or(node.end_byte(), |it| it.start_byte());
    match node.kind() {
        "class_definition" => Seen::Item { head, body },
        "function_definition" => Seen::Item { head, body: None },
        "decorated_definition" | "if_statement" | "try_statement" | "block" | "ERROR" => {
            Seen::Around
        }
        _ => Seen::Nothing,
    }
}

/// One line: its number, the beginning of what is there, in one line.
fn line(out: &mut String, number: usize, depth: usize, head: &str) {
    let words = head.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = words.trim_end_matches(['{', '=', ';', ':', ' ']);
    let cut = &words[..words.floor_char_boundary(MAX_LINE)];
    let more = if cut.len() < words.len() { "…" } else { "" };
    // Writing to a string does not fail.
    let _ = writeln!(out, "{number}\t{}{cut}{more}", "  ".repeat(depth));
}

/// Headings that begin with `#`, outside of code.
fn markdown(text: &str) -> String {
    let mut out = String::new();
    let mut fence: Option<(char, usize)> = None;
    for (at, raw) in text.lines().enumerate() {
        let indent = raw.len() - raw.trim_start_matches(' ').len();
        let trimmed = raw.trim_start();
        let mark = trimmed.chars().next().unwrap_or_default();
        let run = trimmed.chars().take_while(|c| *c == mark).count();
        if matches!(mark, '`' | '~') && run >= 3 && indent < 4 {
            match fence {
                None => fence = Some((mark, run)),
                Some((open, least)) if open == mark && run >= least => fence = None,
                Some(_) => {}
            }
            continue;
        }
        let after = &trimmed[run * mark.len_utf8()..];
        let is_heading =
            mark == '#' && run <= 6 && (after.is_empty() || after.starts_with([' ', '\t']));
        if fence.is_none() && indent < 4 && is_heading {
            line(&mut out, at + 1, run - 1, after.trim().trim_end_matches('#'));
        }
    }
    out
}

/// Headers of tables, outside of texts of several lines.
fn toml(text: &str) -> String {
    let mut out = String::new();
    let mut within: Option<&str> = None;
    for (at, raw) in text.lines().enumerate() {
        if within.is_none() && raw.trim_start().starts_with('[') && raw.contains(']') {
            let header = raw.split('#').next().unwrap_or_default().trim();
            // An element of a list of lists has a comma or an end of its own.
            if header.ends_with(']') && raw.starts_with('[') {
                line(&mut out, at + 1, 0, header);
            }
        }
        for quotes in ["\"\"\"", "'''"] {
            if raw.matches(quotes).count() % 2 == 1 {
                within = match within {
                    None => Some(quotes),
                    Some(open) if open == quotes => None,
                    open => open,
                };
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use camino::Utf8Path;

    use super::*;
    use crate::{Area, artifacts::ArtifactDir};

    fn shown(kind: Kind, text: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let area = Area::workspace(dir).unwrap();
        let context =
            CallContext::new(area, Arc::new(ArtifactDir::new(dir)), Duration::from_secs(60));
        outline(kind, text, &context).unwrap()
    }

    #[test]
    fn items_of_rust() {
        let text = "//! Docs.\nuse std::fmt;\n\n#[derive(Debug)]\npub struct A<T> {\n    b: T,\n}\n\nimpl<T> fmt::Display for A<T>\nwhere\n    T: Copy,\n{\n    \
            fn fmt(&self, f: &mut F) -> R {\n        fn inner() {}\n    }\n    const N: u8 = 3;\n}\n\npub(crate) mod deep {\n    pub trait C { fn d(&self); type E; }\n}\n\
            enum F { G }\nmacro_rules! h { () => {} }\nstatic I: &str = \"x\";\ntype J = u8;\n";
        assert_eq!(
            shown(Kind::Rust, text),
            "5\tpub struct A<T>\n9\timpl<T> fmt::Display for A<T> where T: Copy,\n13\t  fn fmt(&self, f: &mut F) -> R\n16\t  const N: u8\n\
             19\tpub(crate) mod deep\n20\t  pub trait C\n20\t    fn d(&self)\n20\t    type E\n22\tenum F\n23\tmacro_rules! h\n24\tstatic I: &str\n25\ttype J\n"
        );
        // With a mistake in it, as files have while they are written.
        assert!(shown(Kind::Rust, "fn a() {\nstruct B;\nfn c( {}\nfn d() {}\n").contains("fn"));
    }

    #[test]
    fn items_of_python() {
        let text = "import os\n\n@cached\ndef a(x: int) -> str:\n    def inner(): pass\n\nclass B(C):\n    def d(self,\n          e):\n        pass\n\nif True:\n    async def f(): ...\n";
        assert_eq!(
            shown(Kind::Python, text),
            "4\tdef a(x: int) -> str\n7\tclass B(C)\n8\t  def d(self, e)\n13\tasync def f()\n"
        );
    }

    #[test]
    fn headings_and_tables() {
        let text =
            "# One\n```sh\n# no heading\n~~~\n```\n## Two ##\n#none\n    # code\n### Three\n";
        assert_eq!(shown(Kind::Markdown, text), "1\tOne\n6\t  Two\n9\t    Three\n");
        let text = "a = 1\n[package] # the crate\nx = \"\"\"\n[no.table]\n\"\"\"\n[[bin]]\nlist = [\n  [1],\n]\n[a.\"b c\"]\n";
        assert_eq!(shown(Kind::Toml, text), "2\t[package]\n6\t[[bin]]\n10\t[a.\"b c\"]\n");
    }
}
