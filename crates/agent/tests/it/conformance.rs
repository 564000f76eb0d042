//! What the systems before us assert about definitions and nobody else here does: the lists of `spec/task-and-dispatch.md` (A22, B11) and
//! `spec/subagent-manager.md` (17.1 to 17.3). The rest of those lists stands where the code is, and in the other files here.

use agents_agent::{
    AgentDefinition,
    definition::{Dialect, MemoryScope, PermissionMode, Source},
    parse::{Input, Strictness, parse},
    search::Bundled,
};

use crate::trees::{Tree, shown};

fn read(dialect: Dialect, strictness: Strictness, lines: &str) -> Option<AgentDefinition> {
    let text = format!("---\nname: x\ndescription: d\n{lines}\n---\nBody\n");
    let (file, source) = ("x.md".into(), Source::User);
    parse(&Input { file, text: &text, dialect, source, strictness }).0
}

#[test]
fn every_permission_mode_is_read_and_an_unknown_one_allows_nothing() {
    let mode = |strictness, word: &str| {
        let lines = format!("permissions:\n  permission_mode: {word}");
        read(Dialect::Zeph, strictness, &lines).map(|it| it.permission_mode)
    };
    for (word, meant) in [
        ("default", PermissionMode::Default),
        ("accept_edits", PermissionMode::AcceptEdits),
        ("dont_ask", PermissionMode::DontAsk),
        ("bypass_permissions", PermissionMode::BypassPermissions),
        ("plan", PermissionMode::Plan),
    ] {
        assert_eq!(mode(Strictness::Strict, word), Some(Some(meant)), "{word}");
    }
    assert_eq!(read(Dialect::Zeph, Strictness::Strict, "").unwrap().permission_mode, None);
    for word in ["yolo", "acceptEdits", "BYPASS"] {
        assert_eq!(mode(Strictness::Strict, word), None, "{word}");
    }
    assert_eq!(mode(Strictness::Lenient, "anything"), Some(None), "left to the configuration");
}

#[test]
fn every_memory_scope_is_read() {
    for (word, meant) in [
        ("user", MemoryScope::User),
        ("project", MemoryScope::Project),
        ("local", MemoryScope::Local),
    ] {
        for dialect in [Dialect::Zeph, Dialect::Claude, Dialect::Ours] {
            let read = read(dialect, Strictness::Strict, &format!("memory: {word}"));
            assert_eq!(read.unwrap().memory, Some(meant), "{dialect} {word}");
        }
    }
    assert_eq!(read(Dialect::Zeph, Strictness::Strict, "memory: global"), None);
}

#[test]
fn what_is_taken_away_adds_up_and_an_empty_table_takes_nothing() {
    let allows = |lines: &str, tool: &str| {
        let read = read(Dialect::Zeph, Strictness::Lenient, &format!("tools:\n{lines}"));
        read.map(|it| it.tools.allows(tool))
    };
    let both = "  deny: [bash]\n  except: [write]";
    for (tool, allowed) in [("bash", false), ("write", false), ("read", true)] {
        assert_eq!(allows(both, tool), Some(allowed), "{tool}");
    }
    assert_eq!(allows("  allow: [read, bash]\n  except: [bash]", "bash"), Some(false));
    assert_eq!(allows("  allow: [read]\n  except: []", "read"), Some(true));
    assert_eq!(allows("  {}", "bash"), Some(true));
    assert_eq!(allows("  allow: []", "read"), Some(false), "none is none");
    assert_eq!(allows("  allow: [read]\n  deny: [bash]", "read"), None, "both are refused");
    assert_eq!(allows("  allowed: [read]", "read"), None, "a list that might restrict");
}

#[test]
fn names_of_tools_are_the_same_however_they_are_written() {
    let read = read(Dialect::AgentSdk, Strictness::Lenient, "tools: ' Read , BASH,read'").unwrap();
    let allow = read.tools.allow.unwrap();
    assert_eq!(
        allow.iter().map(agents_agent::tools::ToolPattern::as_str).collect::<Vec<_>>(),
        ["read", "bash"]
    );
}

#[test]
fn of_two_named_places_the_first_wins_and_one_that_is_named_twice_counts_once() {
    let mut tree = Tree::new();
    tree.agent("one/a.md", "a");
    tree.agent("two/a.md", "a");
    tree.agent("two/b.md", "b");
    tree.search.named = ["one", "two", "one"].map(|dir| tree.scratch.path(dir)).to_vec();
    assert_eq!(tree.shown(), ["a: one/a.md", "b: two/b.md"]);
}

#[test]
fn a_file_in_place_of_a_directory_is_no_directory() {
    let tree = Tree::new();
    tree.scratch.write("home/.claude/agents", "not a directory");
    tree.scratch.write("home/work/app/.claude/agents", "not a directory either");
    tree.agent("home/.codex/agents/a.md", "a");
    assert_eq!(tree.shown(), ["a: home/.codex/agents/a.md"]);
}

#[test]
fn a_definition_of_its_own_beats_a_bundled_one_and_the_rest_stay() {
    let mut tree = Tree::new();
    tree.search.bundled = Bundled::Included;
    let before = shown(&tree.find()).len();
    tree.agent("home/.gemini/agents/explore.md", "explore");
    let agents = tree.find();
    assert_eq!(shown(&agents).len(), before);
    assert_eq!(agents.get("explore").unwrap().origin.source, Source::User);
    assert!(agents.get("Explore").is_none(), "case counts");
}

/// Found by the fuzzer: where a host separates names by commas, a name with one in it would become two.
#[test]
fn a_name_with_a_comma_in_it_never_becomes_two_tools() {
    let definition =
        read(Dialect::Ours, Strictness::Lenient, "tools: ['read', 'harmless, Bash']").unwrap();
    assert!(!definition.tools.allows("bash"));
    for dialect in Dialect::ALL {
        let rendered = agents_agent::render::render(&definition, dialect);
        let kept = crate::round_trip::read(&rendered, dialect);
        let says = !rendered.losses.iter().any(agents_agent::render::Loss::weakens);
        assert!(!says || !kept.tools.allows("bash"), "{dialect}\n{}", rendered.text);
    }
}

#[test]
fn an_agent_without_a_description_gets_one_where_a_host_needs_it() {
    let (file, source) = ("x.json".into(), Source::User);
    let (dialect, strictness) = (Dialect::Kiro, Strictness::Lenient);
    let text = "{\"name\": \"x\", \"prompt\": \"Be.\"}";
    let (definition, _) = parse(&Input { file, text, dialect, source, strictness });
    let rendered = agents_agent::render::render(&definition.unwrap(), Dialect::Claude);
    assert_eq!(crate::round_trip::read(&rendered, Dialect::Claude).description, "x");
    assert!(!rendered.losses.is_empty());
}
