//! What a manifest asks for, and whether a locked package is that.

use agents_system::digits;
use camino::Utf8PathBuf;
use semver::{Version, VersionReq};

use crate::{
    config::{self, CRATES_IO, Config},
    files::Undecided,
    lockfile::Locked,
    manifest::{self, Dependency, Detailed, Manifest},
};

/// A declared dependency with everything that decides what it resolves to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The real name.
    pub(crate) name: String,
    /// `None` if every version will do, even a pre-release.
    pub(crate) requirement: Option<VersionReq>,
    pub(crate) origin: Origin,
    pub(crate) optional: bool,
}

/// Where a dependency shall come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Path(Utf8PathBuf),
    /// Address and reference, the latter spelled `branch=...`, `tag=...`, `rev=...` or not at all.
    Git(String, String),
    /// As lock files spell it.
    Registry(String),
}

impl Wanted {
    /// Reads a declaration; `root` is where inherited ones stand.
    pub(crate) fn new(
        manifest: &Manifest,
        root: &Manifest,
        config: &Config,
        key: &str,
        dependency: &Dependency,
    ) -> Result<Self, Undecided> {
        let detailed = match dependency {
            Dependency::Version(version) => return Self::plain(key, version),
            Dependency::Detailed(detailed) => detailed,
        };
        match detailed.workspace {
            None => Self::detailed(key, detailed, manifest, config),
            Some(false) => Err(Undecided::AskCargo("`workspace = false`")),
            Some(true) => {
                let inherited = root.text.workspace.as_ref().and_then(|w| w.dependencies.get(key));
                let wanted = match inherited {
                    None => Err(Undecided::AskCargo("nothing to inherit")),
                    Some(Dependency::Version(version)) => Self::plain(key, version),
                    Some(Dependency::Detailed(inherited)) => {
                        Self::detailed(key, inherited, root, config)
                    }
                }?;
                Ok(Self { optional: detailed.optional, ..wanted })
            }
        }
    }

    fn plain(key: &str, version: &str) -> Result<Self, Undecided> {
        Ok(Self {
            name: key.to_owned(),
            requirement: Some(requirement(version)?),
            origin: Origin::Registry(CRATES_IO.to_owned()),
            optional: false,
        })
    }

    fn detailed(
        key: &str,
        detailed: &Detailed,
        base: &Manifest,
        config: &Config,
    ) -> Result<Self, Undecided> {
        if detailed.is_unstable() {
            return Err(Undecided::AskCargo("an unstable kind of dependency"));
        }
        let origin = match (&detailed.path, &detailed.git) {
            (Some(_), Some(_)) => return Err(Undecided::AskCargo("both `path` and `git`")),
            (Some(path), None) => Origin::Path(manifest::join(&base.dir, path)),
            (None, Some(git)) => Origin::Git(git.clone(), reference(detailed)?),
            (None, None) => Origin::Registry(registry(detailed, config)?),
        };
        Ok(Self {
            name: detailed.package.as_deref().unwrap_or(key).to_owned(),
            requirement: detailed.version.as_deref().map(requirement).transpose()?,
            origin,
            optional: detailed.optional,
        })
    }

    /// Whether this version will do.
    pub(crate) fn accepts(&self, version: &str) -> bool {
        match (&self.requirement, Version::parse(version)) {
            (None, _) => true,
            (Some(requirement), Ok(version)) => requirement.matches(&version),
            (Some(_), Err(_)) => false,
        }
    }
}

impl Origin {
    /// Whether a locked package comes from here, so far as that can be told from the lock file.
    pub(crate) fn agrees(&self, locked: &Locked<'_>) -> bool {
        match (self, locked.source) {
            (Self::Path(_), source) => source.is_none(),
            (_, None) => false,
            (Self::Registry(id), Some(source)) => {
                id == source || id.trim_end_matches('/') == source.trim_end_matches('/')
            }
            (Self::Git(url, reference), Some(source)) => git_agrees(source, url, reference),
        }
    }

    /// The address that a `[patch]` table names to replace things from here.
    pub(crate) fn address(&self) -> Option<&str> {
        match self {
            Self::Path(_) => None,
            Self::Git(url, _) => Some(url),
            Self::Registry(id) => id.split_once('+').map(|(_, index)| index),
        }
    }
}

fn requirement(text: &str) -> Result<VersionReq, Undecided> {
    VersionReq::parse(text).map_err(|_| Undecided::AskCargo("an unknown version requirement"))
}

fn reference(detailed: &Detailed) -> Result<String, Undecided> {
    let named = [("branch", &detailed.branch), ("tag", &detailed.tag), ("rev", &detailed.rev)];
    let mut given = named.iter().filter_map(|(kind, value)| Some((kind, value.as_ref()?)));
    match (given.next(), given.next()) {
        (None, _) => Ok(String::new()),
        (Some((kind, value)), None) => Ok(format!("{kind}={value}")),
        (Some(_), Some(_)) => Err(Undecided::AskCargo("several git references")),
    }
}

fn registry(detailed: &Detailed, config: &Config) -> Result<String, Undecided> {
    match (&detailed.registry, &detailed.registry_index) {
        (None, None) => Ok(CRATES_IO.to_owned()),
        (Some(name), None) => {
            config.registry_id(name).ok_or(Undecided::AskCargo("a registry that no file names"))
        }
        (None, Some(index)) => Ok(config::registry_id(index)),
        (Some(_), Some(_)) => Err(Undecided::AskCargo("two registries")),
    }
}

fn git_agrees(source: &str, url: &str, reference: &str) -> bool {
    let Some(source) = source.strip_prefix("git+") else {
        return false;
    };
    let source = source.split_once('#').map_or(source, |(source, _)| source);
    let (locked_url, locked_reference) = source.split_once('?').unwrap_or((source, ""));
    // Newer lock files escape what stands after `=`.
    (locked_url == url || locked_url.trim_end_matches('/') == url.trim_end_matches('/'))
        && (locked_reference == reference || locked_reference == escaped(reference))
}

fn escaped(reference: &str) -> String {
    let Some((kind, value)) = reference.split_once('=') else {
        return reference.to_owned();
    };
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"*-._ ".contains(&it);
    format!("{kind}={}", digits::escaped(value, is_plain).replace(' ', "+"))
}

/// Addresses that cargo takes for the same place.
pub(crate) fn same_address(one: &str, other: &str) -> bool {
    canonical(one) == canonical(other)
}

fn canonical(address: &str) -> String {
    let address = address.trim_end_matches('/').trim_end_matches(".git");
    let on_github = address.split("://").nth(1).is_some_and(|rest| {
        rest.get(..11).is_some_and(|host| host.eq_ignore_ascii_case("github.com/"))
    });
    if on_github { address.to_ascii_lowercase() } else { address.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_sources_agree_by_address_and_reference() {
        let table = [
            ("git+https://h/r#0a", "https://h/r", "", true),
            ("git+https://h/r?branch=b#0a", "https://h/r", "branch=b", true),
            ("git+https://h/r?tag=a%2Fb#0a", "https://h/r", "tag=a/b", true),
            ("git+https://h/r?tag=a/b#0a", "https://h/r", "tag=a/b", true),
            ("git+https://h/r?branch=b#0a", "https://h/r", "", false),
            ("git+https://h/r#0a", "https://h/r", "branch=b", false),
            ("git+https://h/r#0a", "https://h/s", "", false),
            ("registry+https://h/r", "https://h/r", "", false),
        ];
        for (source, url, reference, expected) in table {
            assert_eq!(git_agrees(source, url, reference), expected, "{source} {url} {reference}");
        }
    }

    #[test]
    fn addresses_are_compared_as_cargo_does() {
        assert!(same_address("https://github.com/A/b.git", "https://GitHub.com/a/B/"));
        assert!(!same_address("https://example.com/A", "https://example.com/a"));
    }
}
