//! What is looked at.

use std::time::Duration;

use agents_system::process::Call;
use agents_testkit::{
    endpoint::{Endpoint, Reply, Request, Script},
    scratch::{self, Scratch},
};
use camino::Utf8Path;
use serde_json::{Value, json};

use crate::{
    file_name,
    install::Prefix,
    report::{Column, Row, Verdict},
    server::Server,
    subject::{Client, Subject, Way},
};

/// What the scripted model says at last.
const ANSWER: &str = "quartz-lantern ready";
/// What it says before it wants the command run.
const BEFORE: &str = "Let me look.";
/// The file that a command makes which must not run.
const FORBIDDEN: &str = "forbidden.txt";

pub(crate) fn check(subject: &Subject, prefix: &Prefix, program: &Utf8Path) -> anyhow::Result<Row> {
    match (subject.way, subject.client()) {
        (Way::Server, _) | (_, None) => check_server(subject, prefix, program),
        (way, Some(client)) => check_program(subject, way, client, prefix, program),
    }
}

fn check_server(subject: &Subject, prefix: &Prefix, program: &Utf8Path) -> anyhow::Result<Row> {
    let scratch = Scratch::new();
    let server = Server::start(prefix.root())?;
    let provider = format!("kind = \"openai-compatible\"\nurl = \"{}\"\n", server.url());
    let asked = ask(&scratch, program, prefix, &provider, &[])?;
    let mut row = Row::new(subject.name, subject.kind(), "SmolLM2-135M".to_owned());
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
    way: Way,
    client: Client,
    prefix: &Prefix,
    program: &Utf8Path,
) -> anyhow::Result<Row> {
    let scratch = Scratch::new();
    let forbidden = scratch.path("work").join(FORBIDDEN);
    let input = client.shell_input(&format!("touch {forbidden}"));
    let endpoint = Endpoint::start(Script::rule(move |request: &Request| {
        let offered = request.tools.iter().any(|tool| tool.name == client.shell);
        let spoken = request
            .messages
            .iter()
            .filter(|message| format!("{:?}", message.role) == "Assistant")
            .count();
        if offered && spoken == 0 {
            Reply::text(BEFORE).and_call(client.shell, input.clone())
        } else {
            Reply::text(ANSWER)
        }
    }));
    let files = own_files(&endpoint.url(), endpoint.model());
    for (path, text) in files {
        scratch::write(&scratch.path("home").join(path), &text);
    }
    let command = prefix.program(client.package);
    let provider = match way {
        Way::Acp(_, args) => {
            let words: Vec<String> = std::iter::once(command.to_string())
                .chain(args.iter().map(ToString::to_string))
                .collect();
            format!("kind = \"acp\"\ncommand = {}\n", json!(words))
        }
        _ => {
            format!("kind = \"host\"\nhost = \"{}\"\ncommand = {}\n", client.host, json!([command]))
        }
    };
    let environment = environment(&endpoint.url(), endpoint.model());
    let asked = ask(&scratch, program, prefix, &provider, &environment)?;
    let mut row = Row::new(subject.name, subject.kind(), prefix.version(client.package)?);
    // Some end their turn when they are refused something.
    let answered =
        asked.text("/answer").is_some_and(|it| it.contains(ANSWER) || it.contains(BEFORE));
    row.set(Column::Answers, Verdict::from(answered, || asked.said.clone()));
    row.set(Column::Usage, asked.usage());
    row.set(
        Column::Confined,
        Verdict::from(!forbidden.exists(), || format!("{} was made", file_name(&forbidden))),
    );
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
    program: &Utf8Path,
    prefix: &Prefix,
    provider: &str,
    environment: &[(&str, String)],
) -> anyhow::Result<Asked> {
    let (home, work, ours) = (scratch.path("home"), scratch.path("work"), scratch.path("ours"));
    for dir in [&home, &work, &ours] {
        fs_err::create_dir_all(dir)?;
    }
    scratch::write(&ours.join("config.toml"), format!("[providers.it]\n{provider}"));
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", prefix.node());
    let mut call = Call::new(program.as_str())
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

/// The user's own files of all hosts: each finds the scripted model.
fn own_files(url: &str, model: &str) -> Vec<(&'static str, String)> {
    let codex = format!(
        "model = \"{model}\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"Scripted\"\n\
         base_url = \"{url}/v1\"\nenv_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\n"
    );
    let opencode = json!({"model": format!("scripted/{model}"), "provider": {"scripted": {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": format!("{url}/v1"), "apiKey": "none"},
        "models": {model: {}},
    }}});
    let goose = format!(
        "GOOSE_PROVIDER: openai\nGOOSE_MODEL: {model}\nGOOSE_TELEMETRY_ENABLED: false\nextensions:\n  developer:\n    \
         name: developer\n    type: builtin\n    enabled: true\n"
    );
    let auth = |kind: &str| {
        let tools = json!({"toolSearch": {"enabled": false}});
        json!({"security": {"auth": {"selectedType": kind}}, "privacy": {"usageStatisticsEnabled": false}, "tools": tools}).to_string()
    };
    vec![
        (".codex/config.toml", codex),
        (".config/opencode/opencode.json", opencode.to_string()),
        (".config/goose/config.yaml", goose),
        (".gemini/settings.json", auth("gemini-api-key")),
        (".qwen/settings.json", auth("openai")),
        // On its first start one of them asks npm for a package, and waits long for an answer.
        (".npmrc", format!("registry={url}/npm/\nfetch-retries=0\n")),
    ]
}

fn environment(url: &str, model: &str) -> Vec<(&'static str, String)> {
    let none = || "none".to_owned();
    vec![
        ("ANTHROPIC_BASE_URL", url.to_owned()),
        ("ANTHROPIC_API_KEY", none()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ("GEMINI_API_KEY", none()),
        ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
        ("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()),
        ("SCRIPTED_KEY", none()),
        ("OPENAI_API_KEY", none()),
        ("OPENAI_BASE_URL", format!("{url}/v1")),
        ("OPENAI_HOST", url.to_owned()),
        ("OPENAI_MODEL", model.to_owned()),
        ("GOOSE_DISABLE_KEYRING", "1".to_owned()),
        ("COPILOT_OFFLINE", "true".to_owned()),
        ("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1")),
        ("COPILOT_PROVIDER_API_KEY", none()),
        ("COPILOT_MODEL", model.to_owned()),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
    ]
}
