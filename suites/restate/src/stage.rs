//! The server, two workers, and a way to one of them that can be cut.

use std::{
    io::{Read, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    process::{Child, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use agents_system::{
    env,
    process::{Call, Captured},
};
use agents_testkit::{repo::Repo, scratch::Scratch};
use anyhow::{Context as _, bail};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

const ADMIN: &str = "127.0.0.1:9070";
/// How long anything may take to begin.
const SOON: Duration = Duration::from_secs(60);

/// A program that runs until it is killed.
pub(crate) struct Program {
    call: Call,
    child: Child,
}

impl Program {
    fn start(call: Call) -> anyhow::Result<Self> {
        let child = spawn(&call)?;
        Ok(Self { call, child })
    }

    /// The hard way: nobody is told.
    pub(crate) fn kill(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }

    pub(crate) fn start_again(&mut self) -> anyhow::Result<()> {
        self.child = spawn(&self.call)?;
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(call: &Call) -> anyhow::Result<Child> {
    let mut command = call.group_leader();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().with_context(|| format!("`{}` does not start", call.display()))
}

/// A way to an address that can be cut: then nothing passes, and nobody is told.
pub(crate) struct Way {
    at: SocketAddr,
    is_cut: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Way {
    fn to(worker: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let at = listener.local_addr()?;
        let (is_cut, open) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (cut, kept) = (Arc::clone(&is_cut), Arc::clone(&open));
        thread::spawn(move || {
            for visitor in listener.incoming().flatten() {
                let Ok(worker) = TcpStream::connect(worker) else { continue };
                let both = [(&visitor, &worker), (&worker, &visitor)];
                for (from, to) in both {
                    if let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) {
                        let cut = Arc::clone(&cut);
                        thread::spawn(move || pass(from, to, &cut));
                    }
                }
                kept.lock().unwrap_or_else(PoisonError::into_inner).extend([visitor, worker]);
            }
        });
        Ok(Self { at, is_cut, open })
    }

    pub(crate) fn cut(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
    }

    /// What was on its way is lost.
    pub(crate) fn mend(&self) {
        for stream in self.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            _ = stream.shutdown(Shutdown::Both);
        }
        self.is_cut.store(false, Ordering::Relaxed);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, cut: &AtomicBool) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(count) = from.read(&mut bytes) {
        while cut.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(20));
        }
        if count == 0 || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    _ = to.shutdown(Shutdown::Both);
}

/// Everything that a round needs.
pub(crate) struct Stage {
    pub(crate) scratch: Scratch,
    pub(crate) server: Program,
    pub(crate) workers: [Program; 2],
    /// To the second one.
    pub(crate) way: Way,
    program: Utf8PathBuf,
}

impl Stage {
    /// A server that knows both workers, and a workspace with this plan. The model is at this address.
    pub(crate) fn set(
        server: &Utf8Path,
        built: &Utf8Path,
        model: &str,
        plan: &str,
    ) -> anyhow::Result<Self> {
        let scratch = Scratch::new();
        let data = scratch.path("restate");
        // Where it spills, and what it leaves there when it is killed.
        let spilled = scratch.path("restate-tmp");
        fs_err::create_dir_all(&spilled)?;
        let server = Call::new(server)
            .args(["--node-name", "one"])
            .in_empty_env()
            .env("HOME", scratch.path("restate-home"))
            .env("TMPDIR", spilled)
            .env("RESTATE_BASE_DIR", data)
            .env("RESTATE_DISABLE_TELEMETRY", "true")
            .env("DO_NOT_TRACK", "1")
            .cwd(scratch.root());
        let server = Program::start(server)?;
        let program = built.join("cargo-agents");
        for home in ["user", "one", "two"] {
            let providers = format!(
                "[providers.scripted]\nkind = \"openai-compatible\"\nurl = \"{model}/v1\"\nmodel = \"scripted-1\"\nmodels = [\"scripted-1\"]\n"
            );
            // Whoever drives has no model at all.
            let providers = if home == "user" { String::new() } else { providers };
            scratch.write(
                format!("{home}/.config/cargo-agents/config.toml"),
                format!(
                    "[defaults]\nsymposium-recommendations = false\n\n[engine.restate]\nreplace-after = \"3s\"\n\n[tasks]\nallow-bypass-permissions = true\nsandbox = \"never\"\n\n{providers}"
                ),
            );
        }
        let repo = Repo::init(scratch.path("workspace"));
        repo.write(
            "Cargo.toml",
            "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
        );
        repo.write("src/lib.rs", "");
        repo.write(
            ".agents/agents/helper.md",
            "---\nname: helper\ndescription: helps\n---\nYou help.\n",
        );
        repo.write("plan.toml", plan);
        repo.commit("a workspace");
        let addresses = [free()?, free()?];
        let way = Way::to(addresses[1])?;
        let worker = |name: &str, at: SocketAddr, seen: SocketAddr| {
            let call = agents(&program, &scratch, name)
                .args(["worker", "--name", name, "--listen", &at.to_string()])
                .args(["--advertise", &format!("http://{seen}")]);
            Program::start(call)
        };
        let workers =
            [worker("one", addresses[0], addresses[0])?, worker("two", addresses[1], way.at)?];
        let stage = Self { scratch, server, workers, way, program };
        stage.until("both workers are registered", || {
            let services = stage.admin("services", None)?;
            Ok(services["services"].as_array().is_some_and(|it| it.len() == 2))
        })?;
        Ok(stage)
    }

    pub(crate) fn until(
        &self,
        what: &str,
        mut holds: impl FnMut() -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < SOON {
            if holds().unwrap_or(false) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(100));
        }
        bail!("waited in vain: {what}")
    }

    /// Our program, as the user calls it in the workspace.
    pub(crate) fn agents(&self, args: &[&str]) -> Call {
        agents(&self.program, &self.scratch, "user").args(args.iter().copied())
    }

    pub(crate) fn document(&self, args: &[&str]) -> anyhow::Result<Value> {
        let done: Captured = self.agents(args).deadline(SOON).capture()?;
        let said = done.stdout_text();
        serde_json::from_str(&said)
            .with_context(|| format!("{args:?} printed `{said}`: {}", done.said()))
    }

    /// Starts the program, to be killed or waited for.
    pub(crate) fn begin(&self, args: &[&str]) -> anyhow::Result<Child> {
        spawn(&self.agents(args))
    }

    /// Asks the server itself.
    pub(crate) fn admin(&self, path: &str, query: Option<&str>) -> anyhow::Result<Value> {
        let (method, body) = match query {
            Some(query) => ("POST", serde_json::json!({ "query": query }).to_string()),
            None => ("GET", String::new()),
        };
        let mut stream = TcpStream::connect(ADMIN)?;
        stream.set_read_timeout(Some(SOON))?;
        // To 1.0 a server answers in one piece, and ends with it.
        let head =
            format!("{method} /{path} HTTP/1.0\r\nhost: {ADMIN}\r\naccept: application/json");
        let length = body.len();
        write!(
            stream,
            "{head}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n").context("the server says nothing")?;
        if head.split(' ').nth(1) != Some("200") {
            bail!("the server says `{}`", head.lines().next().unwrap_or_default());
        }
        Ok(serde_json::from_str(body)?)
    }
}

fn agents(program: &Utf8Path, scratch: &Scratch, home: &str) -> Call {
    let mut call = Call::new(program.to_owned())
        .in_empty_env()
        .env("HOME", scratch.path(home))
        .cwd(scratch.path("workspace"));
    for variable in [env::PATH, env::CARGO, env::CARGO_HOME] {
        if let Some(value) = variable.get() {
            call = call.env(variable.name, value);
        }
    }
    call
}

fn free() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
