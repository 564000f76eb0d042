//! Tasks while they run. What has ended stays as it is and is read once; of what runs, only what is new is read.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Mutex, MutexGuard, PoisonError},
};

use agents_model::{Part, Usage, cost::MicroDollars};
use agents_system::finding::Finding;
use agents_task::{
    TaskId,
    transcript::{Meta, Record, Standing, Store, TranscriptError},
};
use serde_json::{Value, json};

use super::sight::value;
use crate::{
    commands::task::list::{TaskListDocument, newest, unreadable, view},
    failure::Failure,
};

/// The most trees that are shown.
const MOST: usize = 200;
/// How many bytes are read at once.
const STRETCH: u64 = 1024 * 1024;

/// Everything that is known of tasks.
#[derive(Default)]
pub(super) struct Tasks(Mutex<Known>);

#[derive(Default)]
struct Known {
    tasks: HashMap<TaskId, Task>,
    wrong: HashMap<TaskId, Finding>,
}

struct Task {
    meta: Meta,
    standing: Standing,
    tally: Tally,
}

/// What a task took so far: its metadata says so at its end only.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    /// How far it was read.
    next: u64,
    turns: u64,
    calls: u64,
    usage: Usage,
    cost: Option<MicroDollars>,
}

impl Tally {
    fn read_on(&mut self, store: &Store, id: TaskId) -> Result<(), TranscriptError> {
        loop {
            let part = store.stretch(id, self.next, STRETCH)?;
            if part.next == self.next {
                return Ok(());
            }
            self.next = part.next;
            for entry in &part.entries {
                match &entry.record {
                    Record::Usage(spent) => {
                        self.turns = self.turns.max(spent.turn);
                        self.usage += spent.tokens;
                        if let Some(more) = spent.cost {
                            *self.cost.get_or_insert_default() += more;
                        }
                    }
                    Record::Message(message) => {
                        let calls =
                            message.parts.iter().filter(|it| matches!(it, Part::ToolCall(_)));
                        self.calls += calls.count() as u64;
                    }
                    _ => {}
                }
            }
        }
    }
}

impl Task {
    fn read(store: &Store, id: TaskId, tally: Tally) -> Result<Self, TranscriptError> {
        let meta = store.meta(id)?;
        let standing = store.standing(&meta);
        let mut task = Self { meta, standing, tally };
        if standing == Standing::Running {
            task.tally.read_on(store, id)?;
            let Tally { turns, calls, usage, cost, .. } = task.tally;
            (task.meta.turns, task.meta.tool_calls) = (turns, calls);
            (task.meta.usage, task.meta.cost) = (usage, cost);
        }
        Ok(task)
    }

    fn hash(&self, hasher: &mut DefaultHasher) {
        let seen = (self.standing.word(), self.meta.turns, self.meta.tool_calls, self.tally.next);
        (self.meta.id, seen).hash(hasher);
    }
}

impl Known {
    fn read(&mut self, store: &Store, id: TaskId) {
        let tally = match self.tasks.entry(id) {
            // Neither what has ended nor what was cut off lives again.
            Entry::Occupied(it) if it.get().standing != Standing::Running => return,
            Entry::Occupied(it) => it.get().tally,
            Entry::Vacant(_) => Tally::default(),
        };
        match Task::read(store, id, tally) {
            Ok(task) => {
                self.wrong.remove(&id);
                self.tasks.insert(id, task);
            }
            // It was removed a moment ago.
            Err(TranscriptError::NotFound(_)) => {
                self.tasks.remove(&id);
            }
            Err(error) => {
                self.wrong.insert(id, unreadable(error));
            }
        }
    }

    fn read_all(&mut self, store: &Store) -> Result<(), TranscriptError> {
        let ids = store.ids()?;
        self.tasks.retain(|id, _| ids.binary_search(id).is_ok());
        self.wrong.retain(|id, _| ids.binary_search(id).is_ok());
        ids.into_iter().for_each(|id| self.read(store, id));
        Ok(())
    }
}

impl Tasks {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn all(&self, store: &Store) -> Result<TaskListDocument, Failure> {
        let mut known = self.known();
        known.read_all(store)?;
        let mut all: Vec<(Meta, Standing)> =
            known.tasks.values().map(|it| (it.meta.clone(), it.standing)).collect();
        all.sort_unstable_by_key(|(meta, _)| meta.id);
        let findings: Vec<Finding> = known.wrong.values().cloned().collect();
        Ok(TaskListDocument::new(&newest(all, MOST), &findings))
    }

    pub(super) fn one(&self, store: &Store, id: TaskId) -> Result<Value, Failure> {
        let mut known = self.known();
        known.read(store, id);
        match known.tasks.get(&id) {
            Some(task) => {
                let file = store.path(id);
                Ok(json!({ "task": value(&view(&task.meta, task.standing))?, "transcript": file }))
            }
            None => Err(TranscriptError::NotFound(id.to_string()).into()),
        }
    }

    pub(super) fn is_any_running(&self) -> bool {
        self.known().tasks.values().any(|it| it.standing == Standing::Running)
    }

    pub(super) fn mark(&self, store: &Store) -> u64 {
        let mut known = self.known();
        let mut hasher = DefaultHasher::new();
        known.read_all(store).is_ok().hash(&mut hasher);
        let mut all: Vec<&Task> = known.tasks.values().collect();
        all.sort_unstable_by_key(|it| it.meta.id);
        all.into_iter().for_each(|it| it.hash(&mut hasher));
        known.wrong.len().hash(&mut hasher);
        hasher.finish()
    }

    pub(super) fn mark_of(&self, store: &Store, id: TaskId) -> u64 {
        let mut known = self.known();
        known.read(store, id);
        let mut hasher = DefaultHasher::new();
        if let Some(task) = known.tasks.get(&id) {
            task.hash(&mut hasher);
        }
        hasher.finish()
    }
}
