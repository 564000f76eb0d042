//! Who has looked at which content: `agents-audits.toml`.
//!
//! A record is about one hash, so it says nothing about what the content becomes. Records of other people are kept apart from
//! one's own, with the place that they were taken from.

use std::fmt::Write as _;

use agents_system::{decode::Document, finding::Finding};
use camino::{Utf8Path, Utf8PathBuf};

use crate::lock::{Entry, Hash, Kind, quoted};

/// The name of the file, in a workspace and in the configuration directory.
pub const AUDIT_FILE: &str = "agents-audits.toml";

/// The directory beside the configuration that holds the records of others.
pub const IMPORTED: &str = "audits";

/// Somebody has looked at a content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    /// The content.
    pub hash: Hash,
    /// What it was called then: `skill usage`.
    pub what: String,
    /// Where it came from then.
    pub from: String,
    /// Who has looked.
    pub who: String,
    /// When, as `2026-11-30`.
    pub date: String,
    /// What they have to say.
    pub note: String,
}

/// The records of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Records {
    /// Where somebody else's records were taken from.
    pub origin: Option<String>,
    /// The records.
    pub records: Vec<Record>,
}

impl Records {
    /// Reads the text of `file`.
    pub fn parse(file: &Utf8Path, text: &str) -> Result<Self, Vec<Finding>> {
        let document = Document::parse(file.to_owned(), text).map_err(|finding| vec![*finding])?;
        let mut read = Self::default();
        {
            let root = document.root();
            read.origin = root.string("origin").map(|it| it.to_string());
            for table in root.tables("audit") {
                let text = |key| table.required_string(key).map(|it| it.to_string());
                let hash = table.required_string("hash").and_then(|text| {
                    let hash = Hash::parse(&text);
                    if hash.is_none() {
                        text.error("this is not a hash");
                    }
                    hash
                });
                let (what, from) = (text("what"), text("from"));
                let (who, date, note) = (text("who"), text("date"), text("note"));
                table.deny_unknown();
                let record = (|| {
                    let (hash, what, from) = (hash?, what?, from?);
                    Some(Record { hash, what, from, who: who?, date: date?, note: note? })
                })();
                read.records.extend(record);
            }
            root.deny_unknown();
        }
        if document.is_sound() { Ok(read) } else { Err(document.into_findings()) }
    }

    /// The text of the file.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::from(
            "# Who has looked at which content; `cargo agents audit record` adds to it.\n",
        );
        if let Some(origin) = &self.origin {
            let _ = writeln!(text, "origin = {}", quoted(origin));
        }
        let mut records = self.records.clone();
        records.sort();
        records.dedup();
        for it in &records {
            text += "\n[[audit]]\n";
            let hash = it.hash.to_string();
            let fields = [
                ("what", &it.what),
                ("from", &it.from),
                ("hash", &hash),
                ("who", &it.who),
                ("date", &it.date),
                ("note", &it.note),
            ];
            for (key, value) in fields {
                let _ = writeln!(text, "{key} = {}", quoted(value));
            }
        }
        text
    }

    /// Those about this content.
    pub fn about<'r>(&'r self, hash: &'r Hash) -> impl Iterator<Item = &'r Record> {
        self.records.iter().filter(move |record| record.hash == *hash)
    }
}

/// What a record about it names: its content or, for a program that cargo builds and that differs from machine to machine, the
/// very crate that it is built from. `None` for what the workspace holds itself, which needs nobody's look, and for
/// whole repositories.
#[must_use]
pub fn subject(entry: &Entry) -> Option<Hash> {
    match (&entry.hash, entry.kind) {
        // It is looked at part by part.
        (_, Kind::Tree) => None,
        (Some(hash), _) => Some(hash.clone()),
        (None, Kind::Installation) => {
            let of_source = entry.fields().into_iter().filter(|(key, _)| *key != "name");
            let text: String =
                of_source.map(|(key, value)| format!("{key} = {}\n", quoted(&value))).collect();
            Some(Hash::new(&agents_system::cache::digest(text.as_bytes())))
        }
        (None, Kind::Plugin | Kind::Skill | Kind::Agent) => None,
    }
}

/// What nobody has looked at.
pub fn unaudited<'e>(
    entries: impl IntoIterator<Item = &'e Entry>,
    records: &[(Utf8PathBuf, Records)],
) -> Vec<&'e Entry> {
    let is_audited =
        |hash: &Hash| records.iter().any(|(_, records)| records.about(hash).next().is_some());
    let entries = entries.into_iter();
    entries.filter(|it| subject(it).is_some_and(|hash| !is_audited(&hash))).collect()
}

/// The name of the file for records that were taken from `origin`.
#[must_use]
pub fn imported_name(origin: &str) -> String {
    let tail: String = origin
        .chars()
        .rev()
        .take_while(|c| *c != '/')
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(40)
        .collect();
    let tail: String = tail.chars().rev().collect();
    format!("{tail}-{}.toml", agents_system::cache::name_hash(origin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(content: &str, who: &str) -> Record {
        Record {
            hash: Hash::new(&agents_system::cache::digest(content.as_bytes())),
            what: "skill usage".to_owned(),
            from: "tiny-sql 0.3.1".to_owned(),
            who: who.to_owned(),
            date: "2026-11-30".to_owned(),
            note: "read it, \"twice\"\nand ran it".to_owned(),
        }
    }

    #[test]
    fn what_is_rendered_is_read_back_sorted_and_each_once() {
        let origin = Some("https://example.com/a".to_owned());
        let records = vec![record("b", "x"), record("a", "y"), record("b", "x")];
        let text = Records { origin: origin.clone(), records }.render();
        let read = Records::parse("f".into(), &text).unwrap();
        assert_eq!((read.origin.clone(), read.records.len()), (origin, 2));
        assert_eq!(read.render(), text);
    }

    #[test]
    fn a_record_counts_for_exactly_one_content() {
        let entry = |content: &str| Entry {
            kind: Kind::Skill,
            name: "usage".to_owned(),
            source: crate::lock::Source::Workspace { path: ".".into() },
            hash: Some(record(content, "").hash),
        };
        let mine = Records { origin: None, records: vec![record("a", "me")] };
        let all = [(Utf8PathBuf::from("f"), mine)];
        let entries = [entry("a"), entry("b"), Entry { hash: None, ..entry("c") }];
        assert_eq!(unaudited(&entries, &all), [&entries[1]]);
    }

    #[test]
    fn a_program_that_cargo_builds_is_known_by_its_crate() {
        use crate::lock::{CrateFrom, Source};
        let program = |plugin: &str, version: &str| Entry {
            kind: Kind::Installation,
            name: format!("{plugin}/tool"),
            source: Source::Crate {
                name: "tool".to_owned(),
                version: version.to_owned(),
                from: CrateFrom::CratesIo,
            },
            hash: None,
        };
        let hash = subject(&program("p", "1.0.0")).unwrap();
        let mine = Records { records: vec![Record { hash, ..record("", "me") }], origin: None };
        let all = [(Utf8PathBuf::from("f"), mine)];
        let entries = [program("p", "1.0.0"), program("q", "1.0.0"), program("p", "1.0.1")];
        assert_eq!(unaudited(&entries, &all), [&entries[2]]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for text in ["[[audit]]\n", "[[audit]]\nhash = \"x\"\n", "hat = 1\n", "["] {
            assert!(!Records::parse("f".into(), text).unwrap_err().is_empty(), "{text}");
        }
    }

    #[test]
    fn imported_files_have_names_that_tell_them_apart() {
        let one = imported_name("https://example.com/team/audits.git");
        assert!(one.starts_with("audits-git-"), "{one}");
        assert_ne!(one, imported_name("https://example.com/other/audits.git"));
        assert!(!imported_name("../../x").contains('/'));
    }
}
