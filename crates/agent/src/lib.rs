//! Agent definitions: what an agent is, in every format.
//!
//! An *agent* is a definition that can be run: a name, a description, a prompt, tools, a model, limits. Every coding agent
//! has its own format; here all of them become one [`AgentDefinition`]. What a format cannot express
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
//! Somebody wrote an agent for Claude Code; here it is for Codex, with what Codex cannot be told:
//!
//! ```
//! use agents_agent::{definition::{Dialect, Source}, parse::{Input, Strictness, parse}, render::render};
//!
//! let text = "---
//! name: reviewer
//! description: Use after a change
//! tools: Read, Grep
//! maxTurns: 20
//! ---
//! You look for what is wrong.
//! ";
//! let (dialect, source, strictness) = (Dialect::Claude, Source::Project, Strictness::Strict);
//! let (agent, findings) = parse(&Input { file: "reviewer.md".into(), text, dialect, source, strictness });
//! let agent = agent.ok_or("it is sound")?;
//! assert!(findings.is_empty());
//! assert!(agent.tools.allows("read") && !agent.tools.allows("bash"));
//!
//! let role = render(&agent, Dialect::Codex);
//! assert_eq!(role.file_name, "reviewer.toml");
//! assert!(role.text.contains("You look for what is wrong."));
//! // What is lost is a value, not a surprise.
//! assert!(!role.losses.is_empty());
//! # Ok::<(), &str>(())
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
