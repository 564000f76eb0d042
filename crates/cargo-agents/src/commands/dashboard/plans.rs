//! Runs of plans while they run. A run is read again when its journal has grown or whoever drives it has come or gone.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use agents_plan::{
    draw::{Spot, picture},
    graph::{Until, Work},
    journal::{Journals, RunId},
    schedule::Scheduler,
};
use agents_system::explain::ErrorKind;
use camino::Utf8Path;
use serde_json::{Value, json};

use super::sight::value;
use crate::{
    commands::{
        order::Done,
        plan::{
            meant,
            runs::{self, RunView},
            view::{EventView, PlanRunDocument},
        },
    },
    failure::{Failure, FindingView},
};

/// The most runs that are shown.
const MOST: usize = 200;
/// How many of the last events are told.
const EVENTS: usize = 60;
/// The most of what a task of a plan says that is told.
const MAX_TEXT: usize = 8 * 1024;

/// How long what was written may take to count.
const FRESH: Duration = Duration::from_secs(5);

/// A run with what its journal was when it was read.
type Seen = (u64, Option<RunView>);

pub(super) struct Plans {
    journals: Journals,
    seen: Mutex<HashMap<RunId, Seen>>,
}

impl Plans {
    pub(super) fn new(journals: Journals) -> Self {
        Self { journals, seen: Mutex::default() }
    }

    pub(super) fn all(&self) -> Result<Value, Failure> {
        let ids = self.journals.ids()?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|id, _| ids.contains(id));
        let (mut views, mut findings) = (Vec::new(), Vec::new());
        for id in ids {
            let mark = self.mark_of_run(&id);
            if seen.get(&id).is_none_or(|(before, _)| *before != mark) {
                match RunView::now(&self.journals, &id) {
                    Ok(view) => _ = seen.insert(id.clone(), (mark, view)),
                    Err(failure) => {
                        seen.remove(&id);
                        let finding = failure.into_finding(&format!("`{id}`"));
                        findings.push(value(&FindingView::from(&finding))?);
                    }
                }
            }
            views.extend(seen.get(&id).and_then(|(_, view)| view.clone()));
        }
        views.sort_unstable_by(|one, other| other.began_at.cmp(&one.began_at));
        views.truncate(MOST);
        Ok(json!({ "runs": value(&views)?, "findings": findings }))
    }

    pub(super) fn one(&self, run: &str) -> Result<Value, Failure> {
        let id = meant(&self.journals, run)?;
        let view = self.journals.view(&id)?;
        let scheduler = view.now()?;
        let stand = runs::stand(&self.journals, &id, &scheduler);
        let origin = self.journals.summary(&id)?.map(|it| it.origin).unwrap_or_default();
        let mut document = value(&PlanRunDocument::new(&id, &origin, stand, &scheduler))?;
        shorten(&mut document);
        let last = view.last()?;
        let events = view.events_after(last.saturating_sub(EVENTS as u64))?;
        let told = events.into_iter().map(|(number, event)| {
            let event = EventView::new(&event, scheduler.graph());
            json!({ "number": number, "at": event.at(), "told": event.told() })
        });
        Ok(json!({
            "run": document,
            "picture": drawn(&scheduler),
            "events": told.collect::<Vec<_>>(),
            "is_driven": self.journals.is_driven(&id),
        }))
    }

    /// Lets a run go on where it is driven. Whoever drives it needs a terminal for what it asks.
    pub(super) fn resume(&self, run: &str) -> Result<String, Failure> {
        let id = meant(&self.journals, run)?;
        runs::resume_driven(&self.journals, &id)?.map(Done::into_words).ok_or_else(|| {
            Failure::new(ErrorKind::Usage, format!("nobody runs `{id}` now"))
                .hint(format!("`cargo agents plan resume {id}` in a terminal continues it"))
        })
    }

    pub(super) fn mark(&self) -> u64 {
        let mut ids = self.journals.ids().unwrap_or_default();
        ids.sort_unstable();
        let mut hasher = DefaultHasher::new();
        ids.iter().for_each(|id| (id.as_str(), self.mark_of_run(id)).hash(&mut hasher));
        hasher.finish()
    }

    pub(super) fn mark_of(&self, run: &str) -> u64 {
        RunId::parse(run).map_or(0, |id| self.mark_of_run(&id))
    }

    fn mark_of_run(&self, id: &RunId) -> u64 {
        let home = self.journals.home(id);
        let mut hasher = DefaultHasher::new();
        for name in ["journal.db", "journal.db-wal"] {
            let stamp = stamp(&home.join(name));
            stamp.hash(&mut hasher);
            // What was just written counts only once it has reached the disk, and then nothing more is written to say so: as long as
            // that may be, every look is worth it.
            let age = stamp.map(|(_, at)| at.elapsed().unwrap_or_default());
            if age.is_some_and(|it| it < FRESH) {
                SystemTime::now().hash(&mut hasher);
            }
        }
        self.journals.is_driven(id).hash(&mut hasher);
        hasher.finish()
    }
}

/// What is different when a file is. An empty one is as good as none: whoever looks at a journal makes such.
fn stamp(file: &Utf8Path) -> Option<(u64, SystemTime)> {
    let found = fs_err::metadata(file).ok().filter(|it| it.len() > 0)?;
    Some((found.len(), found.modified().ok()?))
}

/// Leaves as much of what tasks said as somebody reads beside a picture.
fn shorten(document: &mut Value) {
    let tasks = document["tasks"].as_array_mut().into_iter().flatten();
    for outcome in tasks.filter_map(|it| it.get_mut("outcome")) {
        if !outcome["output"].is_null() {
            outcome["output"] = format!("{:#}", outcome["output"]).into();
        }
        for key in ["text", "output", "message"] {
            if let Some(Value::String(text)) = outcome.get_mut(key)
                && text.len() > MAX_TEXT
            {
                text.truncate(text.floor_char_boundary(MAX_TEXT));
                text.push('…');
            }
        }
    }
}

/// Where everything is in the picture of a run; where each task stands is told beside it.
fn drawn(scheduler: &Scheduler) -> Value {
    let graph = scheduler.graph();
    let picture = picture(graph);
    let node = |spot: &Spot| {
        let node = graph.node(spot.index);
        json!({
            "task": node.map(|it| it.id.as_str()),
            "work": spot.work,
            "joins": node.is_some_and(|it| matches!(it.work, Work::Join(_))),
            "x": spot.x, "y": spot.y, "width": spot.width, "height": spot.height,
        })
    };
    let line = |it: &agents_plan::draw::Line| json!({ "path": it.path(), "dotted": it.until == Until::Ended });
    json!({
        "width": picture.width,
        "height": picture.height,
        "nodes": picture.nodes.iter().map(node).collect::<Vec<_>>(),
        "lines": picture.lines.iter().map(line).collect::<Vec<_>>(),
    })
}
