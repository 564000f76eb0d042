//! The workspace and its plugins, opened when a command needs them.

use std::mem::ManuallyDrop;

use agents_install::{
    Installer, Update,
    git::{Checkouts, GitAddress},
};
use agents_plugin::{
    active::ActiveSet,
    catalog::{BuiltIn, Registries},
    config::{AutoUpdate, Config, RegistryPlace},
    probes::{Acquire, LiveProbes},
};
use agents_system::finding::{Finding, Severity};
use agents_workspace::{Glance, Workspace, WorkspaceError, Workspaces};

use crate::{failure::Failure, settings::Settings};

/// The plugins that ship inside the program.
pub(crate) const BUILT_IN: &[BuiltIn] = &[BuiltIn {
    name: "crate-info",
    manifest: include_str!("../built-in/crate-info/SYMPOSIUM.toml"),
}];

/// Everything a command may ask about the place where the user stands.
pub(crate) struct Here<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) registries: Registries<'a>,
    /// `None` outside a workspace.
    pub(crate) workspace: Option<Workspace>,
    pub(crate) set: ActiveSet,
    /// What there is to say about the configuration and about refreshing registries.
    pub(crate) findings: Vec<Finding>,
}

/// Who tells more about plugins that are not there.
const SAYS_WHY: &str = "`cargo agents plugin list` says why";

/// As many files are named; a registry may be full of others.
const NAMED: usize = 3;

impl Here<'_> {
    /// What keeps plugins out, in a few lines: whoever has them in a registry should hear it before they are missed. Never an error, since one bad
    /// plugin stops nothing.
    pub(crate) fn left_out(&self) -> Vec<Finding> {
        let catalog = &self.set.catalog;
        let errors = catalog.findings.iter().filter(|it| it.severity == Severity::Error);
        let mut said: Vec<Finding> =
            errors.map(|it| Finding::warning(it.message.clone()).hint(SAYS_WHY)).collect();
        let count = catalog.invalid.len();
        if count > 0 {
            let what = if count == 1 { "1 plugin" } else { &format!("{count} plugins") };
            let files = catalog.invalid.iter().take(NAMED).map(|it| format!("`{}`", it.file));
            let files = files.collect::<Vec<_>>().join(", ");
            let more = if count > NAMED { ", ..." } else { "" };
            let message = format!("{what} could not be loaded: {files}{more}");
            said.push(Finding::warning(message).hint(SAYS_WHY));
        }
        said
    }

    /// What `[sandbox]` says about plugins that are not here.
    pub(crate) fn unknown_sandboxed(&self) -> Vec<Finding> {
        let file = Config::file(&self.settings.dirs);
        self.registries.config.sandboxed.unknown(&self.set, &file)
    }

    /// The outside world, for explaining what was decided.
    pub(crate) fn probes(&self) -> (LiveProbes<'_>, Vec<Finding>) {
        let workspace = self.workspace.as_ref();
        self.registries.probes(&self.set.catalog, workspace, &self.settings.cwd, Acquire::Never)
    }
}

/// What to do about a workspace that cannot be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BrokenWorkspace {
    /// It is an error.
    Fails,
    /// Go on as if outside of one; the error is handed back.
    IsReported,
}

/// Opens everything and hands it to `work`, together with what is wrong with the workspace, if that is only to be
/// reported.
pub(crate) fn visit<T>(
    settings: &Settings,
    acquire: Acquire,
    broken: BrokenWorkspace,
    work: impl FnOnce(&Here<'_>, Option<WorkspaceError>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let find = |workspaces: &Workspaces<'_>| match (workspaces.find(&settings.cwd), broken) {
        (Ok(workspace), _) => Ok((workspace, None)),
        (Err(error), BrokenWorkspace::IsReported) => Ok((None, Some(error))),
        (Err(error), BrokenWorkspace::Fails) => Err(error.into()),
    };
    open(settings, acquire, settings.after, find, work)
}

/// The same for a program that does this again and again. A workspace that cannot be understood is an error.
pub(crate) fn visit_again<T>(
    settings: &Settings,
    work: impl FnOnce(&Here<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let find = |workspaces: &Workspaces<'_>| Ok((workspaces.find(&settings.cwd)?, None::<()>));
    open(settings, Acquire::Never, After::TheProgramGoesOn, find, |here, _| work(here))
}

/// The same without starting a process, for hooks. `None` where only cargo can tell what the workspace is made of.
pub(crate) fn glance<T>(
    settings: &Settings,
    work: impl FnOnce(&Here<'_>) -> T,
) -> Result<Option<T>, Failure> {
    let find = |workspaces: &Workspaces<'_>| match workspaces.glance(&settings.cwd)? {
        Glance::Outside => Ok((None, None)),
        Glance::Known(workspace) => Ok((Some(workspace), None)),
        Glance::NeedsCargo { why } => Ok((None, Some(why))),
    };
    open(settings, Acquire::Never, After::TheProgramEnds, find, |here, why| {
        Ok(if why.is_some() { None } else { Some(work(here)) })
    })
}

/// The same as if there were no workspace: what holds whatever it is made of.
pub(crate) fn glance_without_packages<T>(
    settings: &Settings,
    work: impl FnOnce(&Here<'_>) -> T,
) -> Result<T, Failure> {
    let find = |_: &Workspaces<'_>| Ok((None, None::<()>));
    open(settings, Acquire::Never, After::TheProgramEnds, find, |here, _| Ok(work(here)))
}

/// What comes after a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    TheProgramEnds,
    TheProgramGoesOn,
}

fn open<T, E>(
    settings: &Settings,
    acquire: Acquire,
    after: After,
    find: impl FnOnce(&Workspaces<'_>) -> Result<(Option<Workspace>, Option<E>), Failure>,
    work: impl FnOnce(&Here<'_>, Option<E>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let config = Config::load(&settings.dirs)?;
    let cache = &settings.dirs.cache;
    let workspaces = Workspaces { cache, cargo: &settings.cargo, progress: &settings.progress };
    let installer = Installer::new(cache, &settings.cargo, settings.update, &settings.progress);
    let checkouts = Checkouts::new(cache, settings.cargo.network(), &settings.progress);
    let mut findings = config.findings.clone();
    if settings.update != Update::None {
        findings.extend(refresh(&config, &checkouts, settings.update));
        Failure::if_interrupted()?;
    }
    let registries = Registries {
        dirs: &settings.dirs,
        config: &config,
        workspaces: &workspaces,
        installer: &installer,
        checkouts: &checkouts,
        built_in: BUILT_IN,
    };
    let (workspace, error) = find(&workspaces)?;
    settings.progress.end();
    let set = registries.active(workspace.as_ref(), &settings.cwd, acquire);
    Failure::if_interrupted()?;
    // Freeing thousands of plugins one by one would only delay the end of the program.
    let here = ManuallyDrop::new(Here { settings, registries, workspace, set, findings });
    let done = work(&here, error);
    if after == After::TheProgramGoesOn {
        drop(ManuallyDrop::into_inner(here));
    }
    done
}

/// Refreshes the git registries. What cannot be reached stays as it is, with a finding.
fn refresh(config: &Config, checkouts: &Checkouts<'_>, update: Update) -> Vec<Finding> {
    let automatic = config.registries.iter().filter(|spec| spec.auto_update == AutoUpdate::On);
    let mut findings = Vec::new();
    for spec in automatic {
        let RegistryPlace::Git(url) = &spec.place else { continue };
        let Ok(address) = GitAddress::parse(url) else { continue };
        match checkouts.checkout(&address, update) {
            Ok(checkout) => findings.extend(checkout.findings),
            Err(error) => findings.push(Finding::warning(format!(
                "registry `{}` was not refreshed: {error}",
                spec.name
            ))),
        }
    }
    findings
}
