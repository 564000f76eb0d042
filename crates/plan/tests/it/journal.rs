//! Journals by themselves.

use std::{sync::Arc, time::Duration};

use agents_plan::{
    event::{
        Allowance, Answer, Attempt, Deadline, Ending, Event, Index, Millis, Outcome, Spent, What,
    },
    graph::{Graph, Injection, Node},
    journal::{JournalError, Journals, Options, Origin, Retention, RunId},
    reference::Template,
};
use agents_system::explain::Explain as _;
use agents_testkit::scratch::Scratch;
use serde_json::json;

fn graph() -> Graph {
    let node = |id: &str| Node::agent(id, "any", Template::plain("go"));
    Graph::new("test", vec![node("a"), node("b").needs(["a"])]).unwrap()
}

fn first(at: Millis) -> Vec<Event> {
    let attempt = Attempt { node: Index(0), number: 1 };
    let outcome = Arc::new(Outcome::completed(json!({"é": [1, 2.5, null]})));
    let started = What::Started { attempt, allowance: None };
    vec![started.at(at), What::Ended { attempt, outcome }.at(at)]
}

/// All the way to its end.
fn whole(at: Millis) -> Vec<Event> {
    let attempt = Attempt { node: Index(1), number: 1 };
    let outcome = Arc::new(Outcome::completed(json!(1)));
    let started = What::Started { attempt, allowance: None };
    [first(at), vec![started.at(at), What::Ended { attempt, outcome }.at(at)]].concat()
}

async fn run(journals: &Journals, events: Vec<Event>) -> RunId {
    let (journal, _) =
        journals.create(&graph(), Millis(1), &Origin::default(), Options::default()).unwrap();
    journal.append(events).await.unwrap();
    journal.id().clone()
}

/// Prompts and results are in them.
#[cfg(unix)]
#[tokio::test]
async fn nobody_else_can_read_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch::in_memory();
    let dir = scratch.path("plans");
    std::fs::create_dir(&dir).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    run(&Journals::new(dir.clone()), first(Millis(1))).await;
    assert_eq!(dir.metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn every_kind_of_event_survives_being_written() {
    let scratch = Scratch::in_memory();
    let journals = Journals::new(scratch.path("plans"));
    let attempt = Attempt { node: Index(1), number: 7 };
    let spent = Spent { turns: 1, tokens: 2, cost: agents_model::cost::MicroDollars(3) };
    let outcome =
        Arc::new(Outcome { spent, text: "x".to_owned(), ..Outcome::ended(Ending::Failed, "why") });
    let injection = Arc::new(Injection { nodes: graph().nodes().to_vec(), needed_by: Vec::new() });
    let events: Vec<Event> = [
        What::Started {
            attempt,
            allowance: Some(Box::new(Allowance { tokens: Some(5), ..Allowance::default() })),
        },
        What::Ended { attempt, outcome: Arc::clone(&outcome) },
        What::Recalled { node: Index(1), outcome },
        What::TimedOut { attempt, deadline: Deadline::Idle },
        What::Abandoned { attempt },
        What::Rested { node: Index(0) },
        What::Interrupted { attempt },
        What::Paused,
        What::Resumed,
        What::Cancelled { node: None },
        What::Cancelled { node: Some(Index(0)) },
        What::Answered { node: Index(1), answer: Answer::SkipDependents },
        What::Injected { injection },
        What::Reopened,
        What::RanOut,
    ]
    .into_iter()
    .map(|it| it.at(Millis(u64::try_from(i64::MAX).unwrap())))
    .collect();
    let id = run(&journals, events.clone()).await;
    let read: Vec<Event> =
        journals.view(&id).unwrap().events().unwrap().into_iter().map(|it| it.1).collect();
    assert_eq!(read, events);
    // They make no sense together, and that is found.
    let problems = journals.check(&id).unwrap().problems;
    assert!(problems[0].contains("event 1 of"), "{problems:?}");
    assert!(
        problems[0].ends_with("does not fit: `b` is waiting, so it cannot be started"),
        "{problems:?}"
    );
}

#[tokio::test]
async fn many_callers_share_a_flush_and_keep_their_order() {
    let scratch = Scratch::in_memory();
    let journals = Journals::new(scratch.path("plans"));
    let (journal, _) =
        journals.create(&graph(), Millis(1), &Origin::default(), Options::default()).unwrap();
    let journal = Arc::new(journal);
    let tasks: Vec<_> = (0..50_u64)
        .map(|caller| {
            let journal = Arc::clone(&journal);
            tokio::spawn(async move {
                for at in 0..20 {
                    journal
                        .append(vec![What::Paused.at(Millis(caller * 1000 + at))])
                        .await
                        .unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let events = journals.view(journal.id()).unwrap().events().unwrap();
    assert_eq!(events.len(), 1000);
    for caller in 0..50 {
        let own: Vec<u64> =
            events.iter().map(|it| it.1.at.0).filter(|it| it / 1000 == caller).collect();
        assert!(own.is_sorted() && own.len() == 20);
    }
}

#[tokio::test]
async fn a_run_belongs_to_one_process_and_everybody_may_look() {
    let scratch = Scratch::in_memory();
    let journals = Journals::new(scratch.path("plans"));
    let (journal, _) =
        journals.create(&graph(), Millis(1), &Origin::default(), Options::default()).unwrap();
    journal.append(first(Millis(2))).await.unwrap();
    let id = journal.id().clone();
    let error = journals.open(&id, Options::default()).unwrap_err();
    assert_eq!(error.to_string(), format!("another process runs `{id}`"));
    assert_eq!(journals.view(&id).unwrap().last().unwrap(), 2);
    drop(journal);
    journals.open(&id, Options::default()).unwrap();
    let unknown = journals.open(&RunId::parse("x").unwrap(), Options::default()).unwrap_err();
    assert_eq!(unknown.hint().unwrap(), "`cargo agents plan list` shows the runs");
}

#[tokio::test]
async fn a_newer_format_is_refused_and_left_alone() {
    let scratch = Scratch::in_memory();
    let journals = Journals::new(scratch.path("plans"));
    let id = run(&journals, first(Millis(2))).await;
    let file = scratch.path(format!("plans/{id}/journal.db"));
    rusqlite::Connection::open(&file).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = journals.open(&id, Options::default()).unwrap_err();
    assert!(matches!(error, JournalError::Format { .. }), "{error:?}");
    assert!(journals.list().unwrap()[0].is_err());
    assert!(
        journals
            .gc(&Retention { newest: 0, young: Duration::ZERO }, Millis(u64::MAX))
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn damage_is_found() {
    let scratch = Scratch::in_memory();
    let journals = Journals::new(scratch.path("plans"));
    let id = run(&journals, whole(Millis(2))).await;
    assert!(journals.check(&id).unwrap().problems.is_empty());
    let file = scratch.path(format!("plans/{id}/journal.db"));
    let change = |sql: &str| rusqlite::Connection::open(&file).unwrap().execute_batch(sql).unwrap();
    change("DELETE FROM event WHERE seq = 2");
    assert!(journals.check(&id).unwrap().problems[0].contains("event 2 of"));
    assert!(matches!(
        journals.open(&id, Options::default()),
        Err(JournalError::Event { seq: 2, .. })
    ));
    // What was before it can still be seen.
    assert_eq!(journals.view(&id).unwrap().at(1).unwrap().busy().count(), 1);
    change(
        "INSERT INTO event (seq, at, what, node, attempt, body) VALUES (2, 2, 'ended', 0, 1, '{')",
    );
    assert!(journals.check(&id).unwrap().problems[0].contains("cannot be read: EOF"));
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[0..16].fill(0);
    std::fs::write(&file, bytes).unwrap();
    assert!(matches!(journals.open(&id, Options::default()), Err(JournalError::Database { .. })));
}

#[tokio::test]
async fn old_runs_go_and_those_that_could_go_on_stay() {
    let scratch = Scratch::in_memory();
    let journals = Journals::new(scratch.path("plans"));
    let old = run(&journals, whole(Millis(1000))).await;
    let young = run(&journals, whole(Millis(9000))).await;
    let open = run(&journals, first(Millis(1000))).await;
    std::fs::create_dir_all(scratch.path("plans/never-began")).unwrap();
    let keep = Retention { newest: 0, young: Duration::from_secs(5) };
    let mut gone = journals.gc(&keep, Millis(10_000)).unwrap();
    gone.sort();
    let mut expected = vec![RunId::parse("never-began").unwrap(), old];
    expected.sort();
    assert_eq!(gone, expected);
    let mut left: Vec<RunId> =
        journals.list().unwrap().into_iter().map(|it| it.unwrap().id).collect();
    left.sort();
    let mut stay = vec![young, open];
    stay.sort();
    assert_eq!(left, stay);
    assert!(
        journals
            .gc(&Retention { newest: 1, young: Duration::ZERO }, Millis(10_000))
            .unwrap()
            .is_empty()
    );
}
