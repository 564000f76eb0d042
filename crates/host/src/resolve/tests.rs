use std::fmt::Write;

use insta::assert_snapshot;

use super::*;
use crate::testing::{built_in, plain};

/// Every path of every host, one host a paragraph.
fn table(scope: Scope, roots: &Roots<'_>) -> String {
    let mut text = String::new();
    for host in built_in() {
        let at = host.paths(scope, roots);
        let home = if scope == Scope::User { format!(" ({})", at.home) } else { String::new() };
        writeln!(text, "{}{home}", host.id).unwrap();
        let mut line = |what: &str, paths: &[Utf8PathBuf]| {
            let paths: Vec<&str> = paths.iter().map(|path| path.as_str()).collect();
            if !paths.is_empty() {
                writeln!(text, "  {what}: {}", paths.join(", ")).unwrap();
            }
        };
        line("skills", &at.skills_read);
        line("agents", at.agents_dir.as_slice());
        line("agents read", &at.agents_read);
        line("hooks", at.hook_file.as_slice());
        line("hooks instead", at.hook_file_fallback.as_slice());
        line("hooks read", &at.hook_files_read);
        line("mcp", at.mcp_file.as_slice());
        line("mcp instead", &at.mcp_file_instead);
        line("mcp read", &at.mcp_files_read);
        line("instructions", at.instructions_file.as_slice());
    }
    text
}

#[test]
fn in_the_project() {
    assert_snapshot!(table(Scope::Project, &plain()), @r#"
    claude
      skills: /w/.claude/skills
      agents: /w/.claude/agents
      hooks: /w/.claude/settings.json
      mcp: /w/.mcp.json
      instructions: /w/CLAUDE.md
    codex
      skills: /w/.agents/skills, /w/.codex/skills
      agents: /w/.codex/agents
      hooks: /w/.codex/hooks.json
      mcp: /w/.codex/config.toml
      instructions: /w/AGENTS.md
    copilot
      skills: /w/.agents/skills, /w/.github/skills, /w/.claude/skills
      agents: /w/.github/agents
      agents read: /w/.claude/agents
      hooks: /w/.github/hooks/cargo-agents.json
      hooks read: /w/.claude/settings.json
      mcp: /w/.mcp.json
      instructions: /w/AGENTS.md
    gemini
      skills: /w/.agents/skills, /w/.gemini/skills
      agents: /w/.gemini/agents
      hooks: /w/.gemini/settings.json
      mcp: /w/.gemini/settings.json
      instructions: /w/GEMINI.md
    antigravity
      skills: /w/.agents/skills
      agents: /w/.agents/agents
      hooks: /w/.agents/hooks.json
      mcp: /w/.agents/mcp_config.json
      instructions: /w/AGENTS.md
    kiro
      skills: /w/.kiro/skills
      agents: /w/.kiro/agents
      hooks: /w/.kiro/hooks/cargo-agents.json
      mcp: /w/.kiro/settings/mcp.json
      instructions: /w/AGENTS.md
    opencode
      skills: /w/.agents/skills, /w/.opencode/skills, /w/.claude/skills
      agents: /w/.opencode/agents
      hooks: /w/.opencode/plugins/cargo-agents.js
      mcp: /w/opencode.json
      mcp instead: /w/opencode.jsonc
      instructions: /w/AGENTS.md
    goose
      skills: /w/.agents/skills, /w/.goose/skills, /w/.claude/skills
      agents: /w/.goose/agents
      agents read: /w/.agents/agents, /w/.claude/agents
      hooks: /w/.agents/plugins/cargo-agents/hooks/hooks.json
      instructions: /w/AGENTS.md
    cursor
      skills: /w/.cursor/skills, /w/.claude/skills
      agents: /w/.cursor/agents
      agents read: /w/.claude/agents
      hooks: /w/.cursor/hooks.json
      mcp: /w/.cursor/mcp.json
      instructions: /w/AGENTS.md
    qwen
      skills: /w/.agents/skills, /w/.qwen/skills
      agents: /w/.qwen/agents
      hooks: /w/.qwen/settings.json
      mcp: /w/.qwen/settings.json
      instructions: /w/QWEN.md
    factory
      skills: /w/.factory/skills, /w/.agent/skills
      agents: /w/.factory/droids
      hooks: /w/.factory/hooks.json
      hooks instead: /w/.factory/settings.json
      mcp: /w/.factory/mcp.json
      instructions: /w/AGENTS.md
    amp
      skills: /w/.agents/skills, /w/.claude/skills
      mcp: /w/.amp/settings.json
      instructions: /w/AGENTS.md
    zed
      skills: /w/.agents/skills
      mcp: /w/.zed/settings.json
      instructions: /w/AGENTS.md
    "#);
}

#[test]
fn for_the_user() {
    assert_snapshot!(table(Scope::User, &plain()), @r#"
    claude (/h/.claude)
      skills: /h/.claude/skills
      agents: /h/.claude/agents
      hooks: /h/.claude/settings.json
      mcp: /h/.claude.json
      instructions: /h/.claude/CLAUDE.md
    codex (/h/.codex)
      skills: /h/.agents/skills, /h/.codex/skills
      agents: /h/.codex/agents
      hooks: /h/.codex/hooks.json
      mcp: /h/.codex/config.toml
      instructions: /h/.codex/AGENTS.md
    copilot (/h/.copilot)
      skills: /h/.agents/skills, /h/.copilot/skills
      agents: /h/.copilot/agents
      hooks: /h/.copilot/hooks/cargo-agents.json
      mcp: /h/.copilot/mcp-config.json
    gemini (/h/.gemini)
      skills: /h/.agents/skills, /h/.gemini/skills
      agents: /h/.gemini/agents
      hooks: /h/.gemini/settings.json
      mcp: /h/.gemini/settings.json
      instructions: /h/.gemini/GEMINI.md
    antigravity (/h/.gemini/config)
      skills: /h/.gemini/antigravity-cli/skills
      agents: /h/.gemini/config/agents
      hooks: /h/.gemini/config/hooks.json
      mcp: /h/.gemini/config/mcp_config.json
    kiro (/h/.kiro)
      skills: /h/.kiro/skills
      agents: /h/.kiro/agents
      hooks: /h/.kiro/hooks/cargo-agents.json
      mcp: /h/.kiro/settings/mcp.json
    opencode (/h/.config/opencode)
      skills: /h/.agents/skills, /h/.config/opencode/skills, /h/.claude/skills
      agents: /h/.config/opencode/agents
      hooks: /h/.config/opencode/plugins/cargo-agents.js
      mcp: /h/.config/opencode/opencode.json
      mcp instead: /h/.config/opencode/opencode.jsonc
      instructions: /h/.config/opencode/AGENTS.md
    goose (/h/.config/goose)
      skills: /h/.agents/skills, /h/.config/goose/skills, /h/.goose/skills, /h/.claude/skills
      agents: /h/.goose/agents
      agents read: /h/.agents/agents, /h/.claude/agents
      hooks: /h/.agents/plugins/cargo-agents/hooks/hooks.json
      mcp: /h/.config/goose/config.yaml
      instructions: /h/.config/goose/.goosehints
    cursor (/h/.cursor)
      skills: /h/.cursor/skills, /h/.claude/skills
      agents: /h/.cursor/agents
      hooks: /h/.cursor/hooks.json
      mcp: /h/.cursor/mcp.json
    qwen (/h/.qwen)
      skills: /h/.agents/skills, /h/.qwen/skills
      agents: /h/.qwen/agents
      hooks: /h/.qwen/settings.json
      mcp: /h/.qwen/settings.json
      instructions: /h/.qwen/QWEN.md
    factory (/h/.factory)
      skills: /h/.factory/skills
      agents: /h/.factory/droids
      hooks: /h/.factory/hooks.json
      hooks instead: /h/.factory/settings.json
      mcp: /h/.factory/mcp.json
      instructions: /h/.factory/AGENTS.md
    amp (/h/.config/amp)
      skills: /h/.config/agents/skills, /h/.config/amp/skills, /h/.claude/skills
      mcp: /h/.config/amp/settings.json
      instructions: /h/.config/amp/AGENTS.md
    zed (/h/.config/zed)
      skills: /h/.agents/skills
      mcp: /h/.config/zed/settings.json
      instructions: /h/.config/zed/AGENTS.md
    "#);
}

#[test]
fn variables_move_the_files_of_the_user() {
    let env = |name: &str| Some(format!("/{}", name.to_lowercase()));
    let roots = Roots { env: &env, ..plain() };
    assert_snapshot!(table(Scope::User, &roots), @r#"
    claude (/claude_config_dir)
      skills: /claude_config_dir/skills
      agents: /claude_config_dir/agents
      hooks: /claude_config_dir/settings.json
      mcp: /claude_config_dir/.claude.json
      instructions: /claude_config_dir/CLAUDE.md
    codex (/codex_home)
      skills: /h/.agents/skills, /codex_home/skills
      agents: /codex_home/agents
      hooks: /codex_home/hooks.json
      mcp: /codex_home/config.toml
      instructions: /codex_home/AGENTS.md
    copilot (/copilot_home)
      skills: /h/.agents/skills, /copilot_home/skills
      agents: /copilot_home/agents
      hooks: /copilot_home/hooks/cargo-agents.json
      mcp: /copilot_home/mcp-config.json
    gemini (/gemini_cli_home/.gemini)
      skills: /gemini_cli_home/.agents/skills, /gemini_cli_home/.gemini/skills
      agents: /gemini_cli_home/.gemini/agents
      hooks: /gemini_cli_home/.gemini/settings.json
      mcp: /gemini_cli_home/.gemini/settings.json
      instructions: /gemini_cli_home/.gemini/GEMINI.md
    antigravity (/h/.gemini/config)
      skills: /h/.gemini/antigravity-cli/skills
      agents: /h/.gemini/config/agents
      hooks: /h/.gemini/config/hooks.json
      mcp: /h/.gemini/config/mcp_config.json
    kiro (/h/.kiro)
      skills: /h/.kiro/skills
      agents: /h/.kiro/agents
      hooks: /h/.kiro/hooks/cargo-agents.json
      mcp: /h/.kiro/settings/mcp.json
    opencode (/xdg_config_home/opencode)
      skills: /h/.agents/skills, /xdg_config_home/opencode/skills, /h/.claude/skills
      agents: /xdg_config_home/opencode/agents
      hooks: /xdg_config_home/opencode/plugins/cargo-agents.js
      mcp: /xdg_config_home/opencode/opencode.json
      mcp instead: /xdg_config_home/opencode/opencode.jsonc
      instructions: /xdg_config_home/opencode/AGENTS.md
    goose (/goose_path_root/config)
      skills: /h/.agents/skills, /goose_path_root/config/skills, /h/.goose/skills, /h/.claude/skills
      agents: /h/.goose/agents
      agents read: /h/.agents/agents, /h/.claude/agents
      hooks: /h/.agents/plugins/cargo-agents/hooks/hooks.json
      mcp: /goose_path_root/config/config.yaml
      instructions: /goose_path_root/config/.goosehints
    cursor (/h/.cursor)
      skills: /h/.cursor/skills, /h/.claude/skills
      agents: /h/.cursor/agents
      hooks: /h/.cursor/hooks.json
      mcp: /h/.cursor/mcp.json
    qwen (/qwen_home)
      skills: /h/.agents/skills, /qwen_home/skills
      agents: /qwen_home/agents
      hooks: /qwen_home/settings.json
      mcp: /qwen_home/settings.json
      instructions: /qwen_home/QWEN.md
    factory (/h/.factory)
      skills: /h/.factory/skills
      agents: /h/.factory/droids
      hooks: /h/.factory/hooks.json
      hooks instead: /h/.factory/settings.json
      mcp: /h/.factory/mcp.json
      instructions: /h/.factory/AGENTS.md
    amp (/h/.config/amp)
      skills: /h/.config/agents/skills, /h/.config/amp/skills, /h/.claude/skills
      mcp: /h/.config/amp/settings.json
      instructions: /h/.config/amp/AGENTS.md
    zed (/xdg_config_home/zed)
      skills: /h/.agents/skills
      mcp: /xdg_config_home/zed/settings.json
      instructions: /xdg_config_home/zed/AGENTS.md
    "#);
}

#[test]
fn variables_do_not_move_the_files_of_the_project() {
    let env = |name: &str| Some(format!("/{}", name.to_lowercase()));
    let roots = Roots { env: &env, ..plain() };
    assert_eq!(table(Scope::Project, &roots), table(Scope::Project, &plain()));
}

#[test]
fn without_a_workspace_there_are_no_paths_of_the_project() {
    let roots = Roots { workspace: None, ..plain() };
    for host in built_in() {
        let paths = host.paths(Scope::Project, &roots);
        assert_eq!(paths.skills_dir, None);
        assert_eq!(paths.skills_read, [] as [&str; 0]);
        assert_eq!((paths.hook_file, paths.mcp_file), (None, None));
    }
}

#[test]
fn the_variables_of_each_host_are_known() {
    let mut text = String::new();
    for host in built_in() {
        if !host.variables().is_empty() {
            writeln!(text, "{}: {}", host.id, host.variables().join(", ")).unwrap();
        }
    }
    assert_snapshot!(text, @r#"
    claude: CLAUDE_CONFIG_DIR
    codex: CODEX_HOME
    copilot: COPILOT_HOME
    gemini: GEMINI_CLI_HOME
    opencode: XDG_CONFIG_HOME
    goose: GOOSE_PATH_ROOT, XDG_CONFIG_HOME
    qwen: QWEN_HOME
    zed: XDG_CONFIG_HOME
    "#);
}
