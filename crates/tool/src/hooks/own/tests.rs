use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use agents_hook::input::Session;
use camino::Utf8Path;
use serde_json::json;

use super::*;
use crate::{
    artifacts::ArtifactDir,
    confine::Area,
    context::CallContext,
    executor::Request,
    hooks::{After, Before, Decision, Engine, Hooks as _, Outcome},
};

struct Bench {
    dir: tempfile::TempDir,
    heard: Arc<Mutex<Vec<Finding>>>,
}

impl Bench {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), heard: Arc::default() }
    }

    fn engine(&self, dialect: Dialect, hooks: &Value) -> Engine {
        let agent = AgentName::new("guard").unwrap();
        let (own, findings) = OwnHooks::parse(&agent, dialect, hooks);
        self.heard.lock().unwrap().extend(findings);
        let heard = Arc::clone(&self.heard);
        let session = Session { session_id: Some("task-1".into()), ..Session::default() };
        let choose: Vec<Arc<dyn Choose>> = own.map(|it| Arc::new(it) as _).into_iter().collect();
        Engine::new(Arc::new(All(choose)), session, move |it| heard.lock().unwrap().push(it))
    }

    fn context(&self) -> CallContext {
        let dir = Utf8Path::from_path(self.dir.path()).unwrap();
        let artifacts = Arc::new(ArtifactDir::new(&dir.join("artifacts")));
        CallContext::new(Area::workspace(dir).unwrap(), artifacts, Duration::from_secs(60))
    }

    fn before(&self, hooks: &Value, tool: &str) -> Before {
        let request = Request { tool: tool.to_owned(), input: json!({"path": "a.rs"}) };
        let (engine, context) = (self.engine(Dialect::Ours, hooks), self.context());
        block_on(engine.before(&request, &context))
    }

    fn after(&self, hooks: &Value, outcome: Outcome<'_>) -> After {
        let request = Request { tool: "read".to_owned(), input: json!({"path": "a.rs"}) };
        let (engine, context) = (self.engine(Dialect::Ours, hooks), self.context());
        block_on(engine.after(&request, outcome, &context))
    }

    fn file(&self, name: &str) -> Option<String> {
        fs_err::read_to_string(self.dir.path().join(name)).ok()
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}

fn pre(matcher: &str, handler: impl Into<Value>) -> Value {
    let handler: Value = handler.into();
    json!({ "PreToolUse": [{ "matcher": matcher, "hooks": [handler] }] })
}

fn post(command: &str) -> Value {
    json!({ "PostToolUse": [{ "matcher": "*", "hooks": [{ "type": "command", "command": command }] }] })
}

#[test]
fn tools_are_matched_by_both_of_their_names() {
    for (dialect, matcher, tool, fires) in [
        (Dialect::Ours, "Read", "read", true),
        (Dialect::Ours, "read", "read", true),
        (Dialect::Ours, "Write|Read", "read", true),
        (Dialect::Ours, "", "read", true),
        (Dialect::Ours, "Write", "read", false),
        (Dialect::Ours, "mcp__.*__list", "mcp__x__list", true),
        (Dialect::Zeph, "rea|nothing", "read", true),
        (Dialect::Zeph, "|", "read", false),
        (Dialect::Zeph, "shell", "read", false),
        (Dialect::Zeph, "grep", "search", true),
        (Dialect::Zeph, "Grep", "search", true),
    ] {
        let bench = Bench::new();
        let engine = bench.engine(dialect, &pre(matcher, json!({"command": "echo x > ran"})));
        let request = Request { tool: tool.to_owned(), input: json!({}) };
        block_on(engine.before(&request, &bench.context()));
        assert_eq!(bench.file("ran").is_some(), fires, "{dialect:?} `{matcher}` `{tool}`");
    }
}

#[test]
fn a_condition_that_is_not_understood_holds_for_nothing() {
    for (condition, fires) in [
        (json!("tool:rea"), true),
        (json!("tool:bash"), false),
        (json!("tool:"), false),
        (json!("read"), false),
        (json!(1), false),
    ] {
        let bench = Bench::new();
        bench.before(&pre("*", json!({"command": "echo x > ran", "if": condition})), "read");
        assert_eq!(bench.file("ran").is_some(), fires, "{condition}");
    }
}

#[test]
fn a_hook_before_a_call_can_refuse_it() {
    let bench = Bench::new();
    let said =
        bench.before(&pre("Read", json!({"command": "echo 'not today' >&2; exit 2"})), "read");
    assert_eq!(
        (said.decision, said.reason.as_deref()),
        (Decision::Deny, Some("[guard] not today"))
    );
}

#[test]
fn one_that_fails_stops_nothing_unless_it_says_so() {
    for failing in [
        json!({"command": "exit 1"}),
        json!({"command": "no-such-program-anywhere"}),
        json!({"command": "sleep 30", "timeout": 0.2}),
        json!({"command": "echo so much; sleep 30", "timeout": 0.2}),
        json!({"type": "mcp_tool", "server": "s", "tool": "t"}),
    ] {
        let bench = Bench::new();
        let open = bench.before(&pre("*", failing.clone()), "read");
        assert_eq!(open.decision, Decision::None, "{failing}");
        assert_eq!(bench.heard.lock().unwrap().len(), 1, "{failing}: it is told");
        let mut closed = failing.clone();
        closed["fail_closed"] = json!(true);
        let closed = bench.before(&pre("*", closed), "read");
        assert_eq!(closed.decision, Decision::Deny, "{failing}");
        assert!(closed.reason.unwrap().contains("could not be asked"), "{failing}");
    }
}

#[test]
fn those_before_and_after_one_that_fails_still_run() {
    let bench = Bench::new();
    let hooks = json!({ "PreToolUse": [
        { "matcher": "*", "hooks": [{ "command": "echo 1 > one" }, { "command": "exit 1" }, { "command": "echo 2 > two" }] },
        { "matcher": "read", "hooks": [{ "command": "echo 3 > three" }] },
    ] });
    assert_eq!(bench.before(&hooks, "read").decision, Decision::None);
    assert!(["one", "two", "three"].iter().all(|it| bench.file(it).is_some()));
}

#[test]
fn it_knows_of_the_call_and_of_nothing_else_in_our_environment() {
    let bench = Bench::new();
    let script = "cat > input.json; env | sort > env; pwd > where";
    bench.before(&pre("*", json!({ "command": script })), "read");
    let input: Value = serde_json::from_str(&bench.file("input.json").unwrap()).unwrap();
    assert_eq!(input["tool_name"], "Read");
    assert_eq!(input["tool_input"], json!({"file_path": "a.rs"}));
    let env = bench.file("env").unwrap();
    for line in
        ["CARGO_AGENTS_AGENT=guard", "CARGO_AGENTS_TASK_ID=task-1", "CARGO_AGENTS_TOOL=read"]
    {
        assert!(env.lines().any(|it| it == line), "{line}: {env}");
    }
    assert!(!env.contains("CARGO_MANIFEST_DIR"), "{env}");
    let real = bench.dir.path().canonicalize().unwrap();
    assert_eq!(bench.file("where").unwrap().trim(), real.to_str().unwrap());
}

#[test]
fn what_a_hook_prints_after_a_call_can_take_the_place_of_the_result() {
    let bench = Bench::new();
    let replaced = |printed: &str| {
        bench.after(&post(&format!("cat > input.json; echo '{printed}'")), Outcome::Done("was"))
    };
    let said = replaced(
        r#"{"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": "is"}}"#,
    );
    assert_eq!(said.output.as_deref(), Some("is"));
    let input: Value = serde_json::from_str(&bench.file("input.json").unwrap()).unwrap();
    assert_eq!(input["tool_response"], "was");
    for printed in [
        "",
        r#"{"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": null}}"#,
    ] {
        assert_eq!(replaced(printed).output, None, "{printed}");
    }
    // What went wrong is told, too.
    bench.after(&post("echo x > failed"), Outcome::Failed("no"));
    assert!(bench.file("failed").is_some());
}

#[test]
fn what_is_no_hook_is_told_and_left_out() {
    for (hooks, told) in [
        (json!([]), "the hooks of agent `guard`: they are not a table of events"),
        (
            json!({"Stop": []}),
            "the hooks of agent `guard`: `Stop` is not an event of a tool: left out",
        ),
        (
            pre("(", json!({"command": "x"})),
            "the hooks of agent `guard`: `(` is not a regular expression",
        ),
        (
            pre("*", json!({"type": "command"})),
            "the hooks of agent `guard`: a handler has no `command`",
        ),
        (
            pre("*", json!({"type": "mcp_tool"})),
            "the hooks of agent `guard`: handlers of type `mcp_tool` are not run here",
        ),
    ] {
        let bench = Bench::new();
        bench.before(&hooks, "read");
        let heard = bench.heard.lock().unwrap();
        assert!(heard[0].message.starts_with(told), "{}", heard[0].message);
    }
    let (none, findings) =
        OwnHooks::parse(&AgentName::new("guard").unwrap(), Dialect::Ours, &json!({}));
    assert!(none.is_none() && findings.is_empty());
}
