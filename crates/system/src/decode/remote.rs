//! Keys of a configuration file that say how something on another machine is reached: its address, headers, and where its key
//! is. Never the key: whoever reads the file would find it, and backups, dotfile repositories and colleagues who help do.

use super::{Table, Text, Value};
use crate::{
    finding::{Finding, sounds_secret},
    keys::KeySource,
    nearest::{nearest, quoted_list},
};

/// Keys that sound as if they held a key, and say where it is.
const WHERE_KEYS_ARE: [&str; 2] = ["key-env", "key-command"];

/// Reports keys and headers of a table that hold secrets, without showing them.
pub fn refuse_secrets(table: &Table<'_>) {
    let is_secret = |name: &str| !WHERE_KEYS_ARE.contains(&name) && sounds_secret(name);
    for (name, value) in table.entries() {
        if is_secret(&name) {
            refuse(table, &name);
        }
        if ["headers", "env"].contains(&name.as_str())
            && let Some(inner) = value.table(name.as_str())
        {
            for (name, _) in inner.entries().filter(|(name, _)| is_secret(name)) {
                refuse(table, &name);
            }
        }
    }
}

fn refuse(table: &Table<'_>, name: &Text<'_>) {
    let label = table.label();
    name.report(
        Finding::error(format!(
            "`{name}` in {label}: keys do not belong into a configuration file"
        ))
        .hint(
            "take it out and put it into a variable (`key-env = \"NAME\"`), into the keyring, or have a command print it \
             (`key-command = [\"pass\", \"show\", \"…\"]`); a key that stood in a file should be replaced",
        ),
    );
}

/// Reports every key that is not among these, without a word about its value.
pub fn deny_others(table: &Table<'_>, keys: &[&str]) {
    for (key, _) in table.entries().filter(|(key, _)| !keys.contains(&key.as_str())) {
        // That has been said already.
        if sounds_secret(&key) {
            continue;
        }
        let near = nearest(key.as_str(), keys.iter().copied());
        let finding = Finding::error(format!("unknown key `{key}` in {}", table.label()));
        key.report(match near.as_slice() {
            [] => finding.hint(format!("allowed here: {}", quoted_list(keys, "and"))),
            near => finding.label(format!("did you mean {}?", quoted_list(near, "or"))),
        });
    }
}

/// Where a table says that a key is: `key-env`, then `key-command`. Empty if it says nothing.
#[must_use]
pub fn key_sources(table: &Table<'_>) -> Vec<KeySource> {
    let env = table.string("key-env").map(|name| KeySource::Env(name.to_string()));
    let words: Vec<String> =
        table.string_or_strings("key-command").iter().map(ToString::to_string).collect();
    let command = (!words.is_empty()).then_some(KeySource::Command(words));
    env.into_iter().chain(command).collect()
}

/// An address that requests may be sent to. What it holds besides would go into messages.
#[must_use]
pub fn address(text: &Text<'_>) -> Option<String> {
    let wrong = |message: &str| {
        text.report(Finding::error(message).hint("an address looks like `https://example.com/v1`"));
        None
    };
    let Some((scheme, rest)) = text.split_once("://") else {
        return wrong("`url` is not an address");
    };
    if !["http", "https"].contains(&scheme) {
        return wrong("`url` must begin with `http://` or `https://`");
    }
    let host = rest.split('/').next().unwrap_or_default();
    if host.is_empty() {
        return wrong("`url` names no host");
    }
    if host.contains('@') {
        return wrong(
            "`url` holds a name or a password: keys do not belong into a configuration file",
        );
    }
    if rest.contains(['?', '#']) || rest.contains(char::is_whitespace) {
        return wrong("`url` must end before `?`");
    }
    Some(text.trim_end_matches('/').to_owned())
}

/// A table of headers, with their values or with what these stand for.
#[must_use]
pub fn headers(table: &Table<'_>) -> Vec<(String, String)> {
    let pairs = table.entries().filter_map(|(name, value): (Text<'_>, Value<'_>)| {
        let value = value.string(name.as_str())?;
        let fine =
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        if !fine || value.chars().any(char::is_control) {
            name.error(format!("`{name}` cannot be sent as a header"));
            return None;
        }
        Some((name.to_string(), value.to_string()))
    });
    pairs.collect()
}
