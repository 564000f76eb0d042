//! Who calls.

use std::time::Duration;

use agents_system::{
    env,
    process::{Call, Captured},
};
use agents_testkit::sample::Sample;
use anyhow::{Context as _, bail};
use camino::Utf8PathBuf;
use hosts_suite::{
    install::{Package, Prefix},
    say,
};
use serde_json::{Value, json};

use crate::calls::Asked;

const INSPECTOR: Package = Package {
    name: "@modelcontextprotocol/inspector",
    program: "node_modules/.bin/mcp-inspector-cli",
};
const PYTHON: &str = "mcp-python";
const SCRIPT: &str = include_str!("client.py");

/// A client: what came of each call.
type Caller = fn(&Prefix, &Place, &[Asked]) -> anyhow::Result<Vec<Value>>;

/// All of them.
pub(crate) const ALL: [(&str, Caller); 2] = [("inspector", inspector), ("python", python)];

/// Where our program runs.
pub(crate) struct Place {
    pub(crate) sample: Sample,
    pub(crate) program: Utf8PathBuf,
}

impl Place {
    /// The user's home.
    pub(crate) fn home(&self) -> Utf8PathBuf {
        self.sample.scratch().path("user")
    }

    /// A program of a client, in our workspace.
    fn run(&self, call: Call, prefix: &Prefix) -> anyhow::Result<Captured> {
        let path = agents_system::process::path_with([prefix.node().as_path()]);
        let mut call = call
            .in_empty_env()
            .env("HOME", self.home())
            .env("CARGO_HOME", self.sample.home())
            .env("PATH", path)
            .cwd(self.sample.root())
            .deadline(Duration::from_secs(300));
        if let Some(value) = env::CARGO.get() {
            call = call.env(env::CARGO.name, value);
        }
        let done = call.capture()?;
        if !done.status.success() {
            bail!("`{}` failed\n{}", call.display(), done.said());
        }
        Ok(done)
    }
}

/// Installs all of them, unless they are there.
pub(crate) fn install(prefix: &Prefix) -> anyhow::Result<()> {
    prefix.install_node()?;
    prefix.install(INSPECTOR, false)?;
    let dir = prefix.root().join(PYTHON);
    if !dir.join("mcp").exists() {
        say(&format!("installing mcp into {dir}"));
        let args = ["-m", "pip", "install", "--quiet", "--target", dir.as_str(), "mcp"];
        let call = Call::new("python3").args(args).deadline(Duration::from_secs(900));
        let done = call.capture().context("python is needed")?;
        if !done.status.success() {
            bail!("`{}` failed\n{}", call.display(), done.said());
        }
    }
    Ok(())
}

/// The official inspector, which starts the server anew for each call.
fn inspector(prefix: &Prefix, place: &Place, calls: &[Asked]) -> anyhow::Result<Vec<Value>> {
    let one = |asked: &Asked| {
        let mut call = Call::new(prefix.program(INSPECTOR))
            .args(["--cli", place.program.as_str(), "mcp"])
            .args(["--method", "tools/call", "--tool-name", asked.tool]);
        for (name, value) in asked.arguments.as_object().into_iter().flatten() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            call = call.args(["--tool-arg".to_owned(), format!("{name}={value}")]);
        }
        let said = place.run(call, prefix)?.stdout_text();
        serde_json::from_str(&said).with_context(|| said.clone())
    };
    calls.iter().map(one).collect()
}

/// The official client for Python, which makes all calls to one server.
fn python(prefix: &Prefix, place: &Place, calls: &[Asked]) -> anyhow::Result<Vec<Value>> {
    let calls: Vec<Value> =
        calls.iter().map(|it| json!({ "tool": it.tool, "arguments": it.arguments })).collect();
    let dir = prefix.root().join(PYTHON);
    let calls = Value::from(calls).to_string();
    let call =
        Call::new("python3").args(["-c", SCRIPT, dir.as_str(), place.program.as_str(), &calls]);
    let said = place.run(call, prefix)?.stdout_text();
    serde_json::from_str(&said).with_context(|| said.clone())
}
