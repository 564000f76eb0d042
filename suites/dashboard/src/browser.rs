//! Chromium, and what it is told and tells.
//!
//! Its protocol for developers is spoken through two pipes that it has as its third and fourth stream: no port that somebody else could
//! find, and nothing needed but pipes. A message is a line of JSON that ends with a zero.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use agents_system::process::{Call, find_program, kill_group};
use agents_testkit::scratch::Scratch;
use anyhow::{Context as _, bail};
use camino::Utf8PathBuf;
use hosts_suite::say;
use serde_json::{Value, json};

/// What it may be called; the first is what Debian has for this.
const NAMES: [&str; 5] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"];
/// How long an answer may take.
const SOON: Duration = Duration::from_secs(60);

fn program() -> Option<Utf8PathBuf> {
    NAMES.into_iter().find_map(find_program)
}

/// Installs it, unless there is one.
pub(crate) fn install() -> anyhow::Result<()> {
    if program().is_some() {
        return Ok(());
    }
    say("installing chromium-headless-shell");
    let wanted = ["chromium-headless-shell", "fonts-dejavu-core", "fonts-noto-core"];
    for args in
        [vec!["update"], [&["install", "-y", "--no-install-recommends"], &wanted[..]].concat()]
    {
        let call = Call::new("apt-get").args(args).deadline(Duration::from_secs(900));
        let done =
            call.capture().context("no Chromium is installed, and `apt-get` is not there")?;
        if !done.status.success() {
            bail!("no Chromium is installed, and `{}` failed\n{}", call.display(), done.said());
        }
    }
    program().map(drop).context("Chromium was installed and is not there")
}

pub(crate) struct Browser {
    child: Child,
    to: std::fs::File,
    from: Receiver<Value>,
    last: u64,
    /// What it told by itself, in order.
    pub(crate) events: Vec<Value>,
}

impl Browser {
    pub(crate) fn start(scratch: &Scratch) -> anyhow::Result<Self> {
        let program = program().context("Chromium is not there")?;
        let (to, from) = (scratch.path("to-browser"), scratch.path("from-browser"));
        for pipe in [&to, &from] {
            let made = Call::new("mkfifo").arg(pipe.as_str()).capture()?;
            if !made.status.success() {
                bail!("no pipe: {}", made.said());
            }
        }
        // The suite may be root in a place without anything worth protecting, where Chromium's own sandbox cannot be.
        let call = Call::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<\"$TO\" 4>\"$FROM\"", program.as_str()])
            .args(["--headless", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu"])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .args(["--force-color-profile=srgb", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", scratch.path("browser")))
            .env("TO", to.as_str())
            .env("FROM", from.as_str())
            .env("HOME", scratch.path("browser-home"));
        let mut command = call.group_leader();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().with_context(|| format!("`{program}` does not start"))?;
        // Each waits for the other end, which the shell opens in this order.
        let to = fs_err::OpenOptions::new().write(true).open(&to)?.into_parts().0;
        let from = fs_err::File::open(&from)?;
        let (send, receive) = channel();
        thread::spawn(move || {
            let mut from = BufReader::new(from);
            let mut message = Vec::new();
            while from.read_until(0, &mut message).is_ok_and(|count| count > 0) {
                let text = message.strip_suffix(&[0]).unwrap_or(&message);
                let told = serde_json::from_slice(text).unwrap_or(Value::Null);
                if send.send(told).is_err() {
                    return;
                }
                message.clear();
            }
        });
        Ok(Self { child, to, from: receive, last: 0, events: Vec::new() })
    }

    /// Asks for something, of a tab or of the whole browser.
    pub(crate) fn ask(
        &mut self,
        tab: Option<&str>,
        method: &str,
        params: &Value,
    ) -> anyhow::Result<Value> {
        self.last += 1;
        let id = self.last;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(tab) = tab {
            message["sessionId"] = tab.into();
        }
        self.to.write_all(message.to_string().as_bytes())?;
        self.to.write_all(&[0])?;
        let until = Instant::now() + SOON;
        loop {
            let told = self.from.recv_timeout(until.saturating_duration_since(Instant::now()));
            let told = told.with_context(|| format!("`{method}` is not answered"))?;
            if told["id"] == id {
                if let Some(error) = told.get("error") {
                    bail!("`{method}`: {error}");
                }
                return Ok(told["result"].clone());
            }
            self.events.push(told);
        }
    }

    /// Takes what it tells, for a moment.
    pub(crate) fn listen(&mut self, time: Duration) -> anyhow::Result<()> {
        let until = Instant::now() + time;
        loop {
            match self.from.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(told) => self.events.push(told),
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => bail!("the browser has gone"),
            }
        }
    }

    /// `Chrome 156`.
    pub(crate) fn version(&self) -> anyhow::Result<String> {
        let program = program().context("Chromium is not there")?;
        let said = Call::new(program.as_str()).arg("--version").capture()?.stdout_text();
        let number =
            said.split_whitespace().find(|it| it.starts_with(|c: char| c.is_ascii_digit()));
        let major =
            number.and_then(|it| it.split('.').next()).context("a browser without a version")?;
        Ok(format!("Chromium {major}"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        kill_group(self.child.id());
        _ = self.child.wait();
    }
}
