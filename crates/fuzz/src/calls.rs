//! What a model gives to tools: any JSON, and sometimes none.

use std::sync::{Arc, Mutex};

use agents_model::ToolInput;
use agents_tool::{
    CallContext, Output, Tool, ToolError,
    tools::{
        AgentLine, Batch, Edit, Find, Outline, Read, Receiver, Search, Spawner, Submission, Task,
        Todo, Write, Yield,
    },
};
use camino::Utf8Path;
use futures_util::future::{BoxFuture, ready};
use serde_json::Value;

use crate::{files::in_scratch, peers::context, streams::in_runtime};

/// What stands in a file that no tool may see.
const OUTSIDE: &str = "what-is-outside";
/// The longest id of a task.
const MAX_ID: usize = 48;
/// The most that the list of an agent holds.
const MAX_ITEMS: usize = 100;

/// Any input, given to every tool that works on files or keeps something: what is judged is what is called, a refusal says something, and
/// nothing outside of the workspace is seen.
pub fn tool_input(text: &str) {
    let input = match ToolInput::parse(text.to_owned()) {
        ToolInput::Json(value) => value,
        _ => Value::String(text.to_owned()),
    };
    in_scratch("calls/outside.txt", OUTSIDE.as_bytes(), |_| ());
    in_scratch("calls/ws/src/lib.rs", b"//! Inside.\npub fn inside() {}\n", |file| {
        let root = file.parent().and_then(Utf8Path::parent).expect("a directory");
        let context = context(root);
        let search = Search { threads: std::num::NonZeroUsize::new(1) };
        for tool in [&Read as &dyn Tool, &search, &Find, &Outline] {
            if let Some(output) = called(tool, &input, &context) {
                assert!(!output.text.contains(OUTSIDE), "{}: {}", tool.name(), output.text);
            }
        }
        // These would change something: what they would change is inside.
        for tool in [&Write as &dyn Tool, &Edit] {
            let Ok(intent) = tool.intent(&input, &context) else { continue };
            for place in &intent.changes {
                let path = context.area.absolute(place);
                let leaves = path.components().any(|it| it.as_str() == "..");
                assert!(path.starts_with(root) && !leaves, "{path}");
            }
        }
        let todo = Todo::default();
        called(&todo, &input, &context);
        assert!(todo.items().len() <= MAX_ITEMS);
        check_task(&input, &context);
        check_yield(&input, &context);
    });
}

/// What comes of a call. Whoever judges it and whoever makes it understand the same.
fn called(tool: &dyn Tool, input: &Value, context: &CallContext) -> Option<Output> {
    let intent = tool.intent(input, context);
    let called = in_runtime(tool.call(input.clone(), context));
    if let Err(error @ (ToolError::Input { .. } | ToolError::File(_))) = &intent {
        assert!(called.is_err(), "{}: judged as {error}, and called", tool.name());
    }
    match called {
        Ok(output) => Some(output),
        Err(error) => {
            assert!(!error.to_string().is_empty(), "{}", tool.name());
            None
        }
    }
}

#[derive(Default)]
struct Heard {
    batches: Mutex<Vec<Batch>>,
    submissions: Mutex<Vec<Submission>>,
}

impl Spawner for Heard {
    fn agents(&self) -> Vec<AgentLine> {
        Vec::new()
    }

    fn spawn<'a>(
        &'a self,
        batch: Batch,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, ToolError>> {
        self.batches.lock().expect("nobody panics").push(batch);
        Box::pin(ready(Ok(Output::said("begun"))))
    }
}

impl Receiver for Heard {
    fn receive(&self, submission: Submission) -> BoxFuture<'_, Result<String, String>> {
        self.submissions.lock().expect("nobody panics").push(submission);
        Box::pin(ready(Ok("thank you".to_owned())))
    }
}

/// Tasks begin in the order in which they are given, each with something to do and an id that no other one has.
fn check_task(input: &Value, context: &CallContext) {
    let heard = Arc::new(Heard::default());
    called(&Task::new(heard.clone()), input, context);
    for batch in heard.batches.lock().expect("nobody panics").iter() {
        let given = input["tasks"].as_array().expect("a list");
        assert_eq!(batch.tasks.len(), given.len());
        let mut ids = Vec::new();
        for (task, given) in batch.tasks.iter().zip(given) {
            let id = task.id.trim();
            let same = |key: &str| given[key].as_str() == Some(task.id.as_str());
            assert!(same("id") || same("name"), "{given}");
            assert!(!id.is_empty() && task.id.chars().count() <= MAX_ID, "{id:?}");
            assert!(!ids.contains(&id.to_lowercase()), "{id:?} twice");
            ids.push(id.to_lowercase());
            assert!(!task.assignment.trim().is_empty(), "{given}");
        }
    }
}

/// What is handed in is a result, or a reason why there is none.
fn check_yield(input: &Value, context: &CallContext) {
    let heard = Arc::new(Heard::default());
    called(&Yield::new(None, heard.clone()), input, context);
    let heard = heard.submissions.lock().expect("nobody panics");
    assert!(heard.len() <= 1);
    match heard.first() {
        Some(Submission::Failure(why)) => assert!(!why.trim().is_empty()),
        Some(Submission::Section { labels, data }) => {
            assert!(!labels.is_empty() && !data.is_null());
        }
        Some(Submission::Result(data)) => assert!(!data.is_null()),
        Some(Submission::LastText(_)) | None => {}
    }
}
