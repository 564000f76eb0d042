//! How a sub-agent thinks: one small trait in front of everything that answers as a model.
//!
//! A [`Request`] with the conversation, tools, an output schema and limits goes in; a stream of [`Event`]s with text,
//! thoughts, tool calls, usage and a stop reason comes out. What lies between is a [`Provider`].
//!
//! ```
//! use agents_model::{Message, Provider, Request, Turn, script::{ScriptFile, ScriptProvider}};
//! use futures_util::TryStreamExt;
//! use tokio_util::sync::CancellationToken;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let script = ScriptFile::parse_toml("[[replies]]\ntext = \"Hello!\"")?;
//! let provider = ScriptProvider::new("script", script);
//! let request = Request::new("any").with_message(Message::user("Say hello"));
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let mut events = provider.stream(request, CancellationToken::new()).await?;
//! let mut turn = Turn::default();
//! while let Some(event) = events.try_next().await? {
//!     turn.push(event);
//! }
//! assert_eq!(turn.message.text(), "Hello!");
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`message`] | the conversation, each message kept with its encoded form ([`Sealed`]) |
//! | [`request`] | what is asked: tools, choice, schema, effort, deadlines |
//! | [`event`] | what comes back, and [`Turn`], all of it put together |
//! | [`provider`] | the trait |
//! | [`catalogue`], [`cost`] | what is known of models, and what their answers cost |
//! | [`select`] | which model an agent runs on, and why |
//! | [`settings`] | the providers of `config.toml`, of customary variables and of installed hosts |
//! | [`keys`] | keys from the environment, a keyring or a command, and nowhere else |
//! | [`host`], [`acp`] | programs that answer as a model: an installed host, any ACP agent |
//! | [`open`] | from settings to providers that can be asked |
//! | [`mod@find`] | all of that in one call, for programs that embed us |
//! | [`error`] | what went wrong, as a type, without a key in it |
//! | [`lines`] | text in lines, none of which is longer than agreed |
//! | [`sse`] | server-sent events from bytes that may be cut anywhere |
//! | [`wire`] | the wire formats, pure: a request to bytes, bytes to events |
//! | [`retry`] | when to ask again, pure |
//! | `http` | providers over HTTP (feature `http`, on by default) |
//! | [`script`] | a model that says what a file tells it to |
//! | `endpoint` | the same over real HTTP, in all wire formats (feature `endpoint`) |
//!
//! | feature | default | brings |
//! |---|---|---|
//! | `providers` | yes | settings, keys, the catalogue, and programs that answer as a model |
//! | `http` | with `providers` | providers over HTTP, and with them TLS |
//! | `endpoint` | no | the scripted model over real HTTP, for tests |
//! | `keyring` | no | keys from the keyring of the system |
//!
//! What all providers share (permits, attempts, deadlines, cancellation) is in `answer`: a new one is a `Source`
//! of events.

mod answer;
#[cfg(feature = "endpoint")]
pub mod endpoint;
pub mod error;
pub mod event;
#[cfg(feature = "http")]
pub mod http;
pub mod lines;
pub mod message;
pub mod provider;
pub mod request;
pub mod retry;
pub mod script;
pub mod sse;
pub mod wire;

// Which provider, which model, at what price.
#[cfg(feature = "providers")]
pub mod acp;
#[cfg(feature = "providers")]
pub mod catalogue;
#[cfg(feature = "providers")]
mod child;
#[cfg(feature = "providers")]
pub mod cost;
#[cfg(feature = "providers")]
pub mod find;
#[cfg(feature = "providers")]
pub mod host;
#[cfg(feature = "providers")]
pub mod keys;
#[cfg(feature = "providers")]
pub mod open;
#[cfg(test)]
mod schemas;
#[cfg(feature = "providers")]
pub mod select;
#[cfg(feature = "providers")]
pub mod settings;

#[cfg(feature = "http")]
pub use self::http::HttpProvider;
pub use self::{
    error::{ModelError, Problem},
    event::{Event, StopReason, Turn, Usage},
    message::{Message, Part, Role, Sealed, ToolCall, ToolInput, ToolResult},
    provider::{EventStream, Hands, ModelInfo, Provider},
    request::{Deadlines, Effort, OutputSchema, OwnRights, Request, ToolChoice, ToolSpec, Work},
    retry::RetryPolicy,
    wire::{Dialect, Wire},
};
