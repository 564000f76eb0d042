//! `[agents]`: the user's word about agent definitions.

use agents_system::{decode::Table, dirs::Dirs};
use camino::Utf8PathBuf;
use serde_json::{Value, json};

const ALL: &str = "*";

/// What the user says about agent definitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentSettings {
    /// Which of the user's and the workspace's own agents every host gets.
    pub deliver: Deliver,
    /// Projects whose definitions may say everything, by the directories that they are in.
    pub trust: Vec<Utf8PathBuf>,
}

/// Which agents of `.agents/agents` every host gets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Deliver {
    /// None.
    #[default]
    None,
    /// Those of these names.
    Some(Vec<String>),
    /// All of them: `*`.
    All,
}

impl Deliver {
    /// Whether the agent of that name is among them.
    #[must_use]
    pub fn includes(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::Some(names) => names.iter().any(|it| it == name),
            Self::All => true,
        }
    }

    pub(super) fn value(&self) -> Value {
        match self {
            Self::None => json!([]),
            Self::Some(names) => json!(names),
            Self::All => json!([ALL]),
        }
    }
}

impl AgentSettings {
    pub(super) fn decode(root: &Table<'_>, dirs: &Dirs) -> Self {
        let Some(table) = root.table("agents") else { return Self::default() };
        let names = table.string_or_strings("deliver");
        let trust = table.strings("trust");
        table.deny_unknown();
        for name in names.iter().filter(|name| name.trim().is_empty()) {
            name.error("the name of an agent is not empty");
        }
        for path in trust.iter().filter(|path| path.trim().is_empty() || path.as_str() == ALL) {
            path.error("it takes the directory of a project");
        }
        let deliver = match names.as_slice() {
            [] => Deliver::None,
            names if names.iter().any(|name| name.as_str() == ALL) => Deliver::All,
            names => Deliver::Some(names.iter().map(ToString::to_string).collect()),
        };
        let trust = trust.iter().map(|path| super::resolve(path.as_str(), dirs)).collect();
        Self { deliver, trust }
    }
}
