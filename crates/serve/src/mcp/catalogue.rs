//! The tools of the server, with their schemas.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use crate::{
    offer::FoundCrate,
    verbs::{
        answer::{AgentList, CommandList, OutputPage, SkillList, TaskList, ToolAnswer, ToolList},
        asked::{
            CallTool, Commands, CrateInfo, FindSkills, ListAgents, ListTools, RunTasks, TaskCancel,
            TaskOutput, TaskStatus,
        },
    },
};

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Task,
    TaskStatus,
    TaskOutput,
    TaskCancel,
    Agents,
    Skills,
    CrateInfo,
    Commands,
    ListTools,
    CallTool,
    #[cfg(feature = "script")]
    Execute,
}

impl Verb {
    /// All of them, in the order in which they are listed.
    pub(super) const ALL: &[Self] = &[
        Self::Task,
        Self::TaskStatus,
        Self::TaskOutput,
        Self::TaskCancel,
        Self::Agents,
        Self::Skills,
        Self::CrateInfo,
        Self::Commands,
        Self::ListTools,
        Self::CallTool,
        #[cfg(feature = "script")]
        Self::Execute,
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::TaskStatus => "task_status",
            Self::TaskOutput => "task_output",
            Self::TaskCancel => "task_cancel",
            Self::Agents => "agents",
            Self::Skills => "skills",
            Self::CrateInfo => "crate_info",
            Self::Commands => "commands",
            Self::ListTools => "list_tools",
            Self::CallTool => "call_tool",
            #[cfg(feature = "script")]
            Self::Execute => "execute",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Task => {
                "Gives work to sub-agents and waits for their results; several tasks run at the same time. They have their own tools, limits and \
                 permissions, and know nothing of this conversation: say everything that they need. With `background` it comes back at once."
            }
            Self::TaskStatus => {
                "Reports the state of tasks: running or ended, and, of those named in `ids`, with which result. Can wait for them with `wait_seconds`."
            }
            Self::TaskOutput => {
                "Reads the whole result of a task, or its transcript, a page at a time."
            }
            Self::TaskCancel => "Ends tasks that run, and everything that they started.",
            Self::Agents => "Lists the sub-agents that `task` can use, and when to use which.",
            Self::Skills => {
                "Finds skills: instructions for the crates of this workspace, at the versions that it uses. Search by words or by the name of a crate, \
                 then load the one that fits."
            }
            Self::CrateInfo => {
                "Finds the sources of a crate on this machine, at the exact version that this workspace uses."
            }
            Self::Commands => {
                "Lists the commands that plugins of this workspace have for agents, or runs one of them."
            }
            Self::ListTools => {
                "Lists the tools of the MCP servers behind this one, as TypeScript declarations. Servers are started when they are asked for the first time."
            }
            Self::CallTool => {
                "Calls a tool of an MCP server behind this one, with arguments as `list_tools` declares them."
            }
            #[cfg(feature = "script")]
            Self::Execute => {
                "Runs a script in JavaScript that calls tools of the MCP servers behind this one, many at once if it likes: only what it returns comes back. \
                 It has no files, network or programs of its own."
            }
        }
    }

    /// The title, and what a client may assume.
    fn annotations(self) -> ToolAnnotations {
        let (title, reads) = match self {
            Self::Task => ("Run sub-agents", false),
            Self::TaskStatus => ("How tasks are", true),
            Self::TaskOutput => ("Read what a task did", true),
            Self::TaskCancel => ("Cancel tasks", false),
            Self::Agents => ("List sub-agents", true),
            Self::Skills => ("Find and load skills", true),
            Self::CrateInfo => ("Find sources of a crate", true),
            Self::Commands => ("Plugin commands", false),
            Self::ListTools => ("List tools of other servers", true),
            Self::CallTool => ("Call a tool of another server", false),
            #[cfg(feature = "script")]
            Self::Execute => ("Run a script of calls", false),
        };
        let annotations = ToolAnnotations::with_title(title).read_only(reads);
        match self {
            Self::TaskCancel => annotations.destructive(false).idempotent(true).open_world(false),
            _ if reads => annotations.open_world(false),
            _ => annotations,
        }
    }

    pub(super) fn tool(self) -> Tool {
        let (input, output) = match self {
            Self::Task => (taken::<RunTasks>(), given::<TaskList>()),
            Self::TaskStatus => (taken::<TaskStatus>(), given::<TaskList>()),
            Self::TaskOutput => (taken::<TaskOutput>(), given::<OutputPage>()),
            Self::TaskCancel => (taken::<TaskCancel>(), given::<TaskList>()),
            Self::Agents => (taken::<ListAgents>(), given::<AgentList>()),
            Self::Skills => (taken::<FindSkills>(), given::<SkillList>()),
            Self::CrateInfo => (taken::<CrateInfo>(), given::<FoundCrate>()),
            Self::Commands => (taken::<Commands>(), given::<CommandList>()),
            Self::ListTools => (taken::<ListTools>(), given::<ToolList>()),
            Self::CallTool => (taken::<CallTool>(), given::<ToolAnswer>()),
            #[cfg(feature = "script")]
            Self::Execute => (taken::<agents_tool::script::ExecuteInput>(), given::<ToolAnswer>()),
        };
        let mut tool = Tool::new(self.name(), self.description(), input);
        tool.output_schema = Some(output);
        tool.annotate(self.annotations())
    }
}

/// A command of a plugin as a tool of its own.
pub(super) fn command_tool(command: &dyn agents_tool::Tool) -> Tool {
    let schema = match Value::clone(&command.schema()) {
        Value::Object(schema) => schema,
        _ => JsonObject::default(),
    };
    let (name, description) = (command.name().to_owned(), command.description().to_owned());
    Tool::new(name, description, Arc::new(schema)).annotate(ToolAnnotations::new().read_only(false))
}

/// What is taken.
fn taken<T: JsonSchema>() -> Arc<JsonObject> {
    schema::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// What is given back: what may be left out is not required.
fn given<T: JsonSchema>() -> Arc<JsonObject> {
    schema::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// In one piece: many clients do not follow references. What only machines of ours know is left out: it costs a model tokens.
fn schema<T: JsonSchema>(settings: SchemaSettings) -> Arc<JsonObject> {
    let settings = settings.with(|it| {
        it.inline_subschemas = true;
        it.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    trim(&mut schema);
    match schema {
        Value::Object(mut schema) => {
            schema.shift_remove("title");
            Arc::new(schema)
        }
        _ => Arc::default(),
    }
}

fn trim(schema: &mut Value) {
    match schema {
        Value::Object(all) => {
            if all.get("default").is_some_and(|it| it.is_null() || *it == false) {
                all.shift_remove("default");
            }
            if all
                .get("format")
                .is_some_and(|it| it.as_str().is_some_and(|it| it.starts_with("uint")))
            {
                all.shift_remove("format");
            }
            all.values_mut().for_each(trim);
        }
        Value::Array(all) => all.iter_mut().for_each(trim),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_schemas_of_objects_in_one_piece_and_says_what_each_argument_is() {
        for verb in Verb::ALL {
            let tool = verb.tool();
            assert_eq!(Verb::named(&tool.name), Some(*verb));
            let output = tool.output_schema.clone().unwrap();
            for schema in [&tool.input_schema, &output] {
                assert_eq!(schema["type"], "object", "{}", tool.name);
                let text = serde_json::to_string(schema).unwrap();
                assert!(!text.contains("$ref") && !text.contains("$schema"), "{text}");
                for (name, property) in schema["properties"].as_object().unwrap() {
                    assert!(property.get("description").is_some(), "{}: {name}", tool.name);
                }
            }
        }
    }

    #[test]
    fn all_of_it_is_a_small_part_of_what_a_model_reads() {
        let mut all: Vec<Tool> = Verb::ALL.iter().map(|it| it.tool()).collect();
        all.iter_mut().for_each(|it| it.output_schema = None);
        let size = serde_json::to_string(&all).unwrap().len();
        assert!(size < 10_000, "{size} bytes");
    }
}
