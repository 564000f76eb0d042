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
    report::{Column, Row},
    server::Server,
    subject::{Subject, Way},
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
const FORBIDDEN: &str = "forbidden.txt";

pub(crate) fn check(subject: &Subject, prefix: &Prefix, built: &Utf8Path) -> anyhow::Result<Row> {
    match subject.client() {
        None => check_server(subject, prefix, built),
        Some(client) => check_program(subject, client, prefix, built),
    }
}

fn check_server(subject: &Subject, prefix: &Prefix, built: &Utf8Path) -> anyhow::Result<Row> {
    let scratch = Scratch::new();
    let server = Server::start(prefix.root())?;
    let provider = format!("kind = \"openai-compatible\"\nurl = \"{}\"\n", server.url());
    let asked = ask(&scratch, built, prefix, &provider, &[])?;
    let mut row = Row::new([&subject.name, subject.kind(), "SmolLM2-135M"]);
    row.set(
        Column::Answers,
        Verdict::from(asked.text("/answer").is_some_and(|it| !it.is_empty()), || {
            asked.said.clone()
        }),
    );
    row.set(Column::Usage, asked.usage());
    Ok(row)
}

fn check_program(
    subject: &Subject,
    client: &dyn Client,
    prefix: &Prefix,
    built: &Utf8Path,
) -> anyhow::Result<Row> {
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
    let asked = ask(&scratch, built, prefix, &provider, &environment)?;
    let version = prefix.version(client::package(client))?;
    let mut row = Row::new([&subject.name, subject.kind(), &version]);
    // Some end their turn when they are refused something.
    let answered =
        asked.text("/answer").is_some_and(|it| it.contains(ANSWER) || it.contains(BEFORE));
    row.set(Column::Answers, Verdict::from(answered, || asked.said.clone()));
    row.set(Column::Usage, asked.usage());
    row.set(
        Column::Confined,
        Verdict::from(!forbidden.exists(), || format!("{FORBIDDEN} was made")),
    );
    let with = |rights: &str| {
        if forbidden.exists() {
            fs_err::remove_file(&forbidden)?;
        }
        let provider = format!("{provider}rights = \"{rights}\"\n");
        ask(&scratch, built, prefix, &provider, &environment)
    };
    if matches!(subject.way, Way::Host(_)) && !RUNS_TO_EDIT.contains(&client.host()) {
        with("edit")?;
        let ran = forbidden.exists();
        row.set(Column::Edits, Verdict::from(!ran, || format!("{FORBIDDEN} was made")));
    }
    let asked = with("all")?;
    let ran = forbidden.exists();
    row.set(Column::Works, Verdict::from(ran, || format!("no {FORBIDDEN}: {}", asked.said)));
    Ok(row)
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

    fn usage(&self) -> Verdict {
        let tokens = self.document.pointer("/usage/output").and_then(Value::as_u64);
        match tokens {
            Some(tokens) if tokens > 0 => Verdict::Yes,
            _ => Verdict::NotTold,
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
