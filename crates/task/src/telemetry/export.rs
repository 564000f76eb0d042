//! A queue that is never too long, and the thread that empties it.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc as std_mpsc,
    },
    time::Duration,
};

use agents_model::http::post::{Post, PostError};
use tokio::sync::mpsc;

use super::{otlp, settings::Collector, spans::Span};

/// The most spans that wait.
const MOST: usize = 4096;
/// The most that are sent at once.
const BATCH: usize = 512;
/// How long a span waits for others.
const PAUSE: Duration = Duration::from_secs(2);
/// How often something is sent that was not taken and may be later.
const TRIES: u32 = 3;
/// How long is waited before the second time; then twice as long.
const AGAIN: Duration = Duration::from_millis(250);

/// Sends spans.
pub(super) struct Exporter {
    queue: Mutex<Option<mpsc::Sender<Span>>>,
    lost: Arc<Lost>,
    done: Mutex<std_mpsc::Receiver<()>>,
    to: String,
}

/// What did not get there.
#[derive(Default)]
struct Lost {
    spans: AtomicU64,
    why: Mutex<Option<String>>,
}

impl Lost {
    fn add(&self, spans: usize, why: &str) {
        self.spans.fetch_add(u64::try_from(spans).unwrap_or(u64::MAX), Ordering::Relaxed);
        let mut first = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| why.to_owned());
    }
}

impl Exporter {
    pub(super) fn start(collector: Collector) -> Self {
        let (queue, spans) = mpsc::channel(MOST);
        let (tell, done) = std_mpsc::channel();
        let lost = Arc::new(Lost::default());
        let (to, told) = (collector.post.host(), Arc::clone(&lost));
        let thread = std::thread::Builder::new().name("telemetry".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(export(&collector, spans, &told)),
                Err(error) => told.add(0, &error.to_string()),
            }
            let _ = tell.send(());
        });
        if let Err(error) = thread {
            lost.add(0, &error.to_string());
        }
        Self { queue: Mutex::new(Some(queue)), lost, done: Mutex::new(done), to }
    }

    /// Puts a span into the queue, if there is room.
    pub(super) fn send(&self, span: Span) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = queue.as_ref().is_some_and(|it| it.try_send(span).is_ok());
        if !sent {
            self.lost.add(1, "the collector does not take them fast enough");
        }
    }

    pub(super) fn finish(&self, most: Duration) -> Option<String> {
        // Nothing follows: the thread ends when the queue is empty.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = done.recv_timeout(most);
        let lost = self.lost.spans.load(Ordering::Relaxed);
        let why = self.lost.why.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match (waited, why) {
            (Err(std_mpsc::RecvTimeoutError::Timeout), _) => {
                Some(format!("`{}` takes no spans: some were not sent", self.to))
            }
            (_, Some(why)) => Some(format!("{lost} spans were not sent to `{}`: {why}", self.to)),
            (_, None) => None,
        }
    }
}

impl Drop for Exporter {
    /// Whoever does not ask what was lost still wants the rest to get there.
    fn drop(&mut self) {
        let _ = self.finish(super::PATIENCE);
    }
}

/// Until nothing follows.
async fn export(collector: &Collector, mut spans: mpsc::Receiver<Span>, lost: &Lost) {
    let mut batch = Vec::new();
    // One that is away is asked once for each batch, until it is back.
    let mut tries = TRIES;
    loop {
        let first = spans.recv_many(&mut batch, BATCH).await;
        if first == 0 {
            return;
        }
        // Others follow soon, mostly.
        let gather = async {
            while batch.len() < BATCH {
                let room = BATCH - batch.len();
                if spans.recv_many(&mut batch, room).await == 0 {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(PAUSE, gather).await;
        match send(collector, &batch, tries).await {
            Ok(()) => tries = TRIES,
            Err(error) => {
                tries = 1;
                lost.add(batch.len(), &error.to_string());
            }
        }
        batch.clear();
    }
}

async fn send(collector: &Collector, batch: &[Span], tries: u32) -> Result<(), PostError> {
    let body = otlp::document(&collector.resource, batch).to_string();
    let mut wait = AGAIN;
    for _ in 1..tries {
        match post(&collector.post, &body).await {
            Err(error) if error.is_worth_another_try() => {}
            done => return done,
        }
        tokio::time::sleep(wait).await;
        wait *= 2;
    }
    post(&collector.post, &body).await
}

async fn post(to: &Post, body: &str) -> Result<(), PostError> {
    to.json(body.to_owned()).await
}
