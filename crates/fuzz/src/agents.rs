//! Definitions of agents, in every dialect.

use agents_agent::{
    AgentDefinition, AgentName,
    assign::{Assignment, assign},
    commands::{discover, search},
    definition::{Dialect, Source},
    edit::{ChangeError, change},
    parse::{Input, Strictness, parse, parse_bytes},
    render::render,
};
use agents_host::Roots;
use agents_system::finding::Finding;
use agents_task::dispatch::{LoaderOptions, load};
use agents_tool::hooks::OwnHooks;
use camino::Utf8Path;

use crate::files::{check_findings, has_error, in_scratch};

/// A file is a definition, or a finding says why not. What is a definition can be written in every dialect and is read there as the
/// writer said it would be; its own file stays as it is when nothing changes, and changes as asked.
pub fn check(dialect: Dialect, data: &[u8]) {
    let name = dialect.file_name("agent");
    let file = Utf8Path::new(&name);
    let read = |strictness| parse_bytes(file, data, dialect, Source::User, strictness);
    let (definition, findings) = read(Strictness::Lenient);
    let (strict, strict_findings) = read(Strictness::Strict);
    assert_eq!(definition.is_none(), has_error(&findings), "{findings:?}");
    assert_eq!(strict.is_none(), has_error(&strict_findings), "{strict_findings:?}");
    assert!(strict.is_none() || strict == definition, "strictness changes no meaning");
    let Ok(text) = str::from_utf8(data) else { return };
    check_findings(&findings, text);
    let Some(definition) = definition else { return };
    let stored = serde_json::to_string(&definition).expect("it can be stored");
    assert_eq!(serde_json::from_str::<AgentDefinition>(&stored).ok().as_ref(), Some(&definition));
    for other in Dialect::ALL {
        check_translation(&definition, other);
    }
    if dialect == Dialect::AgentSdk {
        check_registration(data, &definition);
    }
    let strictness = Strictness::Lenient;
    check_change(&Input { file, text, dialect, source: Source::User, strictness }, &definition);
}

/// A dispatcher that finds it can use it, or is told why not.
fn check_registration(data: &[u8], definition: &AgentDefinition) {
    in_scratch("dispatch/.claude/agents/agent.md", data, |file| {
        let project = file.ancestors().nth(3).expect("a directory");
        let (loaded, errors) = load(&LoaderOptions::of(project));
        assert_eq!(loaded.len() + errors.len(), 1, "{errors:?}");
        for it in loaded {
            assert!(!it.definition.description.trim().is_empty());
            assert!(it.definition.validate().is_ok(), "{:?}", it.definition);
            assert_eq!(it.agent.name, definition.name);
        }
        assert!(errors.iter().all(|it| it.why.iter().all(|why| !why.is_empty())), "{errors:?}");
    });
}

/// What is written is read again as the writer said.
fn check_translation(definition: &AgentDefinition, dialect: Dialect) {
    let rendered = render(definition, dialect);
    let (back, findings) = parse(&Input {
        file: rendered.file_name.as_str().into(),
        text: &rendered.text,
        dialect,
        source: Source::User,
        strictness: Strictness::Lenient,
    });
    let Some(back) = back else { panic!("{dialect}: {findings:?}\n{}", rendered.text) };
    assert_eq!(meaning(&back), meaning(&rendered.kept), "{dialect}:\n{}", rendered.text);
    let again = render(&back, dialect).kept;
    assert_eq!(meaning(&again), meaning(&rendered.kept), "{dialect}: nothing is lost twice");
}

/// Everything but where it comes from and the order of servers, which a table does not have.
fn meaning(definition: &AgentDefinition) -> AgentDefinition {
    let mut it = definition.clone();
    it.origin = AgentDefinition::blank(it.name.clone()).origin;
    it.mcp_servers.sort_by(|one, other| one.name().cmp(other.name()));
    it
}

/// No change changes no byte, and a change means what was asked for.
fn check_change(input: &Input<'_>, definition: &AgentDefinition) {
    let same = change(input, definition).expect("nothing is to change");
    assert_eq!(same.text, input.text);
    let mut wanted = definition.clone();
    let changes = ["description=Another one: really", "prompt=Be.\n\nDo.", "effort=high"];
    let changes = changes.map(|it| Assignment::parse(it).expect("it is a change"));
    assign(&mut wanted, &changes).expect("every definition can say so");
    match change(input, &wanted) {
        Ok(changed) => {
            let (back, findings) = parse(&Input { text: &changed.text, ..input.clone() });
            let back = back.unwrap_or_else(|| panic!("{findings:?}\n{}", changed.text));
            assert_eq!(back.prompt, "Be.\n\nDo.", "{}", changed.text);
        }
        // What cannot be edited in place is left alone, and so is what would be read in another way.
        Err(
            ChangeError::Text { .. } | ChangeError::Mismatch { .. } | ChangeError::TooLarge { .. },
        ) => {}
        Err(error) => panic!("{error}"),
    }
}

/// What a definition says about hooks, as JSON: it has some, or a finding says why not, in every dialect.
pub fn own_hooks(data: &[u8]) {
    let Ok(hooks) = serde_json::from_slice(data) else { return };
    let agent = AgentName::new("helper").expect("a name");
    for dialect in Dialect::ALL {
        let (own, findings) = OwnHooks::parse(&agent, dialect, &hooks);
        let says_something = hooks.as_object().is_some_and(|it| it.values().any(has_handlers));
        assert!(own.is_some() || !findings.is_empty() || !says_something, "{hooks}");
        check_findings(&findings, "");
    }
}

fn has_handlers(matchers: &serde_json::Value) -> bool {
    let has = |it: &serde_json::Value| it["hooks"].as_array().is_some_and(|it| !it.is_empty());
    matchers.as_array().is_some_and(|it| it.iter().any(has))
}

/// A file of a command that people type, in both formats, and as a list of plugins of a host: it is one or a finding says why not, and what
/// is typed after its name stands in it once for each place, however it looks.
pub fn command_file(text: &str) {
    let (hosts, _) = agents_host::hosts(None);
    let names = [
        "app/.agents/commands/note.md",
        "app/.gemini/commands/tidy.toml",
        "home/.claude/plugins/installed_plugins.json",
    ];
    names.iter().for_each(|name| in_scratch(name, text.as_bytes(), |_| ()));
    in_scratch("app/Cargo.toml", b"", |file| {
        let cwd = file.parent().expect("a directory");
        let home = cwd.with_file_name("home");
        let roots = Roots { home: &home, workspace: None, env: &|_| None };
        let found = discover(&search(cwd, &hosts, &roots));
        for name in ["note", "tidy"] {
            let Some(command) = found.get(name) else {
                let says = |it: &Finding| format!("{:?}", it.place).contains(name);
                assert!(found.findings.iter().any(says), "{name}: {:?}", found.findings);
                continue;
            };
            let own = "\u{1}typed $@\u{1}";
            let places = ["$@", "$ARGUMENTS", "{{args}}"];
            let places = places.map(|it| command.instructions.matches(it).count());
            let stands = command.expand(own).matches(own).count();
            assert!(stands >= places.iter().sum::<usize>().max(1), "{stands} of {places:?}");
        }
    });
}

/// Changes of a definition, one on each line: all of them or none, each refused in words or understood, and twice the same is once.
pub fn assignment(text: &str) {
    let mut changes = Vec::new();
    for line in text.lines().take(16) {
        let change = match line.strip_prefix("--unset ") {
            Some(part) => Assignment::unset(part),
            None => Assignment::parse(line),
        };
        match change {
            Ok(change) => changes.push(change),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    for definition in agents_agent::bundled::agents().iter().take(2) {
        let mut changed = definition.clone();
        match assign(&mut changed, &changes) {
            Ok(_) => {
                let mut again = changed.clone();
                assert!(assign(&mut again, &changes).is_ok());
                assert_eq!(again, changed);
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                assert_eq!(changed, *definition, "none of them was made");
            }
        }
    }
}
