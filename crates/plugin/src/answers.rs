//! Answers of custom predicates that are still good.
//!
//! A program that says what its answer depends on (`watchFile`, `watchEnv`, `watchTime`) is not asked again
//! until that changes. One that says nothing is asked every time: an answer that could be stale is worse than
//! a slow one.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

use agents_system::{
    cache::{CacheFile, name_hash},
    env,
    fingerprint::{Fingerprint, Freshness, Inputs},
};
use agents_workspace::CrateName;
use camino::{Utf8Path, Utf8PathBuf};
use semver::Version;
use serde::{Deserialize, Serialize};

use crate::predicate::custom::{Answer, Watched};

/// The stored answers of one workspace.
#[derive(Debug)]
pub struct StoredAnswers {
    file: CacheFile,
    loaded: RefCell<Option<BTreeMap<String, Stored>>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Stored {
    /// `None` means that the predicate does not hold.
    crates: Option<Vec<(CrateName, Version)>>,
    files: Fingerprint,
    variables: Vec<(String, Option<String>)>,
    good_until: Option<u64>,
}

impl StoredAnswers {
    /// Those for questions asked in `dir`. Nothing is read before the first question.
    #[must_use]
    pub fn new(cache: &Utf8Path, dir: &Utf8Path) -> Self {
        let path = cache.join("predicates").join(name_hash(dir.as_str()));
        Self { file: CacheFile::new(path, "answers 2"), loaded: RefCell::default() }
    }

    /// The stored answer, if everything it depends on is as it was.
    pub(crate) fn get(&self, question: &str) -> Option<Answer> {
        let mut loaded = self.loaded.borrow_mut();
        let stored = loaded.get_or_insert_with(|| self.file.load().unwrap_or_default());
        let stored = stored.get(question)?;
        let unchanged = stored.files.check() != Freshness::Stale
            && stored.variables.iter().all(|(name, value)| text_of(name) == *value)
            && stored.good_until.is_none_or(|until| milliseconds_now() < until);
        unchanged.then(|| match &stored.crates {
            Some(crates) => Answer::Holds(crates.clone()),
            None => Answer::Fails,
        })
    }

    /// Stores an answer that said what it depends on; it also depends on the files of the program itself. What was
    /// changed since the program was `started` it may have seen before or after, so then nothing is stored.
    pub(crate) fn put(
        &self,
        question: &str,
        dir: &Utf8Path,
        started: SystemTime,
        answer: &Answer,
        watched: &Watched,
        program: &[Utf8PathBuf],
    ) {
        let Watched { files, variables, milliseconds } = watched;
        let says_nothing = files.is_empty() && variables.is_empty() && milliseconds.is_none();
        if says_nothing || *milliseconds == Some(0) {
            return;
        }
        let mut inputs = Inputs::new();
        let files = files.iter().map(|path| dir.join(path)).chain(program.iter().cloned());
        for path in files {
            let changed = path.metadata().and_then(|data| data.modified());
            if changed.is_ok_and(|changed| changed >= started) {
                return;
            }
            let seen = if path.is_dir() {
                inputs.list(&path).map(drop)
            } else {
                inputs.read_bytes(&path).map(drop)
            };
            if seen.is_err() {
                return;
            }
        }
        let crates = match answer {
            Answer::Holds(crates) => Some(crates.clone()),
            Answer::Fails => None,
            Answer::Unanswered(_) => return,
        };
        let variables = variables.iter().map(|name| (name.clone(), text_of(name))).collect();
        let good_until = milliseconds.map(|length| milliseconds_now().saturating_add(length));
        let stored = Stored { crates, files: inputs.finish(), variables, good_until };
        let mut loaded = self.loaded.borrow_mut();
        let all = loaded.get_or_insert_with(|| self.file.load().unwrap_or_default());
        all.insert(question.to_owned(), stored);
        // A cache that cannot be written only costs time.
        let _ = self.file.store(all);
    }
}

fn text_of(variable: &str) -> Option<String> {
    env::named_by_plugin(variable).map(|value| value.to_string_lossy().into_owned())
}

fn milliseconds_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
