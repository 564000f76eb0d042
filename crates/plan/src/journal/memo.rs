//! Results that other runs may use again.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agents_system::cache::Digest;
use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};
use rusqlite_migration::{M, Migrations};

use super::JournalError;
use crate::event::{Ending, Millis, Outcome};

const STEPS: &[M<'static>] = &[M::up(
    "CREATE TABLE memo (
        definition BLOB NOT NULL,
        inputs BLOB NOT NULL,
        tree BLOB NOT NULL,
        at INTEGER NOT NULL,
        outcome TEXT NOT NULL,
        PRIMARY KEY (definition, inputs, tree)
    ) STRICT, WITHOUT ROWID;",
)];

/// Everything that a result depends on. Equal fingerprints have equal results, as far as anybody can know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// The agent, its tools and its model.
    pub definition: Digest,
    /// What it is told.
    pub inputs: Digest,
    /// The files that it works on.
    pub tree: Digest,
}

/// The results. Only completed ones are kept. It is a cache: losing it costs money and nothing else.
#[derive(Debug)]
pub struct Memo {
    /// Many attempts ask at the same time, each for a moment.
    connection: Mutex<Connection>,
    path: Utf8PathBuf,
}

/// How long somebody else may have it.
const BUSY: Duration = Duration::from_secs(10);
/// How long is waited each time.
const MOMENT: Duration = Duration::from_millis(10);

/// SQLite waits for nobody when it changes how it keeps its log: whoever comes at the same time as the first one tries again.
fn patiently(attempt: impl Fn() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    let is_busy = |error: &rusqlite::Error| {
        error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
    };
    for _ in 0..BUSY.as_millis() / MOMENT.as_millis() {
        match attempt() {
            Err(error) if is_busy(&error) => std::thread::sleep(MOMENT),
            done => return done,
        }
    }
    attempt()
}

impl Memo {
    pub(super) fn open(path: &Utf8Path) -> Result<Self, JournalError> {
        let failed = |source| JournalError::Database { path: path.to_owned(), source };
        let mut connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(BUSY).map_err(failed)?;
        patiently(|| connection.pragma_update(None, "journal_mode", "WAL")).map_err(failed)?;
        connection.pragma_update(None, "synchronous", "NORMAL").map_err(failed)?;
        // Whoever comes at the same time as the first one finds nothing, waits, and is told that it is there already: the second look finds it.
        connection.set_transaction_behavior(TransactionBehavior::Immediate);
        let steps = Migrations::from_slice(STEPS);
        let made = steps.to_latest(&mut connection);
        made.or_else(|_| steps.to_latest(&mut connection)).map_err(|source| {
            JournalError::Format { path: path.to_owned(), source: Box::new(source) }
        })?;
        Ok(Self { connection: Mutex::new(connection), path: path.to_owned() })
    }

    fn failed(&self, source: rusqlite::Error) -> JournalError {
        JournalError::Database { path: self.path.clone(), source }
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result for a fingerprint. It cost nothing this time.
    ///
    /// # Errors
    /// The results cannot be read.
    pub fn recall(&self, of: &Fingerprint) -> Result<Option<Outcome>, JournalError> {
        let sql = "SELECT outcome FROM memo WHERE definition = ?1 AND inputs = ?2 AND tree = ?3";
        let key = params![of.definition.as_slice(), of.inputs.as_slice(), of.tree.as_slice()];
        let connection = self.connection();
        let mut statement = connection.prepare(sql).map_err(|it| self.failed(it))?;
        let text: Option<String> = statement
            .query_row(key, |row| row.get(0))
            .optional()
            .map_err(|source| self.failed(source))?;
        // What an older version wrote and this one does not understand is no result.
        let outcome = text.and_then(|it| serde_json::from_str::<Outcome>(&it).ok());
        Ok(outcome.map(Outcome::recalled))
    }

    /// Keeps a result, if it is one.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(
        &self,
        of: &Fingerprint,
        outcome: &Outcome,
        at: Millis,
    ) -> Result<(), JournalError> {
        if outcome.ending != Ending::Completed {
            return Ok(());
        }
        let Ok(text) = serde_json::to_string(outcome) else { return Ok(()) };
        let at = i64::try_from(at.0).unwrap_or(i64::MAX);
        let sql = "INSERT OR REPLACE INTO memo (definition, inputs, tree, at, outcome) VALUES (?1, ?2, ?3, ?4, ?5)";
        let row =
            params![of.definition.as_slice(), of.inputs.as_slice(), of.tree.as_slice(), at, text];
        self.connection().execute(sql, row).map_err(|source| self.failed(source))?;
        Ok(())
    }

    /// Forgets what is older, and says how much that was.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn forget_before(&self, at: Millis) -> Result<usize, JournalError> {
        let at = i64::try_from(at.0).unwrap_or(i64::MAX);
        let gone = self.connection().execute("DELETE FROM memo WHERE at < ?1", [at]);
        gone.map_err(|source| self.failed(source))
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Barrier, thread};

    use super::*;

    #[test]
    fn those_who_come_first_at_the_same_time_all_find_it() {
        for _ in 0..20 {
            let dir = tempfile::tempdir().unwrap();
            let path = Utf8PathBuf::from_path_buf(dir.path().join("memo.db")).unwrap();
            let all = Barrier::new(6);
            let open = || {
                all.wait();
                Memo::open(&path)?.forget_before(Millis(1))
            };
            thread::scope(|scope| {
                let opened: Vec<_> = (0..6).map(|_| scope.spawn(open)).collect();
                for it in opened {
                    assert_eq!(it.join().unwrap().unwrap(), 0);
                }
            });
        }
    }
}
