//! What is typed about tools: `edit`, `bash(cargo *)`, `mcp__github__*`.

use agents_agent::{
    definition::Dialect,
    tools::{
        ToolPattern,
        names::{self, Familiar},
    },
};
use agents_system::nearest::{nearest, quoted_list};
use agents_task::submission::YIELD;

/// How the names of tools begin that are commands of plugins.
pub(crate) const PLUGIN: &str = "plugin__";

/// Refuses a rule that would hold for nothing, because it is not closed or no tool is called that. Tools of MCP servers and commands of
/// plugins are known only when tasks run, and patterns are meant to hold for whatever there will be.
pub(crate) fn tool_rule(text: &str) -> Result<String, String> {
    let pattern = ToolPattern::new(text);
    let name = pattern.tool();
    if name.is_empty() {
        return Err("a tool is `edit`, `bash(cargo *)` or `mcp__server__*`".to_owned());
    }
    if pattern.as_str().contains('(') && pattern.argument().is_none() {
        return Err(format!("`(` is not closed: write `{name}(…)`"));
    }
    let (_, familiar) = names::from_host(Dialect::Ours, name);
    if familiar != Familiar::Unknown || name.starts_with(PLUGIN) || name == YIELD {
        return Ok(pattern.as_str().to_owned());
    }
    let near = nearest(name, names::all().map(|(name, _)| name));
    Err(match near.is_empty() {
        true => format!("no tool is called `{name}`; some are `read`, `edit` and `bash`"),
        false => format!("no tool is called `{name}`; did you mean {}?", quoted_list(&near, "or")),
    })
}

#[cfg(test)]
mod tests {
    use super::tool_rule;

    #[test]
    fn tools_of_servers_plugins_and_hosts_are_known_and_so_are_patterns() {
        for fine in [
            "edit",
            "Read",
            " bash(cargo *) ",
            "write(.git/**)",
            "mcp__github__*",
            "mcp__github__issues",
            "plugin__sql__schema",
            "run_shell_command",
            "web*",
            "*",
            "yield",
        ] {
            assert_eq!(tool_rule(fine).as_deref(), Ok(fine.trim()), "{fine}");
        }
    }

    #[test]
    fn what_would_hold_for_nothing_is_refused_with_the_nearest_name() {
        for (wrong, said) in [
            ("", "a tool is `edit`"),
            ("(x)", "a tool is `edit`"),
            ("bash(", "`(` is not closed: write `bash(…)`"),
            ("bash(nothing", "`(` is not closed"),
            ("bash(a) b", "`(` is not closed"),
            ("bsh", "did you mean `bash`?"),
            ("nosuch", "no tool is called `nosuch`"),
            ("nosuch(x)", "no tool is called `nosuch`"),
        ] {
            let refused = tool_rule(wrong).unwrap_err();
            assert!(refused.contains(said), "{wrong}: {refused}");
        }
    }
}
