//! What an edit means for the value, whatever the text looks like.

use serde_json::{Map, Value};

use super::{Edit, EditError, Format, KeyPath, error::spot, locate};

/// One change of the text. The formats find out themselves what is there.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Write the value there, in place of what may be there.
    Put { at: KeyPath, value: Value },
    /// Delete the entry.
    Cut { at: KeyPath },
    /// Add the item at the end of a list that exists.
    Push { at: KeyPath, value: Value },
    /// Delete the item with this index.
    Pull { at: KeyPath, index: usize },
}

impl Step {
    pub(super) fn at(&self) -> &KeyPath {
        match self {
            Self::Put { at, .. }
            | Self::Cut { at }
            | Self::Push { at, .. }
            | Self::Pull { at, .. } => at,
        }
    }
}

/// The steps that make `edit` true of `value`, which is what `text` says; none if it is true already.
pub(super) fn steps(
    format: Format,
    value: &Value,
    edit: &Edit,
    text: &str,
) -> Result<Vec<Step>, EditError> {
    match edit {
        Edit::Set { at, value: wanted } => {
            if at.keys().is_empty() && !wanted.is_object() {
                let found = kind(wanted);
                return Err(EditError::NotATable { at: at.clone(), found, spot: spot("", 0..0) });
            }
            let old = look_up(format, value, at, text)?;
            let mut steps = Vec::new();
            difference(at, old, wanted, &mut steps);
            Ok(steps)
        }
        Edit::Append { at, value: item } => match look_up(format, value, at, text)? {
            None => Ok(vec![Step::Put { at: at.clone(), value: Value::from(vec![item.clone()]) }]),
            Some(Value::Null) if format == Format::Yaml => {
                Ok(vec![Step::Put { at: at.clone(), value: Value::from(vec![item.clone()]) }])
            }
            Some(Value::Array(items)) if items.contains(item) => Ok(Vec::new()),
            Some(Value::Array(_)) => Ok(vec![Step::Push { at: at.clone(), value: item.clone() }]),
            Some(other) => {
                let place = locate(format, text, at.keys()).unwrap_or(0..0);
                let (at, found) = (at.clone(), kind(other));
                Err(EditError::NotAList { at, found, spot: spot(text, place) })
            }
        },
        Edit::Remove { at } => {
            let there = get(value, at).is_some() && !at.keys().is_empty();
            Ok(there.then(|| Step::Cut { at: at.clone() }).into_iter().collect())
        }
        Edit::RemoveItem { at, value: item } => {
            let Some(Value::Array(items)) = get(value, at) else { return Ok(Vec::new()) };
            // From the end, so that the indices still hold.
            let found = items.iter().enumerate().rev().filter(|(_, there)| *there == item);
            Ok(found.map(|(index, _)| Step::Pull { at: at.clone(), index }).collect())
        }
        Edit::RemoveIfEmpty { at } => {
            let empty = get(value, at).is_some_and(is_empty) && !has_content(format, text, at);
            Ok(empty.then(|| Step::Cut { at: at.clone() }).into_iter().collect())
        }
    }
}

/// Makes `edit` true of `value`.
pub(super) fn perform(value: &mut Value, edit: &Edit) {
    match edit {
        Edit::Set { at, value: wanted } => {
            if let Some(entry) = create(value, at) {
                *entry = wanted.clone();
            }
        }
        Edit::Append { at, value: item } => {
            if let Some(entry) = create(value, at) {
                match entry {
                    Value::Array(items) => items.push(item.clone()),
                    other => *other = Value::from(vec![item.clone()]),
                }
            }
        }
        Edit::Remove { at } => remove(value, at),
        Edit::RemoveItem { at, value: item } => {
            if let Some(Value::Array(items)) = get_mut(value, at) {
                items.retain(|there| there != item);
            }
        }
        Edit::RemoveIfEmpty { at } => {
            if get(value, at).is_some_and(is_empty) {
                remove(value, at);
            }
        }
    }
}

/// Whether the edited text says what was meant.
pub(super) fn is_same(format: Format, is: &Value, meant: &Value) -> bool {
    match format {
        // In TOML, a table that no header names and a list of tables go with their last entry.
        Format::Toml => without_empty(is) == without_empty(meant),
        Format::Json | Format::Yaml => is == meant,
    }
}

/// What a value is, for messages.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}

/// The steps from `old` to `new`; tables are compared key by key.
fn difference(at: &KeyPath, old: Option<&Value>, new: &Value, steps: &mut Vec<Step>) {
    match (old, new) {
        (Some(old), new) if old == new => {}
        (Some(Value::Object(old)), Value::Object(new))
            if !new.is_empty() || at.keys().is_empty() =>
        {
            // What is new first: a table that loses all of its entries may vanish.
            for (key, value) in new {
                difference(&at.join(key), old.get(key), value, steps);
            }
            let gone = old.keys().filter(|key| !new.contains_key(*key));
            steps.extend(gone.map(|key| Step::Cut { at: at.join(key) }));
        }
        (_, new) => steps.push(Step::Put { at: at.clone(), value: new.clone() }),
    }
}

/// The entry; an error if something on the way is not a table.
fn look_up<'v>(
    format: Format,
    value: &'v Value,
    at: &KeyPath,
    text: &str,
) -> Result<Option<&'v Value>, EditError> {
    let mut value = value;
    for (depth, key) in at.keys().iter().enumerate() {
        match value {
            Value::Object(entries) => match entries.get(key) {
                Some(entry) => value = entry,
                None => return Ok(None),
            },
            // `extensions:` with nothing after it.
            Value::Null if format == Format::Yaml => return Ok(None),
            other => {
                let place = locate(format, text, &at.keys()[..depth]).unwrap_or(0..0);
                let (at, found) = (at.first(depth), kind(other));
                return Err(EditError::NotATable { at, found, spot: spot(text, place) });
            }
        }
    }
    Ok(Some(value))
}

fn get<'v>(value: &'v Value, at: &KeyPath) -> Option<&'v Value> {
    at.keys().iter().try_fold(value, |value, key| value.as_object()?.get(key))
}

fn get_mut<'v>(value: &'v mut Value, at: &KeyPath) -> Option<&'v mut Value> {
    at.keys().iter().try_fold(value, |value, key| value.as_object_mut()?.get_mut(key))
}

fn create<'v>(value: &'v mut Value, at: &KeyPath) -> Option<&'v mut Value> {
    at.keys().iter().try_fold(value, |value, key| {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        Some(value.as_object_mut()?.entry(key).or_insert(Value::Null))
    })
}

fn remove(value: &mut Value, at: &KeyPath) {
    let Some((last, parents)) = at.keys().split_last() else { return };
    let parent = parents.iter().try_fold(value, |value, key| value.as_object_mut()?.get_mut(key));
    if let Some(Value::Object(entries)) = parent {
        entries.shift_remove(last);
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(entries) => entries.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Whether there are comments between the brackets of an empty table or list.
fn has_content(format: Format, text: &str, at: &KeyPath) -> bool {
    let place = locate(format, text, at.keys()).and_then(|span| text.get(span));
    let inner = place.and_then(|text| text.get(1..text.len().saturating_sub(1)));
    inner.is_some_and(|inner| inner.trim_start().starts_with(['#', '/']))
}

fn without_empty(value: &Value) -> Value {
    let Value::Object(entries) = value else { return value.clone() };
    let entries = entries.iter().map(|(key, value)| (key.clone(), without_empty(value)));
    Value::Object(entries.filter(|(_, value)| !is_empty(value)).collect())
}
