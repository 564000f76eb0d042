//! `cargo agents init`: which coding agents the user has.

use std::process::ExitCode;

use agents_host::find;
use agents_plugin::config::Config;
use agents_system::{
    edit::{Edit, Format, apply},
    explain::ErrorKind,
    foreign::ForeignFile,
    process::find_program,
};
use serde::Serialize;
use serde_json::json;

use super::wanted;
use crate::{args::InitArgs, failure::Failure, output::Output, settings::Settings};

/// `cargo agents init --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct InitDocument {
    /// The configuration file
    config: String,
    /// The configured hosts
    hosts: Vec<String>,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    args: &InitArgs,
) -> Result<ExitCode, Failure> {
    let (all, findings) = wanted::all_hosts(settings)?;
    let config = Config::load(&settings.dirs)?;
    let known = |name: &String| match find(&all, name) {
        Ok(host) => Ok(host.id.to_string()),
        Err(unknown) => {
            Err(Failure::new(ErrorKind::Usage, unknown.to_string()).hint(unknown.advice()))
        }
    };
    let added = args.add_agent.iter().map(known).collect::<Result<Vec<_>, _>>()?;
    let removed = args.remove_agent.iter().map(known).collect::<Result<Vec<_>, _>>()?;
    let mut hosts = config.hosts.clone();
    if added.is_empty() && removed.is_empty() && hosts.is_empty() {
        let home = wanted::home()?;
        let roots = wanted::roots(&home, None);
        let installed =
            all.iter().filter(|host| host.is_installed(&roots, |it| find_program(it).is_some()));
        hosts = installed.map(|host| host.id.to_string()).collect();
        if hosts.is_empty() {
            return Err(Failure::new(
                ErrorKind::Usage,
                "no coding agent was found on this machine",
            )
            .hint(
                "name one with `--add-agent`; `cargo agents host list` lists those that are known",
            ));
        }
    }
    hosts.extend(added);
    hosts.retain(|host| !removed.contains(host));
    let mut once: Vec<String> = Vec::new();
    for host in hosts {
        if !once.contains(&host) {
            once.push(host);
        }
    }
    let file = Config::file(&settings.dirs);
    let loaded = ForeignFile::load(&file)?;
    let mut edits = vec![
        Edit::Set { at: ["hosts"].into(), value: json!(once) },
        // One place for it is enough.
        Edit::Remove { at: ["agent"].into() },
    ];
    if let Some(scope) = args.hook_scope {
        edits.push(Edit::Set { at: ["hook-scope"].into(), value: json!(scope.word()) });
    }
    let text = apply(Format::Toml, loaded.text().unwrap_or_default(), &edits)?;
    loaded.replace(&text)?;
    if output.is_json() {
        output.document(&InitDocument { config: file.to_string(), hosts: once })?;
    } else {
        let list = if once.is_empty() { "none".to_owned() } else { once.join(", ") };
        output.line(format!("Hosts: {list}  ({file})"))?;
        output.line("`cargo agents sync` in a workspace brings them what its crates offer.")?;
        output.flush()?;
        output.findings(&findings);
    }
    Ok(ExitCode::SUCCESS)
}
