//! What is known of models: how much they take, what they cost, what they can.
//!
//! `catalogue.toml` is part of the program; `[[models.known]]` in `config.toml` adds to it and corrects it.

use std::{collections::BTreeMap, sync::OnceLock};

use agents_system::{
    decode::{Document, Table, Text},
    finding::Finding,
};
use serde::Serialize;

use crate::{
    cost::{MicroDollars, Price},
    event::Usage,
    select::{ModelRef, canonical},
};

const BUILT_IN: &str = include_str!("catalogue.toml");

/// What is known of models.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalogue {
    /// Models, the preferred ones of each provider first.
    pub models: Vec<Known>,
    /// Short names, each with the patterns that it stands for.
    pub aliases: BTreeMap<String, Vec<String>>,
    /// Roles, likewise.
    pub roles: BTreeMap<String, Vec<String>>,
}

/// What is known of one model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Known {
    /// The provider that it is known from: a name in the configuration, or a kind.
    pub provider: String,
    /// Its name there.
    pub id: String,
    /// How many tokens fit into a request together with its answer.
    pub context: Option<u64>,
    /// How many tokens an answer may have.
    pub output: Option<u64>,
    /// What it costs; `None` if nobody says so.
    pub price: Option<Price>,
    /// What it can.
    pub can: Vec<Capability>,
}

/// Something that not every model can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Capability {
    /// Call tools.
    Tools,
    /// Think before it speaks.
    Thinking,
    /// See images.
    Images,
}

impl Capability {
    /// All of them, with their words.
    pub const ALL: [(&'static str, Self); 3] =
        [("tools", Self::Tools), ("thinking", Self::Thinking), ("images", Self::Images)];

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, it)| *it == self).map_or("", |(word, _)| word)
    }
}

impl Known {
    /// What is known is that it exists.
    #[must_use]
    pub fn new(provider: impl Into<String>, id: impl Into<String>) -> Self {
        Self {
            provider: provider.into(),
            id: id.into(),
            context: None,
            output: None,
            price: None,
            can: Vec::new(),
        }
    }

    /// An entry of `[[model]]` or `[[models.known]]`.
    pub(crate) fn decode(table: &Table<'_>) -> Option<Self> {
        let provider = table.required_string("provider");
        let id = table.required_string("id");
        let context = table.count("context");
        let output = table.count("output");
        let price = table.table("price").map(|table| {
            let each = |key| table.count(key).unwrap_or_default();
            let price = Price {
                input: each("input"),
                output: each("output"),
                cache_read: each("cache-read"),
                cache_write: each("cache-write"),
            };
            table.deny_unknown();
            price
        });
        let can = table.strings("can").into_iter().filter_map(|word| {
            let found = Capability::ALL.into_iter().find(|(name, _)| *name == word.as_str());
            if found.is_none() {
                word.report(
                    Finding::error(format!("a model cannot be said to `{word}`"))
                        .hint("allowed: `tools`, `thinking` and `images`"),
                );
            }
            found.map(|(_, it)| it)
        });
        let can = can.collect();
        table.deny_unknown();
        Some(Self {
            provider: provider?.to_string(),
            id: id?.to_string(),
            context,
            output,
            price,
            can,
        })
    }
}

impl Catalogue {
    /// That of the program.
    #[must_use]
    pub fn built_in() -> &'static Self {
        static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
        // A test sees to it that nothing is found.
        CATALOGUE.get_or_init(|| Self::parse(BUILT_IN).0)
    }

    fn parse(text: &str) -> (Self, Vec<Finding>) {
        let document = match Document::parse("catalogue.toml".into(), text) {
            Ok(document) => document,
            Err(finding) => return (Self::default(), vec![*finding]),
        };
        let root = document.root();
        let models = root.tables("model").iter().filter_map(Known::decode).collect();
        let aliases = root.table("aliases").map(|it| patterns(&it)).unwrap_or_default();
        let roles = root.table("roles").map(|it| patterns(&it)).unwrap_or_default();
        root.deny_unknown();
        drop(root);
        (Self { models, aliases, roles }, document.into_findings())
    }

    /// The same with what the user says: an entry for the same provider and id replaces the one that is there.
    #[must_use]
    pub fn with(&self, known: &[Known]) -> Self {
        let mut all = self.clone();
        let mut added = 0;
        for more in known {
            let same = |it: &&mut Known| it.provider == more.provider && it.id == more.id;
            match all.models.iter_mut().find(same) {
                Some(there) => *there = more.clone(),
                None => {
                    // What the user adds is what the user wants.
                    all.models.insert(added, more.clone());
                    added += 1;
                }
            }
        }
        all
    }

    /// The models of a provider, by its name or by its kind, the preferred ones first.
    pub fn of<'c>(&'c self, names: &'c [&'c str]) -> impl Iterator<Item = &'c Known> {
        self.models.iter().filter(move |it| names.contains(&it.provider.as_str()))
    }

    /// What is known of a model: said about this provider, else about its kind, else about the model whoever sells it.
    #[must_use]
    pub fn find(&self, model: &ModelRef, kind: &str) -> Option<&Known> {
        let exact = |provider: &str| {
            self.models.iter().find(|it| it.provider == provider && it.id == model.id)
        };
        let plain = canonical(&model.id);
        let same = |provider: Option<&str>| {
            self.models.iter().find(|it| {
                provider.is_none_or(|name| it.provider == name) && canonical(&it.id) == plain
            })
        };
        exact(&model.provider)
            .or_else(|| exact(kind))
            .or_else(|| same(Some(&model.provider)))
            .or_else(|| same(Some(kind)))
            .or_else(|| same(None))
    }

    /// What an answer of that model cost; `None` if its price is not known.
    #[must_use]
    pub fn cost(&self, model: &ModelRef, kind: &str, usage: &Usage) -> Option<MicroDollars> {
        Some(self.find(model, kind)?.price?.of(usage))
    }
}

/// Every key with its string or its list of strings, also a list written with commas.
pub(crate) fn patterns(table: &Table<'_>) -> BTreeMap<String, Vec<String>> {
    let entries = table.entries().map(|(key, value)| {
        let texts: Vec<Text<'_>> = if value.is_string() {
            value.string(key.as_str()).into_iter().collect()
        } else {
            value.strings(key.as_str())
        };
        let words = texts.iter().flat_map(|text| text.as_str().split(','));
        let words = words.map(str::trim).filter(|word| !word.is_empty());
        (key.to_string(), words.map(str::to_owned).collect())
    });
    entries.collect()
}

#[cfg(test)]
mod tests;
