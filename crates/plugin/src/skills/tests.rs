mod agent_dirs;
mod content;
mod links;
mod names;
mod origins;
mod places;
mod redirects;

use agents_install::{
    Update,
    git::{Checkouts, GitAddress},
};
use agents_system::{dirs::Dirs, progress::Progress};
use agents_testkit::{repo::Repo, sample::Sample, scratch::write, vendor};
use agents_workspace::{Cargo, Network};
use camino::Utf8PathBuf;

use super::*;
use crate::testing::with_registries;

/// A workspace, a registry called `r` and whatever else a test adds.
struct World {
    sample: Sample,
}

/// The text of a skill; the body tells equally named ones apart.
fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: about {name}\n---\nthe text of {name}\n")
}

/// A plugin for crates, with one group that takes its skills from them.
fn from_crates(name: &str, crates: &str) -> String {
    format!("name = \"{name}\"\ncrates = [{crates}]\n[[skills]]\nsource = \"crate\"\n")
}

fn metadata(skills: &str) -> String {
    format!("[package.metadata.symposium]\nskills = [{skills}]\n")
}

impl World {
    /// One with a package that depends on these crates.
    fn new(dependencies: &str) -> Self {
        let sample = Sample::new();
        sample.package(".", "app", "0.1.0", &format!("[dependencies]\n{dependencies}"));
        let world = Self { sample };
        world.config("");
        world
    }

    fn config(&self, rest: &str) -> &Self {
        let registry = self.path("registry");
        self.sample.scratch().write(
            "agents/config.toml",
            format!("{rest}\n[defaults]\nsymposium-recommendations = false\n[[registry]]\nname = \"r\"\npath = \"{registry}\"\n"),
        );
        self
    }

    fn path(&self, relative: &str) -> Utf8PathBuf {
        self.sample.scratch().path(relative)
    }

    /// A file of the registry.
    fn registry(&self, relative: &str, text: impl AsRef<str>) -> &Self {
        self.sample.scratch().write(format!("registry/{relative}"), text.as_ref());
        self
    }

    /// A crate that is not on this machine until cargo is asked for it, with skills in these directories.
    fn krate(&self, name: &str, rest: &str, skills: &[(&str, &str)]) -> &Self {
        self.version(name, "1.0.0", rest, skills)
    }

    fn version(&self, name: &str, version: &str, rest: &str, skills: &[(&str, &str)]) -> &Self {
        let dir = self.sample.vendor().krate(name, version, rest, &[("src/lib.rs", "")]);
        for (at, name) in skills {
            write(&dir.join(at).join("SKILL.md"), skill(name));
        }
        self
    }

    fn skills(&self, fetch: Fetch) -> Skills {
        self.skills_with(&vendor::cargo_program(), fetch)
    }

    fn skills_with(&self, cargo: &str, fetch: Fetch) -> Skills {
        self.with_set(cargo, |registries, set, workspace, root| {
            registries.skills(set, workspace, root, fetch)
        })
    }

    fn agents(&self, fetch: Fetch) -> agents::AgentDirs {
        self.with_set(&vendor::cargo_program(), |registries, set, workspace, root| {
            registries.agents(set, workspace, root, fetch)
        })
    }

    fn with_set<T>(
        &self,
        cargo: &str,
        ask: impl FnOnce(&Registries<'_>, &ActiveSet, Option<&Workspace>, &Utf8Path) -> T,
    ) -> T {
        if !self.sample.path("Cargo.lock").exists() {
            self.sample.lock();
        }
        let cargo = Cargo::at(cargo, Network::Allowed).with_home(&self.sample.home());
        let dirs = Dirs::below(&self.path("agents"));
        with_registries(&dirs, &cargo, &[], |registries| {
            let root = self.sample.root();
            let workspace = registries.workspaces.find(&root).unwrap();
            let set = registries.active(workspace.as_ref(), &root, Acquire::Never);
            assert!(
                set.catalog.invalid.iter().all(|it| it.file.as_str().contains("vendor")),
                "{set:?}"
            );
            ask(registries, &set, workspace.as_ref(), &root)
        })
    }

    /// Fetches a repository.
    fn checkout(&self, url: &str) {
        let (cache, progress) = (self.path("agents/cache"), Progress::silent());
        let checkouts = Checkouts::new(&cache, Network::Allowed, &progress);
        checkouts.checkout(&GitAddress::parse(url).unwrap(), Update::None).unwrap();
    }

    /// Skills, what was skipped and findings, one per line, once everything has been fetched.
    fn shown(&self) -> String {
        self.show(&self.skills(Fetch::IfMissing))
    }

    fn show(&self, all: &Skills) -> String {
        let mut lines = Vec::new();
        for skill in &all.skills {
            let plugins: Vec<&str> = skill.plugins().map(|it| it.name.as_str()).collect();
            lines.push(format!("{} from {} by {}", skill.name, skill.origin, plugins.join(", ")));
        }
        for Skipped { plugin, what, why } in &all.skipped {
            lines.push(format!("- {plugin}: {what}: {why}"));
        }
        for finding in &all.findings {
            let place = finding.place.as_ref().map(|place| format!("{}: ", place.file));
            let severity = format!("{:?}", finding.severity).to_lowercase();
            lines.push(format!("{severity}: {}{}", place.unwrap_or_default(), finding.message));
        }
        lines.join("\n").replace(&format!("{}/", self.path("").as_str().trim_end_matches('/')), "")
    }
}

#[cfg(unix)]
fn link(to: &str, at: &Utf8PathBuf) {
    fs_err::create_dir_all(at.parent().unwrap()).unwrap();
    fs_err::os::unix::fs::symlink(to, at).unwrap();
}
