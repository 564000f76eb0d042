//! Steps two and three: from a crate to the directories that hold its skills.
//!
//! | `[package.metadata.symposium]` | the skills are in |
//! |---|---|
//! | nothing, or nothing about skills | `skills/` |
//! | `skills = []`, or `defaults.skills = false` | nowhere |
//! | `{ path = "…" }` | that directory of the crate |
//! | `{ crate = { name, version? } }` | wherever that crate says, and so on |
//!
//! A table that is wrong is reported and counts as nothing.

use std::collections::BTreeSet;

use agents_system::finding::{Finding, Place, Severity};
use agents_workspace::{CrateName, Workspace, exactly};
use camino::{Utf8Path, Utf8PathBuf};
use semver::VersionReq;

use super::{
    Why,
    area::{Area, Whose},
    sources::{Locator, NoSources, Sources},
    within::{Closed, Within},
};
use crate::{
    config::Enablement,
    manifest::{
        ContentKind, CrateSkills, DefaultSkills, MANIFEST_FILE, Manifest, Manner, SkillEntry,
        parse::{Parsed, parse_crate_metadata, parse_manifest},
    },
};

/// How many crates may redirect to one another in a row.
pub(super) const MAX_REDIRECTS: usize = 10;

/// Where a crate keeps its skills unless it says otherwise.
const SKILLS_DIR: &str = "skills";

/// What a crate's sources lead to.
#[derive(Debug, Default)]
pub(super) struct Led {
    pub(super) areas: Vec<Area>,
    pub(super) skipped: Vec<(String, Why)>,
    pub(super) findings: Vec<Finding>,
}

/// Follows crates to the directories of their skills.
pub(super) struct Redirects<'a, 'l> {
    pub(super) locator: &'l mut Locator<'a>,
    pub(super) workspace: Option<&'a Workspace>,
    pub(super) enablement: &'a Enablement,
    what: ContentKind,
    /// The crates on the way here, and how each was asked for.
    trail: Vec<Asked>,
    /// Everything that has been asked for.
    asked: BTreeSet<(CrateName, String)>,
    /// Every crate that has been looked at.
    seen: BTreeSet<(CrateName, semver::Version)>,
    led: Led,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Asked {
    name: CrateName,
    requirement: String,
    /// What it turned out to be.
    version: Option<semver::Version>,
}

impl<'a, 'l> Redirects<'a, 'l> {
    pub(super) fn new(
        locator: &'l mut Locator<'a>,
        workspace: Option<&'a Workspace>,
        enablement: &'a Enablement,
        what: ContentKind,
    ) -> Self {
        let (trail, asked, seen) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        Self { locator, workspace, enablement, what, trail, asked, seen, led: Led::default() }
    }

    /// The skills of exactly this version of a crate; `inside` overrides what the crate says about their place.
    pub(super) fn follow(
        mut self,
        name: &CrateName,
        version: &semver::Version,
        inside: Option<&str>,
    ) -> Led {
        let requirement = exactly(version);
        self.visit(name, Some(&requirement), |this, sources| match inside {
            Some(path) => {
                if let Some(within) = this.open(&sources) {
                    this.add(&within, &sources, path, Missing::IsNormal);
                }
            }
            None => this.ask(&sources),
        });
        self.led
    }

    /// What the redirects of a crate that is already known lead to.
    pub(super) fn follow_entries(
        mut self,
        name: &CrateName,
        version: Option<&semver::Version>,
        entries: &[SkillEntry],
    ) -> Led {
        let version = version.cloned();
        self.seen.extend(version.clone().map(|version| (name.clone(), version)));
        let requirement = version.as_ref().map(|it| exactly(it).to_string()).unwrap_or_default();
        self.trail.push(Asked { name: name.clone(), requirement, version });
        for entry in entries {
            if let SkillEntry::Crate { name: target, version: wanted } = entry {
                self.redirect(name, target, wanted.as_deref());
            }
        }
        self.led
    }

    fn visit(
        &mut self,
        name: &CrateName,
        requirement: Option<&VersionReq>,
        look: impl FnOnce(&mut Self, Sources),
    ) {
        let text = requirement.map(ToString::to_string).unwrap_or_default();
        let is_asked = |asked: &Asked| asked.name == *name && asked.requirement == text;
        if self.trail.iter().any(is_asked) {
            return self.led.findings.push(self.cycle(name));
        }
        if !self.asked.insert((name.clone(), text.clone())) {
            return;
        }
        if self.trail.len() >= MAX_REDIRECTS {
            let message = format!(
                "crates redirect their skills to one another more than {MAX_REDIRECTS} deep"
            );
            let finding = Finding::warning(format!("{message}: {}", self.path_to(name)));
            return self.led.findings.push(finding.hint("what lies deeper is left out"));
        }
        if self.enablement.is_disabled(name.as_str()) {
            return self.led.skipped.push((format!("crate {name}"), Why::Disabled));
        }
        let sources = match self.locator.locate(name, requirement) {
            Ok(sources) => sources,
            Err(NoSources::Failed(finding)) => return self.led.findings.push(*finding),
            Err(NoSources::NotFetched) => {
                self.led.findings.push(not_fetched(self.what, &format!("crate `{name}`")));
                return self.led.skipped.push((format!("crate {name}"), Why::NotFetched));
            }
        };
        let Sources { name, version, .. } = &sources;
        if !self.seen.insert((name.clone(), version.clone())) {
            let on_the_way =
                |asked: &Asked| asked.name == *name && asked.version.as_ref() == Some(version);
            if self.trail.iter().any(on_the_way) {
                self.led.findings.push(self.cycle(name));
            }
            return;
        }
        let version = Some(version.clone());
        self.trail.push(Asked { name: name.clone(), requirement: text, version });
        look(self, sources);
        self.trail.pop();
    }

    fn ask(&mut self, sources: &Sources) {
        let Some(within) = self.open(sources) else { return };
        let (listed, defaults) = self.read_manifests(&within, sources);
        let what = || format!("crate {} {}", sources.name, sources.version);
        match (listed, defaults) {
            (CrateSkills::Unsaid, DefaultSkills::On) => {
                self.add(&within, sources, SKILLS_DIR, Missing::IsNormal);
            }
            (CrateSkills::Unsaid, DefaultSkills::Off) => {
                self.led.skipped.push((what(), Why::OptedOut));
            }
            (CrateSkills::Listed(entries), _) => {
                if entries.is_empty() {
                    self.led.skipped.push((what(), Why::OptedOut));
                }
                for entry in entries {
                    match entry {
                        SkillEntry::Path(path) => {
                            self.add(&within, sources, &path, Missing::IsReported);
                        }
                        SkillEntry::Crate { name, version } => {
                            self.redirect(&sources.name, &name, version.as_deref());
                        }
                    }
                }
            }
        }
    }

    fn redirect(&mut self, from: &CrateName, name: &CrateName, version: Option<&str>) {
        let requirement = match version.map(VersionReq::parse).transpose() {
            Ok(requirement) => requirement,
            Err(error) => {
                let text = version.unwrap_or_default();
                let message = format!(
                    "crate `{from}` takes skills from `{name}` in version `{text}`, which means nothing: {error}"
                );
                return self.led.findings.push(Finding::warning(message));
            }
        };
        self.visit(name, requirement.as_ref(), |this, sources| this.ask(&sources));
    }

    fn open(&mut self, sources: &Sources) -> Option<Within> {
        match Within::new(&sources.dir) {
            Ok(within) => Some(within),
            Err(error) => {
                self.led.findings.push(crate::scan::unreadable(&sources.dir, &error));
                None
            }
        }
    }

    fn add(&mut self, within: &Within, sources: &Sources, path: &str, missing: Missing) {
        let what = format!("crate {} {}", sources.name, sources.version);
        let content = self.what.word();
        let place = |finding: Finding| finding.at(Place::file(sources.dir.join("Cargo.toml")));
        match within.enter(&sources.dir.join(path)) {
            Ok(dir) => {
                let whose = whose(self.workspace, within.root(), sources);
                self.led.areas.push(Area { within: within.clone(), dir, whose });
            }
            Err(Closed::Missing) => {
                if missing == Missing::IsReported {
                    let message = format!("{what} has no directory `{path}` for {content}");
                    self.led.findings.push(place(Finding::warning(message)));
                }
                let none = match self.what {
                    ContentKind::Skills => Why::NoSkills,
                    ContentKind::Agents => Why::NoAgents,
                };
                self.led.skipped.push((what, none));
            }
            Err(Closed::Outside) => {
                let message = format!("`{path}` leads out of {what}; its {content} are left out");
                self.led.findings.push(place(Finding::warning(message)));
            }
            Err(Closed::Unreadable(error)) => {
                self.led.findings.push(crate::scan::unreadable(&sources.dir.join(path), &error));
            }
        }
    }

    /// What the crate says, in `Cargo.toml` and in the `SYMPOSIUM.toml` that is laid over it.
    fn read_manifests(
        &mut self,
        within: &Within,
        sources: &Sources,
    ) -> (CrateSkills, DefaultSkills) {
        let name = sources.name.as_str();
        let metadata =
            self.layer(within, "Cargo.toml", |file, text| parse_crate_metadata(file, text, name));
        let own = self.layer(within, MANIFEST_FILE, |file, text| {
            Some(parse_manifest(file, text, Manner::Embedded, Some(name)))
        });
        let joined = match (metadata, own) {
            (Some(lower), Some(upper)) => lower.overlaid_by(upper),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => return (CrateSkills::Unsaid, DefaultSkills::On),
        };
        (joined.crate_skills, joined.default_skills)
    }

    fn layer(
        &mut self,
        within: &Within,
        file: &str,
        parse: impl FnOnce(&Utf8Path, &str) -> Option<Parsed>,
    ) -> Option<Manifest> {
        let file = within.root().join(file);
        let text = match within.read(&file) {
            Ok(text) => text?,
            Err(finding) => {
                self.led.findings.push(*finding);
                return None;
            }
        };
        let parsed = parse(&file, &text)?;
        if parsed.manifest.is_none() {
            // Whoever depends on the crate cannot fix it.
            let errors = parsed.findings.into_iter().map(|finding| Finding {
                severity: finding.severity.min(Severity::Warning),
                hint: Some("what the file says about skills does not count".to_owned()),
                ..finding
            });
            self.led.findings.extend(errors);
        }
        parsed.manifest
    }

    fn cycle(&self, name: &CrateName) -> Finding {
        let message = "crates redirect their skills in a circle";
        Finding::warning(format!("{message}: {}", self.path_to(name)))
            .hint("the last step is left out")
    }

    fn path_to(&self, name: &CrateName) -> String {
        let on_the_way = self.trail.iter().map(|asked| asked.name.as_str());
        on_the_way.chain([name.as_str()]).collect::<Vec<_>>().join(" -> ")
    }
}

/// What a directory that is not there means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// Most crates have none.
    IsNormal,
    /// Somebody said that it is there.
    IsReported,
}

/// A crate that is a member of the workspace is the workspace's own, whoever names it.
fn whose(workspace: Option<&Workspace>, dir: &Utf8Path, sources: &Sources) -> Whose {
    let real = |path: &Utf8Path| path.canonicalize_utf8().ok();
    let member = workspace.filter(|workspace| {
        let mut members = workspace.members.iter();
        members
            .any(|member| member.name == sources.name && real(&member.dir).as_deref() == Some(dir))
    });
    match member {
        Some(workspace) => Whose::Member {
            root: real(&workspace.root).unwrap_or_else(|| Utf8PathBuf::from(&workspace.root)),
        },
        None => Whose::Crate { name: sources.name.clone(), version: sources.version.clone() },
    }
}

pub(super) fn not_fetched(content: ContentKind, what: &str) -> Finding {
    let hint = match content {
        ContentKind::Skills => "`cargo agents sync` fetches them",
        ContentKind::Agents => "`cargo agents agent list` fetches them",
    };
    let message = format!("the {} of {what} have not been fetched", content.word());
    Finding::warning(message).hint(hint)
}
