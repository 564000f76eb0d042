//! What directories were found to hold, remembered until something in them changes.
//!
//! Reading a directory and thinking about it is slow, looking at times is not. Whoever reads through a [`Watch`] says
//! what the answer depends on, and the next run believes the answer for as long as all of that looks the same. Only what
//! has been at rest for a while is remembered at all: then whatever happens to it later has a later time, however
//! coarse the clock of the file system is, and stamps alone tell every change. What cannot be watched, links above all, is
//! simply read again every time.

use std::{
    collections::{BTreeMap, HashMap},
    io,
};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    cache::CacheFile,
    fingerprint::{Nanos, Stamp, now, stamp},
};

/// What an answer depends on. See the [module](self).
#[derive(Debug)]
pub struct Watch {
    /// Before anything was looked at.
    since: Nanos,
    seen: HashMap<Utf8PathBuf, Option<Stamp>>,
    can_tell: bool,
}

impl Default for Watch {
    fn default() -> Self {
        // Elsewhere nothing is noted that tools cannot set back.
        Self { since: now(), seen: HashMap::new(), can_tell: cfg!(unix) }
    }
}

impl Watch {
    /// Nothing looked at yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The answer depends on what is at `path`: on the content of a file, on the names and kinds in a directory, on nothing
    /// being there. To be called before that is read.
    pub fn look(&mut self, path: &Utf8Path) {
        match look_at(path) {
            // What was seen first stays: if it looks different later, the answer rests on both.
            Ok(stamp) => drop(self.seen.entry(path.to_owned()).or_insert(stamp)),
            Err(_) => self.give_up(),
        }
    }

    /// The answer depends on something that stamps cannot tell, so it is not remembered.
    pub fn give_up(&mut self) {
        self.can_tell = false;
    }

    /// What was seen below `base`, if stamps will tell every change of it.
    fn settle(self, base: &Utf8Path) -> Option<Vec<(String, Option<Stamp>)>> {
        let at_rest = |stamp: &Option<Stamp>| stamp.is_none_or(|it| it.is_at_rest(self.since));
        if !self.can_tell || !self.seen.values().all(at_rest) {
            return None;
        }
        let below = |(path, stamp): (Utf8PathBuf, _)| {
            path.strip_prefix(base).ok().map(|path| (path.as_str().to_owned(), stamp))
        };
        self.seen.into_iter().map(below).collect()
    }
}

/// The stamp of what is at a path, `None` for nothing. A link is an error: it is not what it leads to.
fn look_at(path: &Utf8Path) -> io::Result<Option<Stamp>> {
    match path.symlink_metadata() {
        Ok(data) if data.is_symlink() => Err(io::ErrorKind::Unsupported.into()),
        Ok(data) => Ok(Some(stamp(&data))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Answers about directories, kept in one cache file. See the [module](self).
#[derive(Debug)]
pub struct Memory<T> {
    /// `None` if nothing is remembered from one run to the next.
    file: Option<CacheFile>,
    known: BTreeMap<String, Known<T>>,
    changed: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Known<T> {
    /// Relative to the directory.
    seen: Vec<(String, Option<Stamp>)>,
    answer: T,
    #[serde(skip)]
    asked: bool,
}

impl<T: Clone + Serialize + DeserializeOwned> Memory<T> {
    /// What this file holds.
    #[must_use]
    pub fn load(file: CacheFile) -> Self {
        let known = file.load().unwrap_or_default();
        Self { file: Some(file), known, changed: false }
    }

    /// One that forgets everything.
    #[must_use]
    pub fn none() -> Self {
        Self { file: None, known: BTreeMap::new(), changed: false }
    }

    /// The answer to `question` about `dir`, which is its real path: the remembered one if everything in the
    /// directory that it depends on is as it was, else what `read` says.
    pub fn ask(&mut self, question: &str, dir: &Utf8Path, read: impl FnOnce(&mut Watch) -> T) -> T {
        match self.recall(question, dir) {
            Some(answer) => answer,
            None => self.learn(question, dir, read),
        }
    }

    /// The remembered answer, if everything in the directory that it depends on is as it was.
    pub fn recall(&mut self, question: &str, dir: &Utf8Path) -> Option<T> {
        let known = self.known.get_mut(&key(question, dir)).filter(|known| known.holds(dir))?;
        known.asked = true;
        Some(known.answer.clone())
    }

    /// What `read` says, remembered in place of any earlier answer.
    pub fn learn(
        &mut self,
        question: &str,
        dir: &Utf8Path,
        read: impl FnOnce(&mut Watch) -> T,
    ) -> T {
        let key = key(question, dir);
        let mut watch = Watch::new();
        let answer = read(&mut watch);
        match watch.settle(dir).filter(|_| self.file.is_some()) {
            Some(seen) => {
                let known = Known { seen, answer: answer.clone(), asked: true };
                self.known.insert(key, known);
                self.changed = true;
            }
            None => self.changed |= self.known.remove(&key).is_some(),
        }
        answer
    }

    /// Stores what was asked for in this run; the rest is forgotten.
    pub fn save(mut self) {
        let before = self.known.len();
        self.known.retain(|_, known| known.asked);
        if let Some(file) = self.file.filter(|_| self.changed || self.known.len() < before) {
            // What cannot be stored only costs time.
            let _ = file.store(&self.known);
        }
    }
}

fn key(question: &str, dir: &Utf8Path) -> String {
    format!("{question} {dir}")
}

impl<T> Known<T> {
    fn holds(&self, dir: &Utf8Path) -> bool {
        let mut path = dir.as_str().to_owned();
        self.seen.iter().all(|(below, was)| {
            path.truncate(dir.as_str().len());
            if !below.is_empty() {
                path.push('/');
                path.push_str(below);
            }
            look_at(Utf8Path::new(&path)).is_ok_and(|now| now == *was)
        })
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
