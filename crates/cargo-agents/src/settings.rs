//! What was typed means this, after the environment has been looked at.

use agents_install::Update;
use agents_system::{
    dirs::{self, Dirs},
    env,
    progress::Progress,
};
use agents_workspace::{Cargo, Network};
use camino::Utf8PathBuf;

use crate::{
    args::{Flags, UpdateLevel},
    failure::Failure,
    here::After,
};

/// What every command works with.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) dirs: Dirs,
    pub(crate) cwd: Utf8PathBuf,
    pub(crate) cargo: Cargo,
    pub(crate) update: Update,
    pub(crate) progress: Progress,
    pub(crate) flags: Flags,
    /// What comes after something was looked at.
    pub(crate) after: After,
}

impl Settings {
    pub(crate) fn new(flags: &Flags) -> Result<Self, Failure> {
        Ok(Self::with_dirs(flags, Dirs::from_env()?, dirs::current()?))
    }

    pub(crate) fn with_dirs(flags: &Flags, dirs: Dirs, cwd: Utf8PathBuf) -> Self {
        let silent = flags.quiet || flags.json;
        Self {
            dirs,
            cwd,
            cargo: Cargo::from_env(network(flags)),
            update: match flags.update {
                UpdateLevel::None => Update::None,
                UpdateLevel::Check => Update::Check,
                UpdateLevel::Fetch => Update::Fetch,
            },
            progress: if silent { Progress::silent() } else { Progress::on_stderr() },
            flags: flags.clone(),
            after: After::TheProgramEnds,
        }
    }
}

impl Settings {
    /// The same for a look at what is there, which brings nothing up to date.
    pub(crate) fn without_update(&self) -> Self {
        let flags = Flags { update: UpdateLevel::None, ..self.flags.clone() };
        Self::with_dirs(&flags, self.dirs.clone(), self.cwd.clone())
    }
}

impl Settings {
    /// The same for a program that looks again and again: it says nothing meanwhile, and keeps nothing.
    #[cfg(feature = "http")]
    pub(crate) fn staying(&self) -> Self {
        let flags = Flags { quiet: true, ..self.without_update().flags };
        let (dirs, cwd) = (self.dirs.clone(), self.cwd.clone());
        Self { after: After::TheProgramGoesOn, ..Self::with_dirs(&flags, dirs, cwd) }
    }
}

/// Whether the user lets us use the network.
pub(crate) fn network(flags: &Flags) -> Network {
    let by_variable = env::CARGO_NET_OFFLINE.text().is_some_and(|value| value == "true");
    if flags.offline || flags.frozen || by_variable { Network::Offline } else { Network::Allowed }
}
