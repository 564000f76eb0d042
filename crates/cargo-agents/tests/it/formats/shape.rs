//! What files look like, whatever is in them: the keys of documents, the tables of databases.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use camino::Utf8Path;
use rusqlite::{Connection, types::ValueRef};
use serde_json::Value;

use super::files;

/// Each kind of file with the keys that there are in one of them.
pub(super) type Shapes = BTreeMap<String, BTreeSet<String>>;

/// The shapes of everything that we keep below a directory. What hosts keep is theirs.
pub(super) fn shapes(dir: &Utf8Path) -> Shapes {
    let mut all = Shapes::new();
    for file in files(dir).iter().filter(|it| !it.as_str().contains(".claude")) {
        let (path, name) = (dir.join(file), file.file_name().unwrap_or_default());
        let text = || fs::read_to_string(&path).unwrap();
        let mut keys = BTreeSet::new();
        match name.split_once('.').map(|it| it.1) {
            Some("json" | "meta.json") => look(&parsed(&text()), "", &mut keys),
            Some("jsonl") => text().lines().for_each(|it| look(&parsed(it), "", &mut keys)),
            Some("toml") => look(&toml::from_str(&text()).unwrap(), "", &mut keys),
            Some("lock") if name == "agents.lock" => {
                look(&toml::from_str(&text()).unwrap(), "", &mut keys);
            }
            Some("db") => database(&path, &mut keys),
            // Notes, backups, and what only says that somebody is at work.
            _ => continue,
        }
        all.entry(kind(file)).or_default().extend(keys);
    }
    all
}

/// A path without what is the name of one of many.
fn kind(file: &Utf8Path) -> String {
    let part = |it: &str| {
        let (name, rest) = it.split_once('.').unwrap_or((it, ""));
        if name.contains(|c: char| c.is_ascii_digit()) {
            format!("*.{rest}")
        } else {
            it.to_owned()
        }
    };
    file.components().map(|it| part(it.as_str())).collect::<Vec<_>>().join("/")
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A key that is a path or an id is like any other one.
fn look(value: &Value, at: &str, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let plain = key.chars().all(|c| c.is_ascii_alphabetic() || c == '-' || c == '_');
                let path = format!("{at}.{}", if plain { key.as_str() } else { "*" });
                look(value, &path, keys);
                keys.insert(path);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| look(item, &format!("{at}[]"), keys)),
        _ => {}
    }
}

/// Its version, its tables as they were made, and the documents in them.
fn database(path: &Utf8Path, keys: &mut BTreeSet<String>) {
    let database = Connection::open(path).unwrap();
    let version: i64 = database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    keys.insert(format!("version {version}"));
    let made = "SELECT name, sql FROM sqlite_master WHERE type = 'table'";
    let mut made = database.prepare(made).unwrap();
    let tables = made.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let tables: Vec<(String, String)> = tables.map(Result::unwrap).collect();
    for (table, sql) in tables {
        keys.insert(sql.split_whitespace().collect::<Vec<_>>().join(" "));
        let mut rows = database.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let columns: Vec<String> = rows.column_names().into_iter().map(str::to_owned).collect();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for (at, column) in columns.iter().enumerate() {
                if let ValueRef::Text(text) = row.get_ref(at).unwrap()
                    && let Ok(value) = serde_json::from_slice(text)
                {
                    look(&value, &format!("{table}.{column}"), keys);
                }
            }
        }
    }
}
