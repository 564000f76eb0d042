//! Running a plugin's programs in a sandbox.
//!
//! A process can only confine itself. So what is started is this program again, as
//! `cargo-agents __sandboxed <rights> -- <program> <arguments>`: it gives up everything but the rights, and becomes the
//! program. Where that is not possible nothing runs.

use agents_install::Runnable;
use agents_system::{
    cache::name_hash,
    dirs::{self, Dirs},
    process::{Call, find_program, this_program},
    sandbox::{self, Availability, Lack, Rights},
};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::{
    config::Config,
    manifest::{Needs, PluginName},
    plugin::{Origin, Plugin},
};

#[cfg(test)]
mod tests;

/// The word that makes this program confine itself and become another one.
pub const COMMAND: &str = "__sandboxed";

/// Whether the programs of a plugin are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confinement {
    /// They run with the user's rights.
    None,
    /// They run in a sandbox or not at all.
    Sandbox,
}

impl Confinement {
    /// What the configuration says about the plugin of that name and origin.
    #[must_use]
    pub fn of(config: &Config, name: &PluginName, origin: &Origin) -> Self {
        if config.sandboxed.includes(name, origin) { Self::Sandbox } else { Self::None }
    }
}

/// The plugin that a program belongs to, as far as it decides about the program's rights.
#[derive(Debug, Clone, Copy)]
pub struct Owner<'a> {
    /// Its name.
    pub name: &'a PluginName,
    /// The directory of its manifest.
    pub dir: &'a Utf8Path,
    /// What it declares.
    pub needs: &'a Needs,
    /// The root of the workspace; none outside of one.
    pub workspace: Option<&'a Utf8Path>,
}

/// A call that is ready to be made, and what has to be there meanwhile.
#[derive(Debug)]
pub struct Prepared {
    /// The call.
    pub call: Call,
    /// Where a confined program can write; it goes with this value.
    pub temporary: Option<TempDir>,
}

impl Prepared {
    /// The call of a program that runs with the user's rights.
    #[must_use]
    pub fn free(runnable: &Runnable) -> Self {
        Self { call: runnable.call(), temporary: None }
    }
}

/// Why a program that should be confined does not run.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// Nothing can be confined here.
    #[error("{0}")]
    Unavailable(Lack),
    /// We do not know where we are, or cannot make a directory for it.
    #[error("its sandbox cannot be made: {0}")]
    Io(#[from] std::io::Error),
    /// The rights cannot be handed over.
    #[error("its sandbox cannot be described: {0}")]
    Rights(#[from] serde_json::Error),
}

fn possible(available: Availability) -> Result<(), ConfineError> {
    match available {
        Availability::Available => Ok(()),
        Availability::Unavailable(lack) => Err(ConfineError::Unavailable(lack)),
    }
}

impl<'a> Owner<'a> {
    /// The plugin, with what its manifest declares.
    #[must_use]
    pub fn new(plugin: &'a Plugin, needs: &'a Needs, workspace: Option<&'a Utf8Path>) -> Self {
        Self { name: &plugin.name, dir: plugin.dir(), needs, workspace }
    }

    /// The call of a program that we wait for: it can write to a fresh directory.
    pub fn confine(&self, runnable: &Runnable, dirs: &Dirs) -> Result<Prepared, ConfineError> {
        self.confine_where(sandbox::available(), runnable, dirs)
    }

    fn confine_where(
        &self,
        available: Availability,
        runnable: &Runnable,
        dirs: &Dirs,
    ) -> Result<Prepared, ConfineError> {
        possible(available)?;
        let temporary = tempfile::Builder::new().prefix("cargo-agents-").tempdir()?;
        let room = utf8(temporary.path())?;
        self.make_directories();
        let call = enter(runnable.call(), &self.rights(runnable, dirs, room), room)?;
        Ok(Prepared { call, temporary: Some(temporary) })
    }

    /// The call of a program that the user has typed in `cwd` and that we become: it can read what is there and
    /// speak to the terminal. Nobody is left to tidy up after it, so all those of a plugin share a directory.
    pub fn confine_typed(
        &self,
        runnable: &Runnable,
        dirs: &Dirs,
        cwd: &Utf8Path,
    ) -> Result<Prepared, ConfineError> {
        possible(sandbox::available())?;
        let room =
            dirs.cache.join("sandbox").join(name_hash(&format!("{}\n{}", self.name, self.dir)));
        fs_err::create_dir_all(&room)?;
        self.make_directories();
        let mut rights = self.rights(runnable, dirs, &room);
        rights.read.push(cwd.to_owned());
        rights.write.push("/dev/tty".into());
        let call = enter(runnable.call(), &rights, &room)?;
        Ok(Prepared { call, temporary: None })
    }

    /// What is declared as a directory, `target/`, is there when the program starts: only what exists can be granted.
    fn make_directories(&self) {
        let directories = declared(&self.needs.write, self.workspace);
        for directory in directories.filter(|path| path.as_str().ends_with('/')) {
            // Otherwise the program is told that it may not.
            let _ = fs_err::create_dir_all(directory);
        }
    }

    fn rights(&self, runnable: &Runnable, dirs: &Dirs, room: &Utf8Path) -> Rights {
        let Needs { read, write, network } = self.needs;
        let mut readable = sandbox::programs(*network);
        readable.extend(agents_install::cache::homes(&dirs.cache));
        readable.push(self.dir.to_owned());
        readable.extend(self.workspace.map(Utf8Path::to_owned));
        readable.extend(runnable.path_front.iter().cloned());
        // A program of the user's own may be anywhere.
        readable.extend(find_program(&runnable.program));
        readable.extend(declared(read, self.workspace));
        let mut writable = vec![Utf8PathBuf::from("/dev/null"), room.to_owned()];
        writable.extend(declared(write, self.workspace));
        Rights { read: readable, write: writable, network: *network }
    }
}

/// The same call, made by this program after it has given up everything but the rights.
fn enter(call: Call, rights: &Rights, room: &Utf8Path) -> Result<Call, ConfineError> {
    let us = this_program()?;
    let rights = serde_json::to_string(rights)?;
    Ok(call.through(us, [COMMAND, &rights]).env("TMPDIR", room.as_str()))
}

fn utf8(path: &std::path::Path) -> std::io::Result<&Utf8Path> {
    let invalid = || std::io::Error::from(std::io::ErrorKind::InvalidInput);
    Utf8Path::from_path(path).ok_or_else(invalid)
}

/// Outside of a workspace, what is relative to it means nothing.
fn declared(paths: &[String], workspace: Option<&Utf8Path>) -> impl Iterator<Item = Utf8PathBuf> {
    paths.iter().filter_map(move |path| match path.strip_prefix("~/") {
        Some(rest) => Some(dirs::home().ok()?.join(rest)),
        None if path.starts_with('/') => Some(path.into()),
        None => Some(workspace?.join(path)),
    })
}
