//! Running a plugin's hook in a sandbox.
//!
//! A process can only confine itself. So what is started is this program again, as
//! `cargo-agents __sandboxed <rights> -- <program> <arguments>`: it gives up everything but the rights, and becomes the
//! program. Where that is not possible nothing runs.

use std::{
    ffi::{OsStr, OsString},
    io::Write as _,
    process::ExitCode,
};

use agents_install::Runnable;
use agents_plugin::{
    config::Config,
    consent::{Piece, PieceKind},
    hooks::{ActiveHook, Confinement},
    manifest::Needs,
    plugin::Plugin,
};
use agents_system::{
    dirs::{self, Dirs},
    finding::Finding,
    process::{Call, find_program},
    sandbox::{self, Availability, Network, Rights},
};
use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

const COMMAND: &str = "__sandboxed";

/// What of a plugin's programs is confined. Hosts start MCP servers themselves, and commands are typed by the user: only
/// hooks can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing.
    Free,
    /// Its hooks, and it has other programs.
    OnlyHooks,
    /// Everything.
    Confined,
}

impl Standing {
    /// The standing of a plugin that brings these pieces.
    pub(super) fn of(config: &Config, plugin: &Plugin, pieces: &[Piece]) -> Self {
        let is_hook = |piece: &&Piece| piece.kind == PieceKind::Hook;
        let runs = || pieces.iter().filter(|piece| piece.runs.is_some());
        if !config.sandboxed.includes(&plugin.name, &plugin.origin)
            || !runs().any(|it| is_hook(&it))
        {
            Self::Free
        } else if runs().all(|it| is_hook(&it)) {
            Self::Confined
        } else {
            Self::OnlyHooks
        }
    }

    /// What that means, in words.
    pub(super) fn line(self, plugin: &Plugin) -> String {
        if self == Self::Free {
            return "its programs run with your rights, outside any sandbox".to_owned();
        }
        let rest = match self {
            Self::OnlyHooks => "; its other programs run with your rights, outside of it",
            Self::Free | Self::Confined => "",
        };
        if let Availability::Unavailable(lack) = sandbox::available() {
            return format!("its hooks do not run: {lack}{rest}");
        }
        let needs = plugin.manifest().map(|it| it.sandbox).unwrap_or_default();
        format!("its hooks run in a sandbox{}{rest}", besides(&needs))
    }
}

/// What a plugin may do besides what all may.
fn besides(needs: &Needs) -> String {
    let paths = |word: &str, paths: &[String]| {
        let quoted: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
        (!quoted.is_empty()).then(|| format!("{word} {}", quoted.join(", ")))
    };
    let network = (needs.network == Network::Allowed).then(|| "uses the network".to_owned());
    let parts = [paths("reads", &needs.read), paths("writes", &needs.write), network];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!(" that {}", parts.join(" and ")) }
}

/// A call that is ready to be made, and what has to be there meanwhile.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) call: Call,
    /// The only directory that a confined program can always write to; it goes with this value.
    pub(super) temporary: Option<TempDir>,
    pub(super) findings: Vec<Finding>,
}

/// The call of a hook, confined if it is to be.
pub(super) fn prepare(
    active: &ActiveHook,
    runnable: &Runnable,
    dirs: &Dirs,
) -> Result<Prepared, String> {
    match active.confinement {
        Confinement::None => {
            Ok(Prepared { call: runnable.call(), temporary: None, findings: Vec::new() })
        }
        Confinement::Sandbox => confine(active, runnable, dirs, sandbox::available()),
    }
}

fn confine(
    active: &ActiveHook,
    runnable: &Runnable,
    dirs: &Dirs,
    available: Availability,
) -> Result<Prepared, String> {
    let mut findings = Vec::new();
    match available {
        Availability::Unavailable(lack) => return Err(lack.to_string()),
        Availability::FilesOnly if active.needs.network == Network::Denied => {
            let said = format!(
                "the sandbox of `{}` does not keep it from the network: that needs Linux 6.7",
                active.plugin
            );
            findings.push(Finding::warning(said));
        }
        Availability::FilesOnly | Availability::Whole => {}
    }
    let us = std::env::current_exe().map_err(|error| error.to_string())?;
    let temporary =
        tempfile::Builder::new().prefix("cargo-agents-").tempdir().map_err(|it| it.to_string())?;
    let room = Utf8Path::from_path(temporary.path())
        .ok_or("the path of the temporary directory is not UTF-8")?;
    let rights = rights(active, runnable, dirs, room);
    let rights = serde_json::to_string(&rights).map_err(|error| error.to_string())?;
    let call = runnable.call().through(us, [COMMAND, &rights]).env("TMPDIR", room.as_str());
    Ok(Prepared { call, temporary: Some(temporary), findings })
}

fn rights(active: &ActiveHook, runnable: &Runnable, dirs: &Dirs, room: &Utf8Path) -> Rights {
    let workspace = active.workspace.as_deref();
    let Needs { read, write, network } = &active.needs;
    let mut readable = sandbox::programs(*network);
    readable.extend(agents_install::cache::homes(&dirs.cache));
    readable.push(active.dir.clone());
    readable.extend(workspace.map(Utf8Path::to_owned));
    readable.extend(runnable.path_front.iter().cloned());
    // A program of the user's own may be anywhere.
    readable.extend(find_program(&runnable.program));
    readable.extend(declared(read, workspace));
    let mut writable = vec![Utf8PathBuf::from("/dev/null"), room.to_owned()];
    writable.extend(declared(write, workspace));
    Rights { read: readable, write: writable, network: *network }
}

/// Outside of a workspace, what is relative to it means nothing.
fn declared(paths: &[String], workspace: Option<&Utf8Path>) -> impl Iterator<Item = Utf8PathBuf> {
    paths.iter().filter_map(move |path| match path.strip_prefix("~/") {
        Some(rest) => Some(dirs::home().ok()?.join(rest)),
        None if path.starts_with('/') => Some(path.into()),
        None => Some(workspace?.join(path)),
    })
}

/// The arguments after the name, if this is a call of ours: looked at before anything else is.
pub(crate) fn called(argv: &[OsString]) -> Option<&[OsString]> {
    match argv {
        [_, command, rest @ ..] if command == COMMAND => Some(rest),
        _ => None,
    }
}

/// Confines this process and becomes the program. Returns only if that was not possible; never with 2, which would be
/// a denial.
pub(crate) fn become_program(args: &[OsString]) -> ExitCode {
    let said = match args {
        [rights, dashes, program, args @ ..] if dashes == "--" => enter(rights, program, args),
        _ => "a program to confine is missing".to_owned(),
    };
    let _ = writeln!(std::io::stderr(), "cargo agents: {said}");
    ExitCode::FAILURE
}

fn enter(rights: &OsStr, program: &OsStr, args: &[OsString]) -> String {
    let rights: Rights = match serde_json::from_slice(rights.as_encoded_bytes()) {
        Ok(rights) => rights,
        Err(error) => return format!("the rights of the sandbox cannot be read: {error}"),
    };
    match sandbox::restrict(&rights) {
        // That the network is open has been said by whoever started us.
        Ok(_) => Call::new(program).args(args.iter().cloned()).replace().to_string(),
        Err(error) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use agents_plugin::{
        hooks::Certainty,
        manifest::{Manner, parse::parse_manifest},
        plugin::Origin,
    };
    use agents_system::sandbox::Lack;

    use super::*;

    fn active(text: &str) -> ActiveHook {
        let hook = "[[hooks]]\nname = \"h\"\nevent = \"Stop\"\ncommand = { script = \"h.sh\" }\n";
        let text = format!("name = \"demo\"\ncrates = [\"*\"]\n{hook}{text}");
        let parsed = parse_manifest("SYMPOSIUM.toml".into(), &text, Manner::Registry, None);
        let manifest = parsed.manifest.unwrap();
        ActiveHook {
            plugin: manifest.name,
            origin: Origin::Registry("r".to_owned()),
            dir: "/plugins/demo".into(),
            because: Vec::new(),
            hook: manifest.hooks[0].clone(),
            installations: manifest.installations,
            certainty: Certainty::Certain,
            confinement: Confinement::Sandbox,
            needs: manifest.sandbox,
            workspace: Some("/ws".into()),
        }
    }

    fn runnable() -> Runnable {
        Runnable {
            program: "sh".into(),
            args: vec!["/plugins/demo/h.sh".to_owned()],
            env: Vec::new(),
            path_front: Vec::new(),
            version: None,
            commit: None,
            findings: Vec::new(),
        }
    }

    fn confined(text: &str, available: Availability) -> Result<Prepared, String> {
        let dirs = Dirs::below(Utf8Path::new("/ours"));
        confine(&active(text), &runnable(), &dirs, available)
    }

    #[test]
    fn where_nothing_can_be_confined_nothing_runs() {
        for lack in [Lack::System, Lack::Kernel] {
            let said = confined("", Availability::Unavailable(lack)).unwrap_err();
            assert!(said.starts_with("the sandbox is not available here"), "{said}");
        }
    }

    #[test]
    fn an_open_network_is_said_where_it_should_be_closed() {
        let said = |text, available| confined(text, available).unwrap().findings.len();
        assert_eq!(said("", Availability::Whole), 0);
        assert_eq!(said("", Availability::FilesOnly), 1);
        assert_eq!(said("[sandbox]\nnetwork = true\n", Availability::FilesOnly), 0);
    }

    #[test]
    fn only_what_is_declared_is_granted_besides_what_all_have() {
        let text = "[sandbox]\nread = [\"/srv\"]\nwrite = [\"target/x\"]\n";
        let dirs = Dirs::below(Utf8Path::new("/ours"));
        let rights = |active: &ActiveHook| rights(active, &runnable(), &dirs, "/room".into());
        let mut active = active(text);
        let inside = rights(&active);
        assert_eq!(inside.write, ["/dev/null", "/room", "/ws/target/x"]);
        for path in ["/usr", "/plugins/demo", "/ws", "/srv", "/ours/cache/installations"] {
            assert!(inside.read.contains(&path.into()), "{path}");
        }
        for path in ["/", "/home", "/dev", "/tmp", "/run", "/ours"] {
            assert!(!inside.read.contains(&path.into()), "{path}");
        }
        active.workspace = None;
        let outside = rights(&active);
        assert_eq!(outside.write, ["/dev/null", "/room"]);
        assert!(!outside.read.contains(&"/ws".into()));
    }
}
