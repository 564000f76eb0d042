//! The tools as an agent gets them: through the guard.

#![allow(clippy::unwrap_used, reason = "tests")]

mod bash;
mod confinement;
mod files;
mod guard;
mod hooks;
mod lsp;
mod mcp;
mod oracle;
mod script;
mod web;
mod web_search;
mod work;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use agents_agent::definition::PermissionMode;
use agents_system::process::keeper::Keeper;
use agents_testkit::scratch::Scratch;
use agents_tool::{
    Area, Bypass, CallContext, Catalogue, Confinement, Guarded, Presented, Request, Rights,
    Sandbox, Standing, ToolResult,
    artifacts::ArtifactDir,
    bounds::Bounds,
    executor::Nobody,
    secrets::Mask,
    tools::{self, Bash},
};
use serde_json::Value;

/// An agent in a workspace of its own.
pub(crate) struct Agent {
    pub(crate) scratch: Scratch,
    pub(crate) executor: Presented<Guarded<Catalogue>>,
    pub(crate) context: CallContext,
    runtime: tokio::runtime::Runtime,
}

pub(crate) fn keeper() -> Keeper {
    Keeper { program: env!("CARGO_BIN_EXE_agents-keeper").into(), args: Vec::new() }
}

/// A program among the examples of this room. Cargo builds them with the tests, unless it is told the name of a test.
pub(crate) fn example(name: &str) -> camino::Utf8PathBuf {
    let exe = camino::Utf8PathBuf::from_path_buf(std::env::current_exe().unwrap()).unwrap();
    let path = exe.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(path.exists(), "`cargo build -p agents-tool --examples` builds {path}");
    path
}

impl Agent {
    /// One that may do everything in its workspace without asking.
    pub(crate) fn new() -> Self {
        Self::with(Rights::all(), PermissionMode::BypassPermissions)
    }

    pub(crate) fn with(rights: Rights, mode: PermissionMode) -> Self {
        let scratch = Scratch::new();
        fs_err::create_dir(scratch.path("root")).unwrap();
        let mut catalogue = Catalogue::default();
        tools::add_all(&mut catalogue, Some(Bash::new(keeper()))).unwrap();
        let standing = Standing::root(rights, mode, Bypass::Allowed);
        let guarded = Guarded::new(catalogue, standing, Arc::new(Nobody), Instant::now());
        let area = Area::workspace(&scratch.path("root")).unwrap();
        let artifacts = Arc::new(ArtifactDir::new(&scratch.path("artifacts")));
        let mut context = CallContext::new(area, artifacts, Duration::from_secs(60));
        context.confinement = Confinement::None;
        let executor = Presented::new(guarded, Arc::new(Mask::default()), Bounds::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { scratch, executor, context, runtime }
    }

    /// With its programs in the sandbox; `None` where the system has none.
    pub(crate) fn sandboxed(mut self) -> Option<Self> {
        use agents_system::sandbox::{Availability, available};
        if matches!(available(), Availability::Unavailable(_)) {
            return None;
        }
        self.context.confinement = Confinement::Sandbox(Sandbox::default());
        Some(self)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        self.scratch.write(format!("root/{path}"), text);
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs_err::read_to_string(self.scratch.path(format!("root/{path}"))).unwrap()
    }

    pub(crate) fn call(&self, tool: &str, input: Value) -> ToolResult {
        let request = Request { tool: tool.to_owned(), input };
        self.runtime.block_on(self.executor.call(request, &self.context))
    }

    /// What a successful call shows, without the lines that mark it as data.
    #[track_caller]
    pub(crate) fn ok(&self, tool: &str, input: Value) -> String {
        let result = self.call(tool, input);
        assert!(!result.is_error, "{}", result.content);
        unmarked(&result.content)
    }

    /// What a failed call says.
    #[track_caller]
    pub(crate) fn refused(&self, tool: &str, input: Value) -> String {
        let result = self.call(tool, input);
        assert!(result.is_error, "{}", result.content);
        unmarked(&result.content)
    }

    pub(crate) fn bash(&self, command: &str) -> ToolResult {
        let result = self.call("bash", serde_json::json!({ "command": command }));
        ToolResult { content: unmarked(&result.content), ..result }
    }
}

/// The number in the marks is never the same twice.
fn unmarked(text: &str) -> String {
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.first().is_some_and(|it| it.starts_with("[data ")) {
        assert!(lines.last().unwrap().starts_with("[end of data "));
        lines = lines[1..lines.len() - 1].to_vec();
    }
    lines.join("\n")
}
