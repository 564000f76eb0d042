//! A workspace with a plugin, and agents that are equipped there.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use agents_agent::definition::{AgentDefinition, AgentName, PermissionMode, Source};
use agents_hook::input::Session;
use agents_plugin::probes::Acquire;
use agents_system::{
    dirs::Dirs,
    process::{Call, keeper::Keeper},
};
use agents_testkit::{sample::Sample, scratch};
use agents_tool::{
    Area, Bypass, CallContext, Catalogue, Executor as _, Guarded, Hooked, Presented, Request,
    Rights, Standing, ToolResult, artifacts::ArtifactDir, bounds::Bounds, executor::Nobody,
    secrets::Mask,
};
use agents_workspace::{Cargo, Network};
use camino::Utf8PathBuf;
use serde_json::Value;

use super::super::{Equipment, Hands, Heard, Us, Wearer};
use crate::{
    args::Flags,
    commands::keeper,
    here::{BrokenWorkspace, visit},
    settings::Settings,
};

/// Denies every command that publishes.
const GUARD: &str = "#!/bin/sh\ninput=$(cat)\ncase \"$input\" in\n*'\"Bash\"'*'cargo publish'*) echo 'CI publishes' >&2; exit 2;;\nesac\n";

const COUNT: &str = "#!/bin/sh\nprintf '%s: ' $#\nprintf '%s|' \"$@\"\n";

/// An MCP server in a few lines of shell.
const SERVER: &str = r#"#!/bin/sh
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
text() { say "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  version=$(printf '%s' "$line" | sed -n 's/.*"protocolVersion":"\([^"]*\)".*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) say "{\"protocolVersion\":\"$version\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"notes\",\"version\":\"1\"}}" ;;
    *'"method":"tools/list"'*) say '{"tools":[{"name":"pid","description":"","inputSchema":{"type":"object"}},{"name":"write","description":"","inputSchema":{"type":"object"}},{"name":"die","description":"","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"pid"'*) text "pid $$" ;;
    *'"name":"write"'*) if (echo x > written) 2>/dev/null; then text written; else text 'not written'; fi ;;
    *'"name":"die"'*) echo bye >&2; exit 3 ;;
  esac
done
"#;

pub(super) struct World {
    pub(super) sample: Sample,
}

impl World {
    pub(super) fn new() -> Self {
        let sample = Sample::new();
        sample.package(".", "app", "0.1.0", "");
        sample.lock();
        let world = Self { sample };
        let plugin = world.home().join("plugins/helper");
        let server = world.server("plugins/helper/notes.sh");
        scratch::write(
            &plugin.join("SYMPOSIUM.toml"),
            format!(
                "name = \"helper\"\ncrates = [\"*\"]\n\
                 [[hooks]]\nname = \"no-publish\"\nevent = \"PreToolUse\"\nmatcher = \"Bash\"\ncommand = {{ script = \"guard.sh\" }}\n\
                 [[mcp_servers]]\nname = \"notes\"\ncommand = \"{server}\"\n\
                 [subcommand.count]\ndescription = \"Count arguments\"\naudience = \"agents\"\ncommand = {{ script = \"count.sh\" }}\n\
                 [subcommand.greet]\ndescription = \"Greet\"\naudience = \"humans\"\ncommand = {{ script = \"count.sh\" }}\n"
            ),
        );
        world.script("plugins/helper/guard.sh", GUARD);
        world.script("plugins/helper/count.sh", COUNT);
        world
    }

    fn home(&self) -> Utf8PathBuf {
        self.sample.scratch().path("agents-home")
    }

    fn script(&self, path: &str, body: &str) -> Utf8PathBuf {
        self.sample.scratch().script(format!("agents-home/{path}"), body)
    }

    /// A program that speaks MCP.
    pub(super) fn server(&self, path: &str) -> Utf8PathBuf {
        self.script(path, SERVER)
    }

    fn configure(&self, config: &str) {
        let config = format!("{config}\n[defaults]\nsymposium-recommendations = false\n");
        scratch::write(&self.home().join("config.toml"), config);
    }

    /// A command of the program with this configuration, which must succeed.
    pub(super) fn agents(&self, config: &str, args: &[&str]) {
        self.configure(config);
        let user = self.sample.scratch().path("user");
        fs_err::create_dir_all(&user).unwrap();
        let us = self.us().command;
        let call = Call::new(&us[0]).args(&us[1..]).args(args).cwd(self.sample.root());
        let call = call.env("HOME", user.as_str()).env("CARGO_HOME", self.sample.home().as_str());
        let ran = call.capture().unwrap();
        assert!(ran.status.success(), "{args:?}: {}", ran.said());
    }

    /// A run of the program with this configuration.
    pub(super) fn run(&self, config: &str) -> Run<'_> {
        let home = self.home();
        self.configure(config);
        let dirs =
            Dirs { config: home.clone(), state: home.join("state"), cache: home.join("cache") };
        let flags = Flags { quiet: true, offline: true, ..Flags::default() };
        let cargo = Cargo::from_env(Network::Offline).with_home(&self.sample.home());
        let settings = Settings { cargo, ..Settings::with_dirs(&flags, dirs, self.sample.root()) };
        let hands = visit(&settings, Acquire::Never, BrokenWorkspace::Fails, |here, _| {
            Hands::new(here, self.us())
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Run { world: self, hands: hands.unwrap_or_else(|_| panic!("no hands")), runtime }
    }

    /// The program, which cargo builds with the tests unless it is told the name of one.
    fn us(&self) -> Us {
        let test = Utf8PathBuf::from_path_buf(std::env::current_exe().unwrap()).unwrap();
        let program = test.parent().unwrap().parent().unwrap().join("cargo-agents");
        assert!(program.exists(), "`cargo build -p cargo-agents` builds {program}");
        let command = vec![
            "env".to_owned(),
            format!("CARGO_AGENTS_HOME={}", self.home()),
            program.to_string(),
        ];
        Us { keeper: Keeper { program, args: vec![keeper::COMMAND.to_owned()] }, command }
    }
}

pub(super) struct Run<'w> {
    world: &'w World,
    pub(super) hands: Hands,
    runtime: tokio::runtime::Runtime,
}

impl Run<'_> {
    /// An agent of this definition that may do so much without asking.
    pub(super) fn agent(&self, definition: &AgentDefinition, rights: Rights) -> Agent<'_> {
        let area = Area::workspace(&self.world.sample.root()).unwrap();
        let session = Session { session_id: Some("s".to_owned()), ..Session::default() };
        let heard: Arc<Heard> = Arc::default();
        let wearer =
            Wearer { definition, rights: &rights, area: &area, session, heard: Arc::clone(&heard) };
        let equipment = self.runtime.block_on(self.hands.equip(wearer));
        let mode = PermissionMode::BypassPermissions;
        let standing = Standing::root(rights, mode, Bypass::Allowed);
        let nobody = Arc::new(Nobody);
        let guarded =
            Guarded::new(equipment.catalogue.clone(), standing, nobody.clone(), Instant::now());
        let mask = Arc::new(Mask::default());
        let hooks = Arc::clone(equipment.hooks.as_ref().unwrap());
        let hooked = Hooked::new(guarded, hooks, nobody, Arc::clone(&mask));
        let executor = Presented::new(hooked, mask, Bounds::default());
        let artifacts = Arc::new(ArtifactDir::new(&self.world.sample.scratch().path("artifacts")));
        let mut context = CallContext::new(area, artifacts, Duration::from_secs(60));
        context.confinement = equipment.confinement.clone();
        Agent { run: self, equipment, heard, executor, context }
    }

    /// Ends everything that was started.
    pub(super) fn end(&self) {
        self.runtime.block_on(self.hands.end());
    }
}

pub(super) struct Agent<'r> {
    run: &'r Run<'r>,
    pub(super) equipment: Equipment,
    pub(super) heard: Arc<Heard>,
    executor: Presented<Hooked<Guarded<Catalogue>>>,
    context: CallContext,
}

impl Agent<'_> {
    pub(super) fn offered(&self) -> Vec<String> {
        self.executor.inner().offered().into_iter().map(|it| it.name).collect()
    }

    pub(super) fn call(&self, tool: &str, input: Value) -> ToolResult {
        let request = Request { tool: tool.to_owned(), input };
        self.run.runtime.block_on(self.executor.call(request, &self.context))
    }

    #[track_caller]
    pub(super) fn ok(&self, tool: &str, input: Value) -> String {
        let result = self.call(tool, input);
        assert!(!result.is_error, "{}", result.content);
        result.content
    }
}

/// A definition that somebody put there.
pub(super) fn definition(source: Source, file: Option<Utf8PathBuf>) -> AgentDefinition {
    let mut definition = AgentDefinition::blank(AgentName::new("helper").unwrap());
    definition.origin.source = source;
    definition.origin.file = file;
    definition
}
