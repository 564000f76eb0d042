//! Agents in a scratch workspace, with a plugin that has a hook, an MCP server and a command for agents: all of them real programs.

mod world;

use std::sync::Arc;

use agents_agent::definition::{McpServerUse, Source};
use agents_hook::input::Session;
use agents_plugin::manifest::{Audience, Manner, parse::parse_manifest};
use agents_system::{
    finding::Finding,
    sandbox::{Availability, available},
};
use agents_tool::{Area, Confinement, Rights, settings::Author};
use serde_json::json;

use self::world::{World, definition};
use super::{Equipment, Hands, Wearer};

fn messages(findings: &[Finding]) -> String {
    findings.iter().map(|it| it.message.clone() + "\n").collect()
}

/// The example of the page.
#[test]
fn the_page_shows_a_plugin_for_agents() {
    let page = include_str!("../../../../docs/tools.md");
    let (_, example) = page.split_once("```toml SYMPOSIUM.toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let parsed = parse_manifest("SYMPOSIUM.toml".into(), example, Manner::Registry, None);
    assert_eq!(messages(&parsed.findings), "");
    let manifest = parsed.manifest.unwrap();
    assert_eq!(manifest.hooks.len(), 1);
    let agents = manifest.subcommands.values().filter(|it| it.audience == Audience::Agents);
    assert_eq!(agents.count(), 1);
}

#[test]
fn agents_can_be_equipped_wherever_they_run() {
    fn everywhere<T: Send + Sync + 'static>() {}
    fn elsewhere<T: Send>(_: T) {}
    everywhere::<Hands>();
    everywhere::<Equipment>();
    let world = World::new();
    let run = world.run("");
    let (definition, rights) = (definition(Source::User, None), Rights::nothing());
    let area = Area::workspace(&world.sample.root()).unwrap();
    let session = Session::default();
    let wearer = Wearer {
        definition: &definition,
        rights: &rights,
        area: &area,
        session,
        heard: Arc::default(),
    };
    elsewhere(run.hands.equip(wearer));
}

#[test]
fn an_agent_of_the_user_gets_what_is_here() {
    let world = World::new();
    let run = world.run("");
    assert_eq!(messages(run.hands.findings()), "");
    let agent = run.agent(&definition(Source::User, None), Rights::all());
    assert_eq!(agent.equipment.confinement, Confinement::None);
    assert_eq!(messages(&agent.equipment.findings), "");
    let mut offered = agent.offered();
    offered.retain(|it| it != "lsp");
    assert_eq!(
        offered,
        [
            "bash",
            "edit",
            "find",
            "mcp__notes__die",
            "mcp__notes__pid",
            "mcp__notes__write",
            "outline",
            "plugin__crate-info__crate-info",
            "plugin__helper__count",
            "read",
            "search",
            "todo",
            "write",
        ]
    );
    // The hook of the plugin says no to one command and nothing to others, under the names that it knows.
    let said = agent.call("bash", json!({"command": "cargo publish"}));
    assert!(
        said.is_error && said.content.contains("blocked by a hook: [helper] CI publishes"),
        "{said:?}"
    );
    assert!(agent.ok("bash", json!({"command": "echo free"})).contains("free"));
    assert_eq!(messages(&agent.heard.all()), "");
    // The command of the plugin is run by this program, with its arguments as they are.
    let counted = agent.ok("plugin__helper__count", json!({"args": ["a b", "$(c)"]}));
    assert!(counted.contains("2: a b|$(c)|"), "{counted}");
    // It changes the workspace: nothing confines it.
    agent.ok("mcp__notes__write", json!({}));
    assert!(world.sample.path("written").exists());
}

#[test]
fn servers_are_shared_by_all_agents_survive_their_death_and_end_with_the_run() {
    let world = World::new();
    let run = world.run("");
    let pid = |agent: &world::Agent<'_>| {
        let said = agent.ok("mcp__notes__pid", json!({}));
        said.lines().find_map(|it| it.strip_prefix("pid ")).unwrap().to_owned()
    };
    let one = run.agent(&definition(Source::User, None), Rights::all());
    let two =
        run.agent(&definition(Source::Bundled, None), Rights::only(["mcp__notes__*", "read"]));
    assert_eq!(two.offered(), ["mcp__notes__die", "mcp__notes__pid", "mcp__notes__write", "read"]);
    let first = pid(&one);
    assert_eq!(first, pid(&two));
    let died = one.call("mcp__notes__die", json!({}));
    assert!(
        died.is_error && died.content.contains("ended during the call; it said: bye"),
        "{died:?}"
    );
    let second = pid(&two);
    assert_ne!(first, second);
    run.end();
    let stat = std::path::PathBuf::from(format!("/proc/{second}/stat"));
    assert!(fs_err::read_to_string(stat).map_or(true, |it| it.contains(") Z ")));
}

#[test]
fn a_stranger_is_confined_with_everything_that_runs_for_it() {
    let world = World::new();
    let run = world.run("");
    let file = world.sample.write(".agents/agents/stranger.md", "");
    let stranger = definition(Source::Project, Some(file));
    assert_eq!(run.hands.author(&stranger), Author::Stranger);
    let agent = run.agent(&stranger, Rights::all());
    assert!(matches!(agent.equipment.confinement, Confinement::Sandbox(_)));
    let outside = world.sample.scratch().write("outside.txt", "secret");
    let said = agent.call("bash", json!({"command": format!("cat {outside}; echo done")}));
    if let Availability::Unavailable(_) = available() {
        // Without a sandbox nothing runs.
        assert!(
            said.is_error && said.content.contains("the sandbox that this agent must"),
            "{said:?}"
        );
        assert!(messages(&agent.equipment.findings).contains("the sandbox that the MCP server"));
        return;
    }
    assert!(!said.content.contains("secret") && said.content.contains("done"), "{said:?}");
    let said = agent.call("mcp__notes__write", json!({}));
    assert!(
        said.content.contains("not written") && !world.sample.path("written").exists(),
        "{said:?}"
    );
    let counted = agent.ok("plugin__helper__count", json!({"args": ["a"]}));
    assert!(counted.contains("1: a|"), "{counted}");
    let denied = agent.call("bash", json!({"command": "cargo publish"}));
    assert!(denied.content.contains("CI publishes"), "{denied:?}");
}

#[test]
fn who_is_confined_is_up_to_the_user() {
    let world = World::new();
    let file = world.sample.write(".agents/agents/stranger.md", "");
    let stranger = definition(Source::Project, Some(file));
    let trust = format!("[agents]\ntrust = [\"{}\"]\n", world.sample.root());
    for (config, source, confined) in [
        ("[tasks]\nsandbox = \"never\"\n", Source::Plugin("p".to_owned()), false),
        ("[tasks]\nsandbox = \"always\"\n", Source::User, true),
        ("", Source::Crate("a".to_owned(), "1.0.0".to_owned()), true),
        ("", Source::Plugin("p".to_owned()), true),
        ("", Source::Named, false),
        (trust.as_str(), Source::Project, false),
    ] {
        let run = world.run(config);
        let mut definition = stranger.clone();
        definition.origin.source = source.clone();
        let confinement = run.hands.confinement(&definition);
        assert_eq!(confinement != Confinement::None, confined, "{config} {source:?}");
    }
}

#[test]
fn nothing_is_started_for_whoever_may_not_use_it() {
    let world = World::new();
    let run = world.run("[mcp-servers.broken]\ncommand = \"no-such-program\"\n");
    let reader =
        run.agent(&definition(Source::User, None), Rights::only(["read", "mcp__notes__pid"]));
    assert_eq!(reader.offered(), ["mcp__notes__pid", "read"]);
    assert_eq!(messages(&reader.equipment.findings), "");
    let all = run.agent(&definition(Source::User, None), Rights::all().without(["bash"]));
    assert!(all.offered().contains(&"mcp__notes__pid".to_owned()));
    let said = messages(&all.equipment.findings);
    assert!(said.contains("the MCP server `broken` cannot be reached"), "{said}");
    let next = run.agent(&definition(Source::User, None), Rights::all());
    assert_eq!(messages(&next.equipment.findings), "", "it is told once");
}

#[test]
fn the_word_of_the_user_about_a_server_counts() {
    let world = World::new();
    let own = world.server("own.sh");
    let run = world.run(&format!(
        "[mcp-servers.mine]\ncommand = [\"{own}\"]\ntools = [\"pid\", \"nothing\"]\n\
         [mcp-servers.notes]\ncommand = \"x\"\nenabled = false\n\
         [web]\nfetch = true\nsearch = {{ provider = \"tavily\", key-env = \"NO_SUCH_VARIABLE\" }}\n"
    ));
    let said = messages(run.hands.findings());
    assert!(said.contains("`web_search` is not offered: there is no key for Tavily"), "{said}");
    let agent = run.agent(&definition(Source::User, None), Rights::all());
    let offered = agent.offered();
    let served: Vec<&String> = offered.iter().filter(|it| it.starts_with("mcp__")).collect();
    assert_eq!(served, ["mcp__mine__pid"]);
    assert!(
        offered.contains(&"web_fetch".to_owned()) && !offered.contains(&"web_search".to_owned())
    );
    assert_eq!(
        messages(&agent.equipment.findings),
        "the MCP server `mine` has no tool `nothing`\n"
    );
}

#[test]
fn a_definition_brings_servers_of_its_own_if_the_user_trusts_it() {
    let world = World::new();
    let server = world.server("own.sh");
    let run = world.run("");
    let bring = |source| {
        let mut definition = definition(source, None);
        let entry = json!({"command": server.as_str()});
        definition.mcp_servers = vec![
            McpServerUse::Inline { name: "own".to_owned(), entry },
            McpServerUse::Named("notes".to_owned()),
            McpServerUse::Named("nobody".to_owned()),
        ];
        run.agent(&definition, Rights::only(["mcp__own__pid", "mcp__notes__pid"]))
    };
    let trusted = bring(Source::User);
    assert_eq!(trusted.offered(), ["mcp__notes__pid", "mcp__own__pid"]);
    assert_eq!(messages(&trusted.equipment.findings), "there is no MCP server `nobody`\n");
    trusted.ok("mcp__own__pid", json!({}));
    let other = run.agent(&definition(Source::User, None), Rights::all());
    assert!(!other.offered().contains(&"mcp__own__pid".to_owned()));
    let stranger = bring(Source::Plugin("p".to_owned()));
    assert!(!stranger.offered().contains(&"mcp__own__pid".to_owned()));
}

#[test]
fn what_the_workspace_brings_waits_for_the_users_word() {
    let world = World::new();
    let server = world.server("theirs.sh");
    world.sample.write(
        "SYMPOSIUM.toml",
        &format!("name = \"theirs\"\ncrates = [\"*\"]\n[[mcp_servers]]\nname = \"theirs\"\ncommand = \"{server}\"\n"),
    );
    let run = world.run("");
    let said = messages(run.hands.findings());
    assert!(said.contains("the MCP server `theirs` of `theirs` is left out: it is a program that comes with this workspace"), "{said}");
    let agent = run.agent(&definition(Source::User, None), Rights::all());
    assert!(!agent.offered().iter().any(|it| it.contains("theirs")));
    let run = world.run("[plugins]\nuse = [\"theirs\"]\n");
    let agent = run.agent(&definition(Source::User, None), Rights::all());
    assert!(agent.offered().contains(&"mcp__theirs__pid".to_owned()), "{:?}", agent.offered());
}

#[test]
fn a_plugin_that_changed_since_it_was_agreed_to_brings_nothing() {
    const CONFIG: &str =
        "hosts = [\"claude\"]\nhook-scope = \"project\"\n[plugins]\nuse = [\"tiny-sql\"]\n";
    let world = World::new();
    let server = world.server("sql.sh");
    let publish = |version: &str, word: &str| {
        let manifest = format!(
            "name = \"tiny-sql\"\n[[mcp_servers]]\nname = \"sql\"\ncommand = \"{server}\"\n\
             [subcommand.sql]\ndescription = \"{word}\"\naudience = \"agents\"\ncommand = {{ script = \"run.sh\" }}\n"
        );
        let script = format!("echo {word}\n");
        let files =
            [("src/lib.rs", ""), ("SYMPOSIUM.toml", manifest.as_str()), ("run.sh", &script)];
        world.sample.vendor().krate("tiny-sql", version, "", &files);
        world.sample.package(".", "app", "0.1.0", "[dependencies]\ntiny-sql = \"0.3\"\n");
        world.sample.lock();
        world.agents(CONFIG, &["plugin", "sync"]);
    };
    let brought = |run: &world::Run<'_>| {
        let agent = run.agent(&definition(Source::User, None), Rights::all());
        let offered = agent.offered().into_iter();
        offered.filter(|it| it.contains("sql")).collect::<Vec<_>>()
    };
    publish("0.3.1", "old");
    world.agents(CONFIG, &["sync"]);
    let all = ["mcp__sql__die", "mcp__sql__pid", "mcp__sql__write", "plugin__tiny-sql__sql"];
    assert_eq!(brought(&world.run(CONFIG)), all);
    publish("0.3.2", "new");
    let run = world.run(CONFIG);
    let said = messages(run.hands.findings());
    assert!(said.contains("tiny-sql 0.3.2 changed and needs your approval"), "{said}");
    assert_eq!(brought(&run), [""; 0]);
    world.agents(CONFIG, &["update", "--yes"]);
    assert_eq!(brought(&world.run(CONFIG)), all);
}
