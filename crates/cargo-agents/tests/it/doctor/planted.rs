//! The problems that are planted, one by one.

use std::os::unix::fs::symlink;

use agents_testkit::scratch;
use serde_json::{Value, json};

use super::{CONFIG, Clinic, mode, skill};

/// What `--fix` makes of a planted problem.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fix {
    Heals,
    /// It is the user's to decide, and nothing is touched.
    LeavesIt,
}
use Fix::{Heals, LeavesIt};

/// A code, what becomes of it, and how to make such a problem.
pub(super) type Planted = (&'static str, Fix, fn(&Clinic));

/// Every problem that can be planted with files alone.
pub(super) const PLANTED: &[Planted] = &[
    ("program-not-found", LeavesIt, |it| {
        let scratch = it.synced.world.sample.scratch();
        std::fs::remove_file(scratch.path("programs/cargo-agents")).unwrap();
    }),
    ("another-program", LeavesIt, |it| {
        let scratch = it.synced.world.sample.scratch();
        std::fs::remove_file(scratch.path("programs/cargo-agents")).unwrap();
        it.program("cargo-agents", "echo cargo-agents 0.0.1");
    }),
    ("config-broken", LeavesIt, |it| it.synced.world.config("hosts = [\n")),
    ("config-unknown-key", LeavesIt, |it| {
        it.synced.world.config(&format!("hook-scop = \"project\"\n{CONFIG}"));
    }),
    ("unknown-host", LeavesIt, |it| {
        it.synced.world.config(&CONFIG.replace("\"codex\"]", "\"codex\", \"cluade\"]"));
    }),
    ("unknown-sandboxed", LeavesIt, |it| {
        it.synced.world.config(&format!("{CONFIG}[sandbox]\nplugins = [\"nobody\"]\n"));
    }),
    ("hosts-file-broken", LeavesIt, |it| {
        scratch::write(&it.home().join("hosts.toml"), "[host.codex]\nnmae = \"x\"\n");
    }),
    ("config-writable-by-others", LeavesIt, |it| mode(&it.home().join("config.toml"), 0o666)),
    ("ledger-broken", LeavesIt, |it| std::fs::write(it.ledger(), "{").unwrap()),
    ("ledger-newer", LeavesIt, |it| {
        it.edit(&it.ledger(), "\"version\": 1", "\"version\": 99");
    }),
    ("journal-broken", LeavesIt, |it| {
        scratch::write(&it.home().join("state/plans/a-run/journal.db"), "no database");
    }),
    ("unfinished-sync", Heals, |it| {
        it.edit(&it.ledger(), "\"version\": 1,", "\"version\": 1, \"intended\": [],");
    }),
    ("orphan-workspace", Heals, |it| {
        let gone = it.root().with_file_name("gone");
        // What only that workspace wanted, in a file of the user.
        let file = it.user().join(".gemini/settings.json");
        scratch::write(
            &file,
            "{\n  \"mcpServers\": {\n    \"old\": { \"command\": \"old\" }\n  }\n}\n",
        );
        let mut ledger: Value =
            serde_json::from_str(&std::fs::read_to_string(it.ledger()).unwrap()).unwrap();
        ledger["entries"].as_array_mut().unwrap().push(json!({
            "what": "server",
            "property": { "kind": "part", "file": file, "format": "json", "at": ["mcpServers", "old"],
                "value": { "command": "old" }, "made": [] },
            "workspaces": [gone],
            "from": "old 1.0.0",
        }));
        std::fs::write(it.ledger(), ledger.to_string()).unwrap();
    }),
    ("orphan-skill", LeavesIt, |it| {
        let dir = it.root().join(".gemini/skills/old");
        skill(&dir, 9);
        scratch::write(&dir.join(".symposium"), "");
    }),
    ("leftovers", Heals, |it| {
        scratch::write(&it.root().join(".claude/.settings.json.agents-aB3dE6"), "{");
        scratch::write(&it.root().join(".claude/skills/.agents-building-x/skill-1/SKILL.md"), "");
        scratch::write(&it.root().join(".agents/agents/.own.md.agents-aB3dE6"), "---");
        scratch::write(&it.root().join(".agents/agents/.writing-aB3dE6"), "---");
    }),
    ("edited", LeavesIt, |it| {
        it.edit(&it.root().join(".mcp.json"), "--stdio", "--mine");
    }),
    ("missing", Heals, |it| {
        std::fs::remove_dir_all(it.root().join(".claude/skills/serde-derive")).unwrap();
    }),
    ("drift", Heals, |it| it.synced.skill("---\nname: serde-derive\ndescription: Newer\n---\n")),
    ("lock-file-broken", LeavesIt, |it| {
        it.embedded("0.3.1", "Old.");
        std::fs::write(it.root().join("agents.lock"), "nonsense").unwrap();
    }),
    ("content-waiting", LeavesIt, |it| {
        it.embedded("0.3.1", "Old.");
        it.publish("0.3.2", "New.");
    }),
    ("content-altered", LeavesIt, |it| {
        it.embedded("0.3.1", "Old.");
        it.publish("0.3.1", "Other.");
    }),
    ("name-taken", LeavesIt, |it| {
        let manifest = it.home().join("plugins/serde/SYMPOSIUM.toml");
        it.edit(
            &manifest,
            "[[mcp_servers]]",
            "[[mcp_servers]]\nname = \"other\"\ncommand = \"explain\"\n[[mcp_servers]]",
        );
        it.edit(&it.root().join(".mcp.json"), "\"explain\": {", "\"other\": {}, \"explain\": {");
        it.edit(
            &it.root().join(".codex/config.toml"),
            "[mcp_servers.explain]",
            "[mcp_servers.other]\nurl = \"mine\"\n\n[mcp_servers.explain]",
        );
    }),
    ("host-not-installed", LeavesIt, |it| {
        it.synced.world.config(&CONFIG.replace("\"codex\"]", "\"codex\", \"kiro\"]"));
        it.ok(&["sync"]);
    }),
    ("host-too-old", LeavesIt, |it| {
        it.program("claude", "echo '2.1.44 (Claude Code)'");
    }),
    ("file-broken", LeavesIt, |it| {
        scratch::write(&it.user().join(".claude/settings.json"), "{ \"hooks\": ");
    }),
    ("dangling-link", LeavesIt, |it| {
        symlink(it.root().join("nowhere"), it.root().join(".claude/skills/mine")).unwrap();
    }),
    ("codex-hooks-untrusted", LeavesIt, |it| {
        it.edit(
            &it.user().join(".codex/config.toml"),
            "hooks.json:pre_tool_use:0:0",
            "other:x:0:0",
        );
    }),
    ("codex-folder-untrusted", LeavesIt, |it| {
        it.edit(&it.user().join(".codex/config.toml"), "\"trusted\"", "\"untrusted\"");
    }),
    ("claude-server-unapproved", LeavesIt, |it| {
        it.edit(&it.user().join(".claude.json"), "enabledMcpjsonServers", "disabledMcpjsonServers");
    }),
    ("loaded-twice", LeavesIt, |it| {
        let file = it.root().join(".claude/settings.json");
        let text = std::fs::read(file).unwrap();
        scratch::write(&it.user().join(".claude/settings.json"), text);
    }),
    ("skill-budget", LeavesIt, |it| {
        for number in 0..10 {
            skill(&it.root().join(format!(".claude/skills/mine-{number}")), 1000);
        }
    }),
    ("hook-program-missing", LeavesIt, |it| {
        it.synced.world.plugin("hooked", "name = \"hooked\"\ncrates = [\"serde\"]\n[[hooks]]\nname = \"guard\"\nevent = \"PreToolUse\"\ncommand = { executable = \"gone/guard\" }\n");
    }),
    ("server-program-missing", LeavesIt, |it| {
        let scratch = it.synced.world.sample.scratch();
        std::fs::remove_file(scratch.path("programs/explain")).unwrap();
    }),
    ("manifest-broken", LeavesIt, |it| {
        it.synced.world.plugin("bad", "name = \"bad\"\nexectuable = 1\n");
    }),
    ("registry-missing", LeavesIt, |it| {
        it.synced
            .world
            .config(&format!("{CONFIG}[[registry]]\nname = \"team\"\npath = \"/nowhere/team\"\n"));
    }),
    ("registry-not-fetched", LeavesIt, |it| {
        it.synced.world.config(&format!(
            "{CONFIG}[[registry]]\nname = \"team\"\ngit = \"https://example.com/team\"\n"
        ));
    }),
    ("workspace-broken", LeavesIt, |it| std::fs::write(it.root().join("Cargo.toml"), "[").unwrap()),
    ("file-read-only", LeavesIt, |it| mode(&it.root().join(".claude/settings.json"), 0o444)),
];
