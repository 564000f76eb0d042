//! Handing an assignment to whichever agent fits.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use agents_system::explain::{Code, ErrorKind, Explain as _};
use agents_task::{
    Broker, Patience, Runner, Settings, Surroundings,
    dispatch::{
        Activation, Ambient, BodyHandler, Context, Definition, DispatchError, Dispatcher, Done,
        Handler, HandlerError, LoaderOptions, Match, Matcher, Queue, Request, State, Team,
        builtin_definition, builtin_definitions, handler::WithAgents, load,
    },
    event::{Event, ToolState, What},
    runner::Common,
};
use agents_testkit::scratch::Scratch;
use agents_tool::artifacts::ArtifactDir;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{block_on, tree::Place};

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

const GOOD: &str = "---\nname: reviewer\ndescription: Looks at changes\ntools: Read, bash, read\nmodel: inherit\n---\nYou review.\n";

#[test]
fn files_are_loaded_and_a_bad_one_stops_no_other() {
    let project = Scratch::new();
    let root = project.path("");
    let options = LoaderOptions::of(&root);
    let (loaded, errors) = load(&options);
    assert!(loaded.is_empty() && errors.is_empty(), "no directory is no error");
    let write = |name: &str, text: &str| project.write(format!(".claude/agents/{name}"), text);
    write("b/REVIEW.MD", GOOD);
    write(
        "by-file.md",
        "---\ndescription: Named by its file\nmodel: haiku\npermissionMode: plan\nskills: b, a\n---\nBody.\n",
    );
    write("c/again.md", GOOD);
    write("no-header.md", "Just text.\n");
    write("open.md", "---\nname: open\n");
    write("yaml.md", "---\nname: [1\n---\n");
    write("nothing.md", "---\nname: nothing\n---\nBody.\n");
    write("mode.md", "---\nname: mode\ndescription: d\npermissionMode: sudo\n---\n");
    write("name.md", "---\nname: two words\ndescription: d\n---\n");
    write("notes.txt", "not one");
    let (loaded, errors) = load(&options);
    let names: Vec<&str> = loaded.iter().map(|it| it.definition.name.as_str()).collect();
    assert_eq!(names, ["by-file", "reviewer"], "{errors:?}");
    let wrong: Vec<&str> = errors.iter().filter_map(|it| it.path.file_name()).collect();
    assert_eq!(
        wrong,
        ["again.md", "mode.md", "name.md", "no-header.md", "nothing.md", "open.md", "yaml.md"]
    );
    assert!(errors.iter().all(|it| !it.why.is_empty()), "{errors:?}");
    assert!(errors[0].to_string().contains("`reviewer` already"), "{}", errors[0]);
    let reviewer = &loaded[1];
    assert_eq!(reviewer.definition.base.tool_list().unwrap(), ["bash", "read"]);
    assert_eq!(
        (reviewer.definition.default_model.as_str(), reviewer.agent.prompt.trim()),
        ("", "You review.")
    );
    let by_file = &loaded[0].definition;
    assert_eq!((by_file.default_model.as_str(), by_file.base.model.as_str()), ("haiku", "haiku"));
    assert_eq!(by_file.base.metadata["permission-mode"], "plan");
    assert!(
        by_file.base.metadata["source"].as_str().unwrap().ends_with(".claude/agents/by-file.md")
    );
    assert!(by_file.base.allows("bash"), "no list is no restriction");
}

#[test]
fn the_directory_of_definitions_can_be_said() {
    let dir = |project: &str, config: &str| {
        LoaderOptions { project_root: project.into(), config_root: config.into() }.dir()
    };
    assert_eq!(dir("/p", ""), "/p/.claude/agents");
    assert_eq!(dir("", " "), ".claude/agents");
    assert_eq!(dir("/p", "conf"), "/p/conf/agents");
    assert_eq!(dir("", "conf"), "conf/agents");
    assert_eq!(dir("/p", "/etc/conf"), "/etc/conf/agents");
    let project = Scratch::new();
    project.write(".claude/agents", "a file");
    let (_, errors) = load(&LoaderOptions::of(&project.path("")));
    assert_eq!(errors.len(), 1);
    assert!(errors[0].to_string().contains("not a directory"), "{}", errors[0]);
}

#[cfg(unix)]
#[test]
fn a_file_that_leads_out_of_the_project_is_not_loaded() {
    let project = Scratch::new();
    let outside = project.write("elsewhere.md", GOOD);
    project.write(".claude/agents/good.md", GOOD.replace("reviewer", "good"));
    std::os::unix::fs::symlink(outside, project.path(".claude/agents/link.md")).unwrap();
    let (loaded, errors) = load(&LoaderOptions::of(&project.path("")));
    assert_eq!((loaded.len(), errors.len()), (1, 1), "{errors:?}");
    assert!(errors[0].to_string().contains("outside"), "{}", errors[0]);
}

/// A dispatcher with the agents of a project, which run on a model that plays this, and how the calls of their tools went.
fn office(project: &Scratch, script: &str) -> (Dispatcher, Arc<Mutex<Vec<ToolState>>>) {
    let states = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&states);
    let sink = move |event: &Event| {
        if let What::ToolEnded { state, .. } = event.what {
            log.lock().unwrap().push(state);
        }
    };
    let place = Place::new().agent("other", &[], script, |_| {});
    let (loaded, errors) = load(&LoaderOptions::of(&project.path("")));
    assert!(errors.is_empty(), "{errors:?}");
    let surroundings: Arc<dyn Surroundings> = Arc::new(WithAgents::new(&loaded, Arc::new(place)));
    let common = Common {
        settings: Settings::default(),
        broker: Broker::unattended(),
        sink: Arc::new(sink),
        artifacts: Arc::new(ArtifactDir::new(&project.path("artifacts"))),
        transcripts: None,
        secrets: None,
        patience: Patience::default(),
        concurrency: 4,
        cancel: CancellationToken::new(),
    };
    let runner = Runner::new(surroundings, common);
    let dispatcher = Dispatcher::default();
    loaded.iter().for_each(|it| it.register(&dispatcher, &runner).unwrap());
    (dispatcher, states)
}

#[test]
fn an_agent_from_a_file_really_runs() {
    let script = "[[replies]]\ncalls = [{ name = \"find\", input = { pattern = \"*\" } }]\n[[replies]]\ntext = \"Looks good.\"\n";
    let project = Scratch::new();
    project.write(".claude/agents/reviewer.md", GOOD.replace("Read, bash, read", "glob"));
    let (dispatcher, states) = office(&project, script);
    let done =
        block_on(dispatcher.dispatch(&allowed(), Request::to("reviewer", "look at it"))).unwrap();
    assert_eq!((done.subagent.as_str(), &done.output), ("reviewer", &json!("Looks good.")));
    assert_eq!(done.metadata["turns"], 2);
    assert_eq!(*states.lock().unwrap(), [ToolState::Done]);
    assert!(done.metadata["source"].as_str().unwrap().ends_with("reviewer.md"));
}

#[test]
fn tools_that_a_request_takes_away_are_not_there_for_the_model() {
    let script = "[[replies]]\ncalls = [{ name = \"find\", input = { pattern = \"*\" } }]\n[[replies]]\ntext = \"Over.\"\n";
    let project = Scratch::new();
    project.write(".claude/agents/reviewer.md", GOOD.replace("Read, bash, read", "glob"));
    let (dispatcher, states) = office(&project, script);
    for tools in [vec![], vec!["find".to_owned()], vec!["web_fetch".to_owned()]] {
        let request = Request { tools, ..Request::to("reviewer", "x") };
        block_on(dispatcher.dispatch(&allowed(), request)).unwrap();
    }
    // Nothing of what was asked for last is among what it has: then nothing is left, and not everything.
    let expected = [ToolState::Done, ToolState::Done, ToolState::Failed];
    assert_eq!(*states.lock().unwrap(), expected);
}

#[test]
fn a_run_ends_when_whoever_dispatched_it_wants_it_to() {
    let script = "[[replies]]\ndelay-ms = 600000\ntext = \"late\"\n";
    let project = Scratch::new();
    project.write(".claude/agents/reviewer.md", GOOD);
    let (dispatcher, _) = office(&project, script);
    let cancel = CancellationToken::new();
    let ambient = allowed().until(cancel.clone());
    let ended = block_on(async {
        let work = dispatcher.dispatch(&ambient, Request::to("reviewer", "x"));
        let (done, ()) = tokio::join!(work, async { cancel.cancel() });
        done
    });
    assert_eq!(ended.unwrap_err().to_string(), "cancelled");
}

#[test]
fn the_text_of_a_file_can_be_had_without_a_run() {
    let project = Scratch::new();
    project.write(".claude/agents/reviewer.md", GOOD);
    let (loaded, _) = load(&LoaderOptions::of(&project.path("")));
    let dispatcher = Dispatcher::default();
    let body = BodyHandler(Arc::clone(&loaded[0].agent));
    dispatcher.register(loaded[0].definition.clone(), body).unwrap();
    let done = block_on(dispatcher.dispatch(&allowed(), Request::new("x"))).unwrap();
    assert_eq!(done.output.as_str().unwrap().trim(), "You review.");
    assert!(done.metadata.contains_key("source"));
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

#[test]
fn a_queue_does_as_many_at_a_time_as_it_may() {
    block_on(async {
        let (go, most) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let dispatcher = Dispatcher::default();
        dispatcher.register(Definition::new("slow"), waiting(&go, &most)).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&told);
        let completion = Arc::new(move |it: &agents_task::dispatch::Status| {
            log.lock().unwrap().push(it.id.clone());
        });
        let queue = Queue::with(dispatcher, 1, 2, Some(completion));
        let request = || Request {
            metadata: metadata(&[("session_id", json!("s"))]),
            ..Request::to("slow", "x")
        };
        let first = queue.submit(&allowed(), request()).unwrap();
        while queue.status(&first).unwrap().state != State::Running {
            tokio::task::yield_now().await;
        }
        let second = queue.submit(&allowed(), request()).unwrap();
        let third = queue.submit(&allowed(), request()).unwrap();
        assert_eq!(
            [first.as_str(), second.as_str(), third.as_str()],
            ["task-1", "task-2", "task-3"]
        );
        assert!(matches!(queue.submit(&allowed(), request()), Err(DispatchError::QueueFull(2))));
        let status = queue.status(&second).unwrap();
        assert_eq!(
            (status.state, status.name.as_str(), status.session_id.as_str()),
            (State::Queued, "slow", "s")
        );
        for id in [&first, &second, &third] {
            go.notify_one();
            let status = queue.wait(id).await.unwrap();
            assert_eq!(
                (status.state, status.done.unwrap().output),
                (State::Success, json!("done"))
            );
        }
        assert_eq!((most.load(Ordering::SeqCst), told.lock().unwrap().len()), (1, 3));
        let signed = first.replace("task-", "task-+");
        assert!(matches!(queue.status(&signed), Err(DispatchError::UnknownTask(_))), "{signed}");
    });
}

#[test]
fn a_queue_refuses_at_once_what_can_be_known_at_once() {
    block_on(async {
        let queue = Queue::new(dispatcher([Definition::new("one")]), 0);
        let submit = |ambient: &Ambient, request| queue.submit(ambient, request).unwrap_err();
        assert!(matches!(
            submit(&Ambient::default(), Request::to("one", "x")),
            DispatchError::Unauthorized
        ));
        assert!(matches!(
            submit(&allowed(), Request::to("one", "")),
            DispatchError::EmptyInstruction
        ));
        assert!(matches!(
            submit(&allowed(), Request::to("other", "x")),
            DispatchError::Unknown { .. }
        ));
        for id in ["", "task-9", "9", "job"] {
            assert!(matches!(queue.status(id), Err(DispatchError::UnknownTask(_))), "{id}");
        }
    });
}

#[test]
fn a_queue_remembers_the_last_thousand_that_are_over() {
    block_on(async {
        let queue = Queue::new(dispatcher([Definition::new("quick")]), 0);
        let mut last = String::new();
        for _ in 0..1_025 {
            last = queue.submit(&allowed(), Request::to("quick", "x")).unwrap();
            assert_eq!(queue.wait(&last).await.unwrap().state, State::Success);
        }
        assert_eq!(last, "task-1025");
        assert!(matches!(queue.status("task-1"), Err(DispatchError::UnknownTask(_))));
        assert_eq!(queue.status("task-2").unwrap().state, State::Success);
        assert_eq!(format!("{queue:?}"), "Queue { queued: 0, .. }");
    });
}

/// As when the program around it ends.
#[test]
fn what_is_dropped_in_the_middle_is_over() {
    let (go, most) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let dispatcher = Dispatcher::default();
    dispatcher.register(Definition::new("slow"), waiting(&go, &most)).unwrap();
    let queue = Queue::with(dispatcher, 1, 1, None);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let ids = runtime.block_on(async {
        let running = queue.submit(&allowed(), Request::to("slow", "x")).unwrap();
        while queue.status(&running).unwrap().state != State::Running {
            tokio::task::yield_now().await;
        }
        [running, queue.submit(&allowed(), Request::to("slow", "x")).unwrap()]
    });
    assert_eq!(format!("{queue:?}"), "Queue { queued: 1, .. }");
    drop(runtime);
    for id in ids {
        let status = queue.status(&id).unwrap();
        assert_eq!((status.state, status.error.as_deref()), (State::Error, Some("cancelled")));
    }
    assert_eq!(format!("{queue:?}"), "Queue { queued: 0, .. }");
}

#[test]
fn what_waits_in_a_queue_can_be_cancelled() {
    block_on(async {
        let (go, most) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let dispatcher = Dispatcher::default();
        dispatcher.register(Definition::new("slow"), waiting(&go, &most)).unwrap();
        let queue = Queue::new(dispatcher, 1);
        let first = queue.submit(&allowed(), Request::to("slow", "x")).unwrap();
        let cancel = CancellationToken::new();
        let second =
            queue.submit(&allowed().until(cancel.clone()), Request::to("slow", "x")).unwrap();
        cancel.cancel();
        let status = queue.wait(&second).await.unwrap();
        assert_eq!((status.state, status.error.as_deref()), (State::Error, Some("cancelled")));
        go.notify_one();
        assert_eq!(queue.wait(&first).await.unwrap().state, State::Success);
    });
}

#[test]
fn a_team_answers_in_the_order_of_its_members() {
    block_on(async {
        let (go, most) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        let dispatcher = Dispatcher::default();
        dispatcher.register(Definition::new("slow"), waiting(&go, &most)).unwrap();
        dispatcher.register(Definition::new("quick"), fine()).unwrap();
        let members = ["slow", "quick", "nobody", "slow"].map(|it| Request::to(it, "")).to_vec();
        let team = Team { members, all: Request::new("x"), concurrency: 4, ..Team::default() };
        let work = async { dispatcher.dispatch_team(&allowed(), &team).await.unwrap() };
        let freeing = async {
            while most.load(Ordering::SeqCst) < 2 {
                tokio::task::yield_now().await;
            }
            go.notify_waiters();
        };
        let (done, ()) = tokio::join!(work, freeing);
        let told: Vec<Option<&str>> =
            done.iter().map(|it| it.as_ref().ok().map(|it| it.subagent.as_str())).collect();
        assert_eq!(told, [Some("slow"), Some("quick"), None, Some("slow")]);
        assert!(
            matches!(done[2], Err(DispatchError::Unknown { .. })),
            "one failure stops no other"
        );
    });
}

#[test]
fn a_team_without_members_is_those_that_fit_best() {
    let with = |name: &str, priority, key: &str| Definition {
        priority,
        mutex_key: key.to_owned(),
        ..Definition::new(name)
    };
    let dispatcher =
        dispatcher([with("a", 1, "k"), with("b", 3, "k"), with("c", 2, ""), with("d", 0, "")]);
    let names = |team: Team| {
        let done = block_on(dispatcher.dispatch_team(&allowed(), &team)).unwrap();
        done.into_iter().map(|it| it.unwrap().subagent).collect::<Vec<_>>()
    };
    let team = Team { all: Request::new("x"), ..Team::default() };
    assert_eq!(names(Team { most: 2, ..team.clone() }), ["b", "c"]);
    assert_eq!(names(team.clone()), ["b", "c", "d"], "one per mutex key");
    let empty = block_on(dispatcher.dispatch_team(&allowed(), &Team::default()));
    assert!(matches!(empty, Err(DispatchError::EmptyTeam)));
    let refused = block_on(dispatcher.dispatch_team(&Ambient::default(), &team));
    assert!(matches!(refused, Err(DispatchError::Unauthorized)));
}

#[test]
fn a_member_of_a_team_gets_no_more_tools_than_the_team() {
    let seen = Seen::default();
    let dispatcher = Dispatcher::default();
    dispatcher.register(Definition::new("one"), remembering(&seen)).unwrap();
    let tools = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let member = Request {
        tools: tools(&["read", "bash"]),
        metadata: metadata(&[("over", json!("member"))]),
        ..Request::to("one", "x")
    };
    let all = Request {
        tools: tools(&["read", "write"]),
        metadata: metadata(&[("over", json!("team")), ("kept", json!("team"))]),
        ..Request::default()
    };
    let team = Team { members: vec![member], all, ..Team::default() };
    block_on(dispatcher.dispatch_team(&allowed(), &team)).unwrap();
    let context = &seen.lock().unwrap()[0].0;
    assert_eq!(context.tool_list().unwrap(), ["read"]);
    // It is told more about it, and its own words come first.
    let told = metadata(&[("over", json!("member")), ("kept", json!("team"))]);
    assert_eq!(context.metadata, told);
}
