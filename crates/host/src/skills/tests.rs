use insta::assert_snapshot;

use super::*;
use crate::testing::{built_in, pick, plain};

fn shown(names: &[&str], scope: Scope) -> String {
    let hosts = built_in();
    let mut picked = pick(&hosts, names);
    let dirs = skill_dirs(&picked, scope, &plain());
    picked.reverse();
    assert_eq!(skill_dirs(&picked, scope, &plain()), dirs, "the order must not matter");
    let lines = dirs.iter().map(|SkillDir { dir, hosts }| {
        let hosts: Vec<&str> = hosts.iter().map(HostId::as_str).collect();
        format!("{dir}: {}\n", hosts.join(", "))
    });
    lines.collect()
}

#[test]
fn one_shared_directory_serves_most_hosts() {
    let names = ["codex", "copilot", "gemini", "opencode", "goose", "qwen", "zed", "antigravity"];
    assert_snapshot!(shown(&names, Scope::Project), @"/w/.agents/skills: antigravity, codex, copilot, gemini, goose, opencode, qwen, zed");
}

#[test]
fn claude_needs_its_own_and_who_reads_it_needs_nothing_more() {
    assert_snapshot!(shown(&["claude"], Scope::Project), @"/w/.claude/skills: claude");
    assert_snapshot!(shown(&["claude", "opencode"], Scope::Project), @"/w/.claude/skills: claude, opencode");
    assert_snapshot!(shown(&["claude", "cursor"], Scope::Project), @"/w/.claude/skills: claude, cursor");
}

#[test]
fn cursor_alone_gets_its_own() {
    assert_snapshot!(shown(&["cursor"], Scope::Project), @"/w/.cursor/skills: cursor");
    assert_snapshot!(shown(&["cursor", "codex"], Scope::Project), @r#"
    /w/.agents/skills: codex
    /w/.cursor/skills: cursor
    "#);
}

#[test]
fn a_host_that_reads_two_of_them_is_named_twice() {
    assert_snapshot!(shown(&["claude", "codex", "opencode", "goose"], Scope::Project), @r#"
    /w/.agents/skills: codex, goose, opencode
    /w/.claude/skills: claude, goose, opencode
    "#);
}

#[test]
fn all_of_them() {
    let hosts = built_in();
    let names: Vec<&str> = hosts.iter().map(|host| host.id.as_str()).collect();
    assert_snapshot!(shown(&names, Scope::Project), @r#"
    /w/.agents/skills: amp, antigravity, codex, copilot, gemini, goose, opencode, qwen, zed
    /w/.claude/skills: amp, claude, copilot, cursor, goose, opencode
    /w/.factory/skills: factory
    /w/.kiro/skills: kiro
    "#);
    assert_snapshot!(shown(&names, Scope::User), @r#"
    /h/.agents/skills: codex, copilot, gemini, goose, opencode, qwen, zed
    /h/.claude/skills: amp, claude, cursor, goose, opencode
    /h/.factory/skills: factory
    /h/.gemini/antigravity-cli/skills: antigravity
    /h/.kiro/skills: kiro
    "#);
}

#[test]
fn a_moved_home_is_not_what_other_hosts_read() {
    let hosts = built_in();
    let env = |name: &str| (name == "CLAUDE_CONFIG_DIR").then(|| "/c".to_owned());
    let roots = Roots { env: &env, ..plain() };
    let dirs = skill_dirs(&pick(&hosts, &["claude", "cursor"]), Scope::User, &roots);
    let dirs: Vec<&str> = dirs.iter().map(|it| it.dir.as_str()).collect();
    assert_eq!(dirs, ["/c/skills", "/h/.cursor/skills"]);
}

#[test]
fn every_set_of_hosts_is_served() {
    let hosts = built_in();
    let all: Vec<&Host> = hosts.iter().collect();
    for bits in 1..1_u32 << all.len() {
        let some: Vec<&Host> =
            (0..all.len()).filter(|at| bits >> at & 1 == 1).map(|at| all[at]).collect();
        let dirs = skill_dirs(&some, Scope::Project, &plain());
        for host in &some {
            assert!(dirs.iter().any(|dir| dir.hosts.contains(&host.id)), "{}", host.id);
        }
        for dir in &dirs {
            // Each directory is there for a host that would see nothing without it.
            let needs_it =
                |id: &HostId| dirs.iter().filter(|it| it.hosts.contains(id)).count() == 1;
            assert!(dir.hosts.iter().any(needs_it), "{bits:b}: {}", dir.dir);
        }
    }
}

#[test]
fn nobody_and_nowhere() {
    assert_eq!(shown(&[], Scope::Project), "");
    let hosts = built_in();
    let roots = Roots { workspace: None, ..plain() };
    assert_eq!(skill_dirs(&pick(&hosts, &["claude"]), Scope::Project, &roots), []);
}

#[test]
fn the_same_host_twice_counts_once() {
    assert_eq!(shown(&["codex", "codex"], Scope::Project), shown(&["codex"], Scope::Project));
}
