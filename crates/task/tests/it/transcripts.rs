//! Tasks that are written down, and go on from what was written.

use agents_model::{Message, Part, Role};
use agents_task::{
    Ending, TaskId,
    event::What,
    resume::{self, ResumeError},
    transcript::{ChainKey, Page, Record, Retention, Standing, State, Store, Verdict, tree},
};
use agents_testkit::scratch::Scratch;
use tokio_util::sync::CancellationToken;

use crate::tree::{Manner, Place, SAYS, asks, one, run};

fn kept(store: &Store) -> Manner {
    Manner { transcripts: Some(store.clone()), ..Manner::default() }
}

#[test]
fn each_task_of_a_tree_has_its_own_with_its_parent() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let tasks = r#"{ id = "a", assignment = "look", agent = "scout" }, { id = "b", assignment = "look", agent = "scout" }"#;
    let place = Place::new().agent("lead", &["scout"], &asks(tasks), |_| {}).agent(
        "scout",
        &[],
        SAYS,
        |_| {},
    );
    let ran = run(place, &one("lead"), kept(&store));
    assert_eq!(ran.only().ending, Ending::Completed);
    let (metas, wrong) = store.list().unwrap();
    assert!(wrong.is_empty() && metas.len() == 3);
    let lead = metas.iter().find(|it| it.agent == "lead").unwrap();
    assert_eq!((lead.id, lead.parent, lead.turns), (ran.only().id, None, 2));
    let with: Vec<_> = metas.into_iter().map(|it| (it.clone(), store.standing(&it))).collect();
    let roots = tree(with);
    assert_eq!(roots.len(), 1);
    let mut names: Vec<&str> = roots[0].children.iter().map(|it| it.meta.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b"]);
    let loaded = store.load(roots[0].meta.id).unwrap();
    let kinds: Vec<&str> = loaded
        .entries
        .iter()
        .map(|it| match &it.record {
            Record::Begin(_) => "begin",
            Record::Message(message) if message.role == Role::User => "user",
            Record::Message(_) => "assistant",
            Record::Usage(_) => "usage",
            Record::Compacted(_) => "compacted",
            Record::Outcome(_) => "outcome",
        })
        .collect();
    assert_eq!(
        kinds,
        ["begin", "user", "usage", "assistant", "user", "usage", "assistant", "outcome"]
    );
    let begin = loaded.begin().unwrap();
    assert!(begin.system.starts_with("You are lead.") && begin.tools.contains(&"task".to_owned()));
    assert_eq!(loaded.outcome().unwrap()["ending"]["state"], "completed");
}

#[test]
fn metadata_says_how_it_ended_whatever_happened() {
    type Case = (&'static str, State, fn(&mut Manner));
    let cases: [Case; 4] = [
        (SAYS, State::Completed, |_| {}),
        (
            "[[replies]]\ncalls = [{ name = \"yield\", input = { error = \"no\" } }]",
            State::Failed,
            |_| {},
        ),
        (SAYS, State::Cancelled, |manner| manner.cancel.cancel()),
        (
            "[[replies]]\ncalls = [{ name = \"find\", input = { pattern = \"*\" } }]",
            State::OutOfLimits,
            |manner| {
                manner.settings.limits.turns = Some(1);
            },
        ),
    ];
    for (script, state, change) in cases {
        let scratch = Scratch::new();
        let store = Store::new(&scratch.path("tasks"));
        let mut manner = Manner { cancel: CancellationToken::new(), ..kept(&store) };
        change(&mut manner);
        let place = Place::new().agent("worker", &[], script, |_| {});
        let ran = run(place, &one("worker"), manner);
        let meta = store.meta(ran.only().id).unwrap();
        assert_eq!(meta.state, state, "{:?}", ran.only().ending);
        assert_eq!(meta.stop_reason, Some(ran.only().ending.told()));
        assert!(meta.finished_at.is_some());
    }
}

#[test]
fn a_resumed_task_has_the_whole_conversation_of_all_before_it() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let looks = "[[replies]]\ntext = \"looking\"\ncalls = [{ name = \"find\", input = { pattern = \"*\" } }]\n[[replies]]\ntext = \"first\"\n";
    let place = Place::new().agent("worker", &[], looks, |_| {});
    let first = run(place, &one("worker"), kept(&store)).only().id;
    let next = |script: &str, from: &str, prompt: &str| {
        let resumption = resume::prepare(&store, from, prompt).unwrap();
        assert_eq!(resumption.meta.agent, "worker");
        let place = Place::new().agent("worker", &[], script, |_| {});
        let ran = run(place, &resumption.request.into(), kept(&store));
        assert_eq!(ran.only().ending, Ending::Completed, "{:?}", ran.events.last());
        ran.only().id
    };
    let second = next(
        "[[replies]]\nwhen = { text = \"and now?\" }\ntext = \"second\"",
        &first.to_string(),
        "and now?",
    );
    assert_ne!(first, second);
    assert_eq!(store.meta(second).unwrap().resumed_from, Some(first), "kept to the end");
    let third = next("[[replies]]\ntext = \"third\"", &second.short(), "go on");
    let segments = store.segments(third).unwrap();
    let ids: Vec<_> = segments.iter().map(|it| it.meta.id).collect();
    assert_eq!(ids, [first, second, third]);
    let said: Vec<String> = resume::conversation(&segments).iter().map(Message::text).collect();
    assert_eq!(
        said,
        ["do the work", "looking", "", "first", "and now?", "second", "go on", "third"]
    );
    let page = Page::load(&store, third).unwrap();
    assert_eq!(page.earlier, [first, second]);
}

#[test]
fn what_cannot_be_resumed_says_why() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let prepared = |prefix: &str| resume::prepare(&store, prefix, "go on").map(|_| ());
    assert!(matches!(prepared("abcd"), Err(ResumeError::Transcript(_))));
    let place = || Place::new().agent("worker", &[], SAYS, |_| {});
    let id = run(place(), &one("worker"), kept(&store)).only().id;
    run(place(), &one("worker"), kept(&store));
    let ambiguous = prepared(&id.to_string()[..4]).unwrap_err();
    assert!(ambiguous.to_string().contains("could be 2 tasks"), "{ambiguous}");
    let request = resume::prepare(&store, &id.to_string(), "go on").unwrap().request;
    let gone = Place::new().agent("other", &[], SAYS, |_| {});
    let ran = run(gone, &request.into(), kept(&store));
    assert!(ran.outcomes.unwrap_err().to_string().contains("Unknown agent \"worker\""));
}

#[test]
fn whoever_comes_second_is_told_that_it_still_runs() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let place = Place::new().agent("worker", &[], SAYS, |_| {});
    let id = run(place, &one("worker"), kept(&store)).only().id;
    let first = resume::prepare(&store, &id.to_string(), "go on").unwrap();
    let second = resume::prepare(&store, &id.to_string(), "go on").unwrap_err();
    assert!(matches!(second, ResumeError::StillRunning(it) if it == id), "{second:?}");
    let place = Place::new().agent("worker", &[], SAYS, |_| {});
    let ran = run(place, &first.request.into(), kept(&store));
    assert_eq!(ran.only().ending, Ending::Completed);
    assert!(resume::prepare(&store, &id.to_string(), "go on").is_ok(), "that one has ended");
}

#[test]
fn nothing_begins_that_could_not_be_written_down() {
    let scratch = Scratch::new();
    scratch.write("tasks", "a file where the directory should be");
    let store = Store::new(&scratch.path("tasks"));
    let place = || Place::new().agent("worker", &[], SAYS, |_| {});
    let ran = run(place(), &one("worker"), kept(&store));
    assert_eq!(ran.only().ending, Ending::Completed, "it does not matter");
    let ran = run(place(), &one("worker"), kept(&store.insisting()));
    let refused = ran.outcomes.unwrap_err();
    assert_eq!(refused.items[0].1.rule(), "transcript", "{refused}");
    assert!(ran.events.is_empty(), "{:?}", ran.events);
}

#[test]
fn what_a_task_was_told_is_known_before_its_turn() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    // Cancelled before it had its turn: nothing but its end is in the records.
    let manner = kept(&store);
    manner.cancel.cancel();
    let place = Place::new().agent("worker", &[], SAYS, |_| {});
    let id = run(place, &one("worker"), manner).only().id;
    assert_eq!(store.load(id).unwrap().begin().unwrap().prompt, "do the work");
    let resumption = resume::prepare(&store, &id.to_string(), "go on").unwrap();
    let messages = &resumption.request.continues.as_ref().unwrap().messages;
    assert_eq!(messages[0], Message::user("do the work"));
}

/// Waits until a program that was killed is gone. A program that it was just about to start has its lock for a moment longer.
fn gone(store: &Store, id: TaskId) {
    let meta = store.meta(id).unwrap();
    for _ in 0..1000 {
        if store.standing(&meta) == Standing::Interrupted {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it is still taken for alive");
}

/// The other half of the next test: it is killed in the middle of a call.
#[test]
#[ignore = "run by the test below"]
#[allow(clippy::disallowed_methods, reason = "how the test below tells it where")]
fn a_program_that_is_killed() {
    let Some(dir) = std::env::var_os("KILLED_IN") else { return };
    let store = Store::new(camino::Utf8Path::from_path(dir.as_ref()).unwrap());
    let script = "[[replies]]\ntext = \"one\"\ncalls = [{ name = \"find\", input = { pattern = \"*\" } }]\n\
                  [[replies]]\ncalls = [{ name = \"bash\", input = { command = \"sleep 600\" } }, { name = \"find\", input = { pattern = \"*\" } }]\n";
    let place = Place::new().agent("worker", &[], script, |_| {});
    run(place, &one("worker"), kept(&store));
}

#[cfg(unix)]
#[test]
#[allow(clippy::disallowed_methods, reason = "it is killed, not waited for")]
fn a_killed_program_leaves_a_run_that_can_be_resumed() {
    let scratch = Scratch::new();
    let dir = scratch.path("tasks");
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "transcripts::a_program_that_is_killed", "--ignored", "--nocapture"])
        .env("KILLED_IN", &dir)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let store = Store::new(&dir);
    let calls = |store: &Store| {
        let ids = store.ids().ok()?;
        let loaded = store.load(*ids.first()?).ok()?;
        let calls = loaded.messages().filter(|it| it.tool_calls().next().is_some()).count();
        (calls == 2).then_some(loaded.meta.id)
    };
    let id = loop {
        if let Some(id) = calls(&store) {
            break id;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    assert!(matches!(
        resume::prepare(&store, &id.to_string(), "go on"),
        Err(ResumeError::StillRunning(running)) if running == id
    ));
    child.kill().unwrap();
    child.wait().unwrap();
    gone(&store, id);
    let resumption = resume::prepare(&store, &id.to_string(), "go on").unwrap();
    let messages = &resumption.request.continues.as_ref().unwrap().messages;
    let last = messages.last().unwrap();
    assert_eq!((messages.len(), last.parts.len()), (5, 2), "both calls have a result");
    for part in &last.parts {
        assert!(
            matches!(part, Part::ToolResult(result) if result.content.starts_with("interrupted"))
        );
    }
    assert!(
        Page::load(&store, id)
            .unwrap()
            .text()
            .contains("interrupted: the program that ran it is gone")
    );
    let place = Place::new().agent(
        "worker",
        &[],
        "[[replies]]\nwhen = { result = \"interrupted\" }\ntext = \"went on\"",
        |_| {},
    );
    let ran = run(place, &resumption.request.into(), kept(&store));
    assert_eq!(
        (ran.only().ending.clone(), ran.only().report.text.as_str()),
        (Ending::Completed, "went on")
    );
    assert!(ran.events.iter().any(|it| matches!(it.what, What::Started { .. })));
}

/// The other half of the next test: it works until it is killed, and tells each turn when it begins.
#[test]
#[ignore = "run by the test below"]
#[allow(clippy::disallowed_methods, reason = "how the test below tells it where")]
fn a_program_that_works_until_it_is_killed() {
    use std::io::Write as _;
    let Some(dir) = std::env::var_os("KILLED_IN") else { return };
    let dir = camino::Utf8Path::from_path(dir.as_ref()).unwrap();
    let store = Store::with(dir, Retention::FOREVER, Some(ChainKey::new([7; 32])));
    let script = "[[replies]]\nwhen = { tool = \"find\" }\ncalls = [{ name = \"find\", input = { pattern = \"*\" } }]\n";
    let place = Place::new().agent("worker", &[], script, |it| it.limits.turns = Some(1_000_000));
    let mut manner = kept(&store);
    manner.settings.limits = agents_task::Limits::default();
    manner.sink = Some(std::sync::Arc::new(|event: &agents_task::event::Event| {
        if let What::Turn { number } = event.what {
            let mut out = std::io::stdout().lock();
            writeln!(out, "turn {number}").and_then(|()| out.flush()).unwrap();
        }
    }));
    run(place, &one("worker"), manner);
}

#[cfg(unix)]
#[test]
#[allow(clippy::disallowed_methods, reason = "it is killed, not waited for")]
fn killed_anywhere_every_turn_that_was_told_is_there() {
    use std::io::BufRead as _;
    for round in 0..12_u64 {
        let scratch = Scratch::new();
        let dir = scratch.path("tasks");
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "transcripts::a_program_that_works_until_it_is_killed",
                "--ignored",
                "--nocapture",
            ])
            .env("KILLED_IN", &dir)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        // At another turn, and at another moment of it, each time.
        let wanted = format!("turn {}", 2 + round * 7);
        assert!(lines.any(|it| it.unwrap() == wanted));
        std::thread::sleep(std::time::Duration::from_micros(round * 83));
        child.kill().unwrap();
        child.wait().unwrap();
        let told =
            lines.map_while(Result::ok).filter_map(|it| it.strip_prefix("turn ")?.parse().ok());
        let told: u64 = told.last().unwrap_or(2 + round * 7);
        let store = Store::with(&dir, Retention::FOREVER, Some(ChainKey::new([7; 32])));
        let id = store.ids().unwrap()[0];
        let loaded = store.load(id).unwrap();
        gone(&store, id);
        assert!(loaded.spent().0 >= told - 1, "{} of {told}", loaded.spent().0);
        let answers =
            loaded.messages().filter(|it| matches!(it.parts.first(), Some(Part::ToolResult(_))));
        assert!(answers.count() as u64 >= told - 1);
        assert!(matches!(store.verify(id).unwrap(), Some(Verdict::Intact { .. })));
        let messages = resume::conversation(&[loaded]);
        for pair in messages.windows(2) {
            let ids = |message: &Message| -> Vec<String> {
                message.tool_calls().map(|it| it.id.clone()).collect()
            };
            let results = pair[1].parts.iter().filter_map(|it| match it {
                Part::ToolResult(result) => Some(result.id.clone()),
                _ => None,
            });
            assert_eq!(ids(&pair[0]), results.collect::<Vec<_>>());
        }
        assert!(messages.last().unwrap().tool_calls().next().is_none());
        resume::prepare(&store, &id.to_string(), "go on").unwrap();
    }
}

#[test]
fn a_page_shows_everything_and_obeys_nothing() {
    let scratch = Scratch::new();
    let store = Store::new(&scratch.path("tasks"));
    let script = "[[replies]]\ntext = \"<script>alert(1)</script>\\u001b[2J\\n```\\n# not a heading\"\n\
                  calls = [{ name = \"find\", input = { pattern = \"<b>&\\\"'\" } }]\n[[replies]]\ntext = \"done\"\n";
    let place = Place::new().agent("worker", &[], script, |_| {});
    let id = run(place, &one("worker"), kept(&store)).only().id;
    let page = Page::load(&store, id).unwrap();
    let text = page.text();
    for wanted in
        ["completed", "--- turn 1", "[find] {\"pattern\":\"<b>&\\\"'\"}", "> do the work", "done"]
    {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
    assert!(!text.contains('\u{1b}'));
    let html = page.html();
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(!html.contains("<script") && !html.contains('\u{1b}') && !html.contains("<b>&\""));
    assert!(!html.contains("http://") && !html.contains("https://") && !html.contains("src="));
    let markdown = page.markdown();
    assert!(
        markdown.contains("````text\n<script>"),
        "the fence is longer than what is in it: {markdown}"
    );
}
