//! The tools for an agent's own work, through the guard.

use std::{
    sync::{Arc, Mutex},
    time::Instant,
};

use agents_agent::definition::PermissionMode;
use agents_tool::{
    Bypass, CallContext, Catalogue, Guarded, Output, Presented, Request, Rights, Standing,
    ToolError, ToolResult,
    bounds::Bounds,
    executor::{Executor as _, Nobody},
    secrets::Mask,
    tools::{
        AgentLine, Batch, PluginCommand, Receiver, Spawner, Submission, Task, Todo, TodoState,
        Yield,
    },
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::{Agent, keeper};

/// Takes what is a number, and says what is wrong with everything else.
#[derive(Default)]
struct Numbers(Mutex<Vec<Submission>>);

impl Receiver for Numbers {
    fn receive(&self, submission: Submission) -> BoxFuture<'_, Result<String, String>> {
        let answer = match &submission {
            Submission::Result(Value::Number(_)) => Ok("thank you".to_owned()),
            _ => Err("/data: this is not a number".to_owned()),
        };
        self.0.lock().unwrap().push(submission);
        Box::pin(std::future::ready(answer))
    }
}

/// Says who was asked.
struct Names;

impl Spawner for Names {
    fn agents(&self) -> Vec<AgentLine> {
        let line = |name: &str| AgentLine {
            name: name.to_owned(),
            description: "Looks.\nMore.".to_owned(),
        };
        vec![line("explore"), line("reviewer")]
    }

    fn spawn<'a>(
        &'a self,
        batch: Batch,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, ToolError>> {
        let names: Vec<&str> =
            batch.tasks.iter().map(|it| batch.agent_of(it).unwrap_or("task")).collect();
        let said = Output::said(names.join(" "));
        Box::pin(std::future::ready(Ok(said)))
    }
}

struct Case {
    agent: Agent,
    executor: Presented<Guarded<Catalogue>>,
    todo: Todo,
    numbers: Arc<Numbers>,
    runtime: tokio::runtime::Runtime,
}

impl Case {
    fn new(rights: Rights) -> Self {
        let agent = Agent::new();
        let (todo, numbers) = (Todo::default(), Arc::new(Numbers::default()));
        let mut catalogue = Catalogue::default();
        catalogue.add(todo.clone()).unwrap();
        catalogue
            .add(Yield::new(Some(json!({"type": "number"})), Arc::clone(&numbers) as _))
            .unwrap();
        catalogue.add(Task::new(Arc::new(Names))).unwrap();
        // A program that stands in for ours: it prints what it is called with.
        let program = ["sh", "-c", "echo \"$0 $*\"; pwd"].map(str::to_owned).to_vec();
        let description = "Checks the notes.";
        let command =
            PluginCommand::new(keeper(), program, ("notes", "check"), description, Vec::new());
        catalogue.add(command).unwrap();
        let standing = Standing::root(rights, PermissionMode::BypassPermissions, Bypass::Allowed);
        let guarded = Guarded::new(catalogue, standing, Arc::new(Nobody), Instant::now());
        let executor = Presented::new(guarded, Arc::new(Mask::default()), Bounds::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { agent, executor, todo, numbers, runtime }
    }

    fn call(&self, tool: &str, input: Value) -> ToolResult {
        let request = Request { tool: tool.to_owned(), input };
        let result = self.runtime.block_on(self.executor.call(request, &self.agent.context));
        ToolResult { content: crate::unmarked(&result.content), ..result }
    }
}

#[test]
fn a_list_is_kept_and_can_be_watched() {
    let case = Case::new(Rights::all());
    let items = json!([
        {"text": "read", "state": "completed"},
        {"text": "write", "state": "active"},
        {"text": "check"},
    ]);
    let result = case.call("todo", json!({ "items": items }));
    assert_eq!(result.content, "[x] read\n[>] write\n[ ] check");
    assert_eq!(case.todo.items()[0].state, TodoState::Done);
    let two = json!([{"text": "a", "state": "active"}, {"text": "b", "state": "active"}]);
    assert!(case.call("todo", json!({ "items": two })).is_error);
    assert_eq!(case.call("todo", Value::Null).content, "[x] read\n[>] write\n[ ] check");
}

#[test]
fn what_is_handed_in_is_taken_or_told_what_is_wrong() {
    let case = Case::new(Rights::all());
    let spec = case.executor.inner().offered().into_iter().find(|it| it.name == "yield").unwrap();
    assert_eq!(spec.input_schema["properties"]["data"], json!({"type": "number"}));
    let wrong = case.call("yield", json!({"data": "text"}));
    assert_eq!((wrong.content.as_str(), wrong.is_error), ("/data: this is not a number", true));
    let taken = case.call("yield", json!({"data": 7}));
    assert_eq!((taken.content.as_str(), taken.is_error), ("thank you", false));
    assert!(case.call("yield", json!({"data": 7, "error": "no"})).is_error);
    assert_eq!(case.numbers.0.lock().unwrap().len(), 2);
}

#[test]
fn agents_are_asked_by_name_and_rules_can_name_them() {
    let case = Case::new(Rights::only(["task(explore)"]));
    let offered = case.executor.inner().offered();
    assert_eq!(offered.len(), 1);
    assert!(offered[0].description.ends_with("\n- explore: Looks.\n- reviewer: Looks."));
    let task = |agent: &str| json!({"id": agent, "assignment": "look", "agent": agent});
    let ask = |tasks: &[Value]| case.call("task", json!({ "tasks": tasks }));
    assert_eq!(ask(&[task("explore")]).content, "explore");
    for tasks in [
        vec![task("reviewer")],
        vec![task("explore"), task("reviewer")],
        vec![task("explore"), json!({"id": "x", "assignment": "look"})],
    ] {
        let result = ask(&tasks);
        assert!(result.is_error && result.content.contains("was refused"), "{}", result.content);
    }
}

#[test]
fn a_command_of_a_plugin_gets_its_arguments_as_they_are() {
    let case = Case::new(Rights::all());
    fs_err::create_dir(case.agent.scratch.path("root/deep")).unwrap();
    let input = json!({"args": ["a b", "$HOME", ";ls"], "cwd": "deep"});
    let result = case.call("plugin__notes__check", input);
    let cwd = case.agent.context.area.cwd().join("deep");
    assert_eq!(result.content, format!("check a b $HOME ;ls\n{cwd}"));
    let case = Case::new(Rights::only(["plugin__notes__check(list *)"]));
    assert!(!case.call("plugin__notes__check", json!({"args": ["list", "all"]})).is_error);
    assert!(case.call("plugin__notes__check", json!({"args": ["delete"]})).is_error);
}
