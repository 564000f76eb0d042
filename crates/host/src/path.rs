//! Paths as descriptors write them, and the roots that make real paths of them.
//!
//! A project path is relative to the workspace. A path of the user begins with `~` (the home directory),
//! `$NAME` (an environment variable), `{home}` (the directory that the host calls its home) or is
//! absolute. A list of them is read from the left: the first whose variable is set counts.

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

/// Where paths begin.
#[derive(Clone, Copy)]
pub struct Roots<'a> {
    /// The user's home directory.
    pub home: &'a Utf8Path,
    /// The root of the workspace, when there is one.
    pub workspace: Option<&'a Utf8Path>,
    /// Asks for an environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
}

impl std::fmt::Debug for Roots<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Roots")
            .field("home", &self.home)
            .field("workspace", &self.workspace)
            .finish_non_exhaustive()
    }
}

impl Roots<'_> {
    /// A variable that holds an absolute path. Empty and relative values count as not set, as the XDG
    /// rules ask: what they mean depends on where a program is started, and we are not that program.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<Utf8PathBuf> {
        (self.env)(name).map(Utf8PathBuf::from).filter(|path| path.is_absolute())
    }
}

/// A path of the user, as a list of alternatives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct UserPath(Vec<Alternative>);

/// A path inside the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ProjectPath(Utf8PathBuf);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Alternative {
    base: Base,
    rest: Utf8PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Base {
    Tilde,
    Variable(String),
    HostHome,
    Root,
}

/// Why a text is not a path that a descriptor may hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It says nothing.
    #[error("a path must not be empty")]
    Empty,
    /// It climbs.
    #[error("a path must not contain `..`")]
    Climbs,
    /// It would not stay in the workspace.
    #[error("a path in the workspace must be relative to it")]
    NotRelative,
    /// It would depend on where we are started.
    #[error("a path of the user must begin with `~/`, `$NAME/`, `{{home}}/` or `/`")]
    NoBase,
    /// It would be nowhere when the variable is not set.
    #[error("the last alternative must not depend on an environment variable")]
    NoFallback,
}

impl ProjectPath {
    /// Reads one.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let path = checked(text)?;
        if path.is_absolute() || text.starts_with(['~', '$', '{']) {
            return Err(PathError::NotRelative);
        }
        Ok(Self(path.to_owned()))
    }

    /// As the descriptor writes it.
    #[must_use]
    pub fn as_path(&self) -> &Utf8Path {
        &self.0
    }

    /// The real path, when there is a workspace.
    #[must_use]
    pub fn resolve(&self, roots: &Roots<'_>) -> Option<Utf8PathBuf> {
        Some(roots.workspace?.join(&self.0))
    }
}

impl UserPath {
    /// Reads one alternative; it need not lead anywhere when its variable is not set.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        Ok(Self(vec![Alternative::parse(text)?]))
    }

    /// Reads a list of alternatives, the last of which always leads somewhere.
    pub fn parse_list<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, PathError> {
        let alternatives: Vec<Alternative> =
            texts.into_iter().map(Alternative::parse).collect::<Result<_, _>>()?;
        match alternatives.last() {
            None => Err(PathError::Empty),
            Some(Alternative { base: Base::Variable(_), .. }) => Err(PathError::NoFallback),
            Some(_) => Ok(Self(alternatives)),
        }
    }

    /// The environment variables that it asks for.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|alternative| match &alternative.base {
            Base::Variable(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Whether it begins in the directory that the host calls its home.
    #[must_use]
    pub fn is_in_host_home(&self) -> bool {
        self.0.iter().any(|alternative| alternative.base == Base::HostHome)
    }

    /// The real path; `host_home` is the directory that the host calls its home.
    #[must_use]
    pub fn resolve(&self, roots: &Roots<'_>, host_home: &Utf8Path) -> Option<Utf8PathBuf> {
        self.0.iter().find_map(|alternative| alternative.resolve(roots, host_home))
    }
}

impl Alternative {
    fn parse(text: &str) -> Result<Self, PathError> {
        let path = checked(text)?;
        if path.is_absolute() {
            return Ok(Self { base: Base::Root, rest: path.to_owned() });
        }
        let (first, rest) = text.split_once('/').unwrap_or((text, ""));
        let base = match first {
            "~" => Base::Tilde,
            "{home}" => Base::HostHome,
            _ => match first.strip_prefix('$').filter(|name| is_variable(name)) {
                Some(name) => Base::Variable(name.to_owned()),
                None => return Err(PathError::NoBase),
            },
        };
        Ok(Self { base, rest: rest.into() })
    }

    fn resolve(&self, roots: &Roots<'_>, host_home: &Utf8Path) -> Option<Utf8PathBuf> {
        let base = match &self.base {
            Base::Tilde => roots.home.to_owned(),
            Base::HostHome => host_home.to_owned(),
            Base::Variable(name) => roots.variable(name)?,
            Base::Root => return Some(self.rest.clone()),
        };
        Some(if self.rest.as_str().is_empty() { base } else { base.join(&self.rest) })
    }
}

impl std::fmt::Display for Alternative {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let slash = if self.rest.as_str().is_empty() { "" } else { "/" };
        match &self.base {
            Base::Root => write!(f, "{}", self.rest),
            Base::Tilde => write!(f, "~{slash}{}", self.rest),
            Base::HostHome => write!(f, "{{home}}{slash}{}", self.rest),
            Base::Variable(name) => write!(f, "${name}{slash}{}", self.rest),
        }
    }
}

impl std::fmt::Display for UserPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, alternative) in self.0.iter().enumerate() {
            write!(f, "{}{alternative}", if index == 0 { "" } else { " or " })?;
        }
        Ok(())
    }
}

impl std::fmt::Display for ProjectPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.0.as_str())
    }
}

impl Serialize for Alternative {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn checked(text: &str) -> Result<&Utf8Path, PathError> {
    if text.trim().is_empty() {
        return Err(PathError::Empty);
    }
    if text.split(['/', '\\']).any(|part| part == "..") {
        return Err(PathError::Climbs);
    }
    Ok(Utf8Path::new(text))
}

fn is_variable(name: &str) -> bool {
    let fine = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    !name.is_empty() && name.chars().all(fine)
}

#[cfg(test)]
mod tests;
