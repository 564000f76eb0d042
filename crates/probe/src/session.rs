//! One host in a throw-away home: our own `init` and `sync`, one session against a scripted model, `uninstall`, one more start, and
//! what came of it.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use agents_model::endpoint::Endpoint;
use agents_system::{
    atomic, env,
    process::{Call, Captured, ProcessError, ending},
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    client::{Client, Place, Scope},
    dialogue::{Dialogue, PROMPT},
    left::{Disk, Times, loaded_from},
    network, quiet,
    sample::{Marks, Registry, Servers, take_marks, write_workspace},
    seen::{After, Evidence, Seen, Thing},
};

/// How long each of our own commands may take; they need a second or two.
const OURS: Duration = Duration::from_secs(120);
/// As much of what a client said as one reads in a line.
const MOST: usize = 300;

/// What is probed, and how.
#[derive(Debug, Clone, Copy)]
pub struct Session<'a> {
    /// The client's program.
    pub program: &'a Utf8Path,
    /// Our own program, which also serves as the plugin's MCP server when it is called with [`Self::server`].
    pub ours: &'a Utf8Path,
    /// What makes it one.
    pub server: &'a str,
    /// Where programs are found. The rest of the environment is not handed on.
    pub path: &'a OsStr,
    /// The variables that cargo needs in a home that is not its user's; for our own commands.
    pub cargo: &'a [(&'a str, OsString)],
    /// Where MCP servers and hooks are registered.
    pub scope: Scope,
    /// As what MCP servers are registered.
    pub servers: Servers,
    /// What the user changed in our descriptions of hosts: the text of `hosts.toml`.
    pub hosts: Option<&'a str>,
    /// The events that the host has, as manifests write them.
    pub events: &'a [&'a str],
    /// How long the client may take each time that it is started. Then its process group is ended.
    pub deadline: Duration,
    /// Whether somebody else is in the network.
    pub network: Network,
}

/// Whether the client could reach anybody but the scripted model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// It cannot.
    Own,
    /// It could, and is only asked not to.
    Shared,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// Each thing, in the order of [`Thing::ALL`].
    pub seen: Vec<(Thing, Seen)>,
    /// Why the client did not run to a good end, if it did not.
    pub trouble: Option<String>,
    /// How many requests reached the model.
    pub requests: usize,
}

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The sample cannot be written.
    #[error("cannot make a sample workspace")]
    Sample(#[from] io::Error),
    /// One of our own commands did not run to its end, or Ctrl-C.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// One of our own commands failed.
    #[error("`{command}` failed ({ending})")]
    Ours {
        /// The command.
        command: String,
        /// How it ended.
        ending: String,
        /// What it said.
        said: String,
    },
}

impl Session<'_> {
    /// Runs it below `root`, an empty directory. `watch` is called now and then.
    ///
    /// # Errors
    /// It came to no session. A client that fails, or does not end, is an [`Outcome`].
    pub fn run(
        &self,
        client: &dyn Client,
        root: &Utf8Path,
        mut watch: impl FnMut(),
    ) -> Result<Outcome, ProbeError> {
        let (home, log, dir) = (root.join("home"), root.join("notes.log"), root.join("registry"));
        let marks = root.join("marks");
        fs_err::create_dir_all(root.join("tmp"))?;
        fs_err::create_dir_all(&marks)?;
        let path = path_with_us(self.path, self.ours, &root.join("bin"))?;
        let workspace = write_workspace(root)?;
        let server = (self.ours, &[self.server][..]);
        let events = Some(Marks { events: self.events, dir: &marks });
        let registry = Registry { dir: &dir, server, log: &log, marks: events };
        registry.write()?;
        let settings = Utf8Path::new(".config/cargo-agents");
        let config = (settings.join("config.toml"), registry.config(self.servers));
        let hosts = self.hosts.map(|text| (settings.join("hosts.toml"), text.to_owned()));
        write(&home, &std::iter::once(config).chain(hosts).collect::<Vec<_>>())?;

        let over = Arc::new(AtomicBool::new(false));
        let dialogue = Dialogue::new(client, self.servers).with_failure(client);
        let endpoint = Endpoint::bind(
            SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            dialogue.script(Arc::clone(&over)),
        )?;
        let (url, model) = (endpoint.url(), endpoint.model());
        let (program, path, place_of) = (self.program, path.as_os_str(), &workspace);
        let place = Place { program, path, home: &home, workspace: place_of, url: &url, model };
        write(&home, &client.files(&place))?;
        let before = Disk::of_user(&home, &workspace)?;
        let scope = self.scope.word();
        for args in [&["init", "--add-agent", client.host(), "--hook-scope", scope][..], &["sync"]]
        {
            self.call_us(&place, root, args, &mut watch)?;
        }
        let synced = Disk::of_user(&home, &workspace)?;
        write(&home, &client.accepted(&place))?;

        let trouble = self.prompt(client, &place, root, &mut watch)?;
        let requests = endpoint.requests();
        let fired = take_marks(&marks)?.into_keys().collect();
        let used = Disk::of_user(&home, &workspace)?;

        over.store(true, Ordering::Relaxed);
        endpoint.forget();
        let later;
        let after = match self.call_us(&place, root, &["uninstall"], &mut watch) {
            // Whoever asked nothing the first time would be waited for in vain once more.
            Ok(()) if requests.is_empty() => After::untold("there was no session"),
            Ok(()) => {
                let after = Disk::of_user(&home, &workspace)?;
                let (before, synced, used, after) = (&before, &synced, &used, &after);
                let loaded = &loaded_from(self.hosts, &home, &workspace);
                let clean = Times { root, loaded, before, synced, used, after }.clean();
                let trouble = self.prompt(client, &place, root, &mut watch)?;
                later = endpoint.requests();
                let fired = take_marks(&marks)?.into_keys().collect();
                After { clean, requests: &later, fired, trouble }
            }
            Err(ProbeError::Ours { command, said, .. }) => {
                After::untold(&format!("`{command}` failed: {said}"))
            }
            Err(error) => return Err(error),
        };
        let (tool, shell) = (self.servers.call(client).0, client.shell());
        let quiet: BTreeSet<&str> = quiet::of_host(client.host()).map(|it| it.event).collect();
        let events = self.events.iter().filter(|it| !quiet.contains(*it));
        let evidence = Evidence {
            requests: &requests,
            workspace: &workspace,
            log: &log,
            tool: &tool,
            shell,
            events: &events.map(|it| (*it).to_owned()).collect(),
            fired: &fired,
            after: &after,
        };
        let seen = Thing::ALL.map(|thing| (thing, evidence.of(thing))).to_vec();
        Ok(Outcome { seen, trouble, requests: requests.len() })
    }

    /// One session of the client; why it did not run to a good end, if it did not.
    fn prompt(
        &self,
        client: &dyn Client,
        place: &Place<'_>,
        root: &Utf8Path,
        mut watch: impl FnMut(),
    ) -> Result<Option<String>, ProbeError> {
        let call = client.prompt(place, PROMPT).env("TMPDIR", root.join("tmp"));
        let call = match self.network {
            Network::Own => call,
            Network::Shared => network::discouraged(call),
        };
        match call.deadline(self.deadline).capture_watched(|_| watch()) {
            Err(error @ (ProcessError::Interrupted | ProcessError::NotFound { .. })) => {
                Err(error.into())
            }
            ended => Ok(trouble(ended)),
        }
    }

    /// Runs our own program, which must succeed.
    fn call_us(
        &self,
        place: &Place<'_>,
        root: &Utf8Path,
        args: &[&str],
        mut watch: impl FnMut(),
    ) -> Result<(), ProbeError> {
        let call = Call::new(self.ours.as_str())
            .args(args.iter().copied())
            .in_empty_env()
            .env(env::PATH.name, place.path)
            .env(env::HOME.name, place.home)
            .env(env::CARGO_NET_OFFLINE.name, "true")
            .env(env::CARGO_HOME.name, root.join("cargo"))
            .env("TMPDIR", root.join("tmp"))
            .cwd(place.workspace)
            .deadline(OURS);
        let call = self.cargo.iter().fold(call, |call, (name, value)| call.env(*name, value));
        let done = call.capture_watched(|_| watch())?;
        if done.status.success() {
            return Ok(());
        }
        let command = format!("cargo agents {}", args.join(" "));
        Err(ProbeError::Ours { command, ending: ending(done.status), said: done.said() })
    }
}

/// Hosts call us by our name, and must find this very program, and nothing else that may be beside it.
fn path_with_us(path: &OsStr, ours: &Utf8Path, bin: &Utf8Path) -> io::Result<OsString> {
    fs_err::create_dir_all(bin)?;
    let name = format!("cargo-agents{}", std::env::consts::EXE_SUFFIX);
    #[cfg(unix)]
    fs_err::os::unix::fs::symlink(ours, bin.join(name))?;
    #[cfg(not(unix))]
    fs_err::copy(ours, bin.join(name))?;
    let dirs = std::iter::once(bin.as_std_path().to_owned()).chain(std::env::split_paths(path));
    std::env::join_paths(dirs).map_err(io::Error::other)
}

fn write(home: &Utf8Path, files: &[(Utf8PathBuf, String)]) -> io::Result<()> {
    files.iter().try_for_each(|(path, text)| atomic::write(&home.join(path), text.as_bytes()))
}

/// Why the client did not run to a good end: its last words are those that matter.
fn trouble(ended: Result<Captured, ProcessError>) -> Option<String> {
    match ended {
        Err(error) => Some(error.to_string()),
        Ok(done) if done.status.success() => None,
        Ok(done) => {
            let said = done.said();
            let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
            let last: String = last.unwrap_or_default().chars().take(MOST).collect();
            Some(format!("it ended with {}: {last}", ending(done.status)))
        }
    }
}
