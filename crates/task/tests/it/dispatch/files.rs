//! Agents that files define, and what runs of them.

use std::sync::{Arc, Mutex};

use agents_task::{
    Broker, Patience, Runner, Settings, Surroundings,
    dispatch::{BodyHandler, Dispatcher, LoaderOptions, Request, handler::WithAgents, load},
    event::{Event, ToolState, What},
    runner::Common,
};
use agents_testkit::scratch::Scratch;
use agents_tool::artifacts::ArtifactDir;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::allowed;
use crate::{block_on, tree::Place};

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
