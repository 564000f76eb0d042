//! What can go wrong with sub-agents.

use agents_system::{
    explain::{Code, ErrorKind, Explain},
    finding::Finding,
};
use camino::Utf8PathBuf;

use crate::{id::TaskId, limits::Limit, refusal::Refused, transcript::TranscriptError};

/// What can go wrong with sub-agents.
#[derive(Debug, thiserror::Error)]
pub enum SubAgentError {
    /// A file is not a definition.
    #[error("`{path}` is not a definition of an agent")]
    Parse {
        /// The file.
        path: Utf8PathBuf,
        /// Why not.
        findings: Vec<Finding>,
    },
    /// Something may not be, or is not what it must be.
    #[error("{0}")]
    Invalid(String),
    /// There is no such definition, task or transcript.
    #[error("there is no {what} `{name}`")]
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// By which name.
        name: String,
    },
    /// It could not be started, or broke down.
    #[error("{0}")]
    Spawn(String),
    /// The checks before the start say no.
    #[error(transparent)]
    Refused(Refused),
    /// As many run as may.
    #[error("{active} of {max} sub-agents run: there is no place for another one")]
    ConcurrencyLimit {
        /// How many run, or are reserved for.
        active: usize,
        /// How many may.
        max: usize,
    },
    /// It was told to end, and did.
    #[error("it was cancelled")]
    Cancelled,
    /// It would have gone too far.
    #[error("it was stopped: its {0} ran out")]
    OutOfLimits(Limit),
    /// The model did not answer, or would not.
    #[error("{0}")]
    Llm(String),
    /// It ran and failed, for a reason of its own.
    #[error("{0}")]
    Failed(String),
    /// A transcript cannot be had.
    #[error(transparent)]
    Transcript(TranscriptError),
    /// The beginning of an id is that of several.
    #[error("`{prefix}` could be {} sub-agents", candidates.len())]
    AmbiguousId {
        /// What was asked for.
        prefix: String,
        /// Those that it could be.
        candidates: Vec<TaskId>,
    },
    /// What is to be resumed has not ended.
    #[error("sub-agent `{0}` is still running")]
    StillRunning(TaskId),
    /// Nobody waits for the answer.
    #[error("{0}")]
    Other(String),
}

impl SubAgentError {
    pub(super) fn no_task(id: &str) -> Self {
        Self::NotFound { what: "sub-agent", name: id.to_owned() }
    }

    pub(super) fn no_definition(name: &str) -> Self {
        Self::NotFound { what: "agent", name: name.to_owned() }
    }
}

impl From<TranscriptError> for SubAgentError {
    fn from(error: TranscriptError) -> Self {
        match error {
            TranscriptError::NotFound(name) => Self::NotFound { what: "transcript", name },
            TranscriptError::Ambiguous { prefix, candidates } => {
                Self::AmbiguousId { prefix, candidates }
            }
            other => Self::Transcript(other),
        }
    }
}

impl Explain for SubAgentError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Parse { .. } | Self::NotFound { .. } | Self::AmbiguousId { .. } => {
                ErrorKind::Usage
            }
            Self::StillRunning(_) | Self::Invalid(_) => ErrorKind::Usage,
            Self::Refused(refused) => refused.kind(),
            Self::Transcript(error) => error.kind(),
            Self::Cancelled => ErrorKind::Cancelled,
            Self::Llm(_) => ErrorKind::Network,
            Self::Spawn(_)
            | Self::ConcurrencyLimit { .. }
            | Self::OutOfLimits(_)
            | Self::Failed(_)
            | Self::Other(_) => ErrorKind::Failure,
        }
    }

    fn code(&self) -> Option<Code> {
        Some(match self {
            Self::Parse { .. } => Code::AgentInvalid,
            Self::NotFound { what: "agent", .. } => Code::UnknownAgent,
            Self::NotFound { .. } => Code::UnknownTask,
            Self::AmbiguousId { .. } => Code::AmbiguousId,
            Self::StillRunning(_) => Code::StillRunning,
            Self::Refused(refused) => return refused.code(),
            Self::Transcript(error) => return error.code(),
            Self::ConcurrencyLimit { .. } => Code::NoSlot,
            Self::OutOfLimits(_) => Code::OutOfLimits,
            Self::Invalid(_)
            | Self::Spawn(_)
            | Self::Cancelled
            | Self::Llm(_)
            | Self::Failed(_)
            | Self::Other(_) => return None,
        })
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::ConcurrencyLimit { .. } => {
                Some("wait for one to end, cancel one, or raise `max_concurrent`".to_owned())
            }
            Self::Refused(refused) => refused.hint(),
            Self::Transcript(error) => error.hint(),
            Self::AmbiguousId { candidates, .. } => {
                let shown: Vec<String> = candidates.iter().map(|it| format!("`{it}`")).collect();
                Some(format!("write more of it: {}", shown.join(", ")))
            }
            _ => None,
        }
    }

    fn findings(&self) -> &[Finding] {
        match self {
            Self::Parse { findings, .. } => findings,
            _ => &[],
        }
    }
}
