//! `cargo agents secret list|check`

use std::process::ExitCode;

use agents_plugin::config::Config;
use agents_system::explain::{Code, ErrorKind, Explain as _, with_causes};
use agents_task::secret::{SecretSettings, SecretSource, can_be_hidden, sources::Presence};
use serde::Serialize;

use crate::{args::SecretCommand, failure::Failure, output::Output, settings::Settings};

/// `cargo agents secret list --json` and `cargo agents secret check --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SecretListDocument {
    secrets: Vec<SecretView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SecretView {
    name: String,
    /// The variable that holds it in the calls that are given it
    variable: String,
    /// `env`, `keyring`, `command` or `age`
    source: &'static str,
    /// Where it is, in words
    place: String,
    /// `present`, `missing` or `unknown`; from `check` also `wrong` and `too-short`, and never `unknown`
    state: &'static str,
    /// What is wrong, in words
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    command: &SecretCommand,
) -> Result<ExitCode, Failure> {
    let known = SecretSettings::load(&settings.dirs)?;
    let (views, code) = match command {
        SecretCommand::List => (listed(&known), ExitCode::SUCCESS),
        SecretCommand::Check { names } => {
            let views = checked(&known, names)?;
            let fine = views.iter().all(|it| it.state == "present");
            (views, if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    };
    if output.is_json() {
        output.document(&SecretListDocument { secrets: views })?;
        return Ok(code);
    }
    if views.is_empty() {
        let file = Config::file(&settings.dirs);
        output.talk(&format!(
            "no secret is configured: `[secrets.NAME]` in `{file}` says where one is"
        ));
    }
    let width = views.iter().map(|it| it.name.len()).max().unwrap_or(0);
    for SecretView { name, state, place, problem, .. } in views {
        output.line(format!("{name:width$}  {state:9}  {place}"))?;
        if let Some(problem) = problem {
            output.line(format!("{:width$}  {problem}", ""))?;
        }
    }
    output.flush()?;
    output.findings(&known.findings);
    Ok(code)
}

fn listed(known: &SecretSettings) -> Vec<SecretView> {
    let state = |source: &SecretSource| match source.presence() {
        Presence::There => "present",
        Presence::Missing => "missing",
        Presence::Unknown => "unknown",
    };
    let problem = |source: &SecretSource| {
        source.missing_besides().map(|file| format!("there is no `{file}`, which opens it"))
    };
    let listed = known.iter().map(|(key, source)| {
        view(key.as_str(), &key.variable(), source, state(source), problem(source))
    });
    listed.collect()
}

fn checked(known: &SecretSettings, names: &[String]) -> Result<Vec<SecretView>, Failure> {
    if let Some(name) = names.iter().find(|it| known.source(it).is_none()) {
        return Err(unknown(name));
    }
    let wanted = known
        .iter()
        .filter(|(key, _)| names.is_empty() || names.iter().any(|it| it == key.as_str()));
    let check = |source: &SecretSource| match source.read() {
        Ok(Some(value)) if can_be_hidden(&value) => ("present", None),
        Ok(Some(_)) => {
            ("too-short", Some("it is too short to be hidden: agents are not given it".to_owned()))
        }
        Ok(None) => ("missing", None),
        Err(error) => {
            let hint = error.hint().map(|it| format!("; {it}")).unwrap_or_default();
            ("wrong", Some(with_causes(&error) + &hint))
        }
    };
    Ok(wanted
        .map(|(key, source)| {
            let (state, problem) = check(source);
            view(key.as_str(), &key.variable(), source, state, problem)
        })
        .collect())
}

fn view(
    name: &str,
    variable: &str,
    source: &SecretSource,
    state: &'static str,
    problem: Option<String>,
) -> SecretView {
    SecretView {
        name: name.to_owned(),
        variable: variable.to_owned(),
        source: source.word(),
        place: source.to_string(),
        state,
        problem,
    }
}

/// One that is not configured.
pub(crate) fn unknown(name: &str) -> Failure {
    Failure::new(ErrorKind::Usage, format!("no secret `{name}` is configured")).code(Code::NoSecret)
        .hint(format!("`[secrets.{name}]` in `config.toml` says where it is; `cargo agents secret list` shows all of them"))
}
