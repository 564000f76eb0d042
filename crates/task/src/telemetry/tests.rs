//! Spans of tasks, and collectors that are there, slow, or away.

use std::net::TcpListener;

use agents_model::{Usage, cost::MicroDollars};
use agents_testkit::collector::{Collector, Posted};
use secrecy::SecretString;
use serde_json::json;

use super::*;
use crate::{
    event::{ToolState, What},
    id::{Taken, TaskId, TaskPath},
    limits::Limit,
    outcome::{Ending, Failure, Outcome, Report},
};

/// A task, and what happens to it.
#[derive(Clone)]
struct Task {
    id: TaskId,
    path: TaskPath,
}

impl Task {
    fn below(path: &TaskPath, name: &str) -> Self {
        Self { id: TaskId::new(), path: path.child(name, &Taken::default()) }
    }

    fn event(&self, what: What) -> Event {
        Event { task: self.id, path: self.path.clone(), what }
    }

    fn started(&self) -> Event {
        let (agent, model) = (self.path.name().to_owned(), "gemini/flash".to_owned());
        self.event(What::Started { agent, model, chosen: None, resumed_from: None })
    }

    fn ended(&self, ending: Ending, report: Report) -> Event {
        let outcome = Outcome { id: self.id, path: self.path.clone(), ending, report };
        self.event(What::Ended { outcome: Box::new(outcome) })
    }
}

fn called(task: &Task, call: &str, tool: &str) -> [Event; 2] {
    let input = json!({"command": "echo hunter2-hunter2"});
    let (call, tool) = (call.to_owned(), tool.to_owned());
    [
        task.event(What::ToolStarted { call: call.clone(), tool: tool.clone(), input }),
        task.event(What::ToolEnded { call, tool, state: ToolState::Done }),
    ]
}

fn spent(input: u64, output: u64) -> What {
    let usage = Usage { input, output, cache_read: 5, ..Usage::default() };
    What::Spent { usage, cost: Some(MicroDollars(input * 10)) }
}

fn hear(spans: &mut Spans, events: &[Event]) -> Vec<Span> {
    events.iter().flat_map(|it| spans.hear(it, SystemTime::now())).collect()
}

fn attribute<'s>(span: &'s Span, name: &str) -> Option<&'s Value> {
    span.attributes.iter().find(|it| it.0 == name).map(|it| &it.1)
}

/// A lead that calls a tool, and then another agent that calls one.
fn tree(lead: &Task, scout: &Task) -> Vec<Event> {
    let input = json!({"agent": "scout"});
    let (call, tool) = ("c2".to_owned(), "task".to_owned());
    let usage = Usage { input: 300, output: 30, cache_read: 5, ..Usage::default() };
    let report = Report { turns: 2, usage, cost: Some(MicroDollars(3000)), ..Report::default() };
    let mut events = vec![
        lead.started(),
        lead.event(What::Turn { number: 1 }),
        lead.event(What::Text { text: "my key is hunter2-hunter2".to_owned() }),
        lead.event(spent(100, 10)),
    ];
    events.extend(called(lead, "c1", "bash"));
    events.extend([
        lead.event(What::Turn { number: 2 }),
        lead.event(spent(300, 30)),
        lead.event(What::ToolStarted { call: call.clone(), tool: tool.clone(), input }),
        scout.started(),
        scout.event(What::Turn { number: 1 }),
    ]);
    events.extend([
        scout.ended(Ending::OutOfLimits { limit: Limit::Time }, Report::default()),
        lead.event(What::ToolEnded { call, tool, state: ToolState::Failed }),
        lead.ended(Ending::Completed, report),
    ]);
    events
}

#[test]
fn a_tree_of_tasks_is_a_tree_of_spans_with_what_each_took() {
    let lead = Task::below(&TaskPath::root(), "lead");
    let scout = Task::below(&lead.path, "scout");
    let mut spans = Spans::new(None, Content::Hidden);
    let spans = hear(&mut spans, &tree(&lead, &scout));
    let names: Vec<&str> = spans.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "chat flash",
            "execute_tool bash",
            "chat flash",
            "chat flash",
            "invoke_agent scout",
            "execute_tool task",
            "invoke_agent lead",
        ]
    );
    let [first, bash, second, cut, sub, task, root] = &spans[..] else { panic!("{spans:?}") };
    assert!(spans.iter().all(|it| it.trace == lead.id.bytes() && it.end >= it.start));
    assert_eq!(root.parent, None);
    for part in [first, bash, second, task] {
        assert_eq!(part.parent, Some(root.id), "{}", part.name);
    }
    assert_eq!((sub.parent, cut.parent), (Some(task.id), Some(sub.id)));
    let mut ids: Vec<_> = spans.iter().map(|it| it.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), spans.len());
    // What each call took, and the whole of it.
    assert_eq!(attribute(first, names::INPUT_TOKENS), Some(&Value::Number(105)));
    assert_eq!(attribute(second, names::INPUT_TOKENS), Some(&Value::Number(200)));
    assert_eq!(attribute(second, names::OUTPUT_TOKENS), Some(&Value::Number(20)));
    assert_eq!(attribute(second, names::COST), Some(&Value::Real(0.002)));
    assert_eq!(attribute(root, names::INPUT_TOKENS), Some(&Value::Number(305)));
    assert_eq!(attribute(root, names::CACHE_READ_TOKENS), Some(&Value::Number(5)));
    assert_eq!(attribute(root, names::COST), Some(&Value::Real(0.003)));
    assert_eq!(attribute(root, names::PROVIDER), Some(&Value::from("gcp.gemini")));
    assert_eq!(attribute(sub, names::CONVERSATION), Some(&Value::Text(lead.id.to_string())));
    // How it failed, in a word.
    assert_eq!(sub.error.as_deref(), Some("out-of-limits.time"));
    assert_eq!(cut.error.as_deref(), Some("out-of-limits.time"));
    assert_eq!((task.error.as_deref(), root.error.as_deref()), (Some("tool_error"), None));
    // Nothing of what was said.
    let all = format!("{spans:?}");
    assert!(!all.contains("hunter2"), "{all}");
}

#[test]
fn what_was_said_is_there_if_asked_for_and_secrets_never_are() {
    let lead = Task::below(&TaskPath::root(), "lead");
    let scout = Task::below(&lead.path, "scout");
    let mut spans = Spans::new(None, Content::Shown);
    let mut spans = hear(&mut spans, &tree(&lead, &scout));
    let said = format!("{spans:?}");
    assert!(said.contains("my key is hunter2-hunter2") && said.contains("echo hunter2-hunter2"));
    let mask = Mask::default();
    mask.register("PASSWORD", &SecretString::from("hunter2-hunter2"));
    spans.iter_mut().for_each(|it| it.hide(&mask));
    let said = format!("{spans:?}");
    assert!(said.contains("my key is") && !said.contains("hunter2"), "{said}");
}

#[test]
fn whoever_started_us_is_above() {
    let lead = Task::below(&TaskPath::root(), "lead");
    let mut spans = Spans::new(Some(([7; 16], [9; 8])), Content::Hidden);
    let why = Failure::GaveUp { reason: "secret reasons".to_owned() };
    let done =
        hear(&mut spans, &[lead.started(), lead.ended(Ending::Failed { why }, Report::default())]);
    assert_eq!((done[0].trace, done[0].parent), ([7; 16], Some([9; 8])));
    assert_eq!(done[0].error.as_deref(), Some("failed.gave-up"), "and not why");
}

fn to(endpoint: &str) -> TelemetrySettings {
    TelemetrySettings {
        endpoint: Some(format!("{endpoint}/v1/traces")),
        headers: vec![("x-key".to_owned(), SecretString::from("k"))],
        timeout: Duration::from_secs(5),
        ..TelemetrySettings::default()
    }
}

#[test]
fn spans_get_there_also_when_the_collector_was_busy() {
    let collector = Collector::answering(&[503, 200]);
    let telemetry = Telemetry::start(&to(&collector.url())).unwrap();
    let lead = Task::below(&TaskPath::root(), "lead");
    let scout = Task::below(&lead.path, "scout");
    tree(&lead, &scout).iter().for_each(|it| telemetry.event(it));
    assert_eq!(telemetry.finish(Duration::from_secs(60)), None);
    let posted = collector.posted();
    let Posted { head, body } = &posted[1];
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("content-type: application/json") && head.contains("x-key: k"), "{head}");
    assert_eq!((posted.len(), &posted[0].body), (2, body), "the same again");
    let sent: serde_json::Value = serde_json::from_str(body).unwrap();
    let resource = &sent["resourceSpans"][0];
    assert_eq!(
        resource["resource"]["attributes"][0],
        json!({"key": "service.name", "value": {"stringValue": "cargo-agents"}})
    );
    let spans = resource["scopeSpans"][0]["spans"].as_array().unwrap();
    assert_eq!(spans.len(), 7);
    assert_eq!(spans[6]["traceId"], lead.id.to_string().replace('-', ""));
    assert_eq!(spans[6].get("parentSpanId"), None);
    assert_eq!((&spans[0]["kind"], &spans[6]["kind"]), (&json!(3), &json!(1)));
    assert_eq!(spans[5]["status"], json!({"code": 2, "message": "tool_error"}));
    let begun: u64 = spans[0]["startTimeUnixNano"].as_str().unwrap().parse().unwrap();
    assert!(begun > 1_700_000_000_000_000_000);
}

#[test]
fn a_collector_that_is_away_costs_nothing_but_spans() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let telemetry = Telemetry::start(&to(&format!("http://{gone}"))).unwrap();
    // More than the queue holds, at once: nothing waits.
    for _ in 0..6000 {
        let task = Task::below(&TaskPath::root(), "lead");
        telemetry.event(&task.started());
        telemetry.event(&task.ended(Ending::Completed, Report::default()));
    }
    let lost = telemetry.finish(Duration::from_secs(120)).unwrap();
    assert!(lost.starts_with("6000 spans were not sent to `http://127.0.0.1:"), "{lost}");
    // One that takes the connection and says nothing is not waited for.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let telemetry = Telemetry::start(&to(&address)).unwrap();
    let task = Task::below(&TaskPath::root(), "lead");
    telemetry.event(&task.started());
    telemetry.event(&task.ended(Ending::Completed, Report::default()));
    let lost = telemetry.finish(Duration::from_millis(50)).unwrap();
    assert!(lost.ends_with("takes no spans: some were not sent"), "{lost}");
}

#[test]
fn a_refusal_is_not_repeated() {
    let collector = Collector::answering(&[401]);
    let telemetry = Telemetry::start(&to(&collector.url())).unwrap();
    let task = Task::below(&TaskPath::root(), "lead");
    telemetry.event(&task.started());
    telemetry.event(&task.ended(Ending::Completed, Report::default()));
    let lost = telemetry.finish(Duration::from_secs(60)).unwrap();
    assert!(lost.starts_with("1 spans were not sent") && lost.ends_with("status 401"), "{lost}");
    assert_eq!(collector.posted().len(), 1);
}
