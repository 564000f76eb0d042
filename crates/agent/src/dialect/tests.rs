use std::collections::HashSet;

use super::*;
use crate::dialect::grammar::Key;

#[test]
fn the_path_tells_the_dialect() {
    for (path, dialect) in [
        ("/w/.agents/agents/x.md", Some(Dialect::Ours)),
        ("/w/.claude/agents/x.md", Some(Dialect::Claude)),
        ("/w/.claude/agents/deep/er/x.MD", Some(Dialect::Claude)),
        ("/w/.goose/agents/x.md", Some(Dialect::Claude)),
        ("/w/.zeph/agents/x.md", Some(Dialect::Zeph)),
        ("/h/.config/zeph/agents/x.md", Some(Dialect::Zeph)),
        ("/w/.omp/agents/x.md", Some(Dialect::OhMyPi)),
        ("/h/.omp/agent/agents/x.md", None),
        ("/w/.codex/agents/x.toml", Some(Dialect::Codex)),
        ("/w/.codex/agents/x.md", None),
        ("/w/.github/agents/x.agent.md", Some(Dialect::Copilot)),
        ("/w/.github/agents/x.md", Some(Dialect::Copilot)),
        ("/h/.copilot/agents/x.md", Some(Dialect::Copilot)),
        ("/w/.gemini/agents/x.md", Some(Dialect::Gemini)),
        ("/w/.opencode/agent/x.md", Some(Dialect::OpenCode)),
        ("/h/.config/opencode/agents/x.md", Some(Dialect::OpenCode)),
        ("/w/.cursor/agents/x.md", Some(Dialect::Cursor)),
        ("/w/.kiro/agents/x.json", Some(Dialect::Kiro)),
        ("/w/.kiro/agents/x.md", Some(Dialect::Kiro)),
        ("/w/.kiro/agents/x.toml", None),
        ("/w/.qwen/agents/x.md", Some(Dialect::Qwen)),
        ("/w/.factory/droids/x.md", Some(Dialect::Factory)),
        ("/w/.claude/agents/.codex/agents/x.toml", Some(Dialect::Codex)),
        ("/w/x.agent.md", Some(Dialect::Copilot)),
        ("/w/agents/x.md", None),
        ("x.md", None),
        ("", None),
    ] {
        assert_eq!(Dialect::of(path.into()), dialect, "{path}");
    }
}

#[test]
fn every_dialect_reads_the_files_that_it_is_written_to() {
    for dialect in Dialect::ALL {
        assert!(dialect.reads(&dialect.file_name("x")), "{dialect}");
        let name = dialect.file_name("x");
        assert_eq!(stem(Utf8Path::new(&name)), Some("x"));
    }
}

#[test]
fn no_grammar_says_the_same_key_twice() {
    for dialect in Dialect::ALL {
        let grammar = dialect.grammar();
        assert_eq!(grammar.dialect, dialect);
        let mut seen = HashSet::new();
        let extra = grammar.extra.iter().copied();
        for key in grammar.keys.iter().map(|(key, _)| *key).chain(extra) {
            assert!(seen.insert(key), "{dialect}: {key}");
        }
        let spelled = |wanted| grammar.keys.iter().any(|(_, key)| *key == wanted);
        assert!(spelled(Key::Description), "{dialect}");
        assert_eq!(spelled(Key::Mode), !grammar.modes.is_empty(), "{dialect}");
        assert_eq!(spelled(Key::Effort), !grammar.efforts.is_empty(), "{dialect}");
    }
}
