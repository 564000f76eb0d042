//! One directory of definitions.

use std::{fmt, io};

use agents_system::{
    finding::{Finding, Place, Severity},
    fingerprint::{Fingerprint, Inputs},
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    definition::{AgentDefinition, Dialect, Source},
    parse::{Input, Strictness, parse},
    search::FileKind,
    trust::{ProjectTrust, Trusted, confine},
};

/// No definition is larger.
pub const MAX_BYTES: u64 = 256 * 1024;

/// No more files of one directory are looked at.
pub const MAX_FILES: usize = 100;

/// A directory, or a single file, that definitions are read from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shelf {
    /// Where it is.
    pub path: Utf8PathBuf,
    /// Who put definitions there.
    pub source: Source,
    /// Whose way of keeping them it is.
    pub family: String,
    /// Which files are definitions.
    pub files: Vec<FileKind>,
    /// The tree that no link in it may lead out of; none for what is the user's own.
    pub root: Option<Utf8PathBuf>,
}

/// What is on a shelf.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) books: Vec<Book>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) state: ShelfState,
    pub(crate) fingerprint: Fingerprint,
}

/// One file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Book {
    pub(crate) file: Utf8PathBuf,
    pub(crate) definition: Option<AgentDefinition>,
    pub(crate) findings: Vec<Finding>,
}

/// What became of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShelfState {
    /// It was read; so many files in it are definitions or should be.
    Read(usize),
    /// There is none.
    Missing,
    /// The system does not let us.
    Unreadable,
    /// It is a link out of the project.
    LeadsOut,
    /// It is the same directory as one that comes before it.
    SameAs(Utf8PathBuf),
}

/// A file and its text, or why there is none.
pub(crate) type Page = (Utf8PathBuf, Dialect, Result<String, String>);

impl Shelf {
    /// Reads it. One bad file stops nothing.
    pub(crate) fn read(&self, trusted: &Trusted) -> Contents {
        let trust = match self.source {
            Source::Project => trusted.of(&self.path),
            _ => ProjectTrust::Untrusted,
        };
        let mut inputs = Inputs::new();
        let mut findings = Vec::new();
        let (state, pages) = self.pages(&mut inputs, &mut findings);
        let book = |(file, dialect, text): Page| self.parse(&file, dialect, text, trust);
        let books = pages.into_iter().map(book).collect();
        Contents { books, findings, state, fingerprint: inputs.finish() }
    }

    /// The texts of its files.
    pub(crate) fn pages(
        &self,
        inputs: &mut Inputs,
        findings: &mut Vec<Finding>,
    ) -> (ShelfState, Vec<Page>) {
        let mut names = match self.names(inputs) {
            Ok(None) => return (ShelfState::Missing, Vec::new()),
            Ok(Some(names)) => names,
            Err(error) => {
                let message = format!("the directory cannot be read: {error}");
                findings.push(Finding::warning(message).at(Place::file(&self.path)));
                return (ShelfState::Unreadable, Vec::new());
            }
        };
        if names.len() > MAX_FILES {
            findings.push(self.too_many(names.len()));
            names.truncate(MAX_FILES);
        }
        let pages = names.into_iter().map(|(name, dialect)| {
            let file = self.path.join(name);
            let text = self.text(&file, inputs);
            (file, dialect, text)
        });
        let pages: Vec<Page> = pages.collect();
        (ShelfState::Read(pages.len()), pages)
    }

    /// The files that are definitions, byte by byte in order.
    fn names(&self, inputs: &mut Inputs) -> io::Result<Option<Vec<(String, Dialect)>>> {
        let Some(names) = inputs.list(&self.path)? else { return Ok(None) };
        let known = names.into_iter().filter_map(|name| {
            let dialect = self.dialect_of(&name)?;
            Some((name, dialect))
        });
        Ok(Some(known.collect()))
    }

    fn dialect_of(&self, name: &str) -> Option<Dialect> {
        let fitting = self.files.iter().filter(|kind| name.ends_with(&kind.suffix));
        fitting.max_by_key(|kind| kind.suffix.len()).map(|kind| kind.dialect)
    }

    /// Reads one file that somebody named.
    pub(crate) fn open(&self, dialect: Dialect, inputs: &mut Inputs) -> Book {
        let text = self.text(&self.path, inputs);
        self.parse(&self.path, dialect, text, ProjectTrust::Untrusted)
    }

    fn parse(
        &self,
        file: &Utf8Path,
        dialect: Dialect,
        text: Result<String, String>,
        trust: ProjectTrust,
    ) -> Book {
        let file = file.to_owned();
        let text = match text {
            Ok(text) => text,
            Err(message) => {
                let finding = Finding::warning(message).at(Place::file(&file));
                return Book { file, definition: None, findings: vec![finding] };
            }
        };
        let (mut definition, mut findings) = parse(&Input {
            file: &file,
            text: &text,
            dialect,
            source: self.source.clone(),
            strictness: Strictness::Lenient,
        });
        if let Some(definition) = &mut definition {
            findings.extend(confine(definition, trust));
        } else {
            // What somebody else wrote must not look like a failure of ours.
            for finding in &mut findings {
                finding.severity = finding.severity.min(Severity::Warning);
            }
        }
        Book { file, definition, findings }
    }

    fn text(&self, file: &Utf8Path, inputs: &mut Inputs) -> Result<String, String> {
        if let Some(root) = &self.root
            && fs_err::symlink_metadata(file).is_ok_and(|it| it.is_symlink())
            && let Ok(real) = file.canonicalize_utf8()
            && !real.starts_with(root)
        {
            // Another link would be another entry of the directory, which the answer depends on.
            return Err(format!("the link leads out of `{root}`; the file is left out"));
        }
        let left_out = |error: io::Error| format!("the file is left out: {error}");
        let bytes = inputs.read_at_most(file, MAX_BYTES).map_err(left_out)?;
        let bytes = bytes.ok_or("the link leads nowhere; the file is left out")?;
        String::from_utf8(bytes).map_err(|_| "the file is not valid UTF-8".to_owned())
    }

    fn too_many(&self, number: usize) -> Finding {
        let message =
            format!("{number} files in one directory; only the first {MAX_FILES} are read");
        Finding::warning(message)
            .at(Place::file(&self.path))
            .hint("move some of them to a directory of their own")
    }
}

impl fmt::Display for ShelfState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(1) => f.write_str("1 file"),
            Self::Read(number) => write!(f, "{number} files"),
            Self::Missing => f.write_str("missing"),
            Self::Unreadable => f.write_str("cannot be read"),
            Self::LeadsOut => f.write_str("leads out of the project"),
            Self::SameAs(other) => write!(f, "the same as {other}"),
        }
    }
}
