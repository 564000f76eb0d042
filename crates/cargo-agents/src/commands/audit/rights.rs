//! What something could do, in a few words: not what it does.

use agents_agent::AgentDefinition;
use agents_plugin::{
    confine::Confinement,
    manifest::{McpServer, McpTransport, Needs},
};
use agents_system::sandbox::{self, Availability, Network};

pub(super) type Rights = Vec<&'static str>;

const STEERS: &str = "steers the agent";
const RUNS_CODE: &str = "runs code";
const WRITES: &str = "writes files";
const NETWORK: &str = "uses the network";

/// A program of a plugin, as it would run on this machine: a hook, a command, a condition.
pub(super) fn of_program(confinement: Confinement, needs: &Needs) -> Rights {
    match confinement {
        Confinement::None => of_free_program(),
        Confinement::Sandbox => of_confined(needs, sandbox::available()),
    }
}

/// A program that runs as the user: servers that hosts start, and whatever installs programs.
pub(super) fn of_free_program() -> Rights {
    vec![RUNS_CODE, WRITES, "network unknown", "not sandboxed"]
}

/// A text for agents.
pub(super) fn of_skill() -> Rights {
    vec![STEERS]
}

/// An MCP server, which no sandbox of ours is around: hosts start it.
pub(super) fn of_server(server: &McpServer) -> Rights {
    match server.transport {
        McpTransport::Stdio { .. } => of_free_program(),
        McpTransport::Remote { .. } => vec![STEERS, NETWORK],
    }
}

fn of_confined(needs: &Needs, available: Availability) -> Rights {
    let network = match (needs.network, available) {
        (_, Availability::Unavailable(_)) => return vec!["does not run: no sandbox here"],
        (Network::Allowed, _) => NETWORK,
        (Network::Denied, Availability::Available) => "no network",
    };
    let writes = (!needs.write.is_empty()).then_some(WRITES);
    [Some(RUNS_CODE), writes, Some(network), Some("sandboxed")].into_iter().flatten().collect()
}

/// An agent: what its tools let it do, within what its host allows.
pub(super) fn of_agent(definition: &AgentDefinition) -> Rights {
    let tools = &definition.tools;
    let may = |names: &[&str]| names.iter().any(|name| tools.allows(name));
    // Only few hosts have these; where nothing is listed they are not meant.
    let lists = |names: &[&str]| tools.allow.is_some() && may(names);
    let mut rights = vec![STEERS];
    let by_tools = [
        (RUNS_CODE, may(&["bash"]) || lists(&["python"])),
        (WRITES, may(&["write", "edit", "notebook_edit"]) || lists(&["ast_edit"])),
        (NETWORK, may(&["web_fetch", "web_search"]) || lists(&["browser"])),
    ];
    rights.extend(by_tools.into_iter().filter(|(_, has)| *has).map(|(right, _)| right));
    rights
}

#[cfg(test)]
mod tests {
    use agents_agent::{
        definition::{Dialect, Source},
        parse::{Strictness, parse_bytes},
    };
    use agents_system::sandbox::Lack;

    use super::*;

    #[test]
    fn a_confined_hook_has_what_it_declares_and_no_more() {
        let needs = |write: &[&str], network| Needs {
            write: write.iter().map(ToString::to_string).collect(),
            network,
            ..Needs::default()
        };
        for (needs, available, rights) in [
            (
                needs(&[], Network::Denied),
                Availability::Available,
                "runs code, no network, sandboxed",
            ),
            (
                needs(&["target"], Network::Allowed),
                Availability::Available,
                "runs code, writes files, uses the network, sandboxed",
            ),
            (
                needs(&[], Network::Denied),
                Availability::Unavailable(Lack::Kernel),
                "does not run: no sandbox here",
            ),
        ] {
            assert_eq!(of_confined(&needs, available).join(", "), rights);
        }
    }

    #[test]
    fn an_agent_has_the_rights_of_its_tools() {
        for (tools, rights) in [
            ("", "steers the agent, runs code, writes files, uses the network"),
            ("tools: Read, Grep\n", "steers the agent"),
            ("tools: Read, Bash(git *)\n", "steers the agent, runs code"),
            ("tools: Edit, WebFetch\n", "steers the agent, writes files, uses the network"),
            ("disallowedTools: Bash\n", "steers the agent, writes files, uses the network"),
        ] {
            let text = format!("---\nname: a\ndescription: d\n{tools}---\nx\n");
            let (definition, findings) = parse_bytes(
                "a.md".into(),
                text.as_bytes(),
                Dialect::Claude,
                Source::User,
                Strictness::Lenient,
            );
            let definition = definition.unwrap_or_else(|| panic!("{findings:?}"));
            assert_eq!(of_agent(&definition).join(", "), rights, "{tools}");
        }
    }
}
