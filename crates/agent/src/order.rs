//! From a search to the directories that are read, in order.

use agents_plugin::skills::SkillOrigin;
use agents_system::{
    finding::{Finding, Place},
    fingerprint::Inputs,
};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    definition::{Dialect, Source},
    installed::installed,
    search::{Climb, Family, FileKind, Search},
    shelf::{Shelf, ShelfState},
};

/// The directories to read, and those that are not.
#[derive(Debug, Default)]
pub(crate) struct Order {
    pub(crate) shelves: Vec<(Shelf, Option<ShelfState>)>,
    /// The nearest project directory of the first family that has one.
    pub(crate) project_dir: Option<Utf8PathBuf>,
    pub(crate) findings: Vec<Finding>,
    /// Where each directory that is read really is.
    seen: Vec<(Utf8PathBuf, Utf8PathBuf)>,
}

/// Everything but what was named on the command line.
pub(crate) fn order(search: &Search, inputs: &mut Inputs) -> Order {
    let mut order = Order::default();
    let (ways, repository) = way_up(search, inputs);
    for family in &search.families {
        if let Some((dir, base)) = nearest(family.project.as_deref(), &ways, inputs) {
            let root = repository.as_deref().unwrap_or(&base);
            order.project_dir.get_or_insert_with(|| dir.clone());
            order.add(shelf(dir, Source::Project, family, Some(root)), inputs);
        }
        if let Some(dir) = &family.user {
            order.add(shelf(dir.clone(), Source::User, family, None), inputs);
        }
    }
    for brought in &search.plugins {
        let source = match &brought.origin {
            SkillOrigin::Crate { name, version } => {
                Source::Crate(name.to_string(), version.to_string())
            }
            // What the workspace itself brings is the project's, however it is reached.
            SkillOrigin::Member { .. } => Source::Project,
            SkillOrigin::Path { .. } | SkillOrigin::Git { .. } => {
                Source::Plugin(brought.plugin.name.to_string())
            }
        };
        let shelf = Shelf {
            path: brought.dir.clone(),
            source,
            family: format!("plugin {}", brought.plugin.name),
            files: plugin_files(),
            root: Some(brought.root.clone()),
        };
        order.add(shelf, inputs);
    }
    for plugin in installed(&search.plugin_lists, &search.cwd, inputs, &mut order.findings) {
        let shelf = Shelf {
            path: plugin.dir.join(search.folder.word()),
            family: format!("plugin {}", plugin.id),
            source: Source::Plugin(plugin.id),
            files: vec![FileKind { suffix: ".md".to_owned(), dialect: Dialect::Claude }],
            root: Some(plugin.dir.canonicalize_utf8().unwrap_or(plugin.dir)),
        };
        order.add(shelf, inputs);
    }
    order
}

/// Plugins may bring what any host can read; the suffix says what it is.
fn plugin_files() -> Vec<FileKind> {
    let kinds = [
        (".md", Dialect::Ours),
        (".agent.md", Dialect::Copilot),
        (".toml", Dialect::Codex),
        (".json", Dialect::Kiro),
    ];
    kinds.map(|(suffix, dialect)| FileKind { suffix: suffix.to_owned(), dialect }).to_vec()
}

fn shelf(path: Utf8PathBuf, source: Source, family: &Family, root: Option<&Utf8Path>) -> Shelf {
    let root = root.map(|it| it.canonicalize_utf8().unwrap_or_else(|_| it.to_owned()));
    Shelf { path, source, family: family.name.clone(), files: family.files.clone(), root }
}

impl Order {
    fn add(&mut self, shelf: Shelf, inputs: &mut Inputs) {
        let real = shelf.path.canonicalize_utf8().ok();
        let state = match (&real, &shelf.root) {
            (Some(real), Some(root)) if !real.starts_with(root) => {
                let message = format!("the directory leads out of `{root}`; it is not read");
                self.findings.push(Finding::warning(message).at(Place::file(&shelf.path)));
                Some(ShelfState::LeadsOut)
            }
            (Some(real), _) => {
                let known = self.seen.iter().find(|(known, _)| known == real);
                known.map(|(_, first)| ShelfState::SameAs(first.clone()))
            }
            (None, _) => None,
        };
        match (real, &state) {
            (Some(real), None) => self.seen.push((real, shelf.path.clone())),
            // It is a link, which may lead elsewhere tomorrow.
            (_, Some(_)) => drop(inputs.list(&shelf.path)),
            (None, None) => {}
        }
        self.shelves.push((shelf, state));
    }
}

/// The directories that may hold a project's, the nearest first, and the root of the repository.
fn way_up(search: &Search, inputs: &mut Inputs) -> (Vec<Utf8PathBuf>, Option<Utf8PathBuf>) {
    let real_home = search.home.canonicalize_utf8().ok();
    let is_home = |dir: &Utf8Path| *dir == search.home || Some(dir) == real_home.as_deref();
    let mut ways = Vec::new();
    let mut repository = None;
    for dir in search.cwd.ancestors().take_while(|dir| !is_home(dir)) {
        if repository.is_none() && inputs.exists(&dir.join(".git")) {
            repository = Some(dir.to_owned());
        }
        let further = match search.climb {
            Climb::Nowhere => ways.is_empty(),
            Climb::ToRepository | Climb::OutOfRepository => true,
        };
        if further {
            ways.push(dir.to_owned());
        }
        if repository.is_some() && search.climb != Climb::OutOfRepository {
            break;
        }
    }
    // Outside of it, nothing is held together by it.
    let repository = repository.filter(|_| search.climb != Climb::OutOfRepository);
    (ways, repository)
}

/// The nearest directory of that name, and on which level it was found.
fn nearest(
    project: Option<&Utf8Path>,
    ways: &[Utf8PathBuf],
    inputs: &mut Inputs,
) -> Option<(Utf8PathBuf, Utf8PathBuf)> {
    let project = project?;
    for base in ways {
        let dir = base.join(project);
        if !inputs.exists(&dir) {
            continue;
        }
        if dir.is_dir() {
            return Some((dir, base.clone()));
        }
        // A file in its place: remembered in a way that is looked at again.
        let _ = inputs.list(&dir);
    }
    None
}
