//! What we wrote ourselves, and may find torn, edited, or from another version.

use std::fmt::Debug;

use agents_plan::{
    engine::wire::{Assignment, Done, Request, Since, Told, Way, Workspace},
    event::Event,
    graph::Graph,
};
use agents_task::{
    TaskId, TaskPath,
    telemetry::Content,
    transcript::{Opening, Page, Store},
};
use agents_trust::{
    audit::Records,
    lock::{Lock, LockFileError},
};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::files::check_findings;

/// A lock file that can be read is written again without a loss, also out of a conflict that git left.
pub fn agents_lock(text: &str) {
    let file = Utf8Path::new("agents.lock");
    match Lock::parse(file, text) {
        Ok(lock) => {
            let written = lock.render();
            let again = Lock::parse(file, &written).expect("what was written can be read");
            assert_eq!(again, lock, "{written}");
            assert_eq!(again.render(), written);
        }
        // A conflict is read side by side, so that what is wrong may stand anywhere.
        Err(LockFileError::Invalid { findings, .. }) => check_findings(&findings, text),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let file = Utf8Path::new("audits.toml");
    match Records::parse(file, text) {
        Ok(records) => {
            let written = records.render();
            let again = Records::parse(file, &written).expect("what was written can be read");
            assert_eq!(again.render(), written);
        }
        Err(findings) => check_findings(&findings, text),
    }
}

/// A transcript of any bytes can be read, followed in pieces and verified; pieces say the same as the whole.
pub fn transcript(data: &[u8]) {
    thread_local! {
        static PLACE: (tempfile::TempDir, Store, TaskId) = place();
    }
    PLACE.with(|(_, store, id)| {
        let file = store.path(*id);
        fs_err::write(&file, data).expect("the file is ours");
        let loaded = store.load(*id).expect("bytes can be read");
        assert!(loaded.messages().count() <= data.len());
        let _ = (loaded.begin(), loaded.outcome(), loaded.spent());
        let whole = store.follow(*id).more().expect("bytes can be read");
        fs_err::write(&file, &data[..data.len() / 2]).expect("the file is ours");
        let mut follow = store.follow(*id);
        let mut pieces = follow.more().expect("bytes can be read");
        fs_err::write(&file, data).expect("the file is ours");
        pieces.extend(follow.more().expect("bytes can be read"));
        assert_eq!(format!("{pieces:?}"), format!("{whole:?}"));
        drop(store.verify(*id));
        let page = Page::load(store, *id).expect("bytes can be read");
        check_html(&page.html());
        drop((page.text(), page.markdown()));
        drop(store.stretch(*id, u64::try_from(data.len() / 3).unwrap_or(0), 100));
    });
}

/// Nothing that was said is part of the page itself: every tag is one of ours, and none of them has an attribute that runs something.
fn check_html(html: &str) {
    const OURS: [&str; 17] = [
        "!doctype", "html", "head", "meta", "title", "style", "body", "h1", "h2", "dl", "dt", "dd",
        "p", "details", "summary", "pre", "b",
    ];
    for tag in html.split('<').skip(1) {
        let name = tag.trim_start_matches('/').split([' ', '>']).next().unwrap_or_default();
        assert!(OURS.contains(&name), "<{name}");
        let attributes = tag.split('>').next().unwrap_or_default();
        assert!(!attributes.contains(" on") && !attributes.contains("href"), "{attributes}");
    }
}

fn place() -> (tempfile::TempDir, Store, TaskId) {
    let dir = tempfile::tempdir().expect("a scratch directory");
    let root = Utf8PathBuf::from_path_buf(dir.path().to_owned()).expect("it is UTF-8");
    let (store, id) = (Store::new(&root), TaskId::new());
    let opening = Opening {
        id,
        agent: "helper".to_owned(),
        path: TaskPath::root(),
        parent: None,
        resumed_from: None,
        model: "script/demo".to_owned(),
        mask: std::sync::Arc::default(),
    };
    drop(store.begin(opening));
    (dir, store, id)
}

/// Events and graphs of a journal are kept as they are.
pub fn journal(data: &[u8]) {
    if let Ok(event) = serde_json::from_slice::<Event>(data) {
        let written = serde_json::to_string(&event).expect("it can be kept");
        assert_eq!(serde_json::from_str::<Event>(&written).ok().as_ref(), Some(&event));
    }
    if let Ok(graph) = serde_json::from_slice::<Graph>(data) {
        let written = serde_json::to_value(&graph).expect("it can be kept");
        let again: Graph = serde_json::from_value(written.clone()).expect("it can be read");
        assert_eq!(serde_json::to_value(&again).ok(), Some(written) as Option<Value>);
        for index in graph.indices() {
            drop((graph.node(index), graph.dependents(index), graph.from(index)));
        }
    }
}

/// What drivers and workers of a cluster say to each other: what can be read is written again without a loss, and whatever it names stays
/// within the directories of a worker.
pub fn engine_wire(data: &[u8]) {
    fn kept<T: DeserializeOwned + Serialize + PartialEq + Debug>(data: &[u8]) -> Option<T> {
        let said: T = serde_json::from_slice(data).ok()?;
        let written = serde_json::to_vec(&said).expect("it can be said");
        assert_eq!(serde_json::from_slice::<T>(&written).ok().as_ref(), Some(&said));
        Some(said)
    }
    let check = |it: &Workspace| {
        let home = Utf8Path::new("/home/worker");
        let mut names = vec![it.name.as_str(), &it.commit, &it.base];
        if let Way::Parcel(parcel) = &it.way {
            names.push(&parcel.digest);
        }
        for name in names {
            assert_eq!(home.join(name).parent(), Some(home), "{name:?}");
            assert!(name != ".." && !name.starts_with('-'), "{name:?} is no name");
        }
        let is_inside = |it: &str| it != ".." && it != "/";
        assert!(it.within.iter().all(is_inside), "{}", it.within);
    };
    if let Some(assignment) = kept::<Assignment>(data) {
        check(&assignment.workspace);
        let request = assignment.request.request();
        let again = Request::new(&request, assignment.request.mode, &assignment.request.allow);
        let agents = assignment.request.agents.clone();
        assert_eq!(Request { agents, ..again }, assignment.request, "nothing is lost on the way");
    }
    if let Some(done) = kept::<Done>(data) {
        check(&done.workspace);
    }
    kept::<Told>(data);
    kept::<Since>(data);
}

/// Events of tasks, one on each line: what a collector is told of them is OTLP/JSON, whatever they say and in whatever order they come.
pub fn otlp(text: &str) {
    let events: Vec<agents_task::event::Event> =
        text.lines().take(64).filter_map(|line| serde_json::from_str(line).ok()).collect();
    for content in [Content::Shown, Content::Hidden] {
        let told = agents_task::telemetry::overhear(&events, content);
        let spans = &told["resourceSpans"][0]["scopeSpans"][0]["spans"];
        let spans = spans.as_array().expect("a list");
        // A task, its turns and its calls: each begins with an event.
        assert!(spans.len() <= events.len(), "{} of {}", spans.len(), events.len());
        spans.iter().for_each(check_span);
    }
}

fn check_span(span: &Value) {
    let is_id = |it: &Value, length: usize| {
        let digits = |it: &str| it.bytes().all(|it| it.is_ascii_hexdigit());
        it.as_str().is_some_and(|it| it.len() == length && digits(it))
    };
    assert!(is_id(&span["traceId"], 32) && is_id(&span["spanId"], 16), "{span}");
    assert!(span.get("parentSpanId").is_none_or(|it| is_id(it, 16)), "{span}");
    let time = |key: &str| span[key].as_str().expect("a text").parse::<u64>().expect("a time");
    assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"), "{span}");
    assert!(span["name"].is_string() && [json!(1), json!(3)].contains(&span["kind"]), "{span}");
    let mut keys = std::collections::BTreeSet::new();
    for attribute in span["attributes"].as_array().expect("a list") {
        assert!(keys.insert(attribute["key"].as_str().expect("a text")), "twice: {attribute}");
        let value = attribute["value"].as_object().expect("a value");
        let (kind, value) = value.iter().next().expect("a value");
        match kind.as_str() {
            "stringValue" => assert!(value.is_string(), "{attribute}"),
            "intValue" => drop(value.as_str().expect("a text").parse::<i64>().expect("a number")),
            "doubleValue" => assert!(value.is_f64(), "{attribute}"),
            other => panic!("{other}"),
        }
    }
}
