//! Crates that a plugin wants among the user's own programs (`global = true`).

use std::time::UNIX_EPOCH;

use agents_system::{
    explain::{ErrorKind, Explain as _},
    finding::Finding,
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    bring::{Update, bring, not_updated},
    crates::{Again, Crate, Place, install, tracked},
    entry::{Base, find_global, locate},
    error::InstallError,
    installer::{Installer, Job},
    recipe::Entry,
    runnable::{Acquired, Tells},
    setup::Setup,
};

impl Installer<'_> {
    /// Where cargo installs to.
    fn cargo_bin(&self) -> Utf8PathBuf {
        // Without a home there is no such place, and a relative one finds nothing.
        self.cargo.home().unwrap_or(Utf8Path::new(".cargo")).join("bin")
    }

    /// What is there; nothing is done about what is not.
    pub(crate) fn cached_global(&self, job: Job<'_>) -> Result<Option<Acquired>, InstallError> {
        let cargo_bin = self.cargo_bin();
        let Some(program) = program(job, &cargo_bin) else {
            return Ok(None);
        };
        if !job.installation.install_commands.is_empty() {
            let done = self.setup_slot(job).current();
            if done.is_none_or(|done| done.id != stamp(&program)) {
                return Ok(None);
            }
        }
        self.found_global(job, &cargo_bin).map(Some)
    }

    /// Installs it if it is missing or `update` asks for it. A version that the user has stays: it is theirs.
    pub(crate) fn global(&self, job: Job<'_>, wanted: Crate<'_>) -> Result<Acquired, InstallError> {
        let cargo_bin = self.cargo_bin();
        let slot = self.setup_slot(job);
        let update = self.update_for(&slot);
        let mut findings = Vec::new();
        if program(job, &cargo_bin).is_none() || update != Update::None {
            let locked = slot.lock(self.progress).map_err(|error| job.failed(error))?;
            let there = program(job, &cargo_bin);
            if there.is_none() || update != Update::None {
                let place = Place::Global { bin: &cargo_bin };
                let again = if update == Update::Fetch { Again::Yes } else { Again::No };
                match install(wanted, self.cargo, place, again, self.progress) {
                    Ok(()) => {}
                    Err(error)
                        if update == Update::Check
                            && there.is_some()
                            && error.kind() != ErrorKind::Cancelled =>
                    {
                        findings.push(not_updated(&wanted.what(), &error));
                    }
                    Err(error) => return Err(job.failed(error)),
                }
            }
            drop(locked);
        }
        if !job.installation.install_commands.is_empty()
            && let Some(program) = program(job, &cargo_bin)
        {
            let finish =
                |_: &Utf8Path| self.install_commands(job, job.plugin_dir, job.acquired(None, None));
            let id = stamp(&program);
            let is_done = slot.current().is_some_and(|done| done.id == id);
            if !is_done || update == Update::Fetch {
                let origin = Setup { name: job.name, id: &id, finish: &finish };
                bring(&slot, &origin, Update::Fetch, self.progress)
                    .map_err(|error| job.failed(error))?;
            }
        }
        let mut acquired = self.found_global(job, &cargo_bin)?;
        acquired.findings = findings.into_iter().chain(self.other_version(wanted)).collect();
        Ok(acquired)
    }

    fn found_global(&self, job: Job<'_>, cargo_bin: &Utf8Path) -> Result<Acquired, InstallError> {
        let mut acquired = job.acquired(None, None);
        acquired.tells = Tells::Nothing;
        let base = Base::Global { cargo_bin };
        acquired.target = locate(job.installation.entry.as_ref(), base).map_err(job.not_found())?;
        Ok(acquired)
    }

    fn other_version(&self, wanted: Crate<'_>) -> Option<Finding> {
        let there = tracked(self.cargo.home()?, wanted.name)?.version;
        let pinned = wanted.version.filter(|pinned| *pinned != there)?;
        let name = wanted.name;
        let message = format!("`{name}` {there} is installed, but the plugin asks for {pinned}");
        let hint = format!("`cargo install {name}@{pinned}` replaces it");
        Some(Finding::warning(message).hint(hint))
    }
}

fn program(job: Job<'_>, cargo_bin: &Utf8Path) -> Option<Utf8PathBuf> {
    let (Entry::Executable(name) | Entry::Script(name)) = job.installation.entry.as_ref()?;
    find_global(name, cargo_bin)
}

/// Tells one version of a program from another without reading it.
fn stamp(program: &Utf8Path) -> String {
    let data = fs_err::metadata(program).ok();
    let size = data.as_ref().map_or(0, std::fs::Metadata::len);
    let modified = data.and_then(|data| data.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    format!("{size}-{}", modified.unwrap_or_default().as_nanos())
}
