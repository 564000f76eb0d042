//! What the program can do, over MCP, ACP and HTTP.
//!
//! A *door* is a protocol: MCP for coding agents, ACP for editors, a dashboard in a browser for people. All of them offer the same: the
//! program brings an [`Offer`], which says what is available in a directory (agents, skills, sources of crates, commands, MCP servers), and
//! [`Terms`], which say how much of it a client may use. A door translates requests into [`Verbs`], and their answers back;
//! no verb knows a protocol, and no protocol is known outside the module of its door.
//!
//! | module | holds |
//! |---|---|
//! | [`offer`] | what a door needs of the program that opens it |
//! | [`verbs`] | what can be asked for, whatever the door: requests in, answers out |
//! | [`tasks`] | the tasks of one connection |
//! | [`declare`] | JSON schemas as compact TypeScript declarations |
//! | [`sessions`] | conversations: tasks that go on from each other |
//! | [`acp`] | the door for editors |
//! | `dashboard` | the door for people: a page in a browser on this machine |
//! | `hearing` | when a client has gone, and how long it is waited for after that |
//! | `http` | who is let in over HTTP |
//! | [`mcp`] | the door for MCP clients; the only module that knows the protocol |
//!
//! | feature | default | brings |
//! |---|---|---|
//! | `http` | yes | doors over HTTP: the page, and MCP for several clients |
//! | `script` | yes | scripts that call tools |
//!
//! Everything that a connection starts ends with it: tasks, the servers behind it, questions that nobody answered. Who comes in asks
//! for tasks within [`Terms::highest`] and gets no right that the program does not have; the value of a secret is told to nobody.
//!
//! A program that has one skill, and a client that asks for it:
//!
//! ```
//! use agents_serve::{Offer, Terms, mcp, offer::{LoadedSkill, SkillCard}};
//! use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
//! # use std::{sync::Arc, time::Duration};
//! # use agents_agent::{AgentDefinition, definition::PermissionMode};
//! # use agents_model::select::{Available, ModelRef};
//! # use agents_serve::{Secrets, offer::{FoundCrate, ServerTools, TypedCommand}};
//! # use agents_task::{Settings, Surroundings, runner::{Equipment, Known, Opened, Unavailable, Wearer}, secret::{Asks, SecretSettings}, transcript::Store};
//! # use agents_tool::{Area, Tool, artifacts::ArtifactDir};
//! # use futures_util::future::{BoxFuture, ready};
//! # use serde_json::{Value, json};
//! # use tokio_util::sync::CancellationToken;
//! # fn nothing<T>() -> Result<T, Unavailable> { Err(Unavailable { message: "there is none here".to_owned(), hint: None }) }
//!
//! struct Notes;
//!
//! impl Offer for Notes {
//!     fn skills(&self) -> BoxFuture<'_, Result<Vec<SkillCard>, Unavailable>> {
//!         let (name, description) = ("queries".to_owned(), "Use when writing SQL".to_owned());
//!         let (plugin, crates) = ("tiny-sql".to_owned(), vec!["tiny-sql".to_owned()]);
//!         Box::pin(ready(Ok(vec![SkillCard { name, description, plugin, crates }])))
//!     }
//!     // ... and what else there is: agents, commands, servers.
//! #     fn surroundings(&self) -> Arc<dyn Surroundings> { Arc::new(Notes) }
//! #     fn place_of(&self, _: &AgentDefinition) -> String { String::new() }
//! #     fn skill(&self, _: String) -> BoxFuture<'_, Result<LoadedSkill, Unavailable>> { Box::pin(ready(nothing())) }
//! #     fn find_crate(&self, _: String, _: Option<String>) -> BoxFuture<'_, Result<FoundCrate, Unavailable>> { Box::pin(ready(nothing())) }
//! #     fn commands(&self) -> Vec<Arc<dyn Tool>> { Vec::new() }
//! #     fn typed(&self) -> Vec<TypedCommand> { Vec::new() }
//! #     fn expand(&self, _: &str, _: &str) -> Option<String> { None }
//! #     fn servers(&self) -> Vec<String> { Vec::new() }
//! #     fn tools_of(&self, _: Vec<String>) -> BoxFuture<'_, ServerTools> { Box::pin(ready(ServerTools::default())) }
//! #     #[cfg(feature = "script")]
//! #     fn interpreter(&self) -> Result<agents_tool::script::Interpreter, Unavailable> { nothing() }
//! #     fn end(&self) -> BoxFuture<'_, ()> { Box::pin(ready(())) }
//! }
//! # impl Surroundings for Notes {
//! #     fn agents(&self) -> Known { Vec::new().into() }
//! #     fn models(&self) -> Vec<Available> { Vec::new() }
//! #     fn open(&self, _: &ModelRef, _: &Area) -> Result<Opened, Unavailable> { nothing() }
//! #     fn area(&self) -> Result<Area, Unavailable> { nothing() }
//! #     fn equip<'a>(&'a self, _: Wearer<'a>) -> BoxFuture<'a, Result<Equipment, Unavailable>> { Box::pin(ready(nothing())) }
//! # }
//! # let scratch = agents_testkit::scratch::Scratch::new();
//! # let dir = &scratch.path("kept");
//! # let terms = Terms {
//! #     settings: Settings::default(),
//! #     highest: PermissionMode::Plan,
//! #     usual: PermissionMode::Plan,
//! #     closed: None,
//! #     allowed: Vec::new(),
//! #     concurrency: 1,
//! #     approval: Duration::from_secs(1),
//! #     artifacts: Arc::new(ArtifactDir::new(dir)),
//! #     transcripts: Store::new(dir),
//! #     secrets: Secrets { settings: Arc::new(SecretSettings::default()), agreed: Vec::new(), background: Asks::Nobody, hear: Box::new(|_| ()) },
//! #     hooks: (Vec::new(), Vec::new()),
//! #     spans: None,
//! # };
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! // Standard input and output in a real program; `terms` say that nobody may change anything.
//! let (client, program) = tokio::io::duplex(64 * 1024);
//! let door = mcp::serve(Arc::new(Notes), terms, tokio::io::split(program), CancellationToken::new());
//! let door = tokio::spawn(door);
//!
//! let (answers, mut asks) = tokio::io::split(client);
//! let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "me", "version": "1"}});
//! for message in [
//!     json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
//!     json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
//!     json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "skills", "arguments": {"query": "sql"}}}),
//! ] {
//!     asks.write_all(format!("{message}\n").as_bytes()).await?;
//! }
//! let mut answers = BufReader::new(answers).lines();
//! while let Some(line) = answers.next_line().await? {
//!     let answer: Value = serde_json::from_str(&line)?;
//!     if answer["id"] == 2 {
//!         assert!(answer.to_string().contains("Use when writing SQL"), "{answer}");
//!         break;
//!     }
//! }
//! // Whoever goes away ends everything that was started for them.
//! drop((asks, answers));
//! door.await??;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod acp;
#[cfg(feature = "http")]
pub mod dashboard;
pub mod declare;
mod hearing;
#[cfg(feature = "http")]
pub mod http;
pub mod mcp;
pub mod offer;
pub mod sessions;
pub mod tasks;
pub mod verbs;

pub use offer::Offer;
pub use tasks::{Secrets, Tasks, Terms};
pub use verbs::Verbs;
