//! What one call may use.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use agents_system::{process::keeper::Keeper, sandbox::Network, span};
use camino::Utf8PathBuf;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::{artifacts::Artifacts, confine::Area, tool::ToolError};

/// Everything that a call gets from the agent that makes it. Values of this one call: nothing in it is shared with others that
/// could change it.
#[derive(Clone)]
pub struct CallContext {
    /// The directories that it may work in, and where it stands.
    pub area: Area,
    /// Variables that programs get besides the few that all get: the secrets that were granted. Asked for anew before every call.
    pub secrets: Vec<(String, SecretString)>,
    /// Other variables that programs get: nothing that nobody may see.
    pub variables: Vec<(String, String)>,
    /// When it must have ended.
    pub deadline: Instant,
    /// Whether somebody wants it to end.
    pub cancelled: CancellationToken,
    /// Where what is too long for a model is kept.
    pub artifacts: Arc<dyn Artifacts>,
    /// How programs that it starts are confined by the system.
    pub confinement: Confinement,
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext")
            .field("cwd", &self.area.cwd())
            .field("secrets", &self.secrets.len())
            .field("confinement", &self.confinement)
            .finish_non_exhaustive()
    }
}

impl CallContext {
    /// A call in this area that may take this long, with nothing granted, in the sandbox.
    #[must_use]
    pub fn new(area: Area, artifacts: Arc<dyn Artifacts>, time: Duration) -> Self {
        Self {
            area,
            secrets: Vec::new(),
            variables: Vec::new(),
            deadline: span::after(Instant::now(), time),
            cancelled: CancellationToken::new(),
            artifacts,
            confinement: Confinement::Sandbox(Sandbox::default()),
        }
    }

    /// When a part of the call must have ended that may take this long: never later than the call itself.
    #[must_use]
    pub fn deadline_within(&self, time: Duration) -> Instant {
        self.deadline.min(span::after(Instant::now(), time))
    }

    /// An error if it is time to stop.
    pub fn check(&self) -> Result<(), ToolError> {
        if self.cancelled.is_cancelled() {
            Err(ToolError::Cancelled)
        } else if Instant::now() >= self.deadline {
            Err(ToolError::TimedOut)
        } else {
            Ok(())
        }
    }

    /// Waits for something, but not past the deadline or a cancellation.
    pub async fn bounded<T>(&self, work: impl Future<Output = T>) -> Result<T, ToolError> {
        tokio::select! {
            biased;
            () = self.cancelled.cancelled() => Err(ToolError::Cancelled),
            () = tokio::time::sleep_until(self.deadline.into()) => Err(ToolError::TimedOut),
            done = work => Ok(done),
        }
    }

    /// Runs something that blocks on a thread of its own, but does not wait for it past the deadline or a cancellation. The work
    /// gets a copy of the context, to look now and then whether it is still wanted.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let own = self.clone();
        let done = self.bounded(tokio::task::spawn_blocking(move || work(&own))).await?;
        done.unwrap_or_else(|_| Err(ToolError::failed("the tool broke down: this is a bug in it")))
    }
}

/// How programs are confined by the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confinement {
    /// They are not: for definitions that the user trusts.
    None,
    /// By the kernel, or they do not run at all: for everybody else.
    Sandbox(Sandbox),
}

/// What programs in the sandbox may use besides the roots of the call, a temporary directory, the system's programs and the Rust
/// toolchains.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sandbox {
    /// What they may read, too.
    pub read: Vec<Utf8PathBuf>,
    /// What they may change, too.
    pub write: Vec<Utf8PathBuf>,
    /// Whether they may use the network.
    pub network: Network,
}

/// What programs that outlive a call are started with.
#[derive(Debug, Clone)]
pub struct Ground {
    /// Ends them with everything that they started.
    pub keeper: Keeper,
    /// Where they run.
    pub area: Area,
    /// What the system lets them do.
    pub confinement: Confinement,
}
