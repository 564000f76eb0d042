//! Writing one transcript.

use std::{
    fs::File,
    io::{self, Write as _},
    sync::Arc,
};

use agents_model::{Message, Role, ToolSpec, Usage, cost::MicroDollars};
use agents_tool::secrets::Mask;
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use super::{
    chain::Link,
    meta::{Meta, Stamp, State, VERSION},
    store::Inner,
    wire::{Begin, Compacted, Spent, Spoken, hide_in},
};
use crate::{
    effective::{EffectiveAgent, SchemaFrom},
    id::{TaskId, TaskPath},
    outcome::Outcome,
    recorder::Recorder,
};

/// What is known of a task before it begins.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The task.
    pub id: TaskId,
    /// The definition.
    pub agent: String,
    /// Where it stands.
    pub path: TaskPath,
    /// The task that starts it.
    pub parent: Option<TaskId>,
    /// The task that it goes on from.
    pub resumed_from: Option<TaskId>,
    /// The model that is asked.
    pub model: String,
    /// What nobody may see.
    pub mask: Arc<Mask>,
}

/// Writes one transcript. Dropped before its end, it says that the run was cut off.
pub struct Writer {
    store: Arc<Inner>,
    mask: Arc<Mask>,
    meta: Meta,
    file: Held,
    link: Option<Link>,
    /// Whether half of a line may be at the end of the file.
    torn: bool,
    phase: Phase,
    /// What is not written yet.
    lines: Vec<u8>,
    /// The link and the number of records when something was written last.
    written: (Option<Link>, u64),
    path: Utf8PathBuf,
    /// The last moment, as it is written: a second has many records.
    now: (Stamp, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Over,
}

/// When a record is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// At once.
    Now,
    /// With the next one, which comes soon: two in one go cost half.
    Soon,
}

/// The file.
enum Held {
    /// Opened once.
    Open(File),
    /// Opened for every record: there are too many of us.
    Each,
    /// There is none.
    Nowhere,
}

impl Writer {
    pub(super) fn open(
        store: Arc<Inner>,
        opening: Opening,
        assignment: Option<&EffectiveAgent>,
    ) -> Self {
        let Opening { id, agent, path, parent, resumed_from, model, mask } = opening;
        let meta = Meta {
            version: VERSION,
            id,
            name: path.name().to_owned(),
            agent,
            path,
            parent,
            resumed_from,
            trace: store.within.get().copied(),
            state: State::Running,
            stop_reason: None,
            started_at: Stamp::now(),
            finished_at: None,
            model,
            turns: 0,
            tool_calls: 0,
            usage: Usage::default(),
            cost: None,
            limits: assignment.map(|agent| agent.limits),
            mcp_tool_names: Vec::new(),
            records: 0,
            incomplete: None,
            assignment: None,
            owner: None,
            head: None,
            seal: None,
        };
        let link = store.key().map(|key| key.first(&id.to_string()));
        let now = (meta.started_at, meta.started_at.to_string());
        let mut writer = Self {
            path: store.records(id),
            store,
            mask,
            meta,
            file: Held::Nowhere,
            link,
            torn: false,
            phase: Phase::Open,
            lines: Vec::new(),
            written: (link, 0),
            now,
        };
        writer.meta.assignment = assignment.map(|agent| Box::new(writer.begin_of(agent, &[])));
        if let Err(error) = writer.create() {
            writer.fail(&error);
        }
        writer
    }

    fn create(&mut self) -> Result<(), String> {
        self.meta.owner = Some(self.store.owner()?.to_owned());
        let file = open(&self.path, Make::New).map_err(|it| it.to_string())?;
        if let Err(error) = self.save() {
            // Records that nothing is known about are of no use.
            let _ = fs_err::remove_file(&self.path);
            return Err(error.to_string());
        }
        self.file = if self.store.may_keep_open() { Held::Open(file) } else { Held::Each };
        Ok(())
    }

    fn save(&mut self) -> io::Result<()> {
        if let (Some(key), Some(link)) = (self.store.key(), self.link) {
            key.seal(&mut self.meta, link);
        }
        let text = serde_json::to_vec_pretty(&self.meta)?;
        self.store.save(self.meta.id, &text)
    }

    fn fail(&mut self, why: &str) {
        let what = format!("the transcript of `{}` is not complete: {why}", self.meta.id);
        if self.meta.incomplete.is_none() {
            self.meta.incomplete = Some(why.to_owned());
            self.store.problem(what);
        }
    }

    /// One more record.
    fn append(&mut self, kind: &str, record: &impl Serialize, when: When) {
        if matches!(self.file, Held::Nowhere) {
            return;
        }
        let now = Stamp::now();
        if now != self.now.0 {
            self.now = (now, now.to_string());
        }
        let mut lines = std::mem::take(&mut self.lines);
        let start = lines.len();
        match self.encode(&mut lines, kind, record) {
            Ok(link) => {
                self.link = link;
                self.meta.records += 1;
            }
            Err(error) => {
                lines.truncate(start);
                self.fail(&error.to_string());
            }
        }
        self.lines = lines;
        if when == When::Now {
            self.flush();
        }
    }

    fn encode(
        &self,
        lines: &mut Vec<u8>,
        kind: &str,
        record: &impl Serialize,
    ) -> io::Result<Option<Link>> {
        let start = lines.len();
        let (seq, timestamp) = (self.meta.records, &self.now.1);
        write!(lines, r#"{{"seq":{seq},"timestamp":"{timestamp}","{kind}":"#)?;
        serde_json::to_writer(&mut *lines, record)?;
        lines.push(b'}');
        let link = self.link.zip(self.store.key()).map(|(link, key)| key.link(link, lines, start));
        lines.push(b'\n');
        Ok(link)
    }

    /// Hands everything that waits to the system. What cannot be written was never there.
    fn flush(&mut self) {
        if self.lines.is_empty() {
            return;
        }
        let mut lines = std::mem::take(&mut self.lines);
        match self.write(&lines) {
            Ok(()) => self.written = (self.link, self.meta.records),
            Err(error) => {
                (self.link, self.meta.records) = self.written;
                self.fail(&error.to_string());
            }
        }
        lines.clear();
        self.lines = lines;
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let each;
        let mut file = match &self.file {
            Held::Open(file) => file,
            Held::Each => {
                each = open(&self.path, Make::No)?;
                &each
            }
            Held::Nowhere => return Ok(()),
        };
        if self.torn {
            file.write_all(b"\n")?;
        }
        // Half of it may be there if this goes wrong.
        self.torn = true;
        file.write_all(line)?;
        self.torn = false;
        Ok(())
    }

    fn begin_of(&self, agent: &EffectiveAgent, tools: &[ToolSpec]) -> Begin {
        let schema = agent.schema.as_ref().map(|(schema, _)| schema.json());
        Begin {
            agent: self.meta.agent.clone(),
            path: self.meta.path.clone(),
            parent: self.meta.parent,
            resumed_from: self.meta.resumed_from,
            model: self.meta.model.clone(),
            system: self.mask.apply(&agent.system),
            prompt: self.mask.apply(&agent.prompt),
            schema: schema.map(|it| hide_in(it, &self.mask).into_owned()),
            schema_is_own: matches!(agent.schema, Some((_, SchemaFrom::Definition))),
            tools: tools.iter().map(|it| it.name.clone()).collect(),
        }
    }

    fn sync(&self) {
        if !matches!(self.file, Held::Nowhere) {
            self.store.syncer.file(self.path.clone());
        }
    }

    fn close(&mut self) {
        if self.phase == Phase::Over {
            return;
        }
        self.phase = Phase::Over;
        self.flush();
        self.meta.finished_at = Some(Stamp::now());
        let nowhere = matches!(self.file, Held::Nowhere);
        self.sync();
        if let Held::Open(_) = std::mem::replace(&mut self.file, Held::Nowhere) {
            self.store.closed();
        }
        // Where nothing could be begun, there is nothing to tell the end of.
        if !nowhere && let Err(error) = self.save() {
            self.fail(&error.to_string());
            // As long as it is not there, the run looks alive to others.
            if let Ok(text) = serde_json::to_vec_pretty(&self.meta) {
                self.store.save_later(self.meta.id, text);
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Make {
    New,
    No,
}

fn open(path: &Utf8Path, make: Make) -> io::Result<File> {
    let mut options = fs_err::OpenOptions::new();
    options.append(true).create_new(make == Make::New);
    #[cfg(unix)]
    {
        use fs_err::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    Ok(options.open(path)?.into_parts().0)
}

impl Recorder for Writer {
    fn begin(&mut self, agent: &EffectiveAgent, tools: &[ToolSpec]) {
        let begin = self.begin_of(agent, tools);
        let names = begin.tools.iter().filter(|it| it.starts_with("mcp__"));
        self.meta.mcp_tool_names = names.cloned().collect();
        // The records say so from now on.
        self.meta.assignment = None;
        self.append("begin", &begin, When::Soon);
    }

    fn message(&mut self, message: &Message) {
        let mask = Arc::clone(&self.mask);
        self.append("message", &Spoken::new(message, &mask), When::Now);
        // What the model is told comes after what it said: a turn is over.
        if message.role == Role::User {
            self.sync();
        }
    }

    fn spent(&mut self, turn: u64, usage: &Usage, cost: Option<MicroDollars>) {
        // The answer that it was for follows.
        self.append("usage", &Spent { turn, tokens: *usage, cost }, When::Soon);
    }

    fn compacted(&mut self, left_out: usize) {
        self.append("compacted", &Compacted { left_out }, When::Soon);
    }

    fn end(&mut self, outcome: &Outcome) {
        if self.phase == Phase::Over {
            return;
        }
        self.meta.ended(outcome);
        self.meta.stop_reason = Some(self.mask.apply(&outcome.ending.told()));
        if let Ok(outcome) = serde_json::to_value(outcome) {
            let mask = Arc::clone(&self.mask);
            self.append("outcome", &*hide_in(&outcome, &mask), When::Now);
        }
        self.close();
    }

    fn trouble(&self) -> Option<&str> {
        self.meta.incomplete.as_deref().filter(|_| self.store.insists())
    }
}

impl Drop for Writer {
    /// The task was dropped in the middle, or broke down.
    fn drop(&mut self) {
        if self.phase == Phase::Open {
            let (state, why) = if std::thread::panicking() {
                (State::Failed, "failed: the task broke down: this is a bug")
            } else {
                (State::Cancelled, "cancelled: it was cut off")
            };
            self.meta.state = state;
            self.meta.stop_reason = Some(why.to_owned());
            self.close();
        }
    }
}
