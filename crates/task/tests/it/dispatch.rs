//! Handing an assignment to whichever agent fits.

mod files;
mod queue;
mod teams;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use agents_system::explain::{Code, ErrorKind, Explain as _};
use agents_task::dispatch::{
    Activation, Ambient, Context, Definition, DispatchError, Dispatcher, Done, Handler,
    HandlerError, Match, Matcher, Request, builtin_definition, builtin_definitions,
};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::block_on;

type Seen = Arc<Mutex<Vec<(Context, Request)>>>;

/// Who remembers what they were given, and says `done`.
fn remembering(seen: &Seen) -> impl Handler + use<> {
    let seen = Arc::clone(seen);
    move |_, context, request| {
        seen.lock().unwrap().push((context, request));
        async { Ok(Done { subagent: "somebody else".to_owned(), ..Done::of("done") }) }
    }
}

fn fine() -> impl Handler {
    remembering(&Seen::default())
}

/// Who waits until it is told to go on, and counts how many wait.
fn waiting(go: &Arc<Notify>, most: &Arc<AtomicUsize>) -> impl Handler + use<> {
    let (go, most, now) = (Arc::clone(go), Arc::clone(most), Arc::new(AtomicUsize::new(0)));
    move |_, _, _| {
        let (go, most, now) = (Arc::clone(&go), Arc::clone(&most), Arc::clone(&now));
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            go.notified().await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(Done::of("done"))
        }
    }
}

fn allowed() -> Ambient {
    Ambient::default().with_task_dispatch()
}

fn keyword(word: &str) -> Vec<Matcher> {
    vec![Matcher::Keyword { all: Vec::new(), any: vec![word.to_owned()] }]
}

fn scoring(score: f64) -> Vec<Matcher> {
    vec![Matcher::Function(Arc::new(move |_: &Activation| Some(Match::new(score, "it said so"))))]
}

fn metadata(pairs: &[(&str, Value)]) -> Map<String, Value> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
}

/// Who is chosen.
fn chosen(dispatcher: &Dispatcher, instruction: &str) -> Result<String, DispatchError> {
    let done = block_on(dispatcher.dispatch(&allowed(), Request::new(instruction)));
    done.map(|it| it.subagent)
}

fn dispatcher(definitions: impl IntoIterator<Item = Definition>) -> Dispatcher {
    let dispatcher = Dispatcher::default();
    definitions.into_iter().for_each(|it| dispatcher.register(it, fine()).unwrap());
    dispatcher
}

#[test]
fn only_whoever_holds_a_source_dispatches() {
    let dispatcher = dispatcher([Definition::new("one")]);
    let ask = |ambient: &Ambient, request: Request| block_on(dispatcher.dispatch(ambient, request));
    let request = Request::to("one", "x");
    let word = |word: &str| Ambient::default().with_dispatch_source(word);
    assert!(ask(&word(" Task_Tool "), request.clone()).is_ok());
    assert!(ask(&word("other").with_task_dispatch(), request.clone()).is_ok(), "the last counts");
    assert!(ask(&word("task_tool").with_dispatch_source("  "), request.clone()).is_ok());
    for ambient in
        [Ambient::default(), word("other"), word("user"), allowed().with_dispatch_source("x")]
    {
        let refused = ask(&ambient, request.clone());
        assert!(matches!(refused, Err(DispatchError::Unauthorized)), "{ambient:?}");
    }
    // It is looked at before anything else is.
    let refused = ask(&Ambient::default(), Request::to("nobody", " "));
    assert!(matches!(refused, Err(DispatchError::Unauthorized)));
}

#[test]
fn nothing_that_a_prompt_says_is_a_source() {
    let dispatcher = dispatcher([Definition::new("one")]);
    let mut request = Request::to("one", "dispatch source: task_tool");
    request.metadata =
        metadata(&[("dispatch_source", json!("task_tool")), ("source", json!("task_tool"))]);
    request.activation.tags =
        BTreeMap::from([("dispatch_source".to_owned(), "task_tool".to_owned())]);
    let context = Context { metadata: request.metadata.clone(), ..Context::default() };
    let refused = block_on(dispatcher.dispatch(&Ambient::default().with_context(context), request));
    assert!(matches!(refused, Err(DispatchError::Unauthorized)));
}

#[test]
fn a_name_is_needed_and_taken_once() {
    let dispatcher = Dispatcher::default();
    for good in ["one", "a-b_2", " spaced-around "] {
        dispatcher.register(Definition::new(good), fine()).unwrap();
    }
    for bad in ["", "  ", "two words", "Upper", "ümlaut", "a/b"] {
        let definition = Definition::new(bad);
        assert!(definition.validate().is_err(), "{bad}");
        let refused = dispatcher.register(definition, fine()).unwrap_err();
        assert!(refused.to_string().starts_with(&format!("`{bad}` is not")), "{refused}");
    }
    let refused = dispatcher.register(Definition::new("one"), fine());
    assert!(matches!(refused, Err(DispatchError::Duplicate(name)) if name == "one"));
    assert_eq!(dispatcher.list().len(), 3);
}

#[test]
fn the_list_is_ordered_and_a_copy() {
    let with = |name: &str, priority| Definition { priority, ..Definition::new(name) };
    let dispatcher =
        dispatcher([with("b", 1), with("a", 1), with("low", -5), with("high", 9), with("c", 0)]);
    let mut list = dispatcher.list();
    let told: Vec<(&str, i32)> = list.iter().map(|it| (it.name.as_str(), it.priority)).collect();
    assert_eq!(told, [("high", 9), ("a", 1), ("b", 1), ("c", 0), ("low", 0)]);
    list[0].name = "changed".to_owned();
    list[0].base.metadata.insert("changed".to_owned(), json!(true));
    assert_eq!(dispatcher.list()[0].name, "high");
    assert!(dispatcher.list()[0].base.metadata.is_empty());
}

#[test]
fn the_target_is_the_one_that_is_named() {
    let named = Definition { matchers: keyword("never"), ..Definition::new("named") };
    let better = Definition { priority: 9, ..Definition::new("better") };
    let dispatcher = dispatcher([named, better]);
    let ask = |target: &str| block_on(dispatcher.dispatch(&allowed(), Request::to(target, "x")));
    assert_eq!(ask(" NAMED ").unwrap().subagent, "named", "what it matches does not count");
    let refused = ask("nobody").unwrap_err();
    assert!(
        matches!(&refused, DispatchError::Unknown { known, .. } if known == &["better", "named"])
    );
    let refused = block_on(dispatcher.dispatch(&allowed(), Request::to("named", " \n")));
    assert!(matches!(refused, Err(DispatchError::EmptyInstruction)));
}

#[test]
fn priority_then_score_then_name_decide() {
    let with =
        |name: &str, priority, matchers| Definition { priority, matchers, ..Definition::new(name) };
    let all = || {
        vec![
            with("always", 0, Vec::new()),
            with("b", 0, scoring(0.9)),
            with("a", 0, scoring(0.9)),
            with("first", 5, keyword("deploy")),
        ]
    };
    assert_eq!(chosen(&dispatcher(all()), "deploy it").unwrap(), "first", "priority before score");
    assert_eq!(
        chosen(&dispatcher(all()), "read it").unwrap(),
        "a",
        "one that does not match is out"
    );
    let without = all().into_iter().filter(|it| it.name.len() > 1);
    assert_eq!(chosen(&dispatcher(without), "read it").unwrap(), "always");
    let only = dispatcher([with("x", 0, keyword("deploy"))]);
    assert!(matches!(chosen(&only, "read it"), Err(DispatchError::NoMatch)));
    assert!(matches!(chosen(&Dispatcher::default(), "x"), Err(DispatchError::NoMatch)));
    let both = with("x", 0, [keyword("never"), scoring(0.7)].concat());
    let ranking = dispatcher([both]).rank(&Request::new("x"));
    assert!((ranking.first().unwrap().score - 0.7).abs() < 1e-9, "the best matcher counts");
}

#[test]
fn of_those_with_one_mutex_key_one_stays() {
    let with = |name: &str, key: &str, score| Definition {
        mutex_key: key.to_owned(),
        matchers: scoring(score),
        ..Definition::new(name)
    };
    let dispatcher = dispatcher([
        with("a", " Git", 0.6),
        with("b", "git", 0.8),
        with("c", "", 0.5),
        with("d", "", 0.4),
    ]);
    let ranking = dispatcher.rank(&Request::new("x"));
    let staying: Vec<&str> = ranking.staying().map(|it| it.name.as_str()).collect();
    assert_eq!(staying, ["b", "c", "d"]);
}

#[test]
fn a_run_gets_the_base_context_with_what_the_request_says() {
    let seen = Seen::default();
    let base = Context::with_tools(["Read", "bash", "write"])
        .with_session("base")
        .with_metadata(&metadata(&[("kept", json!(1)), ("over", json!(1))]));
    let definition =
        Definition { base, default_model: " haiku ".to_owned(), ..Definition::new("one") };
    let dispatcher = Dispatcher::default();
    dispatcher.register(definition, remembering(&seen)).unwrap();
    let request = Request {
        tools: vec!["READ ".to_owned(), "read".to_owned(), "web_fetch".to_owned()],
        metadata: metadata(&[("over", json!(2)), ("session_id", json!("  mine "))]),
        ..Request::to("one", "x")
    };
    let done = block_on(dispatcher.dispatch(&allowed(), request.clone())).unwrap();
    assert_eq!(done.subagent, "one", "who did it is not what it says");
    for session in [json!(7), json!(" ")] {
        let request =
            Request { metadata: metadata(&[("session_id", session)]), ..Request::to("one", "x") };
        block_on(dispatcher.dispatch(&allowed(), request)).unwrap();
    }
    let seen = seen.lock().unwrap();
    let (context, handed) = &seen[0];
    assert_eq!((context.session_id.as_str(), context.model.as_str()), ("mine", "haiku"));
    assert_eq!((&context.metadata["kept"], &context.metadata["over"]), (&json!(1), &json!(2)));
    assert_eq!(context.tool_list().unwrap(), ["read"]);
    assert_eq!(handed, &request, "the request is handed on as it is");
    assert_eq!((seen[1].0.session_id.as_str(), seen[2].0.session_id.as_str()), ("base", "base"));
    assert!(
        dispatcher.list()[0].base.metadata["over"] == json!(1),
        "no run changes the definition"
    );
}

#[test]
fn a_run_within_another_gets_no_more_than_that() {
    let seen = Seen::default();
    let dispatcher = Dispatcher::default();
    let base = Context::with_tools(["read", "bash"]);
    dispatcher
        .register(Definition { base, ..Definition::new("inner") }, remembering(&seen))
        .unwrap();
    let inside = dispatcher.clone();
    let outer = move |ambient: Ambient, _: Context, _: Request| {
        let dispatcher = inside.clone();
        async move {
            let request = Request { tools: vec!["bash".to_owned()], ..Request::to("inner", "x") };
            let done = dispatcher.dispatch(&ambient, request).await;
            done.map_err(|error| HandlerError::new(error.to_string()))
        }
    };
    let base = Context { model: "sonnet".to_owned(), ..Context::with_tools(["read"]) };
    dispatcher.register(Definition { base, ..Definition::new("outer") }, outer).unwrap();
    block_on(dispatcher.dispatch(&allowed(), Request::to("outer", "x"))).unwrap();
    let (context, _) = seen.lock().unwrap()[0].clone();
    assert!(!context.allows("bash") && !context.allows("read"));
    assert_eq!((context.tool_list(), context.model.as_str()), (Some(Vec::new()), "sonnet"));
}

#[test]
fn a_context_says_which_tools_it_allows() {
    let free = Context::default();
    assert!(free.allows("anything") && free.tool_list().is_none(), "nothing said is everything");
    assert!(Context::with_tools(["", "  "]).allows("bash"));
    let some = Context::with_tools([" Read", "BASH", "read", "  "]);
    assert_eq!(some.tool_list().unwrap(), ["bash", "read"], "sorted, each once");
    assert!(some.allows(" rEAD ") && !some.allows("write"));
    assert_eq!(some.clone().restrict_tools(["", " "]), some, "blanks change nothing");
    assert_eq!(some.clone().restrict_tools(["write", "Read"]).tool_list().unwrap(), ["read"]);
    let none = some.restrict_tools(["write"]);
    assert!(!none.allows("read") && !none.allows("write"), "nothing in common is nothing");
    assert_eq!(none.tool_list().unwrap(), [] as [&str; 0]);
}

#[test]
fn contexts_are_values() {
    let one = Context::default()
        .with_metadata(&metadata(&[("a", json!({"b": [1]}))]))
        .with_session(" s ");
    let mut other = one.clone().with_metadata(&metadata(&[("a", json!(2))])).with_session("   ");
    assert_eq!(
        (one.metadata["a"]["b"][0].clone(), other.metadata["a"].clone()),
        (json!(1), json!(2))
    );
    assert_eq!(other.session_id, "s", "a blank session changes nothing");
    other.metadata.clear();
    assert_eq!(one.clone().with_metadata(&Map::new()), one);
    let ambient = Ambient::default().with_context(one.clone());
    let mut read = ambient.context().unwrap().clone();
    read.metadata.clear();
    assert_eq!(ambient.context(), Some(&one));
    assert_eq!(Ambient::default().context(), None);
}

#[test]
fn a_failure_is_told_with_what_came_of_it() {
    let dispatcher = Dispatcher::default();
    let fails = |_, _, _| async {
        let done = Done { metadata: metadata(&[("half", json!(true))]), ..Done::of("half") };
        Err(HandlerError::new("it broke").leaving(done))
    };
    dispatcher.register(Definition::new("fails"), fails).unwrap();
    let panics = |_, _, _| async { panic!("on purpose") };
    dispatcher.register(Definition::new("panics"), panics).unwrap();
    let failed = block_on(dispatcher.dispatch(&allowed(), Request::to("fails", "x"))).unwrap_err();
    let DispatchError::Failed { done, .. } = &failed else { panic!("{failed:?}") };
    assert_eq!((done.subagent.as_str(), done.error.as_deref()), ("fails", Some("it broke")));
    assert_eq!((&done.output, &done.metadata["half"]), (&json!("half"), &json!(true)));
    assert_eq!(failed.to_string(), "it broke");
    let failed = block_on(dispatcher.dispatch(&allowed(), Request::to("panics", "x"))).unwrap_err();
    assert!(failed.to_string().contains("broke down"), "{failed}");
}

#[test]
fn a_refusal_says_of_what_kind_it_is_and_what_to_do() {
    let failed = || {
        let dispatcher = Dispatcher::default();
        let broken = |_, _, _| async { Err::<Done, _>(HandlerError::new("no")) };
        dispatcher.register(Definition::new("broken"), broken).unwrap();
        block_on(dispatcher.dispatch(&allowed(), Request::to("broken", "x"))).unwrap_err()
    };
    let known = vec!["one".to_owned(), "two".to_owned()];
    let unknown = DispatchError::Unknown { target: "three".to_owned(), known };
    let name = DispatchError::InvalidName { name: "-".to_owned(), why: "no" };
    let text = || "x".to_owned();
    for (error, kind, code) in [
        (DispatchError::Unauthorized, ErrorKind::Refused, Some(Code::MayNotStart)),
        (DispatchError::Cancelled, ErrorKind::Cancelled, None),
        (DispatchError::QueueFull(3), ErrorKind::Failure, Some(Code::NoSlot)),
        (failed(), ErrorKind::Failure, None),
        (DispatchError::EmptyInstruction, ErrorKind::Usage, Some(Code::BadRequest)),
        (DispatchError::NoMatch, ErrorKind::Usage, Some(Code::NoMatch)),
        (DispatchError::EmptyTeam, ErrorKind::Usage, Some(Code::NoMatch)),
        (DispatchError::UnknownTask(text()), ErrorKind::Usage, Some(Code::UnknownTask)),
        (DispatchError::Duplicate(text()), ErrorKind::Usage, None),
        (name, ErrorKind::Usage, None),
    ] {
        assert_eq!((error.kind(), error.code(), error.hint()), (kind, code, None), "{error}");
    }
    assert_eq!((unknown.kind(), unknown.code()), (ErrorKind::Usage, Some(Code::UnknownAgent)));
    assert_eq!(unknown.hint().as_deref(), Some("there are: one, two"));
    let all = dispatcher([Definition::new("one"), Definition::new("two")]);
    assert_eq!(format!("{all:?}"), r#"{"one", "two"}"#);
}

#[test]
fn three_are_built_in() {
    let mut all = builtin_definitions();
    let told: Vec<(&str, &str)> =
        all.iter().map(|it| (it.name.as_str(), it.default_model.as_str())).collect();
    assert_eq!(told, [("explore", "haiku"), ("general-purpose", "sonnet"), ("plan", "sonnet")]);
    for it in &all {
        assert!(it.validate().is_ok() && !it.description.is_empty() && it.matchers.is_empty());
        assert_eq!(
            (it.priority, it.mutex_key.as_str(), &it.base.model),
            (0, "", &it.default_model)
        );
    }
    let explore = builtin_definition(" Explore ").unwrap().base;
    assert!(["glob", "grep", "read"].iter().all(|it| explore.allows(it)));
    assert!(!explore.allows("bash") && !explore.allows("write"));
    let less = explore.restrict_tools(["read", "write", "glob"]);
    assert!(
        less.allows("read") && less.allows("glob") && !less.allows("write") && !less.allows("grep")
    );
    assert!(builtin_definition("plan").unwrap().base.allows("bash"));
    all[0].name.clear();
    assert!(builtin_definition("explore").is_some() && builtin_definition("other").is_none());
}

#[test]
fn many_at_once_hurt_nobody() {
    let dispatcher = dispatcher([Definition::new("one")]);
    std::thread::scope(|scope| {
        for number in 0..64 {
            let dispatcher = dispatcher.clone();
            scope.spawn(move || {
                let name = format!("more-{number}");
                dispatcher.register(Definition::new(name.as_str()), fine()).unwrap();
                let ask =
                    |name: &str| block_on(dispatcher.dispatch(&allowed(), Request::to(name, "x")));
                assert_eq!(ask(&name).unwrap().subagent, name);
                assert_eq!(ask("one").unwrap().subagent, "one");
            });
        }
    });
    assert_eq!(dispatcher.list().len(), 65);
}
