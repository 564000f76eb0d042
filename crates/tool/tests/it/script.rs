//! Scripts: what they can do, and everything that they cannot.

mod bombs;
mod escapes;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agents_tool::{
    CallContext, Catalogue, Output, Presented, Request, ToolResult,
    bounds::Bounds,
    script::{Calls, Execute, Interpreter},
    secrets::Mask,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::{Agent, keeper, unmarked};

/// A server that says what it is told.
#[derive(Default)]
struct Echo {
    made: AtomicUsize,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
}

impl Calls for Echo {
    fn servers(&self) -> Vec<String> {
        vec!["echo".to_owned(), "with-dash".to_owned()]
    }

    fn call<'a>(
        &'a self,
        server: String,
        tool: String,
        input: Value,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<Output, String>> {
        Box::pin(async move {
            self.made.fetch_add(1, Ordering::Relaxed);
            let now = self.at_once.fetch_add(1, Ordering::Relaxed) + 1;
            self.most_at_once.fetch_max(now, Ordering::Relaxed);
            let said = match tool.as_str() {
                "say" => Ok(Output { structured: Some(input), ..Output::data("said") }),
                "text" => Ok(Output::data(format!("{server}: {}", input["text"]))),
                "fail" => Ok(Output { failed: true, ..Output::data("not today") }),
                "big" => Ok(Output::data("x".repeat(input["size"].as_u64().unwrap() as usize))),
                "slow" => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    Ok(Output::data("at last"))
                }
                "never" => std::future::pending().await,
                other => Err(format!("the server `{server}` has no tool `{other}`")),
            };
            self.at_once.fetch_sub(1, Ordering::Relaxed);
            said
        })
    }
}

struct Stage {
    agent: Agent,
    echo: Arc<Echo>,
    executor: Presented<Catalogue>,
}

impl Stage {
    fn new() -> Self {
        Self::marked("")
    }

    /// With an argument by which its process can be found.
    fn marked(mark: &str) -> Self {
        let agent = Agent::new();
        let echo = Arc::new(Echo::default());
        let interpreter = Interpreter {
            program: env!("CARGO_BIN_EXE_agents-interpreter").to_owned(),
            args: vec![mark.to_owned()],
            keeper: keeper(),
        };
        let mut catalogue = Catalogue::default();
        catalogue.add(Execute::new(interpreter, Arc::clone(&echo) as Arc<dyn Calls>)).unwrap();
        let executor = Presented::new(catalogue, Arc::new(Mask::default()), Bounds::default());
        Self { agent, echo, executor }
    }

    async fn start(&self, script: &str, seconds: u64) -> ToolResult {
        let input = json!({ "script": script, "timeout": seconds });
        let request = Request { tool: "execute".to_owned(), input };
        let result = self.executor.call(request, &self.agent.context).await;
        ToolResult { content: unmarked(&result.content), ..result }
    }

    fn run(&self, script: &str, seconds: u64) -> ToolResult {
        self.agent.runtime.block_on(self.start(script, seconds))
    }

    #[track_caller]
    fn gives(&self, script: &str, expected: &str) {
        let result = self.run(script, 60);
        assert_eq!((result.content.as_str(), result.is_error), (expected, false), "{script}");
    }

    #[track_caller]
    fn fails(&self, script: &str, expected: &str) {
        let result = self.run(script, 60);
        assert_eq!((result.content.as_str(), result.is_error), (expected, true), "{script}");
    }
}

#[test]
fn the_result_is_what_is_returned() {
    let stage = Stage::new();
    stage.gives("return 1 + 1", "2");
    stage.gives("return 'as it is'", "as it is");
    stage.gives(
        "return { a: [1, null], b: 'ü' } // the end",
        "{\n  \"a\": [\n    1,\n    null\n  ],\n  \"b\": \"ü\"\n}",
    );
    stage.gives("", "null");
    stage.gives("return undefined", "null");
    stage.gives("return () => 1", "null");
    stage.gives(
        "return await Promise.all([1, 2].map(async (it) => it * 2)).then((it) => it.join())",
        "2,4",
    );
    stage.gives(
        "console.log('a', 1, {b: 2}); console.error(new Error('c')); return 'x'",
        "x\n\nnoted down:\na 1 {\"b\":2}\nError: c (line 1)",
    );
}

#[test]
fn tools_are_functions() {
    let stage = Stage::new();
    stage.gives("const it = await tools.echo.say({ a: [1] }); return it.a[0] + 1", "2");
    stage.gives("return await tools['with-dash'].text({ text: 'hello' })", "with-dash: \"hello\"");
    stage.gives("return Object.keys(await tools.echo.say())", "[]");
    stage.gives("return Object.keys(tools)", "[\n  \"echo\",\n  \"with-dash\"\n]");
    stage.gives(
        "try { await tools.echo.fail() } catch (error) { return error.message }",
        "not today",
    );
    stage.gives("const [a, b] = await Promise.allSettled([tools.echo.fail(), tools.echo.say({})]); return a.status + b.status", "rejectedfulfilled");
    stage.fails(
        "await tools.echo.nothing()",
        "the script failed: Error: the server `echo` has no tool `nothing`",
    );
    stage.fails(
        "\n\nawait tools.nobody.say()",
        "the script failed: TypeError: cannot read property 'say' of undefined (line 3)",
    );
}

#[test]
fn mistakes_are_told_with_their_line() {
    let stage = Stage::new();
    stage.fails("const a = 1;\na = 2", "the script failed: TypeError: 'a' is read-only (line 2)");
    stage.fails(
        "let x = 1\nlet y = (",
        "the script failed: SyntaxError: unexpected token in expression: '}' (line 3)",
    );
    stage.fails("throw 'words'", "the script failed: words");
    stage.fails(
        "console.log('so far'); throw new RangeError('too far')",
        "the script failed: RangeError: too far (line 1)\n\nnoted down:\nso far",
    );
    stage.fails(
        "const a = []; a.push(a); return a",
        "the script failed: TypeError: circular reference",
    );
    stage
        .fails("return 1n", "the script failed: TypeError: BigInt are forbidden in JSON.stringify");
}

#[test]
fn calls_run_at_the_same_time_but_not_all_of_them() {
    let stage = Stage::new();
    let script = "const all = Array.from({ length: 100 }, () => tools.echo.slow()); return new Set(await Promise.all(all)).size";
    stage.gives(script, "1");
    assert_eq!(stage.echo.made.load(Ordering::Relaxed), 100);
    assert_eq!(stage.echo.most_at_once.load(Ordering::Relaxed), 16);
}

#[test]
fn both_sides_may_say_much_at_once() {
    let stage = Stage::new();
    // Far more than fits between two processes, in both directions, before anybody has listened.
    let script = "const text = 'x'.repeat(300_000);
        const all = await Promise.all(Array.from({ length: 30 }, () => tools.echo.say({ text })));
        return all.reduce((sum, it) => sum + it.text.length, 0)";
    stage.gives(script, "9000000");
    stage.gives("return (await tools.echo.big({ size: 4_000_000 })).length", "4000000");
    stage.fails(
        "await tools.echo.big({ size: 5_000_000 })",
        "the script failed: Error: the answer has more than 4194304 bytes: ask for less",
    );
    let long = format!("return 1 // {}", "x".repeat(1024 * 1024));
    stage.fails(&long, "the script is longer than 1 MiB");
}

#[test]
fn a_call_that_is_cancelled_ends_the_script() {
    let stage = Stage::new();
    let context = &stage.agent.context;
    let result = stage.agent.runtime.block_on(async {
        let cancel = async {
            while stage.echo.made.load(Ordering::Relaxed) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            context.cancelled.cancel();
        };
        tokio::join!(stage.start("await tools.echo.never()", 60), cancel).0
    });
    assert!(result.is_error && result.content.contains("cancelled"), "{}", result.content);
}
