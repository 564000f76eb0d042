//! The hosts' workflow commands and prompts: texts that a person starts by name.
//!
//! They are found as agents are: the same families in the same order, the nearest project directory before the user's, the
//! first of a name wins, those in the program come last. Neither depends on the other.

use agents_host::{Host, Roots};
use agents_system::{
    edit::Format,
    finding::{Finding, Place, Severity},
    fingerprint::Inputs,
    frontmatter::{Unfenced, parse_yaml, split},
    nearest::nearest,
};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value};

use crate::{
    definition::{Dialect, Source},
    order::order,
    search::{Bundled, Family, FileKind, Folder, Search},
};

/// A workflow command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// What it is started by: the name of its file.
    pub name: String,
    /// One line about it; may be empty.
    pub description: String,
    /// What the agent is told.
    pub instructions: String,
    /// Who put it there.
    pub source: Source,
    /// Whose way of keeping commands it is.
    pub family: String,
    /// The file; `None` for what is in the program.
    pub file: Option<Utf8PathBuf>,
}

/// The commands that there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commands {
    /// One of each name, in order of precedence.
    pub commands: Vec<Command>,
    /// What there is to say; shadowed names are notes.
    pub findings: Vec<Finding>,
}

const BUNDLED: &[(&str, &str)] = &[
    ("init", include_str!("commands/init.md")),
    ("orchestrate", include_str!("commands/orchestrate.md")),
    ("review", include_str!("commands/review.md")),
];

/// Where a host keeps them: in a project, below its home, how files end.
const PLACES: &[(&str, Option<&str>, &str, &str)] = &[
    ("claude", Some(".claude/commands"), "commands", ".md"),
    ("codex", None, "prompts", ".md"),
    ("gemini", Some(".gemini/commands"), "commands", ".toml"),
    ("opencode", Some(".opencode/commands"), "commands", ".md"),
    ("cursor", Some(".cursor/commands"), "commands", ".md"),
    ("kiro", Some(".kiro/prompts"), "prompts", ".md"),
    ("qwen", Some(".qwen/commands"), "commands", ".md"),
    ("factory", Some(".factory/commands"), "commands", ".md"),
];

/// The search for commands from a directory.
#[must_use]
pub fn search(cwd: &Utf8Path, hosts: &[Host], roots: &Roots<'_>) -> Search {
    let family = |name: &str, project: Option<&str>, user: Utf8PathBuf, suffix: &str| Family {
        name: name.to_owned(),
        project: project.map(Utf8PathBuf::from),
        user: Some(user),
        files: vec![FileKind { suffix: suffix.to_owned(), dialect: Dialect::Ours }],
    };
    let mut families = vec![
        family("agents", Some(".agents/commands"), roots.home.join(".agents/commands"), ".md"),
        family("omp", Some(".omp/commands"), roots.home.join(".omp/agent/commands"), ".md"),
    ];
    for (id, project, user, suffix) in PLACES {
        let Some(host) = hosts.iter().find(|host| host.id.as_str() == *id) else { continue };
        families.push(family(id, *project, host.home_dir(roots).join(user), suffix));
    }
    Search { folder: Folder::Commands, families, ..Search::new(cwd, hosts, roots) }
}

/// Finds all commands.
#[must_use]
pub fn discover(search: &Search) -> Commands {
    let mut inputs = Inputs::new();
    let order = order(search, &mut inputs);
    let mut all = Commands { commands: Vec::new(), findings: order.findings };
    for (shelf, _) in order.shelves.iter().filter(|(_, state)| state.is_none()) {
        let (_, pages) = shelf.pages(&mut inputs, &mut all.findings);
        for (file, _, text) in pages {
            let parsed = text.and_then(|text| parse(&file, &text));
            match parsed {
                Ok((name, description, instructions)) => all.add(Command {
                    name,
                    description,
                    instructions,
                    source: shelf.source.clone(),
                    family: shelf.family.clone(),
                    file: Some(file),
                }),
                Err(message) => {
                    all.findings.push(Finding::warning(message).at(Place::file(&file)));
                }
            }
        }
    }
    if search.bundled == Bundled::Included {
        bundled().into_iter().for_each(|command| all.add(command));
    }
    all
}

/// The commands that are in the program.
#[must_use]
pub fn bundled() -> Vec<Command> {
    let parsed = BUNDLED.iter().filter_map(|(name, text)| {
        let (name, description, instructions) = parse(&format!("{name}.md").into(), text).ok()?;
        let (source, family) = (Source::Bundled, "bundled".to_owned());
        Some(Command { name, description, instructions, source, family, file: None })
    });
    parsed.collect()
}

impl Commands {
    /// The command of exactly this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Command> {
        self.commands.iter().find(|command| command.name == name)
    }

    /// The names that were probably meant.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        nearest(name, self.commands.iter().map(|it| it.name.as_str()))
    }

    fn add(&mut self, command: Command) {
        let Some(known) = self.get(&command.name) else { return self.commands.push(command) };
        let winner = known.file.as_ref().map_or("the program's own".into(), |it| format!("`{it}`"));
        let message = format!("command `{}` is shadowed by {winner}", command.name);
        let finding = Finding::new(Severity::Note, message);
        self.findings.push(match command.file {
            Some(file) => finding.at(Place::file(file)),
            None => finding,
        });
    }
}

impl Command {
    /// The instructions with what the user typed after the name in place of `$@`, `$ARGUMENTS` and `{{args}}`. Where none of
    /// them stands, what was typed follows at the end.
    #[must_use]
    pub fn expand(&self, input: &str) -> String {
        let mut expanded = String::with_capacity(self.instructions.len() + input.len());
        let (mut rest, mut used) = (self.instructions.as_str(), false);
        // In one pass: what the user typed is not expanded again.
        while let Some((at, length)) = placeholder(rest) {
            expanded += &rest[..at];
            expanded += input;
            rest = &rest[at + length..];
            used = true;
        }
        expanded += rest;
        if !used && !input.trim().is_empty() {
            expanded = format!("{}\n\n{input}", expanded.trim_end());
        }
        expanded
    }
}

/// Where the first one stands, and how long it is.
fn placeholder(text: &str) -> Option<(usize, usize)> {
    let found = ["$@", "$ARGUMENTS", "{{args}}"]
        .into_iter()
        .filter_map(|it| Some((text.find(it)?, it.len())));
    found.min()
}

/// Name, description, instructions.
fn parse(file: &Utf8PathBuf, text: &str) -> Result<(String, String, String), String> {
    let name = file.file_stem().unwrap_or_default();
    if name.is_empty() || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("the name of the file cannot be the name of a command".to_owned());
    }
    let described = |keys: &Map<String, Value>| {
        keys.get("description").and_then(Value::as_str).unwrap_or_default().trim().to_owned()
    };
    if file.extension() == Some("toml") {
        let keys: Map<String, Value> =
            toml::from_str(text).map_err(|error| format!("it is no TOML: {}", error.message()))?;
        let prompt = keys.get("prompt").and_then(Value::as_str);
        let prompt = prompt.ok_or("there is no `prompt`")?;
        return Ok((name.to_owned(), described(&keys), prompt.to_owned()));
    }
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let parts = match split(&text) {
        Ok(parts) => parts,
        Err(Unfenced::NotOpened) => {
            return Ok((name.to_owned(), String::new(), text.trim().to_owned()));
        }
        Err(Unfenced::NotClosed { .. }) => return Err("the header has no end".to_owned()),
    };
    let header = &text[parts.header];
    // Only the description is read, and a command works without one.
    let keys = match parts.format {
        Format::Toml => toml::from_str(header).unwrap_or_default(),
        _ => parse_yaml(header).map(|it| it.entries).unwrap_or_default(),
    };
    Ok((name.to_owned(), described(&keys), text[parts.body].trim().to_owned()))
}

#[cfg(test)]
mod tests;
