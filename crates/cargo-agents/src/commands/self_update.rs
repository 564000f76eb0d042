//! `cargo agents self-update`, and the look at whether there is anything newer.
//!
//! Cargo's own index says what the newest version is, and cargo installs it. The look comes after the work of a command
//! that talks to a person at a terminal, at most once a day, and takes a few seconds at most. Hooks read what it found.

use std::{
    process::ExitCode,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use agents_install::{AcquireError, newest_version};
use agents_plugin::config::{Config, OwnUpdate};
use agents_system::{
    atomic,
    dirs::Dirs,
    explain::{Code, ErrorKind},
    finding::{Finding, Severity},
    process::ending,
};
use agents_workspace::Network;
use camino::Utf8PathBuf;
use semver::Version;
use serde::{Deserialize, Serialize};

use crate::{args::Command, failure::Failure, output::Output, settings::Settings};

/// The crate that this program is published as.
const CRATE: &str = env!("CARGO_PKG_NAME");
/// A room that every version of it is made of. Names of crates belong to whoever was first: a package of that name without it is another
/// program, and must not take the place of this one.
const ROOM: &str = "agents-system";
/// How long somebody who asked waits for the index.
const ASKED: Duration = Duration::from_secs(120);
/// How long somebody who did not ask does.
const UNASKED: Duration = Duration::from_secs(5);
/// How long compiling it may take on a slow machine.
const INSTALL: Duration = Duration::from_secs(60 * 60);
/// How long what was found counts.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// `cargo agents self-update --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SelfUpdateDocument {
    /// The version of the program that says this
    current: String,
    /// The newest version that can be installed
    newest: String,
    /// Whether it was installed
    updated: bool,
}

/// What the last look found: `update-check.json` in the state directory.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Found {
    /// When, in seconds since 1970.
    checked: u64,
    newest: Option<Version>,
}

pub(crate) fn run(settings: &Settings, output: &Output) -> Result<ExitCode, Failure> {
    if settings.cargo.network() == Network::Offline {
        let failure = Failure::new(
            ErrorKind::Network,
            "`self-update` asks cargo's index, and the network is off",
        );
        return Err(failure.code(Code::Offline).hint("run it again without `--offline`"));
    }
    let current = current();
    let newest = match newest(settings, ASKED)? {
        Some(Newest::AnotherProgram(version)) => {
            let message = format!("the `{CRATE}` {version} of the registry is another program");
            return Err(Failure::new(ErrorKind::Refused, message)
                .hint("install a newer version from where you have this one"));
        }
        Some(Newest::Ours(version)) => Some(version),
        None => None,
    };
    Found { checked: now(), newest: newest.clone() }.store(&settings.dirs);
    let newest = newest.filter(|newest| *newest > current);
    if let Some(newest) = &newest {
        if !output.is_json() {
            output.line(format!("Updating cargo agents {current} to {newest}"))?;
            output.flush()?;
        }
        install(settings)?;
    }
    if output.is_json() {
        output.document(&SelfUpdateDocument {
            current: current.to_string(),
            newest: newest.as_ref().unwrap_or(&current).to_string(),
            updated: newest.is_some(),
        })?;
    } else {
        output.line(match newest {
            Some(newest) => format!("Updated to {newest}"),
            None => format!("cargo agents {current} is up to date"),
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether the look comes after this command: one that people type, not one that answers programs.
pub(crate) fn comes_after(command: &Command) -> bool {
    matches!(command, Command::Init(_) | Command::Sync { .. } | Command::Status)
}

/// Looks whether there is something newer, if it is time for that and somebody is there to hear it. What goes wrong is
/// not the user's business.
pub(crate) fn look(settings: &Settings, output: &Output) {
    if output.asker().is_none() || settings.cargo.network() == Network::Offline {
        return;
    }
    let manner = Config::load(&settings.dirs).map_or(OwnUpdate::Off, |config| config.own_update);
    let last = Found::load(&settings.dirs);
    if manner == OwnUpdate::Off || last.is_recent(now()) {
        return;
    }
    // First, so that an index that cannot be reached is not asked again at every command.
    let found = Found { checked: now(), ..last };
    if !found.store(&settings.dirs) {
        return;
    }
    let newest = match newest(settings, UNASKED) {
        Ok(Some(Newest::Ours(newest))) => newest,
        Ok(Some(Newest::AnotherProgram(_)) | None) => return,
        Err(error) => {
            let note = Finding::new(
                Severity::Note,
                format!("cannot tell whether there is a newer version: {error}"),
            );
            return output.findings([&note]);
        }
    };
    Found { newest: Some(newest.clone()), ..found }.store(&settings.dirs);
    let current = current();
    if newest <= current {
        return;
    }
    let said = format!("cargo agents {newest} is available, this is {current}");
    if manner == OwnUpdate::Warn {
        let hint = "`cargo agents self-update` installs it; `auto-update = \"off\"` in the configuration stops looking";
        return output.findings([&Finding::warning(said).hint(hint)]);
    }
    output.talk(&format!("{said}; installing it, because of `auto-update = \"on\"`"));
    if let Err(failure) = install(settings) {
        output.talk(&failure.render(output));
    }
}

/// A newer version that an earlier look has found, unless the user does not want to know. Reads two small files.
pub(crate) fn known_newer(dirs: &Dirs) -> Option<Version> {
    let newest = Found::load(dirs).newest.filter(|newest| *newest > current())?;
    let config = Config::load(dirs).ok()?;
    (config.own_update != OwnUpdate::Off).then_some(newest)
}

/// What the registry has under our name.
enum Newest {
    Ours(Version),
    AnotherProgram(Version),
}

fn newest(settings: &Settings, patience: Duration) -> Result<Option<Newest>, AcquireError> {
    let found = newest_version(CRATE, &settings.cargo, patience, &settings.progress)?;
    Ok(found.and_then(|found| {
        let version = Version::parse(&found.version).ok()?;
        let is_ours = found.depends_on(ROOM);
        Some(if is_ours { Newest::Ours(version) } else { Newest::AnotherProgram(version) })
    }))
}

/// Has cargo install it, in front of the user.
fn install(settings: &Settings) -> Result<(), Failure> {
    let call = settings.cargo.call().args(["install", CRATE, "--force"]).deadline(INSTALL);
    // The toolchain file of the directory that the user stands in is not about this program.
    let call = match settings.cargo.home().filter(|home| home.is_dir()) {
        Some(home) => call.cwd(home),
        None => call,
    };
    let words = call.display();
    let failed = |why: String| {
        Failure::new(ErrorKind::Failure, format!("`{words}` {why}"))
            .hint("what was installed before is still there")
    };
    let status = call.attended().map_err(|error| failed(format!("did not run: {error}")))?;
    Failure::if_interrupted()?;
    if status.success() { Ok(()) } else { Err(failed(format!("ended with {}", ending(status)))) }
}

impl Found {
    fn file(dirs: &Dirs) -> Utf8PathBuf {
        dirs.state.join("update-check.json")
    }

    /// Nothing, if it cannot be read.
    fn load(dirs: &Dirs) -> Self {
        let text = fs_err::read_to_string(Self::file(dirs)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Whether it could be stored.
    fn store(&self, dirs: &Dirs) -> bool {
        let text = serde_json::to_vec(self).unwrap_or_default();
        atomic::write(&Self::file(dirs), &text).is_ok()
    }

    /// A time that is still to come is no time at which we have looked.
    fn is_recent(&self, now: u64) -> bool {
        (self.checked..self.checked.saturating_add(DAY.as_secs())).contains(&now)
    }
}

fn current() -> Version {
    // Cargo does not build a package whose version is none.
    Version::parse(env!("CARGO_PKG_VERSION")).unwrap_or(Version::new(0, 0, 0))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;
    use proptest::prelude::*;

    use super::*;

    fn version() -> impl Strategy<Value = Version> {
        let text = (any::<[u64; 3]>(), "(-[a-z]{1,4}(\\.[1-9]{1,3})?)?(\\+[a-z0-9]{1,6})?");
        text.prop_map(|([a, b, c], rest)| Version::parse(&format!("{a}.{b}.{c}{rest}")).unwrap())
    }

    proptest! {
        #[test]
        fn what_was_found_is_known_and_anything_else_is_nothing(
            checked in any::<u64>(),
            newest in prop::option::of(version()),
            torn in any::<prop::sample::Index>(),
            bytes in prop::collection::vec(any::<u8>(), 0..40),
            now in any::<u64>(),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let dirs = Dirs::below(Utf8Path::from_path(dir.path()).unwrap());
            fs_err::create_dir_all(&dirs.state).unwrap();
            let found = Found { checked, newest };
            prop_assert!(found.store(&dirs));
            prop_assert_eq!(Found::load(&dirs), found);
            let text = fs_err::read(Found::file(&dirs)).unwrap();
            fs_err::write(Found::file(&dirs), &text[..torn.index(text.len())]).unwrap();
            prop_assert_eq!(Found::load(&dirs), Found::default());
            fs_err::write(Found::file(&dirs), &bytes).unwrap();
            // Whatever it says, it is looked again one day.
            let found = Found::load(&dirs);
            prop_assert!(!(found.is_recent(now) && found.is_recent(now.wrapping_add(DAY.as_secs()))));
        }
    }

    #[test]
    fn a_look_counts_for_a_day_and_not_from_the_future() {
        let found = Found { checked: 1_000_000, newest: None };
        for (now, recent) in [
            (1_000_000, true),
            (1_000_000 + 86_399, true),
            (1_000_000 + 86_400, false),
            (999_999, false),
        ] {
            assert_eq!(found.is_recent(now), recent, "{now}");
        }
        assert!(!Found::default().is_recent(now()));
    }
}
