//! From one state of the user's world to another, with a sync before and one after: what comes, what goes, what stays.

use std::collections::BTreeMap;

use agents_testkit::scratch;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use crate::sync::{SKILL, Synced, tree};

const DEFAULTS: &str = "[defaults]\nsymposium-recommendations = false\n";

impl Synced {
    /// The user's configuration; the plugins stay.
    fn configure(&self, text: &str) {
        self.world.config(&format!("mcp-register = \"each\"\n{text}\n{DEFAULTS}"));
    }

    /// Names in a directory of skills.
    fn names(&self, dir: &str) -> Vec<String> {
        let entries = self.root().join(dir).read_dir_utf8().into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_owned()).collect();
        names.sort();
        names
    }

    /// A second plugin with a skill of the same name.
    fn second_origin(&self) -> Utf8PathBuf {
        let manifest = "name = \"other\"\ncrates = [\"*\"]\n[[skills]]\nsource.path = \".\"\n";
        self.world.plugin("other", manifest);
        let dir = self.world.home().join("plugins/other");
        scratch::write(&dir.join("SKILL.md"), SKILL.replace("Derive.", "Other."));
        dir
    }

    /// Nothing is left to do, and doing it writes nothing.
    fn settled(&self) {
        let before = (tree(&self.root()), tree(&self.user()));
        let said = self.ok(&["sync"]);
        assert!(said.starts_with("Nothing to do"), "{said}");
        assert_eq!((tree(&self.root()), tree(&self.user())), before);
    }
}

/// The same without the files that have hosts call us, which they do as long as they are configured.
fn without_hooks(mut files: BTreeMap<Utf8PathBuf, Vec<u8>>) -> BTreeMap<Utf8PathBuf, Vec<u8>> {
    let own = ["settings.json", "hooks.json", "cargo-agents.json", "cargo-agents.js"];
    files.retain(|file, bytes| {
        let calls = String::from_utf8_lossy(bytes).contains("cargo-agents hook ");
        let name = file.file_name().unwrap_or_default();
        let of_goose = file.as_str().contains("plugins/cargo-agents");
        let is_own = of_goose || (calls && own.contains(&name));
        !is_own
    });
    files
}

/// The same without what was agreed to, which stays as `Cargo.lock` does.
fn without_lock(mut files: BTreeMap<Utf8PathBuf, Vec<u8>>) -> BTreeMap<Utf8PathBuf, Vec<u8>> {
    files.retain(|file, _| file != "agents.lock");
    files
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

// Skills: names.

#[test]
fn one_origin_becomes_two_and_the_plain_name_goes() {
    let synced = Synced::new();
    synced.ok(&["sync"]);
    assert_eq!(synced.names(".claude/skills"), ["serde-derive"]);
    synced.second_origin();
    synced.ok(&["sync"]);
    for dir in [".claude/skills", ".agents/skills"] {
        let names = synced.names(dir);
        assert_eq!(names.len(), 2, "{names:?}");
        assert!(names.iter().all(|name| name.starts_with("serde-derive-")), "{names:?}");
    }
    assert_eq!(synced.names(".claude/skills"), synced.names(".agents/skills"));
    synced.settled();
}

#[test]
fn the_users_directory_in_the_way_goes_and_ours_gets_its_plain_name() {
    let synced = Synced::new();
    synced.world.sample.write(".claude/skills/serde-derive/SKILL.md", "mine");
    synced.ok(&["sync"]);
    assert_eq!(synced.names(".claude/skills").len(), 2);
    assert_eq!(synced.names(".agents/skills"), ["serde-derive"]);
    std::fs::remove_dir_all(synced.root().join(".claude/skills/serde-derive")).unwrap();
    synced.ok(&["sync"]);
    assert_eq!(synced.names(".claude/skills"), ["serde-derive"]);
    assert_eq!(synced.read(".claude/skills/serde-derive/SKILL.md"), SKILL);
    synced.settled();
}

#[test]
fn the_users_directory_comes_after_ours_and_is_not_written_into() {
    let synced = Synced::new();
    synced.ok(&["sync"]);
    std::fs::remove_dir_all(synced.root().join(".claude/skills/serde-derive")).unwrap();
    synced.world.sample.write(".claude/skills/serde-derive/SKILL.md", "mine");
    synced.ok(&["sync"]);
    assert_eq!(synced.read(".claude/skills/serde-derive/SKILL.md"), "mine");
    assert_eq!(synced.names(".claude/skills").len(), 2);
    synced.settled();
    synced.ok(&["uninstall"]);
    assert_eq!(synced.names(".claude/skills"), ["serde-derive"]);
    assert_eq!(synced.read(".claude/skills/serde-derive/SKILL.md"), "mine");
}

// Skills: contents.

#[test]
fn a_skill_is_replaced_as_a_whole() {
    let synced = Synced::new();
    let source = synced.world.home().join("plugins/serde/skills/serde-derive");
    scratch::write(&source.join("references/old.md"), "old");
    scratch::write(&source.join(".gitignore"), "target\n");
    std::fs::create_dir_all(source.join("empty")).unwrap();
    synced.ok(&["sync"]);
    assert_eq!(synced.read(".claude/skills/serde-derive/references/old.md"), "old");
    assert!(synced.root().join(".claude/skills/serde-derive/empty").is_dir());
    assert_eq!(synced.read(".claude/skills/serde-derive/.gitignore"), "*\n");
    synced.settled();
    std::fs::remove_dir_all(source.join("references")).unwrap();
    std::fs::remove_dir(source.join("empty")).unwrap();
    scratch::write(&source.join("scripts/new.sh"), "#!/bin/sh\n");
    set_executable(&source.join("scripts/new.sh"));
    let said = synced.ok(&["sync"]);
    assert!(said.contains("updated"), "{said}");
    let target = synced.root().join(".claude/skills/serde-derive");
    let files: Vec<Utf8PathBuf> = tree(&target).into_keys().collect();
    assert_eq!(files, [".gitignore", ".symposium", "SKILL.md", "scripts/new.sh"]);
    assert!(!target.join("empty").exists() && !target.join("references").exists());
    assert!(is_executable(&target.join("scripts/new.sh")));
    synced.settled();
}

#[cfg(unix)]
fn set_executable(path: &Utf8Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[cfg(unix)]
fn is_executable(path: &Utf8Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().unwrap().permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn set_executable(_: &Utf8Path) {}

#[cfg(not(unix))]
fn is_executable(_: &Utf8Path) -> bool {
    true
}

#[test]
fn a_crate_changes_its_version_and_its_skill_with_it() {
    let synced = Synced::new();
    let manifest = "name = \"sql\"\ncrates = [\"tiny-sql\"]\n[[skills]]\nsource = \"crate\"\n";
    synced.world.plugin("sql", manifest);
    let sample = &synced.world.sample;
    let skill = |version: &str| {
        format!("---\nname: tiny-sql\ndescription: Use for queries\n---\nThis is {version}.\n")
    };
    for version in ["0.3.1", "0.3.2"] {
        let files = [("src/lib.rs", ""), ("skills/tiny-sql/SKILL.md", &skill(version))];
        sample.vendor().krate("tiny-sql", version, "", &files);
    }
    synced.ok(&["sync"]);
    let earlier = synced.read("Cargo.lock");
    sample.cargo(&["update", "-p", "tiny-sql"]);
    let later = synced.read("Cargo.lock");
    for (version, lock) in [("0.3.2", &later), ("0.3.1", &earlier)] {
        sample.write("Cargo.lock", lock);
        synced.ok(&["sync"]);
        for dir in [".claude/skills", ".agents/skills"] {
            assert_eq!(synced.read(&format!("{dir}/tiny-sql/SKILL.md")), skill(version));
            assert_eq!(synced.names(dir), ["serde-derive", "tiny-sql"]);
        }
        synced.settled();
    }
}

// What no longer applies, in every way in which that can happen.

#[test]
fn the_dependency_goes() {
    let synced = Synced::new();
    let before = tree(&synced.root());
    synced.ok(&["sync"]);
    let sample = &synced.world.sample;
    let (manifest, lock) = (synced.read("Cargo.toml"), synced.read("Cargo.lock"));
    sample.package(".", "app", "0.1.0", "[dependencies]\ntiny-sql = \"0.3\"\n");
    sample.lock();
    synced.ok(&["sync"]);
    assert_eq!(synced.names(".claude/skills"), [""; 0]);
    sample.write("Cargo.toml", &manifest);
    sample.write("Cargo.lock", &lock);
    assert_eq!(without_hooks(tree(&synced.root())), before);
    synced.ok(&["sync"]);
    assert_eq!(synced.names(".claude/skills"), ["serde-derive"]);
}

#[test]
fn the_plugin_goes() {
    let synced = Synced::new();
    let before = tree(&synced.root());
    synced.ok(&["sync"]);
    std::fs::remove_dir_all(synced.world.home().join("plugins/serde")).unwrap();
    synced.ok(&["sync"]);
    assert_eq!(without_hooks(tree(&synced.root())), before);
}

#[test]
fn the_last_host_goes() {
    let synced = Synced::new();
    let before = tree(&synced.root());
    synced.ok(&["sync"]);
    synced.configure("hosts = []\nhook-scope = \"project\"");
    let run = synced.run(&["sync"]);
    assert!(run.stderr.contains("no coding agent is configured"), "{run:?}");
    assert_eq!(without_lock(tree(&synced.root())), before);
}

#[test]
fn a_host_comes_and_the_others_keep_theirs() {
    let synced = Synced::new();
    synced.configure("hosts = [\"claude\"]\nhook-scope = \"project\"");
    synced.ok(&["sync"]);
    let claude = tree(&synced.root().join(".claude"));
    assert!(!synced.root().join(".codex").exists());
    synced.configure("hosts = [\"claude\", \"codex\", \"kiro\"]\nhook-scope = \"project\"");
    synced.ok(&["sync"]);
    assert_eq!(tree(&synced.root().join(".claude")), claude);
    assert!(synced.read(".codex/config.toml").contains("explain"));
    assert_eq!(synced.names(".kiro/skills"), ["serde-derive"]);
    synced.settled();
}

// The workspace's own skills.

#[test]
fn a_skill_of_the_workspace_reaches_the_hosts_that_do_not_read_it_and_goes_with_its_source() {
    let synced = Synced::new();
    let own = "---\nname: house-rules\ndescription: Use always\n---\nBe kind.\n";
    synced.world.sample.write(".agents/skills/house-rules/SKILL.md", own);
    let source = tree(&synced.root().join(".agents/skills/house-rules"));
    synced.ok(&["sync"]);
    assert_eq!(synced.read(".claude/skills/house-rules/SKILL.md"), own);
    assert_eq!(tree(&synced.root().join(".agents/skills/house-rules")), source, "no mark in it");
    synced.settled();
    // It changes, and so does the copy.
    synced.world.sample.write(".agents/skills/house-rules/SKILL.md", &own.replace("kind", "brief"));
    synced.ok(&["sync"]);
    assert!(synced.read(".claude/skills/house-rules/SKILL.md").contains("Be brief."));
    std::fs::remove_dir_all(synced.root().join(".agents/skills/house-rules")).unwrap();
    synced.ok(&["sync"]);
    assert_eq!(synced.names(".claude/skills"), ["serde-derive"]);
}

#[test]
fn syncing_the_workspaces_own_skills_is_turned_off_and_the_copies_go() {
    let synced = Synced::new();
    synced.world.sample.write(".agents/skills/house-rules/SKILL.md", "Be kind.\n");
    synced.ok(&["sync"]);
    assert_eq!(synced.names(".claude/skills"), ["house-rules", "serde-derive"]);
    let hosts = "hosts = [\"claude\", \"codex\"]\nhook-scope = \"project\"";
    synced.configure(&format!("{hosts}\nagents-syncing = false"));
    synced.ok(&["sync"]);
    assert_eq!(synced.names(".claude/skills"), ["serde-derive"]);
    assert_eq!(synced.read(".agents/skills/house-rules/SKILL.md"), "Be kind.\n");
}

#[test]
fn a_skill_of_the_workspace_does_not_replace_one_that_the_user_keeps_for_a_host() {
    let synced = Synced::new();
    synced.world.sample.write(".agents/skills/house-rules/SKILL.md", "for all");
    synced.world.sample.write(".claude/skills/house-rules/SKILL.md", "for claude");
    synced.ok(&["sync"]);
    assert_eq!(synced.read(".claude/skills/house-rules/SKILL.md"), "for claude");
    synced.settled();
}

// MCP servers.

#[test]
fn a_server_that_changed_is_updated_and_one_that_the_user_changed_is_not() {
    let synced = Synced::new();
    synced.ok(&["sync"]);
    let manifest = synced.world.home().join("plugins/serde/SYMPOSIUM.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    scratch::write(&manifest, text.replace("--stdio", "--quiet"));
    synced.ok(&["sync"]);
    assert_eq!(
        json_of(&synced.read(".mcp.json"))["mcpServers"]["explain"]["args"],
        json!(["--quiet"])
    );
    assert!(synced.read(".codex/config.toml").contains("--quiet"));
    // Theirs, from now on.
    let mine = synced.read(".codex/config.toml").replace("--quiet", "--mine");
    synced.world.sample.write(".codex/config.toml", &mine);
    scratch::write(&manifest, text.replace("--stdio", "--loud"));
    let run = synced.run(&["sync"]);
    assert!(run.stderr.contains("was edited after it was registered"), "{run:?}");
    assert!(synced.read(".mcp.json").contains("--loud"));
    assert_eq!(synced.read(".codex/config.toml"), mine);
    synced.ok(&["sync", "--overwrite"]);
    assert!(synced.read(".codex/config.toml").contains("--loud"));
}

#[test]
fn the_scope_of_servers_changes_and_nothing_is_left_in_the_old_one() {
    let synced = Synced::new();
    let settings = "{\n  // mine\n  \"theme\": \"dark\"\n}\n";
    scratch::write(&synced.user().join(".claude.json"), settings);
    let before = (tree(&synced.root()), tree(&synced.user()));
    synced.ok(&["sync"]);
    assert!(synced.read(".mcp.json").contains("explain"));
    assert_eq!(tree(&synced.user()), before.1);
    synced.configure("hosts = [\"claude\", \"codex\"]\nhook-scope = \"global\"");
    synced.ok(&["sync"]);
    assert!(!synced.root().join(".mcp.json").exists() && !synced.root().join(".codex").exists());
    let user = |path: &str| std::fs::read_to_string(synced.user().join(path)).unwrap();
    assert!(user(".claude.json").contains("explain") && user(".claude.json").contains("// mine"));
    assert!(user(".codex/config.toml").contains("explain"));
    synced.settled();
    synced.ok(&["uninstall"]);
    assert_eq!((without_lock(tree(&synced.root())), tree(&synced.user())), before);
}

#[test]
fn a_host_moves_its_home_and_its_servers_move_with_it() {
    let synced = Synced::new();
    synced.configure("hosts = [\"claude\", \"codex\", \"goose\"]\nhook-scope = \"global\"");
    synced.ok(&["sync"]);
    let plain: Vec<Utf8PathBuf> = tree(&synced.user()).into_keys().collect();
    let goose = [
        ".agents/plugins/cargo-agents/hooks/hooks.json",
        ".agents/plugins/cargo-agents/skills/cargo-agents/SKILL.md",
    ];
    let expected = [
        goose[0],
        goose[1],
        ".claude/settings.json",
        ".claude.json",
        ".codex/config.toml",
        ".codex/hooks.json",
        ".config/goose/config.yaml",
    ];
    assert_eq!(plain, expected);
    let moved = synced.world.sample.scratch().path("moved");
    let (claude, codex, config) = (moved.join("claude"), moved.join("codex"), moved.join("config"));
    let variables: [(&str, &Utf8Path); 3] =
        [("CLAUDE_CONFIG_DIR", &claude), ("CODEX_HOME", &codex), ("XDG_CONFIG_HOME", &config)];
    let run = synced.run_in(&synced.root(), &["sync"], &variables);
    assert_eq!(run.code, Some(0), "{run:?}");
    let now: Vec<Utf8PathBuf> = tree(&moved).into_keys().collect();
    let expected = [
        "claude/.claude.json",
        "claude/settings.json",
        "codex/config.toml",
        "codex/hooks.json",
        "config/goose/config.yaml",
    ];
    assert_eq!(now, expected);
    let left: Vec<Utf8PathBuf> = tree(&synced.user()).into_keys().collect();
    assert_eq!(left, goose, "nothing is left where nobody looks");
}

#[test]
fn two_workspaces_share_an_entry_and_the_last_one_takes_it_away() {
    let synced = Synced::new();
    synced.configure("hosts = [\"codex\"]\nhook-scope = \"global\"");
    let second = synced.world.sample.copy("second");
    let sync_in = |dir: &Utf8Path| {
        let run = synced.run_in(dir, &["sync"], &[]);
        assert_eq!(run.code, Some(0), "{run:?}");
    };
    sync_in(&synced.root());
    sync_in(&second);
    let shared = tree(&synced.user());
    assert_eq!(shared.len(), 2);
    synced.plugin("crates = [\"absent\"]");
    sync_in(&synced.root());
    assert_eq!(tree(&synced.user()), shared, "the second still wants it, as far as we know");
    sync_in(&second);
    assert_eq!(without_hooks(tree(&synced.user())), BTreeMap::new());
    // The host goes, here first.
    synced.configure("hosts = []");
    sync_in(&synced.root());
    assert_eq!(tree(&synced.user()).len(), 1, "the second still has it call us, as far as we know");
    sync_in(&second);
    assert_eq!(tree(&synced.user()), BTreeMap::new());
}

#[test]
fn every_format_is_stable_and_comes_back_to_the_byte() {
    let synced = Synced::new();
    synced.configure("hosts = [\"claude\", \"codex\", \"goose\", \"opencode\", \"copilot\"]\nhook-scope = \"global\"");
    let user = synced.user();
    for (path, text) in [
        (".claude.json", ""),
        (".codex/config.toml", "# mine\r\n[mcp_servers.own]\r\ncommand = \"x\"\r\n"),
        (".config/goose/config.yaml", "# mine\nextensions:\nGOOSE_MODEL: m # the best\n"),
        (".config/opencode/opencode.json", "\u{feff}{ \"mcp\": { \"own\": {} }, }"),
        (".copilot/mcp-config.json", " \n"),
    ] {
        scratch::write(&user.join(path), text);
    }
    let before = tree(&user);
    let said = synced.ok(&["sync"]);
    let changed = without_hooks(tree(&user))
        .iter()
        .filter(|(path, bytes)| before.get(*path) != Some(bytes))
        .count();
    assert_eq!(changed, 5, "{said}");
    synced.settled();
    synced.ok(&["uninstall"]);
    assert_eq!(tree(&user), before);
}

#[test]
fn a_broken_file_is_mended_and_gets_what_it_missed() {
    let synced = Synced::new();
    synced.world.sample.write(".codex/config.toml", "model = \"m\"\n[mcp_servers\n");
    let run = synced.run(&["sync"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(synced.read(".codex/config.toml"), "model = \"m\"\n[mcp_servers\n");
    synced.world.sample.write(".codex/config.toml", "model = \"m\"\n");
    synced.ok(&["sync"]);
    assert!(synced.read(".codex/config.toml").contains("[mcp_servers.explain]"));
    synced.settled();
    // And it breaks while we own something in it: that is remembered until it can be taken back.
    let whole = synced.read(".codex/config.toml");
    synced.world.sample.write(".codex/config.toml", &format!("{whole}["));
    assert!(synced.run(&["uninstall"]).stderr.contains("left alone"));
    synced.world.sample.write(".codex/config.toml", &whole);
    synced.ok(&["uninstall"]);
    assert_eq!(synced.read(".codex/config.toml"), "model = \"m\"\n");
}

#[test]
fn outside_a_workspace_nothing_is_written() {
    let synced = Synced::new();
    let outside = synced.world.outside();
    let run = synced.world.agents_in(&outside, &["sync"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("this is not a Rust workspace"), "{run:?}");
    assert_eq!(tree(&outside), BTreeMap::new());
}

#[test]
fn one_server_stands_for_all_unless_each_is_wanted() {
    let synced = Synced::new();
    let other = "name = \"other\"\ncrates = [\"serde\"]\n[[mcp_servers]]\nname = \"second\"\ncommand = \"second\"\n";
    synced.world.plugin("other", other);
    let hosts = "hosts = [\"claude\", \"codex\", \"goose\", \"opencode\", \"copilot\"]\nhook-scope = \"project\"";
    let config = |how: &str| synced.world.config(&format!("{hosts}\n{how}\n{DEFAULTS}"));
    config("");
    let run = synced.run(&["sync"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let servers = |file: &str, key: &str| json_of(&synced.read(file))[key].clone();
    let ours = serde_json::json!({"cargo-agents": {"command": "cargo-agents", "args": ["mcp"]}});
    assert_eq!(servers(".mcp.json", "mcpServers"), ours);
    assert_eq!(
        servers("opencode.json", "mcp")["cargo-agents"]["command"],
        serde_json::json!(["cargo-agents", "mcp"])
    );
    let codex = synced.read(".codex/config.toml");
    assert!(codex.contains("[mcp_servers.cargo-agents]") && !codex.contains("explain"), "{codex}");
    assert_eq!(synced.run(&["sync", "--check"]).code, Some(0));
    // One plugin fewer changes no byte; none at all does.
    let before = synced.read(".mcp.json");
    synced.world.plugin("other", "name = \"other\"\ncrates = [\"serde\"]\n");
    assert_eq!(synced.run(&["sync"]).code, Some(0));
    assert_eq!(synced.read(".mcp.json"), before);
    synced.plugin("crates = [\"diesel\"]");
    assert_eq!(synced.run(&["sync"]).code, Some(0));
    assert!(!synced.root().join(".mcp.json").exists());
    synced.plugin("crates = [\"serde\"]");
    synced.run(&["sync"]);
    config("mcp-register = \"each\"");
    let diff = synced.run(&["diff"]).stdout;
    assert!(
        diff.contains("-[mcp_servers.cargo-agents]") && diff.contains("+[mcp_servers.explain]"),
        "{diff}"
    );
    synced.run(&["sync"]);
    let each = serde_json::json!({"explain": {"command": "explain", "args": ["--stdio"]}});
    assert_eq!(servers(".mcp.json", "mcpServers"), each);
    config("");
    synced.run(&["sync"]);
    assert_eq!(servers(".mcp.json", "mcpServers"), ours);
    synced.run(&["uninstall"]);
    for file in [".mcp.json", ".codex/config.toml", "opencode.json"] {
        assert!(!synced.root().join(file).exists(), "{file}");
    }
}
