//! What a plan says.

use std::{collections::BTreeMap, time::Duration};

use agents_model::cost::MicroDollars;
use agents_system::span;
use agents_task::done_when::DoneWhen;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::Ending;

/// A graph of tasks for agents.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Plan {
    /// What the plan is called: lower-case letters, digits and dashes.
    pub plan: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// What can be said when it is run, as `params.NAME`.
    #[serde(default)]
    pub params: BTreeMap<String, Param>,
    /// How much the whole plan may use.
    #[serde(default)]
    pub budget: Budget,
    /// How much runs at once.
    #[serde(default)]
    pub concurrency: Concurrency,
    /// What happens when a task fails, if the task does not say it. `abort` by default.
    #[serde(default)]
    pub on_failure: Option<OnFailure>,
    /// Whether failed tasks are tried again, if the task does not say it.
    #[serde(default)]
    pub retry: Option<Retry>,
    /// What it hands on as a part of another plan: names with references.
    #[serde(default)]
    pub outputs: BTreeMap<String, String>,
    /// The tasks.
    #[serde(default)]
    pub tasks: Vec<Task>,
}

impl Plan {
    /// What a plan looks like, as a JSON Schema: for editors, and for agents that are asked for one.
    #[must_use]
    pub fn schema() -> Schema {
        schemars::schema_for!(Self)
    }
}

/// Something that can be said when a plan is run.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Param {
    /// What it must be.
    #[serde(rename = "type", default)]
    pub kind: ParamType,
    /// What it is if nothing is said; without it, something must be said.
    #[serde(default)]
    pub default: Option<Value>,
    /// What it is for.
    #[serde(default)]
    pub description: String,
}

/// What a parameter must be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ParamType {
    /// Text.
    #[default]
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list of texts.
    Strings,
    /// Anything.
    Any,
}

impl ParamType {
    /// As a JSON Schema.
    #[must_use]
    pub fn schema(self) -> Value {
        match self {
            Self::String => serde_json::json!({ "type": "string" }),
            Self::Integer => serde_json::json!({ "type": "integer" }),
            Self::Number => serde_json::json!({ "type": "number" }),
            Self::Boolean => serde_json::json!({ "type": "boolean" }),
            Self::Strings => serde_json::json!({ "type": "array", "items": { "type": "string" } }),
            Self::Any => Value::Bool(true),
        }
    }

    /// Whether a value is that.
    #[must_use]
    pub fn takes(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Strings => value.as_array().is_some_and(|it| it.iter().all(Value::is_string)),
            Self::Any => true,
        }
    }

    /// In words.
    #[must_use]
    pub fn told(self) -> &'static str {
        match self {
            Self::String => "a text",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::Boolean => "`true` or `false`",
            Self::Strings => "a list of texts",
            Self::Any => "anything",
        }
    }
}

/// How much a whole plan may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Budget {
    /// Calls of models.
    #[serde(default)]
    pub turns: Option<u64>,
    /// Tokens, in and out.
    #[serde(default)]
    pub tokens: Option<u64>,
    /// Dollars.
    #[serde(default)]
    pub cost: Option<Dollars>,
}

/// How much runs at once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Concurrency {
    /// Tasks; 4 if nothing is said.
    #[serde(default)]
    pub total: Option<u32>,
    /// Tasks of an agent, by its name.
    #[serde(default)]
    pub agents: BTreeMap<String, u32>,
    /// Tasks that a provider answers, by its name.
    #[serde(default)]
    pub providers: BTreeMap<String, u32>,
    /// How much there is of a resource, by its name; 1 if nothing is said.
    #[serde(default)]
    pub resources: BTreeMap<String, u32>,
}

/// One task: an agent that does something, another plan, or several contenders.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Task {
    /// What it is called: lower-case letters, digits and dashes.
    pub id: String,
    /// Who does it.
    #[serde(default)]
    pub agent: Option<String>,
    /// What is to be done, with references: `${{ tasks.ID.output.FIELD }}`, `${{ params.NAME }}`, `${{ item }}`.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Instead of an agent: another plan, a path from this file.
    #[serde(default)]
    pub plan: Option<String>,
    /// What that plan gets as parameters; texts may hold references to parameters and items.
    #[serde(default)]
    pub with: BTreeMap<String, Value>,
    /// Instead of one agent: several that try the same.
    #[serde(default)]
    pub race: Option<Race>,
    /// Once for each of these.
    #[serde(default)]
    pub for_each: Option<Each>,
    /// Tasks that must have completed. What is referred to is needed, too.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Tasks that must have ended, however.
    #[serde(default)]
    pub after: Vec<String>,
    /// Only if this holds: `tasks.ID.output.count > 0 and params.deep`.
    #[serde(default)]
    pub when: Option<String>,
    /// The JSON Schema of the result, instead of that of the agent.
    #[serde(default)]
    pub output: Option<Value>,
    /// What must hold before it is done; commands and patterns may have references to parameters and items.
    #[serde(default)]
    pub done_when: DoneWhen,
    /// How far it may go.
    #[serde(default)]
    pub limits: Limits,
    /// Whether it is tried again.
    #[serde(default)]
    pub retry: Option<Retry>,
    /// What happens when it fails for good.
    #[serde(default)]
    pub on_failure: Option<OnFailure>,
    /// Where it works.
    #[serde(default)]
    pub isolation: Option<Isolation>,
    /// Acceptable models, best first.
    #[serde(default)]
    pub model: Vec<String>,
    /// Paths, or `member:NAME`, that nobody may write while it runs.
    #[serde(default)]
    pub reads: Vec<String>,
    /// Paths, or `member:NAME`, that nobody else may read or write while it runs.
    #[serde(default)]
    pub writes: Vec<String>,
    /// How much it uses of each resource while it runs.
    #[serde(default)]
    pub resources: BTreeMap<String, u32>,
    /// Tasks with more of it start first; 0 if nothing is said.
    #[serde(default)]
    pub priority: i32,
}

/// A list, or the members of the workspace.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Each {
    /// A list, or a reference to a parameter that is one.
    #[serde(rename = "in", default)]
    pub list: Option<List>,
    /// Members of the workspace by their names, `*` for all of them. An item has `name` and `dir`.
    #[serde(default)]
    pub members: Option<Vec<String>>,
    /// For members: in which order. `dependencies` if nothing is said.
    #[serde(default)]
    pub order: Order,
}

/// A list of anything, or a reference to one.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum List {
    /// The items.
    Items(Vec<Value>),
    /// Where they come from: `${{ params.NAME }}`.
    Reference(String),
}

/// In which order members come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Each after the members that it depends on: to be built, and to be tested as far as that is no circle.
    #[default]
    Dependencies,
    /// All at once, as far as limits allow.
    Any,
}

/// Several that try the same.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Race {
    /// Who tries. What a contender does not say is said by the task.
    pub contenders: Vec<Contender>,
    /// Who wins; the first that completes if nothing is said.
    #[serde(default)]
    pub pick: Pick,
    /// Who decides, for `pick = "judge"`.
    #[serde(default)]
    pub judge: Option<Judge>,
}

/// One that tries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Contender {
    /// Who does it.
    #[serde(default)]
    pub agent: Option<String>,
    /// What is to be done.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Acceptable models, best first.
    #[serde(default)]
    pub model: Vec<String>,
}

/// Who wins a race.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pick {
    /// The first that completes, which is one whose `done-when` holds; the others are stopped.
    #[default]
    First,
    /// The result that most have.
    Vote,
    /// The one that a judge names.
    Judge,
}

/// Who decides a race.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Judge {
    /// The agent.
    pub agent: String,
    /// What it is told; it is shown the results, and hands in the number of one as `winner`.
    #[serde(default)]
    pub prompt: String,
}

/// How far one attempt may go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Limits {
    /// Calls of the model.
    #[serde(default)]
    pub turns: Option<u64>,
    /// Tokens, in and out.
    #[serde(default)]
    pub tokens: Option<u64>,
    /// Dollars.
    #[serde(default)]
    pub cost: Option<Dollars>,
    /// Time as a whole.
    #[serde(default)]
    pub time: Option<Time>,
    /// Time without a sign of life.
    #[serde(default)]
    pub idle: Option<Time>,
}

/// Whether something is tried again. What went wrong is added to the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Retry {
    /// How often it is tried at all.
    pub attempts: u32,
    /// How long to wait before the second attempt; twice as long before each further one.
    #[serde(default)]
    pub backoff: Option<Time>,
    /// After which endings; `failed`, `out-of-limits`, `timed-out` and `lost` if nothing is said.
    #[serde(default)]
    pub on: Option<Vec<Ending>>,
}

/// What happens when a task fails for good.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// The plan ends, and what runs is stopped.
    #[default]
    Abort,
    /// What needs it is left out; everything else goes on.
    SkipDependents,
    /// What needs it runs as if it had completed, without a result.
    Continue,
    /// The user is asked; everything else goes on.
    Ask,
}

/// Where a task works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// In the workspace itself.
    None,
    /// In a worktree of its own.
    Worktree,
}

impl From<Isolation> for agents_agent::definition::Isolation {
    fn from(isolation: Isolation) -> Self {
        match isolation {
            Isolation::None => Self::None,
            Isolation::Worktree => Self::Worktree,
        }
    }
}

/// A length of time: `500ms`, `90s`, `10m`, `2h`, `1d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub Duration);

impl Time {
    /// Reads one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        // A bare number could mean anything.
        let has_unit = text.ends_with(|c: char| !c.is_ascii_digit());
        span::parse(text, Duration::ZERO).filter(|_| has_unit).map(Self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "`{text}` is no time, such as `500ms`, `90s`, `10m` or `2h`"
            ))
        })
    }
}

impl JsonSchema for Time {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A length of time: `500ms`, `90s`, `10m`, `2h`.",
            "pattern": "^[0-9]+ *(ms|s|m|min|h|d)$"
        })
    }
}

/// An amount of money, in dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dollars(pub MicroDollars);

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        if !(0.0..=1e9).contains(&dollars) {
            return Err(serde::de::Error::custom(format!("{dollars} is no amount of money")));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it fits")]
        Ok(Self(MicroDollars((dollars * 1e6).ceil() as u64)))
    }
}

impl JsonSchema for Dollars {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Dollars".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": 1_000_000_000 })
    }
}
