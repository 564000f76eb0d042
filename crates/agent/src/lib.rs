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
//! | [`parse`] | from a file of any dialect to the one definition |
//! | [`edit`] | changing its file: what changed, and no other byte |
//! | [`render`] | from the one definition to a file of any dialect, with what is lost |
//! | [`tools`] | which tools an agent may use, and the tools' names in all hosts |
//!
//! ```
//! use agents_agent::tools::{Tools, ToolPattern};
//! let tools = Tools { allow: Some(vec![ToolPattern::new("read"), ToolPattern::new("bash")]), deny: vec![ToolPattern::new("bash")] };
//! assert!(tools.allows("read"));
//! assert!(!tools.allows("bash"), "what is taken away stays away");
//! assert!(!tools.allows("write"));
//! ```

pub mod definition;
pub mod dialect;
pub mod edit;
mod entries;
mod hooks;
pub mod load;
mod mcp;
pub mod parse;
pub mod render;
pub mod tools;

pub use definition::{AgentDefinition, AgentName};
