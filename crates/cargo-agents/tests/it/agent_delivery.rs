//! `cargo agents sync` brings the agents of active plugins into every host's own files, and takes them back.

use agents_testkit::scratch;
use serde_json::Value;

use crate::sync::{Synced, tree};

const REVIEWER: &str =
    "---\nname: reviewer\ndescription: Reviews changes\nmaxTurns: 20\n---\n\nYou review.\n";

/// A workspace with two hosts and a plugin for `serde` that brings an agent.
fn world(hosts: &str) -> Synced {
    let synced = Synced::new();
    synced.world.config(&format!(
        "hosts = {hosts}\nhook-scope = \"project\"\n\n[defaults]\nsymposium-recommendations = false\n"
    ));
    plugin(&synced, "crates = [\"serde\"]");
    agent(&synced, REVIEWER);
    synced
}

fn plugin(synced: &Synced, gate: &str) {
    let manifest =
        format!("name = \"serde-tools\"\n{gate}\n[[agents]]\nsource.path = \"agents\"\n");
    synced.world.plugin("serde", &manifest);
}

fn agent(synced: &Synced, text: &str) {
    scratch::write(&synced.world.home().join("plugins/serde/agents/reviewer.md"), text);
}

fn has(synced: &Synced, relative: &str) -> bool {
    synced.root().join(relative).exists()
}

fn json(synced: &Synced, args: &[&str]) -> Value {
    serde_json::from_str(&synced.ok(args)).unwrap()
}

#[test]
fn every_host_gets_an_agent_in_its_own_format() {
    let synced = world("[\"claude\", \"codex\"]");
    let said = synced.ok(&["sync"]);
    assert!(said.contains("serde 1.0.200  agent  reviewer  new       claude, codex\n"), "{said}");
    assert_eq!(synced.read(".claude/agents/reviewer.md"), REVIEWER);
    assert_eq!(
        synced.read(".codex/agents/reviewer.toml"),
        "name = \"reviewer\"\ndescription = \"Reviews changes\"\n\
         developer_instructions = \"\"\"\nYou review.\n\"\"\"\n"
    );
}

#[test]
fn a_second_sync_changes_nothing() {
    let synced = world("[\"claude\", \"codex\"]");
    synced.ok(&["sync"]);
    let before = tree(&synced.root());
    let said = synced.ok(&["sync"]);
    assert!(said.starts_with("Nothing to do"), "{said}");
    assert_eq!(tree(&synced.root()), before);
    synced.ok(&["sync", "--check"]);
}

#[test]
fn an_agent_that_changes_is_written_anew() {
    let synced = world("[\"claude\", \"codex\"]");
    synced.ok(&["sync"]);
    agent(&synced, &REVIEWER.replace("You review.", "You review twice."));
    synced.ok(&["sync"]);
    for file in [".claude/agents/reviewer.md", ".codex/agents/reviewer.toml"] {
        assert!(synced.read(file).contains("You review twice."), "{file}");
    }
}

#[test]
fn agents_go_with_their_plugin() {
    let synced = world("[\"claude\", \"codex\"]");
    synced.ok(&["sync"]);
    plugin(&synced, "crates = [\"no-such-crate\"]");
    let said = synced.ok(&["sync"]);
    assert!(said.contains("removed"), "{said}");
    assert!(!has(&synced, ".claude/agents/reviewer.md"), "{said}");
    assert!(!has(&synced, ".codex/agents/reviewer.toml"), "{said}");
}

#[test]
fn agents_go_when_everything_goes() {
    let synced = world("[\"claude\", \"codex\"]");
    let before = tree(&synced.root());
    synced.ok(&["sync"]);
    assert!(has(&synced, ".claude/agents/reviewer.md"));
    synced.ok(&["uninstall"]);
    let mut after = tree(&synced.root());
    // What was agreed to is the workspace's, not the hosts'.
    after.remove(camino::Utf8Path::new("agents.lock"));
    assert_eq!(after, before);
}

#[test]
fn a_file_of_the_user_with_that_name_stays() {
    let synced = world("[\"claude\", \"codex\"]");
    let mine = "---\nname: reviewer\ndescription: Mine\n---\nMine.\n";
    scratch::write(&synced.root().join(".claude/agents/reviewer.md"), mine);
    let run = synced.run(&["sync"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("a file is there that is not ours"), "{run:?}");
    assert_eq!(synced.read(".claude/agents/reviewer.md"), mine);
    assert!(has(&synced, ".codex/agents/reviewer.toml"), "the other host is still served");
    synced.ok(&["uninstall"]);
    assert_eq!(synced.read(".claude/agents/reviewer.md"), mine);
}

#[test]
fn what_the_user_changed_in_our_file_stays() {
    let synced = world("[\"claude\"]");
    synced.ok(&["sync"]);
    let edited = REVIEWER.replace("You review.", "You review my way.");
    scratch::write(&synced.root().join(".claude/agents/reviewer.md"), &edited);
    let run = synced.run(&["sync"]);
    assert!(run.stderr.contains("it was edited after it was written"), "{run:?}");
    assert_eq!(synced.read(".claude/agents/reviewer.md"), edited);
    synced.ok(&["sync", "--overwrite"]);
    assert_eq!(synced.read(".claude/agents/reviewer.md"), REVIEWER);
}

#[test]
fn a_host_that_reads_the_directory_of_another_one_gets_agents_once() {
    let synced = world("[\"copilot\", \"goose\", \"claude\"]");
    synced.ok(&["sync"]);
    assert!(has(&synced, ".claude/agents/reviewer.md"));
    assert!(!has(&synced, ".github/agents"));
    assert!(!has(&synced, ".goose/agents"));
    let without = world("[\"copilot\"]");
    without.ok(&["sync"]);
    assert!(has(&without, ".github/agents/reviewer.agent.md"));
}

#[test]
fn what_a_host_cannot_be_told_is_said_when_asked() {
    let synced = world("[\"claude\", \"codex\"]");
    let lost = "agent `reviewer` in Codex CLI: the limit of turns cannot be expressed there";
    assert!(!synced.run(&["sync", "--dry-run"]).stderr.contains(lost));
    assert!(synced.run(&["sync", "--dry-run", "--verbose"]).stderr.contains(lost));
    let document = json(&synced, &["sync", "--json"]);
    let findings = document["findings"].as_array().unwrap();
    let said = |it: &&Value| it["message"].as_str().unwrap().starts_with(lost);
    assert_eq!(findings.iter().find(said).unwrap()["severity"], "note");
    let kinds = document["changes"].as_array().unwrap().iter();
    assert_eq!(kinds.filter(|it| it["kind"] == "agent").count(), 2);
}

#[test]
fn what_a_plugin_may_not_say_reaches_no_host() {
    let synced = world("[\"claude\"]");
    agent(&synced, &REVIEWER.replace("maxTurns: 20", "permissionMode: bypassPermissions"));
    let run = synced.run(&["sync"]);
    assert!(run.stderr.contains("asks for a permission mode that asks less"), "{run:?}");
    assert_eq!(
        synced.read(".claude/agents/reviewer.md"),
        "---\nname: reviewer\ndescription: Reviews changes\n---\n\nYou review.\n"
    );
}

#[test]
fn a_file_that_is_no_agent_stops_nothing() {
    let synced = world("[\"claude\"]");
    scratch::write(&synced.world.home().join("plugins/serde/agents/broken.md"), "nothing");
    let run = synced.run(&["sync"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("does not start with a `---` line"), "{run:?}");
    assert!(has(&synced, ".claude/agents/reviewer.md"));
}

#[test]
fn show_prints_what_a_host_would_get_and_what_it_cannot_be_told() {
    let synced = world("[]");
    let run = synced.run(&["agent", "show", "reviewer", "--for", "codex"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.starts_with("name = \"reviewer\"\n"), "{run:?}");
    assert!(run.stderr.contains("in Codex CLI: the limit of turns"), "{run:?}");
    let document = json(&synced, &["agent", "show", "reviewer", "--for", "codex", "--json"]);
    assert_eq!(document["file_name"], "reviewer.toml");
    assert_eq!(document["text"], run.stdout);
    assert_eq!(document["losses"][0]["weakens"], true);
    for (host, why) in [("zed", "Zed has no files of agents"), ("codx", "codex")] {
        let run = synced.run(&["agent", "show", "reviewer", "--for", host]);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(why), "{run:?}");
    }
}

/// A workspace with an agent of its own and one of the user, of which these are to be delivered.
fn own(hosts: &str, deliver: &str) -> Synced {
    let synced = Synced::new();
    configure(&synced, hosts, deliver);
    scratch::write(&synced.root().join(".agents/agents/team.md"), named("team"));
    scratch::write(&synced.world.user().join(".agents/agents/mine.md"), named("mine"));
    synced
}

fn configure(synced: &Synced, hosts: &str, deliver: &str) {
    synced.world.config(&format!(
        "hosts = {hosts}\nhook-scope = \"project\"\n[defaults]\nsymposium-recommendations = false\n\
         [agents]\ndeliver = {deliver}\n"
    ));
}

fn named(name: &str) -> String {
    REVIEWER.replace("reviewer", name)
}

fn user_has(synced: &Synced, relative: &str) -> bool {
    synced.world.user().join(relative).exists()
}

#[test]
fn agents_of_the_user_and_of_the_workspace_are_delivered_only_if_asked() {
    let synced = own("[\"claude\", \"codex\"]", "[]");
    synced.ok(&["sync"]);
    assert!(!has(&synced, ".claude/agents") && !user_has(&synced, ".claude/agents"));
    configure(&synced, "[\"claude\", \"codex\"]", "[\"team\"]");
    let said = synced.ok(&["sync"]);
    assert!(said.contains(".agents/agents  agent  team  new       claude, codex\n"), "{said}");
    assert_eq!(synced.read(".claude/agents/team.md"), named("team"));
    assert!(has(&synced, ".codex/agents/team.toml"));
    assert!(!user_has(&synced, ".claude/agents"));
    configure(&synced, "[\"claude\", \"codex\"]", "\"*\"");
    synced.ok(&["sync"]);
    assert!(user_has(&synced, ".claude/agents/mine.md"), "the user's own go to the user's own");
    assert!(user_has(&synced, ".codex/agents/mine.toml"));
    assert!(!has(&synced, ".claude/agents/mine.md"));
    assert!(synced.ok(&["sync"]).starts_with("Nothing to do"));
    synced.ok(&["sync", "--check"]);
    configure(&synced, "[\"claude\", \"codex\"]", "[]");
    synced.ok(&["sync"]);
    assert!(!has(&synced, ".claude/agents") && !user_has(&synced, ".claude/agents"));
    assert!(has(&synced, ".agents/agents/team.md") && user_has(&synced, ".agents/agents/mine.md"));
}

#[test]
fn what_an_own_agent_loses_in_a_host_is_said_when_asked() {
    let synced = own("[\"codex\"]", "[\"team\"]");
    let said = synced.run(&["sync", "--verbose"]).stderr;
    assert!(said.contains("agent `team` in Codex CLI: the limit of turns cannot be"), "{said}");
    let said = synced.run(&["sync"]).stderr;
    assert!(!said.contains("limit of turns"), "{said}");
    configure(&synced, "[\"codex\"]", "[\"tema\"]");
    let said = synced.run(&["sync"]).stderr;
    assert!(said.contains("names `tema`, and there is no such agent"), "{said}");
}

#[test]
fn a_host_that_reads_where_an_agent_is_gets_no_copy() {
    let synced = own("[\"goose\", \"antigravity\"]", "\"*\"");
    synced.ok(&["sync"]);
    assert!(!has(&synced, ".goose/agents") && !user_has(&synced, ".goose/agents"));
    let files = std::fs::read_dir(synced.root().join(".agents/agents")).unwrap().count();
    assert_eq!(files, 1, "not into the directory that it comes from");
}

#[test]
fn a_copy_is_no_agent_of_its_own_until_somebody_changes_it() {
    let synced = own("[\"claude\"]", "[\"team\"]");
    scratch::write(&synced.world.home().join("plugins/serde/agents/reviewer.md"), REVIEWER);
    plugin(&synced, "crates = [\"serde\"]");
    synced.ok(&["sync"]);
    assert!(has(&synced, ".claude/agents/reviewer.md"));
    let listed = |name: &str| {
        let document = json(&synced, &["agent", "list", "--json"]);
        let agents = document["agents"].as_array().unwrap().clone();
        let winner = agents.into_iter().find(|it| it["name"] == name && it["available"] == true);
        winner.unwrap()["source"].as_str().unwrap().to_owned()
    };
    assert_eq!(listed("reviewer"), "plugin serde-tools");
    let explained = synced.ok(&["agent", "explain", "reviewer"]);
    let copy = "a copy that `sync` delivered of the agent from serde 1.0.200\n";
    assert!(explained.contains("  copy      project ") && explained.contains(copy), "{explained}");
    let explained = synced.ok(&["agent", "explain", "team"]);
    assert!(explained.contains("delivered of the agent from .agents/agents\n"), "{explained}");
    let edited = synced.run(&["agent", "edit", "team", "effort=low"]);
    assert!(edited.stdout.contains(".agents/agents/team.md"), "the one it was made of: {edited:?}");
    synced.ok(&["sync"]);
    assert!(synced.read(".claude/agents/team.md").contains("effort: low"));
    let file = synced.root().join(".claude/agents/reviewer.md");
    scratch::write(&file, REVIEWER.replace("You review.", "You review my way."));
    assert_eq!(listed("reviewer"), "project");
}

#[test]
fn an_own_agent_hides_that_of_a_plugin() {
    let synced = world("[\"claude\"]");
    scratch::write(
        &synced.root().join(".agents/agents/r.md"),
        REVIEWER.replace("review.", "mine."),
    );
    configure(&synced, "[\"claude\"]", "\"*\"");
    let run = synced.run(&["sync", "--verbose"]);
    assert!(synced.read(".claude/agents/reviewer.md").contains("You mine."), "{run:?}");
    assert!(run.stderr.contains("agent `reviewer` is shadowed by"), "{run:?}");
}

#[test]
fn what_a_project_may_not_say_reaches_no_host_until_the_project_is_trusted() {
    let synced = own("[\"claude\"]", "[\"team\"]");
    let text = named("team").replace("maxTurns: 20", "permissionMode: acceptEdits");
    scratch::write(&synced.root().join(".agents/agents/team.md"), text);
    let run = synced.run(&["sync"]);
    assert!(run.stderr.contains("`[agents] trust` in `config.toml`"), "{run:?}");
    assert!(!synced.read(".claude/agents/team.md").contains("permissionMode"));
    let root = synced.root();
    let trusted = format!("[\"team\"]\ntrust = [\"{root}\"]");
    configure(&synced, "[\"claude\"]", &trusted);
    let run = synced.run(&["sync"]);
    assert_eq!(run.stderr, "", "{run:?}");
    assert!(synced.read(".claude/agents/team.md").contains("permissionMode: acceptEdits"));
}

#[test]
fn git_does_not_see_what_was_delivered_and_sees_everything_else() {
    let synced = own("[\"claude\"]", "\"*\"");
    scratch::write(&synced.root().join(".claude/agents/mine-too.md"), named("mine-too"));
    synced.ok(&["sync"]);
    let ignore = ".claude/agents/.gitignore";
    assert_eq!(
        synced.read(ignore),
        "# Written by `cargo agents sync`, as are these files.\n/.gitignore\n/team.md\n"
    );
    assert!(!user_has(&synced, ignore), "the home is not for git");
    synced.ok(&["sync", "--check"]);
    scratch::write(&synced.root().join(".agents/agents/more.md"), named("more"));
    synced.ok(&["sync"]);
    assert!(synced.read(ignore).ends_with("/more.md\n/team.md\n"));
    synced.ok(&["uninstall"]);
    assert!(!has(&synced, ignore) && has(&synced, ".claude/agents/mine-too.md"));
}

#[test]
fn who_has_rules_for_git_there_keeps_them_and_so_does_who_has_that_agent() {
    let synced = own("[\"claude\", \"codex\"]", "\"*\"");
    scratch::write(&synced.root().join(".claude/agents/.gitignore"), "mine\n");
    scratch::write(&synced.root().join(".codex/agents/team.toml"), "name = \"team\"\n");
    let run = synced.run(&["sync"]);
    assert!(run.stderr.contains("a file is there that is not ours"), "{run:?}");
    assert_eq!(synced.read(".claude/agents/.gitignore"), "mine\n");
    assert!(!has(&synced, ".codex/agents/.gitignore"), "their own agent is theirs to commit");
}

#[test]
fn a_diff_of_one_agent_shows_its_lines() {
    let synced = world("[\"claude\", \"codex\"]");
    let said = synced.ok(&["diff", "reviewer"]);
    assert_eq!(said.matches("+You review.\n").count(), 2, "{said}");
    assert!(!said.contains("settings.json"), "{said}");
}
