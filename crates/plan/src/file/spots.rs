//! Where in a text each value stands.
//!
//! TOML says it itself. JSON is read as YAML for this, of which it is a part, so that one reader serves both; where that fails, as with
//! comments in JSON, findings have the file and no line.

use std::{collections::HashMap, fmt, ops::Range};

use agents_system::edit::Format;
use granit_parser::{Event, Parser};
use toml::de::{DeTable, DeValue};

/// The deepest nesting that is looked into.
const MAX_DEPTH: usize = 64;

/// The way to a value from the top of a file: `/tasks/3/prompt`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Path(String);

impl Path {
    pub(crate) fn top() -> Self {
        Self::default()
    }

    pub(crate) fn then(&self, step: impl fmt::Display) -> Self {
        Self(format!("{}/{step}", self.0))
    }

    pub(crate) fn parent(&self) -> Option<Self> {
        self.0.rfind('/').map(|at| Self(self.0[..at].to_owned()))
    }
}

/// Where a key stands, if it has one, and its value.
#[derive(Debug, Clone)]
struct Spot {
    key: Option<Range<usize>>,
    value: Range<usize>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Spots(HashMap<Path, Spot>);

impl Spots {
    pub(super) fn of(format: Format, text: &str) -> Self {
        let mut spots = Self::default();
        match format {
            Format::Toml => {
                if let Ok(root) = DeTable::parse(text) {
                    spots.table(&Path::top(), root.get_ref());
                }
            }
            Format::Json | Format::Yaml => {
                let events: Option<Vec<(Event<'_>, Range<usize>)>> = Parser::new_from_str(text)
                    .map(|it| it.ok().and_then(|(event, span)| Some((event, span.byte_range()?))))
                    .collect();
                let mut events = events.unwrap_or_default().into_iter();
                while let Some((event, span)) = events.next() {
                    if !matches!(event, Event::StreamStart | Event::DocumentStart(..)) {
                        spots.node(&Path::top(), None, &event, span, &mut events, 0);
                        break;
                    }
                }
            }
        }
        spots
    }

    /// Where a value stands.
    pub(super) fn value(&self, path: &Path) -> Option<Range<usize>> {
        self.0.get(path).map(|it| it.value.clone())
    }

    /// Where its key stands, or it itself if it has none.
    pub(super) fn key(&self, path: &Path) -> Option<Range<usize>> {
        self.0.get(path).map(|it| it.key.clone().unwrap_or_else(|| it.value.clone()))
    }

    fn table(&mut self, path: &Path, table: &DeTable<'_>) {
        for (key, value) in table {
            let path = path.then(key.get_ref());
            let spot = Spot { key: Some(key.span()), value: value.span() };
            self.0.insert(path.clone(), spot);
            self.toml(&path, value.get_ref());
        }
    }

    fn toml(&mut self, path: &Path, value: &DeValue<'_>) {
        match value {
            DeValue::Table(table) => self.table(path, table),
            DeValue::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    let path = path.then(at);
                    self.0.insert(path.clone(), Spot { key: None, value: item.span() });
                    self.toml(&path, item.get_ref());
                }
            }
            _ => {}
        }
    }

    /// Takes in a value that begins with this event, and returns where it ends.
    fn node<'t>(
        &mut self,
        path: &Path,
        key: Option<Range<usize>>,
        event: &Event<'t>,
        span: Range<usize>,
        events: &mut std::vec::IntoIter<(Event<'t>, Range<usize>)>,
        depth: usize,
    ) -> usize {
        let mut end = span.end;
        match event {
            _ if depth > MAX_DEPTH => {}
            Event::MappingStart(..) => {
                while let Some((event, span)) = events.next() {
                    end = end.max(span.end);
                    if matches!(event, Event::MappingEnd) {
                        break;
                    }
                    let Event::Scalar(name, ..) = &event else {
                        end = end.max(self.node(path, None, &event, span, events, depth + 1));
                        continue;
                    };
                    let path = path.then(name);
                    if let Some((event, value)) = events.next() {
                        end =
                            end.max(self.node(&path, Some(span), &event, value, events, depth + 1));
                    }
                }
            }
            Event::SequenceStart(..) => {
                let mut at = 0;
                while let Some((event, span)) = events.next() {
                    end = end.max(span.end);
                    if matches!(event, Event::SequenceEnd) {
                        break;
                    }
                    end = end.max(self.node(&path.then(at), None, &event, span, events, depth + 1));
                    at += 1;
                }
            }
            _ => {}
        }
        self.0.insert(path.clone(), Spot { key, value: span.start..end });
        end
    }
}
