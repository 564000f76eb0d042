//! `cargo agents use <name>` and `cargo agents disable <name>`: the user's word, written down.
//!
//! Two commands for the two lists of `[plugins]`, by the names of their keys. Turning off is more than not turning on: it
//! beats everything else that is said.

use std::process::ExitCode;

use agents_plugin::{
    active::Wanted,
    config::{Config, Decision, Scope, Word},
    fetched::FetchedCrates,
    plugin::{Origin, Plugin, Waking},
    probes::Acquire,
};
use agents_sync::Edited;
use agents_system::{
    explain::{Code, ErrorKind, Explain as _},
    finding::Finding,
    foreign::Written,
};
use agents_workspace::{CrateName, SourceError};
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use super::{
    agreed::Terms,
    sync_hosts::{self, Brought, Mode, SyncHostsDocument},
};
use crate::{
    failure::{Failure, FindingView},
    here::{BrokenWorkspace, Here, visit},
    output::Output,
    settings::Settings,
};

/// `cargo agents use --json` and `cargo agents disable --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UseDocument {
    /// The name in the configuration
    name: String,
    /// The list of `[plugins]` that this is about: `use` or `disable`
    list: &'static str,
    /// The only workspace that it counts in
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    /// `added`, `removed` or `unchanged`
    change: &'static str,
    /// The configuration file
    config: String,
    /// What the hosts got; absent outside a workspace
    #[serde(skip_serializing_if = "Option::is_none")]
    sync: Option<SyncHostsDocument>,
    findings: Vec<FindingView>,
}

/// Where it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the workspace that the user stands in.
    Here,
    /// In every workspace.
    Everywhere,
}

/// What to do with the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Say,
    TakeBack,
}

/// What a name means here.
enum Target {
    /// A registry that the user configured has it, so nobody's word is needed.
    Available(Origin),
    /// Something that needs it, by the name that is written down.
    Named(String),
}

/// What is to be written down.
struct Wish {
    name: String,
    list: &'static str,
    workspace: Option<Utf8PathBuf>,
    manner: Manner,
    /// What is said if there is nothing to write.
    otherwise: String,
    findings: Vec<Finding>,
}

pub(crate) fn run_use(
    settings: &Settings,
    output: &Output,
    name: &str,
    place: Place,
    manner: Manner,
) -> Result<ExitCode, Failure> {
    let looking = settings.without_update();
    let root = root(&looking, BrokenWorkspace::Fails)?;
    let workspace = match (place, &root) {
        (Place::Everywhere, _) => None,
        (Place::Here, Some(root)) => Some(root.clone()),
        (Place::Here, None) => return Err(nowhere(name)),
    };
    let scope = workspace.as_deref().map_or(Scope::Everywhere, Scope::Workspace);
    let wish = |name: String, otherwise: String| Wish {
        name,
        list: "use",
        workspace: workspace.clone(),
        manner,
        otherwise,
        findings: Vec::new(),
    };
    if manner == Manner::TakeBack {
        let changed = Config::change(&settings.dirs, &settings.progress, |config| {
            let edits = config.enablement.edits(Decision::StopUsing(name, scope));
            if edits.is_empty() { Err(not_said(config, name, scope)) } else { Ok(edits) }
        })?;
        return finish(
            settings,
            output,
            wish(name.to_owned(), String::new()),
            changed.written,
            root.as_deref(),
        );
    }
    let target =
        visit(&looking, Acquire::Never, BrokenWorkspace::Fails, |here, _| resolve(here, name))?;
    settings.progress.end();
    let name = match target {
        Target::Available(origin) => {
            let otherwise = format!("`{name}` needs nobody's word: {origin} has it");
            return finish(
                settings,
                output,
                wish(name.to_owned(), otherwise),
                Written::Unchanged,
                root.as_deref(),
            );
        }
        Target::Named(name) => name,
    };
    let changed = Config::change(&settings.dirs, &settings.progress, |config| {
        if let Some(word) = config.enablement.disabling(&name) {
            return Err(refused(settings, &name, word));
        }
        // What counts everywhere counts here.
        if config.enablement.using(&name, workspace.as_deref()).is_some() && place == Place::Here {
            return Ok(Vec::new());
        }
        Ok(config.enablement.edits(Decision::Use(&name, scope)))
    })?;
    let otherwise = format!("`{name}` is turned on already");
    finish(settings, output, wish(name, otherwise), changed.written, root.as_deref())
}

pub(crate) fn run_disable(
    settings: &Settings,
    output: &Output,
    name: &str,
    manner: Manner,
) -> Result<ExitCode, Failure> {
    let looking = settings.without_update();
    // A workspace that cannot be understood is no reason to leave something on.
    let root = root(&looking, BrokenWorkspace::IsReported)?;
    let (name, findings) = match manner {
        Manner::TakeBack => (name.to_owned(), Vec::new()),
        Manner::Say => visit(&looking, Acquire::Never, BrokenWorkspace::IsReported, |here, _| {
            Ok(match meant(here, name).first() {
                Some(plugin) => (plugin.consent_name().to_owned(), Vec::new()),
                None => (name.to_owned(), vec![unknown_here(name)]),
            })
        })?,
    };
    let changed = Config::change(&settings.dirs, &settings.progress, |config| {
        let decision = match manner {
            Manner::Say => Decision::Disable(&name),
            Manner::TakeBack => Decision::StopDisabling(&name),
        };
        let edits = config.enablement.edits(decision);
        if edits.is_empty() && manner == Manner::TakeBack {
            return Err(Failure::new(
                ErrorKind::Usage,
                format!("`[plugins] disable` does not name `{name}`"),
            )
            .hint("`cargo agents status` says what turns plugins on and off"));
        }
        Ok(edits)
    })?;
    let otherwise = format!("`{name}` is turned off already");
    let wish = Wish { name, list: "disable", workspace: None, manner, otherwise, findings };
    finish(settings, output, wish, changed.written, root.as_deref())
}

/// Says what was done, and brings the hosts what that means.
fn finish(
    settings: &Settings,
    output: &Output,
    wish: Wish,
    written: Written,
    root: Option<&Utf8Path>,
) -> Result<ExitCode, Failure> {
    let file = Config::file(&settings.dirs);
    let Wish { name, list, workspace, manner, otherwise, findings } = wish;
    let change = match (written, manner) {
        (Written::Unchanged, _) => "unchanged",
        (_, Manner::Say) => "added",
        (_, Manner::TakeBack) => "removed",
    };
    if !output.is_json() {
        let scope = workspace.as_ref().map(|root| format!(" in {root}")).unwrap_or_default();
        output.line(match change {
            "unchanged" => format!("{otherwise}; nothing changed."),
            "added" => format!("`[plugins] {list}` names `{name}`{scope}  ({file})"),
            _ => format!("`[plugins] {list}` names `{name}` no longer{scope}  ({file})"),
        })?;
        output.flush()?;
        output.findings(&findings);
    }
    let brought = match root {
        Some(_) => {
            let brought =
                sync_hosts::bring(settings, Mode::Apply, Edited::Keep, &Terms::default())?;
            // This word was about one plugin; the others have not been asked for.
            Some(Brought { waiting: None, ..brought })
        }
        None => None,
    };
    let code = brought.as_ref().map_or(ExitCode::SUCCESS, |it| it.code(Mode::Apply));
    if !output.is_json() {
        if let Some(brought) = brought {
            brought.report(Mode::Apply, output)?;
        }
        return Ok(code);
    }
    output.document(&UseDocument {
        name,
        list,
        workspace: workspace.map(Utf8PathBuf::into_string),
        change,
        config: file.into_string(),
        sync: brought.map(|it| it.document(Mode::Apply)),
        findings: findings.iter().map(FindingView::from).collect(),
    })?;
    Ok(code)
}

/// The root of the workspace that the user stands in.
fn root(settings: &Settings, broken: BrokenWorkspace) -> Result<Option<Utf8PathBuf>, Failure> {
    visit(settings, Acquire::Never, broken, |here, _| {
        Ok(here.workspace.as_ref().map(|workspace| workspace.root.clone()))
    })
}

/// The plugins that a name may mean. The name of a crate comes before what its plugin calls itself.
fn meant<'h>(here: &'h Here<'_>, name: &str) -> Vec<&'h Plugin> {
    let all = || here.set.catalog.plugins.iter();
    let wanted = CrateName::new(name);
    let by_word: Vec<&Plugin> =
        all().filter(|plugin| CrateName::new(plugin.consent_name()) == wanted).collect();
    if by_word.is_empty() { all().filter(|plugin| plugin.name.is(name)).collect() } else { by_word }
}

fn resolve(here: &Here<'_>, name: &str) -> Result<Target, Failure> {
    let enablement = &here.registries.config.enablement;
    let plugins = meant(here, name);
    let off = plugins.iter().find_map(|plugin| enablement.disabling_plugin(plugin));
    if let Some(word) = off.or_else(|| enablement.disabling(name)) {
        return Err(refused(here.settings, name, word));
    }
    let available = plugins.iter().find(|plugin| {
        matches!(plugin.origin, Origin::BuiltIn | Origin::Registry(_))
            && plugin.waking == Waking::ByItself
    });
    if let Some(plugin) = available {
        return Ok(Target::Available(plugin.origin.clone()));
    }
    let mut names: Vec<&str> = plugins.iter().map(|plugin| plugin.consent_name()).collect();
    names.sort_unstable();
    names.dedup();
    match names[..] {
        [] => embedded(here, name),
        [only] => Ok(Target::Named(only.to_owned())),
        _ => Err(Failure::new(
            ErrorKind::Usage,
            format!("{} crates bring a plugin that calls itself `{name}`", names.len()),
        )
        .hint(format!("name the crate that you mean: {}", names.join(", ")))),
    }
}

/// A crate that no plugin here comes from: one whose sources are not on disk, or no dependency at all.
fn embedded(here: &Here<'_>, name: &str) -> Result<Target, Failure> {
    let wanted = Wanted { name: CrateName::new(name), requirement: None, by: "you".to_owned() };
    here.settings.progress.begin(format!("Looking for {name}"));
    let workspace = here.workspace.as_ref();
    let workspaces = here.registries.workspaces;
    let source = workspaces.source(workspace, &here.settings.cwd, &wanted.name, None);
    here.settings.progress.end();
    let source = source.map_err(|error| match error {
        SourceError::NoSuchCrate { .. } | SourceError::BadName(_) => {
            let (kind, code) = (error.kind(), error.code().unwrap_or(Code::NoSuchCrate));
            let failure = Failure::new(kind, format!("no plugin and no crate is named `{name}`"));
            failure
                .code(code)
                .hint(format!("`cargo agents search {name}` finds what is named like it"))
        }
        error => error.into(),
    })?;
    let scan = here.registries.load_crate(&source.dir, &source.name, &source.version);
    if scan.plugins.is_empty() {
        let (name, version) = (&source.name, &source.version);
        return Err(Failure::new(
            ErrorKind::Usage,
            format!("crate `{name}` {version} brings nothing for coding agents"),
        )
        .hint("only what is there can be agreed to"));
    }
    let failed = |error: std::io::Error| Failure::new(ErrorKind::Failure, error.to_string());
    match workspace {
        Some(workspace) if workspace.packages.iter().any(|it| it.name == source.name) => {
            here.registries.look_again(workspace).map_err(failed)?;
        }
        _ => FetchedCrates::new(&here.settings.dirs.cache).put(&wanted, &source).map_err(failed)?,
    }
    Ok(Target::Named(source.name.to_string()))
}

fn nowhere(name: &str) -> Failure {
    Failure::new(ErrorKind::Usage, "this is not a Rust workspace")
        .code(Code::NoWorkspace)
        .hint(format!("`cargo agents use --global {name}` is about every workspace"))
}

fn refused(settings: &Settings, name: &str, word: Word<'_>) -> Failure {
    let file = Config::file(&settings.dirs);
    let failure =
        Failure::new(ErrorKind::Refused, format!("`{name}` is turned off, and that comes first"))
            .code(Code::TurnedOff)
            .details(format!("`[plugins] disable` names `{}`  {file}:{}", word.name, word.line));
    match word.name {
        "*" => failure.hint("take the `*` out of `[plugins] disable` first"),
        other => failure.hint(format!("`cargo agents disable --remove {other}` takes that back")),
    }
}

fn not_said(config: &Config, name: &str, scope: Scope<'_>) -> Failure {
    let (here, root) = match scope {
        Scope::Everywhere => ("for every workspace", None),
        Scope::Workspace(root) => ("for this workspace", Some(root)),
    };
    let failure =
        Failure::new(ErrorKind::Usage, format!("`[plugins] use` does not name `{name}` {here}"));
    let enablement = &config.enablement;
    if root.is_some() && enablement.using(name, None).is_some() {
        return failure
            .hint(format!("it does for every one: `cargo agents use --global --remove {name}`"));
    }
    match enablement.auto_enabling(name) {
        Some(word) => failure.hint(format!(
            "`[plugins] auto-enable` does, in line {}; `cargo agents disable {name}` turns it off",
            word.line
        )),
        None => failure.hint("`cargo agents status` says what turns plugins on and off"),
    }
}

fn unknown_here(name: &str) -> Finding {
    Finding::warning(format!("nothing here is named `{name}`"))
        .hint("should it ever come, it stays off")
}
