//! What an agent remembers from one task to the next: a directory of notes of its own, of which `MEMORY.md` is read at the beginning of
//! each task.
//!
//! | `memory` | the directory |
//! |---|---|
//! | `user` | `agent-memory/<agent>/` where the program keeps its state |
//! | `project` | `.agents/memory/<agent>/` in the project, for everybody who works on it |
//! | `local` | `.agents/memory-local/<agent>/` in the project, which git is told to ignore |
//!
//! The directory is made when a task begins, and no part of its path may be a link. The agent gets the tool `memory` for it, and for
//! nothing outside of it: no right to change files comes with it.

use std::{fmt::Write as _, io};

use agents_agent::{
    AgentName,
    definition::{AgentDefinition, MemoryScope},
};
use agents_system::private;
use agents_tool::{
    Area, CallContext, Effects, Intent, Output, Rights, ToolError, Typed, confine::ConfineError,
};
use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Deserialize;

/// The tool.
pub const MEMORY: &str = "memory";
/// The file that is read at the beginning.
pub const MEMORY_FILE: &str = "MEMORY.md";
/// The longest note.
pub const MAX_NOTE: u64 = 256 * 1024;
/// How many lines of [`MEMORY_FILE`] an agent is told at the beginning.
pub const MAX_LINES: usize = 200;
/// The most notes that an agent has.
pub const MAX_NOTES: usize = 100;
/// What is written into the directory of local notes.
const IGNORED: &str = "# Notes of agents on this machine.\n*\n";

/// Where notes are.
#[derive(Debug, Clone, Copy)]
pub struct Homes<'a> {
    /// Where those of the user are, for every project.
    pub user: &'a Utf8Path,
    /// The project.
    pub project: &'a Utf8Path,
}

/// The directory of an agent cannot be used. The task runs without it.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// A part of its path is a link, or not a directory.
    #[error("`{0}` is not a directory of its own")]
    NotOurs(Utf8PathBuf),
    /// It cannot be made.
    #[error("`{dir}` cannot be made")]
    Io {
        /// The directory.
        dir: Utf8PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot be opened.
    #[error(transparent)]
    Confined(#[from] ConfineError),
}

/// The notes of one agent.
#[derive(Debug, Clone)]
pub struct Memory {
    area: Area,
}

/// Whether an agent could use notes at all: one that may neither read nor change files is not meant to keep any.
#[must_use]
pub fn is_wanted(definition: &AgentDefinition, rights: &Rights) -> bool {
    let taken = |tool: &&str| {
        definition.tools.deny.iter().any(|it| it.to_string().eq_ignore_ascii_case(tool))
    };
    definition.memory.is_some()
        && rights.allows(MEMORY)
        && !["read", "write", "edit"].iter().all(taken)
}

impl Memory {
    /// The notes of an agent; their directory is made if it is not there.
    ///
    /// # Errors
    /// It leads somewhere else, or cannot be made.
    pub fn open(
        scope: MemoryScope,
        agent: &AgentName,
        homes: Homes<'_>,
    ) -> Result<Self, MemoryError> {
        let name = agent.as_str();
        let (home, parts): (&Utf8Path, Vec<&str>) = match scope {
            MemoryScope::User => (homes.user, vec!["agent-memory", name]),
            MemoryScope::Project => (homes.project, vec![".agents", "memory", name]),
            MemoryScope::Local => (homes.project, vec![".agents", "memory-local", name]),
        };
        let failed = |dir: &Utf8Path, source| MemoryError::Io { dir: dir.to_owned(), source };
        fs_err::create_dir_all(home).map_err(|source| failed(home, source))?;
        let mut dir = home.canonicalize_utf8().map_err(|source| failed(home, source))?;
        for part in &parts {
            dir.push(part);
            match fs_err::symlink_metadata(&dir) {
                Ok(it) if it.is_dir() => {}
                Ok(_) => return Err(MemoryError::NotOurs(dir)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match fs_err::create_dir(&dir) {
                        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                            return Err(failed(&dir, error));
                        }
                        _ => {}
                    }
                }
                Err(error) => return Err(failed(&dir, error)),
            }
        }
        // In a project they are as open as its other files are.
        if scope == MemoryScope::User
            && let Some(all) = dir.parent()
        {
            private::make_dir(all).map_err(|source| failed(all, source))?;
        }
        if scope == MemoryScope::Local
            && let Some(all) = dir.parent()
            && fs_err::symlink_metadata(all.join(".gitignore")).is_err()
        {
            // Without it the notes are there all the same.
            let _ = Area::workspace(all)
                .and_then(|it| it.write(&it.locate(".gitignore")?, IGNORED.as_bytes()));
        }
        Ok(Self { area: Area::workspace(&dir)? })
    }

    /// Where they are.
    #[must_use]
    pub fn dir(&self) -> &Utf8Path {
        self.area.cwd()
    }

    /// What the agent is told at the beginning: how it keeps notes, and those that it has.
    #[must_use]
    pub fn brief(&self) -> String {
        let mut text = format!(
            "# What you remember\nYou have notes of your own that last from one task to the next; the tool `{MEMORY}` reads and changes \
             them. `{MEMORY_FILE}` is shown below. Keep it short: what will help you the next time, and nothing that files \
             say anyway. What is in it is what you noted, not what you were told: everything else here counts more."
        );
        if let Some(note) = self.recall() {
            let _ = write!(text, "\n<agent-memory>\n{note}\n</agent-memory>");
        }
        text
    }

    /// The beginning of [`MEMORY_FILE`], as it can stand between two marks; `None` if there is nothing that can be told.
    #[must_use]
    pub fn recall(&self) -> Option<String> {
        let place = self.area.locate(MEMORY_FILE).ok()?;
        let text = String::from_utf8(self.area.read(&place, MAX_NOTE).ok()?).ok()?;
        if text.contains('\0') || text.trim().is_empty() {
            return None;
        }
        let lines: Vec<&str> = text.lines().take(MAX_LINES).collect();
        let mut told = without_marks(&lines.join("\n"));
        if text.lines().count() > MAX_LINES {
            let _ = write!(
                told,
                "\n[truncated at {MAX_LINES} lines: `{MEMORY}` reads all of `{MEMORY_FILE}`]"
            );
        }
        Some(told)
    }

    fn names(&self) -> Result<Vec<String>, ToolError> {
        let listed =
            fs_err::read_dir(self.dir()).map_err(|it| ToolError::failed(it.to_string()))?;
        let name = |it: io::Result<fs_err::DirEntry>| it.ok()?.file_name().into_string().ok();
        let mut names: Vec<String> = listed.filter_map(name).filter(|it| is_note(it)).collect();
        names.sort();
        Ok(names)
    }

    fn change(&self, note: &str, text: &str, how: How) -> Result<Output, ToolError> {
        let place = self.area.locate(note)?;
        let mut whole = match how {
            How::Replace => String::new(),
            How::Append => match self.area.read(&place, MAX_NOTE) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Err(_) => String::new(),
            },
        };
        if !whole.is_empty() && !whole.ends_with('\n') {
            whole.push('\n');
        }
        whole.push_str(text);
        if whole.len() as u64 > MAX_NOTE {
            return Err(ToolError::failed(format!("a note has at most {MAX_NOTE} bytes")));
        }
        let names = self.names()?;
        if names.len() >= MAX_NOTES && !names.iter().any(|it| it == note) {
            return Err(ToolError::failed(format!("there are {MAX_NOTES} notes already")));
        }
        self.area.write(&place, whole.as_bytes())?;
        Ok(Output::said(format!("`{note}` has {} bytes", whole.len())))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Replace,
    Append,
}

/// A name that a note can have: one file, and a text.
fn is_note(name: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.len() <= 64 && name.ends_with(".md") && !name.starts_with('.') && name.chars().all(fine)
}

/// Nobody ends what was noted but us: marks in it are written so that they are none.
fn without_marks(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let rest = lower[at..].strip_prefix('<').map(str::trim_start);
        let rest = rest.map(|it| it.strip_prefix('/').unwrap_or(it).trim_start());
        match rest.is_some_and(|it| it.starts_with("agent-memory")) {
            true => out.push_str("&lt;"),
            false => out.push(c),
        }
    }
    out
}

/// What to do with the notes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryInput {
    /// What to do.
    pub action: MemoryAction,
    /// Which note, such as `MEMORY.md`; that one if absent.
    #[serde(default)]
    pub note: Option<String>,
    /// What to write or to append.
    #[serde(default)]
    pub text: Option<String>,
}

/// What can be done with notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryAction {
    /// Which notes there are.
    List,
    /// Read one.
    Read,
    /// Write one anew.
    Write,
    /// Add to the end of one.
    Append,
}

impl Typed for Memory {
    type Input = MemoryInput;

    const NAME: &'static str = MEMORY;
    const DESCRIPTION: &'static str = "Your own notes, which last from one task to the next: lists them, reads one, writes one anew or appends to one. \
        A note is called like `MEMORY.md`, without directories.";

    fn intent(&self, input: &MemoryInput, _: &CallContext) -> Result<Intent, ToolError> {
        let note = input.note.as_deref().unwrap_or(MEMORY_FILE);
        if is_note(note) {
            // Its own notes are nobody's business: not a file of the workspace that somebody else could be changing.
            Ok(Intent::plain(Effects::NONE))
        } else {
            Err(ToolError::failed(format!("`{note}` is no name of a note: `MEMORY.md` is one")))
        }
    }

    async fn run(&self, input: MemoryInput, context: &CallContext) -> Result<Output, ToolError> {
        let memory = self.clone();
        context
            .blocking(move |_| {
                let note = input.note.as_deref().unwrap_or(MEMORY_FILE);
                let text =
                    || input.text.as_deref().ok_or_else(|| ToolError::failed("`text` is missing"));
                match input.action {
                    MemoryAction::List => match memory.names()? {
                        names if names.is_empty() => Ok(Output::said("there are no notes yet")),
                        names => Ok(Output::said(names.join("\n"))),
                    },
                    MemoryAction::Read => {
                        let bytes = memory.area.read(&memory.area.locate(note)?, MAX_NOTE)?;
                        Ok(Output::data(String::from_utf8_lossy(&bytes).into_owned()))
                    }
                    MemoryAction::Write => memory.change(note, text()?, How::Replace),
                    MemoryAction::Append => memory.change(note, text()?, How::Append),
                }
            })
            .await
    }
}

#[cfg(test)]
mod tests;
