//! JSON with comments and trailing commas.

use std::{collections::HashSet, ops::Range};

use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions,
    ast::{self, ObjectProp},
    common::Ranged as _,
    parse_to_ast,
};
use serde_json::{Map, Value};

use super::{
    EditError, Format,
    delimited::{Comments, Delimited, Layout, WhenEmpty},
    error::spot,
    intent::Step,
    lines::{Splices, indent, letter, lone_return, newline, past_newline, starts_line},
};

/// Lists of plain values stay on one line up to this many characters.
const WIDE: usize = 80;

pub(super) fn parse(text: &str) -> Result<Value, EditError> {
    match tree(text)? {
        Some(node) => to_value(text, &node),
        None => Ok(Value::Object(Map::new())),
    }
}

pub(super) fn write(entries: &Map<String, Value>) -> String {
    format!("{:#}\n", Value::Object(entries.clone()))
}

pub(super) fn locate(text: &str, keys: &[String]) -> Option<Range<usize>> {
    let root = tree(text).ok()??;
    let (node, depth) = find(&root, keys);
    (depth == keys.len()).then(|| range(node))
}

pub(super) fn splice(text: &str, step: &Step) -> Result<String, EditError> {
    if let Some(place) = odd_space(text) {
        let what = "there is white space in it that JSON does not know";
        let at = step.at().clone();
        return Err(EditError::Unsupported { at, what, spot: spot(text, place) });
    }
    let Some(root) = tree(text)? else { return Ok(fill_blank(text, step)) };
    let style = Style::of(text, &root);
    let keys = step.at().keys();
    let (node, depth) = find(&root, keys);
    Ok(match step {
        Step::Put { value, .. } if depth == keys.len() => {
            // A value that stands inside a line stays inside it.
            let key = owner(&root, keys).map(|owner| owner.range.start);
            let indent = key.filter(|key| starts_line(text, *key)).map(|key| indent(text, key));
            replaced(text, range(node), &style.render(value, indent))
        }
        Step::Put { value, .. } => {
            let nested = keys[depth + 1..].iter().rev().fold(value.clone(), |value, key| {
                Value::Object(Map::from_iter([(key.clone(), value)]))
            });
            push(text, &root, &keys[..depth], &style, Some(&keys[depth]), &nested)
        }
        Step::Push { value, .. } => push(text, &root, keys, &style, None, value),
        Step::Cut { at } if at.keys().is_empty() => unfill(text, range(node)),
        Step::Cut { at } => match (at.parent(), owner(&root, keys)) {
            (Some(parent), Some(owner)) => {
                let list = delimited(text, find(&root, parent.keys()).0);
                let index = list.items.iter().position(|item| item.start == owner.range.start);
                index.map_or_else(|| text.to_owned(), |index| list.remove(index))
            }
            _ => text.to_owned(),
        },
        Step::Pull { index, .. } => delimited(text, node).remove(*index),
    })
}

/// A blank text gets an object in front of what white space and comments it has.
fn fill_blank(text: &str, step: &Step) -> String {
    let (Step::Put { value, .. }, nl) = (step, newline(text)) else { return text.to_owned() };
    let keys = step.at().keys();
    let nested = keys
        .iter()
        .rev()
        .fold(value.clone(), |value, key| Value::Object(Map::from_iter([(key.clone(), value)])));
    let style = Style { unit: "  ".to_owned(), newline: nl, gap: " " };
    format!("{}{nl}{text}", style.render(&nested, Some("")))
}

/// Takes back [`fill_blank`].
fn unfill(text: &str, root: Range<usize>) -> String {
    let rest = &text[past_newline(text, root.end)..];
    let is_filled = root.start == 0 && matches!(tree(rest), Ok(None));
    if is_filled { rest.to_owned() } else { text.to_owned() }
}

fn push(
    text: &str,
    root: &ast::Value<'_>,
    keys: &[String],
    style: &Style,
    key: Option<&str>,
    value: &Value,
) -> String {
    let (node, _) = find(root, keys);
    let list = delimited(text, node);
    let broken = owner(root, keys).is_none_or(|owner| starts_line(text, owner.range.start));
    let empty = if broken { WhenEmpty::Break(&style.unit) } else { WhenEmpty::Inline };
    let layout = list.layout(empty);
    let inner = match &layout {
        Layout::Line(indent) => Some(indent.as_str()),
        Layout::Inline => None,
    };
    let rendered = style.render(value, inner);
    let item = match key {
        Some(key) => format!("{}:{}{rendered}", Value::from(key), style.gap),
        None => rendered,
    };
    list.push(&layout, style.gap, &item)
}

fn replaced(text: &str, part: Range<usize>, new: &str) -> String {
    let mut splices = Splices::default();
    splices.replace(part, new);
    splices.apply(text)
}

/// How the text is written.
struct Style {
    unit: String,
    newline: &'static str,
    /// After a colon and a comma.
    gap: &'static str,
}

impl Style {
    fn of(text: &str, root: &ast::Value<'_>) -> Self {
        let first = root.as_object().and_then(|object| object.properties.first());
        let unit = first
            .filter(|first| starts_line(text, first.range.start))
            .map(|first| indent(text, first.range.start))
            .and_then(|inner| inner.strip_prefix(indent(text, root.range().start)))
            .filter(|unit| !unit.is_empty())
            .unwrap_or("  ");
        let tight = first.is_some_and(|first| text[..first.value.range().start].ends_with(':'));
        Self { unit: unit.to_owned(), newline: newline(text), gap: if tight { "" } else { " " } }
    }

    /// The value on lines indented by `indent`, or on one line.
    fn render(&self, value: &Value, indent: Option<&str>) -> String {
        let (open, close) = match value {
            Value::Object(entries) if !entries.is_empty() => ('{', '}'),
            Value::Array(_) => ('[', ']'),
            _ => return value.to_string(),
        };
        let plain =
            |items: &[Value]| items.iter().all(|item| !item.is_object() && !item.is_array());
        if let (Some(_), Value::Array(items)) = (indent, value)
            && plain(items)
        {
            let line = self.render(value, None);
            if line.chars().count() <= WIDE {
                return line;
            }
        }
        let inner = indent.map(|indent| format!("{indent}{}", self.unit));
        let inner = inner.as_deref();
        let items: Vec<String> = match value {
            Value::Object(entries) => entries
                .iter()
                .map(|(key, value)| {
                    let value = self.render(value, inner);
                    format!("{}:{}{value}", Value::from(key.as_str()), self.gap)
                })
                .collect(),
            Value::Array(items) => items.iter().map(|item| self.render(item, inner)).collect(),
            _ => Vec::new(),
        };
        match (indent, inner) {
            (Some(indent), Some(inner)) => {
                let nl = self.newline;
                let items = items.join(&format!(",{nl}{inner}"));
                format!("{open}{nl}{inner}{items}{nl}{indent}{close}")
            }
            _ => format!("{open}{}{close}", items.join(&format!(",{}", self.gap))),
        }
    }
}

const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// White space between the tokens that only some parsers take for such. What is added beside it could not be told
/// from it again.
fn odd_space(text: &str) -> Option<Range<usize>> {
    let is_odd = |c: char| c.is_whitespace() && !matches!(c, ' ' | '\t' | '\r' | '\n');
    let odd_in = |text: &str| lone_return(text).or(text.find(is_odd).map(|at| letter(text, at)));
    // It is looked for in earnest only if there is any at all.
    odd_in(text)?;
    let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
    let tokens = parse_to_ast(text, &collect, &OPTIONS).ok()?.tokens?;
    let starts = tokens.iter().map(|token| token.range.start).chain([text.len()]);
    let ends = [0].into_iter().chain(tokens.iter().map(|token| token.range.end));
    let mut gaps = ends.zip(starts).filter_map(|(end, start)| Some((end, text.get(end..start)?)));
    gaps.find_map(|(at, gap)| odd_in(gap).map(|odd| at + odd.start..at + odd.end))
}

fn tree(text: &str) -> Result<Option<ast::Value<'_>>, EditError> {
    match parse_to_ast(text, &CollectOptions::default(), &OPTIONS) {
        Ok(result) => Ok(result.value),
        Err(error) => {
            let span = error.range().start..error.range().end;
            Err(unparsable(text, span, error.kind().to_string()))
        }
    }
}

fn unparsable(text: &str, span: Range<usize>, message: String) -> EditError {
    EditError::Unparsable { format: Format::Json, message, spot: spot(text, span) }
}

fn to_value(text: &str, node: &ast::Value<'_>) -> Result<Value, EditError> {
    Ok(match node {
        ast::Value::StringLit(string) => Value::from(string.value.as_ref()),
        ast::Value::NumberLit(number) => serde_json::from_str(number.value)
            .map_err(|error| unparsable(text, range(node), error.to_string()))?,
        ast::Value::BooleanLit(boolean) => Value::from(boolean.value),
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::Array(array) => {
            let items = array.elements.iter().map(|item| to_value(text, item));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        ast::Value::Object(object) => {
            let mut seen = HashSet::new();
            let mut entries = Map::new();
            for property in &object.properties {
                let key = property.name.as_str();
                if !seen.insert(key) {
                    let span = property.range.start..property.name.range().end;
                    let key = key.to_owned();
                    return Err(EditError::DuplicateKey { key, spot: spot(text, span) });
                }
                entries.insert(key.to_owned(), to_value(text, &property.value)?);
            }
            Value::Object(entries)
        }
    })
}

/// The deepest node on the way, and how many of the keys lead to it.
fn find<'n, 't>(root: &'n ast::Value<'t>, keys: &[String]) -> (&'n ast::Value<'t>, usize) {
    let mut node = root;
    for (depth, key) in keys.iter().enumerate() {
        match property(node, key) {
            Some(property) => node = &property.value,
            None => return (node, depth),
        }
    }
    (node, keys.len())
}

fn property<'n, 't>(node: &'n ast::Value<'t>, key: &str) -> Option<&'n ObjectProp<'t>> {
    node.as_object()?.properties.iter().find(|property| property.name.as_str() == key)
}

/// The property whose value the keys lead to; `None` for the top.
fn owner<'n, 't>(root: &'n ast::Value<'t>, keys: &[String]) -> Option<&'n ObjectProp<'t>> {
    let (last, parents) = keys.split_last()?;
    let (parent, depth) = find(root, parents);
    property(parent, last).filter(|_| depth == parents.len())
}

fn range(node: &ast::Value<'_>) -> Range<usize> {
    let range = node.range();
    range.start..range.end
}

fn delimited<'t>(text: &'t str, node: &ast::Value<'_>) -> Delimited<'t> {
    let items = match node {
        ast::Value::Object(object) => {
            object.properties.iter().map(|p| p.range.start..p.range.end).collect()
        }
        ast::Value::Array(array) => array.elements.iter().map(range).collect(),
        _ => Vec::new(),
    };
    Delimited { text, span: range(node), items, comments: Comments::Slashes }
}
