//! A stream of events that is never too long.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Notify;

use super::{Event, Sink, What};

/// What a stream tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// It happened.
    Event(Event),
    /// So many things that happened in between are not told: nobody took them in time. The beginning and the end of a task are never
    /// among them.
    LeftOut(u64),
}

/// A sink, and a stream of what it is told, of which at most so many things wait to be taken, besides the beginnings and ends of
/// tasks. Nothing that happens waits for whoever takes them.
///
/// ```
/// use agents_task::{TaskId, TaskPath, event::{Emitter, Told, What, stream}};
///
/// let (sink, mut events) = stream(64);
/// // This is what a runner does with the sink in `Common`, and the manager with that of `set_sink`:
/// let mut task = Emitter::new(TaskId::new(), TaskPath::root(), sink);
/// task.start("explore", "script/any", None);
/// drop(task);
///
/// let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// runtime.block_on(async {
///     let mut words = Vec::new();
///     while let Some(told) = events.next().await {
///         match told {
///             Told::Event(event) if matches!(event.what, What::Started { .. }) => words.push("started"),
///             Told::Event(event) if matches!(event.what, What::Ended { .. }) => words.push("ended"),
///             Told::Event(_) | Told::LeftOut(_) => {}
///         }
///     }
///     assert_eq!(words, ["started", "ended"]);
/// });
/// ```
#[must_use]
pub fn stream(most: usize) -> (Arc<dyn Sink>, Events) {
    let queue = Arc::new(Queue { waiting: Mutex::default(), more: Notify::new(), most });
    (Arc::new(End(Arc::clone(&queue))), Events(queue))
}

/// A stream of events.
pub struct Events(Arc<Queue>);

struct Queue {
    waiting: Mutex<Waiting>,
    more: Notify,
    most: usize,
}

#[derive(Default)]
struct Waiting {
    told: VecDeque<Told>,
    over: bool,
}

/// The end at which events are put in.
struct End(Arc<Queue>);

impl Sink for End {
    fn event(&self, event: &Event) {
        {
            let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let needed = matches!(event.what, What::Started { .. } | What::Ended { .. });
            let full = waiting.told.len() >= self.0.most;
            match waiting.told.back_mut() {
                _ if needed || !full => waiting.told.push_back(Told::Event(event.clone())),
                Some(Told::LeftOut(count)) => *count += 1,
                _ => waiting.told.push_back(Told::LeftOut(1)),
            }
        }
        self.0.more.notify_one();
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner).over = true;
        self.0.more.notify_one();
    }
}

impl Events {
    /// The next one; `None` once nobody is left who could tell anything.
    pub async fn next(&mut self) -> Option<Told> {
        loop {
            if let Some(taken) = self.try_next() {
                return taken;
            }
            // What came since was noted: this does not wait then.
            self.0.more.notified().await;
        }
    }

    /// The next one if there is one now, `Some(None)` if there will be none, and `None` if that is not known yet.
    pub fn try_next(&mut self) -> Option<Option<Told>> {
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match waiting.told.pop_front() {
            Some(told) => Some(Some(told)),
            None => waiting.over.then_some(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::Emitter,
        id::{TaskId, TaskPath},
    };

    #[test]
    fn nothing_waits_and_the_beginning_and_the_end_are_always_told() {
        let (sink, mut events) = stream(4);
        let mut task = Emitter::new(TaskId::new(), TaskPath::root(), Arc::clone(&sink));
        task.start("a", "m", None);
        for number in 1..=100 {
            task.emit(What::Turn { number });
        }
        drop(task);
        let mut told = Vec::new();
        while let Some(Some(it)) = events.try_next() {
            told.push(match it {
                Told::LeftOut(count) => format!("{count} left out"),
                Told::Event(event) => {
                    let json = serde_json::to_value(&event).unwrap();
                    json["event"].as_str().unwrap().to_owned()
                }
            });
        }
        assert_eq!(told, ["started", "turn", "turn", "turn", "97 left out", "ended"]);
        assert_eq!(events.try_next(), None, "somebody could still tell something");
        drop(sink);
        assert_eq!(events.try_next(), Some(None));
    }

    #[test]
    fn whoever_waits_is_woken() {
        let (sink, mut events) = stream(4);
        let telling = std::thread::spawn(move || {
            for _ in 0..50 {
                let mut task = Emitter::new(TaskId::new(), TaskPath::root(), Arc::clone(&sink));
                task.start("a", "m", None);
                std::thread::yield_now();
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let count = runtime.block_on(async {
            let mut count = 0;
            while events.next().await.is_some() {
                count += 1;
            }
            count
        });
        telling.join().unwrap();
        assert_eq!(count, 100);
    }
}
