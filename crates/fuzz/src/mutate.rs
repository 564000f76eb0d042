//! Inputs that are changed as what they are.
//!
//! Most formats here are JSON, or have some in them. A change of a few bytes of it is mostly no JSON any more, and is refused before anything
//! interesting is reached; a change of its values is.

use std::ops::Range;

use serde_json::{Map, Value, json};

/// An input with some of its JSON changed: a line of it, what an event or a frame holds, or all of it. `None` if it has none.
#[must_use]
pub fn mutated(data: &[u8], seed: u32) -> Option<Vec<u8>> {
    let mut chance = Chance(u64::from(seed) << 1 | 1);
    let mut found = documents(data);
    if found.is_empty() {
        return None;
    }
    let (part, mut value) = found.swap_remove(chance.below(found.len()));
    for _ in 0..1 + chance.below(3) {
        change(&mut value, &mut chance);
    }
    let text = value.to_string();
    let before = framed(&data[..part.start], text.len());
    Some([&before, text.as_bytes(), &data[part.end..]].concat())
}

/// Not the same twice, and the same for the same seed.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() >> 16).unwrap_or(0) % limit.max(1)
    }

    fn of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }
}

/// All objects and lists that are within no other one, and where they stand.
fn documents(data: &[u8]) -> Vec<(Range<usize>, Value)> {
    const MOST: usize = 64;
    let mut found = Vec::new();
    let mut at = 0;
    while at < data.len() && found.len() < MOST {
        let read = matches!(data[at], b'{' | b'[').then(|| {
            let mut values = serde_json::Deserializer::from_slice(&data[at..]).into_iter::<Value>();
            let value = values.next()?.ok()?;
            Some((at..at + values.byte_offset(), value))
        });
        match read.flatten() {
            Some((part, value)) => {
                at = part.end;
                found.push((part, value));
            }
            None => at += 1,
        }
    }
    found
}

/// What stands before a document, with the length that is told there.
fn framed(before: &[u8], length: usize) -> Vec<u8> {
    let text = String::from_utf8_lossy(before);
    let Some(header) = text.strip_suffix("\r\n\r\n") else { return before.to_vec() };
    let Some((at, word)) = ["Content-Length: ", "content-length: "]
        .into_iter()
        .filter_map(|word| Some((header.rfind(word)?, word)))
        .max()
    else {
        return before.to_vec();
    };
    let digits = &header[at + word.len()..];
    let rest = digits.trim_start_matches(|it: char| it.is_ascii_digit());
    format!("{}{word}{length}{rest}\r\n\r\n", &header[..at]).into_bytes()
}

/// Changes one place.
fn change(value: &mut Value, chance: &mut Chance) {
    let (count, keys) = (places(value), names(value));
    let other = nth(value, &mut chance.below(count)).cloned().unwrap_or_default();
    let odd = odd(chance);
    let Some(place) = nth_mut(value, &mut chance.below(count)) else { return };
    let key = |chance: &mut Chance| match keys.is_empty() {
        true => String::new(),
        false => chance.of(&keys).clone(),
    };
    match chance.below(8) {
        0 | 1 => *place = odd,
        2 => *place = other,
        3 => {
            let levels = *chance.of(&[1, 1, 2, 30, 62, 100, 120]);
            let listed = chance.below(2) == 0;
            let around = |it, _| if listed { json!([it]) } else { json!({ "a": it }) };
            *place = (0..levels).fold(place.take(), around);
        }
        4 => match place {
            Value::Object(members) if !members.is_empty() => {
                let at = chance.below(members.len());
                let gone = members.keys().nth(at).cloned().unwrap_or_default();
                members.shift_remove(&gone);
            }
            Value::Array(items) if !items.is_empty() => {
                drop(items.remove(chance.below(items.len())));
            }
            other => *other = odd,
        },
        5 => match place {
            Value::Object(members) => drop(members.insert(key(chance), other)),
            Value::Array(items) => items.insert(chance.below(items.len() + 1), other),
            leaf => *leaf = json!([leaf.take(), other]),
        },
        6 => match place {
            Value::Object(members) => {
                let at = chance.below(members.len());
                let renamed = std::mem::take(members).into_iter().enumerate();
                let renamed = renamed
                    .map(|(it, (name, value))| (if it == at { key(chance) } else { name }, value));
                *members = renamed.collect::<Map<String, Value>>();
            }
            Value::Array(items) => items.reverse(),
            leaf => *leaf = Value::String(leaf.to_string()),
        },
        _ => match place {
            Value::String(text) => {
                let at = chance.below(text.chars().count() + 1);
                let at = text.char_indices().nth(at).map_or(text.len(), |it| it.0);
                text.insert_str(at, chance.of::<&str>(&ODD_TEXTS));
            }
            other => *other = Value::String(other.to_string()),
        },
    }
}

const ODD_TEXTS: [&str; 14] =
    ["", " ", "\n", "\0", "..", "/", "-", "+1", "%2F", "\u{202e}", "é", "${{ x }}", "*", "\"'`"];

fn odd(chance: &mut Chance) -> Value {
    match chance.below(9) {
        0 => Value::Null,
        1 => json!(chance.below(2) == 0),
        2 => json!(0),
        3 => json!(-1),
        4 => json!(u64::MAX),
        5 => json!(1e308),
        6 => json!([]),
        7 => json!({}),
        _ => json!(*chance.of(&ODD_TEXTS)),
    }
}

fn inner(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(members) => members.values().collect(),
        _ => Vec::new(),
    }
}

fn places(value: &Value) -> usize {
    1 + inner(value).into_iter().map(places).sum::<usize>()
}

fn names(value: &Value) -> Vec<String> {
    let own = value.as_object().into_iter().flat_map(Map::keys).cloned();
    own.chain(inner(value).into_iter().flat_map(names)).collect()
}

fn nth<'v>(value: &'v Value, left: &mut usize) -> Option<&'v Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    inner(value).into_iter().find_map(|it| nth(it, left))
}

fn nth_mut<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|it| nth_mut(it, left)),
        Value::Object(members) => members.values_mut().find_map(|it| nth_mut(it, left)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_changed_is_json_again_and_the_rest_stays() {
        let event = b"event: x\ndata: {\"a\": [1, {\"b\": \"c\"}]}\n\nrest";
        for seed in 0..200 {
            let text = String::from_utf8(mutated(event, seed).unwrap()).unwrap();
            let json =
                text.strip_prefix("event: x\ndata: ").unwrap().strip_suffix("\n\nrest").unwrap();
            // Some of it is deeper than anybody reads.
            let wrong = serde_json::from_str::<Value>(json).map_err(|it| it.to_string()).err();
            assert!(wrong.is_none_or(|it| it.starts_with("recursion limit")), "{json}");
        }
        let changed: std::collections::BTreeSet<_> =
            (0..200).map(|seed| mutated(event, seed)).collect();
        assert!(changed.len() > 50, "{}", changed.len());
        assert_eq!(mutated(event, 7), mutated(event, 7));
        assert_eq!(mutated(b"name = 'x'", 7), None);
    }

    #[test]
    fn a_frame_is_as_long_as_it_says() {
        let frames = b"Content-Length: 9\r\nX: y\r\n\r\n{\"a\": 1}\nContent-Length: 2\r\n\r\n{}";
        for seed in 0..100 {
            let text = String::from_utf8(mutated(frames, seed).unwrap()).unwrap();
            let (_, frame) = text.split_once("Content-Length: ").unwrap();
            let (length, body) = frame.split_once("\r\n").unwrap();
            let body = body.strip_prefix("X: y").unwrap().trim_start();
            let (body, _) = body.split_once("Content-Length").unwrap();
            let body = body.trim_end();
            assert!(body == "{\"a\": 1}" || length == body.len().to_string(), "{text}");
        }
    }
}
