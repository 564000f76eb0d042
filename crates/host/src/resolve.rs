//! From descriptors to real paths.

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use crate::{
    host::Host,
    path::{ProjectPath, Roots, UserPath},
    scope::Scope,
};

/// Where a host's files are, in one scope. What the host does not have there is `None` or empty; in the
/// project scope without a workspace that is everything but its home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resolved {
    /// The directory that the host calls its home, whatever the scope.
    pub home: Utf8PathBuf,
    /// The directory of skills to write.
    pub skills_dir: Option<Utf8PathBuf>,
    /// Every directory that it reads skills from, the one to write first.
    pub skills_read: Vec<Utf8PathBuf>,
    /// The directory of sub-agents to write.
    pub agents_dir: Option<Utf8PathBuf>,
    /// Other directories that it reads sub-agents from.
    pub agents_read: Vec<Utf8PathBuf>,
    /// The file to register hooks in.
    pub hook_file: Option<Utf8PathBuf>,
    /// The file that it listens to for hooks while `hook_file` is missing.
    pub hook_file_fallback: Option<Utf8PathBuf>,
    /// The skill that tells what hooks cannot.
    pub hook_hint: Option<Utf8PathBuf>,
    /// Hook files of other hosts that it runs as well.
    pub hook_files_read: Vec<Utf8PathBuf>,
    /// The file to register MCP servers in.
    pub mcp_file: Option<Utf8PathBuf>,
    /// Files that take the place of `mcp_file` where they already exist.
    pub mcp_file_instead: Vec<Utf8PathBuf>,
    /// MCP files of other hosts that it reads as well.
    pub mcp_files_read: Vec<Utf8PathBuf>,
    /// The file with instructions for every session.
    pub instructions_file: Option<Utf8PathBuf>,
}

impl Host {
    /// Where its files are.
    #[must_use]
    pub fn paths(&self, scope: Scope, roots: &Roots<'_>) -> Resolved {
        let home = self.home_dir(roots);
        match scope {
            Scope::Project => self.project_paths(home, roots),
            Scope::User => self.user_paths(home, roots),
        }
    }

    /// The directory that it calls its home.
    #[must_use]
    pub fn home_dir(&self, roots: &Roots<'_>) -> Utf8PathBuf {
        self.home.resolve(roots, roots.home).unwrap_or_else(|| roots.home.to_owned())
    }

    /// The environment variables that move its files.
    #[must_use]
    pub fn variables(&self) -> Vec<&str> {
        let mut paths: Vec<&UserPath> = vec![&self.home, &self.skills.user];
        paths.extend(&self.skills.also_user);
        paths.extend(&self.detect.paths);
        paths.extend(self.agents.get().and_then(|agents| agents.user.as_ref()));
        paths.extend(self.hooks.get().and_then(|hooks| hooks.user.as_ref()));
        paths.extend(self.mcp.get().and_then(|mcp| mcp.user.as_ref()));
        paths.extend(&self.instructions.user);
        let mut names: Vec<&str> = Vec::new();
        for name in paths.into_iter().flat_map(UserPath::variables) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn project_paths(&self, home: Utf8PathBuf, roots: &Roots<'_>) -> Resolved {
        let one = |path: &ProjectPath| path.resolve(roots);
        let many = |paths: &[ProjectPath]| -> Vec<_> { paths.iter().filter_map(one).collect() };
        let agents = self.agents.get();
        let hooks = self.hooks.get();
        let mcp = self.mcp.get();
        let skills_dir = one(&self.skills.project);
        Resolved {
            home,
            skills_read: skills_dir
                .iter()
                .cloned()
                .chain(many(&self.skills.also_project))
                .collect(),
            skills_dir,
            agents_dir: agents.and_then(|it| it.project.as_ref()).and_then(one),
            agents_read: many(&self.reads.project.agents),
            hook_file: hooks.and_then(|it| it.project.as_ref()).and_then(one),
            hook_file_fallback: hooks.and_then(|it| it.fallback_project.as_ref()).and_then(one),
            hook_hint: hooks.and_then(|it| it.hint_project.as_ref()).and_then(one),
            hook_files_read: many(&self.reads.project.hooks),
            mcp_file: mcp.and_then(|it| it.project.as_ref()).and_then(one),
            mcp_file_instead: mcp.map(|it| many(&it.instead_project)).unwrap_or_default(),
            mcp_files_read: many(&self.reads.project.mcp),
            instructions_file: one(&self.instructions.project),
        }
    }

    fn user_paths(&self, home: Utf8PathBuf, roots: &Roots<'_>) -> Resolved {
        let at: &Utf8Path = &home;
        let one = |path: &UserPath| path.resolve(roots, at);
        let many = |paths: &[UserPath]| -> Vec<_> { paths.iter().filter_map(one).collect() };
        let agents = self.agents.get();
        let hooks = self.hooks.get();
        let mcp = self.mcp.get();
        let skills_dir = one(&self.skills.user);
        Resolved {
            skills_read: skills_dir.iter().cloned().chain(many(&self.skills.also_user)).collect(),
            skills_dir,
            agents_dir: agents.and_then(|it| it.user.as_ref()).and_then(one),
            agents_read: many(&self.reads.user.agents),
            hook_file: hooks.and_then(|it| it.user.as_ref()).and_then(one),
            hook_file_fallback: hooks.and_then(|it| it.fallback_user.as_ref()).and_then(one),
            hook_hint: hooks.and_then(|it| it.hint_user.as_ref()).and_then(one),
            hook_files_read: many(&self.reads.user.hooks),
            mcp_file: mcp.and_then(|it| it.user.as_ref()).and_then(one),
            mcp_file_instead: mcp.map(|it| many(&it.instead_user)).unwrap_or_default(),
            mcp_files_read: many(&self.reads.user.mcp),
            instructions_file: self.instructions.user.as_ref().and_then(one),
            home,
        }
    }
}

#[cfg(test)]
mod tests;
