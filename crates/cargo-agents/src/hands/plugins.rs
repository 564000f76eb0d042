//! What plugins bring for our own agents, as far as it was agreed to.

use std::collections::BTreeMap;

use agents_plugin::{
    manifest::{Audience, McpServer, McpTransport, RemoteKind},
    plugin::Plugin,
    predicate::Surroundings,
};
use agents_system::finding::{Finding, Place};
use agents_tool::{
    mcp::{Reach, ServerName, ServerSettings},
    tools::PluginCommand,
};
use camino::Utf8PathBuf;

use super::{Us, servers::Brought};
use crate::{
    commands::{agreed, wanted},
    here::Here,
};

/// The plugins that are active here and are what was agreed to.
pub(super) struct Agreed<'h> {
    here: &'h Here<'h>,
}

impl<'h> Agreed<'h> {
    pub(super) fn new(here: &'h Here<'h>) -> Self {
        Self { here }
    }

    /// Whether a plugin is what was agreed to; if not, that is told.
    fn may_run(&self, plugin: &Plugin, findings: &mut Vec<Finding>) -> bool {
        match agreed::refuse_unaccepted(self.here, plugin) {
            Ok(()) => true,
            Err(failure) => {
                let finding = failure.into_finding(plugin.name.as_str());
                if !findings.contains(&finding) {
                    findings.push(finding);
                }
                false
            }
        }
    }

    /// The MCP servers, the same ones that `sync` writes into hosts.
    pub(super) fn servers(
        &self,
        surroundings: Surroundings<'_>,
        findings: &mut Vec<Finding>,
    ) -> Vec<Brought> {
        let mut servers = Vec::new();
        let set = &self.here.set;
        for (plugin, server, _) in set.mcp_servers(surroundings) {
            if !self.may_run(plugin, findings) {
                continue;
            }
            match settings(server.clone()) {
                Ok(server) => servers.push(Brought { server, dir: plugin.dir().to_owned() }),
                Err(why) => {
                    let message = format!("an MCP server of `{}` is left out: {why}", plugin.name);
                    findings.push(Finding::warning(message).at(Place::file(&plugin.file)));
                }
            }
        }
        findings.extend(set.withheld_servers().into_iter().map(wanted::withheld));
        servers
    }

    /// The subcommands that are for agents. They are run by this program, which knows how their programs are obtained, and asks again
    /// whether it may.
    pub(super) fn commands(&self, us: &Us, findings: &mut Vec<Finding>) -> Vec<PluginCommand> {
        let here = self.here;
        let mut named: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for offered in here.set.subcommands() {
            named.entry(offered.subcommand.name.as_str()).or_default().push(offered);
        }
        let mut commands = Vec::new();
        for (name, offers) in named {
            let [offered] = offers.as_slice() else {
                let message =
                    format!("several plugins bring a command `{name}`: agents get none of them");
                findings.push(Finding::warning(message));
                continue;
            };
            let plugin = offered.plugin;
            if offered.subcommand.audience != Audience::Agents || !self.may_run(plugin, findings) {
                continue;
            }
            let dirs = &here.settings.dirs;
            let mut readable: Vec<Utf8PathBuf> = vec![
                dirs.config.clone(),
                dirs.state.clone(),
                dirs.cache.clone(),
                plugin.dir().to_owned(),
                us.keeper.program.clone(),
            ];
            readable.retain(|path| path.is_absolute());
            commands.push(PluginCommand::new(
                us.keeper.clone(),
                us.command.clone(),
                (plugin.name.as_str(), name),
                &offered.subcommand.description,
                readable,
            ));
        }
        commands
    }
}

fn settings(server: McpServer) -> Result<ServerSettings, String> {
    let name = ServerName::parse(&server.name).map_err(|error| error.to_string())?;
    let secret = |(name, value): (String, String)| (name, value.into());
    let reach = match server.transport {
        McpTransport::Stdio { command, args, env } => Reach::Program {
            program: command,
            args,
            env: env.into_iter().map(secret).collect(),
            cwd: None,
        },
        McpTransport::Remote { kind: RemoteKind::Http, url, headers } => {
            Reach::Address { url, headers: headers.into_iter().map(secret).collect() }
        }
        McpTransport::Remote { kind: RemoteKind::Sse, .. } => {
            return Err(format!("`{name}` speaks `sse`, and our agents only speak `http`"));
        }
    };
    Ok(ServerSettings { name, reach, start: None, call: None })
}
