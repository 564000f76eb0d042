//! What the program has for whoever asks through a door.

use std::{collections::BTreeMap, sync::Arc};

use agents_agent::{
    AgentDefinition,
    commands::{self, Command, Commands},
};
use agents_plugin::skills::{Skill, SkillTree, TreeKind};
use agents_serve::offer::{FoundCrate, LoadedSkill, Offer, ServerTools, SkillCard, TypedCommand};
use agents_system::dirs::Dirs;
use agents_task::{Surroundings, runner::Unavailable};
use agents_tool::Tool;
use agents_trust::{
    agreement::LockFile,
    compare::{Item, Verdict, compare},
    content::inspect_tree,
    items::Surveyor,
    lock::Hash,
};
use camino::Utf8PathBuf;
use futures_util::future::BoxFuture;

use crate::{
    args::{Flags, WantedCrate},
    commands::{crate_info, door::unavailable, task::place::Place, wanted},
    failure::Failure,
    here::{Here, visit_again},
    settings::Settings,
};

/// The longest text of a skill; everything that a model reads is bounded.
const MAX_TEXT: usize = 200_000;

/// The program where the user stands.
pub(crate) struct Program {
    flags: Flags,
    dirs: Dirs,
    cwd: Utf8PathBuf,
    place: Arc<Place>,
}

/// A skill that may be used, as it was when that was found out.
pub(crate) struct Usable {
    pub(crate) card: SkillCard,
    skill: Skill,
    tree: SkillTree,
}

impl Program {
    pub(crate) fn new(settings: &Settings, place: Place) -> Self {
        // Nothing is brought up to date between two requests, and nobody watches a progress bar.
        let flags = Flags { quiet: true, ..settings.without_update().flags };
        let (dirs, cwd) = (settings.dirs.clone(), settings.cwd.clone());
        Self { flags, dirs, cwd, place: Arc::new(place) }
    }

    /// The commands that can be typed here now; those that cannot be found out are not there.
    fn typed_commands(&self) -> Commands {
        let settings = Settings::with_dirs(&self.flags, self.dirs.clone(), self.cwd.clone());
        let (Ok((hosts, _)), Ok(home)) = (wanted::all_hosts(&settings), wanted::home()) else {
            return Commands::default();
        };
        let roots = wanted::roots(&home, None);
        commands::discover(&commands::search(&self.cwd, &hosts, &roots))
    }

    /// Does something that looks at the disk, or runs cargo, on a thread of its own.
    fn blocking<T: Send + 'static>(
        &self,
        about: &'static str,
        work: impl FnOnce(&Settings) -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, Unavailable>> {
        let (flags, dirs, cwd) = (self.flags.clone(), self.dirs.clone(), self.cwd.clone());
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(move || {
                let settings = Settings::with_dirs(&flags, dirs, cwd);
                work(&settings).map_err(|failure| unavailable(failure, about))
            });
            done.await.unwrap_or_else(|_| {
                Err(Unavailable { message: format!("{about} broke down"), hint: None })
            })
        })
    }
}

impl Offer for Program {
    fn surroundings(&self) -> Arc<dyn Surroundings> {
        Arc::clone(&self.place) as Arc<dyn Surroundings>
    }

    fn place_of(&self, agent: &AgentDefinition) -> String {
        self.place.of(Some(agent))
    }

    fn skills(&self) -> BoxFuture<'_, Result<Vec<SkillCard>, Unavailable>> {
        self.blocking("looking for skills", |settings| {
            visit_again(settings, |here| Ok(usable(here)?.into_iter().map(|it| it.card).collect()))
        })
    }

    fn skill(&self, name: String) -> BoxFuture<'_, Result<LoadedSkill, Unavailable>> {
        let found = self.blocking("loading a skill", move |settings| {
            visit_again(settings, |here| {
                let all = usable(here)?;
                Ok(all.iter().find(|it| it.card.name == name).map(loaded).ok_or(name))
            })
        });
        Box::pin(async move {
            found.await?.map_err(|name| Unavailable {
                message: format!("there is no skill `{name}` here"),
                hint: Some("`skills` without arguments lists all of them".to_owned()),
            })
        })
    }

    fn find_crate(
        &self,
        name: String,
        version: Option<String>,
    ) -> BoxFuture<'_, Result<FoundCrate, Unavailable>> {
        self.blocking("looking for the crate", move |settings| {
            let found = crate_info::find(settings, &WantedCrate { name, version })?;
            Ok(FoundCrate { name: found.name, version: found.version, source: found.source })
        })
    }

    fn commands(&self) -> Vec<Arc<dyn Tool>> {
        self.place.hands().commands()
    }

    fn typed(&self) -> Vec<TypedCommand> {
        let command = |it: Command| TypedCommand { name: it.name, description: it.description };
        self.typed_commands().commands.into_iter().map(command).collect()
    }

    fn expand(&self, name: &str, input: &str) -> Option<String> {
        let all = self.typed_commands();
        all.get(name).map(|it| it.expand(input))
    }

    fn servers(&self) -> Vec<String> {
        self.place.hands().servers()
    }

    fn tools_of(&self, servers: Vec<String>) -> BoxFuture<'_, ServerTools> {
        Box::pin(async move {
            let (tools, findings) = self.place.hands().tools_of(&servers).await;
            ServerTools { tools, findings }
        })
    }

    #[cfg(feature = "script")]
    fn interpreter(&self) -> Result<agents_tool::script::Interpreter, Unavailable> {
        Ok(crate::commands::door::interpreter::of(self.place.hands().us()))
    }

    fn end(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.place.end())
    }
}

/// The skills that apply here and are what was agreed to: what waits for the user, or looks suspicious, is read by nobody.
pub(crate) fn usable(here: &Here<'_>) -> Result<Vec<Usable>, Failure> {
    let workspace = here.workspace.as_ref();
    let (cwd, fetch) = (&here.settings.cwd, wanted::fetch(here.settings));
    let found = here.registries.skills(&here.set, workspace, cwd, fetch).skills;
    let read = |skill: Skill| skill.read().0.map(|tree| (skill, tree));
    let mut all: Vec<(Skill, SkillTree)> = found.into_iter().filter_map(read).collect();
    let is_suspicious =
        |(skill, tree): &(Skill, SkillTree)| !inspect_tree(tree, &skill.dir).is_empty();
    let lock = workspace.map(|it| LockFile::beside(&it.root).load()).transpose()?.flatten();
    match (workspace, lock) {
        (Some(workspace), Some(lock)) => {
            let surveyor = Surveyor::new(here.registries, &here.set, workspace);
            let item = |(skill, tree): &(Skill, SkillTree)| {
                surveyor.skill(skill, Hash::new(&tree.digest()))
            };
            let items: Vec<Item> = all.iter().map(item).collect();
            let suspicious = |item: &Item| {
                let at = items.iter().position(|it| it == item);
                at.is_none_or(|at| is_suspicious(&all[at]))
            };
            let compared = compare(items.clone(), &lock, suspicious, |_| false).items;
            let mut verdicts = compared.iter().map(|it| it.verdict == Verdict::Take);
            all.retain(|_| verdicts.next() == Some(true));
        }
        // Nothing was agreed to yet, so nothing has changed.
        _ => all.retain(|it| !is_suspicious(it)),
    }
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for (skill, _) in &all {
        *named.entry(skill.name.to_string()).or_default() += 1;
    }
    let card = |skill: &Skill| SkillCard {
        name: match named.get(skill.name.as_str()) {
            Some(1) => skill.name.to_string(),
            _ => skill.suffixed_name(),
        },
        description: skill.description.clone(),
        plugin: skill.plugin.name.to_string(),
        crates: skill.because.iter().map(|(name, _)| name.to_string()).collect(),
    };
    Ok(all.into_iter().map(|(skill, tree)| Usable { card: card(&skill), skill, tree }).collect())
}

/// The text that was looked at, not what the file may have become since.
pub(crate) fn loaded(it: &Usable) -> LoadedSkill {
    let Usable { card, skill, tree } = it;
    let (mut text, mut files) = (String::new(), Vec::new());
    for entry in &tree.entries {
        match &entry.kind {
            TreeKind::File { bytes, .. } if entry.path == "SKILL.md" => {
                text = String::from_utf8_lossy(bytes).into_owned();
                text.truncate(text.floor_char_boundary(MAX_TEXT));
            }
            TreeKind::File { .. } => files.push(entry.path.to_string()),
            _ => {}
        }
    }
    LoadedSkill { card: card.clone(), text, dir: skill.dir.to_string(), files }
}
