//! What the page costs whoever has something to show, and what it is told when.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use agents_serve::{
    dashboard::{self, Act, Sight, Topic},
    http::{Token, listen},
};
use agents_task::{runner::Unavailable, transcript::Store};
use agents_testkit::{
    knock::{Answer, Events, knock},
    scratch::Scratch,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Something to look at that counts how often somebody does.
struct Shown {
    store: Store,
    number: AtomicU64,
    looks: AtomicU64,
    breaks: AtomicBool,
    acts: Mutex<Vec<Act>>,
}

impl Sight for Shown {
    fn look(&self, topic: &Topic) -> Result<Value, Unavailable> {
        if self.breaks.swap(false, Ordering::SeqCst) {
            panic!("on purpose");
        }
        match topic {
            Topic::Tasks => {
                self.looks.fetch_add(1, Ordering::SeqCst);
                Ok(json!({ "number": self.number.load(Ordering::SeqCst) }))
            }
            Topic::Plan(name) => {
                let message = format!("there is no <{name}>");
                Err(Unavailable { message, hint: Some("look elsewhere".to_owned()) })
            }
            _ => Ok(json!({})),
        }
    }

    fn mark(&self, _: &Topic) -> u64 {
        self.number.load(Ordering::SeqCst)
    }

    fn act(&self, act: Act) -> Result<String, Unavailable> {
        self.acts.lock().unwrap().push(act);
        self.number.fetch_add(1, Ordering::SeqCst);
        Ok("done".to_owned())
    }

    fn transcripts(&self) -> &Store {
        &self.store
    }
}

struct Served {
    shown: Arc<Shown>,
    port: u16,
    token: String,
    cancel: CancellationToken,
    serving: Option<thread::JoinHandle<()>>,
    _scratch: Scratch,
}

impl Served {
    fn start() -> Self {
        let scratch = Scratch::new();
        let shown = Arc::new(Shown {
            store: Store::new(&scratch.path("transcripts")),
            number: AtomicU64::new(1),
            looks: AtomicU64::default(),
            breaks: AtomicBool::default(),
            acts: Mutex::default(),
        });
        let (cancel, token) = (CancellationToken::new(), Token::random().unwrap());
        let text = token.reveal().to_owned();
        let (tell, told) = std::sync::mpsc::channel();
        let (sight, over) = (Arc::clone(&shown), cancel.clone());
        let serving = thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = listen(0).await.unwrap();
                tell.send(listener.local_addr().unwrap().port()).unwrap();
                dashboard::serve(sight, listener, token, over).await.unwrap();
            });
        });
        let port = told.recv().unwrap();
        Self { shown, port, token: text, cancel, serving: Some(serving), _scratch: scratch }
    }

    fn at(&self, path: &str) -> String {
        format!("/{}/{path}", self.token)
    }

    fn events(&self) -> Events {
        Events::listen(self.port, &self.at("events"))
    }

    fn act(&self, body: &Value) -> Answer {
        let origin = format!("http://127.0.0.1:{}", self.port);
        let headers = [("origin", origin.as_str()), ("content-type", "application/json")];
        knock(self.port, "POST", &self.at("act"), &headers, body.to_string().as_bytes())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.cancel.cancel();
        let _ = self.serving.take().unwrap().join();
    }
}

#[test]
fn many_pages_cost_one_watcher_and_each_has_all_of_it_first() {
    let served = Served::start();
    let mut pages: Vec<Events> = (0..20).map(|_| served.events()).collect();
    for page in &mut pages {
        assert_eq!(page.until("tasks", |_| true), r#"{"number":1}"#);
    }
    assert_eq!(served.shown.looks.load(Ordering::SeqCst), 1);
    served.shown.number.store(2, Ordering::SeqCst);
    for page in &mut pages {
        assert_eq!(page.until("tasks", |_| true), r#"{"number":2}"#);
    }
    let mut late = served.events();
    assert_eq!(late.until("tasks", |_| true), r#"{"number":2}"#);
    assert_eq!(served.shown.looks.load(Ordering::SeqCst), 2, "one look for each change");
}

#[test]
fn what_is_done_is_done_once_and_seen_at_once() {
    let served = Served::start();
    let mut page = served.events();
    page.until("tasks", |_| true);
    let answer = served.act(&json!({"do": "pause-plan", "run": "one"}));
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"done":"done"}"#));
    assert_eq!(page.until("tasks", |_| true), r#"{"number":2}"#);
    let acts = served.shown.acts.lock().unwrap().clone();
    assert_eq!(acts, [Act::PausePlan { run: "one".to_owned() }]);
    for wrong in [
        json!({"do": "pause-plan"}),
        json!({"do": "pause-plan", "run": "one", "more": 1}),
        json!({"do": "answer", "ask": "1", "reply": "always"}),
        json!({"do": "cancel-task", "task": "../../etc"}),
        json!([]),
    ] {
        assert_eq!(served.act(&wrong).status, 400, "{wrong}");
    }
    assert_eq!(served.shown.acts.lock().unwrap().len(), 1);
}

#[test]
fn a_look_that_breaks_down_is_not_the_end() {
    let served = Served::start();
    served.shown.breaks.store(true, Ordering::SeqCst);
    let broken = knock(served.port, "GET", &served.at("look/tasks"), &[], b"");
    assert_eq!(broken.status, 500, "{broken:?}");
    let fine = knock(served.port, "GET", &served.at("look/tasks"), &[], b"");
    assert_eq!((fine.status, fine.body.as_str()), (200, r#"{"number":1}"#));
    // The page hears that nothing comes any more, and comes again.
    served.shown.breaks.store(true, Ordering::SeqCst);
    let ended = knock(served.port, "GET", &served.at("events"), &[], b"");
    assert_eq!(ended.status, 200, "{ended:?}");
    assert_eq!(served.events().until("tasks", |_| true), r#"{"number":1}"#);
}

#[test]
fn what_is_not_so_is_told_as_a_value() {
    let served = Served::start();
    let path = served.at("look/plan/x%3Cscript%3E");
    let told = knock(served.port, "GET", &path, &[], b"");
    assert!(told.head.contains("application/json"), "{told:?}");
    let told: Value = serde_json::from_str(&told.body).unwrap();
    assert_eq!(
        told,
        json!({"trouble": {"message": "there is no <x<script>>", "hint": "look elsewhere"}})
    );
}
