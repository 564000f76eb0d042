//! Changing `config.toml`: one process of ours at a time, comments and order kept, never from or to a broken file.

use std::time::Duration;

use agents_system::{
    dirs::Dirs,
    edit::{Edit, Format, apply},
    foreign::{ForeignFile, Written, remove_unfinished},
    lock::Lock,
    progress::Progress,
};

use super::{Config, ConfigError, Registration};

/// How long another of us may take. Nobody holds the lock while a question stands.
const PATIENCE: Duration = Duration::from_secs(60);

/// A changed configuration.
#[derive(Debug)]
pub struct Changed {
    /// What the file said before.
    pub before: Config,
    /// What it says now.
    pub after: Config,
    /// What was done to the file.
    pub written: Written,
}

impl Config {
    /// Changes the file. `edits` sees what it says at that moment and nobody else of us writes meanwhile, so that of
    /// two changes made at the same time both count. A file that is wrong, or would be, is left alone.
    pub fn change<E>(
        dirs: &Dirs,
        progress: &Progress,
        edits: impl FnOnce(&Self) -> Result<Vec<Edit>, E>,
    ) -> Result<Changed, E>
    where
        E: From<ConfigError>,
    {
        let wrong = |error: ConfigError| E::from(error);
        let lock = dirs.state.join("config.lock");
        let _lock = Lock::acquire(&lock, PATIENCE, progress).map_err(|it| wrong(it.into()))?;
        let file = Self::file(dirs);
        remove_unfinished(&file);
        let found = ForeignFile::load(&file).map_err(|it| wrong(it.into()))?;
        let text = found.text().unwrap_or_default();
        let before = Self::parse(dirs, &file, text).map_err(wrong)?;
        let edits = edits(&before)?;
        let edited = apply(Format::Toml, text, &edits)
            .map_err(|source| wrong(ConfigError::Unchangeable { file: file.clone(), source }))?;
        let after = Self::parse(dirs, &file, &edited).map_err(wrong)?;
        // Without a change there need not even be a file.
        let written = match edited == text {
            true => Written::Unchanged,
            false => found.replace(&edited).map_err(|it| wrong(it.into()))?,
        };
        Ok(Changed { before, after, written })
    }
}

impl Registration {
    /// As the file writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "global",
            Self::Project => "project",
        }
    }
}
