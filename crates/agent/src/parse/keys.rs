//! Which entry of a file means what.

use serde_json::{Map, Value};

use super::values::{Entry, Reader, did_you_mean};
use crate::{
    definition::Dialect,
    dialect::grammar::{Key, fold},
    entries,
};

/// The tables whose entries stand for themselves.
const FLATTENED: [&str; 2] = ["permissions", "limits"];

/// What a key turned out to be.
enum Class {
    Known(Key),
    Extra,
}

impl<'r> Reader<'r, '_> {
    /// The entries that mean something, each meaning once, and the rest.
    pub(super) fn classify(&mut self) -> (Vec<(Key, Entry<'r>)>, Map<String, Value>) {
        let document = self.document;
        let mut known: Vec<(Key, Entry<'r>)> = Vec::new();
        let mut extra = Map::new();
        for (top, value) in &document.entries {
            let flat = value.as_object().filter(|_| FLATTENED.contains(&fold(top).as_str()));
            let entries: Vec<Entry<'r>> = match flat {
                Some(inner) => inner
                    .iter()
                    .map(|(key, value)| Entry { path: vec![top.clone(), key.clone()], value })
                    .collect(),
                None => vec![Entry { path: vec![top.clone()], value }],
            };
            for entry in entries {
                match self.class(&entry) {
                    // Nothing is said by `key:` with nothing after it.
                    Class::Known(key)
                        if entry.value.is_null() && key != Key::Name && key != Key::Description => {
                    }
                    Class::Known(key) => match known.iter().find(|(it, _)| *it == key) {
                        Some((_, first)) => {
                            let message = format!(
                                "`{}` means the same as `{}`, which counts",
                                entry.spelled(),
                                first.spelled()
                            );
                            self.doubt(&entry, message, Some("keep one of them".to_owned()));
                        }
                        None => known.push((key, entry)),
                    },
                    Class::Extra => entries::insert(&mut extra, &entry.path, entry.value.clone()),
                }
            }
        }
        (known, extra)
    }

    fn class(&mut self, entry: &Entry<'_>) -> Class {
        let path = entry.spelled();
        let (grammar, ours) = (self.grammar, self.grammar.dialect == Dialect::Ours);
        if let Some(key) = grammar.key(&path) {
            return Class::Known(key);
        }
        if grammar.extra.contains(&path.as_str()) {
            return Class::Extra;
        }
        let title = grammar.dialect.title();
        if let Some((spelling, key)) = grammar.key_like(&path) {
            // That one takes them all.
            if !ours && grammar.dialect != Dialect::OhMyPi {
                let message = format!("`{path}` is not a key of {title}");
                self.doubt(entry, message, Some(format!("it is written `{spelling}` there")));
            }
            return Class::Known(key);
        }
        let foreign = Dialect::ALL.iter().find_map(|it| it.grammar().key_like(&path));
        if let Some((_, key)) = foreign {
            if !ours {
                self.doubt(entry, format!("`{path}` is not a key of {title}"), None);
            }
            return Class::Known(key);
        }
        let hint = did_you_mean(&path, grammar.top_keys());
        self.doubt(entry, format!("`{path}` is not a key of {title}"), hint);
        Class::Extra
    }
}
