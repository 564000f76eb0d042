//! What must hold before a task is done: commands that must succeed, files that must have changed, files that must not.
//!
//! It is said by a definition (`done-when`) or by a call, never by the agent itself, and checked by us when the agent says that it is
//! done. What does not hold goes back to the agent. The user's own commands are run for the user; all others within the rights of
//! the agent ([`Hands`]): a contract is no way around them.

use std::collections::BTreeMap;

use agents_agent::AgentDefinition;
use agents_system::cache::{Digest, digest};
use agents_tool::{CallContext, Request, Tool as _, ToolError, Typed as _, tools::Bash};
use camino::{Utf8Path, Utf8PathBuf};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::turns::Tools;

/// How definitions call it.
const KEY: &str = "done-when";
/// How much of what a command printed goes back to the agent.
const MAX_SHOWN: usize = 4000;

/// What must hold before a task is done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DoneWhen {
    /// Commands that must succeed, in this order.
    #[serde(default)]
    pub commands: Vec<String>,
    /// Patterns of files, each of which at least one changed file fits.
    #[serde(default)]
    pub changed: Vec<String>,
    /// Patterns of files that no changed file fits.
    #[serde(default)]
    pub unchanged: Vec<String>,
}

/// Something that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "unmet")]
pub enum Unmet {
    /// A command failed.
    Command {
        /// The command.
        command: String,
        /// The end of what it printed.
        printed: String,
    },
    /// No file that fits has changed.
    Changed {
        /// The pattern.
        pattern: String,
    },
    /// Files have changed that must not.
    Unchanged {
        /// Which.
        #[cfg_attr(test, schemars(with = "Vec<String>"))]
        files: Vec<Utf8PathBuf>,
    },
    /// It cannot be checked.
    Unchecked {
        /// Why.
        why: String,
    },
}

impl Unmet {
    /// In a line.
    #[must_use]
    pub fn what(&self) -> String {
        match self {
            Self::Command { command, .. } => format!("`{command}` does not succeed"),
            Self::Changed { pattern } => format!("no file that fits `{pattern}` has changed"),
            Self::Unchanged { files } => {
                let files: Vec<String> = files.iter().map(|it| format!("`{it}`")).collect();
                format!("{} must not change", files.join(", "))
            }
            Self::Unchecked { why } => format!("what must hold cannot be checked: {why}"),
        }
    }

    /// What the agent is told.
    #[must_use]
    pub fn told(&self) -> String {
        match self {
            Self::Command { printed, .. } => format!("- {}:\n{printed}", self.what()),
            other => format!("- {}", other.what()),
        }
    }
}

impl DoneWhen {
    /// What a definition says.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(definition: &AgentDefinition) -> Result<Self, String> {
        let Some(said) = definition.extra.get(KEY) else { return Ok(Self::default()) };
        let read: Self = serde_json::from_value(said.clone()).map_err(|it| it.to_string())?;
        read.patterns(&read.changed).and(read.patterns(&read.unchanged))?;
        Ok(read)
    }

    /// Whether nothing must hold.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What both say.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.commands.extend(other.commands.iter().cloned());
        self.changed.extend(other.changed.iter().cloned());
        self.unchanged.extend(other.unchanged.iter().cloned());
        self
    }

    fn patterns(&self, patterns: &[String]) -> Result<GlobSet, String> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let mut glob = GlobBuilder::new(pattern.trim_start_matches("./"));
            set.add(glob.literal_separator(true).build().map_err(|it| it.to_string())?);
        }
        set.build().map_err(|it| it.to_string())
    }

    /// How the files that matter are before the task begins.
    ///
    /// # Errors
    /// A pattern is none, or the directory cannot be read.
    pub fn remember(&self, root: &Utf8Path) -> Result<Before, String> {
        if self.changed.is_empty() && self.unchanged.is_empty() {
            return Ok(Before::default());
        }
        let (changed, unchanged) = (self.patterns(&self.changed)?, self.patterns(&self.unchanged)?);
        let mut files = BTreeMap::new();
        // What git ignores matters, too; its own directory does not.
        let walk = ignore::WalkBuilder::new(root)
            .standard_filters(false)
            .filter_entry(|it| it.file_name() != ".git")
            .build();
        for entry in walk {
            let entry = entry.map_err(|it| it.to_string())?;
            let Some(path) = Utf8Path::from_path(entry.path()) else { continue };
            let Ok(relative) = path.strip_prefix(root) else { continue };
            let matters = changed.is_match(relative) || unchanged.is_match(relative);
            if matters && entry.file_type().is_some_and(|it| it.is_file()) {
                let bytes = fs_err::read(path).map_err(|it| it.to_string())?;
                files.insert(relative.to_owned(), digest(&bytes));
            }
        }
        Ok(Before { files })
    }

    /// What does not hold.
    pub async fn unmet(
        &self,
        before: &Before,
        hands: Hands<'_>,
        context: &CallContext,
    ) -> Vec<Unmet> {
        let mut unmet = self.unmet_files(before, context).await;
        for command in &self.commands {
            let seconds = context.deadline.saturating_duration_since(std::time::Instant::now());
            let input = json!({ "command": command, "timeout": seconds.as_secs().max(1) });
            match hands.run(input, context).await {
                Ok(Ran::Succeeded) => {}
                Ok(Ran::Failed(text)) => {
                    let printed = end_of(&text);
                    unmet.push(Unmet::Command { command: command.clone(), printed });
                }
                Err(why) => {
                    unmet.push(Unmet::Unchecked { why });
                    break;
                }
            }
        }
        unmet
    }

    async fn unmet_files(&self, before: &Before, context: &CallContext) -> Vec<Unmet> {
        let (own, root) = (self.clone(), context.area.cwd().to_owned());
        let now = context
            .blocking(move |_| own.remember(&root).map_err(ToolError::failed))
            .await
            .map_err(|it| it.to_string());
        let checked = now.and_then(|now| self.compare(before, &now));
        checked.unwrap_or_else(|why| vec![Unmet::Unchecked { why }])
    }

    fn compare(&self, before: &Before, now: &Before) -> Result<Vec<Unmet>, String> {
        let all = before.files.keys().chain(now.files.keys());
        let mut differ: Vec<&Utf8PathBuf> =
            all.filter(|it| before.files.get(*it) != now.files.get(*it)).collect();
        differ.sort();
        differ.dedup();
        let mut unmet = Vec::new();
        for pattern in &self.changed {
            let set = self.patterns(std::slice::from_ref(pattern))?;
            if !differ.iter().any(|it| set.is_match(it)) {
                unmet.push(Unmet::Changed { pattern: pattern.clone() });
            }
        }
        let set = self.patterns(&self.unchanged)?;
        let files: Vec<Utf8PathBuf> =
            differ.into_iter().filter(|it| set.is_match(it)).cloned().collect();
        if !files.is_empty() {
            unmet.push(Unmet::Unchanged { files });
        }
        Ok(unmet)
    }
}

/// Who runs the commands.
#[derive(Clone, Copy)]
pub enum Hands<'a> {
    /// The agent, within its own rights: what its definition or another agent says is no reason for more.
    Agent(&'a Tools),
    /// The user, whose own commands they are, without the agent's secrets. `None` where nothing can run commands.
    User(Option<&'a Bash>),
}

enum Ran {
    Succeeded,
    Failed(String),
}

impl Hands<'_> {
    async fn run(self, input: Value, context: &CallContext) -> Result<Ran, String> {
        match self {
            Self::Agent(tools) => {
                let request = Request { tool: Bash::NAME.to_owned(), input };
                let result = tools.call(request, context).await;
                Ok(if result.is_error { Ran::Failed(result.content) } else { Ran::Succeeded })
            }
            Self::User(None) => Err("nothing here can run commands".to_owned()),
            Self::User(Some(bash)) => {
                let mut context = context.clone();
                context.secrets.clear();
                match bash.call(input, &context).await {
                    Ok(output) if output.failed => Ok(Ran::Failed(output.text)),
                    Ok(_) => Ok(Ran::Succeeded),
                    Err(error) => Err(error.to_string()),
                }
            }
        }
    }
}

/// How files were.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Before {
    files: BTreeMap<Utf8PathBuf, Digest>,
}

/// Compilers say what matters at the end.
fn end_of(text: &str) -> String {
    let from = text.len().saturating_sub(MAX_SHOWN);
    let from = (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[from..].trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use agents_agent::AgentName;
    use agents_testkit::scratch::Scratch;

    use super::*;

    #[test]
    fn a_definition_says_it_or_is_wrong() {
        let mut definition = AgentDefinition::blank(AgentName::new("a").unwrap());
        assert!(DoneWhen::of(&definition).unwrap().is_empty());
        let mut say = |value| {
            definition.extra.insert(KEY.to_owned(), value);
            DoneWhen::of(&definition)
        };
        let commands = vec!["cargo test".to_owned()];
        let expected = DoneWhen { commands, ..DoneWhen::default() };
        assert_eq!(say(json!({ "commands": ["cargo test"] })), Ok(expected));
        assert!(say(json!({ "command": "cargo test" })).unwrap_err().contains("unknown field"));
        assert!(say(json!({ "changed": ["src/["] })).is_err());
    }

    #[test]
    fn our_own_definitions_can_say_it() {
        use agents_agent::{
            definition::{Dialect, Source},
            parse::{Input, Strictness, parse},
        };
        let text = "---\nname: a\ndescription: b\ndone-when:\n  commands: [cargo test]\n  unchanged: [\"tests/**\"]\n---\nDo it.";
        let input = Input {
            file: "a.md".into(),
            text,
            dialect: Dialect::Ours,
            source: Source::User,
            strictness: Strictness::default(),
        };
        let (definition, findings) = parse(&input);
        assert!(findings.is_empty(), "{findings:?}");
        let said = DoneWhen::of(&definition.unwrap()).unwrap();
        assert_eq!(
            (said.commands, said.unchanged),
            (vec!["cargo test".to_owned()], vec!["tests/**".to_owned()])
        );
    }

    #[test]
    fn files_that_must_and_must_not_change() {
        let scratch = Scratch::new();
        for file in ["src/a.rs", "tests/t.rs", "tests/u.rs", "README.md"] {
            scratch.write(file, "one");
        }
        let done = DoneWhen {
            changed: vec!["src/**".to_owned(), "docs/*.md".to_owned()],
            unchanged: vec!["tests/**".to_owned()],
            ..DoneWhen::default()
        };
        let before = done.remember(scratch.root()).unwrap();
        let unmet = |done: &DoneWhen| {
            let now = done.remember(scratch.root()).unwrap();
            let unmet = done.compare(&before, &now).unwrap();
            unmet.iter().map(Unmet::what).collect::<Vec<_>>()
        };
        assert_eq!(
            unmet(&done),
            ["no file that fits `src/**` has changed", "no file that fits `docs/*.md` has changed"]
        );
        scratch.write("src/a.rs", "two");
        scratch.write("docs/new.md", "new");
        scratch.write("README.md", "two");
        assert!(unmet(&done).is_empty());
        scratch.write("tests/t.rs", "two");
        fs_err::remove_file(scratch.path("tests/u.rs")).unwrap();
        scratch.write("tests/sub/new.rs", "new");
        assert_eq!(
            unmet(&done),
            ["`tests/sub/new.rs`, `tests/t.rs`, `tests/u.rs` must not change"]
        );
    }
}
