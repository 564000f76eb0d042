//! What is looked at.

use std::time::Duration;

use agents_system::process::Call;
use agents_testkit::{
    endpoint::{Endpoint, Reply, Request, Role, Said, Script},
    scratch::{self, Scratch},
};
use camino::Utf8Path;
use hosts_suite::{
    client::{self, Client, Place},
    install::Prefix,
    table::Verdict,
};
use serde_json::{Value, json};

use crate::{
    real::Real,
    report::{Column, Row},
    server::{self, Server},
    subject::{Subject, Way},
    wish::Wish,
};

/// What the scripted model says at last.
const ANSWER: &str = "quartz-lantern ready";
/// What it says to Gemini CLI, which first asks a model which model to ask, and for minutes if the answer is not one that it expects.
const ROUTE: &str = r#"{"reasoning": "any", "model_choice": "pro", "complexity_reasoning": "any", "complexity_score": 50}"#;
/// What it says before it wants the command run.
const BEFORE: &str = "Let me look.";
/// Hosts that run commands where they may change files: in a sandbox of their own, or not at all.
const RUNS_TO_EDIT: [&str; 2] = ["codex", "goose"];
/// The file that a command makes which must not run.
pub(crate) const FORBIDDEN: &str = "forbidden.txt";

/// Hosts and agents that do not say how many tokens they took.
const WITHOUT_USAGE: [&str; 2] = ["copilot", "qwen-acp"];

/// Asks one of them. What keeps us from it is told in the row, so that the others have theirs.
pub(crate) fn check(subject: &Subject, prefix: &Prefix, built: &Utf8Path) -> Row {
    let version = match subject.client() {
        None => server::version(prefix.root()),
        Some(client) => prefix.version(client::package(client)),
    };
    let version = version.unwrap_or_else(|_| "?".to_owned());
    let mut row = Row::new([&subject.name, subject.kind(), &version]);
    let looked = match subject.client() {
        None => look_at_server(&mut row, subject, prefix, built),
        Some(client) => look_at_program(&mut row, subject, client, prefix, built),
    };
    if let Err(error) = looked {
        row.fail(format!("{error:#}"));
    }
    row
}

fn look_at_server(
    row: &mut Row,
    subject: &Subject,
    prefix: &Prefix,
    built: &Utf8Path,
) -> anyhow::Result<()> {
    let scratch = Scratch::new();
    let server = Server::start(prefix.root())?;
    let provider = format!("kind = \"openai-compatible\"\nurl = \"{}\"\n", server.url());
    let asked = ask(&scratch, built, prefix, &provider, &[])?;
    let real = Real::open(&server.url())?;
    // So small a model does not say the word that it is asked for; what it knows, it says.
    let said = asked.text("/answer").is_some_and(|it| !it.is_empty());
    let answers = if said { real.knows()? } else { Verdict::No(asked.said.clone()) };
    row.set(Column::Answers, answers);
    row.set(Column::Usage, asked.usage(subject));
    row.set(Column::Streams, real.streams()?);
    row.set(Column::Schema, real.keeps_to_a_schema()?);
    Ok(())
}

fn look_at_program(
    row: &mut Row,
    subject: &Subject,
    client: &dyn Client,
    prefix: &Prefix,
    built: &Utf8Path,
) -> anyhow::Result<()> {
    let scratch = Scratch::new();
    let (home, work) = (scratch.path("home"), scratch.path("work"));
    let forbidden = work.join(FORBIDDEN);
    let (shell, input) = (client.shell(), client.shell_input(&format!("touch {forbidden}")));
    let endpoint = Endpoint::start(Script::rule(move |request: &Request| {
        let spoken = request.messages.iter().any(|message| message.role == Role::Assistant);
        match request.tool(shell).filter(|_| !spoken) {
            Some(tool) => {
                let mut reply = Reply::from(tool.call(input.clone()));
                reply.says.insert(0, Said::Text(BEFORE.to_owned()));
                reply
            }
            None if request.tools.is_empty() => Reply::text(ROUTE),
            None => Reply::text(ANSWER),
        }
    }));
    let (url, model) = (endpoint.url(), endpoint.model());
    let command = prefix.program(client::package(client));
    let (program, path) = (command.as_path(), &client::path(prefix, built));
    let place = Place { program, path, home: &home, workspace: &work, url: &url, model };
    for (path, text) in client.files(&place) {
        scratch::write(&home.join(path), &text);
    }
    let provider = match subject.way {
        Way::Acp(_, args) => {
            let words = std::iter::once(command.as_str()).chain(args.iter().copied());
            format!("kind = \"acp\"\ncommand = {}\n", json!(words.collect::<Vec<_>>()))
        }
        _ => {
            let host = client.host();
            format!("kind = \"host\"\nhost = \"{host}\"\ncommand = {}\n", json!([command]))
        }
    };
    let environment = client.env(&place);
    let with = |rights: &str| {
        if forbidden.exists() {
            fs_err::remove_file(&forbidden)?;
        }
        endpoint.forget();
        let asked = ask(&scratch, built, prefix, &format!("{provider}{rights}"), &environment)?;
        let made = forbidden.exists();
        anyhow::Ok((Wish { requests: endpoint.requests(), shell, made }, asked))
    };
    let (wish, asked) = with("")?;
    // Some end their turn when they are refused something.
    let answered =
        asked.text("/answer").is_some_and(|it| it.contains(ANSWER) || it.contains(BEFORE));
    row.set(Column::Answers, Verdict::from(answered, || asked.said.clone()));
    row.set(Column::Usage, asked.usage(subject));
    row.set(Column::Confined, wish.refused(&asked.said));
    if matches!(subject.way, Way::Host(_)) && !RUNS_TO_EDIT.contains(&client.host()) {
        let (wish, asked) = with("rights = \"edit\"\n")?;
        row.set(Column::Edits, wish.refused(&asked.said));
    }
    let (wish, asked) = with("rights = \"all\"\n")?;
    row.set(Column::Works, wish.granted(&asked.said));
    Ok(())
}

/// What came of `cargo agents model test --json`.
struct Asked {
    document: Value,
    said: String,
}

impl Asked {
    fn text(&self, pointer: &str) -> Option<&str> {
        self.document.pointer(pointer).and_then(Value::as_str)
    }

    fn usage(&self, subject: &Subject) -> Verdict {
        let tokens = self.document.pointer("/usage/output").and_then(Value::as_u64);
        let told = tokens.is_some_and(|tokens| tokens > 0);
        match (told, WITHOUT_USAGE.contains(&subject.name.as_str())) {
            (true, false) => Verdict::Yes,
            (false, true) => Verdict::NotTold,
            (false, false) => Verdict::No(format!("no tokens: {}", self.document)),
            (true, true) => Verdict::No("listed as not told, and told".to_owned()),
        }
    }
}

fn ask(
    scratch: &Scratch,
    built: &Utf8Path,
    prefix: &Prefix,
    provider: &str,
    environment: &[(&'static str, String)],
) -> anyhow::Result<Asked> {
    let (home, work, ours) = (scratch.path("home"), scratch.path("work"), scratch.path("ours"));
    for dir in [&home, &work, &ours] {
        fs_err::create_dir_all(dir)?;
    }
    scratch::write(&ours.join("config.toml"), format!("[providers.it]\n{provider}"));
    let path = client::path(prefix, built);
    let mut call = Call::new(built.join("cargo-agents"))
        .args(["model", "test", "--provider", "it", "--json"])
        .in_empty_env()
        .env("PATH", path)
        .env("HOME", &home)
        .env("LANG", "C.UTF-8")
        .env("TERM", "dumb")
        .env("CARGO_AGENTS_HOME", &ours)
        .cwd(&work)
        .deadline(Duration::from_secs(240));
    for (name, value) in environment {
        call = call.env(name, value);
    }
    let done = call.capture()?;
    let document = serde_json::from_slice(&done.stdout).unwrap_or(Value::Null);
    Ok(Asked { document, said: done.said() })
}

#[cfg(test)]
mod tests {
    use hosts_suite::table::Verdict;

    use super::*;

    #[test]
    fn tokens_that_are_not_told_are_noticed_and_so_are_those_that_are_after_all() {
        let usage = |name: &str, output: u64| {
            let document = json!({"usage": {"output": output}});
            let subject = Subject { name: name.to_owned(), way: Way::Server };
            Asked { document, said: String::new() }.usage(&subject)
        };
        assert_eq!(usage("llama", 3), Verdict::Yes);
        assert!(matches!(usage("llama", 0), Verdict::No(_)));
        for name in WITHOUT_USAGE {
            assert_eq!(usage(name, 0), Verdict::NotTold);
            assert!(matches!(usage(name, 3), Verdict::No(_)), "{name}");
        }
        let known: Vec<String> = crate::subject::all().into_iter().map(|it| it.name).collect();
        assert!(WITHOUT_USAGE.iter().all(|name| known.iter().any(|it| it == name)));
    }
}
