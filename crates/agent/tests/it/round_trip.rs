//! What is written for a host is what that host reads.

use agents_agent::{
    AgentDefinition,
    definition::{Dialect, Isolation, Source},
    parse::{Input, Strictness, parse, parse_bytes},
    render::{Field, Instead, Rendered, render},
    tools::names,
};
use agents_system::finding::Severity;
use proptest::prelude::*;

use crate::generate::definition;

/// Reads what was rendered.
pub(crate) fn read(rendered: &Rendered, dialect: Dialect) -> AgentDefinition {
    let (back, findings) = parse(&Input {
        file: rendered.file_name.as_str().into(),
        text: &rendered.text,
        dialect,
        source: Source::Project,
        strictness: Strictness::Lenient,
    });
    let errors: Vec<_> = findings.iter().filter(|it| it.severity == Severity::Error).collect();
    let Some(back) = back else { panic!("{dialect}: {errors:#?}\n{}", rendered.text) };
    back
}

/// Everything but where it comes from and the order of servers.
pub(crate) fn same(one: &AgentDefinition, other: &AgentDefinition) -> bool {
    let sorted = |it: &AgentDefinition| {
        let mut it = it.clone();
        it.origin = other.origin.clone();
        it.mcp_servers.sort_by(|one, other| one.name().cmp(other.name()));
        it
    };
    sorted(one) == sorted(other)
}

/// Each field that differs has a loss, or both mean the same.
fn check_losses(
    definition: &AgentDefinition,
    settled: &AgentDefinition,
    rendered: &Rendered,
    dialect: Dialect,
) {
    let kept = &rendered.kept;
    let lost = |fields: &[Field]| rendered.losses.iter().any(|it| fields.contains(&it.field));
    let read_only = rendered.losses.iter().any(|it| it.instead == Instead::ReadOnly);
    let check = |same: bool, fields: &[Field]| {
        assert!(
            same || lost(fields),
            "{dialect} {fields:?}: {:#?}\n{}",
            rendered.losses,
            rendered.text
        );
    };
    check(kept.name == definition.name, &[Field::Name]);
    check(kept.description == definition.description, &[Field::Description]);
    check(kept.prompt == definition.prompt, &[]);
    check(
        kept.spawns == settled.spawns || read_only,
        &[Field::Spawns, Field::Tools, Field::DeniedTools],
    );
    let tools = [Field::Tools, Field::DeniedTools, Field::ToolArguments, Field::Spawns];
    let mut others = ["mcp__github__issues", "mcp__s__t_u", "mine"].to_vec();
    others.extend(names::of_host(dialect).map(|(name, _)| name));
    for tool in others {
        check(kept.tools.allows(tool) == settled.tools.allows(tool) || read_only, &tools);
    }
    let models = |it: &AgentDefinition| -> Vec<String> {
        it.model.iter().filter(|it| !it.is_inherit()).map(|it| it.0.clone()).collect()
    };
    check(models(kept) == models(definition), &[Field::Model]);
    check(kept.effort == definition.effort, &[Field::Effort]);
    check(kept.output == definition.output, &[Field::Output]);
    check(kept.waiting == definition.waiting, &[Field::Waiting]);
    let isolation = |it: &AgentDefinition| it.isolation.filter(|it| *it != Isolation::None);
    check(isolation(kept) == isolation(definition), &[Field::Isolation]);
    check(
        kept.permission_mode == definition.permission_mode || read_only,
        &[Field::PermissionMode],
    );
    let (was, is) = (&definition.limits, &kept.limits);
    check(is.turns == was.turns, &[Field::Turns]);
    check(is.time == was.time, &[Field::Time]);
    check(is.tokens == was.tokens, &[Field::Tokens]);
    check(is.cost == was.cost, &[Field::Cost]);
    check(is.history == was.history, &[Field::History]);
    check(is.grant == was.grant, &[Field::Grant]);
    check(kept.skills.include == definition.skills.include, &[Field::Skills]);
    check(kept.skills.exclude == definition.skills.exclude, &[Field::ExcludedSkills]);
    let same_servers = kept.mcp_servers.len() == settled.mcp_servers.len()
        && kept.mcp_servers.iter().all(|it| settled.mcp_servers.contains(it));
    check(same_servers, &[Field::McpServers]);
    check(kept.hooks == definition.hooks, &[Field::Hooks]);
    check(kept.memory == definition.memory, &[Field::Memory]);
    check(kept.secrets == definition.secrets, &[Field::Secrets]);
    check(kept.choice.priority == definition.choice.priority, &[Field::Priority]);
    check(kept.choice.mutex == definition.choice.mutex, &[Field::Mutex]);
    for (key, value) in &definition.extra {
        check(kept.extra.get(key) == Some(value), &[Field::Extra(key.clone())]);
    }
}

/// No tool that the definition does not allow, unless a loss admits it.
fn check_rights(settled: &AgentDefinition, rendered: &Rendered, dialect: Dialect) {
    let admitted = |tool: &str| {
        rendered.losses.iter().any(|loss| match &loss.instead {
            Instead::More(tools) => tools.iter().any(|it| it == tool),
            Instead::Ignored => matches!(loss.field, Field::Tools | Field::DeniedTools),
            Instead::ReadOnly => names::effect(tool) == names::Effect::Reads,
            _ => false,
        })
    };
    for (tool, _) in names::of_host(dialect) {
        if rendered.kept.tools.allows(tool) && !settled.tools.allows(tool) {
            assert!(
                admitted(tool),
                "{dialect} gives `{tool}`: {:#?}\n{}",
                rendered.losses,
                rendered.text
            );
        }
    }
}

pub(crate) fn check(definition: &AgentDefinition) {
    // In one way of saying each thing.
    let settled = render(definition, Dialect::Ours).kept;
    for dialect in Dialect::ALL {
        let rendered = render(definition, dialect);
        let back = read(&rendered, dialect);
        assert!(
            same(&back, &rendered.kept),
            "{dialect}\n{}\n{:#?}\n{:#?}",
            rendered.text,
            back,
            rendered.kept
        );
        check_losses(definition, &settled, &rendered, dialect);
        check_rights(&settled, &rendered, dialect);
        // What was read back can be said there.
        let again = render(&back, dialect);
        assert!(same(&again.kept, &back), "{dialect}\n{}\n{}", rendered.text, again.text);
        // The keys of a TOML table are read in alphabetical order.
        if dialect != Dialect::Codex {
            assert_eq!(again.text, rendered.text, "{dialect}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        // Each case is written and read in all dialects, twice. `PROPTEST_CASES` makes it more.
        cases: ProptestConfig::default().cases / 4,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn every_dialect_reads_what_is_written_for_it(definition in definition()) {
        check(&definition);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for dialect in Dialect::ALL {
            let file = dialect.file_name("x");
            let _ = parse_bytes(file.as_str().into(), &bytes, dialect, Source::Project, Strictness::Strict);
        }
    }

    #[test]
    fn no_file_makes_a_reader_panic(
        fence in "(---|\\+\\+\\+)\r?\n",
        lines in prop::collection::vec(
            "(name|description|tools|permission|disallowedTools|hooks|mcpServers|permissions|limits|model|output|spawns|[ -]{0,3}|\\PC{0,6})(: | = |:\n  - |: \\[)?(read|Agent\\(a,b|allow|\\{|\\PC{0,10})",
            0..8,
        ),
        broken in any::<prop::sample::Index>(),
    ) {
        let text = format!("{fence}name: x\ndescription: d\n{}\n{fence}body", lines.join("\n"));
        for dialect in Dialect::ALL {
            let file = dialect.file_name("x");
            let whole = parse_bytes(file.as_str().into(), text.as_bytes(), dialect, Source::User, Strictness::Lenient);
            let sound = whole.1.iter().all(|it| it.severity != Severity::Error);
            prop_assert_eq!(whole.0.is_some(), sound, "{:?}", whole.1);
            if let Some(definition) = whole.0 {
                let rendered = render(&definition, dialect);
                let back = read(&rendered, dialect);
                prop_assert!(same(&back, &rendered.kept), "{}\n{}\n{}", dialect, text, rendered.text);
            }
            let cut = &text.as_bytes()[..broken.index(text.len())];
            let _ = parse_bytes(file.as_str().into(), cut, dialect, Source::User, Strictness::Lenient);
        }
    }
}

/// An OpenCode agent with a word for everything, and tools, as it is written again.
fn with_a_word_and_tools(word: &str, tools: &str) -> String {
    let text = format!("---\ndescription: d\npermission: {word}\n{tools}\n---\nbody");
    let dialect = Dialect::OpenCode;
    let (definition, _) =
        parse_bytes("x.md".into(), text.as_bytes(), dialect, Source::User, Strictness::Lenient);
    let rendered = render(&definition.unwrap(), dialect);
    assert!(same(&read(&rendered, dialect), &rendered.kept), "{}", rendered.text);
    let (_, permission) = rendered.text.split_once("permission:\n").unwrap_or_default();
    let lines = permission.lines().take_while(|it| it.starts_with(' '));
    lines.map(|it| it.trim().replace('"', "")).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_list_of_tools_beats_a_word_for_everything() {
    let said = with_a_word_and_tools("allow", "tools: [read, bash, task]");
    assert_eq!(said, "*: deny, read: allow, bash: allow, task: allow");
}

#[test]
fn what_is_asked_for_everything_is_asked_for_each_tool_of_a_list() {
    for (tools, expected) in [
        ("tools: [read, bash, task]", "*: deny, read: ask, bash: ask, task: ask"),
        // A list of everything is none.
        ("tools: [\"*\"]", "*: ask"),
        ("tools: [\"*\", read]", "*: ask"),
        // What cannot be given with some arguments only is not given, not even on asking.
        ("tools: [read, \"bash(git *)\"]", "*: deny, read: ask"),
        ("tools: [\"web*\"]", "*: deny, webfetch: ask, websearch: ask"),
        ("tools: [read]\nspawns: \"*\"", "*: deny, read: ask, task: ask"),
    ] {
        assert_eq!(with_a_word_and_tools("ask", tools), expected, "{tools}");
    }
}
