//! Where tasks run: the agents, models and tools of the place where the user stands.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use agents_agent::{AgentDefinition, Agents, Search, definition::MemoryScope, discover};
use agents_hook::input::Session;
use agents_model::{
    Provider, catalogue,
    open::{self, Ground},
    select::{Available, ModelRef, Preferences},
    settings::Kind,
};
use agents_plugin::probes::Acquire;
use agents_system::{explain::with_causes, finding::Finding};
use agents_task::{
    Surroundings, TaskId,
    isolate::{Carry, Worktrees},
    memory::{self, Homes, Memory},
    runner::{Equipment, Known, Opened, Unavailable, Wearer},
    skills::{self, Card, LoadSkill, SKILL, Shelf},
    workplace::{Isolation, Settle},
};
use agents_tool::{Area, Rights, Tool, hooks::NoHooks, settings::Author};
use agents_workspace::Network;
use camino::{Utf8Path, Utf8PathBuf};
use futures_util::future::BoxFuture;

use super::super::{agent, model::Models};
use crate::{
    failure::Failure,
    hands::{self, Hands, Heard, Us, skills::Skills},
    here::{BrokenWorkspace, Here, visit},
    settings::Settings,
};

/// Everything that tasks need of the place where the user stands.
pub(crate) struct Place {
    search: Search,
    models: Models,
    cwd: Utf8PathBuf,
    root: Utf8PathBuf,
    network: Network,
    worktrees: Worktrees,
    isolated: (Carry, Settle),
    hands: Hands,
    findings: Vec<Finding>,
    /// What is found out while tasks run.
    heard: Arc<Heard>,
    skills: Arc<Skills>,
    /// Where the program keeps what must be remembered.
    state: Utf8PathBuf,
    /// What tasks are told that were equipped and have not begun.
    briefs: Mutex<HashMap<TaskId, String>>,
    /// Those that were opened, so that all tasks share their connections and permits.
    opened: Mutex<HashMap<String, Arc<dyn Provider>>>,
    /// What was found when the place was opened, for the task that starts at once.
    first: Mutex<Option<Agents>>,
}

/// When the first task starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    /// Now: what was found when the place was opened is what there is.
    Now,
    /// At some time, and then it is looked again.
    Later,
}

impl Place {
    /// For tasks that start now.
    pub(crate) fn to_run(
        settings: &Settings,
        named: &[Utf8PathBuf],
        isolated: (Carry, Settle),
    ) -> Result<Self, Failure> {
        Self::with(Models::here(settings, None)?, settings, named, isolated, First::Now)
    }

    pub(crate) fn here(
        settings: &Settings,
        named: &[Utf8PathBuf],
        isolated: (Carry, Settle),
    ) -> Result<Self, Failure> {
        Self::with(Models::here(settings, None)?, settings, named, isolated, First::Later)
    }

    /// The same for whoever does not only run tasks, with the reason why none can run where there is no model.
    pub(crate) fn even_without_models(
        settings: &Settings,
        named: &[Utf8PathBuf],
        isolated: (Carry, Settle),
    ) -> Result<(Self, Option<Failure>), Failure> {
        let (models, none) = Models::if_any(settings)?;
        Ok((Self::with(models, settings, named, isolated, First::Later)?, none))
    }

    fn with(
        models: Models,
        settings: &Settings,
        named: &[Utf8PathBuf],
        isolated: (Carry, Settle),
        first: First,
    ) -> Result<Self, Failure> {
        let looking = |here: &Here<'_>, error| {
            let found = agent::look(here, error, named)?;
            let skills = match first {
                First::Now => Skills::at(here),
                First::Later => Skills::new(settings),
            };
            Ok((found, Hands::new(here, Us::running()?)?, skills))
        };
        let (found, hands, skills) =
            visit(settings, Acquire::Never, BrokenWorkspace::IsReported, looking)?;
        let mut findings = found.findings;
        findings.extend(hands.findings().iter().cloned());
        findings.extend(models.findings.iter().cloned());
        Ok(Self {
            search: found.search,
            models,
            root: found.root.unwrap_or_else(|| repository(&settings.cwd)),
            cwd: settings.cwd.clone(),
            network: settings.cargo.network(),
            worktrees: super::worktrees(&settings.dirs),
            isolated,
            hands,
            findings,
            heard: Arc::default(),
            skills: Arc::new(skills),
            state: settings.dirs.state.clone(),
            briefs: Mutex::default(),
            opened: Mutex::default(),
            first: Mutex::new((first == First::Now).then_some(found.agents)),
        })
    }

    pub(crate) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The workspace, or whatever it is that they work on.
    pub(crate) fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// What agents are equipped with.
    pub(crate) fn hands(&self) -> &Hands {
        &self.hands
    }

    /// What is found out while tasks run.
    pub(crate) fn heard(&self) -> &Arc<Heard> {
        &self.heard
    }

    /// Ends everything that was started for tasks.
    pub(crate) async fn end(&self) {
        self.hands.end().await;
    }

    pub(crate) fn preferences(&self) -> Preferences {
        self.models.preferences.clone()
    }

    /// Where the definition of an agent is, in words: from where the user stands, if it is below.
    pub(crate) fn of(&self, definition: Option<&AgentDefinition>) -> String {
        match definition.and_then(|it| it.origin.file.as_ref()) {
            Some(file) => file.strip_prefix(&self.cwd).unwrap_or(file).to_string(),
            None => "bundled".to_owned(),
        }
    }

    /// Whether it is known what a model costs.
    pub(super) fn has_price(&self, model: &ModelRef) -> bool {
        self.known(model).is_some_and(|it| it.price.is_some())
    }

    fn known(&self, model: &ModelRef) -> Option<&catalogue::Known> {
        let offer = self.models.offers.iter().find(|it| it.settings.name == model.provider)?;
        self.models.catalogue.find(model, offer.settings.kind.catalogue())
    }

    fn provider(&self, model: &ModelRef, area: &Area) -> Result<Arc<dyn Provider>, Unavailable> {
        let offer = self.models.offers.iter().find(|it| it.settings.name == model.provider);
        let offer = offer.ok_or_else(|| Unavailable {
            message: format!("there is no provider `{}` any more", model.provider),
            hint: None,
        })?;
        if self.network == Network::Offline && !offer.settings.is_local() {
            let message = format!(
                "`{}` is not on this machine, and nothing else may be asked",
                model.provider
            );
            return Err(Unavailable { message, hint: Some("leave out `--offline`".to_owned()) });
        }
        let ground = Ground { cwd: area.cwd(), hosts: &self.models.hosts };
        let open = || open::open(&offer.settings, &ground).map_err(|it| Unavailable::because(&it));
        // A script is played from its beginning by each task; programs run where their task works.
        if matches!(offer.settings.kind, Kind::Script | Kind::Host | Kind::Acp) {
            return open();
        }
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(provider) = opened.get(&model.provider) {
            return Ok(Arc::clone(provider));
        }
        let provider = open()?;
        opened.insert(model.provider.clone(), Arc::clone(&provider));
        Ok(provider)
    }
}

/// What an agent knows besides its definition.
#[derive(Default)]
struct Knowledge {
    brief: Vec<String>,
    tools: Vec<Arc<dyn Tool>>,
    findings: Vec<Finding>,
}

impl Place {
    /// The skills that an agent has, and what it remembers.
    async fn known_to(&self, definition: &AgentDefinition, rights: &Rights) -> Knowledge {
        let mut known = Knowledge::default();
        if rights.allows(SKILL) {
            let all = self.skills.cards().await;
            match skills::chosen(&all, &definition.skills) {
                Ok(own) if !own.is_empty() => {
                    let own: Vec<Card> = own.into_iter().cloned().collect();
                    known.brief.extend(skills::brief(&own));
                    let shelf = Arc::clone(&self.skills) as Arc<dyn Shelf>;
                    known.tools.push(Arc::new(LoadSkill::new(&own, shelf)));
                }
                Ok(_) => {}
                Err(error) => {
                    let told = format!("agent `{}` has no skills: {error}", definition.name);
                    known.findings.push(Finding::warning(told));
                }
            }
        }
        if let Some(scope) = definition.memory.filter(|_| memory::is_wanted(definition, rights)) {
            match self.memory(scope, definition) {
                Ok(memory) => {
                    known.brief.push(memory.brief());
                    known.tools.push(Arc::new(memory));
                }
                Err(why) => {
                    let told = format!(
                        "agent `{}` runs without what it remembers: {why}",
                        definition.name
                    );
                    known.findings.push(Finding::warning(told));
                }
            }
        }
        known
    }

    fn memory(&self, scope: MemoryScope, definition: &AgentDefinition) -> Result<Memory, String> {
        // Notes with the user are told in every project: what came along with one may not write them.
        if scope == MemoryScope::User && self.hands.author(definition) == Author::Stranger {
            return Err("only definitions that you trust keep notes for all projects".to_owned());
        }
        let homes = Homes { user: &self.state, project: &self.root };
        Memory::open(scope, &definition.name, homes).map_err(|it| with_causes(&it))
    }
}

/// The nearest directory that is a repository, or the directory itself.
fn repository(cwd: &Utf8Path) -> Utf8PathBuf {
    let nearest = cwd.ancestors().find(|dir| dir.join(".git").exists());
    nearest.unwrap_or(cwd).to_owned()
}

impl Surroundings for Place {
    fn agents(&self) -> Known {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let agents = first.unwrap_or_else(|| discover(&self.search).unwrap_or_default());
        agents.iter().cloned().map(Arc::new).collect()
    }

    fn models(&self) -> Vec<Available> {
        self.models.available()
    }

    fn open(&self, model: &ModelRef, area: &Area) -> Result<Opened, Unavailable> {
        let provider = self.provider(model, area)?;
        let known = self.known(model);
        Ok(Opened {
            provider,
            price: known.and_then(|it| it.price),
            window: known.and_then(|it| it.context),
        })
    }

    fn area(&self) -> Result<Area, Unavailable> {
        let confined = |error: agents_tool::confine::ConfineError| Unavailable {
            message: error.to_string(),
            hint: None,
        };
        let area = Area::workspace(&self.root).map_err(confined)?;
        let within = self.cwd.strip_prefix(&self.root).unwrap_or(Utf8Path::new(""));
        if within.as_str().is_empty() {
            Ok(area)
        } else {
            area.at(within.as_str()).map_err(confined)
        }
    }

    fn isolation(&self) -> Result<Isolation, String> {
        let repository = self.worktrees.usable(&self.cwd).map_err(|it| it.to_string())?;
        let (carry, settle) = self.isolated;
        Ok(Isolation { worktrees: self.worktrees.clone(), repository, carry, settle })
    }

    fn brief(&self, task: TaskId) -> Option<String> {
        self.briefs.lock().unwrap_or_else(PoisonError::into_inner).remove(&task)
    }

    fn equip<'a>(&'a self, wearer: Wearer<'a>) -> BoxFuture<'a, Result<Equipment, Unavailable>> {
        Box::pin(async move {
            let Wearer { definition, rights, area, id } = wearer;
            let session = Session {
                session_id: Some(id.to_string()),
                agent_type: Some(definition.name.to_string()),
                ..Session::default()
            };
            let wearer =
                hands::Wearer { definition, rights, area, session, heard: Arc::clone(&self.heard) };
            let (known, mut given) =
                tokio::join!(self.known_to(definition, rights), self.hands.equip(wearer));
            known.tools.into_iter().for_each(|tool| {
                let twice = given.catalogue.add_shared(tool).err();
                given.findings.extend(twice.map(|it| Finding::warning(it.to_string())));
            });
            given.findings.extend(known.findings);
            if !known.brief.is_empty() {
                let mut briefs = self.briefs.lock().unwrap_or_else(PoisonError::into_inner);
                briefs.insert(id, known.brief.join("\n\n"));
            }
            given.findings.into_iter().for_each(|finding| self.heard.hear(finding));
            Ok(Equipment {
                catalogue: given.catalogue,
                hooks: given.hooks.unwrap_or_else(|| Arc::new(NoHooks)),
                confinement: given.confinement,
                bash: given.bash,
            })
        })
    }
}
