//! The ways of writing definitions down: what each of them can say, and where its files are.
//!
//! What a dialect can say is data, a `Grammar` in one file per dialect. Reading and writing are the same
//! for all of them and ask the grammar; only OpenCode, whose tools are a map of permissions, needs code of its own.

use std::fmt;

use camino::Utf8Path;

use crate::definition::Dialect;

pub(crate) mod grammar;

mod agentsdk;
mod claude;
mod codex;
mod copilot;
mod cursor;
mod factory;
mod gemini;
mod kiro;
mod oh_my_pi;
pub(crate) mod opencode;
mod ours;
mod qwen;
mod zeph;

use grammar::Grammar;

/// How the files of a dialect are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Syntax {
    /// Markdown with a header.
    Markdown,
    /// TOML.
    Toml,
    /// JSON.
    Json,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Ours,
        Self::Claude,
        Self::Zeph,
        Self::OhMyPi,
        Self::AgentSdk,
        Self::Codex,
        Self::Copilot,
        Self::Gemini,
        Self::OpenCode,
        Self::Cursor,
        Self::Kiro,
        Self::Qwen,
        Self::Factory,
    ];

    /// As messages call it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Ours => "cargo agents",
            Self::Claude => "Claude Code",
            Self::Zeph => "Zeph",
            Self::OhMyPi => "oh-my-pi",
            Self::AgentSdk => "agentsdk-go",
            Self::Codex => "Codex",
            Self::Copilot => "Copilot",
            Self::Gemini => "Gemini CLI",
            Self::OpenCode => "OpenCode",
            Self::Cursor => "Cursor",
            Self::Kiro => "Kiro",
            Self::Qwen => "Qwen Code",
            Self::Factory => "Factory",
        }
    }

    /// Its name on a command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Claude => "claude",
            Self::Zeph => "zeph",
            Self::OhMyPi => "oh-my-pi",
            Self::AgentSdk => "agentsdk",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
            Self::Cursor => "cursor",
            Self::Kiro => "kiro",
            Self::Qwen => "qwen",
            Self::Factory => "factory",
        }
    }

    /// The dialect of a file, as far as its path tells: by the directory that a host looks into, else by the ending that only
    /// one host uses. `None` for any other Markdown file, and for what no host would read there.
    #[must_use]
    pub fn of(file: &Utf8Path) -> Option<Self> {
        let name = file.file_name()?;
        let dirs: Vec<&str> = file.parent()?.components().map(|it| it.as_str()).collect();
        let nearest = dirs.windows(2).rev().find_map(|pair| Self::of_directory(pair[0], pair[1]));
        match nearest {
            Some(dialect) => dialect.reads(name).then_some(dialect),
            None if name.ends_with(".agent.md") => Some(Self::Copilot),
            None => None,
        }
    }

    /// The dialect of a file that somebody names, wherever it is: where its directory says nothing, its ending does.
    #[must_use]
    pub fn of_named(file: &Utf8Path) -> Option<Self> {
        let by_ending = || match file.extension()? {
            "toml" => Some(Self::Codex),
            "json" => Some(Self::Kiro),
            extension => extension.eq_ignore_ascii_case("md").then_some(Self::Ours),
        };
        Self::of(file).or_else(by_ending)
    }

    fn of_directory(outer: &str, inner: &str) -> Option<Self> {
        Some(match (outer, inner) {
            (".agents", "agents") => Self::Ours,
            // Goose reads what Claude Code reads.
            (".claude" | ".goose", "agents") => Self::Claude,
            (".zeph" | "zeph", "agents") => Self::Zeph,
            (".omp" | ".pi", "agents") => Self::OhMyPi,
            (".codex", "agents") => Self::Codex,
            (".github" | ".copilot", "agents") => Self::Copilot,
            (".gemini", "agents") => Self::Gemini,
            (".opencode" | "opencode", "agents" | "agent") => Self::OpenCode,
            (".cursor", "agents") => Self::Cursor,
            (".kiro", "agents") => Self::Kiro,
            (".qwen", "agents") => Self::Qwen,
            (".factory", "droids") => Self::Factory,
            _ => return None,
        })
    }

    /// Whether a file of this name in the right directory holds a definition.
    #[must_use]
    pub fn reads(self, file_name: &str) -> bool {
        let extension = Utf8Path::new(file_name).extension().unwrap_or_default();
        match self {
            Self::Codex => extension == "toml",
            // The terminal program reads JSON, the editor Markdown.
            Self::Kiro => extension == "json" || extension.eq_ignore_ascii_case("md"),
            _ => extension.eq_ignore_ascii_case("md"),
        }
    }

    /// The name of a file for an agent of this name.
    #[must_use]
    pub fn file_name(self, agent: &str) -> String {
        let ending = match self {
            Self::Codex => "toml",
            Self::Kiro => "json",
            Self::Copilot => "agent.md",
            _ => "md",
        };
        format!("{agent}.{ending}")
    }

    /// How a file of this name is written.
    #[must_use]
    pub fn syntax(self, file: &Utf8Path) -> Syntax {
        let is_markdown = file.extension().is_some_and(|it| it.eq_ignore_ascii_case("md"));
        match self {
            Self::Codex => Syntax::Toml,
            Self::Kiro if !is_markdown => Syntax::Json,
            _ => Syntax::Markdown,
        }
    }

    pub(crate) fn grammar(self) -> &'static Grammar {
        match self {
            Self::Ours => &ours::GRAMMAR,
            Self::Claude => &claude::GRAMMAR,
            Self::Zeph => &zeph::GRAMMAR,
            Self::OhMyPi => &oh_my_pi::GRAMMAR,
            Self::AgentSdk => &agentsdk::GRAMMAR,
            Self::Codex => &codex::GRAMMAR,
            Self::Copilot => &copilot::GRAMMAR,
            Self::Gemini => &gemini::GRAMMAR,
            Self::OpenCode => &opencode::GRAMMAR,
            Self::Cursor => &cursor::GRAMMAR,
            Self::Kiro => &kiro::GRAMMAR,
            Self::Qwen => &qwen::GRAMMAR,
            Self::Factory => &factory::GRAMMAR,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.title())
    }
}

/// The name of a file without what its dialect appends.
pub(crate) fn stem(file: &Utf8Path) -> Option<&str> {
    let stem = file.file_stem()?;
    Some(stem.strip_suffix(".agent").unwrap_or(stem))
}

#[cfg(test)]
mod tests;
