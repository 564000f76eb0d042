//! Plugins: manifests, predicates, registries and the active set.
//!
//! A *plugin* is a manifest with its contributions (skills, agents, hooks, MCP servers, subcommands). A *registry* is
//! a place plugins come from. A *predicate* is the gate that says whether a contribution applies here. The
//! *active set* is what is left of all plugins when every gate has been asked, with the reason for each decision.
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
//! | [`consent`] | what waits for the user's word, and what it would bring |
//! | [`confine`] | the sandbox around the programs of a plugin |
//! | [`skills`] | the skills of the active set, on disk |
//! | [`agents`] | where the agents of the active set are |
//! | [`hooks`] | the hooks of the active set, and how long they stay the same |
//! | [`validate`](mod@validate) | checking manifests before they are published |
//!
//! Manifests and predicates are pure: text in, values and findings out.
//!
//! ```
//! use agents_plugin::predicate::{Atom, Gate};
//! let gate = Gate::new(vec!["serde>=1.0".parse()?, Atom::Everywhere], vec!["env(CI)".parse()?]);
//! assert_eq!(gate.to_string(), "any(depends-on(serde>=1.0), depends-on(*)), env(CI)");
//! # Ok::<(), agents_plugin::predicate::PredicateError>(())
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
pub mod validate;

pub use skills::agents;
