//! One definition, every host: which files agents become for the hosts of a workspace, and what each host cannot be told.
//!
//! Nothing is written here. A host that reads the directory of another one that gets the agents finds them there, and only
//! there: a second copy would be a second agent.

use agents_host::{Host, HostId, Roots, Scope};
use agents_system::finding::{Finding, Place, Severity};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    definition::{AgentDefinition, Dialect},
    render::{Loss, render},
};

/// A directory that agents are written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The host whose directory it is.
    pub host: HostId,
    /// What people call the host.
    pub title: String,
    /// The directory.
    pub dir: Utf8PathBuf,
    /// How it is written there.
    pub dialect: Dialect,
}

/// Where the agents of a workspace go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Targets {
    /// The directories to write.
    pub written: Vec<Target>,
    /// The hosts that get none, by what people call them, and why.
    pub without: Vec<(String, String)>,
}

/// An agent as the file of a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivered<'d> {
    /// The host.
    pub host: HostId,
    /// Where it belongs.
    pub file: Utf8PathBuf,
    /// What should be in it.
    pub text: String,
    /// The agent.
    pub definition: &'d AgentDefinition,
}

impl Dialect {
    /// How a host writes agents. One that nobody told us about is taken to do as most do.
    #[must_use]
    pub fn of_host(host: &HostId) -> Self {
        match host.as_str() {
            "codex" => Self::Codex,
            "gemini" | "antigravity" => Self::Gemini,
            "copilot" => Self::Copilot,
            "opencode" => Self::OpenCode,
            "cursor" => Self::Cursor,
            "kiro" => Self::Kiro,
            "qwen" => Self::Qwen,
            "factory" => Self::Factory,
            // Goose reads what Claude Code reads.
            _ => Self::Claude,
        }
    }
}

/// Whether a host finds agents in this directory by itself.
#[must_use]
pub fn reads(host: &Host, dir: &Utf8Path, roots: &Roots<'_>) -> bool {
    [Scope::Project, Scope::User].into_iter().any(|scope| {
        let paths = host.paths(scope, roots);
        paths.agents_dir.iter().chain(&paths.agents_read).any(|it| it == dir)
    })
}

/// The directories of that scope that serve all these hosts.
#[must_use]
pub fn targets(hosts: &[&Host], scope: Scope, roots: &Roots<'_>) -> Targets {
    let mut targets = Targets::default();
    let mut readers = Vec::new();
    for host in hosts {
        let paths = host.paths(scope, roots);
        match (paths.agents_dir, host.agents.reason()) {
            (Some(dir), _) => readers.push((host, dir, paths.agents_read)),
            (None, why) => {
                let why = why.unwrap_or(match scope {
                    Scope::Project => "it has no place for agents in a workspace",
                    Scope::User => "it has no place for agents of the user",
                });
                targets.without.push((host.name.clone(), why.to_owned()));
            }
        }
    }
    // Those that read only their own come first, for the others may find it there.
    readers.sort_by(|one, other| (one.2.len(), &one.0.id).cmp(&(other.2.len(), &other.0.id)));
    for (host, dir, also) in readers {
        if targets.written.iter().any(|it| it.dir == dir || also.contains(&it.dir)) {
            continue;
        }
        let (host, title, dialect) =
            (host.id.clone(), host.name.clone(), Dialect::of_host(&host.id));
        targets.written.push(Target { host, title, dir, dialect });
    }
    targets
}

impl Targets {
    /// The files that these agents become, and what there is to say about it. The first agent of a name gets it.
    pub fn deliver<'d>(
        &self,
        agents: impl IntoIterator<Item = &'d AgentDefinition>,
    ) -> (Vec<Delivered<'d>>, Vec<Finding>) {
        let (mut files, mut findings) = (Vec::<Delivered<'d>>::new(), Vec::new());
        for definition in agents {
            for target in &self.written {
                let rendered = render(definition, target.dialect);
                let file = target.dir.join(&rendered.file_name);
                // It is there already: the workspace itself brings it from this very place.
                if definition.origin.file.as_ref() == Some(&file) {
                    continue;
                }
                // Where capital letters do not count, or cannot be written, two names may be one.
                let same =
                    |it: &&Delivered<'_>| it.file.as_str().eq_ignore_ascii_case(file.as_str());
                if let Some(first) = files.iter().find(same) {
                    let said = format!(
                        "{} does not get the agent `{}`: `{}` is called the same there",
                        target.title, definition.name, first.definition.name
                    );
                    findings.push(placed(Finding::warning(said), definition));
                    continue;
                }
                findings.extend(rendered.losses.iter().map(|loss| lost(target, definition, loss)));
                let (host, text) = (target.host.clone(), rendered.text);
                files.push(Delivered { host, file, text, definition });
            }
            findings.extend(self.without.iter().map(|(host, why)| {
                let said = format!("{host} does not get the agent `{}`: {why}", definition.name);
                placed(Finding::new(Severity::Note, said), definition)
            }));
        }
        (files, findings)
    }
}

fn lost(target: &Target, definition: &AgentDefinition, loss: &Loss) -> Finding {
    let said = format!("agent `{}` in {}: {loss}", definition.name, target.title);
    placed(Finding::new(Severity::Note, said), definition)
}

fn placed(finding: Finding, definition: &AgentDefinition) -> Finding {
    match &definition.origin.file {
        Some(file) => finding.at(Place::file(file)),
        None => finding,
    }
}

#[cfg(test)]
mod tests;
