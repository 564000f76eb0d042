//! What waits for its turn.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use agents_task::dispatch::{
    Ambient, Definition, DispatchError, Dispatcher, Queue, Request, State,
};
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{allowed, dispatcher, metadata, waiting};
use crate::block_on;

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
