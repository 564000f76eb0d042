//! Language servers: a stand-in that speaks the real protocol, and `rust-analyzer` where it is installed.

use std::time::{Duration, Instant};

use agents_tool::{
    Confinement, Ground, Output, ToolError, Typed as _,
    tools::{Lsp, LspAction, LspInput, lsp},
};
use serde_json::json;

use crate::{Agent, example, keeper};

struct Case {
    agent: Agent,
    lsp: Lsp,
    runtime: tokio::runtime::Runtime,
}

impl Case {
    fn new() -> Self {
        let agent = Agent::new();
        let lsp = Lsp::with(example("language-server"), ground(&agent));
        Self::with(agent, lsp)
    }

    fn with(agent: Agent, lsp: Lsp) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { agent, lsp, runtime }
    }

    fn ask(&self, action: LspAction, at: Option<(u32, &str)>) -> Result<Output, ToolError> {
        let (line, symbol) = at.unzip();
        let symbol = symbol.map(str::to_owned);
        let input = LspInput { action, path: "src/lib.rs".to_owned(), line, symbol };
        self.runtime.block_on(self.lsp.run(input, &self.agent.context))
    }
}

fn ground(agent: &Agent) -> Ground {
    let area = agent.context.area.clone();
    Ground { keeper: keeper(), area, confinement: Confinement::None }
}

const TEXT: &str =
    "// ä𝄞 first\npub fn first() {}\nfn second() { first(); }\nfn die() {} fn hang() {}\n";

#[test]
fn a_place_beside_the_workspace_is_not_shown_as_one_in_it() {
    let agent = Agent::new();
    let root = agent.context.area.cwd().to_owned();
    let places = [format!("{root}/src/a.rs"), format!("{root}-too/a.rs")];
    let answer = places.each_ref().map(|it| json!({ "uri": format!("file://{it}"), "range": {} }));
    let shown = lsp::render(LspAction::Definition, &json!(answer), &agent.context).text;
    assert_eq!(shown, format!("src/a.rs:1:1: \n{}:1:1: \n", places[1]));
}

#[test]
fn names_are_found_by_line_and_word() {
    let case = Case::new();
    case.agent.write("src/lib.rs", TEXT);
    let found = case.ask(LspAction::References, Some((1, "first"))).unwrap().text;
    assert_eq!(
        found,
        "src/lib.rs:1:7: // ä𝄞 first\nsrc/lib.rs:2:8: pub fn first() {}\nsrc/lib.rs:3:15: fn second() { first(); }\n"
    );
    let found = case.ask(LspAction::Definition, Some((3, "first"))).unwrap().text;
    assert_eq!(found, "src/lib.rs:1:7: // ä𝄞 first\n");
    assert_eq!(case.ask(LspAction::Hover, Some((2, "first"))).unwrap().text, "about first");
    let symbols = case.ask(LspAction::Symbols, None).unwrap().text;
    assert_eq!(symbols, "1\touter\n2\t  inner: fn()\n");
    let error = case.ask(LspAction::Hover, Some((2, "third"))).unwrap_err().to_string();
    assert_eq!(error, "there is no `third` in line 2: pub fn first() {}");
    assert!(case.ask(LspAction::Hover, Some((9, "x"))).is_err());
    assert!(case.ask(LspAction::Hover, None).is_err());
}

#[test]
fn it_knows_the_file_as_it_is_now() {
    let case = Case::new();
    case.agent.write("src/lib.rs", TEXT);
    assert_eq!(case.ask(LspAction::Diagnostics, None).unwrap(), Output::said("nothing is wrong"));
    case.agent.write("src/lib.rs", "fn a() {}\n// wrong\n");
    let found = case.ask(LspAction::Diagnostics, None).unwrap().text;
    assert_eq!(found, "2:1: error: this is wrong\n");
}

#[test]
fn a_server_that_dies_is_started_again_and_one_that_hangs_is_left() {
    let mut case = Case::new();
    case.agent.write("src/lib.rs", TEXT);
    let error = case.ask(LspAction::Definition, Some((4, "die"))).unwrap_err().to_string();
    assert_eq!(error, "the language server has ended; it said: the last words");
    assert!(case.ask(LspAction::Hover, Some((2, "first"))).is_ok());
    case.agent.context.deadline = Instant::now() + Duration::from_millis(500);
    let error = case.ask(LspAction::Definition, Some((4, "hang"))).unwrap_err();
    assert!(matches!(error, ToolError::TimedOut), "{error}");
    case.runtime.block_on(case.lsp.end());
}

#[test]
fn files_outside_are_not_told_to_it() {
    let case = Case::new();
    let input = LspInput {
        action: LspAction::Symbols,
        path: "/etc/passwd".to_owned(),
        line: None,
        symbol: None,
    };
    let error = case.runtime.block_on(case.lsp.run(input, &case.agent.context)).unwrap_err();
    assert!(matches!(error, ToolError::File(_)), "{error}");
}

/// Only where it is installed: elsewhere the tool is not offered, which is what is tested then.
#[test]
fn rust_analyzer_is_asked_where_it_is_installed() {
    let agent = Agent::new();
    agent.write("Cargo.toml", "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    agent.write("src/lib.rs", "pub fn first() -> u8 { 1 }\npub fn second() -> u8 { first() }\n");
    let works = agents_system::process::Call::new("rust-analyzer").arg("--version").capture();
    let works = works.is_ok_and(|it| it.status.success());
    let found = Lsp::find(ground(&agent));
    assert_eq!(found.is_some(), works);
    let Some(lsp) = found else { return };
    let case = Case::with(agent, lsp);
    let found = case.ask(LspAction::Definition, Some((2, "first"))).unwrap().text;
    assert_eq!(found, "src/lib.rs:1:8: pub fn first() -> u8 { 1 }\n");
    let hover = case.ask(LspAction::Hover, Some((2, "first"))).unwrap().text;
    assert!(hover.contains("fn first() -> u8"), "{hover}");
    case.runtime.block_on(case.lsp.end());
}
