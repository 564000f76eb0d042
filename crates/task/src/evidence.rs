//! What a result rests on, checked.
//!
//! A structured result may have claims: texts below a key `evidence`, anywhere in it. Each names something that this task has really
//! done or seen:
//!
//! | claim | names |
//! |---|---|
//! | `#3`, or the id of a call | a call of a tool that was made, and that did not fail |
//! | `src/lib.rs@4f1c09aa31bd` | a file as it is now, by the beginning of its hash |
//! | `9d0e1f22ab34` | a command with what it printed, by the beginning of its digest |
//!
//! An agent whose schema has such a key is shown these marks under the results of its tools.

use agents_system::{
    cache::{digest, hex},
    digits::decimal,
};
use agents_tool::{Area, Subject};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The key that claims stand below.
const KEY: &str = "evidence";
/// How many digits of a hash are shown, and must be cited at least.
const DIGITS: usize = 12;
/// Larger files are not hashed.
const MAX_FILE: u64 = 32 * 1024 * 1024;

/// What a result rests on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Evidence {
    /// Its claims, and what became of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// What speaks against it as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Claim {
    /// As it was written.
    pub text: String,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is so.
    Holds,
    /// No such call was made.
    NoSuchCall,
    /// The call was made, and failed.
    CallFailed,
    /// There is no such file, or it may not be read.
    NoSuchFile,
    /// The file is not like that.
    FileDiffers,
    /// Nothing of that is known.
    Unknown,
}

/// What speaks against a report as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// The agent had tools and used none.
    NoToolUsed,
}

/// A call of a tool that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Made {
    id: String,
    failed: bool,
    command: Option<String>,
}

/// What a task has done so far.
#[derive(Debug, Clone, Default)]
pub struct Record {
    made: Vec<Made>,
}

impl Record {
    /// A call was made. Gives the mark that it can be cited by.
    pub fn add(
        &mut self,
        id: &str,
        subject: Option<&Subject>,
        content: &str,
        failed: bool,
        area: &Area,
    ) -> String {
        let command = match subject {
            Some(Subject::Command(command)) => Some(of_command(command, content)),
            _ => None,
        };
        let mut mark = format!("[evidence: #{}", self.made.len() + 1);
        if let Some(digest) = &command {
            mark.push_str(&format!(" or {}", &digest[..DIGITS]));
        }
        if let Some(Subject::Paths(paths)) = subject {
            for path in paths {
                if let Some(hash) = of_file(area, path.as_str()) {
                    mark.push_str(&format!(" or {path}@{}", &hash[..DIGITS]));
                }
            }
        }
        mark.push(']');
        self.made.push(Made { id: id.to_owned(), failed, command });
        mark
    }

    /// How many calls were made.
    #[must_use]
    pub fn len(&self) -> usize {
        self.made.len()
    }

    /// Whether none was made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.made.is_empty()
    }

    /// Checks the claims of a result.
    #[must_use]
    pub fn check(&self, result: &Value, area: &Area) -> Vec<Claim> {
        let mut texts = Vec::new();
        claims(result, Below::Anything, &mut texts);
        let judged = texts.into_iter().map(|text| {
            let verdict = self.judge(text.trim(), area);
            Claim { text, verdict }
        });
        judged.collect()
    }

    fn judge(&self, claim: &str, area: &Area) -> Verdict {
        if let Some(number) = claim.strip_prefix('#') {
            let at = decimal::<usize>(number).and_then(|it| it.checked_sub(1));
            return made(at.and_then(|at| self.made.get(at)));
        }
        if let Some(call) = self.made.iter().find(|it| it.id == claim) {
            return made(Some(call));
        }
        let is_hash =
            |text: &str| text.len() >= DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if let Some((path, hash)) = claim.rsplit_once('@')
            && is_hash(hash)
        {
            return match of_file(area, path) {
                None => Verdict::NoSuchFile,
                Some(now) if now.starts_with(&hash.to_lowercase()) => Verdict::Holds,
                Some(_) => Verdict::FileDiffers,
            };
        }
        let claim = claim.to_lowercase();
        let said = |it: &Made| it.command.as_ref().is_some_and(|it| it.starts_with(&claim));
        // What a failed command printed is still what it printed.
        match is_hash(&claim) && self.made.iter().any(said) {
            true => Verdict::Holds,
            false => Verdict::Unknown,
        }
    }
}

fn made(call: Option<&Made>) -> Verdict {
    match call {
        None => Verdict::NoSuchCall,
        Some(call) if call.failed => Verdict::CallFailed,
        Some(_) => Verdict::Holds,
    }
}

fn of_command(command: &str, content: &str) -> String {
    hex(&digest(format!("{command}\n{content}").as_bytes()))
}

fn of_file(area: &Area, path: &str) -> Option<String> {
    let place = area.locate(path).ok()?;
    Some(hex(&digest(&area.read(&place, MAX_FILE).ok()?)))
}

#[derive(Clone, Copy)]
enum Below {
    Anything,
    Evidence,
}

fn claims(value: &Value, below: Below, found: &mut Vec<String>) {
    match (value, below) {
        (Value::String(text), Below::Evidence) => found.push(text.clone()),
        (Value::Array(items), below) => items.iter().for_each(|it| claims(it, below, found)),
        (Value::Object(members), below) => {
            for (key, value) in members {
                claims(value, if key == KEY { Below::Evidence } else { below }, found);
            }
        }
        _ => {}
    }
}

/// Whether a schema has a place for claims.
#[must_use]
pub fn is_wanted(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            let named = members.get("properties").and_then(Value::as_object);
            named.is_some_and(|it| it.contains_key(KEY)) || members.values().any(is_wanted)
        }
        Value::Array(items) => items.iter().any(is_wanted),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use agents_testkit::scratch::Scratch;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_never_happened_is_told_from_what_did() {
        let scratch = Scratch::new();
        scratch.write("a.rs", "fn a() {}");
        let area = Area::workspace(scratch.root()).unwrap();
        let mut record = Record::default();
        let command = Subject::Command("cargo test".to_owned());
        let of_command = record.add("call_a", Some(&command), "ok", false, &area);
        let paths = Subject::Paths(vec!["a.rs".into()]);
        let of_file = record.add("call_b", Some(&paths), "fn a() {}", false, &area);
        record.add("call_c", None, "no", true, &area);
        let cited = |mark: &str| mark.trim_end_matches(']').rsplit(' ').next().unwrap().to_owned();
        let (of_command, of_file) = (cited(&of_command), cited(&of_file));
        assert!(of_file.starts_with("a.rs@"), "{of_file}");
        let result = json!({
            "summary": "not a claim: #9",
            "evidence": ["#1", "call_b", of_command, of_file],
            "findings": [{ "evidence": "#3" }, { "evidence": ["#4", "call_x", "0123456789ab"] }],
            "files": { "evidence": ["b.rs@0123456789ab", "a.rs@0123456789ab", "/etc/passwd@0123456789ab"] },
        });
        let verdicts: Vec<Verdict> =
            record.check(&result, &area).into_iter().map(|it| it.verdict).collect();
        use Verdict::*;
        assert_eq!(
            verdicts,
            [
                Holds,
                Holds,
                Holds,
                Holds,
                CallFailed,
                NoSuchCall,
                Unknown,
                Unknown,
                NoSuchFile,
                FileDiffers,
                NoSuchFile
            ]
        );
        scratch.write("a.rs", "fn b() {}");
        let changed = record.check(&json!({ "evidence": [of_file] }), &area);
        assert_eq!(changed[0].verdict, FileDiffers, "as it is now");
    }

    #[test]
    fn a_schema_says_whether_claims_are_wanted() {
        let nested = json!({ "properties": { "findings": { "items": { "properties": { "evidence": {} } } } } });
        assert!(is_wanted(&nested));
        assert!(!is_wanted(&json!({ "properties": { "summary": { "const": "evidence" } } })));
    }
}
