//! The process that looks after background tasks. There is one per user and state directory: whoever holds the lock is it.

use std::{
    fs::File,
    io::{self, Write as _},
    process::{ExitCode, Stdio},
    time::{Duration, Instant},
};

use agents_system::{
    explain::ErrorKind,
    lock::Lock,
    process::{self, Call, daemon},
};
use camino::Utf8PathBuf;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    net::{UnixListener, UnixStream, unix::OwnedReadHalf, unix::OwnedWriteHalf},
    process::Command,
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::{
    Home, WORK,
    journal::{Journal, Next},
    lines,
    runs::{Answer, Run, RunId, Runs, Waiting},
    wire::{Control, Hello, How, Order, Report, Request, Running, Say, Status, Trouble, VERSION},
};

/// How often it is looked whether something is due.
const TICK: Duration = Duration::from_millis(100);
/// How long somebody may take to say what they want.
const MANNERS: Duration = Duration::from_secs(30);
/// How long an answer may take for somebody who seems to have left.
const SOON: Duration = Duration::from_secs(2);
/// How long the lock of a supervisor that is about to end is waited for.
const HANDOVER: Duration = Duration::from_secs(5);
/// More than this at the same time are not listened to.
const MAX_CLIENTS: usize = 256;

/// Looks after tasks until nothing runs and nobody has asked for anything for so many seconds.
pub(super) fn run(home: &Home, idle: u64) -> ExitCode {
    // Who started us may have made us a leader of a group already; then we have left.
    let _ = daemon::leave();
    let log = match home.secure().and_then(|()| home.log()) {
        Ok(file) => Log(file),
        Err(_) => return ExitCode::FAILURE,
    };
    let served = alone(home).and_then(|lock| match lock {
        Some(lock) => serve(home, &log, Duration::from_secs(idle)).map(|()| drop(lock)),
        None => Ok(()),
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log.say(&format!("ended: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// The lock of the one supervisor; `None` if there is one that answers.
fn alone(home: &Home) -> io::Result<Option<Lock>> {
    let since = Instant::now();
    loop {
        if let Some(lock) = Lock::try_acquire(&home.lock_file())? {
            return Ok(Some(lock));
        }
        let (address, _held) = home.address()?;
        if std::os::unix::net::UnixStream::connect(&address).is_ok() || since.elapsed() > HANDOVER {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What happened, for whoever wants to know why. Nothing of what was typed, and nothing of any environment.
struct Log(File);

impl Log {
    fn say(&self, text: &str) {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
        let _ = writeln!(&self.0, "{now} [{}] {text}", std::process::id());
    }
}

/// Something that happened.
enum Message {
    Asked(Request, Waiting),
    /// Somebody speaks another version.
    Stranger(Hello, Waiting),
    /// A connection is closed.
    Left,
    Reported(RunId, Report),
    Ended(RunId, String),
}

struct Supervisor<'a> {
    log: &'a Log,
    program: Utf8PathBuf,
    runs: Runs,
    messages: mpsc::UnboundedSender<Message>,
    clients: usize,
    /// Since when there is nothing to do.
    idle: Instant,
    /// Since when it is to end, and who wants to know.
    ending: Option<Instant>,
    waiting: Vec<Waiting>,
}

fn serve(home: &Home, log: &Log, patience: Duration) -> io::Result<()> {
    let program = process::this_program()?;
    let program = Utf8PathBuf::from_path_buf(program)
        .map_err(|_| io::Error::other("the path of this program is not UTF-8"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    process::listen_for_interrupts();
    let served = runtime.block_on(async {
        let (address, _held) = home.address()?;
        // Only the one with the lock does this: what is there is of one that died.
        match fs_err::remove_file(home.socket()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&address)?;
        log.say(&format!("listens, version {}", env!("CARGO_PKG_VERSION")));
        let (messages, mut inbox) = mpsc::unbounded_channel();
        let mut supervisor = Supervisor {
            log,
            program,
            runs: Runs::default(),
            messages,
            clients: 0,
            idle: Instant::now(),
            ending: None,
            waiting: Vec::new(),
        };
        while !supervisor.is_done(patience) {
            tokio::select! {
                biased;
                Some(message) = inbox.recv() => supervisor.hear(message),
                accepted = listener.accept() => supervisor.admit(accepted).await,
                () = tokio::time::sleep(TICK) => supervisor.look(),
            }
        }
        // Whoever comes from now on finds nobody, and starts another one, which waits for our lock.
        fs_err::remove_file(home.socket())
    });
    runtime.shutdown_timeout(Duration::from_millis(200));
    log.say("ends");
    served
}

/// Whether the user at the other end is the one whose tasks these are.
fn is_welcome(peer: io::Result<u32>, user: u32) -> bool {
    peer.is_ok_and(|peer| peer == user)
}

impl Supervisor<'_> {
    async fn admit(&mut self, accepted: io::Result<(UnixStream, tokio::net::unix::SocketAddr)>) {
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                self.log.say(&format!("cannot accept: {error}"));
                return tokio::time::sleep(TICK).await;
            }
        };
        let peer = stream.peer_cred().map(|it| it.uid());
        if !is_welcome(peer, daemon::user()) || self.clients >= MAX_CLIENTS {
            self.log.say("somebody was turned away");
            return;
        }
        self.clients += 1;
        let messages = self.messages.clone();
        tokio::spawn(async move {
            // Whoever says something odd, or leaves in the middle, hurts nobody else.
            let _ = converse(stream, &messages).await;
            drop(messages.send(Message::Left));
        });
    }

    fn hear(&mut self, message: Message) {
        match message {
            Message::Asked(request, waiting) => self.obey(request, waiting),
            Message::Stranger(hello, waiting) => self.turn_away(&hello, waiting),
            Message::Left => self.clients -= 1,
            Message::Reported(run, report) => self.runs.hear(run, report),
            Message::Ended(run, why) => {
                self.log.say(&format!("run {run} ended: {why}"));
                self.runs.end(run, &why);
            }
        }
    }

    fn obey(&mut self, request: Request, waiting: Waiting) {
        let say = match request {
            Request::Run(_) if self.ending.is_some() => {
                let message = "the supervisor is about to end";
                Say::Trouble(Trouble::new(ErrorKind::Failure, message).and_leaves())
            }
            Request::Run(order) => return self.start(*order, waiting),
            Request::Events { task } => return self.runs.follow(task, waiting),
            Request::Wait { task } => return self.runs.wait(task, waiting),
            Request::Cancel { task } => return self.runs.cancel(task, waiting),
            Request::Answer { ask, reply } => return self.runs.answer(&ask, reply, waiting),
            Request::List => Say::Tasks { tasks: self.runs.list() },
            Request::Asks => Say::Asks { asks: self.runs.asks() },
            Request::Status => Say::Status(Status {
                process: std::process::id(),
                program: env!("CARGO_PKG_VERSION").to_owned(),
                workers: self.runs.processes(),
            }),
            Request::Stop { running } => {
                let runs = self.runs.processes().len();
                if running == Running::Cancel || runs == 0 {
                    self.end();
                    return self.waiting.push(waiting);
                }
                let message = format!("{runs} runs have not ended");
                let hint = "wait for them, or leave none with `--stop --cancel`";
                Say::Trouble(Trouble::new(ErrorKind::Refused, message).hint(hint))
            }
        };
        drop(waiting.send(Answer::Say(say)));
    }

    /// Whoever speaks another version gets another supervisor, if nothing stands in the way.
    fn turn_away(&mut self, hello: &Hello, waiting: Waiting) {
        let message = format!(
            "the supervisor is of version {} (protocol {VERSION}), and this program of version {} (protocol {})",
            env!("CARGO_PKG_VERSION"),
            hello.program,
            hello.protocol
        );
        let hint = "use that version, or end it with `cargo agents task supervisor --stop`";
        let mut trouble = Trouble::new(ErrorKind::Usage, message).hint(hint);
        if self.runs.processes().is_empty() {
            trouble = trouble.and_leaves();
            self.end();
        }
        drop(waiting.send(Answer::Say(Say::Trouble(trouble))));
    }

    fn end(&mut self) {
        if self.ending.is_none() {
            self.ending = Some(Instant::now());
            self.runs.cancel_all();
        }
    }

    /// Starts a process for what somebody typed.
    fn start(&mut self, order: Order, waiting: Waiting) {
        let Order { argv, input, cwd, mask, env } = order;
        let mut call = Call::new(self.program.as_str()).arg(WORK).cwd(cwd).in_empty_env();
        for (key, value) in env {
            call = call.env(key, value);
        }
        let mut command = Command::from(call.group_leader());
        // The environment is in one place from now on.
        drop(call);
        let said = self.log.0.try_clone().map_or_else(|_| Stdio::null(), Stdio::from);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(said).kill_on_drop(true);
        let child = command.spawn();
        drop(command);
        let mut child = match child {
            Ok(child) => child,
            Err(error) => {
                let message = format!("cannot start what runs tasks: {error}");
                let trouble = Trouble::new(ErrorKind::Failure, message);
                return drop(waiting.send(Answer::Say(Say::Trouble(trouble))));
            }
        };
        let process = child.id().unwrap_or_default();
        let (controls, mut told) = mpsc::unbounded_channel::<Control>();
        drop(controls.send(Control::Work { argv, input, mask, protocol: VERSION }));
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (messages, log) = (self.messages.clone(), self.log);
        self.runs.add(|id| {
            log.say(&format!("run {id} is process {process}"));
            tokio::spawn(async move {
                let Some(mut stdin) = stdin else { return };
                while let Some(control) = told.recv().await {
                    if lines::write(&mut stdin, &control).await.is_err() {
                        return;
                    }
                }
            });
            tokio::spawn(async move {
                let mut why = None;
                if let Some(stdout) = stdout {
                    let mut stdout = BufReader::new(stdout);
                    loop {
                        match lines::read(&mut stdout, lines::LONG).await {
                            Ok(Some(report)) => {
                                drop(messages.send(Message::Reported(id, report)));
                            }
                            Ok(None) => break,
                            Err(error) => {
                                process::kill_group(process);
                                why = Some(error.to_string());
                                break;
                            }
                        }
                    }
                }
                let ended = match child.wait().await {
                    Ok(status) => process::ending(status),
                    Err(error) => error.to_string(),
                };
                drop(messages.send(Message::Ended(id, why.unwrap_or(ended))));
            });
            Run::new(process, controls, waiting)
        });
    }

    /// Does what is due.
    fn look(&mut self) {
        for process in self.runs.overdue(Instant::now()) {
            self.log.say(&format!("process {process} does not end, and is ended"));
            process::kill_group(process);
        }
        if process::interrupted() {
            self.end();
        }
    }

    /// Whether it is time to go.
    fn is_done(&mut self, patience: Duration) -> bool {
        let now = Instant::now();
        if !self.runs.processes().is_empty() {
            self.idle = now;
            return false;
        }
        if let Some(since) = self.ending {
            for waiting in self.waiting.drain(..) {
                drop(waiting.send(Answer::Say(Say::Done { how: How::Well })));
            }
            // Whoever is still there is to read the last words.
            return self.clients == 0 || now.duration_since(since) > Duration::from_secs(2);
        }
        if self.clients > 0 {
            self.idle = now;
        }
        now.duration_since(self.idle) > patience
    }
}

/// One connection: a hello from each side, a request, and what is said to it.
async fn converse(stream: UnixStream, messages: &mpsc::UnboundedSender<Message>) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    let hello = timeout(MANNERS, lines::read::<Hello>(&mut read, lines::SHORT)).await;
    let Some(hello) = hello.map_err(late)?? else { return Ok(()) };
    lines::write(&mut write, &Hello::ours()).await?;
    let request = timeout(MANNERS, lines::read::<Request>(&mut read, lines::LONG)).await;
    let (waiting, answer) = oneshot::channel();
    let message = match request.map_err(late)? {
        Ok(None) => return Ok(()),
        Ok(Some(it @ (Request::Status | Request::Stop { .. }))) => Message::Asked(it, waiting),
        Ok(Some(request)) if hello.protocol == VERSION => Message::Asked(request, waiting),
        Ok(Some(_)) => Message::Stranger(hello, waiting),
        Err(_) if hello.protocol != VERSION => Message::Stranger(hello, waiting),
        Err(error) => {
            let trouble = Trouble::new(ErrorKind::Usage, format!("a request was {error}"));
            return lines::write(&mut write, &Say::Trouble(trouble)).await;
        }
    };
    drop(messages.send(message));
    let mut answer = answer;
    let answered = tokio::select! {
        biased;
        answered = &mut answer => answered,
        // Whoever only has nothing more to say still hears what can be said at once.
        () = gone(&mut read) => timeout(SOON, answer).await.map_err(late)?,
    };
    match answered {
        Ok(Answer::Say(say)) => lines::write(&mut write, &say).await,
        Ok(Answer::Follow(journal)) => tokio::select! {
            told = tell(&journal, &mut write) => told,
            () = gone(&mut read) => Ok(()),
        },
        // The supervisor is gone.
        Err(_) => Ok(()),
    }
}

/// Until whoever asked has left; more than one request is not listened to.
async fn gone(read: &mut BufReader<OwnedReadHalf>) {
    while let Ok(bytes) = read.fill_buf().await {
        let length = bytes.len();
        if length == 0 {
            return;
        }
        read.consume(length);
    }
}

/// Everything that there is to tell of a run, up to its end.
async fn tell(journal: &Journal, write: &mut OwnedWriteHalf) -> io::Result<()> {
    use tokio::io::AsyncWriteExt as _;
    let mut at = 0;
    loop {
        match journal.next(&mut at).await {
            Next::Line(line) => write.write_all(&line).await?,
            Next::Gone(events) => lines::write(write, &Say::LeftOut { events }).await?,
            Next::Over => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_user_whose_tasks_these_are_is_listened_to() {
        assert!(is_welcome(Ok(1000), 1000));
        assert!(!is_welcome(Ok(1001), 1000));
        assert!(!is_welcome(Ok(0), 1000), "not even root: its tasks are its own");
        assert!(!is_welcome(Err(io::ErrorKind::Unsupported.into()), 1000));
    }

    #[test]
    fn the_system_tells_who_is_at_the_other_end() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        runtime.block_on(async {
            let (one, _other) = UnixStream::pair().unwrap();
            let peer = one.peer_cred().map(|it| it.uid());
            assert!(is_welcome(peer, daemon::user()));
        });
    }
}
