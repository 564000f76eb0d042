//! Definitions that nobody wrote.

use std::time::Duration;

use agents_agent::{
    AgentDefinition, AgentName,
    definition::{
        Choice, Dialect, Effort, Isolation, Limits, McpServerUse, MemoryScope, ModelPattern,
        Origin, OutputSchema, PermissionMode, SchemaLanguage, SkillFilter, Source, Spawns, Waiting,
    },
    tools::{ToolPattern, Tools, names},
};
use proptest::{collection::vec, option::of, prelude::*};
use serde_json::{Map, Value, json};

pub(crate) fn name() -> impl Strategy<Value = AgentName> {
    "[a-zA-Z0-9][a-zA-Z0-9_-]{0,10}".prop_map(|name| AgentName::new(&name).unwrap())
}

/// A text with all that breaks headers, without blanks around it.
fn text(lines: &'static str) -> impl Strategy<Value = String> {
    lines.prop_map(|text| text.trim().to_owned()).prop_filter("not blank", |text| !text.is_empty())
}

fn description() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => text("[a-z:#'\"{}\\[\\]|>&*!%@,` -]{1,30}"),
        1 => text("[a-zé\\\\\n\t:-]{1,30}"),
        1 => text("[a-z ]{520,540}"),
    ]
}

pub(crate) fn prompt() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        text("([a-z:#'\"\\\\ \t\n-]|---\n|\\+\\+\\+\n|\"\"\"|<!-- x -->|\r\n|\u{1}|é){1,20}"),
    ]
}

fn pattern() -> impl Strategy<Value = ToolPattern> {
    let known: Vec<&str> = names::all().map(|(name, _)| name).collect();
    prop_oneof![
        12 => proptest::sample::select(known).prop_map(ToolPattern::new),
        2 => proptest::sample::select(vec![
            "mcp__github__*", "mcp__github__issues", "mcp__a_b__c", "mcp__*", "mcp__s__t_u",
        ]).prop_map(ToolPattern::new),
        1 => proptest::sample::select(vec!["bash(git *)", "web*", "*", "mine", "Mine_too", "view", "edit(src/**)"])
            .prop_map(ToolPattern::new),
    ]
}

fn tools() -> impl Strategy<Value = Tools> {
    (of(vec(pattern(), 0..5)), prop_oneof![3 => vec(pattern(), 0..1), 1 => vec(pattern(), 0..4)])
        .prop_map(|(allow, deny)| Tools { allow, deny })
}

fn spawns() -> impl Strategy<Value = Spawns> {
    prop_oneof![
        3 => Just(Spawns::None),
        1 => Just(Spawns::Any),
        1 => vec("[a-z][a-z0-9_-]{0,5}", 0..3).prop_map(Spawns::Only),
    ]
}

fn model() -> impl Strategy<Value = Vec<ModelPattern>> {
    let models = vec![
        "inherit",
        "sonnet",
        "claude-opus-4-5",
        "gpt-5.5",
        "gemini-3-pro",
        "openai/gpt-5.5",
        "@deep",
        "fast",
        "local",
    ];
    vec(proptest::sample::select(models).prop_map(|it| ModelPattern(it.to_owned())), 0..3)
}

fn output() -> impl Strategy<Value = OutputSchema> {
    prop_oneof![
        Just((
            SchemaLanguage::JsonSchema,
            json!({ "type": "object", "properties": { "a-b": { "type": "string" } } })
        )),
        Just((
            SchemaLanguage::Typedef,
            json!({ "properties": { "a": { "elements": { "type": "string" } } } })
        )),
        Just((SchemaLanguage::JsonSchema, json!(true))),
    ]
    .prop_map(|(language, schema)| OutputSchema { language, schema })
}

fn server() -> impl Strategy<Value = McpServerUse> {
    let entries = vec![
        json!({ "command": "x", "args": ["-y", "a b"], "env": { "A": "${B}" } }),
        json!({ "type": "http", "url": "https://x", "headers": { "a": "b: c" } }),
        json!({ "type": "sse", "url": "https://x" }),
    ];
    prop_oneof![
        "[a-z][a-z0-9.-]{0,5}".prop_map(McpServerUse::Named),
        ("[a-z][a-z0-9.-]{0,5}", proptest::sample::select(entries))
            .prop_map(|(name, entry)| McpServerUse::Inline { name, entry }),
    ]
}

fn limits() -> impl Strategy<Value = Limits> {
    let time = || of((0_u64..10_000_000).prop_map(Duration::from_millis));
    (of(any::<u32>()), time(), of(any::<u64>()), of(0.0..1000.0_f64), of(any::<u32>()), time())
        .prop_map(|(turns, time, tokens, cost, history, grant)| Limits {
            turns,
            time,
            tokens,
            cost,
            history,
            grant,
        })
}

fn one_of<T: Clone + std::fmt::Debug + 'static>(values: &[T]) -> impl Strategy<Value = Option<T>> {
    of(proptest::sample::select(values.to_vec()))
}

fn mode() -> impl Strategy<Value = Option<PermissionMode>> {
    use PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan};
    one_of(&[Plan, Default, AcceptEdits, DontAsk, BypassPermissions])
}

fn effort() -> impl Strategy<Value = Option<Effort>> {
    use Effort::{High, Low, Max, Medium, Minimal, Off, Xhigh};
    one_of(&[Off, Minimal, Low, Medium, High, Xhigh, Max])
}

fn hooks() -> impl Strategy<Value = Option<Value>> {
    let handler = json!({ "type": "command", "command": "./x.sh", "timeout": 5 });
    of(Just(json!({ "PreToolUse": [{ "matcher": "Bash", "hooks": [handler] }] })))
}

fn skills() -> impl Strategy<Value = SkillFilter> {
    (vec("[a-z][a-z-]{0,4}[a-z*]", 0..3), vec("[a-z][a-z-]{0,4}[a-z*]", 0..2))
        .prop_map(|(include, exclude)| SkillFilter { include, exclude })
}

pub(crate) fn definition() -> impl Strategy<Value = AgentDefinition> {
    let head =
        (name(), description(), prompt(), tools(), spawns(), model(), effort(), of(output()));
    let middle = (
        one_of(&[Waiting::Blocking, Waiting::Background]),
        one_of(&[Isolation::None, Isolation::Worktree]),
        mode(),
        limits(),
        skills(),
        vec(server(), 0..3),
        hooks(),
    );
    let tail = (
        one_of(&[MemoryScope::User, MemoryScope::Project, MemoryScope::Local]),
        vec("[A-Z_]{1,6}", 0..2),
        prop_oneof![Just(0), 1_u32..9],
        of("[a-z]{1,4}"),
        proptest::sample::select(vec![
            Dialect::Ours,
            Dialect::Claude,
            Dialect::OpenCode,
            Dialect::Kiro,
        ]),
        any::<bool>(),
    );
    (head, middle, tail).prop_map(|(head, middle, tail)| {
        let (name, description, prompt, tools, spawns, model, effort, output) = head;
        let (waiting, isolation, permission_mode, limits, skills, mcp_servers, hooks) = middle;
        let (memory, secrets, priority, mutex, dialect, coloured) = tail;
        let mut extra = Map::new();
        if coloured {
            extra.insert("color".to_owned(), "blue".into());
        }
        AgentDefinition {
            name,
            description,
            prompt,
            tools,
            spawns,
            model,
            effort,
            output,
            waiting,
            isolation,
            permission_mode,
            limits,
            skills,
            mcp_servers,
            hooks,
            memory,
            secrets,
            choice: Choice { priority, mutex },
            extra,
            origin: Origin { source: Source::Project, file: None, dialect, digest: [0; 16] },
        }
    })
}
