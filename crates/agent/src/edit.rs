//! Changing the file of a definition: what changed is written, and no other byte.
//!
//! [`change`] is a function from text to text. It compares the definition that a file holds with the one that is wanted and edits
//! only the entries that differ, under the names and in the shape that they have there; comments, order and unknown keys stay. The result is
//! read again and compared. [`DefinitionFile`] does that to a file, in one step, and [`plan_create`] makes a new one.

use agents_system::{
    edit::{self as text, Edit, EditError, KeyPath},
    explain::{Code, ErrorKind, Explain},
    finding::Finding,
    foreign::{ForeignError, ForeignFile, Written},
};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use crate::{
    definition::{AgentDefinition, Dialect, Source},
    dialect::grammar::{Key, Naming},
    load::MAX_FILE,
    parse::{Document, Input, Strictness, parse, places, split_commas},
    render::{Instead, Loss, Rendered, lowered, render, separated, value},
    unpack::Existing,
};

/// Why a file was left as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// It holds no definition that could be changed.
    #[error("`{file}` holds no definition")]
    NoDefinition {
        /// The file.
        file: Utf8PathBuf,
        /// Why not.
        findings: Vec<Finding>,
    },
    /// Its name is that of its file.
    #[error("the name of `{file}` is that of the file")]
    NameOfFile {
        /// The file.
        file: Utf8PathBuf,
    },
    /// It cannot be edited in place.
    #[error("cannot edit `{file}`")]
    Text {
        /// The file.
        file: Utf8PathBuf,
        /// Why not.
        #[source]
        source: EditError,
    },
    /// The edited file would not say what was meant; it was thrown away.
    #[error("the edited `{file}` would not mean what was intended")]
    Mismatch {
        /// The file.
        file: Utf8PathBuf,
    },
    /// The dialect cannot say what was asked for.
    #[error("{dialect} cannot be told that: {}", spelled(losses))]
    CannotSay {
        /// The dialect of the file.
        dialect: Dialect,
        /// What would be lost.
        losses: Vec<Loss>,
    },
    /// There is one already.
    #[error("`{file}` is there already")]
    Exists {
        /// The file.
        file: Utf8PathBuf,
    },
    /// There is none.
    #[error("there is no `{file}`")]
    Missing {
        /// The file.
        file: Utf8PathBuf,
    },
    /// It would be, or is, longer than any definition.
    #[error("`{file}` exceeds {MAX_FILE} bytes")]
    TooLarge {
        /// The file.
        file: Utf8PathBuf,
    },
    /// It cannot be read or written.
    #[error(transparent)]
    File(#[from] ForeignError),
}

fn spelled(losses: &[Loss]) -> String {
    losses.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Explain for ChangeError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::File(error) => error.kind(),
            Self::Text { source, .. } => source.kind(),
            Self::Mismatch { .. } => ErrorKind::Failure,
            _ => ErrorKind::Usage,
        }
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::File(error) => error.code(),
            Self::NoDefinition { .. } | Self::TooLarge { .. } => Some(Code::AgentInvalid),
            Self::Exists { .. } => Some(Code::AlreadyThere),
            Self::NameOfFile { .. }
            | Self::Text { .. }
            | Self::Mismatch { .. }
            | Self::CannotSay { .. } => Some(Code::AgentUnchangeable),
            Self::Missing { .. } => None,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Text { source, .. } => source.hint(),
            Self::NoDefinition { .. } => Some("fix the file by hand first".to_owned()),
            Self::NameOfFile { .. } => Some("rename the file instead".to_owned()),
            Self::Mismatch { .. } => {
                Some("make the change by hand; the file was left as it is".to_owned())
            }
            Self::CannotSay { .. } => Some(
                "leave it out, or keep the agent in a file of `.agents/agents`, which can say everything"
                    .to_owned(),
            ),
            Self::Exists { .. } => Some("`--force` replaces it".to_owned()),
            Self::Missing { .. } | Self::TooLarge { .. } => None,
        }
    }
}

/// A changed text.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    /// The text.
    pub text: String,
    /// What the dialect cannot say of what was wanted.
    pub losses: Vec<Loss>,
}

/// Keys that say one thing together: when one changes, all of them are written.
const TOGETHER: &[&[Key]] = &[
    &[Key::Tools, Key::Deny, Key::Permission, Key::Spawns],
    &[Key::Mode, Key::ReadOnly, Key::Sandbox, Key::Approval],
    &[Key::Waiting, Key::Blocking, Key::Background],
    &[Key::Isolation, Key::Worktree],
    &[Key::Time, Key::Seconds, Key::Minutes],
    &[Key::Grant, Key::GrantSeconds],
];

/// The text of a file with what makes its definition the wanted one, as far as the dialect can say it.
pub fn change(input: &Input<'_>, wanted: &AgentDefinition) -> Result<Changed, ChangeError> {
    let file = || input.file.to_owned();
    let (old, findings) = parse(input);
    let (document, _) = Document::read(input);
    let (Some(old), Some(document)) = (old, document) else {
        return Err(ChangeError::NoDefinition { file: file(), findings });
    };
    let grammar = input.dialect.grammar();
    let (before, _) = lowered(&old, input.dialect);
    let (after, losses) = lowered(wanted, input.dialect);
    if grammar.naming == Naming::File && after.name != before.name {
        return Err(ChangeError::NameOfFile { file: file() });
    }
    let edits = edits(input, &document, &before, &after);
    let header = &input.text[document.header.clone()];
    let refused = |source| ChangeError::Text { file: file(), source };
    let mut new = if edits.is_empty() {
        header.to_owned()
    } else {
        text::apply(document.format, header, &edits).map_err(refused)?
    };
    if document.body.is_some() && !new.is_empty() && !new.ends_with('\n') {
        new.push('\n');
    }
    let between =
        document.body.as_ref().map_or("", |body| &input.text[document.header.end..body.start]);
    let body = match &document.body {
        Some(_) if before.prompt != after.prompt => {
            let newline = if between.ends_with("\r\n") { "\r\n" } else { "\n" };
            let fence_ends = between.ends_with('\n') || after.prompt.is_empty();
            let missing = if fence_ends { "" } else { newline };
            format!("{missing}{}", separated(&after.prompt, newline))
        }
        Some(body) => input.text[body.clone()].to_owned(),
        None => String::new(),
    };
    let text = format!("{}{new}{between}{body}", &input.text[..document.header.start]);
    if text.len() as u64 > MAX_FILE {
        return Err(ChangeError::TooLarge { file: file() });
    }
    let (back, _) = parse(&Input { text: &text, ..input.clone() });
    let meant = back.is_some_and(|back| {
        let mut back = lowered(&back, input.dialect).0;
        back.origin.clone_from(&after.origin);
        back == after
    });
    if meant { Ok(Changed { text, losses }) } else { Err(ChangeError::Mismatch { file: file() }) }
}

fn edits(
    input: &Input<'_>,
    document: &Document<'_>,
    before: &AgentDefinition,
    after: &AgentDefinition,
) -> Vec<Edit> {
    let grammar = input.dialect.grammar();
    let there = places(input, document);
    let in_markdown = document.body.is_some();
    let said = |it: &AgentDefinition, key| match key {
        // It stands below the header.
        Key::Prompt if in_markdown => None,
        key => value(it, key, grammar),
    };
    let differs = |key: Key| said(before, key) != said(after, key);
    let changed = |key: Key| {
        let together = TOGETHER.iter().find(|keys| keys.contains(&key));
        let prompt = key == Key::Prompt && in_markdown && before.prompt != after.prompt;
        prompt || together.map_or_else(|| differs(key), |keys| keys.iter().any(|it| differs(*it)))
    };
    let mut edits = Vec::new();
    let mut done = Vec::new();
    for (key, path) in there.iter().filter(|(key, _)| changed(*key)) {
        let at = KeyPath::new(path);
        let new = said(after, *key).filter(|_| grammar.says(*key) && !done.contains(key));
        match new {
            Some(new) => {
                let old = entry(document, path);
                let new = like(old, new);
                if *key == Key::Permission && !keeps_order(old, &new) {
                    edits.push(Edit::Remove { at: at.clone() });
                    edits.push(Edit::Set { at, value: new });
                } else {
                    set(at, old, new, &mut edits);
                }
            }
            None => {
                let parent = at.parent().filter(|it| !it.keys().is_empty());
                edits.push(Edit::Remove { at });
                edits.extend(parent.map(|at| Edit::RemoveIfEmpty { at }));
            }
        }
        done.push(*key);
    }
    for (spelling, key) in grammar.keys {
        if done.contains(key) || !changed(*key) {
            continue;
        }
        if let Some(value) = said(after, *key) {
            edits.push(Edit::Set { at: KeyPath::new(spelling.split('.')), value });
            done.push(*key);
        }
    }
    // What is in `permission` was written with the tools.
    let own = |key: &str| grammar.key(key).is_some();
    for (key, value) in after.extra.iter().filter(|(key, _)| !own(key)) {
        if before.extra.get(key) != Some(value) {
            edits.push(Edit::Set { at: KeyPath::new([key]), value: value.clone() });
        }
    }
    let gone = before.extra.keys().filter(|key| !own(key) && !after.extra.contains_key(*key));
    edits.extend(gone.map(|key| Edit::Remove { at: KeyPath::new([key]) }));
    edits
}

fn entry<'d>(document: &'d Document<'_>, path: &[String]) -> Option<&'d Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(document.entries.get(first)?, |value, key| value.get(key))
}

/// Whether the order of the new table comes out when it is made of the old one key by key. Of permissions, the last one counts.
fn keeps_order(old: Option<&Value>, new: &Value) -> bool {
    let (Some(Value::Object(old)), Value::Object(new)) = (old, new) else { return true };
    let stay = old.keys().filter(|key| new.contains_key(*key));
    let added = new.keys().filter(|key| !old.contains_key(*key));
    stay.chain(added).eq(new.keys())
}

/// The edits that make an entry this. A list loses and gains items, so that comments beside the others stay.
fn set(at: KeyPath, old: Option<&Value>, new: Value, edits: &mut Vec<Edit>) {
    match (old, new) {
        // A table of TOML that is only there by its parts would go with the last of them.
        (Some(Value::Object(old)), Value::Object(new)) if !new.is_empty() => {
            for (key, value) in &new {
                set(at.join(key), old.get(key), value.clone(), edits);
            }
            let gone = old.keys().filter(|key| !new.contains_key(*key));
            edits.extend(gone.map(|key| Edit::Remove { at: at.join(key) }));
        }
        (Some(Value::Array(old)), Value::Array(new)) => {
            let kept = old.iter().filter(|item| new.contains(item));
            let added = new.iter().filter(|item| !old.contains(item));
            if kept.clone().chain(added.clone()).ne(&new) || kept.count() == 0 {
                return edits.push(Edit::Set { at, value: Value::Array(new) });
            }
            let item = |value: &Value| (at.clone(), value.clone());
            edits.extend(added.map(item).map(|(at, value)| Edit::Append { at, value }));
            let gone = old.iter().filter(|item| !new.contains(item));
            edits.extend(gone.map(item).map(|(at, value)| Edit::RemoveItem { at, value }));
        }
        (_, value) => edits.push(Edit::Set { at, value }),
    }
}

/// The new value in the shape of the old one, where both are lists of some kind.
fn like(old: Option<&Value>, new: Value) -> Value {
    match (old, new) {
        (Some(Value::Array(_)), Value::String(text)) => split_commas(&text).into_iter().collect(),
        (Some(Value::String(_)), Value::Array(items)) if items.iter().all(Value::is_string) => {
            let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            items.join(", ").into()
        }
        (Some(Value::Object(old)), Value::Array(items)) if old.contains_key("allow") => {
            json!({ "allow": items })
        }
        (_, new) => new,
    }
}

/// The file of a definition, as it was when it was opened.
#[derive(Debug, Clone)]
pub struct DefinitionFile {
    file: ForeignFile,
    dialect: Dialect,
}

impl DefinitionFile {
    /// Opens the file.
    pub fn open(file: &Utf8Path, dialect: Dialect) -> Result<Self, ChangeError> {
        let file = ForeignFile::load(file)?;
        match file.text() {
            None => Err(ChangeError::Missing { file: file.path().to_owned() }),
            Some(text) if text.len() as u64 > MAX_FILE => {
                Err(ChangeError::TooLarge { file: file.path().to_owned() })
            }
            Some(_) => Ok(Self { file, dialect }),
        }
    }

    /// What it holds.
    #[must_use]
    pub fn definition(&self, source: Source) -> (Option<AgentDefinition>, Vec<Finding>) {
        parse(&self.input(source))
    }

    fn input(&self, source: Source) -> Input<'_> {
        Input {
            file: self.file.path(),
            text: self.file.text().unwrap_or_default(),
            dialect: self.dialect,
            source,
            strictness: Strictness::Lenient,
        }
    }

    /// What it says, as it stands there.
    #[must_use]
    pub fn text(&self) -> &str {
        self.file.text().unwrap_or_default()
    }

    /// How it would read if its definition were the wanted one.
    pub fn plan_change(&self, wanted: &AgentDefinition) -> Result<Changed, ChangeError> {
        change(&self.input(wanted.origin.source.clone()), wanted)
    }

    /// Makes its definition the wanted one, in one step, under the mode that the file has. An error if somebody else changed the file since.
    pub fn change(&self, wanted: &AgentDefinition) -> Result<(Written, Vec<Loss>), ChangeError> {
        let changed = self.plan_change(wanted)?;
        Ok((self.file.replace(&changed.text)?, changed.losses))
    }

    /// Deletes it, if it is still what was opened.
    pub fn delete(self) -> Result<Written, ChangeError> {
        Ok(self.file.remove()?)
    }
}

/// That a dialect can say what was asked for: nothing of `after` may be lost that was not lost of `before` already. What is
/// written and merely not enforced everywhere is no reason to refuse.
pub fn check_sayable(
    before: Option<&AgentDefinition>,
    after: &AgentDefinition,
    dialect: Dialect,
) -> Result<(), ChangeError> {
    let known = before.map(|it| lowered(it, dialect).1).unwrap_or_default();
    let mut losses = lowered(after, dialect).1;
    losses.retain(|it| it.instead != Instead::Unenforced && !known.contains(it));
    if losses.is_empty() { Ok(()) } else { Err(ChangeError::CannotSay { dialect, losses }) }
}

/// A file that is to hold a definition, and does not yet.
#[derive(Debug, Clone)]
pub struct NewFile {
    file: ForeignFile,
    rendered: Rendered,
}

impl NewFile {
    /// Where it belongs.
    #[must_use]
    pub fn path(&self) -> &Utf8Path {
        self.file.path()
    }

    /// What is there now.
    #[must_use]
    pub fn before(&self) -> Option<&str> {
        self.file.text()
    }

    /// What will be there.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.rendered.text
    }

    /// What the dialect cannot say.
    #[must_use]
    pub fn losses(&self) -> &[Loss] {
        &self.rendered.losses
    }

    /// Writes it, in one step. Directories on the way are created.
    pub fn apply(&self) -> Result<Written, ChangeError> {
        Ok(self.file.replace(&self.rendered.text)?)
    }
}

/// A definition as a file of this directory.
pub fn plan_create(
    dir: &Utf8Path,
    definition: &AgentDefinition,
    dialect: Dialect,
    existing: Existing,
) -> Result<NewFile, ChangeError> {
    let rendered = render(definition, dialect);
    // A name is a file name everywhere and leads nowhere else.
    let path = dir.join(&rendered.file_name);
    let file = ForeignFile::load(&path)?;
    if file.text().is_some() && existing == Existing::Keep {
        return Err(ChangeError::Exists { file: path });
    }
    if rendered.text.len() as u64 > MAX_FILE {
        return Err(ChangeError::TooLarge { file: path });
    }
    Ok(NewFile { file, rendered })
}

#[cfg(test)]
mod tests;
