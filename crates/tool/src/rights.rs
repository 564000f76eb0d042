//! What an agent may at most do: a lattice that only ever goes down.
//!
//! [`Rights`] are a set of conditions, all of which hold. None at all is *everything*; each further one can only take away, so
//! the meet of two rights is the union of their conditions, and no order of meets gives back what one of them took.
//! *Nothing* is a condition that lists no tool, and different from the absence of conditions.
//!
//! Tools have the names of [`agents_agent::tools::names`]; other hosts' names for them are understood (`Grep` and `search` are
//! `grep`). What stands in parentheses is a condition on the arguments, and is kept: `bash(cargo *)` met with
//! `bash(cargo test *)` demands both.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    sync::{Arc, LazyLock, PoisonError, RwLock},
};

use agents_agent::{
    definition::Dialect,
    tools::{ToolPattern, Tools, names},
};
use camino::Utf8PathBuf;

use crate::{
    confine::glob::PathPattern,
    pattern::{Pattern, plain},
    shell::{self, NotCovered, Unjudged},
};

/// What a call is about, in the form in which patterns in parentheses are compared with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Nothing that a pattern could be compared with.
    Nothing,
    /// A command for the shell.
    Command(String),
    /// Files and directories, from the root that they are in, after symlink resolution.
    Paths(Vec<Utf8PathBuf>),
    /// Whatever a walk over a tree comes across: each file is compared when it is opened.
    Tree,
    /// A name: that of an agent, `domain:example.com`, ...
    Text(String),
}

impl Subject {
    /// For whoever has to agree: all of it.
    #[must_use]
    pub fn told(&self) -> Option<String> {
        match self {
            Self::Nothing | Self::Tree => None,
            Self::Command(text) | Self::Text(text) => Some(text.clone()),
            Self::Paths(paths) => {
                let paths: Vec<&str> = paths.iter().map(|it| it.as_str()).collect();
                (!paths.is_empty()).then(|| paths.join(", "))
            }
        }
    }
}

/// What an agent may at most do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rights {
    conditions: BTreeSet<Condition>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Condition {
    /// Only what one of these allows.
    Only(BTreeSet<Rule>),
    /// Not what this one matches.
    Without(Rule),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Rule {
    /// Lower-case; `*` stands for any characters.
    tool: ToolPattern,
    argument: Argument,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Argument {
    /// Whatever is said.
    Any,
    /// What matches this.
    Matching(String),
    /// An opening parenthesis without its end: nobody knows what was meant.
    Broken,
}

/// Why rights do not cover a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The tool is not among those that are allowed.
    #[error("`{tool}` is not among the tools that are allowed: {}", allowed.join(", "))]
    NotListed {
        /// Its name.
        tool: String,
        /// What the condition allows.
        allowed: Vec<String>,
    },
    /// The tool has been taken away.
    #[error("`{tool}` has been taken away by `{rule}`")]
    TakenAway {
        /// Its name.
        tool: String,
        /// The rule that did.
        rule: String,
    },
    /// The tool may be used, but not like this.
    #[error("`{what}` is not what {} allows", quoted(allowed))]
    Argument {
        /// The part of the call.
        what: String,
        /// The rules for the tool.
        allowed: Vec<String>,
    },
    /// The tool may be used only in certain ways, and nobody can tell whether this is one.
    #[error("{why}, and {} are the rules", quoted(rules))]
    Unjudged {
        /// What stands in the way.
        why: Unjudged,
        /// The rules for the tool.
        rules: Vec<String>,
    },
}

fn quoted(rules: &[String]) -> String {
    rules.iter().map(|rule| format!("`{rule}`")).collect::<Vec<_>>().join(", ")
}

impl Rights {
    /// Everything.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Nothing at all.
    #[must_use]
    pub fn nothing() -> Self {
        Self { conditions: [Condition::Only(BTreeSet::new())].into() }
    }

    /// Only these tools. An empty list is [`Rights::nothing`].
    #[must_use]
    pub fn only<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Self {
        let rules = patterns.into_iter().flat_map(|it| Rule::parse(it.as_ref())).collect();
        Self { conditions: [Condition::Only(rules)].into() }
    }

    /// The same without these tools.
    #[must_use]
    pub fn without<S: AsRef<str>>(mut self, patterns: impl IntoIterator<Item = S>) -> Self {
        let rules = patterns.into_iter().flat_map(|it| Rule::parse(it.as_ref()));
        self.conditions.extend(rules.map(Condition::Without));
        self
    }

    /// What both allow.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        Self { conditions: self.conditions.union(&other.conditions).cloned().collect() }
    }

    /// A caller's list, as dispatch contexts have them: blanks count for nothing, and a list that holds nothing else changes
    /// nothing. A list that shares no tool with what there was leaves nothing.
    #[must_use]
    pub fn restrict<S: AsRef<str>>(&self, tools: impl IntoIterator<Item = S>) -> Self {
        let named: Vec<String> = tools
            .into_iter()
            .map(|it| it.as_ref().trim().to_owned())
            .filter(|it| !it.is_empty())
            .collect();
        if named.is_empty() { self.clone() } else { self.meet(&Self::only(named)) }
    }

    /// Whether nothing has been taken away.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Whether a tool may be used at all, with some arguments.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        if self.is_all() {
            return true;
        }
        let names = canonical(tool);
        self.conditions.iter().all(|condition| match condition {
            Condition::Only(rules) => {
                rules.iter().any(|it| it.is_for(&names) && it.argument != Argument::Broken)
            }
            Condition::Without(rule) => {
                !rule.is_for(&names) || matches!(rule.argument, Argument::Matching(_))
            }
        })
    }

    /// The tools that are listed by name and allowed, sorted; `None` where no list restricts them. Patterns of names stand for
    /// themselves.
    #[must_use]
    pub fn list(&self) -> Option<Vec<String>> {
        let mut listed: Option<BTreeSet<String>> = None;
        for condition in &self.conditions {
            let Condition::Only(rules) = condition else { continue };
            let names = rules.iter().map(|it| it.tool.as_str().to_owned());
            let exact = rules.iter().all(|it| !it.tool.is_glob());
            if listed.is_none() || exact {
                listed = Some(names.collect());
            }
        }
        Some(listed?.into_iter().filter(|it| it.contains('*') || self.allows(it)).collect())
    }

    /// Whether a call is covered: every condition holds for it.
    pub fn cover(&self, tool: &str, subject: &Subject) -> Result<(), Refusal> {
        let names = canonical(tool);
        self.conditions.iter().try_for_each(|condition| match condition {
            Condition::Only(rules) => only(tool, &names, rules, subject),
            Condition::Without(rule) if rule.is_for(&names) => rule.spare(tool, subject),
            Condition::Without(_) => Ok(()),
        })
    }

    /// The patterns of paths that hold for a tool while it runs: for every condition, what it may touch (if it says), and
    /// what it may not. They are enforced where files are opened, on the path that was really opened.
    pub(crate) fn paths(&self, tool: &str) -> Vec<PathCondition> {
        let names = canonical(tool);
        // What may not be read may not be looked through or changed in part either.
        let reads = names.iter().any(|it| matches!(it.as_str(), "grep" | "glob" | "edit"));
        let read = ["read".to_owned()];
        let mut found = Vec::new();
        for condition in &self.conditions {
            match condition {
                Condition::Only(rules) => {
                    let rules: Vec<&Rule> = rules.iter().filter(|it| it.is_for(&names)).collect();
                    if rules.iter().all(|it| it.argument != Argument::Any) {
                        let texts = rules.iter().filter_map(|it| it.text());
                        found.push(PathCondition::Only(
                            texts.filter_map(PathPattern::allowing).collect(),
                        ));
                    }
                }
                Condition::Without(rule)
                    if rule.is_for(&names) || (reads && rule.is_for(&read)) =>
                {
                    // One that cannot be read as a pattern of paths, or is about the whole tool, spares nothing.
                    let pattern = rule.text().and_then(PathPattern::denying);
                    found.push(
                        pattern.map_or(PathCondition::Only(Vec::new()), PathCondition::Without),
                    );
                }
                Condition::Without(_) => {}
            }
        }
        found
    }
}

/// A condition on the paths of a tool.
#[derive(Debug, Clone)]
pub(crate) enum PathCondition {
    Only(Vec<PathPattern>),
    Without(PathPattern),
}

impl From<&Tools> for Rights {
    /// What a definition says: no list, or an empty one, is no restriction.
    fn from(tools: &Tools) -> Self {
        let listed = tools.allow.as_deref().filter(|it| !it.is_empty());
        let all =
            listed.map_or_else(Self::all, |it| Self::only(it.iter().map(ToolPattern::as_str)));
        all.without(tools.deny.iter().map(ToolPattern::as_str))
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_all() {
            return f.write_str("everything");
        }
        for (index, condition) in self.conditions.iter().enumerate() {
            f.write_str(if index > 0 { "; " } else { "" })?;
            match condition {
                Condition::Only(rules) if rules.is_empty() => f.write_str("nothing")?,
                Condition::Only(rules) => {
                    let rules: Vec<String> = rules.iter().map(Rule::to_string).collect();
                    write!(f, "only {}", rules.join(", "))?;
                }
                Condition::Without(rule) => write!(f, "without {rule}")?,
            }
        }
        Ok(())
    }
}

/// How many names are remembered. A program has dozens of tools; a model may make up any number of them.
const MAX_NAMES: usize = 1024;

/// Our names for a tool; a name that nobody knows is its own. It is asked several times for each call and each agent, and always for
/// the same few tools.
fn canonical(tool: &str) -> Arc<[String]> {
    static KNOWN: LazyLock<RwLock<HashMap<String, Arc<[String]>>>> = LazyLock::new(RwLock::default);
    let tool = tool.trim();
    if let Some(names) = KNOWN.read().unwrap_or_else(PoisonError::into_inner).get(tool) {
        return Arc::clone(names);
    }
    let (patterns, _) = names::from_host(Dialect::Ours, tool);
    let names: Arc<[String]> = patterns.iter().map(|it| it.tool().to_lowercase()).collect();
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if known.len() < MAX_NAMES {
        known.insert(tool.to_owned(), Arc::clone(&names));
    }
    names
}

fn only(
    tool: &str,
    names: &[String],
    rules: &BTreeSet<Rule>,
    subject: &Subject,
) -> Result<(), Refusal> {
    let own: Vec<&Rule> = rules.iter().filter(|it| it.is_for(names)).collect();
    if own.is_empty() {
        let allowed = rules.iter().map(Rule::to_string).collect();
        return Err(Refusal::NotListed { tool: tool.to_owned(), allowed });
    }
    if own.iter().any(|it| it.argument == Argument::Any) {
        return Ok(());
    }
    let allowed = || own.iter().map(ToString::to_string).collect();
    let refused = |what: String| Err(Refusal::Argument { what, allowed: allowed() });
    let texts: Vec<&str> = own.iter().filter_map(|it| it.text()).collect();
    match subject {
        Subject::Nothing => refused(tool.to_owned()),
        Subject::Tree => Ok(()),
        Subject::Command(command) => {
            let patterns: Vec<Pattern> = texts.into_iter().map(Pattern::new).collect();
            shell::parse(command)
                .map_err(shell::Uncovered::Unjudged)
                .and_then(|script| script.covered_by(&patterns))
                .or_else(|why| uncovered(why, allowed()))
        }
        Subject::Paths(paths) => {
            let patterns: Vec<PathPattern> =
                texts.into_iter().filter_map(PathPattern::allowing).collect();
            match paths.iter().find(|path| !patterns.iter().any(|it| it.matches(path))) {
                Some(path) => refused(path.to_string()),
                None if paths.is_empty() => refused(tool.to_owned()),
                None => Ok(()),
            }
        }
        Subject::Text(text) => {
            let symbols = plain(text);
            let fits = texts.into_iter().any(|it| Pattern::new(it).certainly(&symbols));
            if fits { Ok(()) } else { refused(text.clone()) }
        }
    }
}

fn uncovered(why: shell::Uncovered, rules: Vec<String>) -> Result<(), Refusal> {
    Err(match why {
        shell::Uncovered::Unjudged(why) => Refusal::Unjudged { why, rules },
        shell::Uncovered::Command(what) => {
            Refusal::Argument { what: NotCovered::to_string(&what), allowed: rules }
        }
    })
}

impl Rule {
    /// One for each tool that a name stands for. A list may be separated by blanks or commas only outside of us: this is one.
    fn parse(text: &str) -> Vec<Self> {
        let pattern = ToolPattern::new(text);
        if pattern.tool().is_empty() {
            return Vec::new();
        }
        let argument = match (pattern.argument(), pattern.as_str().contains('(')) {
            (None, false) => Argument::Any,
            (None, true) => Argument::Broken,
            (Some(it), _) if matches!(it.trim(), "" | "*" | "**") => Argument::Any,
            (Some(it), _) => Argument::Matching(it.trim().to_owned()),
        };
        let rule =
            |tool: &String| Self { tool: ToolPattern::new(tool), argument: argument.clone() };
        canonical(pattern.tool()).iter().map(rule).collect()
    }

    fn is_for(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.tool.matches(name))
    }

    fn text(&self) -> Option<&str> {
        match &self.argument {
            Argument::Matching(text) => Some(text),
            Argument::Any | Argument::Broken => None,
        }
    }

    /// A denial: it holds wherever its pattern could match, or nobody can tell.
    fn spare(&self, tool: &str, subject: &Subject) -> Result<(), Refusal> {
        let taken = Refusal::TakenAway { tool: tool.to_owned(), rule: self.to_string() };
        let Some(text) = self.text() else { return Err(taken) };
        let pattern = Pattern::new(text);
        let touched = match subject {
            Subject::Nothing => true,
            Subject::Tree => false,
            Subject::Command(command) => {
                return shell::parse(command)
                    .map_err(shell::Uncovered::Unjudged)
                    .and_then(|script| script.touched_by(&[pattern]))
                    .or_else(|why| match why {
                        shell::Uncovered::Command(_) => Err(taken),
                        why => uncovered(why, vec![self.to_string()]),
                    });
            }
            Subject::Paths(paths) => match PathPattern::denying(text) {
                Some(pattern) => paths.iter().any(|it| pattern.matches(it)),
                None => true,
            },
            Subject::Text(text) => pattern.possibly(&plain(text)),
        };
        if touched { Err(taken) } else { Ok(()) }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.argument {
            Argument::Any => write!(f, "{}", self.tool),
            Argument::Matching(text) => write!(f, "{}({text})", self.tool),
            Argument::Broken => write!(f, "{}(", self.tool),
        }
    }
}

#[cfg(test)]
mod tests;
