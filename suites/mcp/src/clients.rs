//! Who calls.

use std::time::Duration;

use agents_system::{
    env,
    process::{Call, Captured},
};
use agents_testkit::sample::Sample;
use anyhow::{Context as _, bail};
use camino::{Utf8Path, Utf8PathBuf};
use hosts_suite::{
    install::{Package, Prefix},
    say,
};
use serde_json::{Value, json};

use crate::{calls::Asked, report::Client};

const INSPECTOR: Package =
    Package { name: "@modelcontextprotocol/inspector", program: "node_modules/.bin/mcp-inspector" };
const PYTHON: &str = "mcp-python";
const SCRIPT: &str = include_str!("client.py");

/// A client: what came of each call.
type Caller = fn(&Prefix, &Place, &[Asked]) -> anyhow::Result<Vec<Value>>;

/// All of them.
pub(crate) const ALL: [(Client, Caller); 2] =
    [(Client::Inspector, inspector), (Client::Python, python)];

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
        // Clients hand on little but the path, and another home has no toolchain: cargo itself, not what looks for it.
        let cargo = env::CARGO.get().and_then(|it| Utf8PathBuf::from_os_string(it).ok());
        let node = prefix.node();
        let tools = cargo.as_deref().and_then(Utf8Path::parent).into_iter();
        let path = agents_system::process::path_with(tools.chain([node.as_path()]));
        let call = call
            .in_empty_env()
            .env("HOME", self.home())
            .env("CARGO_HOME", self.sample.home())
            .env("PATH", path)
            .cwd(self.sample.root())
            .deadline(Duration::from_secs(300));
        Ok(call.capture()?)
    }
}

/// What a client says came of it, on standard output.
fn told(done: &Captured) -> anyhow::Result<Value> {
    serde_json::from_slice(&done.stdout).with_context(|| done.said())
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

/// Their versions, in the order of [`ALL`].
pub(crate) fn versions(prefix: &Prefix) -> anyhow::Result<[String; 2]> {
    let mut names = Vec::new();
    for entry in prefix.root().join(PYTHON).read_dir_utf8()? {
        names.push(entry?.file_name().to_owned());
    }
    // As pip writes it down.
    let version =
        |name: &String| Some(name.strip_prefix("mcp-")?.strip_suffix(".dist-info")?.to_owned());
    let python = names.iter().find_map(version).context("a package without a version")?;
    Ok([prefix.version(INSPECTOR)?, python])
}

/// The official inspector, which starts the server anew for each call.
fn inspector(prefix: &Prefix, place: &Place, calls: &[Asked]) -> anyhow::Result<Vec<Value>> {
    let one = |asked: &Asked| {
        let mut call = Call::new(prefix.program(INSPECTOR))
            .args(["--cli", "-e", &format!("CARGO_HOME={}", place.sample.home())])
            .args([place.program.as_str(), "mcp"])
            .args(["--method", "tools/call", "--tool-name", asked.tool]);
        for (name, value) in asked.arguments.as_object().into_iter().flatten() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            call = call.args(["--tool-arg".to_owned(), format!("{name}={value}")]);
        }
        // It fails where a tool does, and tells all the same.
        told(&place.run(call, prefix)?)
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
    let told = told(&place.run(call, prefix)?)?;
    Ok(told.as_array().context("it is no list")?.clone())
}
