//! What other processes say to the one that drives a run.
//!
//! An order is a file in `orders` beside the journal. Whoever drives the run looks for it several times a second, takes it by giving
//! it another name, does what it says, and puts the answer beside it. That works wherever the journal does, and needs no port and no socket.

use std::time::{Duration, Instant};

use agents_plan::{
    engine::Handle,
    event::Index,
    graph::Injection,
    journal::{Journals, RunId},
};
use agents_system::{atomic, explain::ErrorKind};
use agents_task::TaskId;
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// How long somebody waits for an answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long they wait for one if what they said has ended the run.
const PARTING: Duration = Duration::from_secs(2);
/// How often they look.
const GLANCE: Duration = Duration::from_millis(50);

/// How the name of an order ends that somebody does.
const TAKEN: &str = "taken";

/// What whoever says something hears that is no order here.
const NOT_UNDERSTOOD: &str =
    "the process that runs the plan does not understand this: it is of another version";

/// What is said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "order")]
pub(super) enum Order {
    /// Nothing more starts.
    Pause,
    /// It does again.
    Resume,
    /// A task is stopped, or all of them.
    Cancel {
        /// Which.
        node: Option<Index>,
    },
    /// Tasks are added, all or none.
    Add {
        /// Which.
        injection: Injection,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct Answer {
    /// Why it was not done.
    refused: Option<String>,
}

/// What came of an order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Done,
    /// Nobody drives the run any more.
    Nobody,
}

fn dir(journals: &Journals, run: &RunId) -> Utf8PathBuf {
    journals.home(run).join("orders")
}

/// Says something to whoever drives a run, and waits until it is done.
pub(super) fn send(journals: &Journals, run: &RunId, order: &Order) -> Result<Sent, Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(ErrorKind::Failure, format!("cannot say it to the run: {error}"))
    };
    let dir = dir(journals, run);
    fs_err::create_dir_all(&dir).map_err(failed)?;
    let name = TaskId::new();
    let (order_file, answer_file) =
        (dir.join(format!("{name}.order")), dir.join(format!("{name}.answer")));
    let text = serde_json::to_vec(order).map_err(|error| failed(error.into()))?;
    atomic::write(&order_file, &text).map_err(failed)?;
    let (began, mut gone) = (Instant::now(), None);
    loop {
        if let Ok(text) = fs_err::read(&answer_file) {
            // Nothing depends on it any more.
            _ = fs_err::remove_file(&answer_file);
            let answer: Answer = serde_json::from_slice(&text).map_err(|it| failed(it.into()))?;
            return match answer.refused {
                None => Ok(Sent::Done),
                Some(why) => Err(Failure::new(ErrorKind::Usage, why)),
            };
        }
        let is_driven = journals.is_driven(run);
        let gives_up =
            !is_driven || began.elapsed() > PATIENCE || agents_system::process::interrupted();
        // An order that nobody took must not surprise the next one who drives the run.
        let is_taken_back = gives_up && fs_err::remove_file(&order_file).is_ok();
        Failure::if_interrupted()?;
        if !is_driven {
            let since = *gone.get_or_insert_with(Instant::now);
            if is_taken_back || since.elapsed() > PARTING {
                return Ok(Sent::Nobody);
            }
        } else if began.elapsed() > PATIENCE {
            let message = format!("the process that runs `{run}` does not answer");
            return Err(Failure::new(ErrorKind::Failure, message)
                .hint("the run goes on; Ctrl-C in its terminal suspends it"));
        }
        std::thread::sleep(GLANCE);
    }
}

/// Takes what others have said, for whoever drives the run.
pub(super) struct Orders {
    dir: Utf8PathBuf,
}

impl Orders {
    /// From now on: what was said to somebody before is not for us.
    pub(super) fn of(journals: &Journals, run: &RunId) -> Self {
        let dir = dir(journals, run);
        for file in files(&dir, "order").into_iter().chain(files(&dir, TAKEN)) {
            _ = fs_err::remove_file(file);
        }
        Self { dir }
    }

    /// Does what was said.
    pub(super) async fn obey(&self, handle: &Handle) {
        let obeyed = async |order| match order {
            Order::Pause => handle.pause().await,
            Order::Resume => handle.resume().await,
            Order::Cancel { node } => handle.cancel(node).await,
            Order::Add { injection } => handle.inject(injection).await,
        };
        self.answer(async |order| obeyed(order).await.err().map(|it| it.to_string())).await;
    }

    /// Answers everybody. What cannot be understood was not done, and whoever said it must not believe that it was.
    async fn answer(&self, refused: impl AsyncFn(Order) -> Option<String>) {
        for (file, order) in waiting(&self.dir) {
            let taken = file.with_extension(TAKEN);
            if fs_err::rename(&file, &taken).is_err() {
                // Whoever said it has given up.
                continue;
            }
            let refused = match order {
                Some(order) => refused(order).await,
                None => Some(NOT_UNDERSTOOD.to_owned()),
            };
            let text = serde_json::to_vec(&Answer { refused }).unwrap_or_default();
            // Whoever waits for it gives up some time.
            _ = atomic::write(&file.with_extension("answer"), &text);
            _ = fs_err::remove_file(&taken);
        }
    }
}

/// The orders in a directory, the first one first. What cannot be read is none.
fn waiting(dir: &Utf8Path) -> Vec<(Utf8PathBuf, Option<Order>)> {
    let read = |file: Utf8PathBuf| {
        let order = fs_err::read(&file).ok().and_then(|it| serde_json::from_slice(&it).ok());
        (file, order)
    };
    files(dir, "order").into_iter().map(read).collect()
}

/// The files in a directory whose names end so, in their order.
fn files(dir: &Utf8Path, extension: &str) -> Vec<Utf8PathBuf> {
    let Ok(entries) = fs_err::read_dir(dir.as_std_path()) else { return Vec::new() };
    let files = entries.flatten().filter_map(|it| Utf8PathBuf::from_path_buf(it.path()).ok());
    let mut files: Vec<Utf8PathBuf> =
        files.filter(|it| it.extension() == Some(extension)).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use agents_plan::{
        graph::{Need, Node, NodeId},
        reference::Template,
    };
    use proptest::prelude::*;

    use super::*;

    fn order() -> impl Strategy<Value = Order> {
        let prompt = prop_oneof![".{0,20}", Just("${{ tasks.a.output }} é".to_owned())];
        let node = ("[a-z]{1,8}", ".{0,8}", prompt, any::<i32>());
        let node = node.prop_filter_map("a template", |(id, agent, prompt, priority)| {
            let prompt = Template::parse(&prompt).ok()?;
            Some(Node { priority, ..Node::agent(id, agent, prompt) })
        });
        let need = |id: String| Need::completed(NodeId::new(id));
        let needed = ("[a-z]{1,8}", "[a-z]{1,8}")
            .prop_map(move |(id, other)| (NodeId::new(id), need(other)));
        let injection = (prop::collection::vec(node, 0..4), prop::collection::vec(needed, 0..3))
            .prop_map(|(nodes, needed_by)| Injection { nodes, needed_by });
        prop_oneof![
            Just(Order::Pause),
            Just(Order::Resume),
            prop::option::of(any::<u32>()).prop_map(|it| Order::Cancel { node: it.map(Index) }),
            injection.prop_map(|injection| Order::Add { injection }),
        ]
    }

    proptest! {
        /// Whatever else lies there: each order is done as it was said, in its order, and everybody hears what became of theirs.
        #[test]
        fn orders_are_done_and_nothing_else_is_said_to_be(
            said in prop::collection::vec(prop_oneof![
                order().prop_map(Ok),
                prop::collection::vec(any::<u8>(), 0..16).prop_map(Err),
                Just(Err(br#"{"order":"explode"}"#.to_vec())),
            ], 0..5),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let dir = Utf8Path::from_path(dir.path()).unwrap().to_owned();
            for (at, said) in said.iter().enumerate() {
                let text = said.as_ref().map_or_else(Clone::clone, |it| serde_json::to_vec(it).unwrap());
                fs_err::write(dir.join(format!("{at}.order")), text).unwrap();
            }
            let (done, orders) = (RefCell::new(Vec::new()), Orders { dir: dir.clone() });
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(orders.answer(async |order| {
                done.borrow_mut().push(order);
                None
            }));
            let orders: Vec<Order> = said.iter().filter_map(|it| it.clone().ok()).collect();
            prop_assert_eq!(done.into_inner(), orders);
            prop_assert!(files(&dir, "order").is_empty() && files(&dir, TAKEN).is_empty());
            for (at, said) in said.iter().enumerate() {
                let answer = fs_err::read(dir.join(format!("{at}.answer"))).unwrap();
                let answer: Answer = serde_json::from_slice(&answer).unwrap();
                prop_assert_eq!(answer.refused.as_deref(), said.is_err().then_some(NOT_UNDERSTOOD));
            }
        }
    }
}
