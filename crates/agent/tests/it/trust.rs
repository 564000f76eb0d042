//! What files may say, by where they are.

use agents_agent::{
    AgentDefinition,
    definition::{McpServerUse, PermissionMode, Source},
    trust::{ProjectTrust, Trusted, confine},
};

use crate::trees::Tree;

const GREEDY: &str = "---\nname: greedy\ndescription: wants all\npermissionMode: acceptEdits\n\
    hooks: { PreToolUse: [] }\nsecrets: TOKEN\nmcpServers: { own: { command: x } }\n---\n";

fn wants_all(definition: &AgentDefinition) -> [bool; 4] {
    let own = |it: &McpServerUse| matches!(it, McpServerUse::Inline { .. });
    [
        definition.permission_mode == Some(PermissionMode::AcceptEdits),
        definition.hooks.is_some(),
        !definition.secrets.is_empty(),
        definition.mcp_servers.iter().any(own),
    ]
}

#[test]
fn a_file_of_the_user_may_say_everything() {
    let tree = Tree::new();
    tree.scratch.write("home/.agents/agents/a.md", GREEDY);
    assert_eq!(wants_all(tree.find().get("greedy").unwrap()), [true; 4]);
    assert_eq!(tree.findings(), [""; 0]);
}

#[test]
fn a_file_of_a_project_may_widen_nothing_until_the_project_is_trusted() {
    let mut tree = Tree::new();
    tree.scratch.write("home/work/app/.agents/agents/a.md", GREEDY);
    assert_eq!(wants_all(tree.find().get("greedy").unwrap()), [false; 4]);
    let what = tree.findings();
    insta::assert_snapshot!(what.join("\n"), @r"
    home/work/app/.agents/agents/a.md: agent `greedy` asks for a permission mode that asks less, which a project that is not trusted may not
    home/work/app/.agents/agents/a.md: agent `greedy` asks for hooks, which a project that is not trusted may not
    home/work/app/.agents/agents/a.md: agent `greedy` asks for secrets, which a project that is not trusted may not
    home/work/app/.agents/agents/a.md: agent `greedy` asks for MCP servers of its own, which a project that is not trusted may not
    ");
    let hints =
        tree.find().all_findings().iter().filter_map(|it| it.hint.clone()).collect::<Vec<_>>();
    assert!(
        hints.len() == 4 && hints.iter().all(|it| it.contains("`[agents] trust`")),
        "{hints:?}"
    );
    tree.search.trusted = Trusted::new(&[tree.scratch.path("home/work")]);
    assert_eq!(wants_all(tree.find().get("greedy").unwrap()), [true; 4]);
    tree.search.trusted = Trusted::new(&[tree.scratch.path("home/work/ap")]);
    assert_eq!(wants_all(tree.find().get("greedy").unwrap()), [false; 4], "another directory");
}

#[test]
fn trust_is_decided_for_each_directory_not_for_where_the_user_stands() {
    let mut tree = Tree::new();
    tree.scratch.write("home/work/app/.git/HEAD", "");
    tree.scratch.write("home/work/app/.claude/agents/a.md", GREEDY);
    tree.search.cwd = tree.scratch.path("home/work/app/sub");
    tree.scratch.write("home/work/app/sub/.agents/agents/b.md", GREEDY.replace("greedy", "near"));
    tree.search.trusted = Trusted::new(&[tree.scratch.path("home/work/app/sub")]);
    let agents = tree.find();
    assert_eq!(wants_all(agents.get("near").unwrap()), [true; 4]);
    assert_eq!(wants_all(agents.get("greedy").unwrap()), [false; 4]);
}

#[cfg(unix)]
#[test]
fn a_trusted_directory_is_one_by_any_name() {
    let mut tree = Tree::new();
    tree.scratch.write("home/work/app/.agents/agents/a.md", GREEDY);
    let link = tree.scratch.path("home/link");
    std::os::unix::fs::symlink(tree.scratch.path("home/work"), &link).unwrap();
    tree.search.trusted = Trusted::new(&[link]);
    assert_eq!(wants_all(tree.find().get("greedy").unwrap()), [true; 4]);
}

#[test]
fn the_table() {
    let tree = Tree::new();
    tree.scratch.write("home/.agents/agents/a.md", GREEDY);
    let greedy = tree.find().get("greedy").unwrap().clone();
    let plugin = Source::Plugin("p".to_owned());
    let of_crate = Source::Crate("c".to_owned(), "1.0.0".to_owned());
    for (source, untrusted, trusted) in [
        (Source::Named, true, true),
        (Source::User, true, true),
        (Source::Bundled, true, true),
        (Source::Project, false, true),
        (plugin, false, false),
        (of_crate, false, false),
    ] {
        for (trust, allowed) in
            [(ProjectTrust::Untrusted, untrusted), (ProjectTrust::Trusted, trusted)]
        {
            let mut definition = greedy.clone();
            definition.origin.source = source.clone();
            let findings = confine(&mut definition, trust);
            assert_eq!(wants_all(&definition), [allowed; 4], "{source:?} {trust:?}");
            assert_eq!(findings.len(), if allowed { 0 } else { 4 });
        }
    }
}

#[test]
fn what_narrows_stays_whoever_says_it() {
    let tree = Tree::new();
    let text = "---\nname: tame\ndescription: d\ntools: read\npermissionMode: plan\nmcpServers: known\n---\n";
    tree.scratch.write("home/work/app/.agents/agents/a.md", text);
    let agents = tree.find();
    let tame = agents.get("tame").unwrap();
    assert_eq!(tame.permission_mode, Some(PermissionMode::Plan));
    assert_eq!(tame.mcp_servers, [McpServerUse::Named("known".to_owned())]);
    assert_eq!(tree.findings(), [""; 0]);
}
