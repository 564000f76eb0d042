//! What should be where.

use std::rc::Rc;

use agents_host::{
    Event, Host, HostId, Roots, Scope,
    hooks::{OUR_NAME, Owned, discovery_skill, mark, registrations},
    host::FileFormat,
    skill_dirs,
};
use agents_plugin::{
    config::Registration,
    manifest::McpServer,
    predicate::Matched,
    skills::{Skill, SkillName, SkillTree},
};
pub use agents_system::cache::hex;
use agents_system::{
    cache::digest,
    edit::{self, Format, KeyPath},
    finding::{Finding, Severity},
    ledger::{Part, Share, What},
};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::facts::IGNORE_FILE;

/// Everything that hosts should find.
#[derive(Debug, Default)]
pub struct Desired {
    /// Skills, one for each directory that should hold it.
    pub skills: Vec<DesiredSkill>,
    /// Parts of files: MCP servers and registrations of hooks, one for each file that should have it.
    pub parts: Vec<DesiredPart>,
    /// Files that are ours as a whole.
    pub files: Vec<DesiredFile>,
}

/// A skill in one directory of skills.
#[derive(Debug, Clone)]
pub struct DesiredSkill {
    /// The directory of skills.
    pub dir: Utf8PathBuf,
    /// The hosts that read it.
    pub hosts: Vec<HostId>,
    /// Its name.
    pub name: SkillName,
    /// The name of its directory where the plain one is taken.
    pub suffixed: String,
    /// Its own directory.
    pub source: Utf8PathBuf,
    /// What it consists of.
    pub files: SkillFiles,
    /// Of that.
    pub digest: String,
    /// Where it comes from, in words.
    pub from: String,
}

/// Where the files of a skill are taken from, if they have to be written.
#[derive(Debug, Clone)]
pub enum SkillFiles {
    /// They are at hand.
    Held(Rc<SkillTree>),
    /// They are read when they are needed.
    OnDisk {
        /// The directory of the skill.
        dir: Utf8PathBuf,
        /// The tree that no link in it leads out of.
        root: Utf8PathBuf,
    },
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct DesiredPart {
    /// The host that reads the file.
    pub host: HostId,
    /// The file.
    pub file: Utf8PathBuf,
    /// How it is written.
    pub format: Format,
    /// The key.
    pub at: KeyPath,
    /// How much of what is there is ours.
    pub share: Share,
    /// What should be there, as the host wants it.
    pub value: Value,
    /// What it is.
    pub what: What,
    /// Its name.
    pub name: String,
    /// Where it comes from, in words.
    pub from: String,
}

/// A file that is ours as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredFile {
    /// The host that reads it.
    pub host: HostId,
    /// Where.
    pub file: Utf8PathBuf,
    /// What should be in it.
    pub text: String,
    /// What it is.
    pub what: What,
    /// Its name.
    pub name: String,
    /// Where it comes from, in words.
    pub from: String,
}

impl DesiredFile {
    /// The file that keeps it from git. Agents stand among files of other people, so their directory as a whole cannot be
    /// ignored; the user's home is not for git anyway, and hook files are for everybody who works there.
    pub(crate) fn ignore_file(&self, workspace: &Utf8Path) -> Option<Utf8PathBuf> {
        let dir = self.file.parent().filter(|dir| dir.starts_with(workspace))?;
        (self.what == What::Agent).then(|| dir.join(IGNORE_FILE))
    }
}

/// Adds the skills, in every directory that some of the hosts reads.
pub fn add_skills(
    desired: &mut Desired,
    skills: &[Skill],
    hosts: &[&Host],
    roots: &Roots<'_>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let dirs = skill_dirs(hosts, Scope::Project, roots);
    for skill in skills {
        findings.extend(skill.content.findings.iter().cloned());
        let Some(digest) = skill.content.digest.as_ref().map(|digest| hex(digest)) else {
            continue;
        };
        let files = SkillFiles::OnDisk { dir: skill.dir.clone(), root: skill.root.clone() };
        for dir in &dirs {
            desired.skills.push(DesiredSkill {
                dir: dir.dir.clone(),
                hosts: dir.hosts.clone(),
                name: skill.name.clone(),
                suffixed: skill.suffixed_name(),
                source: skill.dir.clone(),
                files: files.clone(),
                digest: digest.clone(),
                from: from(&skill.because, skill.plugin.name.as_str()),
            });
        }
    }
    findings
}

/// Adds a server for every host that can use it.
pub fn add_server(
    desired: &mut Desired,
    server: &McpServer,
    from: &str,
    hosts: &[&Host],
    registration: Registration,
    roots: &Roots<'_>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for host in hosts {
        let Some(mcp) = host.mcp.get() else {
            let why = host.mcp.reason().unwrap_or("it has no place for MCP servers");
            findings.push(Finding::new(
                Severity::Note,
                format!("{} does not get the MCP server `{}`: {why}", host.name, server.name),
            ));
            continue;
        };
        let Some((scope, file)) = mcp_file(host, registration, roots) else { continue };
        match mcp.entry(scope, server) {
            Ok(value) => desired.parts.push(DesiredPart {
                host: host.id.clone(),
                file,
                format: match mcp.format {
                    FileFormat::Json => Format::Json,
                    FileFormat::Toml => Format::Toml,
                    FileFormat::Yaml => Format::Yaml,
                },
                at: KeyPath::from(mcp.key_path(&server.name)),
                share: Share::Key,
                value,
                what: What::Server,
                name: server.name.clone(),
                from: from.to_owned(),
            }),
            Err(unsupported) => findings.push(Finding::warning(format!(
                "{} does not get the MCP server `{}`: {unsupported}",
                host.name, server.name
            ))),
        }
    }
    findings
}

/// The events that every host calls us for, whether a plugin has a hook for them or not: hosts read their files when a
/// session begins, and what becomes active during it must find them calling.
pub const ALWAYS: [Event; 4] =
    [Event::PreToolUse, Event::PostToolUse, Event::UserPromptSubmit, Event::SessionStart];

/// An event that a plugin has a hook for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedEvent {
    /// The event.
    pub event: Event,
    /// Only in this host.
    pub host: Option<HostId>,
    /// The hook that wants it, if it is known that one does.
    pub hook: Option<String>,
    /// Where that comes from, in words.
    pub from: String,
}

/// Has every host call us for [`ALWAYS`] and for the events that plugins want.
pub fn add_hooks(
    desired: &mut Desired,
    wanted: &[WantedEvent],
    hosts: &[&Host],
    registration: Registration,
    roots: &Roots<'_>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for host in hosts {
        let mine: Vec<&WantedEvent> =
            wanted.iter().filter(|it| it.host.as_ref().is_none_or(|id| *id == host.id)).collect();
        let Some(hooks) = host.hooks.get() else {
            let why = host.hooks.reason().unwrap_or("it has no hooks");
            findings.extend(mine.iter().filter_map(|it| without(host, it, why)));
            continue;
        };
        let missing = mine.iter().filter(|it| hooks.event(it.event).is_none());
        findings.extend(missing.filter_map(|it| without(host, it, "it has no such event")));
        let Some(file) = hook_file(host, registration, roots) else { continue };
        let events: Vec<Event> = match hooks.shape.is_one_piece() {
            // Another workspace may want other events in the same piece.
            true => Event::ALL.to_vec(),
            false => ALWAYS.into_iter().chain(mine.iter().map(|it| it.event)).collect(),
        };
        if let Some(file) = in_scope(registration, |scope| host.paths(scope, roots).hook_hint) {
            desired.files.push(DesiredFile {
                host: host.id.clone(),
                file,
                text: discovery_skill(),
                what: What::Hook,
                name: "hint".to_owned(),
                from: OUR_NAME.to_owned(),
            });
        }
        for it in registrations(host, &events) {
            let from = mine.iter().find(|wanted| Some(wanted.event) == it.event);
            let from = from.filter(|_| it.event.is_some_and(|event| !ALWAYS.contains(&event)));
            let from = from.map_or(OUR_NAME, |it| &it.from).to_owned();
            let name = it.event.map_or("every event", Event::kebab).to_owned();
            let (host, file, what) = (host.id.clone(), file.clone(), What::Hook);
            let share = match it.owned {
                Owned::WholeFile => {
                    let text = it.file_text();
                    desired.files.push(DesiredFile { host, file, text, what, name, from });
                    continue;
                }
                Owned::ListItem => Share::Item { mark: mark(&host) },
                Owned::Key => Share::Key,
                Owned::Scaffold => Share::Scaffold,
            };
            let (format, at, value) = (Format::Json, KeyPath::from(it.at), it.value);
            desired.parts.push(DesiredPart {
                host,
                file,
                format,
                at,
                share,
                value,
                what,
                name,
                from,
            });
        }
    }
    findings
}

fn without(host: &Host, wanted: &WantedEvent, why: &str) -> Option<Finding> {
    let (event, hook) = (wanted.event, wanted.hook.as_ref()?);
    let said = format!("{} does not run the hook `{hook}` for {event}: {why}", host.name);
    Some(Finding::new(Severity::Note, said))
}

/// The file to register hooks in. Where the host listens to another one only as long as its main one is missing, and that
/// other one has hooks, ours go there: a new main file would silence them.
fn hook_file(host: &Host, registration: Registration, roots: &Roots<'_>) -> Option<Utf8PathBuf> {
    let container = KeyPath::from(host.hooks.get()?.container.clone());
    let has_hooks = |file: &Utf8PathBuf| {
        let text = fs_err::read_to_string(file).unwrap_or_default();
        let document = edit::read(Format::Json, &text).unwrap_or_default();
        Part::find(&container, &document).is_some()
    };
    in_scope(registration, |scope| {
        let paths = host.paths(scope, roots);
        let main = paths.hook_file?;
        let fallback = paths.hook_file_fallback.filter(|file| !main.exists() && has_hooks(file));
        Some(fallback.unwrap_or(main))
    })
}

/// The file of the wanted scope; a host without one in the workspace gets its entry in the user's.
fn mcp_file(
    host: &Host,
    registration: Registration,
    roots: &Roots<'_>,
) -> Option<(Scope, Utf8PathBuf)> {
    in_scope(registration, |scope| {
        let paths = host.paths(scope, roots);
        let instead = paths.mcp_file_instead.into_iter().find(|file| file.exists());
        Some((scope, instead.or(paths.mcp_file)?))
    })
}

/// What there is in the wanted scope, or else in the other one.
fn in_scope<T>(registration: Registration, find: impl Fn(Scope) -> Option<T>) -> Option<T> {
    match registration {
        Registration::Project => find(Scope::Project).or_else(|| find(Scope::User)),
        Registration::User => find(Scope::User).or_else(|| find(Scope::Project)),
    }
}

impl DesiredSkill {
    /// Its directory under this name.
    #[must_use]
    pub fn slot(&self, name: &str) -> Utf8PathBuf {
        self.dir.join(name)
    }
}

impl SkillFiles {
    /// The files, if they are still those that the digest is of.
    pub fn load(&self, digest: &str) -> Result<Rc<SkillTree>, Box<Finding>> {
        let tree = match self {
            Self::Held(tree) => Rc::clone(tree),
            Self::OnDisk { dir, root } => {
                let (tree, mut findings) = SkillTree::read(dir, root);
                let unreadable = || Finding::error("not written: its source cannot be read");
                tree.map(Rc::new).ok_or_else(|| findings.pop().unwrap_or_else(unreadable))?
            }
        };
        if hex(&tree.digest()) == digest {
            return Ok(tree);
        }
        let finding = Finding::error("not written: its source changed while we were at it");
        Err(Box::new(finding.hint("run `cargo agents sync` again")))
    }
}

/// The crate that something applies because of, or else the plugin that brings it.
#[must_use]
pub fn from(because: &[Matched], plugin: &str) -> String {
    match because.first() {
        Some((name, version)) => format!("{name} {version}"),
        None => plugin.to_owned(),
    }
}

/// Of a file that is ours as a whole.
#[must_use]
pub fn digest_of(text: &str) -> String {
    hex(&digest(text.as_bytes()))
}
