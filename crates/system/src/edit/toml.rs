//! TOML, by sections and lines.

use std::ops::Range;

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use super::{
    EditError, Format, KeyPath,
    delimited::{Comments, Delimited, WhenEmpty},
    error::spot,
    intent::Step,
    lines::{Splices, newline},
};
use render::Header;
use syntax::{Entry, Inner, Kind, Node, Section, sections};

mod place;
mod render;
mod syntax;

pub(super) fn parse(text: &str) -> Result<Value, EditError> {
    let unparsable = |span: Range<usize>, message: String| EditError::Unparsable {
        format: Format::Toml,
        message,
        spot: spot(text, span),
    };
    let root = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let message = error.message().trim().replace('\n', ", ");
        if message.starts_with("duplicate key") {
            let key = text.get(span.clone()).unwrap_or_default().to_owned();
            return EditError::DuplicateKey { key, spot: spot(text, span) };
        }
        unparsable(span, message)
    })?;
    table_value(root.get_ref()).map_err(|(span, message)| unparsable(span, message.to_owned()))
}

type Bad = (Range<usize>, &'static str);

fn table_value(table: &DeTable<'_>) -> Result<Value, Bad> {
    let entries = table.iter().map(|(key, value)| {
        Ok((key.get_ref().to_string(), to_value(value.get_ref(), value.span())?))
    });
    Ok(Value::Object(entries.collect::<Result<_, Bad>>()?))
}

fn to_value(value: &DeValue<'_>, span: Range<usize>) -> Result<Value, Bad> {
    Ok(match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .map(Value::from)
            .map_err(|_| (span, "the number is too large"))?,
        DeValue::Float(float) => {
            let number: f64 = float.as_str().parse().map_err(|_| (span, "not a number"))?;
            let number = serde_json::Number::from_f64(number);
            number.map_or_else(|| Value::from(float.as_str()), Value::Number)
        }
        DeValue::Boolean(boolean) => Value::from(*boolean),
        DeValue::Datetime(time) => Value::from(time.to_string()),
        DeValue::Array(items) => {
            let items = items.iter().map(|item| to_value(item.get_ref(), item.span()));
            Value::Array(items.collect::<Result<_, Bad>>()?)
        }
        DeValue::Table(table) => table_value(table)?,
    })
}

/// Values first; a table of tables has a header for each of them and none of its own.
pub(super) fn write(entries: &Map<String, Value>) -> Result<String, EditError> {
    let mut lines = Vec::new();
    let mut sections = Vec::new();
    for (key, value) in entries {
        let at = KeyPath::new([key]);
        match value {
            Value::Object(inner) if !inner.is_empty() && inner.values().all(Value::is_object) => {
                let tables =
                    inner.iter().filter_map(|(name, it)| Some((at.join(name), it.as_object()?)));
                sections.extend(tables);
            }
            Value::Object(inner) => sections.push((at, inner)),
            value => {
                lines.push(format!("{} = {}\n", render::key(key), render::inline(&at, value)?));
            }
        }
    }
    for (at, inner) in sections {
        let blank = if lines.is_empty() { "" } else { "\n" };
        let section = render::section(at.keys(), render::Header::Table, inner, "\n")?;
        lines.push(format!("{blank}{section}\n"));
    }
    Ok(lines.concat())
}

pub(super) fn locate(text: &str, keys: &[String]) -> Option<Range<usize>> {
    let sections = sections(text);
    match find(&sections, keys) {
        Found::Value(node, depth) if depth == keys.len() => Some(node.span.clone()),
        Found::Value(..) => None,
        Found::Tables => {
            let header = sections.iter().find(|section| section.path.starts_with(keys));
            header.map(|section| section.header.clone())
        }
        Found::Nothing => None,
    }
}

pub(super) fn splice(text: &str, step: &Step) -> Result<String, EditError> {
    let sections = sections(text);
    let at = step.at();
    let keys = at.keys();
    match step {
        Step::Put { value, .. } => match find(&sections, keys) {
            Found::Value(node, depth) if depth == keys.len() => {
                let mut splices = Splices::default();
                splices.replace(node.span.clone(), render::inline(at, value)?);
                Ok(splices.apply(text))
            }
            Found::Value(node, depth) => match dotted_prefix(node, &keys[depth..]) {
                // It is there, as dotted keys between the brackets.
                whole if depth + whole == keys.len() => splice(&cut(text, keys), step),
                shared => {
                    let (key, rest) = keys[depth..].split_at(shared + 1);
                    let value = render::inline(at, &nest(rest, value))?;
                    Ok(push(&delimited(text, node), &format!("{} = {value}", render::keys(key))))
                }
            },
            Found::Tables => put_new(&cut(text, keys), at, value),
            Found::Nothing => put_new(text, at, value),
        },
        Step::Cut { .. } => Ok(cut(text, keys)),
        Step::Push { value, .. } => match find(&sections, keys) {
            Found::Value(node, _) => Ok(push(&delimited(text, node), &render::inline(at, value)?)),
            _ => {
                let Value::Object(entries) = value else {
                    return Err(mixed(text, &sections, at));
                };
                let block = render::section(keys, Header::Item, entries, newline(text))?;
                Ok(place::add_section(text, &sections, keys, &block))
            }
        },
        Step::Pull { index, .. } => match find(&sections, keys) {
            Found::Value(node, _) => Ok(delimited(text, node).remove(*index)),
            _ => Ok(pull_section(text, &sections, keys, *index)),
        },
    }
}

fn mixed(text: &str, sections: &[Section], at: &KeyPath) -> EditError {
    let header = sections.iter().find(|section| section.path == at.keys());
    let place = header.map_or(0..0, |section| section.header.clone());
    let what = "a list of `[[tables]]` can hold tables only";
    EditError::Unsupported { at: at.clone(), what, spot: spot(text, place) }
}

/// Writes an entry that does not exist.
fn put_new(text: &str, at: &KeyPath, value: &Value) -> Result<String, EditError> {
    let sections = sections(text);
    let (keys, nl) = (at.keys(), newline(text));
    let Some((last, parents)) = keys.split_last() else { return Ok(text.to_owned()) };
    // A table that is made of dotted keys gets another one.
    for depth in (1..keys.len()).rev() {
        if let Some((section, entry)) = place::last_dotted(&sections, &keys[..depth]) {
            let key = render::keys(&keys[section.path.len()..]);
            let line = format!("{key} = {}", render::inline(at, value)?);
            return Ok(place::add_line_after(text, entry.span.clone(), &line));
        }
    }
    match value {
        Value::Object(entries) => {
            let block = render::section(keys, Header::Table, entries, nl)?;
            Ok(place::add_section(text, &sections, keys, &block))
        }
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_object) => {
            let blocks: Vec<String> = items
                .iter()
                .filter_map(Value::as_object)
                .map(|entries| render::section(keys, Header::Item, entries, nl))
                .collect::<Result<_, _>>()?;
            Ok(place::add_section(text, &sections, keys, &blocks.join(&format!("{nl}{nl}"))))
        }
        _ => {
            let line = format!("{} = {}", render::key(last), render::inline(at, value)?);
            let parent = sections.iter().find(|s| s.path == parents && s.kind != Kind::Item);
            Ok(match parent {
                Some(section) if section.kind == Kind::Top => {
                    place::add_top_line(text, &sections, &line)
                }
                Some(section) => {
                    let after = section.entries.last().map_or(&section.header, |entry| &entry.span);
                    place::add_line_after(text, after.clone(), &line)
                }
                None => {
                    let block = format!("[{}]{nl}{line}", render::keys(parents));
                    place::add_section(text, &sections, parents, &block)
                }
            })
        }
    }
}

/// Deletes an entry: a value, or every section and dotted key that belongs to a table.
fn cut(text: &str, keys: &[String]) -> String {
    let all = sections(text);
    let Some((_, parents)) = keys.split_last() else { return text.to_owned() };
    if let Found::Value(node, depth) = find(&all, parents) {
        return cut_inline(text, node, &keys[depth..]);
    }
    let mut text = text.to_owned();
    // From the end, so that what comes before keeps its place.
    for section in all.iter().rev() {
        if section.kind != Kind::Top && section.path.starts_with(keys) {
            text = place::remove_section(&text, section);
            continue;
        }
        let Some(rest) = keys.strip_prefix(section.path.as_slice()) else { continue };
        if section.is_in_item {
            continue;
        }
        let mut left = section.entries.len();
        for entry in section.entries.iter().rev() {
            if entry.path.starts_with(rest) {
                let alone = left == 1 && section.kind == Kind::Top && all.len() > 1;
                text = place::remove_entry(&text, entry.span.clone(), alone);
                left -= 1;
            }
        }
    }
    text
}

fn cut_inline(text: &str, node: &Node, keys: &[String]) -> String {
    let Inner::Table(entries) = &node.inner else { return text.to_owned() };
    // One key may be written as several dotted ones; they are taken one by one.
    let index = entries.iter().rposition(|entry| entry.path.starts_with(keys));
    match index {
        Some(index) => {
            let text = delimited(text, node).remove(index);
            if entries[..index].iter().any(|entry| entry.path.starts_with(keys)) {
                let mut entries = Vec::new();
                let mut span = node.span.clone();
                rebuild(&text, &mut entries, &mut span);
                return cut_inline(&text, &Node { span, inner: Inner::Table(entries) }, keys);
            }
            text
        }
        None => text.to_owned(),
    }
}

/// The same inline table in an edited text: it starts where it did.
fn rebuild(text: &str, entries: &mut Vec<Entry>, span: &mut Range<usize>) {
    let all = sections(text).into_iter().flat_map(|section| section.entries);
    if let Some(Node { span: now, inner: Inner::Table(inner) }) =
        all.map(|entry| entry.node).find_map(|node| inline_at(node, span.start))
    {
        *entries = inner;
        *span = now;
    }
}

fn inline_at(node: Node, start: usize) -> Option<Node> {
    if node.span.start == start {
        return Some(node);
    }
    match node.inner {
        Inner::Scalar => None,
        Inner::Array(items) => items.into_iter().find_map(|item| inline_at(item, start)),
        Inner::Table(entries) => entries.into_iter().find_map(|entry| inline_at(entry.node, start)),
    }
}

fn pull_section(text: &str, sections: &[Section], keys: &[String], index: usize) -> String {
    let is_item = |section: &Section| section.kind == Kind::Item && section.path == keys;
    let starts = sections.iter().enumerate().filter(|(_, section)| is_item(section));
    let Some((first, _)) = starts.clone().nth(index) else { return text.to_owned() };
    let end = starts.clone().nth(index + 1).map_or(sections.len(), |(next, _)| next);
    let own = sections[first..end].iter().filter(|section| section.path.starts_with(keys));
    own.rev().fold(text.to_owned(), |text, section| place::remove_section(&text, section))
}

/// What a path leads to.
enum Found<'s> {
    /// A value after `=`, reached with this many of the keys; the rest would be inside it.
    Value(&'s Node, usize),
    /// Headers or dotted keys.
    Tables,
    Nothing,
}

fn find<'s>(sections: &'s [Section], keys: &[String]) -> Found<'s> {
    let mut is_table = keys.is_empty();
    for section in sections.iter().filter(|section| !section.is_in_item) {
        is_table |= section.path.starts_with(keys);
        let Some(rest) = keys.strip_prefix(section.path.as_slice()) else { continue };
        if section.kind == Kind::Item {
            continue;
        }
        for entry in &section.entries {
            if rest.starts_with(&entry.path) {
                return find_inline(&entry.node, keys, section.path.len() + entry.path.len());
            }
            is_table |= entry.path.starts_with(rest);
        }
    }
    if is_table { Found::Tables } else { Found::Nothing }
}

fn find_inline<'s>(node: &'s Node, keys: &[String], depth: usize) -> Found<'s> {
    let Inner::Table(entries) = &node.inner else { return Found::Value(node, depth) };
    let rest = &keys[depth..];
    let entry = entries.iter().find(|entry| !rest.is_empty() && rest.starts_with(&entry.path));
    match entry {
        Some(entry) => find_inline(&entry.node, keys, depth + entry.path.len()),
        None => Found::Value(node, depth),
    }
}

/// How many of the keys some dotted key of an inline table begins with.
fn dotted_prefix(node: &Node, keys: &[String]) -> usize {
    let Inner::Table(entries) = &node.inner else { return 0 };
    let shared = |entry: &Entry| entry.path.iter().zip(keys).take_while(|(a, b)| a == b).count();
    entries.iter().map(shared).max().unwrap_or(0)
}

fn nest(keys: &[String], value: &Value) -> Value {
    keys.iter()
        .rev()
        .fold(value.clone(), |value, key| Value::Object(Map::from_iter([(key.clone(), value)])))
}

fn push(list: &Delimited<'_>, item: &str) -> String {
    let layout = list.layout(WhenEmpty::Inline);
    list.push(&layout, " ", item)
}

fn delimited<'t>(text: &'t str, node: &Node) -> Delimited<'t> {
    let items = match &node.inner {
        Inner::Scalar => Vec::new(),
        Inner::Array(items) => items.iter().map(|item| item.span.clone()).collect(),
        Inner::Table(entries) => entries.iter().map(|entry| entry.span.clone()).collect(),
    };
    Delimited { text, span: node.span.clone(), items, comments: Comments::Hash }
}
