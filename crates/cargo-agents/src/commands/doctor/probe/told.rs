//! What `doctor --probe` says: a row for each host as soon as it is known, then what is wrong and what to do.

use agents_host::Host;
use agents_probe::{
    quiet::{self, Quiet},
    seen::{Seen, Thing},
    session::Outcome,
};
use anstyle::AnsiColor;
use camino::Utf8PathBuf;
use semver::Version;
use serde::Serialize;

use super::Laboratory;
use crate::{commands::doctor::colored, failure::Failure, output::Output};

/// `cargo agents doctor --probe --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ProbeDocument {
    /// Whether every host that was started has loaded everything, and let go of it
    loaded: bool,
    network: NetworkView,
    /// Where MCP servers and hooks were registered: `hook-scope`
    scope: &'static str,
    /// As what MCP servers were registered: `mcp-register`
    servers: &'static str,
    hosts: Vec<Probed>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct NetworkView {
    /// Whether hosts could reach nobody but the scripted model
    own: bool,
    /// Why they could
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// What is known about one host.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Probed {
    host: String,
    /// Its name for people
    name: String,
    pub(super) state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub(super) program: Option<Utf8PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    /// How long it took
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seconds: Option<u64>,
    things: Vec<ThingView>,
    /// Events that the host has, and that were not asked for
    unasked: Vec<UnaskedView>,
    /// Why the host did not run to a good end, if it did not
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
    /// What to do about what is not loaded
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// What became of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    /// It was started and asked the model.
    Probed,
    /// It was started and asked the model nothing.
    NoSession,
    /// Its program is not on `PATH`.
    NotInstalled,
    /// It is not known how to start it without a terminal.
    NotKnown,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct UnaskedView {
    event: &'static str,
    /// Why one prompt without a terminal does not bring it about
    why: &'static str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ThingView {
    /// What was looked at, in a word: `skill`, `context`, `tool`, `answer`, `deny`, `reason`, `others`, `agent`, `task`, `events`, `clean` or `alone`
    thing: &'static str,
    /// The same in a few words
    meaning: &'static str,
    /// Whether it is so
    loaded: bool,
    /// What was seen instead
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<String>,
}

impl Probed {
    /// Nothing is known but the host.
    pub(super) fn new(host: &Host) -> Self {
        Self {
            host: host.id.to_string(),
            name: host.name.clone(),
            state: State::NotInstalled,
            program: None,
            version: None,
            seconds: None,
            things: Vec::new(),
            unasked: Vec::new(),
            trouble: None,
            hint: None,
        }
    }

    /// What came of its session.
    pub(super) fn take(&mut self, outcome: Outcome, proven: &str) {
        self.state = if outcome.requests == 0 { State::NoSession } else { State::Probed };
        self.trouble = outcome.trouble;
        let view = |(thing, seen): (Thing, Seen)| {
            let (loaded, seen) = match seen {
                Seen::Yes => (true, None),
                Seen::No(why) => (false, Some(why)),
            };
            ThingView { thing: thing.word(), meaning: thing.words(), loaded, seen }
        };
        self.things = outcome.seen.into_iter().map(view).collect();
        let unasked = quiet::of_host(&self.host);
        self.unasked = unasked.map(|it| UnaskedView { event: it.event, why: it.why }).collect();
        self.hint = self.is_lost().then(|| self.advice(proven));
    }

    /// It came to no session, for this reason.
    pub(super) fn fail(&mut self, trouble: String, proven: &str) {
        self.state = State::NoSession;
        self.trouble = Some(trouble);
        self.hint = Some(self.advice(proven));
    }

    /// Whether something that we wrote is not loaded, or still there.
    pub(super) fn is_lost(&self) -> bool {
        match self.state {
            State::Probed => self.things.iter().any(|it| !it.loaded),
            State::NoSession => true,
            State::NotInstalled | State::NotKnown => false,
        }
    }

    /// What to do about what is not loaded.
    fn advice(&self, proven: &str) -> String {
        let Self { host, name, .. } = self;
        let version = self.version.as_deref().and_then(|it| Version::parse(it).ok());
        let known = Version::parse(proven).ok();
        let is_later =
            |it: &ThingView| [Thing::Clean.word(), Thing::Alone.word()].contains(&it.thing);
        match (version, known) {
            _ if self.state == State::NoSession => {
                format!("see whether `{host}` runs by itself; `--timeout` gives it longer")
            }
            // The host has done its part.
            _ if self.things.iter().filter(|it| !it.loaded).all(is_later) => {
                "this is a bug in cargo agents: please report it with what `--json` prints"
                    .to_owned()
            }
            (Some(version), Some(known)) if version < known => {
                format!("update {name}: {known} is known to load everything")
            }
            (Some(version), Some(known)) if version > known => format!(
                "{version} is newer than {known}, which is known to load everything: look for a newer cargo agents; until then `hosts.toml` can say where this version looks"
            ),
            _ => format!(
                "{proven} is known to load everything: look for settings of {name} for all users of this machine, which `--probe` cannot leave out"
            ),
        }
    }
}

const HOST: usize = 11;
const VERSION: usize = 12;

/// What stands above the rows.
pub(super) fn head(output: &Output, laboratory: &Laboratory) -> Result<(), Failure> {
    if let Some(why) = &laboratory.shared
        && !output.is_json()
    {
        output.talk(&format!(
            "hosts share your network ({why}): they are told to call nobody but the scripted model, and nothing keeps them from it"
        ));
    }
    if output.is_json() || output.is_quiet() {
        return Ok(());
    }
    let words: Vec<&str> = Thing::ALL.iter().map(|it| it.word()).collect();
    output.line(format!("{:HOST$}{:VERSION$}{}", "host", "version", words.join("  ")))?;
    output.flush()
}

/// A host that is there, as soon as it is known.
pub(super) fn row(output: &Output, one: &Probed) -> Result<(), Failure> {
    if output.is_json() || one.state == State::NotInstalled {
        return Ok(());
    }
    let version = one.version.as_deref().unwrap_or("?");
    let cells: Vec<String> = match one.state {
        State::NotKnown => vec!["not known how to start it without a terminal".to_owned()],
        State::NoSession => vec![colored("no session", AnsiColor::Red, output)],
        State::Probed | State::NotInstalled => {
            one.things.iter().map(|it| cell(output, it)).collect()
        }
    };
    let version = if one.state == State::NotKnown { "" } else { version };
    let line = format!("{:HOST$}{version:VERSION$}{}", one.host, cells.join("  "));
    output.line(line.trim_end())?;
    output.flush()
}

fn cell(output: &Output, thing: &ThingView) -> String {
    let (word, color) =
        if thing.loaded { ("yes", AnsiColor::Green) } else { ("NO", AnsiColor::Red) };
    // Colours have no width.
    let room = " ".repeat(thing.thing.len().saturating_sub(word.len()));
    colored(word, color, output) + &room
}

/// What is wrong and what to do; all of it, for programs.
pub(super) fn end(
    output: &Output,
    laboratory: &Laboratory,
    probed: Vec<Probed>,
) -> Result<(), Failure> {
    if output.is_json() {
        let why = laboratory.shared.clone();
        return output.document(&ProbeDocument {
            loaded: !probed.iter().any(Probed::is_lost),
            network: NetworkView { own: why.is_none(), why },
            scope: laboratory.scope.word(),
            servers: laboratory.servers.word(),
            hosts: probed,
        });
    }
    for one in &probed {
        problems(output, one)?;
    }
    let of_state = |state| probed.iter().filter(move |it| it.state == state);
    let missing: Vec<&str> = of_state(State::NotInstalled).map(|it| it.host.as_str()).collect();
    if !missing.is_empty() {
        output.line(format!("not installed: {}", missing.join(", ")))?;
    }
    for one in quiet::ALL {
        unasked(output, one, &probed)?;
    }
    let things = || probed.iter().flat_map(|it| &it.things);
    let (all, good) = (things().count(), things().filter(|it| it.loaded).count());
    let started = of_state(State::Probed).count() + of_state(State::NoSession).count();
    let hosts = if started == 1 { "1 host".to_owned() } else { format!("{started} hosts") };
    output.line(match all - good {
        0 if started == 0 => "no host was started.".to_owned(),
        0 if !probed.iter().any(Probed::is_lost) => format!("{hosts}, everything is loaded."),
        lost => format!("{hosts}: {lost} of {all} checks failed."),
    })
}

/// What was not asked for, and where.
fn unasked(output: &Output, one: &Quiet, probed: &[Probed]) -> Result<(), Failure> {
    let Quiet { event, hosts, why } = one;
    let started = probed.iter().filter(|it| it.state == State::Probed).map(|it| it.host.as_str());
    let here: Vec<&str> = started.filter(|it| hosts.contains(it)).collect();
    match here.is_empty() {
        true => Ok(()),
        false => output.line(format!("not asked for: {event} of {}: {why}", here.join(", "))),
    }
}

fn problems(output: &Output, one: &Probed) -> Result<(), Failure> {
    if let Some(trouble) = &one.trouble {
        output.line(format!("{}: {trouble}", one.host))?;
    }
    let lost: Vec<&ThingView> = one.things.iter().filter(|it| !it.loaded).collect();
    if one.state == State::Probed {
        for it in &lost {
            let seen = it.seen.as_deref().unwrap_or_default();
            let short: String = seen.chars().take(MOST).collect();
            let rest = if short.len() < seen.len() { " …" } else { "" };
            output.line(format!("{}: failed: {}: {short}{rest}", one.host, it.meaning))?;
        }
    } else if one.trouble.is_none() && one.is_lost() {
        output.line(format!("{}: it asked the model nothing", one.host))?;
    }
    match &one.hint {
        Some(text) => {
            let hint = colored("hint:", AnsiColor::Cyan, output);
            output.line(format!("  {hint} {text}"))
        }
        None => Ok(()),
    }
}

/// As much of what was seen as one reads; `--json` has all of it.
const MOST: usize = 200;
