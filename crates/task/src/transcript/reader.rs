//! Reading a transcript, whatever happened to it.

use std::io::{self, BufRead as _, Read as _, Seek as _, SeekFrom};

use agents_model::{Message, Usage, cost::MicroDollars};
use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    TranscriptError,
    meta::{Meta, Stamp},
    wire::{Begin, Compacted, Spent, Spoken},
};

/// A transcript that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// Its metadata.
    pub meta: Meta,
    /// What could be read.
    pub entries: Vec<Entry>,
    /// What could not.
    pub damage: Vec<Damage>,
}

/// One record.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its place.
    pub seq: u64,
    /// When it was written.
    pub at: Stamp,
    /// What it says.
    pub record: Record,
}

/// What a record says.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// The task began.
    Begin(Box<Begin>),
    /// Something was said.
    Message(Message),
    /// What a call of the model took.
    Usage(Spent),
    /// The conversation was made shorter.
    Compacted(Compacted),
    /// The task ended; an [`Outcome`](crate::Outcome) as JSON.
    Outcome(Value),
}

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub harm: Harm,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Harm {
    /// It is the last one, and its end is missing: the program, or the machine, died while it was written.
    Torn,
    /// It is not a record.
    Malformed,
    /// So many records before it are missing.
    Gap(u64),
}

impl Damage {
    /// In a line.
    #[must_use]
    pub fn told(&self) -> String {
        let line = self.line;
        match self.harm {
            Harm::Torn => format!("line {line} is cut off: what it said is lost"),
            Harm::Malformed => format!("line {line} is not a record and was left out"),
            Harm::Gap(1) => format!("1 record before line {line} is missing"),
            Harm::Gap(count) => format!("{count} records before line {line} are missing"),
        }
    }
}

#[derive(Deserialize)]
struct Line {
    seq: u64,
    timestamp: Stamp,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl Line {
    fn record(mut self) -> Option<Record> {
        fn is<T: for<'de> Deserialize<'de>>(value: Value) -> Option<T> {
            serde_json::from_value(value).ok()
        }
        let mut take = |kind: &str| self.rest.remove(kind);
        if let Some(value) = take("message") {
            return is::<Spoken<'static>>(value).map(|it| Record::Message(it.into_message()));
        }
        if let Some(value) = take("usage") {
            return is(value).map(Record::Usage);
        }
        if let Some(value) = take("begin") {
            return is(value).map(|it| Record::Begin(Box::new(it)));
        }
        if let Some(value) = take("compacted") {
            return is(value).map(Record::Compacted);
        }
        take("outcome").map(Record::Outcome)
    }
}

/// What a line says; `None` if it is not a record.
fn entry(text: &str) -> Option<Entry> {
    let line = serde_json::from_str::<Line>(text).ok()?;
    let (seq, at) = (line.seq, line.timestamp);
    Some(Entry { seq, at, record: line.record()? })
}

/// Reads a transcript while it grows.
#[derive(Debug)]
pub struct Follow {
    path: Utf8PathBuf,
    read: u64,
    /// The beginning of a line that is still being written.
    rest: Vec<u8>,
}

impl Follow {
    pub(super) fn new(path: Utf8PathBuf) -> Self {
        Self { path, read: 0, rest: Vec::new() }
    }

    /// What was written since the last time, the first time everything. Half a line waits for its other half; what is not a record is
    /// left out.
    ///
    /// # Errors
    /// The file cannot be read. One that does not exist yet has nothing in it.
    pub fn more(&mut self) -> Result<Vec<Entry>, TranscriptError> {
        let failed = |source| TranscriptError::Io { path: self.path.clone(), source };
        let mut file = match fs_err::File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        file.seek(SeekFrom::Start(self.read)).map_err(failed)?;
        let count = file.read_to_end(&mut self.rest).map_err(failed)?;
        self.read += count as u64;
        let whole = self.rest.iter().rposition(|it| *it == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        let text = String::from_utf8_lossy(&lines);
        Ok(text.lines().filter_map(|it| entry(it.trim())).collect())
    }
}

/// A part of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    /// What could be read.
    pub entries: Vec<Entry>,
    /// The byte where the next part begins.
    pub next: u64,
    /// How many bytes there are.
    pub of: u64,
}

/// The whole lines from a byte on, about so many bytes of them: one that is longer than that is there as a whole. Half a line waits for
/// its other half. A file that is shorter than it was is read from its beginning.
pub(super) fn stretch(path: &Utf8Path, from: u64, most: u64) -> io::Result<Stretch> {
    let mut file = match fs_err::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Stretch { entries: Vec::new(), next: 0, of: 0 });
        }
        Err(error) => return Err(error),
    };
    let of = file.metadata()?.len();
    let from = if from > of { 0 } else { from };
    file.seek(SeekFrom::Start(from))?;
    let mut lines = io::BufReader::new(file.take(of - from));
    let (mut entries, mut next) = (Vec::new(), from);
    let mut line = Vec::new();
    while next - from < most {
        line.clear();
        lines.read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            break;
        }
        next += line.len() as u64;
        entries.extend(entry(String::from_utf8_lossy(&line).trim()));
    }
    Ok(Stretch { entries, next, of })
}

/// Reads what can be read.
pub(super) fn read(meta: Meta, text: &str) -> Loaded {
    let (mut entries, mut damage): (Vec<Entry>, Vec<Damage>) = (Vec::new(), Vec::new());
    let mut expected: Option<u64> = None;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let number = at + 1;
        let mut hurt = |harm| damage.push(Damage { line: number, harm });
        let whole = line.strip_suffix('\n');
        let text = whole.unwrap_or(line).trim();
        if text.is_empty() {
            continue;
        }
        let Some(entry) = entry(text) else {
            hurt(if whole.is_none() { Harm::Torn } else { Harm::Malformed });
            continue;
        };
        let missing = entry.seq.saturating_sub(expected.unwrap_or(entry.seq));
        if missing > 0 {
            hurt(Harm::Gap(missing));
        }
        expected = Some(entry.seq.saturating_add(1));
        entries.push(entry);
    }
    Loaded { meta, entries, damage }
}

impl Loaded {
    /// How it began.
    #[must_use]
    pub fn begin(&self) -> Option<&Begin> {
        let begun = self.entries.iter().find_map(|it| match &it.record {
            Record::Begin(begin) => Some(&**begin),
            _ => None,
        });
        begun.or(self.meta.assignment.as_deref())
    }

    /// What was said, the oldest first.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.entries.iter().filter_map(|it| match &it.record {
            Record::Message(message) => Some(message),
            _ => None,
        })
    }

    /// How it ended; an [`Outcome`](crate::Outcome) as JSON.
    #[must_use]
    pub fn outcome(&self) -> Option<&Value> {
        self.entries.iter().rev().find_map(|it| match &it.record {
            Record::Outcome(outcome) => Some(outcome),
            _ => None,
        })
    }

    /// What it took, as far as it was written down: turns, tokens, money. Metadata says nothing of a run that was cut off.
    #[must_use]
    pub fn spent(&self) -> (u64, Usage, Option<MicroDollars>) {
        let (mut turns, mut usage, mut cost) = (0, Usage::default(), None::<MicroDollars>);
        for entry in &self.entries {
            if let Record::Usage(spent) = &entry.record {
                turns = turns.max(spent.turn);
                usage += spent.tokens;
                if let Some(more) = spent.cost {
                    *cost.get_or_insert_default() += more;
                }
            }
        }
        (turns, usage, cost)
    }
}
