//! What stands where in a TOML text: headers, entries and the brackets in their values.

use std::{borrow::Cow, collections::HashSet, ops::Range};

use toml_parser::{
    Source,
    parser::{Event, EventKind, RecursionGuard, parse_document},
};

/// Deeper brackets are refused by the parser of values as well.
const MAX_DEPTH: u32 = 80;

/// A header with the entries below it. The first section has no header.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) path: Vec<String>,
    pub(super) kind: Kind,
    /// With its brackets; empty at the start of the text for the first section.
    pub(super) header: Range<usize>,
    /// Whether it belongs to an item of a list, where no path leads.
    pub(super) is_in_item: bool,
    pub(super) entries: Vec<Entry>,
}

/// What a header opens.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Top,
    Table,
    Item,
}

/// `a.b = value`.
#[derive(Debug)]
pub(super) struct Entry {
    /// Below the header.
    pub(super) path: Vec<String>,
    pub(super) span: Range<usize>,
    pub(super) node: Node,
}

/// A value.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) inner: Inner,
}

/// What is in a value.
#[derive(Debug)]
pub(super) enum Inner {
    Scalar,
    Array(Vec<Node>),
    Table(Vec<Entry>),
}

/// The sections of a text that parses.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let source = Source::new(text);
    let tokens = source.lex().into_vec();
    let mut events: Vec<Event> = Vec::with_capacity(tokens.len());
    let mut guard = RecursionGuard::new(&mut events, MAX_DEPTH);
    parse_document(&tokens, &mut guard, &mut ());
    let is_trivia =
        |kind| matches!(kind, EventKind::Whitespace | EventKind::Comment | EventKind::Newline);
    events.retain(|event| !is_trivia(event.kind()));
    let mut reader = Reader { source, events: events.into_iter().peekable() };
    let mut sections = vec![Section::default()];
    while let Some(event) = reader.events.peek() {
        match event.kind() {
            EventKind::StdTableOpen => sections.extend(reader.header(Kind::Table)),
            EventKind::ArrayTableOpen => sections.extend(reader.header(Kind::Item)),
            EventKind::SimpleKey => {
                let entry = reader.entry();
                if let (Some(section), Some(entry)) = (sections.last_mut(), entry) {
                    section.entries.push(entry);
                }
            }
            _ => drop(reader.events.next()),
        }
    }
    mark_items(&mut sections);
    sections
}

fn mark_items(sections: &mut [Section]) {
    let mut items: HashSet<Vec<String>> = HashSet::new();
    for section in sections {
        let mut above = (1..section.path.len()).map(|length| &section.path[..length]);
        section.is_in_item = above.any(|path| items.contains(path));
        if section.kind == Kind::Item {
            items.insert(section.path.clone());
        }
    }
}

struct Reader<'t> {
    source: Source<'t>,
    events: std::iter::Peekable<std::vec::IntoIter<Event>>,
}

impl Reader<'_> {
    fn header(&mut self, kind: Kind) -> Option<Section> {
        let open = self.events.next()?.span();
        let (path, _) = self.keys();
        let close = self.events.next()?.span();
        let header = open.start()..close.end();
        Some(Section { path, kind, header, ..Section::default() })
    }

    fn entry(&mut self) -> Option<Entry> {
        let (path, start) = self.keys();
        self.events.next_if(|event| event.kind() == EventKind::KeyValSep)?;
        let node = self.node()?;
        Some(Entry { path, span: start?..node.span.end, node })
    }

    fn keys(&mut self) -> (Vec<String>, Option<usize>) {
        let (mut keys, mut start) = (Vec::new(), None);
        let is_key =
            |event: &Event| matches!(event.kind(), EventKind::SimpleKey | EventKind::KeySep);
        while let Some(event) = self.events.next_if(is_key) {
            if event.kind() == EventKind::SimpleKey {
                start.get_or_insert(event.span().start());
                let mut key = Cow::Borrowed("");
                if let Some(raw) = self.source.get(event) {
                    raw.decode_key(&mut key, &mut ());
                }
                keys.push(key.into_owned());
            }
        }
        (keys, start)
    }

    fn node(&mut self) -> Option<Node> {
        let event = self.events.next()?;
        let span = event.span().start()..event.span().end();
        match event.kind() {
            EventKind::Scalar => Some(Node { span, inner: Inner::Scalar }),
            EventKind::ArrayOpen => {
                let mut items = Vec::new();
                let end = loop {
                    match self.events.peek()?.kind() {
                        EventKind::ArrayClose => break self.events.next()?.span().end(),
                        EventKind::ValueSep => drop(self.events.next()),
                        _ => items.push(self.node()?),
                    }
                };
                Some(Node { span: span.start..end, inner: Inner::Array(items) })
            }
            EventKind::InlineTableOpen => {
                let mut entries = Vec::new();
                let end = loop {
                    match self.events.peek()?.kind() {
                        EventKind::InlineTableClose => break self.events.next()?.span().end(),
                        EventKind::ValueSep => drop(self.events.next()),
                        _ => entries.push(self.entry()?),
                    }
                };
                Some(Node { span: span.start..end, inner: Inner::Table(entries) })
            }
            _ => None,
        }
    }
}
