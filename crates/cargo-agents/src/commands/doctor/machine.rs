//! What there is on this machine, read once. Whatever cannot be read keeps nothing else from being read.

use std::collections::BTreeSet;

use agents_agent::search::families;
use agents_host::{Host, Roots, Scope, find, host::FileFormat};
use agents_plugin::config::{Config, ConfigError};
use agents_sync::{Places, facts::Facts};
use agents_system::{
    edit::{self, Format},
    finding::Finding,
    foreign::{ForeignError, ForeignFile},
    ledger::{Entry, Ledger, LedgerError},
    lock::Lock,
};
use agents_workspace::Workspaces;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::{
    commands::{config, wanted},
    failure::Failure,
    settings::Settings,
};

/// Everything that checks look at.
pub(super) struct Machine<'s> {
    pub(super) settings: &'s Settings,
    /// Of the user.
    pub(super) home: Utf8PathBuf,
    /// Of the workspace; `None` outside of one, and in one that cannot be understood.
    pub(super) root: Option<Utf8PathBuf>,
    /// Why it cannot.
    pub(super) broken_workspace: Option<Finding>,
    /// The configuration, or what is wrong with it.
    pub(super) config: Result<Config, Vec<Finding>>,
    /// For each table that other rooms read: what is doubtful there, or what is wrong.
    pub(super) tables: Vec<Result<Vec<Finding>, Vec<Finding>>>,
    /// All hosts that there are.
    pub(super) hosts: Vec<Host>,
    /// What is wrong with the user's changes to them.
    pub(super) hosts_file: Vec<Finding>,
    pub(super) ledger: Result<Ledger, LedgerError>,
    /// Whether nobody is writing at this moment.
    pub(super) at_rest: bool,
}

/// A file of a host in which we register something.
pub(super) struct HostFile<'h> {
    pub(super) host: &'h Host,
    pub(super) file: Utf8PathBuf,
    /// `None` for a program, which nobody but its host reads.
    pub(super) format: Option<Format>,
}

impl<'s> Machine<'s> {
    pub(super) fn look(settings: &'s Settings) -> Result<Self, Failure> {
        let workspaces = Workspaces {
            cache: &settings.dirs.cache,
            cargo: &settings.cargo,
            progress: &settings.progress,
        };
        let (root, broken_workspace) = match workspaces.find(&settings.cwd) {
            Ok(workspace) => (workspace.map(|it| it.root), None),
            Err(error) => (None, Some(Failure::from(error).into_finding("not understood"))),
        };
        settings.progress.end();
        Failure::if_interrupted()?;
        let (hosts, hosts_file) = match wanted::all_hosts(settings) {
            Ok(known) => known,
            Err(failure) => (agents_host::hosts(None).0, failure.into_findings()),
        };
        let findings = |error: ConfigError| Failure::from(error).into_findings();
        let places = Places::below(&settings.dirs.state);
        Ok(Self {
            home: wanted::home()?,
            root,
            broken_workspace,
            config: Config::load(&settings.dirs).map_err(findings),
            tables: config::tables(&settings.dirs).map(|it| it.map_err(findings)).into(),
            hosts,
            hosts_file,
            ledger: Ledger::load(&places.ledger),
            // Asking makes the file, so it is only asked for one that exists.
            at_rest: !places.lock.exists() || !matches!(Lock::try_acquire(&places.lock), Ok(None)),
            settings,
        })
    }

    pub(super) fn places(&self) -> Places {
        let dirs = &self.settings.dirs;
        Places::below(&dirs.state).remembering(&dirs.cache)
    }

    pub(super) fn roots(&self) -> Roots<'_> {
        wanted::roots(&self.home, self.root.as_deref())
    }

    /// The configured hosts; none if that is not known.
    pub(super) fn configured(&self) -> Vec<&Host> {
        let Ok(config) = &self.config else { return Vec::new() };
        wanted::configured(config, &self.hosts, &mut Vec::new())
    }

    /// One of the configured hosts.
    pub(super) fn configured_host(&self, id: &str) -> Option<&Host> {
        let host = find(&self.hosts, id).ok()?;
        self.configured().iter().any(|it| it.id == host.id).then_some(host)
    }

    /// What is ours for this workspace, with what is there of it now.
    pub(super) fn owned(&self) -> Option<(Vec<&Entry>, Facts)> {
        let (Ok(ledger), Some(root)) = (&self.ledger, &self.root) else { return None };
        let entries = ledger.entries.iter().filter(|entry| entry.is_for(root));
        Some((entries.collect(), Facts::look(&agents_sync::Desired::default(), ledger, root)))
    }

    /// The hook files and MCP files of the configured hosts that exist, each once.
    pub(super) fn host_files(&self) -> Vec<HostFile<'_>> {
        let mut files: Vec<HostFile<'_>> = Vec::new();
        let roots = self.roots();
        for host in self.configured() {
            for scope in [Scope::Project, Scope::User] {
                let paths = host.paths(scope, &roots);
                let hooks = [paths.hook_file, paths.hook_file_fallback].into_iter().flatten();
                let is_json = host.hooks.get().is_none_or(|hooks| hooks.shape.is_json());
                let hooks = hooks.map(|file| (file, is_json.then_some(Format::Json)));
                let servers = paths.mcp_file.into_iter().chain(paths.mcp_file_instead);
                let format = host.mcp.get().map_or(Format::Json, |mcp| format_of(mcp.format));
                for (file, format) in hooks.chain(servers.map(|file| (file, Some(format)))) {
                    let known = files.iter().any(|it| it.file == file);
                    if !known && file.symlink_metadata().is_ok() {
                        files.push(HostFile { host, file, format });
                    }
                }
            }
        }
        files
    }

    /// The directories that any of these hosts reads skills from, each once.
    pub(super) fn skill_dirs<'h>(&self, hosts: impl Iterator<Item = &'h Host>) -> Vec<Utf8PathBuf> {
        let mut dirs: Vec<Utf8PathBuf> = Vec::new();
        let roots = self.roots();
        for host in hosts {
            for scope in [Scope::Project, Scope::User] {
                for dir in host.paths(scope, &roots).skills_read {
                    if !dirs.contains(&dir) {
                        dirs.push(dir);
                    }
                }
            }
        }
        dirs
    }

    /// The directories that definitions of agents are written to, each once.
    pub(super) fn agent_dirs(&self) -> BTreeSet<Utf8PathBuf> {
        let families = families(&self.hosts, &self.roots());
        let project = |dir: Utf8PathBuf| self.root.as_ref().map(|root| root.join(dir));
        let dirs = families.into_iter().flat_map(|it| [it.user, it.project.and_then(project)]);
        dirs.flatten().collect()
    }
}

impl HostFile<'_> {
    /// What is wrong with it.
    pub(super) fn fault(&self) -> Option<Fault> {
        match ForeignFile::load(&self.file) {
            Err(ForeignError::Dangling { target, .. }) => Some(Fault::Dangling(target)),
            Err(error) => Some(Fault::Unreadable(error.to_string())),
            Ok(loaded) => {
                let read = edit::read(self.format?, loaded.text().unwrap_or_default());
                read.err().map(|error| Fault::Unreadable(error.to_string()))
            }
        }
    }
}

/// What is wrong with a file of a host.
pub(super) enum Fault {
    Dangling(Utf8PathBuf),
    Unreadable(String),
}

/// What a file says; `None` if that is nothing or cannot be told.
pub(super) fn document(file: &Utf8Path, format: Format) -> Option<Value> {
    let loaded = ForeignFile::load(file).ok()?;
    edit::read(format, loaded.text()?).ok()
}

/// What is in a directory, in the order of names; nothing if it does not exist.
pub(super) fn entries(dir: &Utf8Path) -> Vec<Utf8PathBuf> {
    let found = dir.read_dir_utf8().into_iter().flatten().flatten();
    let mut found: Vec<Utf8PathBuf> = found.map(camino::Utf8DirEntry::into_path).collect();
    found.sort();
    found
}

fn format_of(format: FileFormat) -> Format {
    match format {
        FileFormat::Json => Format::Json,
        FileFormat::Toml => Format::Toml,
        FileFormat::Yaml => Format::Yaml,
    }
}
