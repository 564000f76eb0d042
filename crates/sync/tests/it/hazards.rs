//! What has cost users of other installers real time, each as a test. What concerns hooks only is with the hooks.

use agents_sync::Desired;
use agents_system::finding::Severity;
use agents_testkit::scratch::Scratch;
use serde_json::{Value, json};

use crate::world::{World, server, skill, tree};

fn guide(world: &World, dir: &str) -> agents_sync::DesiredSkill {
    skill(&world.path(dir), "guide", "one", tree(&[("SKILL.md", "guide")]))
}

fn demo(world: &World, file: &str) -> Desired {
    let servers =
        vec![server(&world.path(file), &["mcpServers", "demo"], json!({ "command": "x" }))];
    Desired { parts: servers, ..Desired::default() }
}

/// Codex mounts `.agents` and `.codex` read-only in its sandbox.
#[cfg(unix)]
#[test]
fn a_read_only_place_stops_only_what_goes_there() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    let mut desired = demo(&world, ".mcp.json");
    desired.parts.push(server(
        &world.path(".codex/config.toml"),
        &["mcp_servers", "demo"],
        json!({ "command": "x" }),
    ));
    desired.skills = vec![guide(&world, ".agents/skills"), guide(&world, ".claude/skills")];
    // Also for root, who may write into any directory: a file that is read-only, and a file in the way.
    world.write(".codex/config.toml", "model = \"m\"\n");
    let closed = world.path(".codex/config.toml");
    fs_err::set_permissions(&closed, PermissionsExt::from_mode(0o444)).unwrap();
    world.write(".agents", "");
    let applied = world.sync(&desired);
    assert_eq!(applied.failed.len(), 2, "{:#?}", applied.failed);
    for finding in &applied.failed {
        assert!(finding.message.starts_with("not written: "), "{finding:?}");
        assert!(finding.place.is_some(), "{finding:?}");
    }
    assert_eq!(world.read(".codex/config.toml").as_deref(), Some("model = \"m\"\n"));
    assert!(world.read(".mcp.json").is_some());
    assert!(world.read(".claude/skills/guide/SKILL.md").is_some());
    assert_eq!(world.ledger().entries.len(), 2, "only what was written is ours");
    // When it opens again, the next sync does the rest.
    fs_err::set_permissions(&closed, PermissionsExt::from_mode(0o644)).unwrap();
    fs_err::remove_file(world.path(".agents")).unwrap();
    assert!(world.sync(&desired).failed.is_empty());
    assert_eq!(world.ledger().entries.len(), 4);
    world.uninstall();
    assert_eq!(world.files().into_keys().collect::<Vec<_>>(), [".codex/config.toml"]);
    assert_eq!(world.read(".codex/config.toml").as_deref(), Some("model = \"m\"\n"));
}

/// One key that a host does not know may make it refuse the whole file.
#[test]
fn no_key_is_added_but_the_entry_itself() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    for (file, original) in [("a.json", "{ \"version\": 1 }"), ("b.json", "")] {
        world.write(file, original);
        world.sync(&demo(&world, file));
        let now: Value = serde_json::from_str(&world.read(file).unwrap()).unwrap();
        let mut meant: Value = serde_json::from_str(original).unwrap_or(json!({}));
        meant["mcpServers"] = json!({ "demo": { "command": "x" } });
        assert_eq!(now, meant);
    }
}

/// Settings that are kept in a repository of dotfiles, and a whole directory of a host that is.
#[cfg(unix)]
#[test]
fn links_stay_links_and_what_they_lead_to_is_edited() {
    use fs_err::os::unix::fs::symlink;
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    world.write("dotfiles/mcp.json", "{\n  // mine\n}\n");
    world.write("dotfiles/codex/config.toml", "model = \"m\"\n");
    symlink("dotfiles/mcp.json", world.path(".mcp.json")).unwrap();
    symlink("dotfiles/codex", world.path(".codex")).unwrap();
    let before = world.files();
    let mut desired = demo(&world, ".mcp.json");
    desired.parts.push(server(
        &world.path(".codex/config.toml"),
        &["mcp_servers", "demo"],
        json!({ "command": "x" }),
    ));
    desired.skills = vec![guide(&world, ".codex/skills")];
    for _ in 0..2 {
        assert!(world.sync(&desired).failed.is_empty());
        assert!(world.path(".mcp.json").is_symlink() && world.path(".codex").is_symlink());
        assert!(world.read("dotfiles/mcp.json").unwrap().contains("demo"));
        assert!(world.read("dotfiles/codex/config.toml").unwrap().contains("demo"));
        assert!(world.read("dotfiles/codex/skills/guide/SKILL.md").is_some());
    }
    world.uninstall();
    assert!(world.path(".mcp.json").is_symlink() && world.path(".codex").is_symlink());
    assert_eq!(world.files(), before);
}

/// A link that leads nowhere is somebody's, and is no missing file.
#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_left_alone() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    fs_err::os::unix::fs::symlink("gone/mcp.json", world.path(".mcp.json")).unwrap();
    let plan = world.sync(&demo(&world, ".mcp.json")).plan;
    assert!(plan.changes.is_empty());
    assert!(plan.findings[0].message.contains("does not exist"), "{:?}", plan.findings);
    assert!(world.path(".mcp.json").is_symlink() && !world.path("gone").exists());
}

/// A parser that fails is no reason to begin with `{}`.
#[test]
fn what_cannot_be_understood_is_never_written_anew() {
    let unreadable: [&[u8]; 9] = [
        b"{ \"mcpServers\": { \"mine\": {",
        b"{ \"a\": 1 } }",
        b"{ 'a': 1 }",
        b"[]",
        b"null",
        b"{ \"mcpServers\": [] }",
        b"{ \"a\": 1, \"a\": 2 }",
        b"\xff\xfe{\x00}\x00",
        b"{ \"a\": \"\x80\" }",
    ];
    for original in unreadable {
        let scratch = Scratch::new();
        let world = World::at(scratch.root());
        world.write(".mcp.json", original);
        let before = world.files();
        let desired = demo(&world, ".mcp.json");
        let plan = world.sync(&desired).plan;
        assert!(plan.changes.is_empty(), "{original:?}");
        assert_eq!(plan.findings.len(), 1, "{original:?}: {:?}", plan.findings);
        assert_eq!(plan.findings[0].severity, Severity::Error);
        assert_eq!(world.files(), before);
        assert!(world.ledger().entries.is_empty(), "nothing there is ours");
        world.uninstall();
        assert_eq!(world.files(), before);
        // A file that was only read while somebody wrote it is whole the next time.
        world.write(".mcp.json", "{}");
        world.sync(&desired);
        assert!(world.read(".mcp.json").unwrap().contains("demo"));
    }
}

/// Comments, trailing commas and byte order marks are no errors.
#[test]
fn what_hosts_accept_is_accepted_and_kept() {
    for original in [
        "// mine\n{\n  /* all */ \"mcpServers\": { // of them\n  },\n}\n",
        "\u{feff}{ \"a\": [1, 2,], }",
        "\u{feff}",
        "{\r\n\t\"a\": 1 // last\r\n}",
        "",
        "\n\n",
    ] {
        let scratch = Scratch::new();
        let world = World::at(scratch.root());
        world.write(".mcp.json", original);
        let plan = world.sync(&demo(&world, ".mcp.json")).plan;
        assert!(plan.findings.is_empty(), "{original:?}: {:?}", plan.findings);
        let now = world.read(".mcp.json").unwrap();
        assert!(now.contains("demo"));
        assert_eq!(now.starts_with('\u{feff}'), original.starts_with('\u{feff}'));
        world.uninstall();
        assert_eq!(world.read(".mcp.json").as_deref(), Some(original));
    }
}

/// OpenCode and Goose read `.claude/skills` and `.agents/skills`: what they see twice must be the same thing twice.
#[test]
fn a_skill_has_one_name_and_one_content_in_every_directory_that_a_host_reads() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    let dirs = [".claude/skills", ".agents/skills"];
    let desired = Desired {
        skills: dirs.iter().map(|dir| guide(&world, dir)).collect(),
        ..Desired::default()
    };
    world.sync(&desired);
    let below = |dir: &str| -> Vec<(String, Vec<u8>)> {
        let files = world.files().into_iter();
        files
            .filter_map(|(path, bytes)| Some((path.strip_prefix(dir)?.to_owned(), bytes)))
            .collect()
    };
    assert!(below(dirs[0]).iter().any(|(path, _)| path == "/guide/SKILL.md"));
    assert_eq!(below(dirs[0]), below(dirs[1]));
}

/// Worktrees are workspaces of their own: what one lets go of, the other keeps.
#[test]
fn a_worktree_takes_nothing_from_the_main_checkout() {
    let scratch = Scratch::new();
    let world = World::at(scratch.root());
    let (main, tree) = (world.path("main"), world.path("worktree"));
    let wanted = |at: &str| {
        let mut desired = demo(&world, "home/settings.json");
        desired.skills = vec![guide(&world, &format!("{at}/.claude/skills"))];
        desired
    };
    world.sync_for(&main, &wanted("main"));
    world.sync_for(&tree, &wanted("worktree"));
    let both = world.files();
    world.sync_for(&tree, &Desired::default());
    assert!(world.read("worktree/.claude/skills/guide/SKILL.md").is_none());
    assert!(world.read("main/.claude/skills/guide/SKILL.md").is_some());
    assert_eq!(world.files()["home/settings.json"], both["home/settings.json"]);
    world.sync_for(&main, &Desired::default());
    assert!(world.files().is_empty());
}
