use agents_host::{find, hosts};

use super::*;
use crate::{
    definition::Source,
    parse::{Input, Strictness, parse},
};

fn targets_of(names: &[&str]) -> Targets {
    let (all, _) = hosts(None);
    let chosen: Vec<&Host> = names.iter().map(|name| find(&all, name).unwrap()).collect();
    let (home, workspace) = (Utf8Path::new("/home"), Utf8Path::new("/ws"));
    targets(&chosen, Scope::Project, &Roots { home, workspace: Some(workspace), env: &|_| None })
}

fn dirs(names: &[&str]) -> Vec<String> {
    let written = targets_of(names).written;
    written.iter().map(|it| format!("{} {}", it.host, it.dir)).collect()
}

fn definition(name: &str) -> AgentDefinition {
    let text = format!("---\nname: {name}\ndescription: Reviews\nmaxTurns: 20\n---\nReview.\n");
    let file = Utf8PathBuf::from(format!("/plugin/{name}.md"));
    let (dialect, source) = (Dialect::Claude, Source::Plugin("p".to_owned()));
    let strictness = Strictness::Lenient;
    parse(&Input { file: &file, text: &text, dialect, source, strictness }).0.unwrap()
}

#[test]
fn hosts_that_read_the_directory_of_another_one_get_agents_once() {
    let all = ["goose", "copilot", "cursor", "claude"];
    assert_eq!(dirs(&all), ["claude /ws/.claude/agents"], "in whatever order they are configured");
    assert_eq!(
        dirs(&["copilot", "codex"]),
        ["codex /ws/.codex/agents", "copilot /ws/.github/agents"]
    );
}

#[test]
fn a_host_that_reads_where_an_agent_is_needs_no_copy() {
    let (all, _) = hosts(None);
    let roots = Roots {
        home: Utf8Path::new("/home"),
        workspace: Some(Utf8Path::new("/ws")),
        env: &|_| None,
    };
    let readers = |dir: &str| {
        let reading = all.iter().filter(|host| reads(host, dir.into(), &roots));
        reading.map(|host| host.id.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(readers("/ws/.agents/agents"), ["antigravity", "goose"]);
    assert_eq!(readers("/home/.agents/agents"), ["goose"]);
    assert_eq!(readers("/elsewhere"), [""; 0]);
}

#[test]
fn agents_of_the_user_go_where_each_host_keeps_those() {
    let (all, _) = hosts(None);
    let chosen: Vec<&Host> =
        ["claude", "codex", "goose"].map(|name| find(&all, name).unwrap()).to_vec();
    let roots = Roots { home: Utf8Path::new("/home"), workspace: None, env: &|_| None };
    let written = targets(&chosen, Scope::User, &roots).written;
    let dirs: Vec<&str> = written.iter().map(|it| it.dir.as_str()).collect();
    assert_eq!(dirs, ["/home/.claude/agents", "/home/.codex/agents"]);
}

#[test]
fn files_are_called_as_each_host_wants_them() {
    let (all, _) = hosts(None);
    for host in &all {
        let Some(agents) = host.agents.get() else { continue };
        let name = Dialect::of_host(&host.id).file_name("x");
        assert_eq!(name, format!("x{}", agents.suffix), "{}", host.id);
    }
}

#[test]
fn what_a_host_cannot_be_told_is_a_note() {
    let definition = definition("reviewer");
    let (files, findings) = targets_of(&["claude", "codex", "zed"]).deliver([&definition]);
    let files: Vec<&str> = files.iter().map(|it| it.file.as_str()).collect();
    assert_eq!(files, ["/ws/.claude/agents/reviewer.md", "/ws/.codex/agents/reviewer.toml"]);
    let said: Vec<&str> = findings.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        said,
        [
            "agent `reviewer` in Codex CLI: the limit of turns cannot be expressed there: the host decides",
            "Zed does not get the agent `reviewer`: its sub-agents have no files",
        ]
    );
    assert!(findings.iter().all(|it| it.severity == Severity::Note));
}

#[test]
fn of_two_names_that_are_one_file_the_first_is_written() {
    let (one, other) = (definition("task"), definition("Task"));
    let (files, findings) = targets_of(&["claude"]).deliver([&one, &other]);
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].definition.name.as_str(), "task");
    assert!(findings.iter().any(|it| it.message
        == "Claude Code does not get the agent `Task`: `task` is called the same there"));
}

#[test]
fn a_definition_is_not_written_over_itself() {
    let mut own = definition("reviewer");
    own.origin.file = Some("/ws/.claude/agents/reviewer.md".into());
    assert_eq!(targets_of(&["claude"]).deliver([&own]).0, []);
}
