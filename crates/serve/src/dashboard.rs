//! The door for people: a page in a browser on this machine.
//!
//! | module | holds |
//! |---|---|
//! | `routes` | the addresses below the token, and what is refused there |
//! | `watch` | one watcher for all pages that are open; none when there is none |
//! | `story` | what happened in a task, piece by piece |
//! | `page/` | the page itself: HTML, a style sheet and modules, as they are sent |
//!
//! What is shown are the documents that commands print with `--json`, and what can be done is what commands do: the [`Sight`] of the
//! program has both. The page is sent nothing that would have to be trusted: it makes text of everything.
//!
//! Whoever knows the address knows the token, which is its first part. [`http`] says who else is turned away.

mod routes;
mod story;
mod watch;

use std::{io, sync::Arc};

use agents_task::{TaskId, broker::Reply, runner::Unavailable, transcript::Store};
use serde::Deserialize;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::http::{self, Guard, Said, Token};

/// Something that can be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Topic {
    /// All tasks, as a tree.
    Tasks,
    /// The questions that wait for an answer.
    Asks,
    /// All runs of plans.
    Plans,
    /// One task, without its story.
    Task(TaskId),
    /// One run of a plan, as a picture.
    Plan(String),
    /// The plugins here, and why each of them is active or not.
    Plugins,
    /// One of them in depth.
    Plugin(String),
    /// What `sync` would change.
    Changes,
    /// The agents here, and who stands before whom.
    Agents,
}

impl Topic {
    /// By its word and, for one of many, its name.
    fn parse(word: &str, name: Option<&str>) -> Option<Self> {
        Some(match (word, name) {
            ("tasks", None) => Self::Tasks,
            ("asks", None) => Self::Asks,
            ("plans", None) => Self::Plans,
            ("plugins", None) => Self::Plugins,
            ("changes", None) => Self::Changes,
            ("agents", None) => Self::Agents,
            ("task", Some(name)) => Self::Task(TaskId::parse(name)?),
            ("plan", Some(name)) => Self::Plan(name.to_owned()),
            ("plugin", Some(name)) => Self::Plugin(name.to_owned()),
            _ => return None,
        })
    }

    /// What its events are called.
    fn word(&self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Asks => "asks",
            Self::Plans => "plans",
            Self::Task(_) => "task",
            Self::Plan(_) => "plan",
            Self::Plugins => "plugins",
            Self::Plugin(_) => "plugin",
            Self::Changes => "changes",
            Self::Agents => "agents",
        }
    }
}

/// Something that can be done.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "do", deny_unknown_fields)]
pub enum Act {
    /// End a task, with everything that it started.
    CancelTask {
        /// Which.
        task: TaskId,
    },
    /// Go on from a task that has ended.
    ResumeTask {
        /// Which.
        task: TaskId,
        /// What it is told.
        prompt: String,
    },
    /// Answer a question.
    Answer {
        /// Which.
        ask: String,
        /// For how long.
        reply: Reply,
    },
    /// Let nothing more of a run start.
    PausePlan {
        /// Which.
        run: String,
    },
    /// Let it go on.
    ResumePlan {
        /// Which.
        run: String,
    },
    /// End a run, or one of its tasks.
    CancelPlan {
        /// Which.
        run: String,
        /// Only this one.
        #[serde(default)]
        task: Option<String>,
    },
}

/// What the program shows and does. Everything here may take a while, and is asked for on a thread that may wait.
pub trait Sight: Send + Sync {
    /// The document about something.
    ///
    /// # Errors
    /// There is no such thing, or it cannot be told.
    fn look(&self, topic: &Topic) -> Result<Value, Unavailable>;

    /// What is different as soon as [`look`](Self::look) would show something else, for less than a look costs.
    fn mark(&self, topic: &Topic) -> u64;

    /// Does something, and says in a line what came of it.
    ///
    /// # Errors
    /// It was not done.
    fn act(&self, act: Act) -> Result<String, Unavailable>;

    /// Where the stories of tasks are.
    fn transcripts(&self) -> &Store;
}

/// The address of the page, to be told to the user and nobody else.
#[must_use]
pub fn address(port: u16, token: &Token) -> String {
    format!("http://127.0.0.1:{port}/{}/", token.reveal())
}

/// Serves the page until `cancel` says so.
///
/// # Errors
/// The port is not there any more.
pub async fn serve(
    sight: Arc<dyn Sight>,
    listener: TcpListener,
    token: Token,
    cancel: CancellationToken,
) -> io::Result<()> {
    let port = listener.local_addr()?.port();
    serve_at(sight, (listener, port), token, cancel).await
}

/// The same for whoever comes in some other way, and believes that it is at this port.
#[doc(hidden)]
pub async fn serve_at<L>(
    sight: Arc<dyn Sight>,
    (listener, port): (L, u16),
    token: Token,
    cancel: CancellationToken,
) -> io::Result<()>
where
    L: axum::serve::Listener,
    L::Addr: std::fmt::Debug,
{
    let guard = Guard::new(token, Said::InPath, port);
    http::serve(listener, guard, routes::router(sight), &cancel).await
}
