//! `[plugins]`: the user's word about plugins, where it stands, and how it is written down.

use agents_system::{
    decode::{self, Table},
    dirs::Dirs,
    edit::{Edit, KeyPath},
    finding::Finding,
};
use agents_workspace::CrateName;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use super::{canonical, resolve};
use crate::plugin::{Origin, Plugin};

/// The user's word about plugins. Names match like crates: hyphen and underscore are the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Enablement {
    entries: Vec<Entry>,
}

/// One name in one of the lists.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    key: Key,
    name: String,
    /// The root of the only workspace that it is about, as it really is.
    workspace: Option<Utf8PathBuf>,
    line: u32,
    /// As it stands in the file.
    written: Value,
}

/// The lists of `[plugins]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// `use`: on.
    Use,
    /// `auto-enable`: on, if a dependency embeds it.
    AutoEnable,
    /// `disable`: off, whatever else is said.
    Disable,
}

/// What the configuration says about a plugin, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'e> {
    /// In which list.
    pub key: Key,
    /// The name there; `*` stands for all.
    pub name: &'e str,
    /// The only workspace that it is about.
    pub workspace: Option<&'e Utf8Path>,
    /// The line of the file.
    pub line: u32,
}

/// Where a decision counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// In every workspace.
    Everywhere,
    /// In the one with this root.
    Workspace(&'a Utf8Path),
}

/// Something that the user decided about a plugin, to be written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision<'a> {
    /// It is on.
    Use(&'a str, Scope<'a>),
    /// It is no longer on by that word.
    StopUsing(&'a str, Scope<'a>),
    /// It is on if a dependency embeds it.
    AutoEnable(&'a str),
    /// It is off.
    Disable(&'a str),
    /// It is no longer off by that word.
    StopDisabling(&'a str),
}

impl Key {
    /// As the file writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Use => "use",
            Self::AutoEnable => "auto-enable",
            Self::Disable => "disable",
        }
    }

    fn path(self) -> KeyPath {
        ["plugins", self.word()].into()
    }
}

impl Enablement {
    pub(super) fn decode(root: &Table<'_>, dirs: &Dirs) -> Self {
        let Some(table) = root.table("plugins") else { return Self::default() };
        let mut entries = decode_uses(&table, dirs);
        for key in [Key::AutoEnable, Key::Disable] {
            let Some(value) = table.get(key.word()) else { continue };
            let names = value.strings(key.word());
            let lines = value.items().into_iter().flatten().map(decode::Value::line);
            entries.extend(names.iter().zip(lines).map(|(name, line)| Entry {
                key,
                name: name.to_string(),
                workspace: None,
                line,
                written: json!(name.as_str()),
            }));
        }
        table.deny_unknown();
        Self { entries }
    }

    /// One of the lists as the file would have it, with paths resolved.
    pub(super) fn value(&self, key: Key) -> Value {
        let entries = self.entries.iter().filter(|entry| entry.key == key);
        entries.map(Entry::value).collect()
    }

    /// Everything that is said.
    pub fn words(&self) -> impl Iterator<Item = Word<'_>> {
        self.entries.iter().map(Entry::word)
    }

    /// What turns this name off. That beats everything.
    #[must_use]
    pub fn disabling(&self, name: &str) -> Option<Word<'_>> {
        self.find(Key::Disable, |entry| entry.is(name) || entry.name == "*")
    }

    /// What turns the plugin off: its own name, or that of the crate that embeds it, so that no crate gets
    /// around it by giving its plugin another name.
    #[must_use]
    pub fn disabling_plugin(&self, plugin: &Plugin) -> Option<Word<'_>> {
        self.disabling(plugin.name.as_str()).or_else(|| match &plugin.origin {
            Origin::Crate(name, _) => self.disabling(name.as_str()),
            Origin::BuiltIn | Origin::Registry(_) | Origin::Member(_) => None,
        })
    }

    /// What in `use` turns this name on, everywhere or for this workspace.
    #[must_use]
    pub fn using(&self, name: &str, workspace: Option<&Utf8Path>) -> Option<Word<'_>> {
        self.find(Key::Use, |entry| entry.is(name) && entry.counts_in(workspace))
    }

    /// What in `auto-enable` turns this name on.
    #[must_use]
    pub fn auto_enabling(&self, name: &str) -> Option<Word<'_>> {
        self.find(Key::AutoEnable, |entry| entry.is(name) || entry.name == "*")
    }

    /// What turns the plugin on. A crate is named by its own name: another one must not be able to take a name that
    /// the user agreed to. `auto-enable` is about dependencies, so that `*` says nothing about whatever workspace is
    /// cloned next.
    #[must_use]
    pub fn enabling(&self, plugin: &Plugin, workspace: Option<&Utf8Path>) -> Option<Word<'_>> {
        let name = plugin.consent_name();
        self.using(name, workspace).or_else(|| match plugin.origin {
            Origin::Crate(..) => self.auto_enabling(name),
            Origin::BuiltIn | Origin::Registry(_) | Origin::Member(_) => None,
        })
    }

    /// Whether `[plugins] disable` names it.
    #[must_use]
    pub fn is_disabled(&self, name: &str) -> bool {
        self.disabling(name).is_some()
    }

    /// The names in `[plugins] use` that count in this workspace.
    pub fn used_names<'e>(
        &'e self,
        workspace: Option<&'e Utf8Path>,
    ) -> impl Iterator<Item = &'e str> {
        let uses = self.entries.iter().filter(|entry| entry.key == Key::Use);
        uses.filter(move |entry| entry.counts_in(workspace)).map(|entry| entry.name.as_str())
    }

    /// What has to be done to the file; nothing if it says so already.
    #[must_use]
    pub fn edits(&self, decision: Decision<'_>) -> Vec<Edit> {
        let (key, name, scope) = match decision {
            Decision::Use(name, scope) | Decision::StopUsing(name, scope) => {
                (Key::Use, name, scope)
            }
            Decision::AutoEnable(name) => (Key::AutoEnable, name, Scope::Everywhere),
            Decision::Disable(name) | Decision::StopDisabling(name) => {
                (Key::Disable, name, Scope::Everywhere)
            }
        };
        let mut said = self
            .entries
            .iter()
            .filter(|entry| entry.key == key && entry.is(name) && entry.is_about(scope))
            .peekable();
        match decision {
            Decision::Use(..) | Decision::AutoEnable(_) | Decision::Disable(_) => {
                if said.peek().is_some() {
                    return Vec::new();
                }
                let mut list = self.entries.iter().filter(|entry| entry.key == key).peekable();
                let is_new = list.peek().is_none();
                let value = match scope {
                    Scope::Workspace(root) => json!({ "name": name, "workspace": root }),
                    // They may be `[[plugins.use]]`, among which there is no place for a plain name.
                    Scope::Everywhere if !is_new && list.all(|it| it.written.is_object()) => {
                        json!({ "name": name })
                    }
                    Scope::Everywhere => json!(name),
                };
                let list = Edit::Set { at: key.path(), value: json!([]) };
                let append = Edit::Append { at: key.path(), value };
                is_new.then_some(list).into_iter().chain([append]).collect()
            }
            Decision::StopUsing(..) | Decision::StopDisabling(_) => {
                let mut edits: Vec<Edit> = said
                    .map(|entry| Edit::RemoveItem { at: key.path(), value: entry.written.clone() })
                    .collect();
                if !edits.is_empty() {
                    edits.push(Edit::RemoveIfEmpty { at: key.path() });
                    edits.push(Edit::RemoveIfEmpty { at: ["plugins"].into() });
                }
                edits
            }
        }
    }

    fn find(&self, key: Key, fits: impl Fn(&Entry) -> bool) -> Option<Word<'_>> {
        let mut entries = self.entries.iter().filter(|entry| entry.key == key);
        entries.find(|entry| fits(entry)).map(Entry::word)
    }
}

impl Entry {
    fn word(&self) -> Word<'_> {
        let Self { key, name, workspace, line, written: _ } = self;
        Word { key: *key, name, workspace: workspace.as_deref(), line: *line }
    }

    fn value(&self) -> Value {
        match &self.workspace {
            None => json!(self.name),
            Some(root) => json!({ "name": self.name, "workspace": root }),
        }
    }

    fn is(&self, name: &str) -> bool {
        CrateName::new(&self.name) == CrateName::new(name)
    }

    fn is_about(&self, scope: Scope<'_>) -> bool {
        match (scope, &self.workspace) {
            (Scope::Everywhere, None) => true,
            (Scope::Workspace(root), Some(only)) => canonical(root) == *only,
            (Scope::Everywhere, Some(_)) | (Scope::Workspace(_), None) => false,
        }
    }

    fn counts_in(&self, workspace: Option<&Utf8Path>) -> bool {
        let Some(only) = &self.workspace else { return true };
        workspace.is_some_and(|root| canonical(root) == *only)
    }
}

fn decode_uses(table: &Table<'_>, dirs: &Dirs) -> Vec<Entry> {
    let Some(value) = table.get("use") else { return Vec::new() };
    let Some(items) = value.items() else {
        value.wrong_type("use", "a list of names or of tables with `name` and `workspace`");
        return Vec::new();
    };
    let uses = items.filter_map(|item| {
        let line = item.line();
        let entry = |name: &str, workspace, written| Entry {
            key: Key::Use,
            name: name.to_owned(),
            workspace,
            line,
            written,
        };
        if item.is_string() {
            let name = item.string("use")?;
            if name.as_str() == "*" {
                name.report(
                    Finding::error("`use` names plugins one by one, not `*`")
                        .hint("`auto-enable = [\"*\"]` turns on what every dependency brings"),
                );
                return None;
            }
            return Some(entry(&name, None, json!(name.as_str())));
        }
        let Some(inner) = item.table("an entry of `use`") else {
            item.wrong_type("use", "a list of names or of tables with `name` and `workspace`");
            return None;
        };
        let (name, workspace) = (inner.required_string("name"), inner.string("workspace"));
        inner.deny_unknown();
        let name = name?;
        let Some(path) = workspace else {
            return Some(entry(&name, None, json!({ "name": name.as_str() })));
        };
        let written = json!({ "name": name.as_str(), "workspace": path.as_str() });
        Some(entry(&name, Some(resolve(path.as_str(), dirs)), written))
    });
    uses.collect()
}

#[cfg(test)]
mod tests;
