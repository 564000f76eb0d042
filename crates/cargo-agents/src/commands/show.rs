//! `cargo agents plugin show <plugin>`

use std::process::ExitCode;

use agents_plugin::{active::Considered, plugin::Origin, probes::Acquire};
use agents_system::{
    explain::{Code, ErrorKind},
    nearest::{nearest, quoted_list},
};
use serde::Serialize;

use crate::{
    failure::Failure,
    here::{BUILT_IN, BrokenWorkspace, Here, visit},
    output::Output,
    settings::Settings,
};

/// `cargo agents plugin show --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ShowDocument {
    plugins: Vec<ManifestView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ManifestView {
    name: String,
    /// `built-in`, `registry`, `member` or `crate`
    origin: &'static str,
    file: String,
    /// The manifest as it is written
    text: String,
}

pub(crate) fn run(settings: &Settings, output: &Output, name: &str) -> Result<ExitCode, Failure> {
    visit(settings, Acquire::Never, BrokenWorkspace::IsReported, |here, error| {
        let named: Vec<_> =
            here.set.considered().filter(|considered| considered.plugin.name.is(name)).collect();
        if named.is_empty() {
            // A member of a workspace that cannot be read may have it.
            return Err(error.map_or_else(|| not_found(here, name), Failure::from));
        }
        let plugins = named.iter().map(view).collect::<Result<Vec<_>, _>>()?;
        if output.is_json() {
            output.document(&ShowDocument { plugins })?;
        } else {
            for plugin in &plugins {
                output.line(format!("# {}\n", plugin.file))?;
                output.text(plugin.text.trim_end())?;
                output.line("")?;
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn view(considered: &Considered<'_>) -> Result<ManifestView, Failure> {
    let plugin = considered.plugin;
    let text = match plugin.origin {
        Origin::BuiltIn => {
            let built_in = BUILT_IN.iter().find(|built_in| plugin.name.is(built_in.name));
            built_in.map(|built_in| built_in.manifest.to_owned()).unwrap_or_default()
        }
        _ => match fs_err::read_to_string(&plugin.file) {
            Ok(text) => text,
            // A plugin may consist of nothing but a `skills/` directory.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Failure::new(ErrorKind::Failure, error.to_string())),
        },
    };
    Ok(ManifestView {
        name: plugin.name.to_string(),
        origin: plugin.origin.kind(),
        file: plugin.file.to_string(),
        text,
    })
}

/// The error for a plugin that nobody has.
pub(super) fn not_found(here: &Here<'_>, name: &str) -> Failure {
    let failure = Failure::new(ErrorKind::Usage, format!("there is no plugin `{name}`"))
        .code(Code::UnknownPlugin);
    let known = here.set.considered().map(|considered| considered.plugin.name.as_str());
    let near = nearest(name, known);
    failure.hint(if near.is_empty() {
        "`cargo agents plugin list` lists all of them".to_owned()
    } else {
        format!("did you mean {}?", quoted_list(&near, "or"))
    })
}
