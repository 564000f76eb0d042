//! Executables: acquire, verify, cache, resolve to a command line.
//!
//! A plugin says in its manifest *how to obtain* what it runs: a crate that cargo installs, a git
//! repository, a file of its own, or a program that the user has. That is an [`Installation`]. An
//! [`Installer`] turns the name of one into a [`Runnable`]: program, arguments, variables, `PATH`.
//! Everything that the installation requires is acquired before it.
//!
//! ```
//! use agents_install::{Entry, Installation, InstallationName, Installations, Installer, Update};
//! use agents_system::progress::Progress;
//! use agents_workspace::{Cargo, Network};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let cache = camino::Utf8Path::from_path(dir.path()).unwrap();
//! # let plugin_dir = cache;
//! let name = InstallationName::new("greet");
//! let installations = Installations::from([(name.clone(), Installation {
//!     source: None,
//!     entry: Some(Entry::Executable("echo".to_owned())),
//!     args: vec!["hello".to_owned()],
//!     install_commands: Vec::new(),
//!     requirements: Vec::new(),
//! })]);
//!
//! let (cargo, progress) = (Cargo::from_env(Network::Allowed), Progress::on_stderr());
//! let installer = Installer::new(cache, &cargo, Update::None, &progress);
//! let runnable = installer.resolve(&installations, &name, plugin_dir)?;
//! assert_eq!(runnable.call().arg("you").capture()?.stdout_text(), "hello you\n");
//! # Ok(()) }
//! ```
//!
//! # What can be relied on
//!
//! - **Warm is cheap.** [`Installer::resolve_cached`] reads one small file and looks at the executable; it starts
//!   no child process and asks nobody.
//! - **One process installs, the others wait and use it.** Each thing has a lock of its own; whoever gets it looks
//!   again before doing anything.
//! - **Killed at any moment, nothing half-usable stays.** Things are acquired aside and moved into place; they
//!   exist only once `current.json` names them, and that is written last, as a whole. The next process removes the rest.
//!   A child that outlives its killed parent writes where nobody looks: a directory name that was removed is
//!   not used again.
//! - **Versions live side by side.** A pinned version is a thing of its own; a newer content gets its own directory,
//!   and the old one stays until it is pruned, because somebody may be running it.
//! - **`install_commands` are run once for each content**, never because something is run.
//! - **Offline means offline.** Cargo may still find a crate in a vendored registry; git is not asked.
//! - **Failures name the step** and carry the last lines that it printed ([`StepError`]).
//!
//! # What is on disk
//!
//! ```text
//! <cache>/installations/<name>-<hash>/    crates, trees, and set-up commands that were run
//! <cache>/repositories/<name>-<hash>/     trees that plugins are read from
//!     lock            held while something is being acquired
//!     current.json    what is usable, what it was before, and what the binaries looked like
//!     1.2.3/          an install root or a checked-out tree, by version or commit
//!     tmp-x7f3a2/     being acquired, or left by a process that was killed
//! ```
//!
//! The hash covers everything that the content depends on: crate, pinned version, address, reference,
//! `install_commands`. Only `global = true` writes elsewhere, to the user's cargo home.
//!
//! # Where to read on
//!
//! | module | holds |
//! |---|---|
//! | `recipe` | what a manifest says |
//! | `installer`, `order` | from a name to a command line, requirements first |
//! | `bring`, `slot`, `receipt` | look, lock, look again, acquire aside, move, finish, sign |
//! | `crates`, `global`, [`git`], `setup` | the sources |
//! | `entry`, `runnable` | what to run in what was acquired, and what it is told |
//! | [`cache`] | what is there, and removing it |

mod bring;
pub mod cache;
mod crates;
mod entry;
mod error;
pub mod git;
mod global;
mod installer;
mod order;
mod receipt;
mod recipe;
mod runnable;
mod setup;
mod slot;
mod step;

pub use bring::Update;
pub use crates::Newest;
#[doc(hidden)]
pub use crates::{TrackedParts, read_tracking};
pub use entry::EntryError;
pub use error::{AcquireError, InstallError, Needs, StepError};
pub use installer::Installer;
pub use order::find_cycle;
#[doc(hidden)]
pub use receipt::read_receipt;
pub use recipe::{CargoPlace, Entry, Installation, InstallationName, Installations, Source};
pub use runnable::{Installed, Runnable};

/// The newest version of a crate that `cargo install` would take, as cargo's own index says; `None` if cargo does not
/// say.
pub fn newest_version(
    name: &str,
    cargo: &agents_workspace::Cargo,
    deadline: std::time::Duration,
    progress: &agents_system::progress::Progress,
) -> Result<Option<Newest>, AcquireError> {
    crates::newest_in_registry(name, cargo, deadline, progress)
}
