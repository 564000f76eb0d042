//! Several who get the same assignment.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use agents_task::dispatch::{Ambient, Definition, DispatchError, Dispatcher, Request, Team};
use serde_json::json;
use tokio::sync::Notify;

use super::{Seen, allowed, dispatcher, fine, metadata, remembering, waiting};
use crate::block_on;

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
