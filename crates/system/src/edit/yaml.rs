//! YAML: block style by lines, flow style in place.

use std::{collections::HashSet, ops::Range};

use serde_json::{Map, Value};

use super::{
    EditError, Format, KeyPath,
    delimited::{Comments, Delimited, WhenEmpty},
    error::spot,
    intent::Step,
    lines::{
        Splices, indent, letter, line_end, line_start, lone_return, new_last_line, newline,
        past_blanks, remove_lines, starts_line,
    },
};
use render::Looks;
use syntax::{Inner, Member, Node, Style, tree};

mod render;
mod syntax;

pub(super) fn parse(text: &str) -> Result<Value, EditError> {
    if let Some(root) = parsed(text)? {
        check_keys(text, &root)?;
    }
    // `no`, `on` and `y` are words.
    let options = serde_saphyr::options! { strict_booleans: true };
    let value: Value = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let span = error.location().map_or(0..0, |at| offset(text, at.line(), at.column()));
        let message = error.without_snippet().to_string().replace('\n', ", ");
        EditError::Unparsable { format: Format::Yaml, message, spot: spot(text, span) }
    })?;
    Ok(if value.is_null() { Value::Object(Map::new()) } else { value })
}

fn parsed(text: &str) -> Result<Option<Node>, EditError> {
    tree(text).map_err(|error| {
        let at = error.marker().byte_offset().unwrap_or(0);
        let spot = spot(text, letter(text, at));
        EditError::Unparsable { format: Format::Yaml, message: error.info().to_owned(), spot }
    })
}

fn offset(text: &str, line: u64, column: u64) -> Range<usize> {
    let lines = text.split_inclusive('\n');
    let skip = usize::try_from(line.saturating_sub(1)).unwrap_or(0);
    let start: usize = lines.take(skip).map(str::len).sum();
    let column = usize::try_from(column.saturating_sub(1)).unwrap_or(0);
    let within = text[start..].char_indices().nth(column).map_or(0, |(at, _)| at);
    letter(text, start + within)
}

fn check_keys(text: &str, node: &Node) -> Result<(), EditError> {
    match &node.inner {
        Inner::Scalar => Ok(()),
        Inner::List(_, items) => items.iter().try_for_each(|item| check_keys(text, item)),
        Inner::Table(_, members) => {
            let mut seen = HashSet::new();
            for member in members {
                // `<<` may come twice.
                if !seen.insert(&member.key) && member.key != "<<" && !member.key.is_empty() {
                    let (key, spot) = (member.key.clone(), spot(text, member.key_span.clone()));
                    return Err(EditError::DuplicateKey { key, spot });
                }
                check_keys(text, &member.node)?;
            }
            Ok(())
        }
    }
}

pub(super) fn write(entries: &Map<String, Value>) -> String {
    let looks = Looks { unit: "  ".to_owned(), newline: "\n" };
    entries.iter().map(|(key, value)| looks.member(key, value, "") + "\n").collect()
}

pub(super) fn locate(text: &str, keys: &[String]) -> Option<Range<usize>> {
    let root = tree(text).ok()??;
    let found = find(&root, keys);
    let span = found.node.span.clone();
    let shown =
        if span.is_empty() { found.owner.map_or(span, |m| m.key_span.clone()) } else { span };
    (found.depth == keys.len()).then_some(shown)
}

pub(super) fn splice(text: &str, step: &Step) -> Result<String, EditError> {
    let at = step.at();
    let keys = at.keys();
    // It ends a line for YAML, and for nobody else.
    if let Some(place) = lone_return(text) {
        let (at, what) = (at.clone(), "a line ends with a carriage return alone");
        return Err(EditError::Unsupported { at, what, spot: spot(text, place) });
    }
    // `---` alone is an empty scalar.
    let is_empty = |root: &Node| root.span.is_empty() || text[root.span.clone()].trim() == "---";
    let Some(root) = parsed(text)?.filter(|root| !is_empty(root)) else {
        return Ok(match step {
            Step::Put { value, .. } => add_to_blank(text, keys, value),
            _ => text.to_owned(),
        });
    };
    let looks = Looks { unit: unit(text, &root), newline: newline(text) };
    let edit = Editor { text, at, looks };
    let found = find(&root, keys);
    match step {
        Step::Put { value, .. } if found.depth == keys.len() => edit.replace(&found, value),
        Step::Put { value, .. } => {
            let nested = nest(&keys[found.depth + 1..], value);
            edit.add(&found, &keys[found.depth], &nested)
        }
        Step::Cut { .. } if found.depth < keys.len() => {
            let place = found.owner.map_or(0..0, |owner| owner.key_span.clone());
            Err(edit.unsupported("it is not written here, but comes from somewhere else", place))
        }
        Step::Cut { .. } => edit.remove(&found),
        Step::Push { value, .. } => edit.push(found.node, value),
        Step::Pull { index, .. } => edit.pull(&found, *index),
    }
}

fn add_to_blank(text: &str, keys: &[String], value: &Value) -> String {
    let looks = Looks { unit: "  ".to_owned(), newline: newline(text) };
    let Some((key, rest)) = keys.split_first() else { return text.to_owned() };
    let member = looks.member(key, &nest(rest, value), "");
    let (at, before, after) = new_last_line(text);
    let mut splices = Splices::default();
    splices.insert(at, format!("{before}{member}{after}"));
    splices.apply(text)
}

struct Editor<'t> {
    text: &'t str,
    at: &'t KeyPath,
    looks: Looks,
}

impl Editor<'_> {
    /// Adds an entry to the table, or to the nothing, that was found.
    fn add(&self, found: &Found<'_>, key: &str, value: &Value) -> Result<String, EditError> {
        let text = self.text;
        let nl = self.looks.newline;
        let mut splices = Splices::default();
        match (&found.node.inner, found.owner) {
            (Inner::Table(Style::Block, members), _) => {
                self.check_lines(members)?;
                let (Some(first), Some(last)) = (members.first(), members.last()) else {
                    return Err(self.unsupported("it is empty", found.node.span.clone()));
                };
                let indent = indent(text, first.key_span.start);
                let member = self.looks.member(key, value, indent);
                let end = line_end(text, last.span().end);
                splices.insert(end, format!("{nl}{indent}{member}"));
            }
            (Inner::Table(Style::Flow, members), owner) => {
                let owner = owner.filter(|owner| {
                    let between = text.get(owner.colon..found.node.span.start);
                    members.is_empty()
                        && between == Some(" ")
                        && starts_line(text, owner.key_span.start)
                });
                let bare = found.node.span.len() == 2;
                let Some(owner) = owner.filter(|_| bare && found.is_in_block) else {
                    let list = delimited(text, found.node);
                    let layout = list.layout(WhenEmpty::Inline);
                    return Ok(list.push(&layout, " ", &render::flow_member(key, value)));
                };
                splices.delete(owner.colon..found.node.span.end);
                self.fill(&mut splices, owner, found.node.span.end, key, value);
            }
            (_, Some(owner)) if found.is_in_block && starts_line(text, owner.key_span.start) => {
                // Nothing, or `null`.
                if found.node.span.start >= owner.colon {
                    splices.delete(owner.colon..found.node.span.end);
                }
                self.fill(&mut splices, owner, owner.span().end, key, value);
            }
            (_, owner) => {
                let place = owner.map_or(0..0, |owner| owner.key_span.clone());
                return Err(self.unsupported("it is empty", place));
            }
        }
        Ok(splices.apply(text))
    }

    /// Writes the first entry of a table below its key.
    fn fill(&self, splices: &mut Splices, owner: &Member, end: usize, key: &str, value: &Value) {
        let outer = indent(self.text, owner.key_span.start);
        let value = Value::Object(Map::from_iter([(key.to_owned(), value.clone())]));
        let lines = self.looks.after_colon(&value, outer);
        splices.insert(line_end(self.text, end), lines);
    }

    fn replace(&self, found: &Found<'_>, value: &Value) -> Result<String, EditError> {
        let text = self.text;
        let mut splices = Splices::default();
        let Some(owner) = found.owner else {
            return Err(self.unsupported("it is the whole file", 0..0));
        };
        let span = found.node.span.clone();
        let on_one_line = !text[span.clone()].contains('\n');
        let is_value = span.start >= owner.colon && !span.is_empty();
        let plain = matches!(found.node.inner, Inner::Scalar) && on_one_line && is_value;
        if !found.is_in_block || (plain && !value.is_object() && !value.is_array()) {
            let new = render::flow(value);
            let new = if is_value { new } else { format!(" {new}") };
            let span = if is_value { span } else { owner.colon..owner.colon };
            splices.replace(span, new);
        } else {
            self.check_line(owner)?;
            let outer = indent(text, owner.key_span.start);
            splices.replace(owner.colon..owner.span().end, self.looks.after_colon(value, outer));
        }
        Ok(splices.apply(text))
    }

    fn remove(&self, found: &Found<'_>) -> Result<String, EditError> {
        let (Some(owner), Some(parent)) = (found.owner, found.parent) else {
            return Ok(self.text.to_owned());
        };
        let Inner::Table(style, members) = &parent.inner else { return Ok(self.text.to_owned()) };
        let index = members.iter().position(|member| std::ptr::eq(member, owner));
        if *style == Style::Flow {
            let list = delimited(self.text, parent);
            return Ok(list.remove(index.unwrap_or(members.len())));
        }
        self.check_line(owner)?;
        let alone = (members.len() == 1).then_some(found.grand_owner).flatten();
        Ok(self.remove_part(owner.span(), alone, " {}"))
    }

    /// Removes lines; `alone` is the key that holds nothing afterwards.
    fn remove_part(&self, part: Range<usize>, alone: Option<&Member>, empty: &str) -> String {
        let text = self.text;
        let mut splices = Splices::default();
        if let Some(owner) = alone {
            splices.insert(owner.colon, empty);
        }
        let beside = past_blanks(text, part.end);
        let one_line = line_start(text, part.start) == line_start(text, part.end);
        if one_line && text[beside..].starts_with('#') {
            let start = line_start(text, part.start) + indent(text, part.start).len();
            splices.delete(start..beside);
        } else {
            splices.delete(remove_lines(text, part));
        }
        splices.apply(text)
    }

    fn push(&self, list: &Node, value: &Value) -> Result<String, EditError> {
        let Inner::List(style, items) = &list.inner else { return Ok(self.text.to_owned()) };
        let last = match items.last() {
            Some(last) if *style == Style::Block => last,
            _ => {
                let list = delimited(self.text, list);
                let layout = list.layout(WhenEmpty::Inline);
                return Ok(list.push(&layout, " ", &render::flow(value)));
            }
        };
        self.check_dash(last)?;
        let indent = indent(self.text, last.span.start);
        let item = self.looks.item(value, indent);
        let mut splices = Splices::default();
        let end = line_end(self.text, last.span.end);
        splices.insert(end, format!("{}{indent}{item}", self.looks.newline));
        Ok(splices.apply(self.text))
    }

    fn pull(&self, found: &Found<'_>, index: usize) -> Result<String, EditError> {
        let Inner::List(style, items) = &found.node.inner else { return Ok(self.text.to_owned()) };
        let Some(item) = items.get(index) else { return Ok(self.text.to_owned()) };
        if *style == Style::Flow {
            return Ok(delimited(self.text, found.node).remove(index));
        }
        self.check_dash(item)?;
        let alone = (items.len() == 1).then_some(found.owner).flatten();
        Ok(self.remove_part(item.span.clone(), alone, " []"))
    }

    fn check_lines(&self, members: &[Member]) -> Result<(), EditError> {
        members.iter().try_for_each(|member| self.check_line(member))
    }

    fn check_line(&self, member: &Member) -> Result<(), EditError> {
        let own_line = starts_line(self.text, member.key_span.start);
        if own_line && member.colon > member.key_span.end {
            return Ok(());
        }
        Err(self.unsupported("a key does not start its line", member.key_span.clone()))
    }

    fn check_dash(&self, item: &Node) -> Result<(), EditError> {
        let start = line_start(self.text, item.span.start);
        let before = self.text[start..item.span.start].trim_matches([' ', '\t']);
        if before == "-" {
            return Ok(());
        }
        Err(self.unsupported("an item does not start its line", item.span.clone()))
    }

    fn unsupported(&self, what: &'static str, place: Range<usize>) -> EditError {
        EditError::Unsupported { at: self.at.clone(), what, spot: spot(self.text, place) }
    }
}

/// The deepest node on the way.
struct Found<'n> {
    node: &'n Node,
    /// How many of the keys lead to it.
    depth: usize,
    /// The entry whose value it is.
    owner: Option<&'n Member>,
    /// The table with that entry.
    parent: Option<&'n Node>,
    /// The entry whose value that table is.
    grand_owner: Option<&'n Member>,
    /// Whether no brackets are around it.
    is_in_block: bool,
}

fn find<'n>(root: &'n Node, keys: &[String]) -> Found<'n> {
    let mut found = Found {
        node: root,
        depth: 0,
        owner: None,
        parent: None,
        grand_owner: None,
        is_in_block: true,
    };
    for key in keys {
        let Inner::Table(style, members) = &found.node.inner else { return found };
        let Some(member) = members.iter().find(|member| member.key == *key) else { return found };
        found = Found {
            node: &member.node,
            depth: found.depth + 1,
            owner: Some(member),
            parent: Some(found.node),
            grand_owner: found.owner,
            is_in_block: found.is_in_block && *style == Style::Block,
        };
    }
    found
}

/// One step of indentation: that of the first table in a table.
fn unit(text: &str, root: &Node) -> String {
    let Inner::Table(Style::Block, members) = &root.inner else { return "  ".to_owned() };
    let inner = members.iter().find_map(|member| match &member.node.inner {
        Inner::Table(Style::Block, members) => members.first(),
        _ => None,
    });
    let unit = inner.map(|member| indent(text, member.key_span.start));
    unit.filter(|unit| !unit.is_empty()).unwrap_or("  ").to_owned()
}

fn nest(keys: &[String], value: &Value) -> Value {
    keys.iter()
        .rev()
        .fold(value.clone(), |value, key| Value::Object(Map::from_iter([(key.clone(), value)])))
}

fn delimited<'t>(text: &'t str, node: &Node) -> Delimited<'t> {
    let items = match &node.inner {
        Inner::Scalar => Vec::new(),
        Inner::List(_, items) => items.iter().map(|item| item.span.clone()).collect(),
        Inner::Table(_, members) => members.iter().map(Member::span).collect(),
    };
    Delimited { text, span: node.span.clone(), items, comments: Comments::Hash }
}
