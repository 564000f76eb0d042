//! From the place where the user stands to the tools that an agent gets.
//!
//! [`Hands`] is made once in a run of the program, from the settings and from what is active here. It owns everything that it needs, so
//! that agents can be equipped wherever they run. What all agents share (MCP servers, language servers, the hooks of plugins) is
//! started by the first one that may use it, and ended by [`Hands::end`].
//!
//! | an agent gets | from |
//! |---|---|
//! | tools for files, `bash`, `todo` | the program |
//! | `lsp` | `rust-analyzer`, where it is installed |
//! | `web_fetch`, `web_search` | `[web]`, where it says so |
//! | `mcp__server__tool` | `[mcp-servers]`, active plugins that were agreed to, and its own definition if the user trusts that |
//! | `plugin__plugin__command` | subcommands of active plugins that are for agents |
//! | hooks | active plugins, chosen as hosts' calls choose them, and its own definition if the user trusts that |
//! | `skill` | the skills of active plugins that were agreed to, as its definition chooses |
//! | `memory` | its own notes, if its definition says where |
//! | a sandbox | `[tasks]`, and who wrote its definition |

mod heard;
mod hooks;
mod inline;
mod languages;
mod plugins;
mod servers;
pub(crate) mod skills;

use std::sync::Arc;

use agents_agent::{
    definition::{AgentDefinition, Source},
    trust::{ProjectTrust, Trusted, may_widen},
};
use agents_hook::input::Session;
use agents_plugin::predicate::{Surroundings, evaluate::Asker};
use agents_system::{
    explain::ErrorKind,
    finding::Finding,
    process::{keeper::Keeper, this_program},
};
use agents_tool::{
    Area, Catalogue, Confinement, Hooks, Rights, Tool,
    hooks::{All, Choose, Engine, OwnHooks},
    settings::{Author, SearchSettings, TaskSettings, ToolSettings},
    tools::{self, Bash, Todo},
};
use camino::Utf8PathBuf;

pub(crate) use self::heard::Heard;
use self::{hooks::PluginHooks, languages::Languages, servers::Servers};
use crate::{args::PLUGIN, commands::keeper, failure::Failure, here::Here};

/// This program, as it is started by itself.
#[derive(Debug, Clone)]
pub(crate) struct Us {
    /// What keeps programs of agents.
    pub(crate) keeper: Keeper,
    /// What runs the commands of plugins.
    pub(crate) command: Vec<String>,
}

impl Us {
    /// The program that is running.
    pub(crate) fn running() -> Result<Self, Failure> {
        let lost = |why: String| {
            Failure::new(ErrorKind::Failure, format!("cannot tell where this program is: {why}"))
        };
        let program = this_program().map_err(|error| lost(error.to_string()))?;
        let program = Utf8PathBuf::from_path_buf(program)
            .map_err(|path| lost(format!("`{}` is not UTF-8", path.display())))?;
        let command = vec![program.to_string()];
        Ok(Self { keeper: Keeper { program, args: vec![keeper::COMMAND.to_owned()] }, command })
    }
}

/// Everything that agents of one run can be equipped with.
pub(crate) struct Hands {
    us: Us,
    tasks: TaskSettings,
    trusted: Trusted,
    /// Those that are the same for all agents.
    shared: Vec<Arc<dyn Tool>>,
    servers: Servers,
    languages: Languages,
    hooks: Option<Arc<PluginHooks>>,
    findings: Vec<Finding>,
}

/// An agent that is to be equipped.
pub(crate) struct Wearer<'a> {
    /// Its definition, which says who wrote it.
    pub(crate) definition: &'a AgentDefinition,
    /// What it may at most do: nothing is started for what it may not use.
    pub(crate) rights: &'a Rights,
    /// Where it works.
    pub(crate) area: &'a Area,
    /// What hooks are told of it.
    pub(crate) session: Session,
    /// What hooks have to say about themselves, while it works.
    pub(crate) heard: Arc<Heard>,
}

/// What one agent gets.
pub(crate) struct Equipment {
    /// Its tools; what of them it may use is judged later.
    pub(crate) catalogue: Catalogue,
    /// What plugins have to say about its calls.
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
    /// How its programs are confined.
    pub(crate) confinement: Confinement,
    /// What runs the commands that must succeed at its end.
    pub(crate) bash: Option<Bash>,
    /// What there is to say about it.
    pub(crate) findings: Vec<Finding>,
}

impl Hands {
    /// Looks at what there is. Nothing is started.
    pub(crate) fn new(here: &Here<'_>, us: Us) -> Result<Self, Failure> {
        let settings = ToolSettings::load(&here.settings.dirs)?;
        let mut findings = settings.findings.clone();
        let (probes, _) = here.probes();
        let workspace = here.workspace.as_ref();
        let surroundings = Surroundings { workspace, probes: &probes, asker: Asker::Other };
        let agreed = plugins::Agreed::new(here);
        let brought = agreed.servers(surroundings, &mut findings);
        let root = workspace.map_or(here.settings.cwd.as_path(), |it| it.root.as_path());
        let area = Area::workspace(root)
            .map_err(|error| Failure::new(ErrorKind::Failure, error.to_string()))?;
        let servers =
            Servers::new(&settings.servers, brought, us.keeper.clone(), area, &mut findings);
        let mut shared: Vec<Arc<dyn Tool>> = Vec::new();
        for command in agreed.commands(&us, &mut findings) {
            shared.push(Arc::new(command));
        }
        shared.extend(web(&settings, &mut findings));
        Ok(Self {
            tasks: settings.tasks,
            trusted: Trusted::new(&here.registries.config.agents.trust),
            shared,
            servers,
            languages: Languages::new(us.keeper.clone()),
            hooks: PluginHooks::new(here, &mut findings).map(Arc::new),
            us,
            findings,
        })
    }

    /// What there is to say about everything that all agents share.
    pub(crate) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The commands that plugins have for agents.
    pub(crate) fn commands(&self) -> Vec<Arc<dyn Tool>> {
        let own = self.shared.iter().filter(|it| it.name().starts_with(PLUGIN));
        own.cloned().collect()
    }

    /// The names of the MCP servers that all agents may have, whether they run or not.
    pub(crate) fn servers(&self) -> Vec<String> {
        self.servers.names()
    }

    /// The tools of these servers, for whoever starts them as hosts do. Those that did not start, or have ended too often, get another
    /// chance.
    pub(crate) async fn tools_of(&self, servers: &[String]) -> (Vec<Arc<dyn Tool>>, Vec<Finding>) {
        self.servers.give_another_chance().await;
        let rights = Rights::only(servers.iter().map(|it| format!("mcp__{it}__*")));
        self.servers.tools(&rights, &Confinement::None, &[]).await
    }

    /// Who wrote a definition.
    pub(crate) fn author(&self, definition: &AgentDefinition) -> Author {
        let origin = &definition.origin;
        let dir = origin.file.as_deref().and_then(|file| file.parent());
        let trust = match (&origin.source, dir) {
            (Source::Project, Some(dir)) => self.trusted.of(dir),
            _ => ProjectTrust::Untrusted,
        };
        if may_widen(&origin.source, trust) { Author::Trusted } else { Author::Stranger }
    }

    /// How programs of an agent are confined.
    pub(crate) fn confinement(&self, definition: &AgentDefinition) -> Confinement {
        self.tasks.confinement(self.author(definition))
    }

    /// Gives an agent its tools. Servers that it may use are started now, if no other agent was first.
    pub(crate) async fn equip(&self, wearer: Wearer<'_>) -> Equipment {
        let Wearer { definition, rights, area, session, heard } = wearer;
        let confinement = self.confinement(definition);
        let mut findings = Vec::new();
        let mut all: Vec<Arc<dyn Tool>> = vec![Arc::new(Todo::default())];
        all.extend(self.shared.iter().filter(|it| rights.allows(it.name())).cloned());
        if rights.allows("lsp")
            && let Some(lsp) = self.languages.server(area, &confinement).await
        {
            all.push(Arc::new(lsp));
        }
        let own = match self.author(definition) {
            Author::Trusted => definition.mcp_servers.as_slice(),
            Author::Stranger => &[],
        };
        findings.extend(self.servers.bring(own).await);
        let (served, said) = self.servers.tools(rights, &confinement, own).await;
        findings.extend(said);
        let mut catalogue = Catalogue::default();
        let bash = Bash::new(self.us.keeper.clone());
        let built_in = tools::add_all(&mut catalogue, Some(bash.clone()));
        // Of two with one name the first counts: our own, then what the user configured.
        let added = all.into_iter().chain(served).map(|tool| catalogue.add_shared(tool));
        let twice = std::iter::once(built_in).chain(added).filter_map(Result::err);
        findings.extend(twice.map(|it| Finding::warning(format!("{it}: the second is left out"))));
        let mut choose: Vec<Arc<dyn Choose>> = Vec::new();
        choose.extend(self.hooks.as_ref().map(|it| Arc::clone(it) as _));
        // What a stranger wrote has lost its hooks when it was read; this is where they would run.
        if let (Author::Trusted, Some(hooks)) = (self.author(definition), &definition.hooks) {
            let (own, said) = OwnHooks::parse(&definition.name, definition.origin.dialect, hooks);
            findings.extend(said);
            choose.extend(own.map(|it| Arc::new(it) as _));
        }
        let hooks = (!choose.is_empty()).then(|| {
            let hear = move |finding| heard.hear(finding);
            Arc::new(Engine::new(Arc::new(All(choose)), session, hear)) as Arc<dyn Hooks>
        });
        Equipment { catalogue, hooks, confinement, bash: Some(bash), findings }
    }

    /// This program, as it is started by itself.
    #[cfg(feature = "script")]
    pub(crate) fn us(&self) -> &Us {
        &self.us
    }

    /// Ends everything that was started, and waits until nothing of it is left.
    pub(crate) async fn end(&self) {
        tokio::join!(self.servers.end(), self.languages.end());
    }
}

/// The tools for the web, as far as they are configured.
fn web(settings: &ToolSettings, findings: &mut Vec<Finding>) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if let Some(fetch) = &settings.web.fetch {
        tools.push(Arc::new(fetch.tool()));
    }
    match settings.web.search.as_ref().map(SearchSettings::open) {
        Some(Ok(Ok(search))) => tools.push(Arc::new(search)),
        Some(Ok(Err(finding))) => findings.push(finding),
        Some(Err(error)) => {
            findings.push(Finding::warning(format!("`web_search` is not offered: {error}")));
        }
        None => {}
    }
    tools
}

#[cfg(test)]
mod tests;
