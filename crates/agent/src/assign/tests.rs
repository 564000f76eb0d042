use super::*;
use crate::{
    definition::{Effort, Isolation, MemoryScope, PermissionMode, Waiting},
    tools::{ToolPattern, Tools},
};

fn x() -> AgentDefinition {
    AgentDefinition {
        description: "d".to_owned(),
        ..AgentDefinition::blank(AgentName::new("x").unwrap())
    }
}

/// What these changes make of a definition, and what is doubtful about them.
#[track_caller]
fn assigned(mut definition: AgentDefinition, changes: &[&str]) -> AgentDefinition {
    let changes: Vec<_> = changes.iter().map(|it| Assignment::parse(it).unwrap()).collect();
    let doubts = assign(&mut definition, &changes).unwrap();
    assert_eq!(doubts, []);
    definition
}

/// Why a change is refused, and what to do.
#[track_caller]
fn refused(change: &str) -> (String, Option<String>) {
    let error = match Assignment::parse(change) {
        Ok(change) => assign(&mut x(), &[change]).unwrap_err(),
        Err(error) => error,
    };
    (error.to_string(), error.hint())
}

#[test]
fn every_part_can_be_set_and_taken_away() {
    let values = [
        ("name", "y"),
        ("description", "7 things: all of them"),
        ("prompt", "You are.\n\nReally."),
        ("tools", "read, grep"),
        ("tools.allow", "read,bash"),
        ("tools.deny", "[\"bash\"]"),
        ("spawns", "explore, plan"),
        ("model", "haiku, inherit"),
        ("effort", "high"),
        ("permission-mode", "plan"),
        ("waiting", "background"),
        ("isolation", "worktree"),
        ("limits.turns", "9"),
        ("limits.time", "10m"),
        ("limits.tokens", "100000"),
        ("limits.cost", "1.5"),
        ("limits.history", "20"),
        ("limits.grant", "90s"),
        ("skills", "sql-*"),
        ("skills.include", "a"),
        ("skills.exclude", "b"),
        ("mcp-servers", "docs"),
        ("hooks", "{\"Stop\": []}"),
        ("memory", "project"),
        ("secrets", "TOKEN"),
        ("priority", "3"),
        ("mutex", "5"),
        ("output", "{\"type\": \"object\"}"),
        ("done-when", "{\"changed\": [\"src/**\"]}"),
        ("done-when.commands", "cargo test"),
        ("done-when.changed", "src/**"),
        ("done-when.unchanged", "[\"tests/**\"]"),
    ];
    assert_eq!(values.map(|(part, _)| part), PARTS);
    for (part, value) in values {
        let set = assigned(x(), &[&format!("{part}={value}")]);
        assert_ne!(set, x(), "{part}");
        if REQUIRED.contains(&part) {
            let error = Assignment::unset(part).unwrap_err();
            assert_eq!(error, AssignError::Required { part });
            continue;
        }
        let mut back = set;
        assign(&mut back, &[Assignment::unset(part).unwrap()]).unwrap();
        if part == "spawns" {
            assert_eq!(back.spawns, Spawns::None);
        } else {
            assert_eq!(back, x(), "{part}");
        }
    }
}

#[test]
fn values_mean_what_they_mean_in_a_file_of_ours() {
    let set = assigned(
        x(),
        &[
            "tools=Read, Bash",
            "effort=med",
            "permission-mode=acceptEdits",
            "waiting=blocking",
            "isolation=none",
            "memory=user",
            "mutex=5",
        ],
    );
    let names = |tools: &Tools| tools.allow.clone().unwrap();
    assert_eq!(names(&set.tools), [ToolPattern::new("read"), ToolPattern::new("bash")]);
    assert_eq!(set.effort, Some(Effort::Medium));
    assert_eq!(set.permission_mode, Some(PermissionMode::AcceptEdits));
    assert_eq!(set.waiting, Some(Waiting::Blocking));
    assert_eq!(set.isolation, Some(Isolation::None));
    assert_eq!(set.memory, Some(MemoryScope::User));
    assert_eq!(set.choice.mutex.as_deref(), Some("5"), "text, whatever it looks like");
}

#[test]
fn one_half_of_a_table_leaves_the_other_alone() {
    let set = assigned(x(), &["tools=read,bash", "tools.deny=bash", "skills.exclude=b"]);
    let more = assigned(set.clone(), &["tools.allow=grep", "skills.include=a"]);
    assert_eq!(more.tools.deny, set.tools.deny);
    assert_eq!((more.skills.include, more.skills.exclude), (vec!["a".into()], vec!["b".into()]));
    assert!(assigned(set, &["tools=bash"]).tools.allows("bash"), "the whole says both");
}

#[test]
fn what_must_hold_is_a_text_or_a_list_of_them() {
    let said = |definition: &AgentDefinition| definition.extra["done-when"].clone();
    let set = assigned(x(), &["done-when.commands=cargo test --features a,b"]);
    assert_eq!(said(&set), serde_json::json!({"commands": ["cargo test --features a,b"]}));
    let set = assigned(set, &["done-when.commands=true", "done-when.changed=[\"a\", \"b\"]"]);
    let both = serde_json::json!({"commands": ["true"], "changed": ["a", "b"]});
    assert_eq!(said(&set), both);
    for wrong in ["done-when.changed=[7]", "done-when=true", "done-when={\"comands\": []}"] {
        assert!(refused(wrong).0.contains("cannot be that"), "{wrong}");
    }
    let hint = refused("done-when.command=true").1.unwrap();
    assert!(hint.starts_with("did you mean `done-when.commands`"), "{hint}");
}

#[test]
fn no_tools_at_all_is_never_taken_for_all_of_them() {
    for none in ["tools=none", "tools.allow=none", "tools.allow=[]", "tools=false"] {
        let set = assigned(assigned(x(), &["tools=read"]), &[none]);
        assert!(set.tools.is_nothing(), "{none}: {:?}", set.tools);
    }
}

#[test]
fn who_may_start_agents_has_the_tool_for_it() {
    let set = assigned(x(), &["tools=read", "spawns=explore"]);
    assert!(set.tools.allows("task"));
    assert_eq!(assigned(x(), &["tools=read,task"]).spawns, Spawns::Any);
}

#[test]
fn all_or_nothing() {
    let mut definition = x();
    let changes = ["limits.turns=9", "effort=huge"].map(|it| Assignment::parse(it).unwrap());
    assert!(assign(&mut definition, &changes).is_err());
    assert_eq!(definition, x());
}

#[test]
fn what_is_not_understood_is_refused() {
    let cases = [
        ("turns", "`turns` is not a change"),
        ("turns=9", "an agent has no `turns`"),
        ("effort=huge", "`effort` cannot be that: `huge` is not a level of effort that is known"),
        ("limits.turns=-1", "`limits.turns` cannot be that: `limits.turns` must be a whole number"),
        ("limits.time=soon", "`limits.time` cannot be that: `limits.time` must be a time"),
        ("description=", "`description=` says nothing"),
        ("name=../x", "`name` cannot be that: `../x` is not a name"),
        ("tools={\"allowed\": []}", "`tools` cannot be that: `tools.allowed` is not known"),
    ];
    for (change, said) in cases {
        let (error, _) = refused(change);
        assert!(error.starts_with(said), "{change}: {error}");
    }
    assert_eq!(
        refused("limit.turns=9").1.unwrap(),
        "did you mean `limits.turns` or `limits.tokens`?"
    );
    assert_eq!(refused("model=").1.unwrap(), "`--unset model` takes it away");
    assert!(refused("effort=huge").1.unwrap().starts_with("it is one of `off`"));
}

#[test]
fn a_tool_that_nobody_knows_is_a_doubt() {
    let mut definition = x();
    let change = Assignment::parse("tools=read,raed").unwrap();
    let doubts = assign(&mut definition, &[change]).unwrap();
    assert_eq!(doubts.len(), 1);
    assert_eq!((doubts[0].severity, &doubts[0].place), (Severity::Warning, &None));
    assert_eq!(doubts[0].message, "`raed` is not a tool that is known");
}
