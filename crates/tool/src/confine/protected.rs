//! Files that other programs run or trust.
//!
//! Whoever writes one of them runs a program later, outside of every rule here: with the next `git status`, the next `cargo
//! build`, the next time somebody opens an editor. Changing them needs a grant that names them, in every mode. The sources of the
//! workspace are not among them, although `build.rs` and tests are run as well: they are what an agent is there to
//! change, and a review shows them.

use std::sync::OnceLock;

use camino::Utf8Path;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// The files, as patterns at any depth, each with what it is.
pub const PROTECTED: &[(&str, &str)] = &[
    (".git", "git runs what its configuration and hooks say"),
    (".git/**", "git runs what its configuration and hooks say"),
    (".gitmodules", "git fetches what it names"),
    (".cargo/config", "cargo runs the wrappers and runners that it names"),
    (".cargo/config.toml", "cargo runs the wrappers and runners that it names"),
    (".cargo/credentials*", "it holds tokens"),
    ("rust-toolchain", "rustup runs the toolchain that it names"),
    ("rust-toolchain.toml", "rustup runs the toolchain that it names"),
    (".config/nextest.toml", "nextest runs the scripts that it names"),
    (".envrc", "direnv runs it"),
    (".husky/**", "git runs its hooks"),
    (".pre-commit-config.yaml", "git runs its hooks"),
    ("lefthook.y*ml", "git runs its hooks"),
    (".vscode/**", "the editor runs its tasks"),
    (".idea/**", "the editor runs its configurations"),
    (".zed/**", "the editor runs its tasks"),
    (".devcontainer/**", "the editor runs its commands"),
    (".github/workflows/**", "it is run where the repository is hosted"),
    (".github/actions/**", "it is run where the repository is hosted"),
    (".github/{hooks,agents,skills}/**", "a coding agent obeys it"),
    (".gitlab-ci.yml", "it is run where the repository is hosted"),
    (".mcp.json", "coding agents run the servers that it names"),
    ("opencode.json", "coding agents run the servers that it names"),
    ("opencode.jsonc", "coding agents run the servers that it names"),
    (
        ".{agent,agents,amp,claude,codex,cursor,factory,gemini,goose,kiro,omp,opencode,qwen,zeph}/**",
        "a coding agent obeys it",
    ),
    (".ssh/**", "it decides who may log in"),
    (".gnupg/**", "it holds keys"),
    (".{bash,zsh}{rc,_profile,_login,_logout,env}", "a shell runs it"),
    (".z{profile,login,logout}", "a shell runs it"),
    (".profile", "a shell runs it"),
    (".gitconfig", "git runs what it says"),
    (".npmrc", "it names where programs come from"),
];

/// What a file is that must not be changed without a grant that names it.
#[must_use]
pub fn reason(path: &Utf8Path) -> Option<&'static str> {
    let found = set().matches(path);
    found.first().and_then(|at| PROTECTED.get(*at)).map(|(_, why)| *why)
}

fn set() -> &'static GlobSet {
    static SET: OnceLock<GlobSet> = OnceLock::new();
    SET.get_or_init(|| {
        let mut set = GlobSetBuilder::new();
        for (pattern, _) in PROTECTED {
            // Some file systems do not tell `.GIT` from `.git`.
            let glob = GlobBuilder::new(&format!("**/{pattern}"))
                .literal_separator(true)
                .case_insensitive(true)
                .build();
            if let Ok(glob) = glob {
                set.add(glob);
            }
        }
        set.build().unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_one() {
        assert_eq!(set().len(), PROTECTED.len());
    }

    /// What we write there for them, an agent must not write in our place.
    #[test]
    fn files_that_hosts_obey_are_protected() {
        let (hosts, findings) = agents_host::hosts(None);
        assert!(findings.is_empty(), "{findings:?}");
        let mut seen = 0;
        for host in &hosts {
            let hooks = host.hooks.get().into_iter().flat_map(|it| {
                [&it.project, &it.fallback_project, &it.hint_project].into_iter().flatten()
            });
            let servers = host.mcp.get().into_iter();
            let servers = servers.flat_map(|it| it.project.iter().chain(&it.instead_project));
            let agents = host.agents.get().into_iter().flat_map(|it| &it.project);
            let skills = std::iter::once(&host.skills.project).chain(&host.skills.also_project);
            for path in hooks.chain(servers).chain(agents).chain(skills) {
                // Of a directory, what is in it.
                let inside = path.as_path().join("x");
                let is_protected = [path.as_path(), &inside].iter().any(|it| reason(it).is_some());
                assert!(is_protected, "{}: {path}", host.id);
                seen += 1;
            }
        }
        assert!(seen > 40, "only {seen} paths were found");
    }

    #[test]
    fn what_others_run_is_protected_and_sources_are_not() {
        for path in [
            ".git",
            ".git/config",
            ".git/hooks/pre-commit",
            "sub/.git/config",
            ".GIT/config",
            "vendor/x/.cargo/config.toml",
            "rust-toolchain.toml",
            ".envrc",
            ".vscode/tasks.json",
            ".github/workflows/ci.yml",
            ".claude/settings.json",
            ".mcp.json",
            ".bashrc",
            ".zshenv",
        ] {
            assert!(reason(Utf8Path::new(path)).is_some(), "{path}");
        }
        for path in
            ["src/main.rs", "build.rs", ".gitignore", ".github/README.md", "a.git/x", "Cargo.toml"]
        {
            assert_eq!(reason(Utf8Path::new(path)), None, "{path}");
        }
    }
}
