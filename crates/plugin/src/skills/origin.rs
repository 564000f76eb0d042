//! Where a skill comes from: what tells two skills of one name apart.

use std::fmt;

use agents_system::cache::name_hash;
use agents_workspace::CrateName;
use camino::Utf8PathBuf;
use semver::Version;

/// Where a skill comes from. Two skills of the same name and origin are the same skill, whoever names them;
/// the same name from another origin is another skill.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkillOrigin {
    /// A package of the workspace itself, or the workspace as a whole.
    Member {
        /// The skill's directory, relative to the root of the workspace.
        path: Utf8PathBuf,
    },
    /// A directory that a plugin of a registry names.
    Path {
        /// The registry.
        registry: String,
        /// The skill's directory, relative to the root of the registry; absolute if it lies elsewhere.
        path: Utf8PathBuf,
    },
    /// One version of a crate.
    Crate {
        /// The crate.
        name: CrateName,
        /// Its version.
        version: Version,
    },
    /// A git repository.
    Git {
        /// Its address, without a password.
        url: String,
        /// The commit.
        commit: String,
        /// The skill's directory, relative to the root of the repository.
        path: Utf8PathBuf,
    },
}

impl SkillOrigin {
    /// What is put behind the name where the name alone is taken: `<crate>-<version>`, else eight hexadecimal
    /// digits that stay the same as long as the origin does. It holds no separator of paths.
    #[must_use]
    pub fn suffix(&self) -> String {
        let hash = |parts: [&str; 4]| name_hash(&parts.join("\n"))[..8].to_owned();
        match self {
            Self::Crate { name, version } => {
                let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
                let text = format!("{name}-{version}");
                text.chars().map(|c| if allowed(c) { c } else { '-' }).collect()
            }
            Self::Git { url, commit, path } => hash(["git", url, commit, path.as_str()]),
            Self::Path { registry, path } => hash(["path", registry, path.as_str(), ""]),
            Self::Member { path } => hash(["member", path.as_str(), "", ""]),
        }
    }

    /// One word for its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Member { .. } => "member",
            Self::Path { .. } => "registry",
            Self::Crate { .. } => "crate",
            Self::Git { .. } => "git",
        }
    }
}

impl fmt::Display for SkillOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member { path } => write!(f, "`{path}` of this workspace"),
            Self::Path { registry, path } => write!(f, "`{path}` of registry `{registry}`"),
            Self::Crate { name, version } => write!(f, "crate {name} {version}"),
            Self::Git { url, commit, path } => {
                let commit = commit.get(..12).unwrap_or(commit);
                write!(f, "`{path}` of {url} at {commit}")
            }
        }
    }
}
