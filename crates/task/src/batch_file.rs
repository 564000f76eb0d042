//! Many assignments in a file.

use std::time::Duration;

use agents_agent::definition::Isolation;
use agents_model::cost::MicroDollars;
use agents_system::span;
use camino::Utf8Path;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    done_when::DoneWhen,
    limits::Limits,
    request::{Batch, TaskRequest},
};

/// The file: many assignments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BatchFile {
    /// The agent of every task that names none; without one, the agent that fits best
    #[serde(default)]
    agent: Option<String>,
    /// What all of them should know
    #[serde(default)]
    context: Option<String>,
    /// What all results must look like, where a task says nothing else
    #[serde(default)]
    schema: Option<Value>,
    /// The tasks
    tasks: Vec<Item>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Item {
    /// What it is called; by default after its agent
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    agent: Option<String>,
    /// What is to be done
    prompt: String,
    /// What the result must look like
    #[serde(default)]
    schema: Option<Value>,
    /// Only these of the tools it would have
    #[serde(default)]
    tools: Vec<String>,
    /// Acceptable models, best first
    #[serde(default)]
    model: Vec<String>,
    /// Work in a git worktree of its own
    #[serde(default)]
    isolated: Option<bool>,
    /// What must hold before it is done
    #[serde(default)]
    done_when: DoneWhen,
    #[serde(default)]
    max_turns: Option<u64>,
    /// Such as `90s` or `10m`
    #[serde(default)]
    max_time: Option<String>,
    /// In dollars, as a text such as `0.50`
    #[serde(default)]
    max_cost: Option<String>,
}

/// What a file says: TOML or JSON by its name, everything else as YAML.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse(file: &Utf8Path, text: &str) -> Result<Batch, String> {
    let read: BatchFile = match file.extension() {
        Some("toml") => toml::from_str(text).map_err(|error| error.to_string())?,
        Some("json") => serde_json::from_str(text).map_err(|error| error.to_string())?,
        _ => serde_saphyr::from_str(text).map_err(|error| error.to_string())?,
    };
    let request = |item: Item| {
        let time = |text: &String| {
            span::parse(text.trim(), Duration::from_secs(1))
                .ok_or_else(|| format!("`max-time` is a time such as `10m`, not `{text}`"))
        };
        let cost = |text: &String| {
            MicroDollars::parse(text)
                .ok_or_else(|| format!("`max-cost` is an amount such as `0.50`, not `{text}`"))
        };
        let isolation = |it| if it { Isolation::Worktree } else { Isolation::None };
        Ok(TaskRequest {
            limits: Limits {
                turns: item.max_turns,
                time: item.max_time.as_ref().map(time).transpose()?,
                cost: item.max_cost.as_ref().map(cost).transpose()?,
                ..Limits::default()
            },
            name: item.name,
            agent: item.agent.or_else(|| read.agent.clone()),
            prompt: item.prompt,
            schema: item.schema.or_else(|| read.schema.clone()),
            tools: item.tools,
            model: item.model,
            isolation: item.isolated.map(isolation),
            done_when: item.done_when,
            ..TaskRequest::default()
        })
    };
    let tasks: Result<Vec<TaskRequest>, String> = read.tasks.into_iter().map(request).collect();
    Ok(Batch { context: read.context, tasks: tasks? })
}
