//! Where our own files live.

use camino::{Utf8Path, Utf8PathBuf};

use crate::env;

/// The directories that belong to us. Nothing is created until something is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    /// `config.toml` and the user's own `plugins/`.
    pub config: Utf8PathBuf,
    /// Everything that can be made again.
    pub cache: Utf8PathBuf,
    /// What we must remember between runs.
    pub state: Utf8PathBuf,
}

/// Why the directories could not be determined.
#[derive(Debug, thiserror::Error)]
pub enum DirsError {
    /// Neither an override nor a home directory.
    #[error("cannot tell where your home directory is")]
    NoHome,
    /// The current directory was removed, or cannot be entered.
    #[error("cannot tell what the current directory is")]
    NoCurrent(#[source] std::io::Error),
    /// A path that is not UTF-8.
    #[error("the path `{0}` is not valid UTF-8")]
    NotUtf8(String),
    /// The override must not depend on where we are started.
    #[error("`{variable}` is `{value}`, which is not an absolute path")]
    Relative {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
}

impl crate::explain::Explain for DirsError {
    fn kind(&self) -> crate::explain::ErrorKind {
        crate::explain::ErrorKind::Usage
    }

    fn code(&self) -> Option<crate::explain::Code> {
        Some(crate::explain::Code::NoDirectories)
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::NoHome | Self::Relative { .. } => {
                Some(format!("set `{}` to an absolute path", env::AGENTS_HOME.name))
            }
            Self::NoCurrent(_) => Some("change to a directory that exists".to_owned()),
            Self::NotUtf8(_) => None,
        }
    }
}

impl Dirs {
    /// Reads the environment: `CARGO_AGENTS_HOME` (or `SYMPOSIUM_HOME`) puts everything in one place,
    /// otherwise the platform's conventions with the folder name `cargo-agents`.
    pub fn from_env() -> Result<Self, DirsError> {
        for variable in [env::AGENTS_HOME, env::SYMPOSIUM_HOME] {
            if let Some(value) = variable.get() {
                let home = utf8(value.into())?;
                if !home.is_absolute() {
                    return Err(DirsError::Relative {
                        variable: variable.name,
                        value: home.into_string(),
                    });
                }
                return Ok(Self::below(&home));
            }
        }
        let base = |variable: env::Variable, fallback: &str| -> Result<Utf8PathBuf, DirsError> {
            match variable.absolute_path() {
                Some(base) => Ok(base.join("cargo-agents")),
                None => Ok(home()?.join(fallback).join("cargo-agents")),
            }
        };
        Ok(Self {
            config: base(env::XDG_CONFIG_HOME, ".config")?,
            cache: base(env::XDG_CACHE_HOME, ".cache")?,
            state: base(env::XDG_STATE_HOME, ".local/state")?,
        })
    }

    /// Everything below one directory.
    #[must_use]
    pub fn below(home: &Utf8Path) -> Self {
        Self { config: home.to_owned(), cache: home.join("cache"), state: home.join("state") }
    }
}

/// The user's home directory.
pub fn home() -> Result<Utf8PathBuf, DirsError> {
    utf8(etcetera::home_dir().map_err(|_| DirsError::NoHome)?)
}

/// Where cargo keeps its caches and installed programs.
pub fn cargo_home() -> Result<Utf8PathBuf, DirsError> {
    match env::CARGO_HOME.absolute_path() {
        Some(path) => Ok(path),
        None => Ok(home()?.join(".cargo")),
    }
}

/// The current directory.
pub fn current() -> Result<Utf8PathBuf, DirsError> {
    utf8(std::env::current_dir().map_err(DirsError::NoCurrent)?)
}

fn utf8(path: std::path::PathBuf) -> Result<Utf8PathBuf, DirsError> {
    Utf8PathBuf::from_path_buf(path)
        .map_err(|path| DirsError::NotUtf8(path.to_string_lossy().into_owned()))
}
