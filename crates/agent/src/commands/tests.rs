use agents_host::hosts;
use agents_testkit::scratch::Scratch;

use super::*;

fn found(scratch: &Scratch) -> Commands {
    let (hosts, _) = hosts(None);
    let home = scratch.path("home");
    let cwd = scratch.path("home/app/src");
    fs_err::create_dir_all(scratch.path("home/app/.git")).unwrap();
    let roots = Roots { home: &home, workspace: None, env: &|_| None };
    discover(&search(&cwd, &hosts, &roots))
}

fn rows(commands: &Commands) -> Vec<String> {
    let rows = commands.commands.iter().filter(|it| it.file.is_some());
    rows.map(|it| format!("{} {} {}", it.name, it.family, it.description)).collect()
}

#[test]
fn commands_are_found_as_agents_are_and_the_first_of_a_name_wins() {
    let scratch = Scratch::new();
    scratch.write("home/.claude/commands/ship.md", "---\ndescription: user\n---\nShip.");
    scratch.write("home/app/.claude/commands/ship.md", "---\ndescription: project\n---\nShip $@.");
    scratch.write("home/app/.omp/commands/plain.md", "Just do it.");
    scratch.write(
        "home/app/.gemini/commands/tidy.toml",
        "description = \"t\"\nprompt = \"Tidy {{args}}\"\n",
    );
    scratch.write("home/.codex/prompts/old.md", "Old.");
    scratch.write("home/app/.gemini/commands/bad.toml", "prompt = ");
    scratch.write("home/plugin/commands/extra.md", "Extra.");
    scratch.write(
        "home/.claude/plugins/installed_plugins.json",
        format!(
            "{{\"version\":2,\"plugins\":{{\"p@m\":[{{\"installPath\":\"{}\"}}]}}}}",
            scratch.path("home/plugin")
        ),
    );
    let all = found(&scratch);
    assert_eq!(
        rows(&all),
        ["plain omp ", "ship claude project", "old codex ", "tidy gemini t", "extra plugin p@m "]
    );
    let findings: Vec<&str> = all.findings.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert!(findings[0].starts_with("command `ship` is shadowed by"), "{findings:?}");
    assert!(findings[1].starts_with("it is no TOML"), "{findings:?}");
}

#[test]
fn a_header_is_read_as_others_are() {
    let scratch = Scratch::new();
    let write = |name: &str, text: &str| {
        scratch.write(format!("home/app/.claude/commands/{name}.md"), text);
    };
    write("a", "---\ndescription: Use when: it is late\n---\nGo home.\n");
    write("b", "\u{feff}---\r\ndescription: crlf\r\n---\r\nGo\r\nhome.\r\n");
    write("c", "---\ndescription: ends with its header\n---");
    write("d", "---\ndescription: never ends\n");
    write("e", "+++\ndescription = \"in TOML\"\n+++\nGo.\n");
    let all = found(&scratch);
    assert_eq!(
        rows(&all),
        [
            "a claude Use when: it is late",
            "b claude crlf",
            "c claude ends with its header",
            "e claude in TOML"
        ]
    );
    assert_eq!(all.get("b").unwrap().instructions, "Go\nhome.");
    let findings: Vec<&str> = all.findings.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(findings, ["the header has no end"]);
}

#[test]
fn those_in_the_program_come_last_and_give_way() {
    let scratch = Scratch::new();
    let names = |all: &Commands| all.commands.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&found(&scratch)), ["init", "orchestrate", "review"]);
    scratch.write("home/.cursor/commands/review.md", "My own.");
    let all = found(&scratch);
    assert_eq!(names(&all), ["review", "init", "orchestrate"]);
    assert_eq!(all.get("review").unwrap().instructions, "My own.");
    assert!(all.get("Review").is_none(), "names are exact");
}

#[test]
fn those_in_the_program_have_something_to_say() {
    for command in bundled() {
        assert!(!command.description.is_empty(), "{}", command.name);
        assert!(
            command.instructions.contains("$@"),
            "{} takes what is typed after it",
            command.name
        );
    }
    assert_eq!(bundled().len(), BUNDLED.len());
}

#[test]
fn what_was_typed_takes_the_place_of_every_placeholder_once() {
    let of = |text: &str| Command { instructions: text.to_owned(), ..bundled().remove(0) };
    assert_eq!(of("Fix $@ and $ARGUMENTS, {{args}}").expand("it"), "Fix it and it, it");
    assert_eq!(of("Fix $@").expand("$@ $ARGUMENTS"), "Fix $@ $ARGUMENTS", "not again");
    assert_eq!(of("Fix it.\n").expand("now"), "Fix it.\n\nnow", "nothing that was typed is lost");
    assert_eq!(of("Fix it.").expand(" "), "Fix it.");
}
