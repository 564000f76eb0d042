//! What a definition may say, by who put it there.
//!
//! | | named, bundled | user | project, trusted | project | plugin, crate |
//! |---|---|---|---|---|---|
//! | prompt, tools, models, limits, `plan`, `default`, `dont_ask` | yes | yes | yes | yes | yes |
//! | `accept_edits` | yes | yes | yes | no | no |
//! | `bypass_permissions` | if the configuration allows it | the same | the same | no | no |
//! | hooks, secrets, MCP servers of its own | yes | yes | yes | no | no |
//!
//! So files that merely came along - with a clone, with a dependency - may narrow what an agent may do and never widen it.
//! It is decided for each file; what it may not say is taken out of the definition, with a finding, and the rest stands.

use agents_system::finding::{Finding, Place};
use camino::{Utf8Path, Utf8PathBuf};

use crate::definition::{AgentDefinition, McpServerUse, PermissionMode, Source};

/// Whether the user trusts what the project says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProjectTrust {
    /// They have said so.
    Trusted,
    /// It may only have been cloned.
    #[default]
    Untrusted,
}

/// The projects that the user trusts, by the directories that they are in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trusted(Vec<Utf8PathBuf>);

impl Trusted {
    /// Everything in these directories and below.
    #[must_use]
    pub fn new(roots: &[Utf8PathBuf]) -> Self {
        let real = |root: &Utf8PathBuf| root.canonicalize_utf8().unwrap_or_else(|_| root.clone());
        Self(roots.iter().map(real).collect())
    }

    /// Whether that holds for a directory, as it really is.
    #[must_use]
    pub fn of(&self, dir: &Utf8Path) -> ProjectTrust {
        if self.0.is_empty() {
            return ProjectTrust::Untrusted;
        }
        let real = dir.canonicalize_utf8().unwrap_or_else(|_| dir.to_owned());
        match self.0.iter().any(|root| real.starts_with(root)) {
            true => ProjectTrust::Trusted,
            false => ProjectTrust::Untrusted,
        }
    }
}

/// Something that not everybody may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Right {
    /// A permission mode that asks less than the default one.
    Permissions,
    /// Hooks of its own.
    Hooks,
    /// Secrets that it may be given.
    Secrets,
    /// MCP servers that the definition itself describes.
    Servers,
}

impl Right {
    const ALL: [Self; 4] = [Self::Permissions, Self::Hooks, Self::Secrets, Self::Servers];

    fn words(self) -> &'static str {
        match self {
            Self::Permissions => "a permission mode that asks less",
            Self::Hooks => "hooks",
            Self::Secrets => "secrets",
            Self::Servers => "MCP servers of its own",
        }
    }
}

/// Whether whoever put a definition there may widen what an agent may do: the table above.
#[must_use]
pub fn may_widen(source: &Source, trust: ProjectTrust) -> bool {
    match source {
        Source::Named | Source::User | Source::Bundled => true,
        Source::Project => trust == ProjectTrust::Trusted,
        Source::Plugin(_) | Source::Crate(..) => false,
    }
}

/// Takes out of a definition what it may not say, and says so.
#[must_use]
pub fn confine(definition: &mut AgentDefinition, trust: ProjectTrust) -> Vec<Finding> {
    let source = definition.origin.source.clone();
    let mut findings = Vec::new();
    if may_widen(&source, trust) {
        return findings;
    }
    for right in Right::ALL {
        if !take(definition, right) {
            continue;
        }
        let whose = whose(&source);
        let message = format!(
            "agent `{}` asks for {}, which {whose} may not",
            definition.name,
            right.words()
        );
        let mut finding = Finding::warning(message).hint(match source {
            Source::Project => {
                "that part is left out; `[agents] trust` in `config.toml` may name the project, or put the file into your own \
                 directory"
            }
            _ => "that part is left out; a file of your own with the same name may say it",
        });
        if let Some(file) = &definition.origin.file {
            finding = finding.at(Place::file(file));
        }
        findings.push(finding);
    }
    findings
}

fn whose(source: &Source) -> String {
    match source {
        Source::Project => "a project that is not trusted".to_owned(),
        Source::Plugin(name) => format!("plugin `{name}`"),
        Source::Crate(name, version) => format!("crate {name} {version}"),
        Source::Named | Source::User | Source::Bundled => "it".to_owned(),
    }
}

/// Whether there was something to take.
fn take(definition: &mut AgentDefinition, right: Right) -> bool {
    match right {
        Right::Permissions => {
            let widens = matches!(
                definition.permission_mode,
                Some(PermissionMode::AcceptEdits | PermissionMode::BypassPermissions)
            );
            if widens {
                definition.permission_mode = None;
            }
            widens
        }
        Right::Hooks => definition.hooks.take().is_some(),
        Right::Secrets => !std::mem::take(&mut definition.secrets).is_empty(),
        Right::Servers => {
            let before = definition.mcp_servers.len();
            definition.mcp_servers.retain(|server| matches!(server, McpServerUse::Named(_)));
            definition.mcp_servers.len() < before
        }
    }
}
