//! Spans that a collector really gets, read by the names of the protocol's definition.

use std::collections::BTreeMap;

use agents_testkit::collector::Collector;
use serde::Deserialize;

use super::Stage;
use crate::world::Run;

/// `ExportTraceServiceRequest` of `opentelemetry/proto/collector/trace/v1`, and what it is made of. Anything else is a mistake.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ExportTraceServiceRequest {
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResourceSpans {
    resource: Resource,
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Resource {
    attributes: Vec<KeyValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ScopeSpans {
    scope: InstrumentationScope,
    spans: Vec<Span>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct InstrumentationScope {
    name: String,
    #[serde(rename = "version")]
    _version: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Span {
    pub(crate) trace_id: String,
    pub(crate) span_id: String,
    #[serde(default)]
    pub(crate) parent_span_id: String,
    #[serde(default)]
    pub(crate) links: Vec<Link>,
    pub(crate) name: String,
    kind: u32,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<KeyValue>,
    status: Status,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Link {
    pub(crate) trace_id: String,
    pub(crate) span_id: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct KeyValue {
    key: String,
    value: AnyValue,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
enum AnyValue {
    #[serde(rename = "stringValue")]
    Text(String),
    #[serde(rename = "intValue")]
    Whole(String),
    #[serde(rename = "doubleValue")]
    Real(f64),
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Status {
    #[serde(default)]
    code: u32,
    #[serde(default)]
    message: String,
}

impl Span {
    pub(crate) fn attribute(&self, key: &str) -> String {
        let found = self.attributes.iter().find(|it| it.key == key);
        match found.map(|it| &it.value) {
            Some(AnyValue::Text(text) | AnyValue::Whole(text)) => text.clone(),
            Some(AnyValue::Real(number)) => number.to_string(),
            None => String::new(),
        }
    }
}

/// Every span that was sent, by its name.
pub(crate) fn spans(collector: &Collector) -> BTreeMap<String, Span> {
    in_order(collector).into_iter().map(|it| (it.name.clone(), it)).collect()
}

/// Every span that was sent, as they came.
pub(crate) fn in_order(collector: &Collector) -> Vec<Span> {
    let mut all = Vec::new();
    for posted in collector.posted() {
        assert!(posted.head.starts_with("POST /v1/traces HTTP/1.1"), "{}", posted.head);
        let request: ExportTraceServiceRequest = serde_json::from_str(&posted.body).unwrap();
        for resource in request.resource_spans {
            let service = &resource.resource.attributes[0];
            assert_eq!(service.key, "service.name");
            assert!(matches!(&service.value, AnyValue::Text(it) if it == "nightly"));
            for scope in resource.scope_spans {
                assert_eq!(scope.scope.name, "cargo-agents");
                all.extend(scope.spans);
            }
        }
    }
    all
}

const TREE: &str = r#"
[[replies]]
when = { result = "It is so" }
text = "It is so, says the scout."
usage = { input = 200, output = 20 }
[[replies]]
when = { result = "tiny-sql" }
text = "It is so."
usage = { input = 70, output = 7 }
[[replies]]
when = { text = "lead the way" }
text = "I will ask."
calls = [{ name = "task", input = { tasks = [{ id = "a", assignment = "look", agent = "scout" }] } }]
usage = { input = 120, output = 12 }
[[replies]]
calls = [{ name = "read", input = { path = "Cargo.toml" } }]
usage = { input = 50, output = 5 }
"#;

fn stage() -> Stage {
    let stage = Stage::new(TREE);
    stage.agent("lead", "spawns: [scout]\n");
    stage.agent("scout", "");
    stage
}

/// Whoever started us began this trace.
const OUTER: (&str, &str) =
    ("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");

/// The variables that have spans sent to a collector.
pub(crate) fn sending_to(collector: &str) -> [(&'static str, String); 2] {
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.to_owned()),
        ("OTEL_SERVICE_NAME", "nightly".to_owned()),
    ]
}

fn traced(stage: &Stage, collector: &str, args: &[&str]) -> Run {
    let mut command = stage.command(args);
    command.envs(sending_to(collector)).env(OUTER.0, OUTER.1);
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20never-seen-anywhere");
    Run::from(command.output().unwrap())
}

/// The spans of one run that nobody else's trace is around, unless it is said.
fn spans_of(stage: &Stage, args: &[&str], outer: Option<(&str, &str)>) -> BTreeMap<String, Span> {
    let collector = Collector::start();
    let mut command = stage.command(args);
    command.envs(sending_to(&collector.url())).env_remove(OUTER.0).envs(outer);
    let run = Run::from(command.output().unwrap());
    assert_eq!(run.code, Some(0), "{run:?}");
    spans(&collector)
}

#[test]
fn a_resumed_task_is_linked_to_the_run_that_it_goes_on_from() {
    for outer in [None, Some(OUTER)] {
        let stage = stage();
        let first = spans_of(&stage, &["run", "lead", "lead the way"], outer);
        let [lead, scout] = ["lead", "scout"].map(|it| &first[&format!("invoke_agent {it}")]);
        assert!(first.values().all(|it| it.links.is_empty()), "{first:?}");
        // The second run is not part of the trace that the first one was.
        for (agent, before) in [("lead", lead), ("scout", scout)] {
            let id = before.attribute("gen_ai.agent.id");
            let second = spans_of(&stage, &["resume", &id, "and now?"], None);
            let again = &second[&format!("invoke_agent {agent}")];
            let expected =
                Link { trace_id: before.trace_id.clone(), span_id: before.span_id.clone() };
            assert_eq!(again.links, [expected], "{outer:?}");
            assert_ne!(again.trace_id, before.trace_id);
            let others = second.values().filter(|it| it.name != again.name);
            assert!(others.into_iter().all(|it| it.links.is_empty()), "{second:?}");
        }
    }
}

#[test]
fn a_collector_gets_a_tree_of_spans_and_nothing_that_was_said() {
    let (stage, collector) = (stage(), Collector::start());
    let run = traced(&stage, &collector.url(), &["run", "lead", "lead the way"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let spans = spans(&collector);
    let names: Vec<&str> = spans.keys().map(String::as_str).collect();
    let expected = [
        "chat default",
        "execute_tool read",
        "execute_tool task",
        "invoke_agent lead",
        "invoke_agent scout",
    ];
    assert_eq!(names, expected);
    let [lead, scout] = ["lead", "scout"].map(|it| &spans[&format!("invoke_agent {it}")]);
    let [read, task] = ["read", "task"].map(|it| &spans[&format!("execute_tool {it}")]);
    assert!(spans.values().all(|it| it.trace_id == "0af7651916cd43dd8448eb211c80319c"));
    assert_eq!(lead.parent_span_id, "b7ad6b7169203331");
    assert_eq!(task.parent_span_id, lead.span_id);
    assert_eq!(scout.parent_span_id, task.span_id);
    assert_eq!(read.parent_span_id, scout.span_id);
    assert_eq!((lead.kind, spans["chat default"].kind), (1, 3));
    for span in spans.values() {
        let times = [&span.start_time_unix_nano, &span.end_time_unix_nano];
        let [start, end] = times.map(|it| it.parse::<u64>().unwrap());
        assert!(start > 0 && start <= end && span.span_id.len() == 16, "{span:?}");
        assert_eq!((span.status.code, span.status.message.as_str()), (0, ""), "{span:?}");
    }
    // Tokens of each agent by itself.
    let tokens = |span: &Span| {
        ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"].map(|it| span.attribute(it))
    };
    assert_eq!(tokens(lead), ["320", "32"]);
    assert_eq!(tokens(scout), ["120", "12"]);
    assert_eq!(lead.attribute("gen_ai.operation.name"), "invoke_agent");
    assert_eq!(scout.attribute("cargo_agents.task.path"), "lead/a");
    let shown = stage.run(&["list", "--json"]).stdout;
    assert!(shown.contains(&lead.attribute("gen_ai.agent.id")), "{shown}");
    // Who asks, and for what, is nobody's business; nor is how we speak to the collector.
    for posted in collector.posted() {
        assert!(posted.head.contains("authorization: Bearer never-seen-anywhere"));
        for word in ["lead the way", "I will ask", "look", "Cargo.toml", "It is so", "You help"] {
            assert!(!posted.body.contains(word), "`{word}` in {}", posted.body);
        }
    }
    let found = std::process::Command::new("grep")
        .args(["-r", "never-seen-anywhere", stage.world.home().as_str()])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

#[test]
fn what_was_said_is_there_for_whoever_asks_for_it() {
    let (stage, collector) = (stage(), Collector::start());
    stage.config("[telemetry]\ncontent = true\n");
    let run = traced(&stage, &collector.url(), &["run", "lead", "lead the way"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let spans = spans(&collector);
    let given = spans["execute_tool read"].attribute("gen_ai.tool.call.arguments");
    assert_eq!(given, "{\"path\":\"Cargo.toml\"}");
    let said: String = collector.posted().into_iter().map(|it| it.body).collect();
    assert!(said.contains("I will ask.") && !said.contains("lead the way"), "{said}");
}

#[test]
fn a_collector_that_is_away_stops_nobody() {
    let stage = stage();
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let run = traced(&stage, &gone, &["run", "lead", "lead the way"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "It is so, says the scout.\n"));
    assert!(run.stderr.contains("spans were not sent to `http://127.0.0.1:"), "{run:?}");
    let run = traced(&stage, "localhost:4318", &["run", "lead", "lead the way"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("it is no `http` address"), "{run:?}");
}
