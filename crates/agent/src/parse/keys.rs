//! Which entry of a file means what.

use serde_json::{Map, Value};

use super::{
    Input,
    document::Document,
    values::{Entry, Reader, did_you_mean},
};
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

/// Which entries of a file mean something, in the order of the file, and where they are.
pub(crate) fn places(input: &Input<'_>, document: &Document<'_>) -> Vec<(Key, Vec<String>)> {
    let grammar = input.dialect.grammar();
    let mut findings = Vec::new();
    let strictness = input.strictness;
    let mut reader = Reader { document, grammar, strictness, findings: &mut findings };
    let mut places = Vec::new();
    for entry in document.entries.iter().flat_map(|(top, value)| flattened(top, value)) {
        if let Class::Known(key) = reader.class(&entry) {
            places.push((key, entry.path));
        }
    }
    places
}

/// The entry itself, or those of a table that only groups them.
fn flattened<'d>(top: &str, value: &'d Value) -> Vec<Entry<'d>> {
    match value.as_object().filter(|_| FLATTENED.contains(&fold(top).as_str())) {
        Some(inner) => inner
            .iter()
            .map(|(key, value)| Entry { path: vec![top.to_owned(), key.clone()], value })
            .collect(),
        None => vec![Entry { path: vec![top.to_owned()], value }],
    }
}

impl<'r> Reader<'r, '_> {
    /// The entries that mean something, each meaning once, and the rest.
    pub(super) fn classify(&mut self) -> (Vec<(Key, Entry<'r>)>, Map<String, Value>) {
        let document = self.document;
        let mut known: Vec<(Key, Entry<'r>)> = Vec::new();
        let mut extra = Map::new();
        for (top, value) in &document.entries {
            for entry in flattened(top, value) {
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
