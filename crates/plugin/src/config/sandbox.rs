//! `[sandbox]`: whose programs are confined.

use agents_system::{
    decode::Table,
    finding::{Finding, Place, Severity},
    nearest::{nearest, quoted_list},
};
use agents_workspace::CrateName;
use camino::Utf8Path;
use serde_json::{Value, json};

use crate::{
    active::ActiveSet,
    manifest::PluginName,
    plugin::{Origin, Plugin},
};

const ALL: &str = "*";

/// The plugins whose programs are confined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Sandboxed {
    /// None, unless it says so here.
    #[default]
    None,
    /// These, by their own name or that of their crate.
    Some(Vec<String>),
    /// All of them: `*`.
    All,
}

impl Sandboxed {
    pub(super) fn decode(root: &Table<'_>) -> Self {
        let Some(table) = root.table("sandbox") else { return Self::None };
        let names = table.string_or_strings("plugins");
        table.deny_unknown();
        for name in names.iter().filter(|name| name.trim().is_empty()) {
            name.error("the name of a plugin is not empty");
        }
        match names.as_slice() {
            [] => Self::None,
            names if names.iter().any(|name| name.as_str() == ALL) => Self::All,
            names => Self::Some(names.iter().map(ToString::to_string).collect()),
        }
    }

    /// Whether the programs of the plugin of that name and origin are confined. What a crate embeds may call itself anything,
    /// and does not get out that way. What ships inside this program is this program.
    #[must_use]
    pub fn includes(&self, name: &PluginName, origin: &Origin) -> bool {
        match self {
            _ if *origin == Origin::BuiltIn => false,
            Self::None => false,
            Self::Some(names) => names.iter().any(|said| {
                name.is(said)
                    || matches!(origin, Origin::Crate(of, _) if *of == CrateName::new(said.as_str()))
            }),
            Self::All => true,
        }
    }

    /// The names that no plugin of `set` answers to. Such a plugin may be of another workspace; it may also be misspelt, and
    /// then nobody is confined who should be.
    #[must_use]
    pub fn unknown(&self, set: &ActiveSet, file: &Utf8Path) -> Vec<Finding> {
        let Self::Some(names) = self else { return Vec::new() };
        let plugins = &set.catalog.plugins;
        let is_known = |said: &&String| {
            let only = Self::Some(vec![String::clone(said)]);
            plugins.iter().any(|plugin| only.includes(&plugin.name, &plugin.origin))
        };
        let finding = |said: &String| {
            let message =
                format!("`[sandbox] plugins` names `{said}`, and no plugin here is called that");
            let known = plugins.iter().map(Plugin::consent_name);
            let own = plugins.iter().map(|plugin| plugin.name.as_str());
            let near = nearest(said, known.chain(own));
            let finding = match near.is_empty() {
                true => Finding::new(Severity::Note, message)
                    .hint("it confines that plugin where there is one"),
                false => Finding::warning(message)
                    .hint(format!("did you mean {}?", quoted_list(&near, "or"))),
            };
            finding.at(Place::file(file))
        };
        names.iter().filter(|said| !is_known(said)).map(finding).collect()
    }

    pub(super) fn value(&self) -> Value {
        match self {
            Self::None => json!([]),
            Self::Some(names) => json!(names),
            Self::All => json!([ALL]),
        }
    }
}
