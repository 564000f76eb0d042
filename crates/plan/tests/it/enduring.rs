//! A driver whose tasks outlive it.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex},
};

use agents_plan::{
    engine::{DriveError, Driver, Executor, Life, Parting, Start, Unreachable},
    event::{Ending, Millis, Outcome, PlanEnding, What},
    graph::{Graph, Node, NodeId},
    journal::{Journals, Options, Origin, RunId},
    reference::Template,
};
use agents_testkit::scratch::Scratch;
use serde_json::json;
use tokio::sync::Notify;

/// What happens elsewhere, whoever drives.
#[derive(Default)]
struct Elsewhere {
    /// The attempts that are there, with their results once they have one.
    there: Mutex<BTreeMap<(String, u32), Option<Outcome>>>,
    begun: Mutex<Vec<String>>,
    changed: Notify,
}

impl Elsewhere {
    fn end(&self, node: &str, attempt: u32) {
        let outcome = Outcome::completed(json!(format!("{node} ended")));
        self.there.lock().unwrap().insert((node.to_owned(), attempt), Some(outcome));
        self.changed.notify_waiters();
    }

    fn lose(&self, node: &str) {
        self.there.lock().unwrap().retain(|key, _| key.0 != node);
    }

    fn begun(&self) -> String {
        self.begun.lock().unwrap().join(" ")
    }
}

struct Far {
    elsewhere: Arc<Elsewhere>,
    reach: Result<(), Unreachable>,
}

impl Executor for Far {
    async fn run(&self, start: Start, life: Life) -> Outcome {
        let key = (start.node.to_string(), start.attempt);
        self.elsewhere.there.lock().unwrap().entry(key.clone()).or_insert_with(|| {
            self.elsewhere.begun.lock().unwrap().push(format!("{}/{}", key.0, key.1));
            None
        });
        loop {
            let mut changed = std::pin::pin!(self.elsewhere.changed.notified());
            changed.as_mut().enable();
            if let Some(Some(outcome)) = self.elsewhere.there.lock().unwrap().get(&key) {
                return outcome.clone();
            }
            tokio::select! {
                () = &mut changed => {}
                () = life.stopped() => return Outcome::ended(Ending::Cancelled, "told to"),
            }
        }
    }

    async fn living(
        &self,
        attempts: &[(NodeId, u32)],
    ) -> Result<HashSet<(NodeId, u32)>, Unreachable> {
        self.reach.clone()?;
        let there = self.elsewhere.there.lock().unwrap();
        let is_there = |it: &&(NodeId, u32)| there.contains_key(&(it.0.to_string(), it.1));
        Ok(attempts.iter().filter(is_there).cloned().collect())
    }

    fn parting(&self) -> Parting {
        Parting::Leave
    }
}

struct Story {
    _scratch: Scratch,
    journals: Journals,
    run: RunId,
    elsewhere: Arc<Elsewhere>,
}

impl Story {
    /// Two tasks are begun elsewhere, and whoever drives goes away.
    async fn left() -> Self {
        let scratch = Scratch::in_memory();
        let journals = Journals::new(scratch.path("plans"));
        let node = |id: &str| Node::agent(id, "any", Template::plain(format!("do {id}")));
        let graph = Graph::new("test", vec![node("a"), node("b")]).unwrap();
        let opened =
            journals.create(&graph, Millis(1), &Origin::default(), Options::default()).unwrap();
        let (run, elsewhere) = (opened.0.id().clone(), Arc::<Elsewhere>::default());
        let far = Far { elsewhere: Arc::clone(&elsewhere), reach: Ok(()) };
        let driver = Driver::new(opened, Arc::new(far));
        let handle = driver.handle();
        let driving = tokio::spawn(driver.run());
        while elsewhere.begun.lock().unwrap().len() < 2 {
            tokio::task::yield_now().await;
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        handle.suspend().await.unwrap();
        assert!(matches!(driving.await.unwrap(), Err(DriveError::Suspended)));
        Self { _scratch: scratch, journals, run, elsewhere }
    }

    fn driver(&self, reach: Result<(), Unreachable>) -> Driver<Far> {
        let opened = self.journals.open(&self.run, Options::default()).unwrap();
        Driver::new(opened, Arc::new(Far { elsewhere: Arc::clone(&self.elsewhere), reach }))
    }

    fn words(&self) -> Vec<&'static str> {
        let events = self.journals.view(&self.run).unwrap().events().unwrap();
        events.iter().map(|(_, event)| event.what.word()).collect()
    }
}

#[tokio::test]
async fn what_goes_on_elsewhere_is_not_begun_again() {
    let story = Story::left().await;
    // One ends while nobody drives, the other one later.
    story.elsewhere.end("a", 1);
    let driving = tokio::spawn(story.driver(Ok(())).run());
    story.elsewhere.end("b", 1);
    let (ending, _) = driving.await.unwrap().unwrap();
    assert_eq!((ending, story.elsewhere.begun().as_str()), (PlanEnding::Completed, "a/1 b/1"));
    assert_eq!(story.words(), ["started", "started", "ended", "ended"]);
}

#[tokio::test]
async fn what_is_gone_elsewhere_is_begun_again() {
    let story = Story::left().await;
    story.elsewhere.end("a", 1);
    story.elsewhere.lose("b");
    let driving = tokio::spawn(story.driver(Ok(())).run());
    while story.elsewhere.begun.lock().unwrap().len() < 3 {
        tokio::task::yield_now().await;
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    story.elsewhere.end("b", 2);
    driving.await.unwrap().unwrap();
    assert_eq!(story.elsewhere.begun(), "a/1 b/1 b/2");
    assert!(story.words().contains(&"interrupted"));
}

#[tokio::test]
async fn nobody_pays_twice_because_nobody_answers() {
    let story = Story::left().await;
    let unreachable = Err(Unreachable("the server is away".to_owned()));
    let driven = story.driver(unreachable).run().await;
    assert!(matches!(driven, Err(DriveError::Unreachable(_))));
    assert_eq!((story.elsewhere.begun().as_str(), story.words().len()), ("a/1 b/1", 2));
}

#[tokio::test]
async fn what_was_to_stop_is_still_to_stop() {
    let story = Story::left().await;
    // Somebody cancelled the run, and the driver died before anybody was told.
    let (journal, mut scheduler) = story.journals.open(&story.run, Options::default()).unwrap();
    let cancelled = What::Cancelled { node: None }.at(scheduler.now());
    scheduler.accept(cancelled.clone()).unwrap();
    journal.append(vec![cancelled]).await.unwrap();
    drop(journal);
    let (ending, _) = story.driver(Ok(())).run().await.unwrap();
    assert_eq!((ending, story.elsewhere.begun().as_str()), (PlanEnding::Cancelled, "a/1 b/1"));
    assert_eq!(story.words(), ["started", "started", "cancelled", "ended", "ended"]);
}
