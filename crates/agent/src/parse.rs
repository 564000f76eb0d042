//! From a file of any dialect to the one definition.
//!
//! One reader takes all dialects: it accepts the union of their keys and asks the grammar of the dialect what is its own. A key of
//! another dialect is read and reported; one that nobody knows is kept in `extra` and reported. What cannot be understood and might
//! restrict the agent is an error: a definition never allows more than its author wrote.
//!
//! ```
//! use agents_agent::{definition::{Dialect, Source}, parse::{Input, Strictness, parse}};
//! let text = "---\nname: reviewer\ndescription: Use when: a change is ready\ntools: Read, Bash(git *)\n---\nYou review.\n";
//! let (definition, findings) = parse(&Input {
//!     file: ".claude/agents/reviewer.md".into(),
//!     text,
//!     dialect: Dialect::Claude,
//!     source: Source::Project,
//!     strictness: Strictness::Lenient,
//! });
//! assert_eq!(definition.unwrap().description, "Use when: a change is ready");
//! let said: Vec<&str> = findings.iter().map(|it| it.message.as_str()).collect();
//! assert_eq!(said, [
//!     "the header is not valid YAML and was read line by line",
//!     "`Bash(git *)` restricts the arguments of a tool, which is not enforced here",
//! ]);
//! ```

use agents_system::{
    cache::digest,
    finding::{Finding, Place, Severity},
};
use camino::Utf8Path;

use crate::definition::{AgentDefinition, Dialect, Source};

mod document;
mod fields;
mod keys;
mod schema;
mod settle;
mod tools;
mod values;

pub(crate) use document::Document;
pub(crate) use keys::places;
pub(crate) use schema::language;
pub(crate) use settle::{TASK, dedup, settle};
pub(crate) use tools::NONE;
pub(crate) use values::split_commas;

/// A file that holds a definition.
#[derive(Debug, Clone)]
pub struct Input<'t> {
    /// Where it is. Some dialects name an agent after its file.
    pub file: &'t Utf8Path,
    /// What it says.
    pub text: &'t str,
    /// How.
    pub dialect: Dialect,
    /// Who put it there.
    pub source: Source,
    /// What to do about what is unknown.
    pub strictness: Strictness,
}

/// What to do about keys, tools and levels that are unknown, and restrictions that we do not enforce.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strictness {
    /// They are warnings.
    #[default]
    Lenient,
    /// They are errors.
    Strict,
}

/// Reads a definition. Everything that is wrong with it is among the findings; without an error among them, there is a
/// definition.
#[must_use]
pub fn parse(input: &Input<'_>) -> (Option<AgentDefinition>, Vec<Finding>) {
    let (document, mut findings) = Document::read(input);
    let definition = document.and_then(|document| fields::read(input, &document, &mut findings));
    let sound = findings.iter().all(|finding| finding.severity != Severity::Error);
    (definition.filter(|_| sound), findings)
}

/// Reads a definition from bytes that may be anything.
#[must_use]
pub fn parse_bytes(
    file: &Utf8Path,
    bytes: &[u8],
    dialect: Dialect,
    source: Source,
    strictness: Strictness,
) -> (Option<AgentDefinition>, Vec<Finding>) {
    match str::from_utf8(bytes) {
        Ok(text) => parse(&Input { file, text, dialect, source, strictness }),
        Err(error) => {
            let at = error.valid_up_to();
            let finding = Finding::error(format!("the file is not UTF-8 text (at byte {at})"));
            (None, vec![finding.at(Place::file(file))])
        }
    }
}

fn origin(input: &Input<'_>) -> crate::definition::Origin {
    crate::definition::Origin {
        source: input.source.clone(),
        file: Some(input.file.to_owned()),
        dialect: input.dialect,
        digest: digest(input.text.as_bytes()),
    }
}

#[cfg(test)]
mod tests;
