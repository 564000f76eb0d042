//! What people type, command by command: for `--help`, the manual pages and `docs/commands.md`.
//!
//! They are looked at only when somebody wants help, so that no start has to carry them.

use clap::CommandFactory as _;

use super::Args;

/// A line to type, without `cargo agents`, and what it is for where that is not plain.
type Example = (&'static str, &'static str);

/// The command of a first-party plugin: as the plugin calls it, and as people do.
const CRATE_INFO: (&str, &str) = ("__crate-info", "crate-info");

/// By the words of the command.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "init",
        &[
            ("init", "choose among those that are installed"),
            ("init --yes", "take all of them"),
            ("init --add-agent codex --hook-scope project", ""),
        ],
    ),
    (
        "sync",
        &[
            ("sync", ""),
            ("sync --dry-run", "only show it"),
            ("sync --check", "exit with 1 if anything would change"),
            ("sync --locked", "in CI: bring what `agents.lock` lists, or fail"),
        ],
    ),
    ("diff", &[("diff", ""), ("diff serde-derive", "only this skill")]),
    (
        "update",
        &[
            ("update", "look at everything that is pending"),
            ("update serde --yes", "accept this one"),
        ],
    ),
    (
        "audit",
        &[
            ("audit", ""),
            ("audit --sbom > agents.cdx.json", ""),
            ("audit record serde-derive --note \"read it, fine\"", ""),
        ],
    ),
    (
        "audit record",
        &[
            ("audit record serde-derive --note \"read it, fine\"", ""),
            ("audit record sqlx-tools --user --note \"used for months\"", ""),
        ],
    ),
    (
        "audit import",
        &[
            ("audit import https://example.com/team/audits.git", ""),
            ("audit import ../other/agents-audits.toml", ""),
        ],
    ),
    ("status", &[("status", ""), ("status --json", "for scripts")]),
    (
        "use",
        &[
            ("use sqlx", "the plugin of this crate, here"),
            ("use sqlx --global", "in every workspace"),
            ("use sqlx --remove", "as if it had never been turned on"),
        ],
    ),
    ("disable", &[("disable sqlx", ""), ("disable sqlx --remove", "as before")]),
    (
        "search",
        &[("search sqlx", ""), ("search migrations --offline", "only what is on this machine")],
    ),
    ("self-update", &[("self-update", "")]),
    (
        "uninstall",
        &[
            ("uninstall --dry-run", "see what that would be"),
            ("uninstall", ""),
            ("uninstall --purge", "also removes our own files, after asking"),
        ],
    ),
    (
        "doctor",
        &[
            ("doctor", ""),
            ("doctor --fix", ""),
            ("doctor --probe", "start the hosts that you have, and see what they load"),
            ("explain config-broken", "what one of its findings means"),
        ],
    ),
    ("host", &[("host list", "all of them"), ("host show claude", "where its files are")]),
    ("host list", &[("host list", "")]),
    ("host show", &[("host show claude", "")]),
    (
        "config",
        &[("config show --origin", "every setting, and where it comes from"), ("config path", "")],
    ),
    ("config show", &[("config show", ""), ("config show --origin", "and where each comes from")]),
    ("config path", &[("config path", "")]),
    (
        "plugin",
        &[
            ("plugin list", "what there is"),
            ("plugin explain sqlx-tools", "why it is active here, or why not"),
            ("plugin validate .", "before you publish one"),
        ],
    ),
    ("plugin list", &[("plugin list", "")]),
    ("plugin show", &[("plugin show sqlx-tools", "")]),
    ("plugin explain", &[("plugin explain sqlx-tools", "")]),
    (
        "plugin validate",
        &[
            ("plugin validate .", "this crate, before it is published"),
            ("plugin validate plugins/ --check-crates", "a registry, and whether its crates exist"),
        ],
    ),
    ("plugin sync", &[("plugin sync", "all of them"), ("plugin sync team", "")]),
    ("plugin cache", &[("plugin cache list", ""), ("plugin cache prune --dry-run", "")]),
    ("plugin cache list", &[("plugin cache list", "")]),
    (
        "plugin cache prune",
        &[("plugin cache prune --dry-run", ""), ("plugin cache prune --unused-for 30", "")],
    ),
    (
        "agent",
        &[
            ("agent list", "who can be given a task"),
            ("agent show reviewer", ""),
            ("agent new careful --description \"reads before it writes\"", ""),
        ],
    ),
    (
        "agent list",
        &[("agent list", ""), ("agent list --agents ./agents", "with these taking precedence")],
    ),
    (
        "agent show",
        &[("agent show reviewer", ""), ("agent show reviewer --for codex", "as Codex gets it")],
    ),
    ("agent explain", &[("agent explain reviewer", "")]),
    (
        "agent validate",
        &[("agent validate .claude/agents", ""), ("agent validate reviewer.md --strict", "")],
    ),
    (
        "agent new",
        &[
            ("agent new careful --description \"reads before it writes\"", ""),
            ("agent new strict --from reviewer limits.turns=20", "a copy with a change"),
            ("agent new tests --for claude --project --description \"writes tests\"", ""),
        ],
    ),
    (
        "agent edit",
        &[
            ("agent edit careful tools=read,grep limits.turns=20", ""),
            ("agent edit careful --unset model --dry-run", ""),
        ],
    ),
    ("agent remove", &[("agent remove careful --dry-run", ""), ("agent remove careful", "")]),
    ("agent unpack", &[("agent unpack reviewer --project", "")]),
    (
        "model",
        &[
            ("model list", "what your keys and coding agents offer"),
            ("model test", "ask the one that agents run on"),
        ],
    ),
    ("model list", &[("model list", ""), ("model list --provider anthropic", "")]),
    (
        "model test",
        &[("model test", "the one that agents run on"), ("model test --model claude-sonnet-5", "")],
    ),
    (
        "model explain",
        &[("model explain reviewer", ""), ("model explain reviewer --model @fast", "")],
    ),
    ("model serve", &[("model serve --script answers.toml --port 8080", "")]),
    ("secret", &[("secret list", ""), ("secret check", "whether each can be read")]),
    ("secret list", &[("secret list", "")]),
    ("secret check", &[("secret check", "all of them"), ("secret check GITHUB_TOKEN", "")]),
    (
        "task",
        &[
            ("task run explore \"where are errors made?\"", ""),
            ("task show last", "what it did, turn by turn"),
            ("task run task \"fix the build\" --background", "then `task attach last`"),
            ("task asks", "what background tasks are waiting for"),
        ],
    ),
    (
        "task run",
        &[
            ("task run explore \"where are errors made?\"", ""),
            ("task run \"review the last commit\"", "the agent that fits best"),
            ("task run task - --isolated < assignment.md", "in a worktree of its own"),
            (
                "task run task \"fix the build\" --done-when \"cargo check\" --allow \"bash(cargo *)\"",
                "",
            ),
        ],
    ),
    (
        "task batch",
        &[("task batch questions.toml --concurrency 4", ""), ("task batch - < questions.json", "")],
    ),
    ("task list", &[("task list", ""), ("task list -n 5 --json", "")]),
    ("task show", &[("task show last", ""), ("task show 7f3a --format html -o task.html", "")]),
    ("task logs", &[("task logs last --follow", "")]),
    ("task attach", &[("task attach 7f3a", "")]),
    ("task wait", &[("task wait 7f3a 81c0", "")]),
    ("task collect", &[("task collect 7f3a", "")]),
    ("task cancel", &[("task cancel 7f3a", "")]),
    ("task asks", &[("task asks", ""), ("task approve 7f3a-1", "say yes to one")]),
    (
        "task approve",
        &[
            ("task approve 7f3a-1", "this once"),
            ("task approve 7f3a-1 --for task", "whenever it asks"),
        ],
    ),
    ("task deny", &[("task deny 7f3a-1", "")]),
    ("task supervisor", &[("task supervisor", ""), ("task supervisor --stop --cancel", "")]),
    ("task resume", &[("task resume last", ""), ("task resume 7f3a \"and now the tests\"", "")]),
    ("task gc", &[("task gc --dry-run", ""), ("task gc --older-than 7d", "")]),
    (
        "plan",
        &[
            ("plan check upgrade.toml", "before anything runs"),
            ("plan run upgrade.toml", ""),
            ("plan show last", "where it stands"),
            ("plan resume last", "after Ctrl-C, or a crash"),
        ],
    ),
    ("plan check", &[("plan check upgrade.toml", "")]),
    (
        "plan new",
        &[
            ("plan new \"move the parsers into a crate of their own\"", ""),
            ("plan new \"add tests to every member\" -o tests.toml", "saved, and not run"),
        ],
    ),
    (
        "plan show",
        &[
            ("plan show upgrade.toml --param dependency=serde", ""),
            ("plan show upgrade.toml --format svg -o upgrade.svg", ""),
            ("plan show last", "where the newest run stands"),
            ("plan show last --at 12", "where it stood after 12 events"),
        ],
    ),
    (
        "plan run",
        &[
            ("plan run upgrade.toml --param dependency=serde", ""),
            ("plan run upgrade.toml --mode accept-edits --allow \"bash(cargo *)\"", ""),
            ("plan run upgrade.toml --engine restate", "on the workers of a cluster"),
        ],
    ),
    (
        "plan resume",
        &[
            ("plan resume last", ""),
            ("plan resume last --answer report=retry", "what it waits for"),
        ],
    ),
    ("plan retry", &[("plan retry last", "")]),
    (
        "plan fork",
        &[
            ("plan fork last --from report", "that task again, and everything after it"),
            (
                "plan fork last --file upgrade.toml",
                "the plan as it is now, with the results that still hold",
            ),
            ("plan fork last --file upgrade.toml --param to=2", "another value"),
        ],
    ),
    ("plan add", &[("plan add last upgrade.toml", "")]),
    ("plan list", &[("plan list", "")]),
    ("plan logs", &[("plan logs last --follow", "")]),
    ("plan check-journal", &[("plan check-journal", "of all runs")]),
    ("plan pause", &[("plan pause last", "")]),
    (
        "plan cancel",
        &[("plan cancel last", ""), ("plan cancel last --task report", "only this one")],
    ),
    ("plan gc", &[("plan gc --older-than 30d --keep 10", "")]),
    (
        "mcp",
        &[("mcp", "as a coding agent starts it"), ("mcp --mode accept-edits --concurrency 4", "")],
    ),
    ("dashboard", &[("dashboard --open", ""), ("dashboard --port 4711 --json", "")]),
    (
        "worker",
        &[
            ("worker --listen 127.0.0.1:9080", ""),
            ("worker --listen 10.0.0.7:9080 --identity-key publickeyv1_...", ""),
        ],
    ),
    ("acp", &[("acp", "as an editor starts it"), ("acp --agent reviewer --mode plan", "")]),
    ("command", &[("command list", ""), ("command show review the last commit", "")]),
    ("command list", &[("command list", "")]),
    ("command show", &[("command show review the last commit", "")]),
    (
        "hook",
        &[
            ("hook explain claude pre-tool-use", "what it sends, and what it can be told"),
            ("hook test claude pre-tool-use --input call.json", "without the coding agent"),
        ],
    ),
    (
        "hook test",
        &[
            ("hook test claude pre-tool-use < call.json", ""),
            ("hook test claude pre-tool-use --input call.json --record calls.jsonl", ""),
        ],
    ),
    ("hook replay", &[("hook replay calls.jsonl", "")]),
    ("hook explain", &[("hook explain codex", ""), ("hook explain claude pre-tool-use", "")]),
    (
        "explain",
        &[
            ("explain E0042", ""),
            ("explain config-broken", "a finding of `doctor`"),
            ("explain", "list all"),
        ],
    ),
    (
        "man",
        &[
            ("man task run | man -l -", ""),
            ("man --dir ~/.local/share/man/man1", "then `man cargo-agents-task-run`"),
        ],
    ),
    (
        "completions",
        &[
            ("completions bash > ~/.local/share/bash-completion/completions/cargo-agents", ""),
            ("completions zsh > ~/.zfunc/_cargo-agents", ""),
            ("completions fish > ~/.config/fish/conf.d/cargo-agents.fish", ""),
        ],
    ),
    ("tour", &[("tour", ""), ("tour --keep sample", "look around in it afterwards")]),
    ("crate-info", &[("crate-info serde", ""), ("crate-info tokio --version ^1.40", "")]),
];

/// The lines of a command, as a block of text.
fn block(path: &str) -> Option<String> {
    let (_, examples) = EXAMPLES.iter().find(|(of, _)| *of == path)?;
    let width = examples.iter().filter(|(_, note)| !note.is_empty());
    let width = width.map(|(line, _)| line.chars().count()).max().unwrap_or(0);
    let lines = examples.iter().map(|(line, note)| match *note {
        "" => format!("  cargo agents {line}"),
        note => format!("  cargo agents {line:width$}   {note}"),
    });
    Some(format!("Examples:\n{}", lines.collect::<Vec<_>>().join("\n")))
}

/// A command with its examples, before what else there is to say after its options.
pub(crate) fn with_examples(command: clap::Command, path: &str) -> clap::Command {
    let Some(block) = block(path) else { return command };
    match command.get_after_help().map(ToString::to_string) {
        Some(more) => command.after_help(format!("{block}\n\n{more}")),
        None => command.after_help(block),
    }
}

/// The whole grammar as people know it, with all examples: commands that are out of sight are not in it.
pub(crate) fn manual() -> clap::Command {
    let mut command = as_typed();
    command.build();
    exemplified(command, "")
}

/// The grammar with the name of the first-party plugin that people type, not that of its program, and with what authors of hooks type,
/// which the overview leaves out.
pub(crate) fn as_typed() -> clap::Command {
    let named = Args::command().mut_subcommand(CRATE_INFO.0, |command| {
        command.name(CRATE_INFO.1).display_name("cargo-agents-crate-info").hide(false)
    });
    named.mut_subcommand("hook", |command| command.hide(false))
}

/// The word for a command that people type.
pub(crate) fn typed_name(word: &str) -> &str {
    if word == CRATE_INFO.0 { CRATE_INFO.1 } else { word }
}

fn exemplified(command: clap::Command, path: &str) -> clap::Command {
    let inner: Vec<String> = command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
    let command = inner.into_iter().fold(command, |command, name| {
        let path = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
        command.mut_subcommand(name, |inner| exemplified(inner, &path))
    });
    with_examples(command, path)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::args::parse;

    /// The words of a line, as a shell would have them: without what is about files and pipes.
    fn words(line: &str) -> Vec<OsString> {
        let ends = [" < ", " > ", " | "].iter().filter_map(|it| line.find(it)).min();
        let line = &line[..ends.unwrap_or(line.len())];
        let parts = line.split('"').enumerate().flat_map(|(at, part)| {
            if at % 2 == 1 {
                vec![part.to_owned()]
            } else {
                part.split_whitespace().map(str::to_owned).collect()
            }
        });
        std::iter::once("cargo-agents".to_owned()).chain(parts).map(OsString::from).collect()
    }

    /// Groups, too.
    fn all(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        for inner in command.get_subcommands().filter(|it| !it.is_hide_set()) {
            let path = format!("{path} {}", inner.get_name()).trim_start().to_owned();
            all(inner, &path, found);
            found.push(path);
        }
    }

    #[test]
    fn every_command_that_people_type_has_examples() {
        let mut found = Vec::new();
        all(&manual(), "", &mut found);
        assert!(found.len() > 75, "{found:?}");
        assert!(
            ["plan", "plugin cache", "hook replay"]
                .iter()
                .all(|it| found.contains(&(*it).to_owned()))
        );
        let missing: Vec<&String> = found.iter().filter(|path| block(path).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
        for (at, (path, examples)) in EXAMPLES.iter().enumerate() {
            assert!((1..=4).contains(&examples.len()), "{path}");
            assert!(EXAMPLES[..at].iter().all(|(earlier, _)| earlier != path), "{path}");
        }
    }

    #[test]
    fn every_example_is_understood_and_about_its_command() {
        let grammar = manual();
        for (path, examples) in EXAMPLES {
            if cfg!(not(feature = "http")) && *path == "dashboard" {
                continue;
            }
            let command = path.split(' ').try_fold(&grammar, |it, word| it.find_subcommand(word));
            assert!(command.is_some(), "there is no `{path}`");
            assert!(examples.iter().any(|(line, _)| line.starts_with(path)), "{path}");
            for (line, _) in *examples {
                let mut words = words(line);
                if words[1] == "crate-info" {
                    words[1] = "__crate-info".into();
                }
                let parsed = parse(&words);
                assert!(parsed.is_ok(), "cargo agents {line}: {}", parsed.err().unwrap());
            }
        }
    }
}
