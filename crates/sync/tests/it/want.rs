//! Desired states to choose from at random, and the files that they meet.

use std::collections::BTreeSet;

use agents_sync::{Desired, DesiredFile};
use agents_system::{edit::Format, ledger::What};
use proptest::{collection::vec, prelude::*};
use serde_json::json;

use crate::world::{MARK, World, host, item, server, skill, tree};

/// Files of hosts, and where in them servers are.
pub(crate) const FILES: [(&str, Format, &[&str]); 5] = [
    ("settings.json", Format::Json, &["mcpServers"]),
    ("deep/down/mcp.json", Format::Json, &["a", "b"]),
    ("config.toml", Format::Toml, &["mcp_servers"]),
    ("config.yaml", Format::Yaml, &["extensions"]),
    ("flow/config.yaml", Format::Yaml, &["mcp", "servers"]),
];

pub(crate) const SKILL_DIRS: [&str; 2] = [".claude/skills", ".agents/skills"];
const SKILLS: [&str; 3] = ["guide", "tools", "guide-one"];
const ORIGINS: [&str; 2] = ["one", "two"];
const SERVERS: [&str; 3] = ["alpha", "beta", "own"];
const EVENTS: [&str; 2] = ["Pre", "Post"];

/// A file that is ours as a whole.
pub(crate) const WHOLE: &str = "hooks/cargo-agents.json";

/// What a user may have in a file from the beginning; `None` is no file at all.
pub(crate) fn originals(format: Format) -> &'static [Option<&'static str>] {
    match format {
        Format::Json => &[
            None,
            Some(
                "{\n  // mine\n  \"mcpServers\": {\n    \"own\": { \"command\": \"x\" }, // keep\n  },\n  \"model\": \"m\"\n}\n",
            ),
            Some(
                "{\r\n\t\"model\": \"m\", /* the best */\r\n\t\"a\": { \"b\": { \"c\": {} }, },\r\n}\r\n",
            ),
            Some("{\"model\":\"m\",\"list\":[1,2]}"),
            Some("{}"),
            Some("{\n}\n"),
            Some(""),
            Some(" \n\n"),
            Some("{\"mcpServers\": {}, \"a\": {\n} }\n"),
            Some(
                "{\n  \"hooks\": {\n    \"Pre\": [\n      // first\n      { \"command\": \"own\" }\n    ],\n    \"Post\": []\n  }\n}\n",
            ),
            Some("{ \"hooks\": { \"Post\": [{ \"command\": \"own\" }, /* mine */] } }"),
            Some("// only\n{\n    \"theme\": \"dark\" // at night\n    // last words\n}"),
        ],
        Format::Toml => &[
            None,
            Some(
                "# mine\nmodel = \"m\" # the best\n\n[mcp_servers.own]\ncommand = \"x\"\n\n# tools\n[tools]\nweb = true\n",
            ),
            Some("model = 'm'\r\n# last words\r\n[tools]\r\nlist = [\r\n  1, # one\r\n]"),
            Some("# nothing yet\n"),
            Some(""),
            Some("mcp_servers = { own = { command = \"x\" } }\n"),
            Some("mcp_servers.own.command = \"x\" # mine\n[tools]\n"),
            Some("[mcp_servers.own.tools] # mine\nweb = true\n"),
            Some("[mcp_servers]\n# servers go here\n\n[[rules]]\nname = \"a\"\n"),
        ],
        Format::Yaml => &[
            None,
            Some("# mine\nextensions:\n  own: # keep\n    cmd: own\nprovider: p # the best\n"),
            Some("provider: p\r\nlist:\r\n- 1 # one\r\n- 2\r\n# last words\r\n"),
            Some(""),
            Some("# nothing yet\n"),
            Some("extensions: {}\nmcp: # none\n  servers: {}\n"),
            Some("extensions:\nmcp:\n  servers: # none\n"),
            Some("mcp:\n    servers: {own: {cmd: x}}\nmodel: m"),
            Some("text: |\n  block\n\n  more\nother: 'x' # end\n"),
        ],
    }
}

/// What should be where.
#[derive(Debug, Clone, Default)]
pub(crate) struct Want {
    /// Directory, name, origin, revision.
    pub(crate) skills: Vec<(usize, usize, usize, usize)>,
    /// File, name, revision.
    pub(crate) servers: Vec<(usize, usize, usize)>,
    /// Event, revision; in the first file.
    pub(crate) hooks: Vec<(usize, usize)>,
    /// Revision of the file that is ours as a whole.
    pub(crate) whole: Option<usize>,
}

impl Want {
    /// For another process.
    pub(crate) fn to_text(&self) -> String {
        json!([self.skills, self.servers, self.hooks, self.whole]).to_string()
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (skills, servers, hooks, whole) = serde_json::from_str(text).ok()?;
        Some(Self { skills, servers, hooks, whole })
    }

    pub(crate) fn desired(&self, world: &World) -> Desired {
        let mut desired = Desired::default();
        let mut seen = BTreeSet::new();
        for &(dir, name, origin, revision) in &self.skills {
            if seen.insert((dir, name, origin)) {
                let (name, origin) = (SKILLS[name], ORIGINS[origin]);
                let text = format!("{name} of {origin} {revision}");
                let files = [("SKILL.md", text.as_str()), ("bin/run.sh", "run"), ("a/b.md", &text)];
                let tree = tree(&files[..=revision % 3]);
                desired.skills.push(skill(&world.path(SKILL_DIRS[dir]), name, origin, tree));
            }
        }
        for &(file, name, revision) in &self.servers {
            let (path, _, table) = FILES[file];
            let at: Vec<&str> = table.iter().copied().chain([SERVERS[name]]).collect();
            let value = match revision {
                0 => json!({ "command": "run", "args": ["--stdio", "a \"b\" # c"] }),
                1 => json!({ "command": "run", "env": { "A": "1", "B.C": "é" }, "enabled": true }),
                _ => json!({ "url": "https://localhost:1/mcp", "timeout": 30, "headers": {} }),
            };
            desired.parts.push(server(&world.path(path), &at, value));
        }
        let mut seen = BTreeSet::new();
        for &(event, revision) in self.hooks.iter().filter(|(event, _)| seen.insert(*event)) {
            let event = EVENTS[event];
            let command = format!("{MARK}{event}");
            let value = json!({ "hooks": [{ "command": command, "timeout": revision }] });
            desired.parts.push(item(&world.path(FILES[0].0), &["hooks", event], value));
        }
        desired.files.extend(self.whole.map(|revision| DesiredFile {
            host: host("copilot"),
            file: world.path(WHOLE),
            text: format!("{{ \"version\": {revision} }}\n"),
            what: What::Hook,
            name: "every event".to_owned(),
            from: "cargo-agents".to_owned(),
        }));
        desired
    }
}

/// Any desired state.
pub(crate) fn want() -> impl Strategy<Value = Want> {
    let skills = vec((0..2_usize, 0..3_usize, 0..2_usize, 0..3_usize), 0..4);
    let servers = vec((0..FILES.len(), 0..3_usize, 0..3_usize), 0..7);
    let hooks = vec((0..2_usize, 0..3_usize), 0..3);
    let whole = proptest::option::of(0..3_usize);
    (skills, servers, hooks, whole).prop_map(|(skills, servers, hooks, whole)| Want {
        skills,
        servers,
        hooks,
        whole,
    })
}
