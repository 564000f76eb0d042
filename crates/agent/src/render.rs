//! From the one definition to a file of any dialect, with a report of what that dialect cannot say.
//!
//! ```
//! use agents_agent::{definition::{Dialect, Source}, parse::{Input, Strictness, parse}, render::render};
//! let text = "---\nname: reviewer\ndescription: Reviews\nmodel: gpt-5.5\nmaxTurns: 20\n---\nYou review.\n";
//! let (definition, _) = parse(&Input {
//!     file: "reviewer.md".into(),
//!     text,
//!     dialect: Dialect::Claude,
//!     source: Source::Project,
//!     strictness: Strictness::Lenient,
//! });
//! let codex = render(&definition.unwrap(), Dialect::Codex);
//! assert_eq!(codex.file_name, "reviewer.toml");
//! assert_eq!(
//!     codex.text,
//!     r#"name = "reviewer"
//! description = "Reviews"
//! developer_instructions = """
//! You review.
//! """
//! model = "gpt-5.5"
//! "#
//! );
//! let lost: Vec<String> = codex.losses.iter().map(ToString::to_string).collect();
//! assert_eq!(lost, ["the limit of turns cannot be expressed there: the host decides"]);
//! ```

use agents_system::cache::digest;

use crate::definition::{AgentDefinition, Dialect, Origin};

mod loss;
mod lower;
mod tools;
mod write;

pub use loss::{Field, Instead, Loss};
pub(crate) use write::{separated, value};

/// A definition as a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// The name of the file.
    pub file_name: String,
    /// What it says.
    pub text: String,
    /// What a reader of the dialect takes it for. Where it differs from the definition, a loss says why, or both mean the same.
    pub kept: AgentDefinition,
    /// What cannot be said.
    pub losses: Vec<Loss>,
}

/// Writes a definition down.
#[must_use]
pub fn render(definition: &AgentDefinition, dialect: Dialect) -> Rendered {
    let (mut kept, losses) = lower::lower(definition, dialect);
    let text = write::write(&kept, dialect.grammar());
    let file_name = dialect.file_name(kept.name.as_str());
    kept.origin = Origin {
        dialect,
        file: Some(file_name.clone().into()),
        digest: digest(text.as_bytes()),
        source: kept.origin.source,
    };
    Rendered { file_name, text, kept, losses: losses.0 }
}

/// What a dialect cannot say of a definition.
#[must_use]
pub fn losses(definition: &AgentDefinition, dialect: Dialect) -> Vec<Loss> {
    lower::lower(definition, dialect).1.0
}

/// What is left of a definition in a dialect, and what is lost.
pub(crate) fn lowered(
    definition: &AgentDefinition,
    dialect: Dialect,
) -> (AgentDefinition, Vec<Loss>) {
    let (kept, losses) = lower::lower(definition, dialect);
    (kept, losses.0)
}
