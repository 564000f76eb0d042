//! Tools in all their forms, and which agents may be started.

use super::*;

#[test]
fn tools_are_commas_lists_tables_switches_or_words() {
    use Dialect::*;
    for (dialect, lines, expected) in [
        (Claude, "tools: Read, Grep", "read grep"),
        (Claude, "tools: [Read, Grep]", "read grep"),
        (Claude, "tools: Read\ndisallowedTools: Bash, mcp__github", "read - bash mcp__github__*"),
        (Claude, "tools: '*'", "all"),
        (Claude, "tools: none", "all - *"),
        (Claude, "tools:", "all"),
        (Zeph, "tools:\n  allow: [read, bash]\n  except: [bash]", "read bash - bash"),
        (Zeph, "tools:\n  deny: [bash]\n  except: [write]", "all - bash write"),
        (Zeph, "tools: {}", "all"),
        (Zeph, "tools:\n  allow: []", "all - *"),
        (OhMyPi, "tools: read, search, YIELD", "read grep"),
        (OhMyPi, "tools: [read, find]", "read glob"),
        (OhMyPi, "tools: yield", "all - *"),
        (Copilot, "tools: ['*']", "all"),
        (Copilot, "tools: [read, search, 'github/*']", "read grep glob mcp__github__*"),
        (Gemini, "tools: [read_file, mcp_github_*]", "read mcp__github__*"),
        (Kiro, "tools: ['@github/x', shell]", "mcp__github__x bash"),
        (Factory, "tools: read-only", "read list grep glob"),
        (Factory, "tools: [Read, Execute, mcp__s__t]", "read bash mcp__s__t"),
        (OpenCode, "tools:\n  write: false\n  bash: false", "all - write edit bash"),
        (OpenCode, "tools:\n  '*': false\n  read: true", "read"),
        (OpenCode, "permission:\n  edit: deny\n  bash: deny", "all - write edit bash"),
        (OpenCode, "permission:\n  '*': deny\n  read: allow\n  grep: ask", "read grep"),
        (OpenCode, "permission: deny", "all - *"),
    ] {
        let file = if dialect == Kiro { "x.md".to_owned() } else { dialect.file_name("x") };
        let text = with(lines);
        let (definition, findings) = parse(&input(dialect, &file, &text));
        assert!(findings.is_empty(), "{dialect} {lines}: {findings:?}");
        assert_eq!(tools(&definition.unwrap()), expected, "{dialect} {lines}");
    }
}

#[test]
fn an_empty_list_is_no_restriction_and_says_so() {
    let finding = "4:8 an empty list of tools is no restriction";
    assert_eq!(tools(&warned(Dialect::Claude, &with("tools: []"), &[finding])), "all");
}

#[test]
fn what_is_unknown_or_not_enforced_is_reported() {
    let definition = warned(
        Dialect::Claude,
        &with("tools: Raed, Bash(git *), read_file"),
        &[
            "4:8 `Raed` is not a tool that is known",
            "4:8 `Bash(git *)` restricts the arguments of a tool, which is not enforced here",
            "4:8 `read_file` is not a tool of Claude Code",
        ],
    );
    assert_eq!(tools(&definition), "Raed bash(git *) read");
    warned(
        Dialect::OpenCode,
        "---\ndescription: d\npermission:\n  bash:\n    '*': ask\n    git *: allow\n---\n",
        &["4:3 `bash` restricts the arguments of a tool, which is not enforced here"],
    );
}

#[test]
fn what_might_restrict_and_cannot_be_understood_is_an_error() {
    for (dialect, lines) in [
        (Dialect::Claude, "tools: [Read, 5]"),
        (Dialect::Claude, "tools: 5"),
        (Dialect::Claude, "disallowedTools: {a: b}"),
        (Dialect::Zeph, "tools:\n  alow: [read]"),
        (Dialect::Zeph, "tools:\n  allow: [read]\n  deny: [bash]"),
        (Dialect::OpenCode, "permission:\n  bash: never"),
        (Dialect::OpenCode, "permission: [bash]"),
    ] {
        assert_eq!(read(dialect, &with(lines)).0, None, "{dialect} {lines}");
    }
}

#[test]
fn who_may_be_started_is_said_or_follows_from_the_tools() {
    use Dialect::*;
    let only = |names: &[&str]| Spawns::Only(names.iter().map(|it| (*it).to_owned()).collect());
    for (dialect, lines, spawns, listed) in [
        (OhMyPi, "tools: read", Spawns::None, "read"),
        (OhMyPi, "tools: read, task", Spawns::Any, "read task"),
        (OhMyPi, "spawns: '*'", Spawns::Any, "all"),
        (OhMyPi, "spawns: ' * '", Spawns::Any, "all"),
        (OhMyPi, "spawns: explore, plan", only(&["explore", "plan"]), "all"),
        (OhMyPi, "spawns: [explore]\ntools: read", only(&["explore"]), "read task"),
        (OhMyPi, "spawns: []\ntools: task", Spawns::Any, "task"),
        (OhMyPi, "spawns: [a]\ntools: read, task", only(&["a"]), "read task"),
        (Claude, "tools: Read, Agent(a, b)", only(&["a", "b"]), "read task"),
        (Claude, "tools: Task", Spawns::Any, "task"),
        (Claude, "tools: Read, Task\ndisallowedTools: Task", Spawns::None, "read - task"),
        (Copilot, "tools: [read, agent]", Spawns::Any, "read task"),
        (OpenCode, "permission:\n  task:\n    '*': deny\n    a: allow", only(&["a"]), "all"),
        (OpenCode, "permission:\n  task: deny", Spawns::None, "all - task"),
    ] {
        let definition = good(dialect, &with(lines));
        assert_eq!(
            (&definition.spawns, tools(&definition).as_str()),
            (&spawns, listed),
            "{dialect} {lines}"
        );
    }
    warned(
        Dialect::Gemini,
        &with("tools: [read_file, task]"),
        &["4:8 `task` is not a tool of Gemini CLI", "4:8 agents of Gemini CLI cannot start others"],
    );
}
