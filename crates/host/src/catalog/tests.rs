use std::collections::BTreeSet;

use camino::Utf8Path;
use insta::assert_snapshot;

use super::*;
use crate::{
    Scope,
    testing::{built_in, plain},
};

fn with(text: &str) -> (Vec<Host>, String) {
    let (hosts, findings) = hosts(Some(Overrides { file: Utf8Path::new("hosts.toml"), text }));
    let lines = findings.iter().map(|it| {
        let place = it.place.as_ref().map(ToString::to_string).unwrap_or_default();
        let more = it.label.iter().chain(&it.hint).map(|more| format!("\n  {more}"));
        format!("{place}: {:?}: {}{}\n", it.severity, it.message, more.collect::<String>())
    });
    let shown = lines.collect();
    (hosts, shown)
}

#[test]
fn every_descriptor_is_sound_and_stands_under_its_own_id() {
    let hosts = built_in();
    let found: Vec<&str> = hosts.iter().map(|host| host.id.as_str()).collect();
    assert_eq!(found, ids().collect::<Vec<_>>());
    assert_eq!(found.len(), 13);
}

#[test]
fn every_descriptor_is_complete() {
    for host in built_in() {
        let id = &host.id;
        assert!(!host.name.is_empty() && !host.aliases.is_empty(), "{id}");
        assert!(!host.detect.programs.is_empty() || !host.detect.paths.is_empty(), "{id}");
        let mcp = host.mcp.get().unwrap();
        assert!(mcp.user.is_some() && !mcp.container.is_empty(), "{id}");
        assert!(mcp.transports.contains(&crate::Transport::Stdio), "{id}");
        if let Some(hooks) = host.hooks.get() {
            assert!(hooks.project.is_some() && hooks.user.is_some(), "{id}");
            assert!(!hooks.events.is_empty() && hooks.timeout.is_some(), "{id}");
            let theirs: BTreeSet<&str> = hooks.events.iter().map(|(_, it)| it.as_str()).collect();
            // A module of ours can tell two moments apart where the host has one.
            if hooks.shape != crate::host::HookShape::OpenCode {
                assert_eq!(theirs.len(), hooks.events.len(), "{id}: one of theirs is two of ours");
            }
        }
        if let Some(agents) = host.agents.get() {
            assert!(agents.project.is_some() && agents.user.is_some(), "{id}");
            assert!(agents.suffix.starts_with('.'), "{id}");
        }
    }
}

#[test]
fn names_are_unambiguous() {
    let hosts = built_in();
    let mut seen = BTreeSet::new();
    for host in &hosts {
        let names =
            std::iter::once(host.id.as_str()).chain(host.aliases.iter().map(String::as_str));
        for name in names {
            assert!(seen.insert(name.to_owned()), "`{name}` is two hosts");
            assert_eq!(find(&hosts, name).unwrap().id, host.id);
        }
    }
}

#[test]
fn a_host_is_found_by_alias_and_by_name_in_any_case() {
    let hosts = built_in();
    for (name, id) in [("Claude Code", "claude"), ("DROID", "factory"), (" agy ", "antigravity")] {
        assert_eq!(find(&hosts, name).unwrap().id.as_str(), id);
    }
}

#[test]
fn an_unknown_host_suggests_the_nearest() {
    let hosts = built_in();
    let error = find(&hosts, "cluade").unwrap_err();
    assert_snapshot!(format!("{error}: {}", error.advice()), @"there is no host `cluade`: did you mean `claude`?");
    let error = find(&hosts, "emacs").unwrap_err();
    assert_snapshot!(format!("{error}: {}", error.advice()), @"there is no host `emacs`: known hosts: `claude`, `codex`, `copilot`, `gemini`, `antigravity`, `kiro`, `opencode`, `goose`, `cursor`, `qwen`, `factory`, `amp` and `zed`");
    assert_eq!(error.finding().severity, agents_system::finding::Severity::Warning);
}

#[test]
fn one_host_can_be_had_alone() {
    let (codex, findings) = host("codex", None);
    assert_eq!(findings, []);
    assert_eq!(codex.as_ref(), Some(find(&built_in(), "codex").unwrap()));
    assert_eq!(host("codex-cli", None).0, None);
}

#[test]
fn no_more_hosts_are_read_than_it_takes() {
    let named = |names: &[&str], overrides: Option<&str>| {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let file = Utf8Path::new("hosts.toml");
        let (hosts, findings) = hosts_for(&names, overrides.map(|text| Overrides { file, text }));
        let ids: Vec<String> = hosts.iter().map(|host| host.id.to_string()).collect();
        (ids.join(" "), findings.len())
    };
    assert_eq!(named(&["kiro", "claude", "kiro"], None), ("claude kiro".to_owned(), 0));
    let all = ids().collect::<Vec<_>>().join(" ");
    // Each of these is found, or missed, among all of them.
    assert_eq!(named(&["kiro", "claude-code"], None), (all.clone(), 0));
    assert_eq!(named(&["kiro", "klaude"], None), (all.clone(), 0));
    // What is wrong with the override of another host is said, too.
    assert_eq!(named(&["kiro"], Some("[host.codex]\nnmae = 'x'\n")), (all, 1));
}

#[test]
fn the_user_replaces_single_keys() {
    let (hosts, findings) = with(
        r#"
        [host.codex]
        name = "My Codex"
        skills.project = ".codex/skills"
        home = "/opt/codex"
        [host.codex.hooks]
        timeout = "20 s"
        events.Notification = "Notification"
        events.PreCompact = ""
    "#,
    );
    assert_eq!(findings, "");
    let codex = find(&hosts, "codex").unwrap();
    let plain_hosts = built_in();
    let before = find(&plain_hosts, "codex").unwrap();
    assert_eq!(codex.name, "My Codex");
    let paths = codex.paths(Scope::Project, &plain());
    assert_eq!(paths.skills_dir.unwrap(), "/w/.codex/skills");
    let paths = codex.paths(Scope::User, &plain());
    assert_eq!(paths.mcp_file.unwrap(), "/opt/codex/config.toml");
    let hooks = codex.hooks.get().unwrap();
    assert_eq!(hooks.timeout.unwrap().value, 20);
    assert_eq!(hooks.event(crate::Event::Notification), Some("Notification"));
    assert_eq!(hooks.event(crate::Event::PreCompact), None);
    assert_eq!(hooks.trust, before.hooks.get().unwrap().trust, "what is not named stays");
    assert_eq!(codex.mcp, before.mcp);
}

#[test]
fn a_surface_can_be_turned_off() {
    let (hosts, findings) = with("[host.claude.hooks]\nnone = \"not here\"");
    assert_eq!(find(&hosts, "claude").unwrap().hooks.reason(), Some("not here"));
    // The descriptor's own keys are then not looked at, which is nobody's mistake.
    assert_eq!(findings, "");
}

#[test]
fn mistakes_are_findings_and_the_descriptor_counts() {
    let (hosts, findings) = with(
        r#"
hst = 1
[host.claud]
name = "x"
[host.emacs]
name = "x"
[host.codex]
id = "other"
nmae = "x"
aliases = "x"
home = "relative"
confidence = "total"
[host.codex.skills]
project = "/etc"
user = 1
also-user = ["{home}/skills", "x"]
[host.codex.hooks]
timeout = "10"
shape = "gropus"
events.PreTool = "x"
[host.zed.hooks]
shape = "groups"
"#,
    );
    assert_snapshot!(findings, @r#"
    hosts.toml:2:1: Warning: unknown key `hst`
      did you mean `host`?
    hosts.toml:3:7: Warning: there is no host `claud`
      did you mean `claude`?
    hosts.toml:5:7: Warning: there is no host `emacs`
      known hosts: `claude`, `codex`, `copilot`, `gemini`, `antigravity`, `kiro`, `opencode`, `goose`, `cursor`, `qwen`, `factory`, `amp` and `zed`
    hosts.toml:10:11: Error: `aliases` must be a list of strings, not a string
    hosts.toml:12:14: Error: `confidence` cannot be `total` in [host.codex]
      allowed: `seen`, `high` or `medium`
    hosts.toml:11:8: Error: a path of the user must begin with `~/`, `$NAME/`, `{home}/` or `/`
    hosts.toml:14:11: Error: a path in the workspace must be relative to it
    hosts.toml:15:8: Error: `user` must be a string or a list of strings, not an integer
    hosts.toml:16:31: Error: a path of the user must begin with `~/`, `$NAME/`, `{home}/` or `/`
    hosts.toml:19:9: Error: `shape` cannot be `gropus` in [host.codex.hooks]
      did you mean `groups`?
      allowed: `groups`, `named-groups`, `groups-file`, `antigravity`, `copilot`, `cursor`, `kiro` or `opencode`
    hosts.toml:18:11: Error: `timeout` must look like `10 s` or `10000 ms`
    hosts.toml:20:8: Warning: unknown key `PreTool` in [host.codex.hooks.events]
      did you mean `PreToolUse`?
    hosts.toml:8:1: Warning: unknown key `id` in [host.codex]
      allowed here: `agents`, `aliases`, `confidence`, `detect`, `headless`, `home`, `hooks`, `instructions`, `mcp`, `name`, `notes`, `plugins`, `reads` and `skills`
    hosts.toml:9:1: Warning: unknown key `nmae` in [host.codex]
      did you mean `name`?
    hosts.toml:22:1: Warning: unknown key `shape` in [host.zed.hooks]
      allowed here: `none`
    "#);
    let mut codex = find(&hosts, "codex").unwrap().clone();
    let plain_hosts = built_in();
    let before = find(&plain_hosts, "codex").unwrap();
    assert_eq!(codex.skills.also_user.len(), 1);
    codex.skills.also_user = before.skills.also_user.clone();
    assert_eq!(&codex, before);
    assert_eq!(hosts.len(), 13);
}

#[test]
fn a_file_that_does_not_parse_changes_nothing() {
    let (hosts, findings) = with("[host.codex\nname = 1");
    assert_snapshot!(findings, @"hosts.toml:1:12: Error: unclosed table, expected `]`");
    assert_eq!(hosts, built_in());
    let (hosts, findings) = with("host = 3");
    assert_snapshot!(findings, @"hosts.toml:1:8: Error: `host` must be a table, not an integer");
    assert_eq!(hosts, built_in());
    let (hosts, findings) = with("[host]\ncodex = 3");
    assert_snapshot!(findings, @"hosts.toml:2:9: Error: `codex` must be a table, not an integer");
    assert_eq!(hosts, built_in());
}

#[test]
fn a_host_is_shown_as_json() {
    let hosts = built_in();
    let zed = serde_json::to_value(find(&hosts, "zed").unwrap()).unwrap();
    assert_eq!(zed["hooks"]["absent"]["reason"], "it has none");
    assert_eq!(zed["home"], serde_json::json!(["$XDG_CONFIG_HOME/zed", "~/.config/zed"]));
    let gemini = serde_json::to_value(find(&hosts, "gemini").unwrap()).unwrap();
    let hooks = &gemini["hooks"]["present"];
    assert_eq!(hooks["shape"], "named-groups");
    assert_eq!(hooks["events"]["PreToolUse"], "BeforeTool");
    assert_eq!(hooks["timeout"], serde_json::json!({"value": 30000, "unit": "ms"}));
}

#[test]
fn a_home_cannot_be_inside_itself() {
    let (hosts, findings) = with("[host.codex]\nhome = \"{home}/x\"");
    assert_snapshot!(findings, @"hosts.toml:1:1: Error: `home` cannot be inside `{home}`");
    assert_eq!(hosts, built_in());
}
