//! oh-my-pi: Markdown, `spawns`, `output`, `thinkingLevel`, `blocking`.

use super::grammar::{Grammar, Key, Models, Patterns, SpawnStyle, ToolStyle};
use crate::definition::{
    Dialect,
    Effort::{High, Low, Max, Medium, Minimal, Off, Xhigh},
};

pub(super) const GRAMMAR: Grammar = Grammar {
    dialect: Dialect::OhMyPi,
    keys: &[
        ("name", Key::Name),
        ("description", Key::Description),
        ("tools", Key::Tools),
        ("spawns", Key::Spawns),
        ("model", Key::Model),
        ("thinkingLevel", Key::Effort),
        ("thinking", Key::Effort),
        ("output", Key::Output),
        ("blocking", Key::Blocking),
        ("autoloadSkills", Key::Skills),
    ],
    extra: &["readSummarize", "prewalk", "advisor"],
    efforts: &[
        ("off", Off),
        ("minimal", Minimal),
        ("low", Low),
        ("medium", Medium),
        ("high", High),
        ("xhigh", Xhigh),
        ("max", Max),
    ],
    tools: ToolStyle::Commas,
    patterns: Patterns::Names,
    spawns: SpawnStyle::Key,
    models: Models::Patterns,
    ..Grammar::MARKDOWN
};
