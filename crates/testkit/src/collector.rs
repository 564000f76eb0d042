//! Somebody who takes whatever is posted, over real HTTP, and keeps it.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// The request line and the headers.
    pub head: String,
    /// What was sent.
    pub body: String,
}

/// A collector on a port of its own. Gone when it is dropped.
#[derive(Debug)]
pub struct Collector {
    address: SocketAddr,
    posted: Arc<Mutex<Vec<Posted>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Collector {
    /// One that takes everything.
    #[must_use]
    pub fn start() -> Self {
        Self::answering(&[200])
    }

    /// One that answers with these statuses, one after the other, and with the last one from then on.
    #[must_use]
    pub fn answering(statuses: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (posted, over) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (kept, end, statuses) = (Arc::clone(&posted), Arc::clone(&over), statuses.to_vec());
        let thread = std::thread::spawn(move || {
            let kept: Arc<Mutex<Vec<Posted>>> = kept;
            for stream in listener.incoming().map_while(Result::ok) {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let status = statuses[kept.len().min(statuses.len() - 1)];
                kept.extend(answer(stream, status));
            }
        });
        Self { address, posted, over, thread: Some(thread) }
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that was posted so far.
    #[must_use]
    pub fn posted(&self) -> Vec<Posted> {
        self.posted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // It looks when somebody comes.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One request, if a whole one comes.
fn answer(mut stream: TcpStream, status: u16) -> Option<Posted> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 16 * 1024]);
    let posted = loop {
        let count = stream.read(&mut piece).ok().filter(|it| *it > 0)?;
        bytes.extend(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        if body.len() >= length.unwrap_or(0) {
            break Posted { head: head.to_owned(), body: body.to_owned() };
        }
    };
    let said = format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
    stream.write_all(said.as_bytes()).ok()?;
    Some(posted)
}
