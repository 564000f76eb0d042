//! The database of one run.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use agents_task::TaskId;
use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, named_params, params};
use rusqlite_migration::{M, Migrations};
use serde::de::DeserializeOwned;

use super::{JournalError, Options, RunId};
use crate::{
    event::{Attempt, Ending, Event, Index, Json, Millis, Outcome, Source, Spent, What},
    graph::Graph,
    schedule::Scheduler,
};

/// The steps from nothing to the newest format. A step that was released is never changed; new ones come at the end.
const STEPS: &[M<'static>] = &[M::up(
    "CREATE TABLE run (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        id TEXT NOT NULL,
        name TEXT NOT NULL,
        created INTEGER NOT NULL,
        graph TEXT NOT NULL,
        origin TEXT NOT NULL
    ) STRICT;
    CREATE TABLE event (
        seq INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        what TEXT NOT NULL,
        node INTEGER,
        attempt INTEGER,
        body TEXT,
        output TEXT
    ) STRICT;",
)];

/// How long another process that looks may hold us up.
const BUSY: Duration = Duration::from_secs(10);

/// A moment of a flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Moment {
    /// Before the first event.
    Before,
    /// All events are written, and none is on the disk for good.
    Written,
    /// They are, and nobody knows yet.
    Committed,
}

/// Where a run comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Origin {
    /// The file of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Utf8PathBuf>,
    /// The directory where its tasks work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<Utf8PathBuf>,
    /// What was said about its parameters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
    /// The run that it is a fork of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork_of: Option<String>,
}

/// What is done with a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Write,
    Read,
}

pub(super) struct Store {
    connection: Connection,
    path: Utf8PathBuf,
}

/// The first page of a database of one run.
pub(super) struct Head {
    pub(super) name: String,
    pub(super) created: Millis,
    pub(super) origin: Origin,
}

impl Store {
    pub(super) fn path(&self) -> &Utf8Path {
        &self.path
    }

    fn connect(path: &Utf8Path, access: Access, options: &Options) -> Result<Self, JournalError> {
        let failed = |source| JournalError::Database { path: path.to_owned(), source };
        let kind = match access {
            Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        };
        let flags = kind | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(BUSY).map_err(failed)?;
        if access == Access::Write {
            let set = |name: &str, value: &str| connection.pragma_update(None, name, value);
            set("journal_mode", "WAL").map_err(failed)?;
            // What is acknowledged survives the loss of power: the log is flushed at every commit.
            set("synchronous", "FULL").map_err(failed)?;
            if let Some(pages) = options.max_pages {
                set("max_page_count", &pages.to_string()).map_err(failed)?;
            }
        }
        Ok(Self { connection, path: path.to_owned() })
    }

    fn migrate(&mut self) -> Result<(), JournalError> {
        Migrations::from_slice(STEPS).to_latest(&mut self.connection).map_err(|source| {
            JournalError::Format { path: self.path.clone(), source: Box::new(source) }
        })
    }

    pub(super) fn create(
        path: &Utf8Path,
        id: &RunId,
        graph: &Graph,
        at: Millis,
        origin: &Origin,
        options: &Options,
    ) -> Result<Self, JournalError> {
        let mut store = Self::connect(path, Access::Write, options)?;
        store.migrate()?;
        let json = |value: Result<String, serde_json::Error>| {
            let what = |error: serde_json::Error| store.bad_event(0, &error.to_string());
            value.map_err(what)
        };
        let graph_text = json(serde_json::to_string(graph))?;
        let origin = json(serde_json::to_string(origin))?;
        store
            .connection
            .execute(
                "INSERT INTO run (one, id, name, created, graph, origin) VALUES (1, :id, :name, :created, :graph, :origin)",
                named_params! {
                    ":id": id.as_str(), ":name": graph.name(), ":created": signed(at.0),
                    ":graph": graph_text, ":origin": origin,
                },
            )
            .map_err(|source| store.failed(source))?;
        Ok(store)
    }

    pub(super) fn open(
        path: &Utf8Path,
        access: Access,
        options: &Options,
    ) -> Result<Self, JournalError> {
        let mut store = Self::connect(path, access, options)?;
        match access {
            Access::Write => store.migrate()?,
            // Nothing is changed by looking, so what is older cannot be brought up to date either.
            Access::Read => {
                let known = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
                let found: i64 = store
                    .connection
                    .pragma_query_value(None, "user_version", |row| row.get(0))
                    .map_err(|source| store.failed(source))?;
                if found != known {
                    return Err(JournalError::Version { path: path.to_owned(), found, known });
                }
            }
        }
        Ok(store)
    }

    fn failed(&self, source: rusqlite::Error) -> JournalError {
        JournalError::Database { path: self.path.clone(), source }
    }

    fn bad_event(&self, seq: u64, what: &str) -> JournalError {
        JournalError::Event { path: self.path.clone(), seq, what: what.to_owned() }
    }

    pub(super) fn last(&self) -> Result<u64, JournalError> {
        let last: Option<i64> = self
            .connection
            .query_row("SELECT max(seq) FROM event", [], |row| row.get(0))
            .map_err(|source| self.failed(source))?;
        Ok(last.unwrap_or(0).cast_unsigned())
    }

    /// Writes events after the last one, all or none.
    pub(super) fn append(
        &mut self,
        last: u64,
        events: &[Event],
        at: &mut dyn FnMut(Moment),
    ) -> Result<(), JournalError> {
        at(Moment::Before);
        let path = self.path.clone();
        let failed = |source| JournalError::Database { path: path.clone(), source };
        let bodies: Result<Vec<_>, serde_json::Error> =
            events.iter().map(|it| Ok((body_of(it)?, output_of(it)?))).collect();
        let bodies = bodies.map_err(|error| self.bad_event(last + 1, &error.to_string()))?;
        let transaction = self.connection.transaction().map_err(failed)?;
        {
            let mut insert = transaction
                .prepare("INSERT INTO event (seq, at, what, node, attempt, body, output) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")
                .map_err(failed)?;
            for (seq, (event, (body, output))) in (last + 1..).zip(events.iter().zip(bodies)) {
                let attempt = attempt_of(&event.what).map(|it| it.number);
                let node = event.what.node().map(|it| it.0);
                insert
                    .execute(params![
                        signed(seq),
                        signed(event.at.0),
                        event.what.word(),
                        node,
                        attempt,
                        body,
                        output
                    ])
                    .map_err(failed)?;
            }
        }
        at(Moment::Written);
        transaction.commit().map_err(failed)?;
        at(Moment::Committed);
        Ok(())
    }

    pub(super) fn head(&self) -> Result<Option<Head>, JournalError> {
        let row = self
            .connection
            .query_row("SELECT name, created, origin FROM run", [], |row| {
                Ok((row.get(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?))
            })
            .optional();
        let row = row.map_err(|source| self.failed(source))?;
        Ok(row.map(|(name, created, origin): (String, i64, String)| Head {
            name,
            created: Millis(created.cast_unsigned()),
            origin: serde_json::from_str(&origin).unwrap_or_default(),
        }))
    }

    pub(super) fn graph(&self) -> Result<Graph, JournalError> {
        let text: String = self
            .connection
            .query_row("SELECT graph FROM run", [], |row| row.get(0))
            .map_err(|source| self.failed(source))?;
        serde_json::from_str(&text).map_err(|error| self.bad_event(0, &error.to_string()))
    }

    /// Reads the events after one, up to another.
    pub(super) fn read(
        &self,
        after: u64,
        events: u64,
        mut each: impl FnMut(u64, Event) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let failed = |source| self.failed(source);
        let mut statement = self
            .connection
            .prepare(
                "SELECT seq, at, what, node, attempt, body, output FROM event WHERE seq > ?1 AND seq <= ?2 ORDER BY seq",
            )
            .map_err(failed)?;
        let mut rows = statement.query([signed(after), signed(events)]).map_err(failed)?;
        let mut expected = after + 1;
        while let Some(row) = rows.next().map_err(failed)? {
            let seq = row.get::<_, i64>(0).map_err(failed)?.cast_unsigned();
            if seq != expected {
                return Err(self.bad_event(expected, "it is missing"));
            }
            expected += 1;
            let event = event_of(row).map_err(|what| self.bad_event(seq, &what))?;
            each(seq, event)?;
        }
        Ok(())
    }

    pub(super) fn replay(&self, events: u64) -> Result<Scheduler, JournalError> {
        let mut scheduler = Scheduler::new(self.graph()?);
        self.read(0, events, |seq, event| {
            let accepted = scheduler.accept(event);
            accepted.map_err(|source| JournalError::Replay { path: self.path.clone(), seq, source })
        })?;
        // They were done when the events were new.
        drop(scheduler.actions());
        Ok(scheduler)
    }

    /// What SQLite itself finds wrong.
    pub(super) fn damage(&self) -> Result<Vec<String>, JournalError> {
        let failed = |source| self.failed(source);
        let mut statement = self.connection.prepare("PRAGMA integrity_check").map_err(failed)?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0)).map_err(failed)?;
        let mut found: Vec<String> = rows.collect::<Result<_, _>>().map_err(failed)?;
        found.retain(|it| it != "ok");
        Ok(found)
    }
}

/// SQLite has no unsigned numbers. What does not fit is as late as it gets.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn attempt_of(what: &What) -> Option<Attempt> {
    match what {
        What::Started { attempt, .. }
        | What::Ended { attempt, .. }
        | What::TimedOut { attempt, .. }
        | What::Abandoned { attempt }
        | What::Interrupted { attempt } => Some(*attempt),
        _ => None,
    }
}

/// An outcome without its output.
#[derive(serde::Serialize)]
struct Slim<'o> {
    ending: Ending,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'o str,
    #[serde(skip_serializing_if = "str::is_empty")]
    text: &'o str,
    spent: Spent,
    #[serde(skip_serializing_if = "Source::is_worked_for")]
    source: Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskId>,
}

/// What an outcome has handed in.
fn output_of(event: &Event) -> Result<Option<String>, serde_json::Error> {
    match &event.what {
        What::Ended { outcome, .. } | What::Recalled { outcome, .. }
            if !outcome.output.is_null() =>
        {
            outcome.output.text().map(Some)
        }
        _ => Ok(None),
    }
}

/// What does not fit into the columns.
fn body_of(event: &Event) -> Result<Option<String>, serde_json::Error> {
    match &event.what {
        What::Started { allowance: Some(allowance), .. } => {
            serde_json::to_string(allowance).map(Some)
        }
        What::Ended { outcome, .. } | What::Recalled { outcome, .. } => {
            // The output is often large and seldom looked at, so it stands beside it.
            let Outcome { ending, message, text, spent, source, task, output: _ } =
                outcome.as_ref();
            let (ending, spent, source, task) = (*ending, *spent, *source, *task);
            let slim = Slim { ending, message, text, spent, source, task };
            serde_json::to_string(&slim).map(Some)
        }
        What::TimedOut { deadline, .. } => serde_json::to_string(deadline).map(Some),
        What::Answered { answer, .. } => serde_json::to_string(answer).map(Some),
        What::Injected { injection } => serde_json::to_string(injection.as_ref()).map(Some),
        _ => Ok(None),
    }
}

fn event_of(row: &Row<'_>) -> Result<Event, String> {
    let told = |error: rusqlite::Error| error.to_string();
    let at = Millis(row.get::<_, i64>(1).map_err(told)?.cast_unsigned());
    let text = |at: usize| -> Result<Option<&str>, String> {
        row.get_ref(at).map_err(told)?.as_str_or_null().map_err(|error| error.to_string())
    };
    let node: Option<u32> = row.get(3).map_err(told)?;
    let number: Option<u32> = row.get(4).map_err(told)?;
    let node = || node.map(Index).ok_or("it names no node");
    let attempt = || -> Result<Attempt, String> {
        Ok(Attempt { node: node()?, number: number.ok_or("it names no attempt")? })
    };
    let body = || text(5)?.ok_or_else(|| "it has no body".to_owned());
    let outcome = || -> Result<Arc<Outcome>, String> {
        let mut outcome: Outcome = parsed(body()?)?;
        if let Some(output) = text(6)? {
            outcome.output = Json::unread(output);
        }
        Ok(Arc::new(outcome))
    };
    let what = match text(2)?.unwrap_or_default() {
        "started" => {
            let allowance = text(5)?.map(parsed).transpose()?;
            What::Started { attempt: attempt()?, allowance }
        }
        "ended" => What::Ended { attempt: attempt()?, outcome: outcome()? },
        "recalled" => What::Recalled { node: node()?, outcome: outcome()? },
        "timed-out" => What::TimedOut { attempt: attempt()?, deadline: parsed(body()?)? },
        "abandoned" => What::Abandoned { attempt: attempt()? },
        "rested" => What::Rested { node: node()? },
        "interrupted" => What::Interrupted { attempt: attempt()? },
        "paused" => What::Paused,
        "resumed" => What::Resumed,
        "cancelled" => What::Cancelled { node: node().ok() },
        "answered" => What::Answered { node: node()?, answer: parsed(body()?)? },
        "injected" => What::Injected { injection: Arc::new(parsed(body()?)?) },
        "reopened" => What::Reopened,
        "ran-out" => What::RanOut,
        other => return Err(format!("`{other}` is no event that this version knows")),
    };
    Ok(what.at(at))
}

fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}
