//! Which programs of a plugin are confined, and becoming one that is: see [`agents_plugin::confine`].

use std::{
    ffi::{OsStr, OsString},
    io::Write as _,
    process::ExitCode,
};

use agents_plugin::{
    config::Config,
    confine::COMMAND,
    consent::{Piece, PieceKind},
    manifest::Needs,
    plugin::Plugin,
};
use agents_system::{
    process::Call,
    sandbox::{self, Availability, Network, Rights},
};

/// What of a plugin's programs is confined. Hosts start MCP servers themselves; everything else is started by us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing.
    Free,
    /// Everything but its MCP servers.
    ExceptServers,
    /// Everything.
    Confined,
}

impl Standing {
    /// The standing of a plugin that brings these pieces.
    pub(super) fn of(config: &Config, plugin: &Plugin, pieces: &[Piece]) -> Self {
        let is_ours = |piece: &&Piece| piece.kind != PieceKind::Server;
        let runs = || pieces.iter().filter(|piece| piece.runs.is_some());
        if !config.sandboxed.includes(&plugin.name, &plugin.origin)
            || !runs().any(|it| is_ours(&it))
        {
            Self::Free
        } else if runs().all(|it| is_ours(&it)) {
            Self::Confined
        } else {
            Self::ExceptServers
        }
    }

    /// What that means, in words.
    pub(super) fn line(self, plugin: &Plugin) -> String {
        if self == Self::Free {
            return "its programs run with your rights, outside any sandbox".to_owned();
        }
        let rest = match self {
            Self::ExceptServers => "; hosts run its MCP servers with your rights, outside of it",
            Self::Free | Self::Confined => "",
        };
        let needs = plugin.manifest().map(|it| it.sandbox.clone()).unwrap_or_default();
        match sandbox::available() {
            Availability::Unavailable(lack) => format!("its programs do not run: {lack}{rest}"),
            Availability::Available => {
                format!("its programs run in a sandbox{}{rest}", besides(&needs))
            }
        }
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
        Ok(()) => Call::new(program).args(args.iter().cloned()).replace().to_string(),
        Err(error) => error.to_string(),
    }
}
