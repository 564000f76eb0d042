//! Checking definitions before they are used.

use std::io;

use agents_system::{
    finding::{Finding, Place, Severity},
    fingerprint::Inputs,
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    definition::{AgentDefinition, Dialect, Source},
    parse::{Input, Strictness, parse},
    shelf::MAX_BYTES,
};

/// Deeper directories are not searched.
const MAX_DEPTH: usize = 8;

/// A file that was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The file.
    pub file: Utf8PathBuf,
    /// What it says, if that can be understood.
    pub definition: Option<AgentDefinition>,
    /// What there is to say about it.
    pub findings: Vec<Finding>,
}

impl Checked {
    /// Whether it is a definition and nothing in it is an error.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.definition.is_some()
            && self.findings.iter().all(|finding| finding.severity != Severity::Error)
    }
}

/// Checks one file, or every file in a directory and below that should be a definition.
pub fn validate(path: &Utf8Path, strictness: Strictness) -> io::Result<Vec<Checked>> {
    let mut files = Vec::new();
    if fs_err::metadata(path)?.is_dir() {
        collect(path, MAX_DEPTH, &mut files)?;
    } else {
        files.push(path.to_owned());
    }
    Ok(files.into_iter().map(|file| check(file, strictness)).collect())
}

fn collect(dir: &Utf8Path, depth: usize, files: &mut Vec<Utf8PathBuf>) -> io::Result<()> {
    let names = Inputs::new().list(dir)?.unwrap_or_default();
    for path in names.into_iter().map(|name| dir.join(name)) {
        // A link to a directory may lead back.
        let Ok(kind) = fs_err::symlink_metadata(&path) else { continue };
        if kind.is_dir() {
            if depth > 0 {
                collect(&path, depth - 1, files)?;
            }
        } else if Dialect::of_named(&path).is_some() {
            files.push(path);
        }
    }
    Ok(())
}

fn check(file: Utf8PathBuf, strictness: Strictness) -> Checked {
    let wrong = |message: String| vec![Finding::error(message).at(Place::file(&file))];
    let text = Inputs::new().read_at_most(&file, MAX_BYTES);
    let text = text.map(|bytes| bytes.map(String::from_utf8));
    let (definition, findings) = match (text, Dialect::of_named(&file)) {
        (Ok(Some(Ok(text))), Some(dialect)) => {
            let source = Source::Named;
            parse(&Input { file: &file, text: &text, dialect, source, strictness })
        }
        (Ok(_), None) => (None, wrong("no host keeps agents in files called like that".to_owned())),
        (Ok(Some(Err(_))), _) => (None, wrong("the file is not valid UTF-8".to_owned())),
        (Ok(None), _) => (None, wrong("there is no such file".to_owned())),
        (Err(error), _) => (None, wrong(error.to_string())),
    };
    Checked { file, definition, findings }
}
