//! `lsp`: what a language server knows about the code.
//!
//! There is one for Rust, `rust-analyzer`, and the tool is offered only where that is installed. The server is started by the first
//! call, shared by all agents of a tree and ended with them. It neither builds nor runs anything of the workspace: build scripts,
//! procedural macros and checks are turned off.

mod frame;
mod session;

use std::{
    fmt::Write as _,
    sync::Arc,
    time::{Duration, Instant},
};

use agents_system::process::{Call, find_program};
use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use self::session::Session;
#[doc(hidden)]
pub use self::{frame::path as file_at, session::overhear};
use super::about;
use crate::{
    context::{CallContext, Ground},
    policy::Effects,
    tool::{Intent, Output, ToolError, Typed},
};

/// Larger files are not told to the server.
const MAX_FILE: u64 = 4 * 1024 * 1024;
/// How many places are shown.
const MAX_PLACES: usize = 200;
/// How long a server may take to answer the first time: it reads the whole workspace before.
const START: Duration = Duration::from_secs(120);

/// Asks a language server.
#[derive(Clone)]
pub struct Lsp {
    program: Utf8PathBuf,
    ground: Ground,
    session: Arc<Mutex<Option<Arc<Session>>>>,
}

impl Lsp {
    /// With `rust-analyzer`; `None` where it is not installed. The proxy of rustup is there without it, so it is asked.
    #[must_use]
    pub fn find(ground: Ground) -> Option<Self> {
        Some(Self::with(Self::program()?, ground))
    }

    /// Where `rust-analyzer` is; `None` where it is not installed.
    #[must_use]
    pub fn program() -> Option<Utf8PathBuf> {
        let program = find_program("rust-analyzer")?;
        let asked = Call::new(program.as_str()).arg("--version").deadline(Duration::from_secs(10));
        asked.capture().is_ok_and(|it| it.status.success()).then_some(program)
    }

    /// With this server.
    #[must_use]
    pub fn with(program: Utf8PathBuf, ground: Ground) -> Self {
        Self { program, ground, session: Arc::default() }
    }

    /// Ends the server.
    pub async fn end(&self) {
        if let Some(session) = self.session.lock().await.take() {
            session.end().await;
        }
    }

    async fn session(&self) -> Result<Arc<Session>, ToolError> {
        let mut session = self.session.lock().await;
        if let Some(session) = session.as_ref().filter(|it| !it.is_over()) {
            return Ok(Arc::clone(session));
        }
        let started = Session::start(&self.program, &self.ground);
        let started = tokio::time::timeout(START, started).await;
        let started =
            started.map_err(|_| ToolError::failed("the language server did not start"))??;
        Ok(Arc::clone(session.insert(Arc::new(started))))
    }
}

/// What to ask.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LspInput {
    /// What to ask for.
    pub action: LspAction,
    /// The file, relative to the working directory or absolute.
    pub path: String,
    /// The line, counted from 1; for `definition`, `references` and `hover`.
    #[serde(default)]
    pub line: Option<u32>,
    /// The name in that line that is meant. The first one of the line if it is there more than once.
    #[serde(default)]
    pub symbol: Option<String>,
}

/// What a language server can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LspAction {
    /// Where it is defined.
    Definition,
    /// Where it is used.
    References,
    /// Its type and documentation.
    Hover,
    /// What the file holds.
    Symbols,
    /// What is wrong with the file.
    Diagnostics,
}

impl Typed for Lsp {
    type Input = LspInput;

    const NAME: &'static str = "lsp";
    const DESCRIPTION: &'static str = "Asks rust-analyzer about Rust code: where a name is defined or used, its type and documentation, what a file holds, what is wrong with it. \
        For `definition`, `references` and `hover` give the line and the name in it.";

    fn intent(&self, input: &LspInput, context: &CallContext) -> Result<Intent, ToolError> {
        about(&input.path, Effects::READS, context)
    }

    async fn run(&self, input: LspInput, context: &CallContext) -> Result<Output, ToolError> {
        let place = context.area.locate(&input.path)?;
        let path = context.area.absolute(&place);
        let bytes = context.area.read(&place, MAX_FILE)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| ToolError::failed(format!("`{}` is not UTF-8 text", input.path)))?;
        let position = position(&input, &text)?;
        let ask = async {
            let session = self.session().await?;
            let uri = session.open(&path, &text).await?;
            session.ready().await;
            let answer =
                session.ask(method(input.action), params(input.action, &uri, position)).await?;
            Ok(render(input.action, &answer, context))
        };
        let since = Instant::now();
        match context.bounded(ask).await {
            Err(ToolError::TimedOut) if since.elapsed() > Duration::from_secs(5) => {
                Err(ToolError::hinted(
                    "the language server did not answer in time",
                    "it may still be reading the workspace: try again later",
                ))
            }
            answered => answered?,
        }
    }
}

fn method(action: LspAction) -> &'static str {
    match action {
        LspAction::Definition => "textDocument/definition",
        LspAction::References => "textDocument/references",
        LspAction::Hover => "textDocument/hover",
        LspAction::Symbols => "textDocument/documentSymbol",
        LspAction::Diagnostics => "textDocument/diagnostic",
    }
}

fn params(action: LspAction, uri: &str, position: Option<(u32, u32)>) -> Value {
    let mut params = json!({"textDocument": {"uri": uri}});
    if let Some((line, character)) = position {
        params["position"] = json!({"line": line, "character": character});
    }
    if action == LspAction::References {
        params["context"] = json!({"includeDeclaration": true});
    }
    params
}

/// The place that is meant, as the protocol counts: from 0, in UTF-16.
fn position(input: &LspInput, text: &str) -> Result<Option<(u32, u32)>, ToolError> {
    if matches!(input.action, LspAction::Symbols | LspAction::Diagnostics) {
        return Ok(None);
    }
    let number = input.line.filter(|it| *it > 0);
    let number = number.ok_or_else(|| ToolError::failed("`line` is missing: it counts from 1"))?;
    let line = text.lines().nth(number as usize - 1);
    let line = line.ok_or_else(|| ToolError::failed(format!("there is no line {number}")))?;
    let at = match &input.symbol {
        Some(symbol) => word(line, symbol.trim()).ok_or_else(|| {
            ToolError::failed(format!("there is no `{symbol}` in line {number}: {}", line.trim()))
        })?,
        None => line.len() - line.trim_start().len(),
    };
    let character = line[..at].encode_utf16().count();
    Ok(Some((number - 1, u32::try_from(character).unwrap_or(u32::MAX))))
}

/// Where a name is in a line, preferably as a whole word.
fn word(line: &str, name: &str) -> Option<usize> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let whole = line
        .match_indices(name)
        .find(|(at, _)| !line[..*at].ends_with(part) && !line[at + name.len()..].starts_with(part));
    whole.or_else(|| line.match_indices(name).next()).map(|(at, _)| at).filter(|_| !name.is_empty())
}

/// What an agent is told of an answer.
#[doc(hidden)]
pub fn render(action: LspAction, answer: &Value, context: &CallContext) -> Output {
    let mut out = String::new();
    match action {
        LspAction::Definition | LspAction::References => places(answer, context, &mut out),
        LspAction::Hover => out.push_str(&hover(&answer["contents"])),
        LspAction::Symbols => symbols(answer, 0, &mut out),
        LspAction::Diagnostics => diagnostics(&answer["items"], &mut out),
    }
    if out.trim().is_empty() {
        let nothing =
            if action == LspAction::Diagnostics { "nothing is wrong" } else { "nothing is known" };
        return Output::said(nothing);
    }
    Output::data(out)
}

/// `path:line:column` of each place, and the line itself if it may be read.
fn places(answer: &Value, context: &CallContext, out: &mut String) {
    let one = std::slice::from_ref(answer);
    let all = answer.as_array().map_or(if answer.is_object() { one } else { &[] }, Vec::as_slice);
    for place in all.iter().take(MAX_PLACES) {
        let uri = place["uri"].as_str().or_else(|| place["targetUri"].as_str()).unwrap_or_default();
        let range = if place["range"].is_object() {
            &place["range"]
        } else {
            &place["targetSelectionRange"]
        };
        let (line, column) = start(range);
        let path = frame::path(uri);
        let below =
            |path: &'_ Utf8Path| path.strip_prefix(context.area.cwd()).unwrap_or(path).to_owned();
        let shown = path.as_deref().map_or(uri.to_owned(), |path| below(path).into_string());
        // What the agent may not read stays a place without its text.
        let text = path.as_deref().and_then(|path| {
            let place = context.area.locate(path.as_str()).ok()?;
            let bytes = context.area.read(&place, MAX_FILE).ok()?;
            let text = String::from_utf8_lossy(&bytes);
            text.lines().nth(usize::try_from(line).ok()? - 1).map(str::to_owned)
        });
        let column = text.as_deref().map_or(column, |text| characters(text, column));
        let _ = writeln!(out, "{shown}:{line}:{column}: {}", text.unwrap_or_default().trim());
    }
    if all.len() > MAX_PLACES {
        let _ = writeln!(out, "[{} more]", all.len() - MAX_PLACES);
    }
}

/// A column as people count: the protocol counts in UTF-16.
fn characters(line: &str, column: u64) -> u64 {
    let mut units = 1;
    let before = line.chars().take_while(|c| {
        let is_before = units < column;
        units += c.len_utf16() as u64;
        is_before
    });
    before.count() as u64 + 1
}

fn start(range: &Value) -> (u64, u64) {
    let number = |key: &str| range["start"][key].as_u64().unwrap_or_default().saturating_add(1);
    (number("line"), number("character"))
}

fn hover(contents: &Value) -> String {
    match contents {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(hover).collect::<Vec<_>>().join("\n"),
        other => other["value"].as_str().unwrap_or_default().to_owned(),
    }
}

fn symbols(answer: &Value, depth: usize, out: &mut String) {
    for symbol in answer.as_array().into_iter().flatten().filter(|_| depth < 16) {
        let range = if symbol["range"].is_object() {
            &symbol["range"]
        } else {
            &symbol["location"]["range"]
        };
        let name = symbol["name"].as_str().unwrap_or_default();
        let detail = symbol["detail"].as_str().map(|it| format!(": {it}")).unwrap_or_default();
        let _ = writeln!(out, "{}\t{}{name}{detail}", start(range).0, "  ".repeat(depth));
        symbols(&symbol["children"], depth + 1, out);
    }
}

fn diagnostics(items: &Value, out: &mut String) {
    for item in items.as_array().into_iter().flatten().take(MAX_PLACES) {
        let severity = match item["severity"].as_u64() {
            Some(1) => "error",
            Some(2) => "warning",
            _ => "note",
        };
        let (line, column) = start(&item["range"]);
        let message = item["message"].as_str().unwrap_or_default();
        let _ = writeln!(out, "{line}:{column}: {severity}: {message}");
    }
}
