//! Whoever wants something of the supervisor.

use std::{
    io,
    time::{Duration, Instant},
};

use agents_system::{explain::ErrorKind, process::daemon};
use tokio::{
    io::BufReader,
    net::{UnixStream, unix::OwnedReadHalf, unix::OwnedWriteHalf},
};

use super::{
    super::work::runtime,
    Home, lines,
    wire::{Hello, Request, Say},
};
use crate::{failure::Failure, settings::Settings};

/// How long a supervisor may take to be there.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often it is looked whether it is.
const PAUSE: Duration = Duration::from_millis(15);
/// After which time another one is started: the first may have met one that was about to end.
const AGAIN: Duration = Duration::from_millis(1500);

/// Whether a supervisor is started if there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Start {
    IfNeeded,
    Never,
}

/// A connection on which something was asked.
pub(in super::super) struct Line {
    read: BufReader<OwnedReadHalf>,
    /// Closed, the supervisor takes us for gone.
    write: OwnedWriteHalf,
    /// What was said already.
    first: Option<Say>,
}

impl Line {
    /// The next thing that the supervisor says; `None` if nothing follows.
    pub(in super::super) async fn next(&mut self) -> Result<Option<Say>, Failure> {
        let say = match self.first.take() {
            Some(say) => Some(say),
            None => self.read().await?,
        };
        match say {
            Some(Say::Trouble(trouble)) => Err(trouble.into()),
            say => Ok(say),
        }
    }

    async fn read(&mut self) -> Result<Option<Say>, Failure> {
        lines::read(&mut self.read, lines::LONG).await.map_err(|error| lost(&error))
    }
}

fn lost(error: &io::Error) -> Failure {
    Failure::new(ErrorKind::Failure, format!("the supervisor cannot be talked to: {error}"))
        .hint("`cargo agents task list` shows what became of its tasks")
}

/// What it said does not belong to what was asked.
pub(in super::super) fn unexpected() -> Failure {
    let gone = io::Error::new(io::ErrorKind::UnexpectedEof, "it said nothing, or something else");
    lost(&gone)
}

/// Asks one thing that has one answer; `None` if there is no supervisor.
pub(in super::super) fn ask(
    settings: &Settings,
    request: &Request,
    start: Start,
) -> Result<Option<Say>, Failure> {
    runtime()?.block_on(async {
        match open(settings, request, start).await? {
            Some(mut line) => line.next().await?.map(Some).ok_or_else(unexpected),
            None => Ok(None),
        }
    })
}

/// Asks one thing; `None` if there is no supervisor. What is asked is sent once: if nobody answers, it may have been done.
pub(in super::super) async fn open(
    settings: &Settings,
    request: &Request,
    start: Start,
) -> Result<Option<Line>, Failure> {
    let home = Home::of(&settings.dirs);
    let since = Instant::now();
    let mut started: Option<Instant> = None;
    loop {
        match connect(&home).await {
            Ok(mut line) => {
                lines::write(&mut line.write, request).await.map_err(|it| lost(&it))?;
                if start == Start::Never {
                    return Ok(Some(line));
                }
                line.first = line.read().await?;
                // Nothing was done: that one only goes out of the way.
                let leaves = |it: &Say| matches!(it, Say::Trouble(it) if it.leaves());
                if !line.first.as_ref().is_some_and(leaves) || since.elapsed() > PATIENCE {
                    return Ok(Some(line));
                }
            }
            Err(_) if start == Start::Never => return Ok(None),
            Err(error) if since.elapsed() > PATIENCE => {
                let message = format!("no supervisor can be started: {error}");
                let hint = format!("`{}` says why", home.log_file());
                return Err(Failure::new(ErrorKind::Failure, message).hint(hint));
            }
            Err(_) => {
                if started.is_none_or(|it| it.elapsed() > AGAIN) {
                    home.start().map_err(|error| {
                        let message = format!("cannot start the supervisor: {error}");
                        Failure::new(ErrorKind::Failure, message)
                    })?;
                    started = Some(Instant::now());
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// A connection after the hellos.
async fn connect(home: &Home) -> io::Result<Line> {
    let (address, _held) = home.address()?;
    let stream = UnixStream::connect(&address).await?;
    if stream.peer_cred()?.uid() != daemon::user() {
        let why = "the socket belongs to another user";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    lines::write(&mut write, &Hello::ours()).await?;
    let hello: Option<Hello> = lines::read(&mut read, lines::SHORT).await?;
    hello.ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(Line { read, write, first: None })
}
