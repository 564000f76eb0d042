//! A plan with the plans that are parts of it.

use std::{collections::BTreeMap, io};

use agents_system::finding::{Finding, Place};
use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use super::{PlanFile, read::MAX_BYTES};

/// The most files of one plan.
const MAX_FILES: usize = 100;

/// Where the texts of plans come from.
pub trait Sources {
    /// The text of a file.
    ///
    /// # Errors
    /// There is none.
    fn read(&self, file: &Utf8Path) -> io::Result<String>;
}

/// The disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Sources for Disk {
    fn read(&self, file: &Utf8Path) -> io::Result<String> {
        if fs_err::metadata(file)?.len() > MAX_BYTES {
            return Err(io::Error::other(format!("it is larger than {} MB", MAX_BYTES >> 20)));
        }
        fs_err::read_to_string(file)
    }
}

impl Sources for BTreeMap<Utf8PathBuf, String> {
    fn read(&self, file: &Utf8Path) -> io::Result<String> {
        self.get(file).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// A plan with the plans that are parts of it.
#[derive(Debug, Clone)]
pub struct Bundle {
    pub(crate) files: Vec<PlanFile>,
    /// For each file, the tasks that are plans, with the position of those.
    pub(crate) parts: Vec<BTreeMap<usize, usize>>,
}

impl Bundle {
    /// The plan itself.
    #[must_use]
    pub fn main(&self) -> &PlanFile {
        &self.files[0]
    }

    /// The plan itself, and those that are parts of it.
    pub fn files(&self) -> impl Iterator<Item = &PlanFile> {
        self.files.iter()
    }

    /// A plan without parts.
    #[must_use]
    pub fn single(file: PlanFile) -> Self {
        Self { files: vec![file], parts: vec![BTreeMap::new()] }
    }
}

/// Reads a plan and all that are parts of it, with everything that is wrong with their texts.
#[must_use]
pub fn load(file: &Utf8Path, sources: &dyn Sources) -> (Option<Bundle>, Vec<Finding>) {
    let mut loader = Loader {
        sources,
        files: Vec::new(),
        parts: Vec::new(),
        findings: Vec::new(),
        known: BTreeMap::new(),
    };
    let main = match sources.read(file) {
        Ok(text) => loader.add(file.to_owned(), &text),
        Err(error) => {
            let finding = Finding::error(format!("`{file}` cannot be read: {error}"));
            loader.findings.push(finding.at(Place::file(file)));
            None
        }
    };
    let Loader { files, parts, findings, .. } = loader;
    (main.map(|_| Bundle { files, parts }), findings)
}

struct Loader<'s> {
    sources: &'s dyn Sources,
    files: Vec<PlanFile>,
    parts: Vec<BTreeMap<usize, usize>>,
    findings: Vec<Finding>,
    known: BTreeMap<Utf8PathBuf, Option<usize>>,
}

impl Loader<'_> {
    fn add(&mut self, file: Utf8PathBuf, text: &str) -> Option<usize> {
        let (read, findings) = PlanFile::parse(file.clone(), text);
        self.findings.extend(findings);
        let Some(read) = read else {
            self.known.insert(file, None);
            return None;
        };
        let position = self.files.len();
        self.known.insert(file, Some(position));
        self.files.push(read);
        self.parts.push(BTreeMap::new());
        for task in 0..self.files[position].plan.tasks.len() {
            let read = &self.files[position];
            let Some(part) = &read.plan.tasks[task].plan else { continue };
            let path = normal(&read.dir().join(part));
            let at = read.path_of(task).then("plan");
            let found = match self.known.get(&path) {
                Some(known) => *known,
                None if self.files.len() >= MAX_FILES => {
                    let finding = Finding::error(format!("a plan has at most {MAX_FILES} files"));
                    self.findings.push(read.at_value(&at, finding));
                    None
                }
                None => match self.sources.read(&path) {
                    Ok(text) => self.add(path, &text),
                    Err(error) => {
                        let finding =
                            Finding::error(format!("the plan `{path}` cannot be read: {error}"));
                        self.findings.push(read.at_value(&at, finding));
                        self.known.insert(path, None);
                        None
                    }
                },
            };
            if let Some(found) = found {
                self.parts[position].insert(task, found);
            }
        }
        Some(position)
    }
}

/// Without `.` and `..`, as far as that can be said without looking.
fn normal(path: &Utf8Path) -> Utf8PathBuf {
    let mut normal = Utf8PathBuf::new();
    for component in path.components() {
        match component {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir if normal.file_name().is_some() => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}
