//! MCP servers of a run: each is started once for agents that are confined and once for those that are not, when the first of them
//! needs it.

use std::sync::{Arc, PoisonError};

use agents_agent::definition::McpServerUse;
use agents_system::{
    finding::Finding,
    keys::KeyError,
    process::{find_program, keeper::Keeper},
};
use agents_tool::{
    Area, Confinement, Ground, Rights, Tool,
    mcp::{McpTool, Reach, Server, ServerSettings},
    settings::{ConfiguredReach, ConfiguredServer, Enabled, ServerTrust},
};
use camino::Utf8PathBuf;
use futures_util::future::join_all;
use tokio::sync::{Mutex, OnceCell};

use super::inline;

/// The servers of a run.
pub(super) struct Servers {
    keeper: Keeper,
    area: Area,
    all: Vec<Known>,
    /// Those that definitions bring, for the agents whose definitions name them.
    own: Mutex<Vec<(McpServerUse, Arc<Known>)>>,
}

/// A server that may be started.
struct Known {
    name: String,
    from: From,
    trust: ServerTrust,
    tools: Option<Vec<String>>,
    /// What its program needs to see in a sandbox, besides what all programs do.
    readable: Vec<Utf8PathBuf>,
    started: Mutex<Vec<(Confinement, Arc<OnceCell<Started>>)>>,
}

impl Known {
    /// One that a plugin brings, which has a directory, or a definition.
    fn brought(server: ServerSettings, dir: Option<Utf8PathBuf>) -> Self {
        let program = match &server.reach {
            Reach::Program { program, .. } => find_program(program),
            Reach::Address { .. } => None,
        };
        Self {
            name: server.name.to_string(),
            readable: program.into_iter().chain(dir).collect(),
            from: From::Brought(server),
            trust: ServerTrust::AsTheAgent,
            tools: None,
            started: Mutex::default(),
        }
    }
}

/// A server that a plugin brings, and the directory of that.
pub(super) struct Brought {
    pub(super) server: ServerSettings,
    pub(super) dir: Utf8PathBuf,
}

/// Who brings a server.
enum From {
    /// The user.
    Config(ConfiguredServer),
    /// A plugin, or a definition.
    Brought(ServerSettings),
}

/// What became of a server that was to be started: its tools, if there are any, and what there is to say.
struct Started {
    server: Option<Arc<Server>>,
    tools: Vec<Arc<McpTool>>,
    /// Told to the first agent, and to no other.
    findings: std::sync::Mutex<Vec<Finding>>,
}

impl Servers {
    /// Those that are configured, then those that plugins bring.
    pub(super) fn new(
        configured: &[ConfiguredServer],
        brought: Vec<Brought>,
        keeper: Keeper,
        area: Area,
        findings: &mut Vec<Finding>,
    ) -> Self {
        let own = configured.iter().filter(|it| it.enabled == Enabled::Yes).map(|it| Known {
            name: it.name.to_string(),
            readable: match &it.reach {
                ConfiguredReach::Program { program, cwd, .. } => {
                    cwd.iter().cloned().chain(find_program(program)).collect()
                }
                ConfiguredReach::Address { .. } => Vec::new(),
            },
            from: From::Config(it.clone()),
            trust: it.trust,
            tools: it.tools.clone(),
            started: Mutex::default(),
        });
        let mut all: Vec<Known> = own.collect();
        for Brought { server, dir } in brought {
            let name = server.name.to_string();
            // The user's word about a name counts, also if it is that there is none.
            if configured.iter().any(|it| it.name == server.name) {
                continue;
            }
            if all.iter().any(|it| it.name == name) {
                findings.push(Finding::warning(format!(
                    "two plugins bring an MCP server `{name}`: the second is left out"
                )));
                continue;
            }
            all.push(Known::brought(server, Some(dir)));
        }
        Self { keeper, area, all, own: Mutex::default() }
    }

    /// The names of those that do not belong to a single definition.
    pub(super) fn names(&self) -> Vec<String> {
        self.all.iter().map(|it| it.name.clone()).collect()
    }

    /// Forgets about those that did not start, or have ended too often: whoever needs them next starts them anew.
    pub(super) async fn give_another_chance(&self) {
        for known in &self.all {
            let mut started = known.started.lock().await;
            let mut kept = Vec::new();
            for (confinement, cell) in started.drain(..) {
                let is_lost = match cell.get().map(|it| &it.server) {
                    // Somebody is starting it.
                    None => false,
                    Some(None) => true,
                    Some(Some(server)) => server.is_given_up().await,
                };
                if !is_lost {
                    kept.push((confinement, cell));
                }
            }
            *started = kept;
        }
    }

    /// Takes in the servers that a definition uses or brings, and tells what is wrong with them. Names that are configured are taken.
    pub(super) async fn bring(&self, uses: &[McpServerUse]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for it in uses {
            let is_taken = self.all.iter().any(|known| known.name == it.name());
            match (it, is_taken) {
                (McpServerUse::Named(_), true) => {}
                (McpServerUse::Named(name), false) => findings.push(
                    Finding::warning(format!("there is no MCP server `{name}`"))
                        .hint(format!("[mcp-servers.{name}] in config.toml describes it")),
                ),
                (McpServerUse::Inline { name, .. }, true) => findings.push(Finding::warning(format!(
                    "the MCP server `{name}` of the definition is left out: another one has that name"
                ))),
                (McpServerUse::Inline { name, entry }, false) => {
                    let mut own = self.own.lock().await;
                    if own.iter().any(|(known, _)| known == it) {
                        continue;
                    }
                    match inline::server(name, entry) {
                        Ok(server) => {
                            own.push((it.clone(), Arc::new(Known::brought(server, None))));
                        }
                        Err(why) => findings.push(Finding::warning(format!(
                            "an MCP server of the definition is left out: {why}"
                        ))),
                    }
                }
            }
        }
        findings
    }

    /// The tools that an agent with these rights may use, whose definition uses `own`. Servers that it has no use for are not started.
    pub(super) async fn tools(
        &self,
        rights: &Rights,
        confinement: &Confinement,
        own: &[McpServerUse],
    ) -> (Vec<Arc<dyn Tool>>, Vec<Finding>) {
        let brought = self.own.lock().await.clone();
        let brought = brought.iter().filter(|(it, _)| own.contains(it)).map(|(_, known)| &**known);
        let wanted = self.all.iter().chain(brought).filter(|it| may_use(rights, &it.name));
        let started = join_all(wanted.map(|it| self.started(it, confinement))).await;
        let (mut tools, mut findings): (Vec<Arc<dyn Tool>>, Vec<Finding>) = Default::default();
        for cell in started {
            let Some(it) = cell.get() else { continue };
            let mut untold = it.findings.lock().unwrap_or_else(PoisonError::into_inner);
            findings.append(&mut untold);
            let allowed = it.tools.iter().filter(|tool| rights.allows(tool.name()));
            tools.extend(allowed.map(|tool| Arc::clone(tool) as Arc<dyn Tool>));
        }
        (tools, findings)
    }

    async fn started(&self, known: &Known, confinement: &Confinement) -> Arc<OnceCell<Started>> {
        let confinement = match known.trust {
            ServerTrust::Always => &Confinement::None,
            ServerTrust::AsTheAgent => confinement,
        };
        let cell = {
            let mut all = known.started.lock().await;
            match all.iter().find(|(it, _)| it == confinement) {
                Some((_, cell)) => Arc::clone(cell),
                None => {
                    let cell = Arc::default();
                    all.push((confinement.clone(), Arc::clone(&cell)));
                    cell
                }
            }
        };
        cell.get_or_init(|| self.start(known, confinement)).await;
        cell
    }

    async fn start(&self, known: &Known, confinement: &Confinement) -> Started {
        let without = |findings: Vec<Finding>| Started {
            server: None,
            tools: Vec::new(),
            findings: findings.into(),
        };
        let (settings, mut findings) = match open(&known.from).await {
            Ok(opened) => opened,
            Err(error) => {
                let message = format!("the MCP server `{}` is not started: {error}", known.name);
                return without(vec![Finding::warning(message)]);
            }
        };
        let mut confinement = confinement.clone();
        if let Confinement::Sandbox(sandbox) = &mut confinement {
            sandbox.read.extend(known.readable.iter().cloned());
        }
        let ground = Ground { keeper: self.keeper.clone(), area: self.area.clone(), confinement };
        let server = Server::new(settings, ground);
        let tools = match server.tools().await {
            Ok((tools, said)) => {
                findings.extend(said);
                tools
            }
            Err(error) => {
                server.end().await;
                findings.push(Finding::warning(error.to_string()));
                return without(findings);
            }
        };
        if let Some(named) = &known.tools {
            for name in named.iter().filter(|name| !tools.iter().any(|it| it.own_name() == **name))
            {
                let message = format!("the MCP server `{}` has no tool `{name}`", known.name);
                findings.push(Finding::warning(message));
            }
        }
        let is_named = |tool: &McpTool| {
            known.tools.as_ref().is_none_or(|all| all.iter().any(|it| it == tool.own_name()))
        };
        let tools = tools.into_iter().filter(is_named).map(Arc::new).collect();
        Started { server: Some(server), tools, findings: findings.into() }
    }

    /// Ends all that were started.
    pub(super) async fn end(&self) {
        let mut running = Vec::new();
        let own = self.own.lock().await.clone();
        for known in self.all.iter().chain(own.iter().map(|(_, known)| &**known)) {
            let started = std::mem::take(&mut *known.started.lock().await);
            let servers = started.iter().filter_map(|(_, cell)| cell.get()?.server.clone());
            running.extend(servers);
        }
        join_all(running.iter().map(|server| server.end())).await;
    }
}

/// Reading keys may wait for somebody, or run a command.
async fn open(from: &From) -> Result<(ServerSettings, Vec<Finding>), KeyError> {
    match from {
        From::Brought(settings) => Ok((settings.clone(), Vec::new())),
        From::Config(configured) => {
            let own = configured.clone();
            let opened = tokio::task::spawn_blocking(move || own.open()).await;
            opened.unwrap_or_else(|_| configured.open())
        }
    }
}

/// Whether there may be a tool of this server that the rights allow. What it has is only known once it is started.
fn may_use(rights: &Rights, server: &str) -> bool {
    let prefix = format!("mcp__{server}__");
    let of_server = |name: &String| {
        let name = name.to_lowercase();
        let fixed = name.split('*').next().unwrap_or_default().to_owned();
        name.starts_with(&prefix) || (name.contains('*') && prefix.starts_with(&fixed))
    };
    match rights.list() {
        None => true,
        Some(listed) => {
            listed.iter().any(of_server) || listed.iter().any(|it| it == &format!("mcp__{server}"))
        }
    }
}
