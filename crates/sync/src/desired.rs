//! What should be where.

use std::rc::Rc;

use agents_host::{Host, HostId, Roots, Scope, host::FileFormat, skill_dirs};
use agents_plugin::{
    config::Registration,
    manifest::McpServer,
    predicate::Matched,
    skills::{Skill, SkillName, SkillTree},
};
use agents_system::{
    edit::{Format, KeyPath},
    finding::Finding,
};
use camino::Utf8PathBuf;
use serde_json::Value;

/// Everything that hosts should find.
#[derive(Debug, Default)]
pub struct Desired {
    /// Skills, one for each directory that should hold it.
    pub skills: Vec<DesiredSkill>,
    /// MCP servers, one for each file that should list it.
    pub servers: Vec<DesiredServer>,
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

/// An MCP server in one file.
#[derive(Debug, Clone, PartialEq)]
pub struct DesiredServer {
    /// The host that reads the file.
    pub host: HostId,
    /// The file.
    pub file: Utf8PathBuf,
    /// How it is written.
    pub format: Format,
    /// The key of the server.
    pub at: KeyPath,
    /// The entry, as the host wants it.
    pub value: Value,
    /// The name of the server.
    pub name: String,
    /// Where it comes from, in words.
    pub from: String,
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
                agents_system::finding::Severity::Note,
                format!("{} does not get the MCP server `{}`: {why}", host.name, server.name),
            ));
            continue;
        };
        let Some((scope, file)) = mcp_file(host, registration, roots) else { continue };
        match mcp.entry(scope, server) {
            Ok(value) => desired.servers.push(DesiredServer {
                host: host.id.clone(),
                file,
                format: match mcp.format {
                    FileFormat::Json => Format::Json,
                    FileFormat::Toml => Format::Toml,
                    FileFormat::Yaml => Format::Yaml,
                },
                at: KeyPath::from(mcp.key_path(&server.name)),
                value,
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

/// The file of the wanted scope; a host without one in the workspace gets its entry in the user's.
fn mcp_file(
    host: &Host,
    registration: Registration,
    roots: &Roots<'_>,
) -> Option<(Scope, Utf8PathBuf)> {
    let in_scope = |scope| {
        let paths = host.paths(scope, roots);
        let instead = paths.mcp_file_instead.into_iter().find(|file| file.exists());
        Some((scope, instead.or(paths.mcp_file)?))
    };
    match registration {
        Registration::Project => in_scope(Scope::Project).or_else(|| in_scope(Scope::User)),
        Registration::User => in_scope(Scope::User).or_else(|| in_scope(Scope::Project)),
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
    pub(crate) fn load(&self, digest: &str) -> Result<Rc<SkillTree>, Box<Finding>> {
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

/// Hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}
