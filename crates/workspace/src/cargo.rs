//! How cargo is called.

use std::{ffi::OsString, time::Duration};

use agents_system::{
    dirs,
    env::{self, Variable},
    process::{Call, Captured},
    progress::Progress,
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::error::{CargoError, Reason};

/// Whether the network may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// It may.
    Allowed,
    /// It may not.
    Offline,
}

/// A first fetch of many crates over a slow line takes minutes.
const PATIENCE: Duration = Duration::from_secs(600);

/// The cargo to call, and whether it may use the network.
///
/// ```
/// use agents_workspace::{Cargo, Network};
/// let cargo = Cargo::from_env(Network::Offline);
/// assert!(cargo.call().arg("metadata").display().ends_with("--offline metadata"));
/// ```
#[derive(Debug, Clone)]
pub struct Cargo {
    program: OsString,
    home: Option<Utf8PathBuf>,
    network: Network,
    env: Vec<(OsString, OsString)>,
}

impl Cargo {
    /// The cargo that the environment names: `CARGO_AGENTS_CARGO`, `SYMPOSIUM_CARGO`, `CARGO`, else the
    /// one in `PATH`. `CARGO_NET_OFFLINE=true` counts as [`Network::Offline`].
    #[must_use]
    pub fn from_env(network: Network) -> Self {
        let named = [env::AGENTS_CARGO, env::SYMPOSIUM_CARGO, env::CARGO];
        let program = named.into_iter().find_map(Variable::get);
        let offline = env::CARGO_NET_OFFLINE.text().is_some_and(|value| value == "true");
        let network = if offline { Network::Offline } else { network };
        let home = dirs::cargo_home().ok();
        Self { program: program.unwrap_or_else(|| "cargo".into()), home, network, env: Vec::new() }
    }

    /// This program, with the home directory that the environment names.
    #[must_use]
    pub fn at(program: impl Into<OsString>, network: Network) -> Self {
        let home = dirs::cargo_home().ok();
        Self { program: program.into(), home, network, env: Vec::new() }
    }

    /// With this `CARGO_HOME`.
    #[must_use]
    pub fn with_home(self, home: &Utf8Path) -> Self {
        Self { home: Some(home.to_owned()), ..self.with_env("CARGO_HOME", home.as_str()) }
    }

    /// With this variable set for every call.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Whether it may use the network.
    #[must_use]
    pub fn network(&self) -> Network {
        self.network
    }

    /// Its home directory, where its configuration and caches are; `None` if nobody knows.
    #[must_use]
    pub fn home(&self) -> Option<&Utf8Path> {
        self.home.as_deref()
    }

    /// A call of it, with `--offline` if that is what it must be.
    #[must_use]
    pub fn call(&self) -> Call {
        self.call_with(self.network)
    }

    fn call_with(&self, network: Network) -> Call {
        let mut call = Call::new(self.program.clone())
            .deadline(PATIENCE)
            .env("CARGO_TERM_COLOR", "never")
            .env("CARGO_TERM_PROGRESS_WHEN", "never")
            // There is nobody to answer: a helper or an agent knows the password, or the fetch fails.
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("SSH_ASKPASS_REQUIRE", "force");
        for (name, value) in &self.env {
            call = call.env(name, value);
        }
        if network == Network::Offline { call.arg("--offline") } else { call }
    }

    /// Runs it to a successful end. Without a network it may still know the answer, so a run that fails
    /// for want of one is repeated offline before the first failure is believed.
    pub(crate) fn ask(
        &self,
        args: &[&str],
        cwd: &Utf8Path,
        about: &str,
        progress: &Progress,
    ) -> Result<Captured, CargoError> {
        let run = |network| {
            let call = self.call_with(network).args(args.iter().copied()).cwd(cwd);
            progress.begin(format!("asking cargo about {about}"));
            let ended = call.capture_watched(|line| progress.tick(line));
            progress.end();
            let captured =
                ended.map_err(|source| CargoError::Process { about: about.to_owned(), source })?;
            if captured.status.success() {
                return Ok(captured);
            }
            let said = captured.said();
            let reason = Reason::of(&said);
            Err(CargoError::Failed { about: about.to_owned(), said, reason })
        };
        match run(self.network) {
            Err(error @ CargoError::Failed { reason: Reason::Network, .. })
                if self.network == Network::Allowed =>
            {
                run(Network::Offline).map_err(|_| error)
            }
            ended => ended,
        }
    }
}
