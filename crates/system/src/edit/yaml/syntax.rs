//! What stands where in a YAML text.

use std::ops::Range;

use granit_parser::{Event, Parser, ScanError, Span, StructureStyle};

/// A value.
#[derive(Debug)]
pub(super) struct Node {
    /// Up to its last visible character.
    pub(super) span: Range<usize>,
    pub(super) inner: Inner,
}

/// What is in a value.
#[derive(Debug)]
pub(super) enum Inner {
    /// Also aliases.
    Scalar,
    List(Style, Vec<Node>),
    Table(Style, Vec<Member>),
}

/// With brackets or without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Block,
    Flow,
}

/// `key: value`.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) key_span: Range<usize>,
    /// After the colon.
    pub(super) colon: usize,
    pub(super) node: Node,
}

impl Member {
    /// From the key to the last visible character of the value.
    pub(super) fn span(&self) -> Range<usize> {
        self.key_span.start..self.node.span.end.max(self.colon)
    }
}

/// The only document of a text; `None` if there is nothing but white space and comments in it.
pub(super) fn tree(text: &str) -> Result<Option<Node>, ScanError> {
    let mut events = Vec::new();
    for next in Parser::new_from_str(text) {
        let (event, span) = next?;
        events.push((event, bytes(&span)));
    }
    let mut reader = Reader { text, events: events.into_iter() };
    while let Some((event, span)) = reader.events.next() {
        match event {
            Event::StreamStart | Event::DocumentStart(..) => {}
            Event::StreamEnd | Event::DocumentEnd => return Ok(None),
            event => return Ok(reader.node(&event, span)),
        }
    }
    Ok(None)
}

fn bytes(span: &Span) -> Range<usize> {
    span.byte_range().unwrap_or(0..0)
}

struct Reader<'t> {
    text: &'t str,
    events: std::vec::IntoIter<(Event<'t>, Range<usize>)>,
}

impl Reader<'_> {
    fn node(&mut self, event: &Event<'_>, span: Range<usize>) -> Option<Node> {
        let start = span.start;
        match *event {
            Event::MappingStart(style, ..) => {
                let mut members = Vec::new();
                let end = loop {
                    match self.events.next()? {
                        (Event::MappingEnd, end) => break end,
                        (event, span) => members.push(self.member(&event, span)?),
                    }
                };
                let last = members.last().map(|member: &Member| member.span().end);
                let end = self.end(style, last, end).max(start);
                Some(Node { span: start..end, inner: Inner::Table(of(style), members) })
            }
            Event::SequenceStart(style, ..) => {
                let mut items = Vec::new();
                let end = loop {
                    match self.events.next()? {
                        (Event::SequenceEnd, end) => break end,
                        (event, span) => items.push(self.node(&event, span)?),
                    }
                };
                // Where there are only empty items, the parser may see the start of the list after them.
                let last = items.last().map(|item: &Node| item.span.end);
                let end = self.end(style, last, end).max(start);
                Some(Node { span: start..end, inner: Inner::List(of(style), items) })
            }
            // A block scalar ends where the next thing starts.
            _ => {
                let end = self.text[..span.end].trim_end().len();
                let start = start.min(end);
                Some(Node { span: start..end, inner: Inner::Scalar })
            }
        }
    }

    fn member(&mut self, event: &Event<'_>, span: Range<usize>) -> Option<Member> {
        let key = match event {
            Event::Scalar(text, ..) => text.to_string(),
            _ => String::new(),
        };
        let key_span = self.node(event, span)?.span;
        let (event, span) = self.events.next()?;
        let node = self.node(&event, span)?;
        let rest = &self.text[key_span.end..];
        let colon = rest.trim_start_matches([' ', '\t']);
        let colon =
            if colon.starts_with(':') { self.text.len() - colon.len() + 1 } else { key_span.end };
        Some(Member { key, key_span, colon, node })
    }

    fn end(&self, style: StructureStyle, last: Option<usize>, end: Range<usize>) -> usize {
        match (style, last) {
            (StructureStyle::Block, Some(last)) => last,
            (StructureStyle::Block, None) => self.text[..end.end].trim_end().len(),
            (StructureStyle::Flow, _) => end.end,
        }
    }
}

fn of(style: StructureStyle) -> Style {
    match style {
        StructureStyle::Block => Style::Block,
        StructureStyle::Flow => Style::Flow,
    }
}
