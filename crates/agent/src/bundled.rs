//! The agents that are in the program. They come last: any file of the same name takes their place.

use std::sync::LazyLock;

use agents_system::finding::{Finding, Severity};

use crate::{
    definition::{AgentDefinition, Dialect, Source},
    parse::{Input, Strictness, parse},
};

/// A definition as it is embedded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embedded {
    /// Its name, and that of its file without the suffix.
    pub name: &'static str,
    /// The whole file.
    pub text: String,
}

const FILES: &[(&str, &str)] = &[
    ("explore", include_str!("bundled/explore.md")),
    ("plan", include_str!("bundled/plan.md")),
    ("designer", include_str!("bundled/designer.md")),
    ("reviewer", include_str!("bundled/reviewer.md")),
];

/// Those that share one prompt, with their headers.
const TASKS: &[(&str, &str)] = &[
    (
        "task",
        "name: task\n\
         description: Carries out one clearly described piece of work with every tool that there is. Give it all that it needs to know; it has not read what you have read.\n\
         spawns: \"*\"\n\
         model: \"@task\"\n\
         thinkingLevel: medium\n",
    ),
    (
        "quick_task",
        "name: quick_task\n\
         description: Carries out a small, mechanical piece of work quickly and cheaply - a rename, a list of similar edits, collecting data - where nothing has to be decided.\n\
         model: \"@fast\"\n\
         thinkingLevel: minimal\n",
    ),
];

const TASK_BODY: &str = include_str!("bundled/task_body.md");

const LAST: &[(&str, &str)] = &[("general-purpose", include_str!("bundled/general-purpose.md"))];

/// The files that are in the program, in order.
#[must_use]
pub fn files() -> Vec<Embedded> {
    let whole = |(name, text): &(&'static str, &str)| Embedded { name, text: (*text).to_owned() };
    let tasks = TASKS
        .iter()
        .map(|(name, header)| Embedded { name, text: format!("---\n{header}---\n{TASK_BODY}") });
    FILES.iter().map(whole).chain(tasks).chain(LAST.iter().map(whole)).collect()
}

/// The agents that are in the program, in order. Parsed once; a test makes sure that all of them are right.
#[must_use]
pub fn agents() -> &'static [AgentDefinition] {
    static AGENTS: LazyLock<Vec<AgentDefinition>> =
        LazyLock::new(|| load().into_iter().filter_map(|(definition, _)| definition).collect());
    &AGENTS
}

fn load() -> Vec<(Option<AgentDefinition>, Vec<Finding>)> {
    let parsed = files().into_iter().map(|file| {
        let path = format!("bundled:{}.md", file.name);
        let (definition, findings) = parse(&Input {
            file: path.as_str().into(),
            text: &file.text,
            dialect: Dialect::Ours,
            source: Source::Bundled,
            strictness: Strictness::Strict,
        });
        let definition = definition.map(|mut definition| {
            definition.origin.file = None;
            definition
        });
        (definition, findings)
    });
    parsed.collect()
}

/// What is wrong with the agents in the program: nothing, or the build is broken.
#[must_use]
pub fn mistakes() -> Vec<Finding> {
    let wrong = |(definition, findings): (Option<AgentDefinition>, Vec<Finding>)| {
        let missing = definition.is_none().then(|| Finding::error("a bundled agent is missing"));
        findings.into_iter().filter(|it| it.severity > Severity::Note).chain(missing)
    };
    load().into_iter().flat_map(wrong).collect()
}
