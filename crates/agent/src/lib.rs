//! Agent definitions: what an agent is, whoever wrote it down.
//!
//! An *agent* is a definition that can be run: a name, a description, a prompt, tools, a model, limits. Every coding agent
//! writes that down in its own way; here all of them become one [`AgentDefinition`]. What a way of writing cannot say
//! is absent, never guessed.
//!
//! | module | holds |
//! |---|---|
//! | [`definition`] | the one definition |
//! | [`dialect`] | the ways of writing it down: what each can say, and where its files are |
//! | [`load`] | reading its file |
//! | [`mod@parse`] | from a file of any dialect to the one definition |
//! | [`deliver`] | which files agents become for the hosts of a workspace |
//! | [`assign`] | changing a definition by the names of its parts |
//! | [`edit`] | changing its file: what changed, and no other byte |
//! | [`mod@render`] | from the one definition to a file of any dialect, with what is lost |
//! | [`tools`] | which tools an agent may use, and the tools' names in all hosts |
//! | [`search`] | where agents may be, and in which order that counts |
//! | [`finder`] | finding them, again and again for nothing when nothing changed |
//! | [`watch`] | being told when they change |
//! | [`agents`] | what was found: who wins each name, who lost it, what is wrong |
//! | [`shelf`] | one directory of definitions |
//! | [`trust`] | what a definition may say, by who put it there |
//! | [`bundled`] | the agents that are in the program |
//! | [`unpack`] | writing those as files |
//! | [`validate`](mod@validate) | checking definitions before they are used |
//! | [`select`](mod@select) | choosing one when nobody named one |
//! | [`commands`] | the hosts' workflow commands |
//!
//! ```
//! use agents_agent::tools::{Tools, ToolPattern};
//! let tools = Tools { allow: Some(vec![ToolPattern::new("read"), ToolPattern::new("bash")]), deny: vec![ToolPattern::new("bash")] };
//! assert!(tools.allows("read"));
//! assert!(!tools.allows("bash"), "what is taken away stays away");
//! assert!(!tools.allows("write"));
//! ```

pub mod agents;
pub mod assign;
pub mod bundled;
pub mod commands;
pub mod definition;
pub mod deliver;
pub mod dialect;
pub mod edit;
mod entries;
pub mod finder;
mod hooks;
mod installed;
pub mod load;
mod mcp;
mod order;
pub mod parse;
pub mod render;
pub mod search;
pub mod select;
pub mod shelf;
pub mod tools;
pub mod trust;
pub mod unpack;
pub mod validate;
pub mod watch;

pub use agents::{Agents, Candidate, Standing, UnknownAgent};
pub use definition::{AgentDefinition, AgentName};
pub use finder::{DiscoverError, Finder, discover};
pub use search::Search;
pub use watch::{News, Subscription, Watch};
