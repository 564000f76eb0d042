use super::*;

fn meant(dialect: Dialect, name: &str) -> String {
    let (patterns, familiar) = from_host(dialect, name);
    let patterns: Vec<&str> = patterns.iter().map(ToolPattern::as_str).collect();
    let mark = match familiar {
        Familiar::Own => "",
        Familiar::Foreign => " (foreign)",
        Familiar::Unknown => " (unknown)",
    };
    format!("{}{mark}", patterns.join(" "))
}

#[test]
fn names_of_hosts_become_ours() {
    use Dialect::*;
    for (dialect, name, expected) in [
        (Claude, "Read", "read"),
        (Claude, "read", "read"),
        (Claude, "MultiEdit", "edit"),
        (Claude, "Bash(git *)", "bash(git *)"),
        (Claude, "Task", "task"),
        (Claude, "read_file", "read (foreign)"),
        (Claude, "pied-piper", "pied-piper (unknown)"),
        (Claude, "mcp__github", "mcp__github__*"),
        (Claude, "mcp__github__issues", "mcp__github__issues"),
        (Claude, "mcp__*", "mcp__*"),
        (Claude, "*", "*"),
        (OhMyPi, "search", "grep"),
        (OhMyPi, "find", "glob"),
        (Copilot, "search", "grep glob"),
        (Copilot, "edit", "write edit"),
        (Copilot, "github/create_issue", "mcp__github__create_issue"),
        (Copilot, "github/*", "mcp__github__*"),
        (Gemini, "run_shell_command", "bash"),
        (Gemini, "mcp_github_*", "mcp__github__*"),
        (Gemini, "mcp_*", "mcp__*"),
        (OpenCode, "edit", "write edit"),
        (OpenCode, "github_*", "mcp__github__*"),
        (OpenCode, "save_memory", "memory (foreign)"),
        (Kiro, "fs_write", "write edit"),
        (Kiro, "@github", "mcp__github__*"),
        (Kiro, "@github/issues", "mcp__github__issues"),
        (Factory, "read-only", "read list grep glob"),
        (Factory, "edit", "write edit"),
        (Factory, "Edit", "edit"),
        (Factory, "execute", "bash"),
        (Ours, "Read", "read"),
        (Ours, "run_shell_command", "bash"),
        (Ours, "search", "grep"),
    ] {
        assert_eq!(meant(dialect, name), expected, "{dialect} {name}");
    }
}

#[test]
fn what_is_written_for_a_host_is_read_back_there() {
    let custom =
        ["mine", "mcp__github__issues", "mcp__github__*", "mcp__a_b__c", "view", "LS", "web*"];
    for dialect in Dialect::ALL {
        for name in all().map(|(name, _)| name).chain(custom) {
            let pattern = ToolPattern::new(name);
            if let Some(text) = to_host(dialect, &pattern) {
                let (back, _) = from_host(dialect, &text);
                assert!(back.contains(&pattern), "{dialect} {name} {text} {back:?}");
            }
        }
    }
}

#[test]
fn every_name_in_the_table_is_known_to_its_host() {
    for row in ROWS {
        for dialect in COLUMNS {
            for name in cell(row, dialect) {
                let (patterns, familiar) = from_host(dialect, name);
                assert_eq!(familiar, Familiar::Own, "{dialect} {name}");
                assert!(patterns.contains(&ToolPattern::new(row.name)), "{dialect} {name}");
            }
        }
        assert_eq!(row.name, row.name.to_lowercase());
    }
}
