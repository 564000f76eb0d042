//! `[sandbox]`: whose hooks are confined.

use agents_system::decode::Table;
use agents_workspace::CrateName;
use serde_json::{Value, json};

use crate::{manifest::PluginName, plugin::Origin};

const ALL: &str = "*";

/// The plugins whose hooks are confined.
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

    /// Whether the hooks of the plugin of that name and origin are confined. What a crate embeds may call itself anything,
    /// and does not get out that way.
    #[must_use]
    pub fn includes(&self, name: &PluginName, origin: &Origin) -> bool {
        match self {
            Self::None => false,
            Self::Some(names) => names.iter().any(|said| {
                name.is(said)
                    || matches!(origin, Origin::Crate(of, _) if *of == CrateName::new(said.as_str()))
            }),
            Self::All => true,
        }
    }

    pub(super) fn value(&self) -> Value {
        match self {
            Self::None => json!([]),
            Self::Some(names) => json!(names),
            Self::All => json!([ALL]),
        }
    }
}
