//! `installed_plugins.json`, and what active plugins bring.

use agents_agent::definition::Source;
use agents_plugin::{
    agents::AgentDir,
    manifest::PluginName,
    plugin::Origin,
    skills::{Contributor, SkillOrigin},
};
use serde_json::{Value, json};

use crate::trees::Tree;

impl Tree {
    fn install(&self, list: &str, plugins: &Value) {
        let document = json!({ "version": 2, "plugins": plugins });
        self.scratch
            .write(format!("home/{list}/plugins/installed_plugins.json"), document.to_string());
    }

    fn plugin(&self, dir: &str, agent: &str) -> String {
        self.agent(&format!("{dir}/agents/{agent}.md"), agent);
        self.scratch.path(dir).into_string()
    }
}

#[test]
fn plugins_come_after_all_families_those_of_the_project_first() {
    let tree = Tree::new();
    tree.agent("home/.goose/agents/a.md", "a");
    tree.install(
        ".claude",
        &json!({
            "one@m": [{ "scope": "user", "installPath": tree.plugin("p1", "a") }],
            "two@m": [{ "installPath": tree.plugin("p2", "b"), "version": "1" }],
            "three@m": [{ "scope": "project", "installPath": tree.plugin("p3", "b") }],
        }),
    );
    assert_eq!(tree.shown(), ["a: home/.goose/agents/a.md", "b: p3/agents/b.md"]);
    let agents = tree.find();
    assert_eq!(agents.get("b").unwrap().origin.source, Source::Plugin("three@m".to_owned()));
}

#[test]
fn entries_that_do_not_count() {
    let tree = Tree::new();
    tree.install(
        ".claude",
        &json!({
            "nomarket": [{ "installPath": tree.plugin("p1", "a") }],
            "nopath@m": [{ "scope": "user" }],
            "off@m": [{ "installPath": tree.plugin("p2", "b"), "enabled": false }],
            "none@m": [],
            "elsewhere@m": [{ "scope": "project", "installPath": tree.plugin("p3", "c"), "projectPath": "/other" }],
        }),
    );
    assert_eq!(tree.shown(), [""; 0]);
    assert_eq!(
        tree.findings(),
        [
            "home/.claude/plugins/installed_plugins.json: plugin `nomarket` is not called `name@marketplace`; it is left out",
            "home/.claude/plugins/installed_plugins.json: plugin `nopath@m` has no `installPath`; it is left out",
        ]
    );
}

#[test]
fn a_project_entry_hides_the_users_with_the_same_id_and_a_later_list_replaces_an_earlier_one() {
    let tree = Tree::new();
    tree.install(
        ".claude",
        &json!({
            "p@m": [
                { "scope": "user", "installPath": tree.plugin("p1", "a") },
                { "scope": "project", "installPath": tree.plugin("p2", "b"), "projectPath": tree.scratch.path("home/work/app") },
            ],
            "q@m": [{ "installPath": tree.plugin("q1", "c") }],
        }),
    );
    tree.install(".omp", &json!({ "q@m": [{ "installPath": tree.plugin("q2", "d") }] }));
    assert_eq!(tree.shown(), ["b: p2/agents/b.md", "d: q2/agents/d.md"]);
}

#[test]
fn a_list_that_cannot_be_understood_is_ignored_with_a_finding() {
    for text in ["{", "[]", "{\"version\": 2}", "{\"plugins\": {}}"] {
        let tree = Tree::new();
        tree.scratch.write("home/.claude/plugins/installed_plugins.json", text);
        tree.agent("home/.claude/agents/a.md", "a");
        assert_eq!(tree.shown().len(), 1);
        assert_eq!(tree.findings().len(), 1, "{text}");
    }
}

#[test]
fn what_active_plugins_bring_comes_before_installed_ones_with_its_crate_as_source() {
    let mut tree = Tree::new();
    let dir = tree.scratch.path("registry/widget-1.2.0");
    tree.agent("registry/widget-1.2.0/agents/a.md", "a");
    tree.install(".claude", &json!({ "one@m": [{ "installPath": tree.plugin("p1", "a") }] }));
    tree.search.plugins = vec![AgentDir {
        dir: dir.join("agents"),
        root: dir,
        origin: SkillOrigin::Crate {
            name: agents_workspace::CrateName::new("widget"),
            version: "1.2.0".parse().unwrap(),
        },
        plugin: Contributor {
            name: PluginName::new("demo").unwrap(),
            origin: Origin::Registry("r".to_owned()),
        },
        because: Vec::new(),
    }];
    let agents = tree.find();
    let source = &agents.get("a").unwrap().origin.source;
    assert_eq!(*source, Source::Crate("widget".to_owned(), "1.2.0".to_owned()));
    assert_eq!(agents.chain("a").count(), 2);
}
