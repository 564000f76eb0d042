//! Plugins: manifests, predicates, registries and the active set.
//!
//! A *plugin* is a manifest with its contributions (skills, agents, hooks, MCP servers, subcommands). A *registry* is
//! a place plugins come from. A *predicate* is the gate that says whether a contribution applies here. The
//! *active set* is what remains of all plugins after evaluating every gate, with the reason for each decision.
//!
//! | module | holds |
//! |---|---|
//! | [`manifest`] | what a manifest says, checked, and the parser that points at every mistake |
//! | [`predicate`] | gates: text, evaluation, witnesses, custom predicates |
//! | [`skill`] | `SKILL.md` |
//! | [`config`] | the user's registries and their word about plugins |
//! | [`scan`], [`embedded`] | finding plugins in directories and in crates |
//! | [`catalog`] | all plugins that there are, loaded once per change |
//! | [`probes`], [`answers`] | the outside world as predicates see it |
//! | [`active`], [`explain`] | decisions and their reasons |
//! | [`consent`] | what needs the user's consent, and what it would bring |
//! | [`confine`] | the sandbox around the programs of a plugin |
//! | [`skills`] | the skills of the active set, on disk |
//! | [`agents`] | where the agents of the active set are |
//! | [`hooks`] | the hooks of the active set, and how long they stay the same |
//! | [`validate`](mod@validate) | checking manifests before they are published |
//!
//! Manifests and predicates are pure: text in, values and findings out.
//!
//! ```
//! use agents_plugin::manifest::{Manner, parse::parse_manifest};
//!
//! let text = r#"
//! name = "sql-notes"
//! crates = ["tiny-sql>=0.3"]
//!
//! [subcommand.queries]
//! description = "Show the queries"
//! command = { executable = "git", args = ["grep", "SELECT"] }
//! "#;
//! let parsed = parse_manifest("SYMPOSIUM.toml".into(), text, Manner::Registry, None);
//! let manifest = parsed.manifest.ok_or("it is sound")?;
//! assert_eq!(manifest.gate.to_string(), "depends-on(tiny-sql>=0.3)");
//! assert_eq!(manifest.subcommands.len(), 1);
//!
//! // A mistake has a place, and what was probably meant.
//! let wrong = parse_manifest("SYMPOSIUM.toml".into(), &text.replace("crates", "crate"), Manner::Registry, None);
//! assert!(wrong.manifest.is_none());
//! assert!(wrong.findings[0].message.contains("`crate`"), "{:?}", wrong.findings);
//! # Ok::<(), &str>(())
//! ```

pub mod active;
pub mod answers;
pub mod catalog;
pub mod config;
pub mod confine;
pub mod consent;
pub mod embedded;
pub mod explain;
pub mod fetched;
pub mod hooks;
pub mod manifest;
pub mod plugin;
pub mod predicate;
pub mod probes;
pub mod scan;
pub mod skill;
pub mod skills;
#[cfg(test)]
mod testing;
pub mod validate;

pub use skills::agents;
