use agents_testkit::scratch::Scratch;

use super::*;
use crate::{
    definition::{AgentName, Effort, McpServerUse, ModelPattern, PermissionMode, Spawns},
    tools::{ToolPattern, Tools},
};

/// The text after a change of its definition.
#[track_caller]
fn changed(dialect: Dialect, text: &str, make: impl Fn(&mut AgentDefinition)) -> String {
    changed_in(&dialect.file_name("x"), dialect, text, make)
}

/// The same in a file of this name.
#[track_caller]
fn changed_in(
    file: &str,
    dialect: Dialect,
    text: &str,
    make: impl Fn(&mut AgentDefinition),
) -> String {
    let input = Input {
        file: file.into(),
        text,
        dialect,
        source: Source::Project,
        strictness: Strictness::Lenient,
    };
    let (definition, findings) = parse(&input);
    let mut definition = definition.unwrap_or_else(|| panic!("{findings:?}"));
    assert_eq!(change(&input, &definition).unwrap().text, text, "nothing changed");
    make(&mut definition);
    let changed = change(&input, &definition).unwrap();
    assert_eq!(
        change(&Input { text: &changed.text, ..input }, &definition).unwrap().text,
        changed.text
    );
    changed.text
}

const CLAUDE: &str = "---
# who
name: x
description: 'd'  # why
tools: [Read, Bash(git *)]   # with
x-mine:
  - 1
---

Body <!-- kept -->

";

#[test]
fn one_entry_changes_and_everything_else_stays() {
    let text = changed(Dialect::Claude, CLAUDE, |it| it.limits.turns = Some(9));
    assert_eq!(text, CLAUDE.replace("  - 1\n", "  - 1\nmaxTurns: 9\n"));
    let text = changed(Dialect::Claude, &text, |it| it.limits.turns = None);
    assert_eq!(text, CLAUDE);
    let text = changed(Dialect::Claude, CLAUDE, |it| it.description = "e: f".to_owned());
    assert_eq!(text, CLAUDE.replace("'d'", "\"e: f\""));
}

#[test]
fn the_body_is_replaced_only_when_the_prompt_changed() {
    let text = changed(Dialect::Claude, CLAUDE, |it| it.prompt = "New".to_owned());
    assert_eq!(text, CLAUDE.replace("\nBody <!-- kept -->\n\n", "\nNew\n"));
    let text = changed(Dialect::Claude, "---\nname: x\ndescription: d\n---", |it| {
        it.prompt = "New".to_owned();
    });
    assert_eq!(text, "---\nname: x\ndescription: d\n---\n\nNew\n");
}

#[test]
fn lists_keep_their_shape() {
    let add = |it: &mut AgentDefinition| {
        it.tools.allow.get_or_insert_default().push(ToolPattern::new("grep"));
    };
    let text = |tools: &str| format!("---\nname: x\ndescription: d\ntools: {tools}\n---\n");
    assert_eq!(changed(Dialect::Claude, &text("Read, Glob"), add), text("\"Read, Glob, Grep\""));
    assert_eq!(changed(Dialect::Claude, &text("[Read]"), add), text("[Read, Grep]"));
    assert_eq!(
        changed(
            Dialect::Ours,
            "---\nname: x\ndescription: d\ntools:\n  allow:\n    - read # c\n---\n",
            add
        ),
        "---\nname: x\ndescription: d\ntools:\n  allow:\n    - read # c\n    - grep\n---\n"
    );
}

#[test]
fn a_key_keeps_the_name_that_it_has_in_the_file() {
    let text = "---\nname: x\ndescription: d\nthinking: med\nmax-turns: 3\n---\n";
    let text = changed(Dialect::Ours, text, |it| {
        it.effort = Some(Effort::High);
        it.limits.turns = Some(4);
    });
    assert_eq!(text, "---\nname: x\ndescription: d\nthinking: high\nmax-turns: 4\n---\n");
}

#[test]
fn nested_keys_come_and_go_with_their_table() {
    let plain = "---\nname: x\ndescription: d\n---\nBody\n";
    let text = changed(Dialect::Zeph, plain, |it| it.limits.turns = Some(3));
    assert_eq!(text, "---\nname: x\ndescription: d\npermissions:\n  max_turns: 3\n---\nBody\n");
    assert_eq!(changed(Dialect::Zeph, &text, |it| it.limits.turns = None), plain);
}

#[test]
fn toml_and_json_are_edited_in_place_too() {
    let toml = "# c\nname = \"x\"\ndescription = \"d\" # why\ndeveloper_instructions = '''\nBody\n'''\n\n[features]\na = true\n";
    let text = changed(Dialect::Codex, toml, |it| it.permission_mode = Some(PermissionMode::Plan));
    assert_eq!(text, toml.replace("'''\n\n[", "'''\nsandbox_mode = \"read-only\"\n\n["));
    let json =
        "{\n  \"name\": \"x\", // c\n  \"description\": \"d\",\n  \"tools\": [\"read\"]\n}\n";
    let text = changed(Dialect::Kiro, json, |it| it.model = vec![ModelPattern("m".to_owned())]);
    assert_eq!(text, json.replace("[\"read\"]", "[\"read\"],\n  \"model\": \"m\""));
    let fenced = "+++\nname = \"x\" # c\ndescription = \"d\"\n+++\nBody\n";
    let text = changed(Dialect::Zeph, fenced, |it| it.description = "e".to_owned());
    assert_eq!(text, fenced.replace("\"d\"", "\"e\""));
}

#[test]
fn old_switches_give_way_to_permissions() {
    let text = "---\ndescription: d\nmode: subagent\ntools:\n  write: false\n---\n";
    let text = changed(Dialect::OpenCode, text, |it| {
        it.tools = Tools { allow: None, deny: vec![ToolPattern::new("bash")] }
    });
    assert_eq!(text, "---\ndescription: d\nmode: subagent\npermission:\n  bash: deny\n---\n");
}

#[test]
fn permissions_change_in_place_unless_their_order_would() {
    let text = "---\ndescription: d\npermission:\n  # none\n  \"*\": deny\n  read: allow # fine\nmode: subagent\n---\n";
    let allow = |names: &[&str]| Some(names.iter().map(|it| ToolPattern::new(it)).collect());
    let more = changed(Dialect::OpenCode, text, |it| it.tools.allow = allow(&["read", "bash"]));
    assert_eq!(more, text.replace("# fine\n", "# fine\n  bash: allow\n"));
    // The last one that matches counts: what is new and comes first cannot be put behind the others.
    let other = changed(Dialect::OpenCode, text, |it| it.tools.allow = allow(&["bash", "read"]));
    assert!(other.find("bash").unwrap() < other.find("read").unwrap(), "{other}");
}

#[test]
fn what_is_asked_for_everything_is_asked_for_the_tools_that_are_left() {
    let text = "---\ndescription: d\npermission: ask\nmode: subagent\n---\n";
    let text = changed(Dialect::OpenCode, text, |it| {
        it.tools.allow = Some(vec![ToolPattern::new("read")]);
    });
    assert!(text.contains("\"*\": deny\n  read: ask\n"), "{text}");
}

#[test]
fn a_prompt_of_the_header_moves_below_it_when_it_changes() {
    let text = "---\ndescription: d\nprompt: Old\n---\n";
    let same = changed(Dialect::OpenCode, text, |it| it.description = "e".to_owned());
    assert_eq!(same, text.replace(" d\n", " e\n"));
    let moved = changed(Dialect::OpenCode, text, |it| it.prompt = "New".to_owned());
    assert_eq!(moved, "---\ndescription: d\n---\n\nNew\n");
    let again = changed(Dialect::OpenCode, &moved, |it| it.prompt = "Newer".to_owned());
    assert_eq!(again, moved.replace("New", "Newer"));
}

#[test]
fn what_a_changed_prompt_leaves_alone_is_not_even_spelled_anew() {
    let text = "---\nname: x\ndescription: d\nthinking: med\n---\n\nOld\n";
    let changed = changed(Dialect::Ours, text, |it| it.prompt = "New".to_owned());
    assert_eq!(changed, text.replace("Old", "New"));
}

#[test]
fn a_prompt_stays_below_the_header_where_there_is_one() {
    // Kiro has its prompt in JSON, and below a header, even one that says nothing.
    let text = "---\n---\nBody\n";
    let changed = changed_in("x.md", Dialect::Kiro, text, |it| it.prompt = "New".to_owned());
    assert_eq!(changed, "---\n---\n\nNew\n");
}

#[test]
fn a_key_that_is_there_under_two_names_is_left_under_one() {
    let text = "---\ndescription: d\nsteps: 3\nmaxSteps: 3\n---\n";
    let changed = changed(Dialect::OpenCode, text, |it| it.limits.turns = Some(4));
    assert_eq!(changed, "---\ndescription: d\nsteps: 4\n---\n");
}

#[test]
fn what_we_do_not_know_comes_changes_and_goes_as_well() {
    let made = |it: &mut AgentDefinition| {
        it.extra.insert("x-mine".to_owned(), json!([1, 2]));
        it.extra.insert("x-new".to_owned(), json!("new"));
    };
    let text = changed(Dialect::Claude, CLAUDE, made);
    assert_eq!(text, CLAUDE.replace("  - 1\n", "  - 1\n  - 2\nx-new: new\n"));
    let text = changed(Dialect::Claude, &text, |it| drop(it.extra.remove("x-mine")));
    assert_eq!(text, CLAUDE.replace("x-mine:\n  - 1\n", "x-new: new\n"));
}

#[test]
fn a_file_without_a_last_line_break_gets_none() {
    let text = r#"{"name": "x", "description": "d"}"#;
    let text = changed(Dialect::Kiro, text, |it| it.description = "e".to_owned());
    assert_eq!(text, r#"{"name": "x", "description": "e"}"#);
}

#[test]
fn the_longest_file_is_one() {
    let long = |bytes: u64| {
        let text = "---\nname: x\ndescription: d\n---\n\nBody\n";
        let mut wanted = parse(&claude(text)).0.unwrap();
        // What stands there besides the prompt.
        let besides = text.len() - "Body".len();
        wanted.prompt = "b".repeat(usize::try_from(bytes).unwrap() - besides);
        change(&claude(text), &wanted)
    };
    assert_eq!(long(MAX_FILE).unwrap().text.len() as u64, MAX_FILE);
    assert!(matches!(long(MAX_FILE + 1), Err(ChangeError::TooLarge { .. })));
}

fn claude(text: &str) -> Input<'_> {
    Input {
        file: "x.md".into(),
        text,
        dialect: Dialect::Claude,
        source: Source::Project,
        strictness: Strictness::Lenient,
    }
}

#[test]
fn why_a_file_was_left_is_told_with_what_to_do() {
    use ErrorKind::{Failure, Usage};
    let file = || "x.md".into();
    let source = || EditError::Mismatch { format: text::Format::Yaml };
    let wanted = AgentDefinition {
        hooks: Some(json!({ "PreToolUse": [] })),
        ..AgentDefinition::blank(AgentName::new("x").unwrap())
    };
    let cannot = check_sayable(None, &wanted, Dialect::Codex).unwrap_err();
    assert!(cannot.to_string().contains("hooks"), "{cannot}");
    let unchangeable = Some(Code::AgentUnchangeable);
    for (error, kind, code, hint) in [
        (cannot, Usage, unchangeable, "leave it out"),
        (ChangeError::Mismatch { file: file() }, Failure, unchangeable, "by hand"),
        (ChangeError::Text { file: file(), source: source() }, Failure, unchangeable, "by hand"),
        (ChangeError::NameOfFile { file: file() }, Usage, unchangeable, "rename"),
        (ChangeError::Exists { file: file() }, Usage, Some(Code::AlreadyThere), "--force"),
        (ChangeError::TooLarge { file: file() }, Usage, Some(Code::AgentInvalid), ""),
        (ChangeError::Missing { file: file() }, Usage, None, ""),
    ] {
        assert_eq!((error.kind(), error.code()), (kind, code), "{error}");
        let said = error.hint().unwrap_or_default();
        assert!(said.contains(hint) && said.is_empty() == hint.is_empty(), "{error}: {said}");
    }
    let scratch = Scratch::new();
    scratch.write("x.md", "---\nname: x\ndescription: d\n---\n");
    let open = DefinitionFile::open(&scratch.path("x.md"), Dialect::Claude).unwrap();
    scratch.write("x.md", "somebody else");
    let error = open.delete().unwrap_err();
    let ChangeError::File(inner) = &error else { panic!("{error}") };
    assert_eq!((error.kind(), error.code()), (Failure, inner.code()));
    assert_eq!(error.hint(), inner.hint());
}

#[test]
fn only_what_is_newly_lost_is_a_reason_to_refuse() {
    let blank = || AgentDefinition {
        description: "d".to_owned(),
        prompt: "Body".to_owned(),
        ..AgentDefinition::blank(AgentName::new("x").unwrap())
    };
    let with_hooks = AgentDefinition { hooks: Some(json!({ "PreToolUse": [] })), ..blank() };
    let check = |before: Option<&AgentDefinition>, after: &AgentDefinition| {
        check_sayable(before, after, Dialect::Codex).is_ok()
    };
    assert!(!check(None, &with_hooks) && !check(Some(&blank()), &with_hooks));
    assert!(check(Some(&with_hooks), &with_hooks), "it was lost before");
    assert!(check(None, &blank()));
    // Claude Code can be told which agents may be started, and does not keep to it.
    let tools = Tools { allow: Some(vec![ToolPattern::new("read")]), deny: Vec::new() };
    let spawns = Spawns::Only(vec!["other".to_owned()]);
    let mut told = AgentDefinition { tools, spawns, ..blank() };
    crate::parse::settle(&mut told);
    let losses = lowered(&told, Dialect::Claude).1;
    assert_eq!(losses.iter().map(|it| &it.instead).collect::<Vec<_>>(), [&Instead::Unenforced]);
    assert!(check_sayable(None, &told, Dialect::Claude).is_ok());
}

#[test]
fn a_plan_tells_what_is_there_and_what_will_be() {
    let scratch = Scratch::new();
    let definition = AgentDefinition {
        description: "d".to_owned(),
        hooks: Some(json!({ "PreToolUse": [] })),
        ..AgentDefinition::blank(AgentName::new("x").unwrap())
    };
    let dir = scratch.path("agents");
    let plan = || plan_create(&dir, &definition, Dialect::Codex, Existing::Replace).unwrap();
    let new = plan();
    assert_eq!((new.before(), new.losses().len()), (None, 1));
    assert!(new.text().contains("name = \"x\""), "{}", new.text());
    new.apply().unwrap();
    let there = fs_err::read_to_string(new.path()).unwrap();
    assert_eq!((there.as_str(), plan().before()), (new.text(), Some(new.text())));
    assert_eq!(DefinitionFile::open(new.path(), Dialect::Codex).unwrap().text(), there);
}

#[test]
fn no_file_is_opened_or_made_that_is_longer_than_any() {
    let scratch = Scratch::new();
    let of = |bytes: u64| "b".repeat(usize::try_from(bytes).unwrap());
    for (bytes, fits) in [(MAX_FILE - 1, true), (MAX_FILE, true), (MAX_FILE + 1, false)] {
        scratch.write("x.md", of(bytes));
        let open = DefinitionFile::open(&scratch.path("x.md"), Dialect::Claude);
        assert_eq!(open.is_ok(), fits, "{bytes}");
    }
    let mut definition = AgentDefinition::blank(AgentName::new("x").unwrap());
    let made = |it: &AgentDefinition| {
        plan_create(&scratch.path("new"), it, Dialect::Claude, Existing::Keep)
    };
    definition.prompt = "b".to_owned();
    let besides = made(&definition).unwrap().text().len() as u64 - 1;
    for (bytes, fits) in [(MAX_FILE - 1, true), (MAX_FILE, true), (MAX_FILE + 1, false)] {
        definition.prompt = of(bytes - besides);
        assert_eq!(made(&definition).is_ok(), fits, "{bytes}");
    }
}

#[test]
fn what_is_emptied_stays_empty_and_what_is_a_text_stays_one() {
    let hooks = "---\nname: x\ndescription: d\nhooks:\n  PreToolUse: []\n---\n";
    let text = changed(Dialect::Claude, hooks, |it| it.hooks = Some(json!({})));
    assert_eq!(text, "---\nname: x\ndescription: d\nhooks: {}\n---\n");
    // A table of TOML that is only there by its parts would go with the last of them.
    let hooks = "+++\nname = \"x\"\ndescription = \"d\"\n[[hooks.PreToolUse]]\nmatcher = \"*\"\n+++\nBody\n";
    let text = changed(Dialect::Ours, hooks, |it| it.hooks = Some(json!({})));
    assert!(text.contains("[hooks]") && !text.contains("PreToolUse"), "{text}");
    let agents = "---\nname: x\ndescription: d\ntools: [Read, \"Agent(a, b)\"]\n---\n";
    let text = changed(Dialect::Claude, agents, |it| {
        it.tools.allow.get_or_insert_default().push(ToolPattern::new("grep"));
    });
    assert_eq!(text, agents.replace(")\"]", ")\", Grep]"));
    let ours = |tools: &str| format!("---\nname: x\ndescription: d\n{tools}\n---\n");
    let grep = |it: &mut AgentDefinition| {
        it.tools.allow.get_or_insert_default().push(ToolPattern::new("grep"));
    };
    let text = changed(Dialect::Ours, &ours("tools: read, glob"), grep);
    assert_eq!(text, ours("tools: \"read, glob, grep\""));
    let text = changed(Dialect::Ours, &ours("mcp-servers: github"), |it| {
        let entry = json!({ "command": "x" });
        it.mcp_servers.push(McpServerUse::Inline { name: "own".to_owned(), entry });
    });
    assert_eq!(text, ours("mcp-servers:\n  - github\n  - own:\n      command: x"));
    // What was only taken away becomes a list of what is left.
    let text = changed(Dialect::Ours, &ours("tools:\n  deny: [bash]"), |it| {
        it.tools = Tools { allow: Some(vec![ToolPattern::new("read")]), deny: Vec::new() };
    });
    assert!(text.contains("read") && !text.contains("allow"), "{text}");
}

#[test]
fn line_endings_and_byte_order_mark_stay() {
    let text = "\u{feff}---\r\nname: x\r\ndescription: d\r\n---\r\nBody\r\n";
    let text = changed(Dialect::Claude, text, |it| {
        it.limits.turns = Some(2);
        it.prompt = "New".to_owned();
    });
    assert_eq!(
        text,
        "\u{feff}---\r\nname: x\r\ndescription: d\r\nmaxTurns: 2\r\n---\r\n\r\nNew\r\n"
    );
}

#[test]
fn what_cannot_be_changed_is_left_alone() {
    let input = |file: &'static str, text: &'static str, dialect| Input {
        file: file.into(),
        text,
        dialect,
        source: Source::Project,
        strictness: Strictness::Lenient,
    };
    let mended = input("x.md", "---\nname: x\ndescription: Use when: y\n---\n", Dialect::Claude);
    let mut definition = parse(&mended).0.unwrap();
    definition.limits.turns = Some(1);
    assert!(matches!(change(&mended, &definition), Err(ChangeError::Text { .. })));
    let broken = input("x.md", "no header", Dialect::Claude);
    assert!(matches!(change(&broken, &definition), Err(ChangeError::NoDefinition { .. })));
    let named = input("x.agent.md", "---\ndescription: d\n---\n", Dialect::Copilot);
    definition.name = AgentName::new("y").unwrap();
    assert!(matches!(change(&named, &definition), Err(ChangeError::NameOfFile { .. })));
}

#[test]
fn files_are_created_changed_and_deleted() {
    let scratch = Scratch::new();
    let text = "---\nname: x\ndescription: d\n---\nBody\n";
    let file = scratch.path("x.md");
    scratch.write("x.md", text);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs_err::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    }
    let open = DefinitionFile::open(&file, Dialect::Claude).unwrap();
    let mut definition = open.definition(Source::User).0.unwrap();
    definition.limits.turns = Some(5);
    assert_eq!(open.change(&definition).unwrap().0, Written::Replaced);
    assert!(fs_err::read_to_string(&file).unwrap().contains("maxTurns: 5"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    }
    assert!(open.change(&definition).is_err(), "somebody changed it since it was opened");
    for dialect in Dialect::ALL {
        let dir = scratch.path(format!("new/{dialect}/agents"));
        let plan = |existing| plan_create(&dir, &definition, dialect, existing);
        let new = plan(Existing::Keep).unwrap();
        assert!(!new.path().exists(), "a plan writes nothing");
        assert_eq!(new.apply().unwrap(), Written::Created);
        let path = new.path().to_owned();
        assert!(matches!(plan(Existing::Keep), Err(ChangeError::Exists { .. })));
        assert_eq!(plan(Existing::Replace).unwrap().apply().unwrap(), Written::Unchanged);
        let made = DefinitionFile::open(&path, dialect).unwrap();
        assert_eq!(made.definition(Source::User).0.unwrap().description, "d");
        assert_eq!(made.delete().unwrap(), Written::Removed);
        assert!(matches!(DefinitionFile::open(&path, dialect), Err(ChangeError::Missing { .. })));
    }
}
