//! A home and a project to fill.

use agents_agent::{Agents, DiscoverError, Search, Standing, discover, search::Bundled};
use agents_host::{Roots, hosts};
use agents_testkit::scratch::Scratch;
use camino::Utf8PathBuf;

/// `home` with a repository `home/work/app` in it, where the user stands in `home/work/app/src`.
pub(crate) struct Tree {
    pub(crate) scratch: Scratch,
    pub(crate) search: Search,
}

/// The text of a definition.
pub(crate) fn agent(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n")
}

impl Tree {
    pub(crate) fn new() -> Self {
        let scratch = Scratch::new();
        for dir in ["home/work/app/.git", "home/work/app/src"] {
            fs_err::create_dir_all(scratch.path(dir)).unwrap();
        }
        let (hosts, findings) = hosts(None);
        assert!(findings.is_empty());
        let home = scratch.path("home");
        let roots = Roots { home: &home, workspace: None, env: &|_| None };
        let mut search = Search::new(&scratch.path("home/work/app/src"), &hosts, &roots);
        search.bundled = Bundled::Excluded;
        Self { scratch, search }
    }

    /// An agent of this name; its description is where it stands.
    pub(crate) fn agent(&self, file: &str, name: &str) -> Utf8PathBuf {
        self.scratch.write(file, agent(name, file))
    }

    pub(crate) fn find(&self) -> Agents {
        self.try_find().unwrap()
    }

    pub(crate) fn try_find(&self) -> Result<Agents, DiscoverError> {
        discover(&self.search)
    }

    /// `name: where it comes from`, in order.
    pub(crate) fn shown(&self) -> Vec<String> {
        shown(&self.find())
    }

    /// Findings, without the path of the scratch directory.
    pub(crate) fn findings(&self) -> Vec<String> {
        let root = format!("{}/", self.scratch.root());
        let findings = self.find().all_findings();
        let lines = findings.iter().map(|finding| {
            let place =
                finding.place.as_ref().map(|it| format!("{}: ", it.file)).unwrap_or_default();
            format!("{place}{}", finding.message).replace(&root, "")
        });
        lines.collect()
    }
}

pub(crate) fn shown(agents: &Agents) -> Vec<String> {
    agents.iter().map(|it| format!("{}: {}", it.name, it.description)).collect()
}

/// The standing of every candidate for a name.
pub(crate) fn standings(agents: &Agents, name: &str) -> Vec<Standing> {
    agents.chain(name).map(|it| it.standing).collect()
}
