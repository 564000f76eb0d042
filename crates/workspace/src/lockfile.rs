//! Reading `Cargo.lock`, line by line and without a copy.
//!
//! Cargo writes this file itself and always in the same shape, so a TOML parser is not needed, and
//! would be the slowest part of a hook. Whatever does not have that shape (a merge conflict, a
//! hand-made file) is [`NotUnderstood`], and cargo is asked instead.

use std::collections::HashMap;

use agents_system::digits;

/// The file's name.
pub(crate) const LOCK: &str = "Cargo.lock";

/// A lock file that does not look as cargo writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotUnderstood;

/// A lock file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Lock<'a> {
    /// The layout; 1 and 2 do not say.
    version: u32,
    pub(crate) packages: Vec<Locked<'a>>,
    /// `[[patch.unused]]`: patches that nothing uses.
    pub(crate) unused: Vec<Locked<'a>>,
}

/// One package of a lock file.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Locked<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
    /// `None` for a directory.
    pub(crate) source: Option<&'a str>,
    /// Replaced by another one, the old way of `[replace]`.
    pub(crate) replaced: bool,
    edges: Vec<&'a str>,
}

enum Section {
    Top,
    Package,
    Unused,
    Other,
}

/// Everything that cargo says about a package.
const KEYS: [&str; 6] = ["name", "version", "source", "checksum", "dependencies", "replace"];

/// Which of the [`KEYS`] a package has said already: twice is once too often.
#[derive(Default)]
struct Keys([bool; KEYS.len()]);

impl Keys {
    fn add(&mut self, key: &str) -> Result<(), NotUnderstood> {
        let at = KEYS.iter().position(|known| *known == key).ok_or(NotUnderstood)?;
        if std::mem::replace(&mut self.0[at], true) { Err(NotUnderstood) } else { Ok(()) }
    }
}

impl<'a> Lock<'a> {
    /// Reads layouts 1 to 4.
    pub(crate) fn parse(text: &'a str) -> Result<Self, NotUnderstood> {
        let mut lock = Self::default();
        let mut section = Section::Top;
        let mut seen = Keys::default();
        let mut lines = text.lines().map(|line| line.trim_end_matches([' ', '\t']));
        while let Some(line) = lines.next() {
            if line.is_empty() || (line.starts_with('#') && is_printable(line)) {
                continue;
            }
            if line.starts_with('[') {
                section = lock.open(line)?;
                seen = Keys::default();
                continue;
            }
            let (key, value) = line.split_once(" = ").ok_or(NotUnderstood)?;
            let package = match section {
                Section::Top if key == "version" && lock.version == 0 => {
                    lock.version = layout(value)?;
                    continue;
                }
                Section::Top => return Err(NotUnderstood),
                Section::Other => continue,
                Section::Package => lock.packages.last_mut(),
                Section::Unused => lock.unused.last_mut(),
            };
            let package = package.ok_or(NotUnderstood)?;
            seen.add(key)?;
            match (key, value) {
                ("name", name) => package.name = quoted(name)?,
                ("version", version) => package.version = quoted(version)?,
                ("source", source) => package.source = Some(quoted(source)?),
                ("replace", other) => package.replaced = quoted(other).map(|_| true)?,
                ("dependencies", "[") => loop {
                    match lines.next().ok_or(NotUnderstood)?.trim_start_matches(' ') {
                        "]" => break,
                        item => {
                            let item = item.strip_suffix(',').ok_or(NotUnderstood)?;
                            package.edges.push(quoted(item)?);
                        }
                    }
                },
                ("dependencies", list) => {
                    let inner = list.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
                    let inner = inner.ok_or(NotUnderstood)?.trim_matches(' ');
                    let inner = inner.strip_suffix(',').unwrap_or(inner);
                    if !inner.is_empty() {
                        for item in inner.split(',') {
                            package.edges.push(quoted(item.trim_matches(' '))?);
                        }
                    }
                }
                (_, value) => {
                    quoted(value)?;
                }
            }
        }
        let complete = |p: &Locked<'_>| !p.name.is_empty() && !p.version.is_empty();
        let all = lock.packages.iter().chain(&lock.unused);
        if all.clone().all(complete) { Ok(lock) } else { Err(NotUnderstood) }
    }

    fn open(&mut self, header: &str) -> Result<Section, NotUnderstood> {
        match header {
            "[[package]]" => {
                self.packages.push(Locked::default());
                Ok(Section::Package)
            }
            "[[patch.unused]]" => {
                self.unused.push(Locked::default());
                Ok(Section::Unused)
            }
            "[metadata]" => Ok(Section::Other),
            // `[root]` is from 2017; its package is not listed.
            _ => Err(NotUnderstood),
        }
    }

    /// A source as cargo spells it elsewhere: since layout 4, lock files escape the reference of a git
    /// source (`?tag=v%2F1`).
    pub(crate) fn plain_source(&self, source: &str) -> String {
        let parts = source.split_once('#').and_then(|(place, commit)| {
            let (address, reference) = place.split_once('?')?;
            Some((address, reference, commit))
        });
        match parts {
            Some((address, reference, commit)) if self.version >= 4 => {
                format!(
                    "{address}?{}#{commit}",
                    digits::unescaped_lossy(&reference.replace('+', " "))
                )
            }
            _ => source.to_owned(),
        }
    }

    /// A way to look packages up by name.
    pub(crate) fn index(&self) -> Index<'_, 'a> {
        let mut by_name: HashMap<&str, Vec<&Locked<'a>>> = HashMap::new();
        for package in &self.packages {
            by_name.entry(package.name).or_default().push(package);
        }
        Index { by_name }
    }
}

/// The packages of a lock file by name.
pub(crate) struct Index<'l, 'a> {
    by_name: HashMap<&'a str, Vec<&'l Locked<'a>>>,
}

impl<'l, 'a> Index<'l, 'a> {
    /// Every package of that name.
    pub(crate) fn named(&self, name: &str) -> &[&'l Locked<'a>] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// What `package` depends on. Edges name as little as is needed to be unique: `name`,
    /// `name version`, `name version (source)`.
    pub(crate) fn edges(&self, package: &Locked<'a>) -> Result<Vec<&'l Locked<'a>>, NotUnderstood> {
        package.edges.iter().map(|edge| self.edge(edge)).collect()
    }

    fn edge(&self, edge: &str) -> Result<&'l Locked<'a>, NotUnderstood> {
        let mut words = edge.splitn(3, ' ');
        let name = words.next().unwrap_or_default();
        let version = words.next();
        let source = words.next().map(|word| without_commit(word.trim_matches(['(', ')'])));
        let mut fits = self.named(name).iter().filter(|locked| {
            version.is_none_or(|version| version == locked.version)
                && source.is_none_or(|source| locked.source.map(without_commit) == Some(source))
        });
        match (fits.next(), fits.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(NotUnderstood),
        }
    }
}

fn without_commit(source: &str) -> &str {
    source.split_once('#').map_or(source, |(source, _)| source)
}

fn quoted(value: &str) -> Result<&str, NotUnderstood> {
    let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    inner.filter(|inner| !inner.contains(['"', '\\']) && is_printable(inner)).ok_or(NotUnderstood)
}

/// A layout that we know.
fn layout(value: &str) -> Result<u32, NotUnderstood> {
    match value {
        "1" => Ok(1),
        "2" => Ok(2),
        "3" => Ok(3),
        "4" => Ok(4),
        _ => Err(NotUnderstood),
    }
}

/// Without the characters that TOML refuses.
fn is_printable(text: &str) -> bool {
    text.bytes().all(|byte| byte == b'\t' || !byte.is_ascii_control())
}

/// A package as a lock file lists it, for the fuzzer, which compares us with a TOML parser.
#[doc(hidden)]
#[derive(Debug)]
pub struct LockedPackage<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
    /// Its source; `None` for a directory.
    pub source: Option<&'a str>,
    /// What it depends on.
    pub edges: Vec<&'a str>,
}

/// The packages of a lock file; `None` if it is not understood.
#[doc(hidden)]
#[must_use]
pub fn locked_packages(text: &str) -> Option<Vec<LockedPackage<'_>>> {
    let lock = Lock::parse(text).ok()?;
    let index = lock.index();
    for package in &lock.packages {
        // Which of them an edge means may be unclear; asking must not hurt.
        let _ = index.edges(package);
        let _ = package.source.map(|source| lock.plain_source(source));
    }
    let packages = lock.packages.iter().map(|package| LockedPackage {
        name: package.name,
        version: package.version,
        source: package.source,
        edges: package.edges.clone(),
    });
    Some(packages.collect())
}

#[cfg(test)]
mod tests;
