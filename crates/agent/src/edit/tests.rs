use agents_testkit::scratch::Scratch;

use super::*;
use crate::{
    definition::{AgentName, Effort, ModelPattern, PermissionMode},
    tools::{ToolPattern, Tools},
};

/// The text after a change of its definition.
#[track_caller]
fn changed(dialect: Dialect, text: &str, make: impl Fn(&mut AgentDefinition)) -> String {
    let file = dialect.file_name("x");
    let input = Input {
        file: file.as_str().into(),
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
