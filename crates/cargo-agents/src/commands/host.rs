//! `cargo agents host list|show`

use std::process::ExitCode;

use agents_host::{Host, Resolved, Scope, find};
use agents_plugin::config::Config;
use agents_system::process::find_program;
use agents_workspace::Workspaces;
use serde::Serialize;

use super::wanted;
use crate::{args::HostCommand, failure::Failure, output::Output, settings::Settings};

/// `cargo agents host list --json` and `… show --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HostDocument {
    hosts: Vec<HostView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct HostView {
    id: String,
    name: String,
    installed: bool,
    configured: bool,
    /// Its files in this workspace; absent outside of one
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<PathsView>,
    user: PathsView,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PathsView {
    #[serde(skip_serializing_if = "Option::is_none")]
    skills: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agents: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hooks: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    command: &HostCommand,
) -> Result<ExitCode, Failure> {
    let (all, mut findings) = wanted::all_hosts(settings)?;
    let config = Config::load(&settings.dirs)?;
    let configured = wanted::configured(&config, &all, &mut findings);
    let chosen: Vec<&Host> = match command {
        HostCommand::List => all.iter().collect(),
        HostCommand::Show { host } => match find(&all, host) {
            Ok(host) => vec![host],
            Err(unknown) => {
                return Err(unknown.into());
            }
        },
    };
    let workspaces = Workspaces {
        cache: &settings.dirs.cache,
        cargo: &settings.cargo,
        progress: &settings.progress,
    };
    let workspace = workspaces.find(&settings.cwd)?;
    let home = wanted::home()?;
    let roots = wanted::roots(&home, workspace.as_ref().map(|it| it.root.as_path()));
    let views: Vec<HostView> = chosen
        .iter()
        .map(|host| HostView {
            id: host.id.to_string(),
            name: host.name.clone(),
            installed: host.is_installed(&roots, |name| find_program(name).is_some()),
            configured: configured.iter().any(|it| it.id == host.id),
            project: roots.workspace.map(|_| paths(host.paths(Scope::Project, &roots))),
            user: paths(host.paths(Scope::User, &roots)),
        })
        .collect();
    if output.is_json() {
        output.document(&HostDocument { hosts: views })?;
        return Ok(ExitCode::SUCCESS);
    }
    match command {
        HostCommand::List => list(&views, output)?,
        HostCommand::Show { .. } => show(&views, output)?,
    }
    output.flush()?;
    output.findings(&findings);
    Ok(ExitCode::SUCCESS)
}

fn list(views: &[HostView], output: &Output) -> Result<(), Failure> {
    for view in views {
        let installed = if view.installed { "installed" } else { "" };
        let configured = if view.configured { "configured" } else { "" };
        output.line(
            format!("{:12}  {:20}  {installed:9}  {configured}", view.id, view.name).trim_end(),
        )?;
    }
    Ok(())
}

fn show(views: &[HostView], output: &Output) -> Result<(), Failure> {
    for view in views {
        output.line(format!("{}  {}", view.id, view.name))?;
        let scopes = [("project", view.project.as_ref()), ("user", Some(&view.user))];
        for (scope, paths) in scopes {
            let Some(paths) = paths else { continue };
            let rows = [
                ("skills", &paths.skills),
                ("agents", &paths.agents),
                ("hooks", &paths.hooks),
                ("mcp", &paths.mcp),
                ("instructions", &paths.instructions),
            ];
            for (what, path) in rows {
                let path = path.as_deref().unwrap_or("-");
                output.line(format!("  {scope:7}  {what:12}  {path}"))?;
            }
        }
    }
    Ok(())
}

fn paths(resolved: Resolved) -> PathsView {
    let text = |path: Option<camino::Utf8PathBuf>| path.map(camino::Utf8PathBuf::into_string);
    PathsView {
        skills: text(resolved.skills_dir),
        agents: text(resolved.agents_dir),
        hooks: text(resolved.hook_file),
        mcp: text(resolved.mcp_file),
        instructions: text(resolved.instructions_file),
    }
}
