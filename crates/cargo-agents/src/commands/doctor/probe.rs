//! `cargo agents doctor --probe`: whether the hosts of this machine really load what we write.
//!
//! Each is started in a throw-away home, once after our own `sync` into it and once after `uninstall`, against a scripted model on
//! loopback; see [`agents_probe`]. Where the system lets us, all of it happens in a network with nobody else in it: the program then starts
//! itself again in there before it does anything.

pub(crate) mod told;

use std::{
    ffi::OsString,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use agents_host::{Host, find};
use agents_plugin::config::{Config, Registration, ServersAs};
use agents_probe::{
    client::{self, Client, Scope},
    network,
    sample::Servers,
    session::{Network, ProbeError, Session},
};
use agents_system::{
    env,
    explain::ErrorKind,
    process::{Call, find_program, this_program},
    regular,
};
use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use self::told::{Probed, State};
use super::{notes, version::version_by};
use crate::{
    args::DoctorArgs,
    commands::{tour::rustup_home, wanted},
    failure::Failure,
    output::Output,
    settings::Settings,
};

/// What `docs/doctor.md` says about it.
#[cfg(test)]
pub(super) const PAGE: &str = include_str!("probe/page.md");

/// What all hosts are probed with.
struct Laboratory {
    /// Removed when the probe ends, however it ends.
    _root: TempDir,
    /// The same; canonical, so that what programs report is what we know it by.
    root: Utf8PathBuf,
    /// Our own program.
    ours: Utf8PathBuf,
    path: OsString,
    /// What cargo needs in a home that is not its user's.
    cargo: Vec<(&'static str, OsString)>,
    /// The user's changes to the descriptions of hosts.
    hosts: Option<String>,
    scope: Scope,
    servers: Servers,
    deadline: Duration,
    /// Why the network is not ours alone, if it is not.
    shared: Option<String>,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    args: &DoctorArgs,
) -> Result<ExitCode, Failure> {
    let (all, findings) = wanted::all_hosts(settings)?;
    let chosen = chosen(&all, &args.hosts)?;
    let shared = own_network()?;
    output.findings(&findings);
    let laboratory = Laboratory::open(settings, args, shared)?;
    let mut probed = Vec::new();
    told::head(output, &laboratory)?;
    let named = if args.hosts.is_empty() { Named::No } else { Named::Yes };
    for host in chosen {
        let one = laboratory.probe(host, named, settings)?;
        told::row(output, &one)?;
        probed.push(one);
    }
    let failed = probed.iter().any(|it| match it.state {
        State::Probed | State::NoSession => it.is_lost(),
        // Whoever names a host wants to know about that one.
        State::NotInstalled | State::NotKnown => named == Named::Yes,
    });
    told::end(output, &laboratory, probed)?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Whether the user asked for this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Yes,
    No,
}

/// The program of a host. One that shares its name with other programs counts if the host has left signs, or is asked for.
fn program_of(host: &Host, named: Named) -> Result<Option<Utf8PathBuf>, Failure> {
    if !host.detect.programs.is_empty() {
        return Ok(host.detect.programs.iter().find_map(find_program));
    }
    let home = wanted::home()?;
    let is_there = named == Named::Yes || host.is_installed(&wanted::roots(&home, None), |_| false);
    Ok(find_program(host.id.as_str()).filter(|_| is_there))
}

fn chosen<'h>(all: &'h [Host], names: &[String]) -> Result<Vec<&'h Host>, Failure> {
    if names.is_empty() {
        return Ok(all.iter().collect());
    }
    let found = names.iter().map(|name| {
        find(all, name).map_err(|unknown| {
            Failure::new(ErrorKind::Usage, unknown.to_string()).hint(unknown.advice())
        })
    });
    found.collect()
}

/// Starts the program again in a network of its own; comes back there with nothing, or here with the reason why there is none.
fn own_network() -> Result<Option<String>, Failure> {
    if network::is_inside() {
        return Ok(None);
    }
    if let Err(error) = network::look() {
        Failure::if_interrupted()?;
        return Ok(Some(error.to_string()));
    }
    let me = this_program().map_err(|error| broken(&error))?;
    let again = network::inside(Call::new(me).args(std::env::args_os().skip(1)));
    Ok(Some(match again {
        Ok(call) => call.replace().to_string(),
        Err(error) => error.to_string(),
    }))
}

fn broken(error: &std::io::Error) -> Failure {
    Failure::new(ErrorKind::Failure, format!("cannot make a throw-away home: {error}"))
}

impl Laboratory {
    fn open(
        settings: &Settings,
        args: &DoctorArgs,
        shared: Option<String>,
    ) -> Result<Self, Failure> {
        let config = Config::load(&settings.dirs)?;
        let root = tempfile::Builder::new().prefix("cargo-agents-probe-").tempdir();
        let root = root.map_err(|error| broken(&error))?;
        let dir = utf8(root.path().canonicalize())?;
        if shared.is_none() {
            network::settle(&dir)
                .map_err(|error| Failure::new(ErrorKind::Failure, error.to_string()))?;
        }
        let ours = utf8(this_program().and_then(|it| it.canonicalize()))?;
        let variables = [env::AGENTS_CARGO, env::SYMPOSIUM_CARGO, env::CARGO];
        let cargo = variables.into_iter().filter_map(|it| Some((it.name, it.get()?)));
        let rustup = Some(rustup_home()?).filter(|dir| dir.exists());
        let rustup = rustup.map(|dir| (env::RUSTUP_HOME.name, dir.into_string().into()));
        Ok(Self {
            _root: root,
            root: dir,
            ours,
            path: env::PATH.get().unwrap_or_default(),
            cargo: cargo.chain(rustup).collect(),
            hosts: regular::read_text(&settings.dirs.config.join(wanted::OVERRIDES)).ok().flatten(),
            scope: match config.registration {
                Registration::User => Scope::Global,
                Registration::Project => Scope::Project,
            },
            servers: match config.servers {
                ServersAs::One => Servers::One,
                ServersAs::Each => Servers::Each,
            },
            deadline: Duration::from_secs(args.timeout),
            shared,
        })
    }

    fn probe(&self, host: &Host, named: Named, settings: &Settings) -> Result<Probed, Failure> {
        let mut probed = Probed::new(host);
        let Some(program) = program_of(host, named)? else { return Ok(probed) };
        probed.program = Some(program.clone());
        let Some(client) = client::of_host(host.id.as_str()) else {
            probed.state = State::NotKnown;
            return Ok(probed);
        };
        let progress = &settings.progress;
        progress.begin(format!("Starting {}", host.name));
        let since = Instant::now();
        let root = self.root_of(host)?;
        probed.version = version_by(self.call_of(&program, &root)).map(|it| it.to_string());
        Failure::if_interrupted()?;
        let events: Vec<&str> = host
            .hooks
            .get()
            .into_iter()
            .flat_map(|it| &it.events)
            .map(|(event, _)| event.name())
            .collect();
        let session = self.session(&program, client.as_ref(), &events);
        let outcome = session.run(client.as_ref(), &root, || progress.tick(""));
        progress.end();
        match outcome {
            Ok(outcome) => probed.take(outcome, client.proven()),
            Err(error) => {
                Failure::if_interrupted()?;
                probed.fail(words(&error), client.proven());
            }
        }
        probed.seconds = Some(since.elapsed().as_secs());
        Ok(probed)
    }

    /// Where all files of this host are.
    fn root_of(&self, host: &Host) -> Result<Utf8PathBuf, Failure> {
        let root = self.root.join(host.id.as_str());
        fs_err::create_dir_all(root.join("home")).map_err(|error| broken(&error))?;
        Ok(root)
    }

    /// A call that sees nothing of the user's.
    fn call_of(&self, program: &Utf8Path, root: &Utf8Path) -> Call {
        Call::new(program.as_str())
            .in_empty_env()
            .env(env::PATH.name, &self.path)
            .env(env::HOME.name, root.join("home"))
            .cwd(root)
    }

    fn session<'a>(
        &'a self,
        program: &'a Utf8Path,
        client: &dyn Client,
        events: &'a [&'a str],
    ) -> Session<'a> {
        Session {
            program,
            ours: &self.ours,
            server: notes::COMMAND,
            path: &self.path,
            cargo: &self.cargo,
            // Not every host has a file in the workspace for everything.
            scope: match client.scopes().contains(&self.scope) {
                true => self.scope,
                false => Scope::Global,
            },
            servers: self.servers,
            hosts: self.hosts.as_deref(),
            events,
            deadline: self.deadline,
            network: if self.shared.is_none() { Network::Own } else { Network::Shared },
        }
    }
}

fn utf8(path: std::io::Result<PathBuf>) -> Result<Utf8PathBuf, Failure> {
    let path = path.map_err(|error| broken(&error))?;
    Utf8PathBuf::from_path_buf(path).map_err(|path| {
        Failure::new(ErrorKind::Usage, format!("`{}` is not UTF-8", path.display()))
    })
}

/// Why it came to no session.
fn words(error: &ProbeError) -> String {
    match error {
        ProbeError::Ours { said, .. } => format!("{error}: {said}"),
        ProbeError::Sample(source) => format!("{error}: {source}"),
        ProbeError::Process(_) => error.to_string(),
    }
}
