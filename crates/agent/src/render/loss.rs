//! What a host cannot be told about an agent, and what happens instead.

use std::fmt;

use serde::Serialize;

/// A part of a definition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Field {
    /// Its name.
    Name,
    /// When to use it.
    Description,
    /// Which tools it may use.
    Tools,
    /// With which arguments it may use a tool.
    ToolArguments,
    /// Which tools it may not use.
    DeniedTools,
    /// Which agents it may start.
    Spawns,
    /// Its model.
    Model,
    /// How hard it thinks.
    Effort,
    /// What its result looks like.
    Output,
    /// Whether its parent waits.
    Waiting,
    /// Where it works.
    Isolation,
    /// What it may do without asking.
    PermissionMode,
    /// How many calls of the model.
    Turns,
    /// How long.
    Time,
    /// How many tokens.
    Tokens,
    /// How much money.
    Cost,
    /// How many messages are kept.
    History,
    /// How long it has a secret.
    Grant,
    /// Which skills it gets.
    Skills,
    /// Which skills it does not get.
    ExcludedSkills,
    /// Its MCP servers.
    McpServers,
    /// Its hooks.
    Hooks,
    /// Where it remembers.
    Memory,
    /// Its secrets.
    Secrets,
    /// Its rank when nobody named an agent.
    Priority,
    /// With whom it competes.
    Mutex,
    /// Something that only the dialect knows in which it was written.
    Extra(String),
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "the name",
            Self::Description => "the description",
            Self::Tools => "the list of tools",
            Self::ToolArguments => "the arguments of tools",
            Self::DeniedTools => "the denied tools",
            Self::Spawns => "which agents it may start",
            Self::Model => "the model",
            Self::Effort => "the effort",
            Self::Output => "the output schema",
            Self::Waiting => "whether its parent waits",
            Self::Isolation => "the isolation",
            Self::PermissionMode => "the permission mode",
            Self::Turns => "the limit of turns",
            Self::Time => "the time limit",
            Self::Tokens => "the limit of tokens",
            Self::Cost => "the limit of cost",
            Self::History => "the limit of the history",
            Self::Grant => "how long a secret stays given",
            Self::Skills => "the skills",
            Self::ExcludedSkills => "the excluded skills",
            Self::McpServers => "the MCP servers",
            Self::Hooks => "the hooks",
            Self::Memory => "the memory",
            Self::Secrets => "the secrets",
            Self::Priority => "the priority",
            Self::Mutex => "the mutex",
            Self::Extra(key) => return write!(f, "`{key}`"),
        })
    }
}

/// What happens in place of something that cannot be said.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Instead {
    /// Nothing holds the agent to it; the host decides.
    Ignored,
    /// This is written.
    Nearest(String),
    /// It is written, but the host does not enforce it everywhere.
    Unenforced,
    /// It gets less than it could have.
    Less,
    /// It gets these, too.
    More(Vec<String>),
    /// The host has no such thing.
    Missing(Vec<String>),
    /// It may change nothing.
    ReadOnly,
}

/// One thing that a definition says and that a host cannot be told as such.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Loss {
    /// What.
    pub field: Field,
    /// What happens instead.
    pub instead: Instead,
}

impl Loss {
    /// Whether the agent may do more, or for longer, than its definition allows.
    #[must_use]
    pub fn weakens(&self) -> bool {
        let restricts = matches!(
            self.field,
            Field::Tools
                | Field::ToolArguments
                | Field::DeniedTools
                | Field::Spawns
                | Field::Isolation
                | Field::PermissionMode
                | Field::Turns
                | Field::Time
                | Field::Tokens
                | Field::Cost
                | Field::Grant
                | Field::ExcludedSkills
                | Field::Hooks
        );
        restricts
            && matches!(self.instead, Instead::Ignored | Instead::Unenforced | Instead::More(_))
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot be expressed there: ", self.field)?;
        match &self.instead {
            Instead::Ignored => f.write_str("the host decides"),
            Instead::Nearest(what) => write!(f, "`{what}` is written"),
            Instead::Unenforced => f.write_str("it is written and not enforced everywhere"),
            Instead::Less => f.write_str("the agent gets less than it could have"),
            Instead::More(what) => write!(f, "it gets `{}`, too", what.join("`, `")),
            Instead::Missing(what) => write!(f, "the host has no `{}`", what.join("`, `")),
            Instead::ReadOnly => f.write_str("the agent may change nothing"),
        }
    }
}

/// Losses, each once.
#[derive(Debug, Default)]
pub(super) struct Losses(pub(super) Vec<Loss>);

impl Losses {
    pub(super) fn add(&mut self, field: Field, instead: Instead) {
        let loss = Loss { field, instead };
        if !self.0.contains(&loss) {
            self.0.push(loss);
        }
    }
}
