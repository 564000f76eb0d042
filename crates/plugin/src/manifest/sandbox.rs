//! `[sandbox]`: what a plugin's programs need besides what every confined program has.

use agents_system::{
    decode::{Table, Text},
    finding::Finding,
    sandbox::Network,
};
use camino::{Utf8Component, Utf8Path};
use serde::{Deserialize, Serialize};

/// What the programs of a plugin need when they are confined.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// What they read: absolute, below the home (`~/`), or else below the root of the workspace.
    pub read: Vec<String>,
    /// What they change, likewise.
    pub write: Vec<String>,
    /// Whether they use the network.
    pub network: Network,
}

impl Needs {
    /// Both together.
    #[must_use]
    pub(super) fn joined_with(mut self, other: Self) -> Self {
        self.read.extend(other.read);
        self.write.extend(other.write);
        if other.network == Network::Allowed {
            self.network = Network::Allowed;
        }
        self
    }
}

pub(super) fn decode(root: &Table<'_>) -> Needs {
    let Some(table) = root.table("sandbox") else { return Needs::default() };
    let needs = Needs {
        read: paths(&table.strings("read")),
        write: paths(&table.strings("write")),
        network: match table.boolean("network") {
            Some(true) => Network::Allowed,
            _ => Network::Denied,
        },
    };
    table.deny_unknown();
    needs
}

fn paths(texts: &[Text<'_>]) -> Vec<String> {
    for text in texts {
        let climbs =
            Utf8Path::new(text.as_str()).components().any(|part| part == Utf8Component::ParentDir);
        if text.is_empty() || text.contains('\0') {
            text.error("a path of the sandbox is empty or has a null character in it");
        } else if climbs {
            // Who agrees to it should see where it leads.
            text.report(
                Finding::error("a path of the sandbox has `..` in it")
                    .hint("write it from `/`, from `~/` or from the root of the workspace"),
            );
        }
    }
    texts.iter().map(ToString::to_string).collect()
}
