//! Finding what to run in what was acquired.

use std::io;

use agents_system::{
    explain::{Code, ErrorKind, Explain},
    process::find_program,
};
use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use crate::{receipt::Binary, recipe::Entry};

/// Why there is nothing to run.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// A set-up step or a list of requirements is not a program.
    #[error("it has neither `executable` nor `script`")]
    NothingToRun,
    /// `../`, or an absolute path into somewhere else.
    #[error("`{path}` leads out of what was installed")]
    Escapes {
        /// As the manifest says it.
        path: String,
    },
    /// The crate has several binaries and the manifest does not choose.
    #[error("crate `{name}` has several binaries: {}", list(binaries))]
    Several {
        /// The crate.
        name: String,
        /// Its binaries.
        binaries: Vec<String>,
    },
    /// The crate has no binary of that name.
    #[error("crate `{name}` has no binary `{wanted}`, only {}", list(binaries))]
    NoSuchBinary {
        /// The crate.
        name: String,
        /// What the manifest asks for.
        wanted: String,
        /// What there is.
        binaries: Vec<String>,
    },
    /// There is no such file.
    #[error("there is no file `{path}`")]
    Missing {
        /// Where it should be.
        path: Utf8PathBuf,
    },
    /// The tree is there, the file in it is not.
    #[error("there is no file `{path}` in `{tree}`")]
    NotInTree {
        /// As the manifest says it.
        path: String,
        /// What was acquired.
        tree: Utf8PathBuf,
    },
    /// A bare name that is neither in the plugin's directory nor on `PATH`.
    #[error("there is no `{name}` in `{plugin_dir}` or on your `PATH`")]
    NotFound {
        /// As the manifest says it.
        name: String,
        /// The plugin's directory.
        plugin_dir: Utf8PathBuf,
    },
    /// A global installation that is not where cargo puts them.
    #[error("there is no `{name}` on your `PATH` or in `{cargo_bin}`")]
    NotInstalled {
        /// The executable.
        name: String,
        /// Where cargo installs to.
        cargo_bin: Utf8PathBuf,
    },
    /// A file without the permission to be executed.
    #[error("`{path}` is not executable")]
    NotExecutable {
        /// The file.
        path: Utf8PathBuf,
    },
    /// A text file without `#!`, which the system cannot execute.
    #[error("`{path}` is text and does not begin with `#!`")]
    NoInterpreter {
        /// The file.
        path: Utf8PathBuf,
    },
    /// The file cannot be looked at.
    #[error("cannot read `{path}`")]
    Io {
        /// The file.
        path: Utf8PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Explain for EntryError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NotInstalled { .. } | Self::NotFound { .. } | Self::Io { .. } => {
                ErrorKind::Failure
            }
            _ => ErrorKind::Usage,
        }
    }

    fn code(&self) -> Option<Code> {
        Some(Code::NothingToRun)
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Several { .. } | Self::NoSuchBinary { .. } => {
                Some("set `executable` to one of them".to_owned())
            }
            Self::NotInTree { .. } => {
                Some("if it was there before, `--update fetch` brings it back".to_owned())
            }
            Self::NotExecutable { path } => {
                Some(format!("`chmod +x {path}`, or name it as `script` to run it with `sh`"))
            }
            Self::NoInterpreter { .. } => Some(
                "name it as `script` to run it with `sh`, or begin it with `#!/bin/sh`".to_owned(),
            ),
            _ => None,
        }
    }
}

/// Where to look.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Base<'a> {
    /// What `cargo install --root` made.
    Root { dir: &'a Utf8Path, name: &'a str, binaries: &'a [Binary] },
    /// The user's cargo home.
    Global { cargo_bin: &'a Utf8Path },
    /// A checked-out tree.
    Tree { dir: &'a Utf8Path },
    /// Nothing was acquired: the plugin's own files and the user's programs.
    Plugin { dir: &'a Utf8Path },
}

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) path: Utf8PathBuf,
    pub(crate) by: By,
    pub(crate) origin: Origin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Itself,
    Shell,
}

/// Whether `PATH` needs to be told about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It lies where only we know.
    Ours,
    /// It is on the user's `PATH` already.
    Users,
}

/// Finds what `entry` means at `base`; `None` if there is nothing to run, which is fine for a set-up step.
pub(crate) fn locate(entry: Option<&Entry>, base: Base<'_>) -> Result<Option<Target>, EntryError> {
    let (path, by) = match entry {
        Some(Entry::Executable(path)) => (path.as_str(), By::Itself),
        Some(Entry::Script(path)) => (path.as_str(), By::Shell),
        None => return only_binary(base),
    };
    let found = match base {
        Base::Root { dir, name, binaries } if by == By::Itself => {
            let binary = binaries.iter().find(|binary| binary.is_called(path));
            let wanted = || EntryError::NoSuchBinary {
                name: name.to_owned(),
                wanted: path.to_owned(),
                binaries: names(binaries),
            };
            Target {
                path: dir.join("bin").join(&binary.ok_or_else(wanted)?.name),
                by,
                origin: Origin::Ours,
            }
        }
        Base::Root { dir, .. } => {
            Target { path: inside(&dir.join("bin"), path)?, by, origin: Origin::Ours }
        }
        Base::Tree { dir } => Target { path: inside(dir, path)?, by, origin: Origin::Ours },
        Base::Global { cargo_bin } => match find_global(path, cargo_bin) {
            Some(path) => {
                return Ok(Some(Target { path, by, origin: Origin::Users }));
            }
            None => {
                let name = path.to_owned();
                return Err(EntryError::NotInstalled { name, cargo_bin: cargo_bin.to_owned() });
            }
        },
        Base::Plugin { dir } => match in_plugin(dir, path)? {
            (path, Origin::Users) => {
                return Ok(Some(Target { path, by, origin: Origin::Users }));
            }
            (path, origin) => Target { path, by, origin },
        },
    };
    match (check(&found, base), base) {
        (Ok(()), _) => Ok(Some(found)),
        (Err(EntryError::Missing { .. }), Base::Tree { dir } | Base::Root { dir, .. }) => {
            Err(EntryError::NotInTree { path: path.to_owned(), tree: dir.to_owned() })
        }
        (Err(error), _) => Err(error),
    }
}

/// Where a global installation is, if it is there.
pub(crate) fn find_global(name: &str, cargo_bin: &Utf8Path) -> Option<Utf8PathBuf> {
    // A path would be looked up from wherever we happen to be.
    if name.contains(std::path::is_separator) {
        return None;
    }
    let installed = cargo_bin.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    find_program(name).or_else(|| installed.is_file().then_some(installed))
}

fn only_binary(base: Base<'_>) -> Result<Option<Target>, EntryError> {
    let Base::Root { dir, name, binaries } = base else {
        return Ok(None);
    };
    match binaries {
        [] => Ok(None),
        [only] => {
            let path = dir.join("bin").join(&only.name);
            let found = Target { path, by: By::Itself, origin: Origin::Ours };
            check(&found, base)?;
            Ok(Some(found))
        }
        several => Err(EntryError::Several { name: name.to_owned(), binaries: names(several) }),
    }
}

fn in_plugin(dir: &Utf8Path, path: &str) -> Result<(Utf8PathBuf, Origin), EntryError> {
    let is_bare = !path.contains(std::path::is_separator);
    let here = dir.join(path.strip_prefix("./").unwrap_or(path));
    if !is_bare || here.is_file() {
        return Ok((here, Origin::Ours));
    }
    match find_program(path) {
        Some(program) => Ok((program, Origin::Users)),
        None => Err(EntryError::NotFound { name: path.to_owned(), plugin_dir: dir.to_owned() }),
    }
}

/// Joins a path from a manifest to a tree, refusing everything that could leave the tree.
fn inside(tree: &Utf8Path, path: &str) -> Result<Utf8PathBuf, EntryError> {
    let mut joined = tree.to_owned();
    for component in Utf8Path::new(path).components() {
        match component {
            Utf8Component::Normal(name) => joined.push(name),
            Utf8Component::CurDir => {}
            _ => {
                return Err(EntryError::Escapes { path: path.to_owned() });
            }
        }
    }
    Ok(joined)
}

fn check(found: &Target, base: Base<'_>) -> Result<(), EntryError> {
    let path = &found.path;
    let data = match fs_err::metadata(path) {
        Ok(data) if data.is_file() => data,
        Ok(_) => return Err(EntryError::Missing { path: path.clone() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(EntryError::Missing { path: path.clone() });
        }
        Err(source) => {
            return Err(EntryError::Io { path: path.clone(), source });
        }
    };
    if found.by == By::Shell {
        return Ok(());
    }
    match base {
        // What cargo built is executable.
        Base::Root { .. } => make_executable(path, &data),
        Base::Tree { dir } => {
            // A link may lead to a file of the user's, whose permissions are not ours to change.
            if !is_executable(&data) && !lies_within(dir, path) {
                return Err(EntryError::NotExecutable { path: path.clone() });
            }
            make_executable(path, &data)?;
            check_interpreter(path)
        }
        Base::Global { .. } | Base::Plugin { .. } => {
            if !is_executable(&data) {
                return Err(EntryError::NotExecutable { path: path.clone() });
            }
            check_interpreter(path)
        }
    }
}

fn lies_within(tree: &Utf8Path, path: &Utf8Path) -> bool {
    match (tree.canonicalize_utf8(), path.canonicalize_utf8()) {
        (Ok(tree), Ok(path)) => path.starts_with(tree),
        _ => false,
    }
}

#[cfg(unix)]
fn is_executable(data: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    data.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    true
}

#[cfg(unix)]
fn make_executable(path: &Utf8Path, data: &std::fs::Metadata) -> Result<(), EntryError> {
    use std::os::unix::fs::PermissionsExt as _;
    if is_executable(data) {
        return Ok(());
    }
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o755))
        .map_err(|_| EntryError::NotExecutable { path: path.to_owned() })
}

#[cfg(not(unix))]
fn make_executable(_: &Utf8Path, _: &std::fs::Metadata) -> Result<(), EntryError> {
    Ok(())
}

/// A text file without `#!` fails at `exec` with "Exec format error", which helps nobody. Other
/// formats pass: the system may know how to run them.
#[cfg(unix)]
fn check_interpreter(path: &Utf8Path) -> Result<(), EntryError> {
    use std::io::Read as _;
    let failed = |source| EntryError::Io { path: path.to_owned(), source };
    let mut head = Vec::new();
    fs_err::File::open(path).map_err(failed)?.take(256).read_to_end(&mut head).map_err(failed)?;
    let is_text = !head.contains(&0);
    if is_text && !head.starts_with(b"#!") {
        return Err(EntryError::NoInterpreter { path: path.to_owned() });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_interpreter(_: &Utf8Path) -> Result<(), EntryError> {
    Ok(())
}

fn names(binaries: &[Binary]) -> Vec<String> {
    binaries.iter().map(|binary| binary.name.clone()).collect()
}

fn list(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    }
}
