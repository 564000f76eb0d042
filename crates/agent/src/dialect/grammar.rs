//! What a dialect can say.

use crate::definition::{Dialect, Effort, PermissionMode};

/// What a dialect can say, and how.
#[derive(Debug)]
pub(crate) struct Grammar {
    pub(crate) dialect: Dialect,
    pub(crate) naming: Naming,
    pub(crate) names: Names,
    /// Each key as it is spelled, with dots between nested ones, and what it means. Written in this order; of two for the
    /// same meaning, the first one is written.
    pub(crate) keys: &'static [(&'static str, Key)],
    /// What it knows besides and we have no use for.
    pub(crate) extra: &'static [&'static str],
    /// What is always written, whoever wrote the definition.
    pub(crate) always: &'static [(&'static str, &'static str)],
    /// Of two spellings, the first one is written.
    pub(crate) modes: &'static [(&'static str, PermissionMode)],
    pub(crate) efforts: &'static [(&'static str, Effort)],
    pub(crate) tools: ToolStyle,
    pub(crate) deny: DenyStyle,
    pub(crate) patterns: Patterns,
    pub(crate) mcp_names: McpNames,
    pub(crate) spawns: SpawnStyle,
    pub(crate) models: Models,
    pub(crate) mcp: McpStyle,
    pub(crate) lists: ListStyle,
    /// The longest description, in characters.
    pub(crate) max_description: Option<usize>,
    pub(crate) description_lines: Lines,
}

/// Where a name comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// A key that must be there.
    Key,
    /// A key, or else the name of the file.
    KeyOrFile,
    /// The name of the file, whatever a key says.
    File,
}

/// Which names an agent may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// All that are names.
    Any,
    /// Those without a dot.
    Plain,
    /// Those without a dot and capital letters.
    Lower,
    /// Small letters, digits and `-`.
    Hyphens,
}

impl Names {
    /// The name itself, or the nearest that may be one.
    pub(crate) fn nearest(self, name: &str) -> String {
        match self {
            Self::Any => name.to_owned(),
            Self::Plain => name.replace('.', "-"),
            Self::Lower => name.replace('.', "-").to_lowercase(),
            Self::Hyphens => name.replace(['.', '_'], "-").to_lowercase(),
        }
    }
}

/// What a key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Name,
    Description,
    Prompt,
    Tools,
    Deny,
    Permission,
    Spawns,
    Model,
    Effort,
    Output,
    Waiting,
    Blocking,
    Background,
    Isolation,
    Worktree,
    Mode,
    ReadOnly,
    Sandbox,
    Approval,
    Turns,
    Time,
    Seconds,
    Minutes,
    Tokens,
    Cost,
    History,
    Grant,
    GrantSeconds,
    Skills,
    McpServers,
    Hooks,
    Memory,
    Secrets,
    Priority,
    Mutex,
}

/// How tools are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolStyle {
    /// `Read, Grep`.
    Commas,
    /// `[read, grep]`.
    List,
    /// A list that must be there, `["*"]` for everything.
    ListOrStar,
    /// A list, or `allow` and `deny` below it.
    ListOrNested,
    /// `allow`, `deny` and `except` below it.
    Nested,
    /// A map from tool to permission.
    Permission,
    /// Not at all.
    Never,
}

/// How tools are taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DenyStyle {
    /// A list of its own, or together with the allowed ones.
    List,
    /// Not at all.
    Never,
}

/// Which patterns a list of tools may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Patterns {
    /// Names only.
    Names,
    /// All tools of an MCP server, too.
    Servers,
    /// That, and arguments in parentheses.
    Arguments,
    /// Anything.
    All,
}

/// How the tools of MCP servers are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum McpNames {
    /// `mcp__server__tool`.
    Double,
    /// `mcp_server_tool`.
    Single,
    /// `server/tool`.
    Slash,
    /// `@server/tool`.
    At,
    /// `server_tool`.
    Bare,
}

/// How it is said which agents may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpawnStyle {
    /// With a key.
    Key,
    /// With the tool for it and names in parentheses, which the host does not enforce everywhere.
    ToolWithNames,
    /// With the tool for it: any or none.
    Tool,
    /// With the permission for it.
    Permission,
    /// Not at all.
    Never,
}

/// Which models a host knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Models {
    /// Any pattern, several of them.
    Patterns,
    /// One, of any maker.
    One,
    /// One, `fast` among them.
    OneOrFast,
    /// One with its provider before a `/`.
    WithProvider,
    /// One of Anthropic, by id or alias.
    Claude,
    /// One of Anthropic, by alias.
    ClaudeAlias,
    /// One that is not of another maker with a host of its own.
    OpenAi,
    /// One of Google.
    Gemini,
}

/// How MCP servers are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum McpStyle {
    /// A list of names and of maps from a name to an entry.
    Mixed,
    /// A map from name to entry.
    Map,
    /// A list of names.
    Names,
    /// Not at all.
    Never,
}

/// How other lists are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListStyle {
    /// `a, b`.
    Commas,
    /// `[a, b]`.
    List,
    /// `include` and `exclude` below it, where that makes sense.
    Nested,
}

/// Whether a description may have more than one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lines {
    One,
    Many,
}

impl Grammar {
    /// What most dialects that are written in Markdown have in common.
    pub(crate) const MARKDOWN: Self = Self {
        dialect: Dialect::Ours,
        naming: Naming::Key,
        names: Names::Any,
        keys: &[],
        extra: &[],
        always: &[],
        modes: &[],
        efforts: &[],
        tools: ToolStyle::List,
        deny: DenyStyle::Never,
        patterns: Patterns::Servers,
        mcp_names: McpNames::Double,
        spawns: SpawnStyle::Never,
        models: Models::One,
        mcp: McpStyle::Never,
        lists: ListStyle::List,
        max_description: None,
        description_lines: Lines::Many,
    };

    /// How a meaning is spelled; `None` if it cannot be said.
    pub(crate) fn spelling(&self, wanted: Key) -> Option<&'static str> {
        self.keys.iter().find_map(|(spelling, key)| (*key == wanted).then_some(*spelling))
    }

    pub(crate) fn says(&self, key: Key) -> bool {
        self.spelling(key).is_some()
    }

    /// What a key means, spelled as it must be.
    pub(crate) fn key(&self, path: &str) -> Option<Key> {
        self.keys.iter().find_map(|(spelling, key)| (*spelling == path).then_some(*key))
    }

    /// What a key means, whether it is written `likeThis`, `like-this` or `like_this`, with the right spelling.
    pub(crate) fn key_like(&self, path: &str) -> Option<(&'static str, Key)> {
        let folded = fold(path);
        self.keys.iter().copied().find(|(spelling, _)| fold(spelling) == folded)
    }

    /// All keys of the first level.
    pub(crate) fn top_keys(&self) -> impl Iterator<Item = &'static str> {
        let keys = self.keys.iter().map(|(key, _)| *key).chain(self.extra.iter().copied());
        keys.map(|key| key.split_once('.').map_or(key, |(top, _)| top))
    }
}

/// The same for `likeThis`, `like-this` and `like_this`.
pub(crate) fn fold(key: &str) -> String {
    key.chars().filter(|c| *c != '-' && *c != '_').map(|c| c.to_ascii_lowercase()).collect()
}
