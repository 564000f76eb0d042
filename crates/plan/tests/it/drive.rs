//! The driver with executors that do what a script says.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use agents_plan::{
    engine::{DriveError, Driver, Executor, Life, NotDone, Recall, Start},
    event::{Answer, Ending, Event, Millis, Outcome, PlanEnding, Source, What},
    file::OnFailure,
    graph::{Graph, Injection, Node, NodeId},
    ground::Ground,
    journal::{Journals, Options, Origin},
    reference::Template,
    schedule::{Scheduler, State},
};
use agents_testkit::scratch::Scratch;
use serde_json::json;

use crate::bodies::{only_run, results};

/// What a task does.
#[derive(Clone)]
enum Act {
    Say(serde_json::Value),
    Fail(&'static str),
    /// Until it is told to stop.
    Wait,
    /// Also after that.
    Hang,
    /// Signs of life for so many seconds.
    Beat(u64),
    Panic,
    Busy,
}

#[derive(Default)]
struct Script {
    acts: Mutex<BTreeMap<String, Vec<Act>>>,
    prompts: Mutex<Vec<String>>,
    started: AtomicUsize,
    /// What is found each time somebody looks; the last one stays.
    grounds: Mutex<VecDeque<Ground>>,
}

impl Script {
    fn of(acts: &[(&str, &[Act])]) -> Arc<Self> {
        let acts = acts.iter().map(|(id, acts)| ((*id).to_owned(), acts.to_vec())).collect();
        Arc::new(Self { acts: Mutex::new(acts), ..Self::default() })
    }
}

impl Executor for Script {
    async fn run(&self, start: Start, life: Life) -> Outcome {
        self.started.fetch_add(1, Ordering::Relaxed);
        self.prompts.lock().unwrap().push(start.request.prompt.clone());
        let act = {
            let mut acts = self.acts.lock().unwrap();
            acts.get_mut(start.node.as_str()).filter(|it| !it.is_empty()).map(|it| it.remove(0))
        };
        match act.unwrap_or(Act::Say(json!(start.node.as_str()))) {
            Act::Say(value) => Outcome::completed(value),
            Act::Fail(why) => Outcome::ended(Ending::Failed, why),
            Act::Wait => {
                life.stopped().await;
                Outcome::ended(Ending::Cancelled, "told to")
            }
            Act::Hang => std::future::pending().await,
            Act::Beat(seconds) => {
                for _ in 0..seconds {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    life.beat();
                }
                Outcome::completed(json!("alive"))
            }
            Act::Panic => panic!("as the script says"),
            Act::Busy => Outcome::ended(Ending::Busy, ""),
        }
    }

    async fn ground(&self, _: &Start) -> Option<Ground> {
        let grounds = &mut *self.grounds.lock().unwrap();
        if grounds.len() > 1 { grounds.pop_front() } else { grounds.front().copied() }
    }
}

fn node(id: &str, needs: &[&str]) -> Node {
    let mut node = Node::agent(id, "any", Template::plain(format!("do {id}"))).needs(needs);
    node.on_failure = OnFailure::SkipDependents;
    node
}

fn with(mut node: Node, change: impl FnOnce(&mut Node)) -> Node {
    change(&mut node);
    node
}

fn graph(nodes: Vec<Node>) -> Graph {
    Graph::new("test", nodes).unwrap()
}

fn driver(scratch: &Scratch, nodes: Vec<Node>, script: &Arc<Script>) -> Driver<Script> {
    let journals = Journals::new(scratch.path("plans"));
    let run = journals.create(&graph(nodes), Millis(1), &Origin::default(), Options::default());
    Driver::new(run.unwrap(), Arc::clone(script))
}

/// Waits for something that happens soon. Time may jump meanwhile: the journal is written by a real thread.
async fn until(what: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if what() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
        tokio::task::yield_now().await;
    }
    panic!("it does not happen");
}

fn states(of: &Scheduler) -> String {
    let states = results(of).into_iter().map(|(id, (state, _))| format!("{id} {}", state.word()));
    states.collect::<Vec<_>>().join(", ")
}

#[tokio::test(start_paused = true)]
async fn results_reach_those_who_refer_to_them() {
    let scratch = Scratch::in_memory();
    let script = Script::of(&[("a", &[Act::Say(json!({"n": 7}))])]);
    let b = Node::agent("b", "any", Template::parse("take ${{ tasks.a.output.n }}").unwrap())
        .needs(["a"]);
    let (ending, _) = driver(&scratch, vec![node("a", &[]), b], &script).run().await.unwrap();
    assert_eq!(ending, PlanEnding::Completed);
    assert_eq!(*script.prompts.lock().unwrap(), ["do a", "take 7"]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_lost_attempt_and_is_tried_again() {
    let scratch = Scratch::in_memory();
    let script =
        Script::of(&[("a", &[Act::Panic, Act::Busy, Act::Fail("no"), Act::Say(json!(1))])]);
    let a = with(node("a", &[]), |it| {
        it.retry.attempts = 3;
        it.retry.backoff = Duration::from_secs(600);
    });
    let (ending, _) = driver(&scratch, vec![a], &script).run().await.unwrap();
    assert_eq!(ending, PlanEnding::Completed);
    let prompts = script.prompts.lock().unwrap();
    assert!(prompts[1].contains("(lost): whoever ran it panicked"), "{prompts:?}");
    assert!(prompts[3].contains("(failed): no"), "{prompts:?}");
}

#[tokio::test(start_paused = true)]
async fn deadlines_hold_and_signs_of_life_count() {
    let scratch = Scratch::in_memory();
    let script =
        Script::of(&[("slow", &[Act::Wait]), ("hung", &[Act::Hang]), ("alive", &[Act::Beat(100)])]);
    let idle =
        |id: &str| with(node(id, &[]), |it| it.deadlines.idle = Some(Duration::from_secs(10)));
    let slow = with(node("slow", &[]), |it| it.deadlines.run = Some(Duration::from_secs(60)));
    let (ending, end) =
        driver(&scratch, vec![slow, idle("hung"), idle("alive")], &script).run().await.unwrap();
    assert_eq!(ending, PlanEnding::Partly);
    assert_eq!(states(&end), "alive completed, hung failed, slow failed");
    let why = |id: &str| {
        end.outcome(end.graph().find(&NodeId::new(id)).unwrap()).unwrap().message.clone()
    };
    assert_eq!(why("slow"), "it took too long");
    assert_eq!(why("hung"), "it gave no sign of life for too long");
}

#[tokio::test(start_paused = true)]
async fn a_run_is_paused_added_to_answered_and_cancelled() {
    let scratch = Scratch::in_memory();
    let script = Script::of(&[("ask", &[Act::Fail("hm")]), ("long", &[Act::Wait])]);
    let ask = with(node("ask", &[]), |it| it.on_failure = OnFailure::Ask);
    let asked = Arc::new(AtomicUsize::new(0));
    let watcher = {
        let asked = Arc::clone(&asked);
        Arc::new(move |_: &Event, it: &Scheduler| {
            let asking = it.state(agents_plan::event::Index(0)) == State::Asking;
            asked.store(usize::from(asking), Ordering::Relaxed);
        })
    };
    let driver = driver(&scratch, vec![ask, node("long", &[])], &script).watched(watcher);
    let handle = driver.handle();
    let running = tokio::spawn(driver.run());
    let started = || script.started.load(Ordering::Relaxed);
    until(|| started() == 2 && asked.load(Ordering::Relaxed) == 1).await;
    handle.pause().await.unwrap();
    let injection = Injection { nodes: vec![node("new", &["ask"])], needed_by: Vec::new() };
    handle.inject(injection.clone()).await.unwrap();
    let told = handle.inject(injection).await.unwrap_err().to_string();
    assert_eq!(told, "the tasks cannot be added: there are two nodes named `new`");
    handle.answer(agents_plan::event::Index(0), Answer::Retry).await.unwrap();
    assert_eq!(started(), 2, "it is paused");
    handle.resume().await.unwrap();
    until(|| started() == 4).await;
    handle.cancel(None).await.unwrap();
    let (ending, end) = running.await.unwrap().unwrap();
    assert_eq!(ending, PlanEnding::Cancelled);
    assert_eq!(states(&end), "ask completed, long cancelled, new completed");
    assert_eq!(handle.pause().await, Err(NotDone::Gone));
}

#[tokio::test(start_paused = true)]
async fn a_suspended_run_goes_on_where_it_was() {
    let scratch = Scratch::in_memory();
    let script = Script::of(&[("b", &[Act::Wait])]);
    let driver = driver(&scratch, vec![node("a", &[]), node("b", &["a"])], &script);
    let handle = driver.handle();
    let running = tokio::spawn(driver.run());
    until(|| script.started.load(Ordering::Relaxed) == 2).await;
    handle.suspend().await.unwrap();
    assert!(matches!(running.await.unwrap(), Err(DriveError::Suspended)));
    let journals = Journals::new(scratch.path("plans"));
    let id = only_run(&journals).unwrap();
    let again = Driver::new(journals.open(&id, Options::default()).unwrap(), Arc::clone(&script));
    let (ending, _) = again.run().await.unwrap();
    assert_eq!(ending, PlanEnding::Completed);
    assert_eq!(*script.prompts.lock().unwrap(), ["do a", "do b", "do b"]);
    let view = journals.view(&id).unwrap();
    let words: Vec<&str> = view.events().unwrap().iter().map(|(_, it)| it.what.word()).collect();
    assert_eq!(words, ["started", "ended", "started", "interrupted", "started", "ended"]);
    // As it was after the third event.
    assert_eq!(view.at(3).unwrap().state(agents_plan::event::Index(1)), State::Running);
}

/// Runs a graph once with the memory of the runs before it, and tells how many bodies have run and how the first node is known.
async fn with_memory(
    scratch: &Scratch,
    trees: &[u8],
    nodes: Vec<Node>,
    acts: &[(&str, &[Act])],
) -> (usize, Source) {
    let script = Script::of(acts);
    let ground = |tree: &u8| Ground { definition: [1; 16], tree: [*tree; 16] };
    script.grounds.lock().unwrap().extend(trees.iter().map(ground));
    let journals = Journals::new(scratch.path("plans"));
    let run = journals.create(&graph(nodes), Millis(1), &Origin::default(), Options::default());
    let driver = Driver::new(run.unwrap(), Arc::clone(&script))
        .recalling(journals.memo().unwrap(), Recall::Known);
    let (ending, end) = driver.run().await.unwrap();
    assert_eq!(ending, PlanEnding::Completed);
    let first = end.outcome(agents_plan::event::Index(0)).unwrap();
    assert_eq!(first.output, json!("a"));
    (script.started.load(Ordering::Relaxed), first.source)
}

#[tokio::test(start_paused = true)]
async fn results_are_used_again_if_nothing_they_depend_on_has_changed() {
    let scratch = Scratch::in_memory();
    let run = async |tree: u8, prompt: &str| {
        let nodes = vec![Node::agent("a", "any", Template::plain(prompt)), node("b", &["a"])];
        with_memory(&scratch, &[tree], nodes, &[]).await
    };
    assert_eq!(run(1, "x").await, (2, Source::Work));
    assert_eq!(run(1, "x").await, (0, Source::Memory));
    assert_eq!(run(2, "x").await, (2, Source::Work));
    assert_eq!(run(1, "y").await, (1, Source::Work));
}

#[tokio::test(start_paused = true)]
async fn a_result_stands_for_the_files_as_its_task_left_them() {
    let scratch = Scratch::in_memory();
    let writer = || vec![with(node("a", &[]), |it| it.uses.writes = vec!["src".into()])];
    // It finds one tree and leaves another.
    assert_eq!(with_memory(&scratch, &[1, 2], writer(), &[]).await.0, 1);
    assert_eq!(with_memory(&scratch, &[2], writer(), &[]).await, (0, Source::Memory));
    // Somebody took its changes back.
    assert_eq!(with_memory(&scratch, &[1, 2], writer(), &[]).await.0, 1);
    // One that does not say what it changes may not be the one who changed it.
    let reader = || vec![node("a", &[])];
    assert_eq!(with_memory(&scratch, &[3, 4], reader(), &[]).await.0, 1);
    assert_eq!(with_memory(&scratch, &[4], reader(), &[]).await.0, 1);
}

#[tokio::test(start_paused = true)]
async fn a_result_of_a_later_attempt_is_known_to_the_first_one_of_another_run() {
    let scratch = Scratch::in_memory();
    let twice = || vec![with(node("a", &[]), |it| it.retry.attempts = 2)];
    let acts: &[(&str, &[Act])] = &[("a", &[Act::Fail("no")])];
    assert_eq!(with_memory(&scratch, &[1], twice(), acts).await, (2, Source::Work));
    assert_eq!(with_memory(&scratch, &[1], twice(), acts).await, (0, Source::Memory));
}

#[tokio::test(start_paused = true)]
async fn a_fork_keeps_what_is_paid_up_to_where_it_starts_again() {
    let scratch = Scratch::in_memory();
    let journals = Journals::new(scratch.path("plans"));
    let nodes = || vec![node("a", &[]), node("b", &["a"]), node("c", &["b"]), node("other", &[])];
    let script = Script::of(&[]);
    driver(&scratch, nodes(), &script).run().await.unwrap();
    let id = only_run(&journals).unwrap();
    let forked = async |nodes: Vec<Node>, again: &[NodeId]| {
        let script = Script::of(&[]);
        let run = journals
            .fork(&id, &graph(nodes), again, Millis(5), Origin::default(), Options::default())
            .unwrap();
        let (ending, _) = Driver::new(run, Arc::clone(&script)).run().await.unwrap();
        assert_eq!(ending, PlanEnding::Completed);
        std::mem::take(&mut *script.prompts.lock().unwrap())
    };
    assert_eq!(forked(nodes(), &[NodeId::new("b")]).await, ["do b", "do c"]);
    let mut changed = nodes();
    changed[1] = Node::agent("b", "any", Template::plain("do b otherwise")).needs(["a"]);
    assert_eq!(forked(changed, &[]).await, ["do b otherwise", "do c"]);
    // How often something is tried does not change what it is.
    let mut changed = nodes();
    changed[1].retry.attempts = 9;
    assert_eq!(forked(changed, &[]).await, [""; 0]);
    assert_eq!(forked(nodes(), &[]).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_stops_the_run_and_loses_nothing() {
    let scratch = Scratch::in_memory();
    let journals = Journals::new(scratch.path("plans"));
    let options = Options { max_pages: Some(30), ..Options::default() };
    let big = [Act::Say(json!("x".repeat(9000)))];
    let names: Vec<String> = (0..20).map(|at| format!("t{at}")).collect();
    let acts: Vec<(&str, &[Act])> = names.iter().map(|it| (it.as_str(), &big[..])).collect();
    let bodies = Script::of(&acts);
    let nodes = names.iter().map(|it| node(it, &[]));
    let run =
        journals.create(&graph(nodes.collect()), Millis(1), &Origin::default(), options).unwrap();
    let heard: Arc<Mutex<Vec<Event>>> = Arc::default();
    let watcher = {
        let heard = Arc::clone(&heard);
        Arc::new(move |event: &Event, _: &_| heard.lock().unwrap().push(event.clone()))
    };
    let error = Driver::new(run, Arc::clone(&bodies)).watched(watcher).run().await.unwrap_err();
    let DriveError::Journal(error) = error else { panic!("{error}") };
    assert!(error.is_full(), "{error:?}");
    let id = only_run(&journals).unwrap();
    let kept: Vec<Event> =
        journals.view(&id).unwrap().events().unwrap().into_iter().map(|it| it.1).collect();
    assert_eq!(kept, *heard.lock().unwrap());
    assert!(!kept.is_empty() && kept.iter().any(|it| matches!(it.what, What::Ended { .. })));
    let run = journals.open(&id, Options::default()).unwrap();
    let (ending, _) = Driver::new(run, bodies).run().await.unwrap();
    assert_eq!(ending, PlanEnding::Completed);
}
