//! The MCP servers of the active set.

use super::{ActiveSet, Considered, Trust, here_for};
use crate::{
    manifest::{McpServer, McpTransport},
    plugin::Plugin,
    predicate::{Matched, Surroundings, evaluate::union_matched_crates},
};

impl ActiveSet {
    /// The MCP servers that apply here, each with the plugin that brings it and the crates that make it apply. Programs of
    /// a workspace that the user has not spoken for are left out: see [`withheld_servers`](Self::withheld_servers).
    #[must_use]
    pub fn mcp_servers(&self, here: Surroundings<'_>) -> Vec<(&Plugin, &McpServer, Vec<Matched>)> {
        let servers = self.servers().filter(|(considered, it)| !is_withheld(considered, it));
        let applying = servers
            .map(|(considered, server)| (considered.plugin, server))
            .filter(|(plugin, it)| it.gate.holds(here_for(here, plugin)));
        let explained = applying.map(|(plugin, server)| {
            let gates = [&plugin.gate, &server.gate];
            let because = union_matched_crates(gates, here_for(here, plugin));
            (plugin, server, because)
        });
        explained.collect()
    }

    /// The MCP servers that are left out because hosts would start their programs, each with its plugin.
    #[must_use]
    pub fn withheld_servers(&self) -> Vec<(&Plugin, &McpServer)> {
        let withheld = self.servers().filter(|(considered, it)| is_withheld(considered, it));
        withheld.map(|(considered, server)| (considered.plugin, server)).collect()
    }

    fn servers(&self) -> impl Iterator<Item = (Considered<'_>, &McpServer)> {
        let active = self.considered().filter(Considered::is_active);
        active.flat_map(|considered| {
            let manifest = considered.plugin.manifest();
            let servers = manifest.map(|it| it.mcp_servers.as_slice()).unwrap_or_default();
            servers.iter().map(move |server| (considered, server))
        })
    }
}

fn is_withheld(considered: &Considered<'_>, server: &McpServer) -> bool {
    considered.trust == Trust::Withheld && matches!(server.transport, McpTransport::Stdio { .. })
}
