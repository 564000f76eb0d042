//! `cargo agents config show|path`

use crate::world::World;

const MINE: &str = "\
# mine
hook-scope = \"project\"
plugins.disable = [\"todo\"]

[defaults]
symposium-recommendations = false

[[agent]]
name = \"zed\"

[[plugin-source]]
name = \"team\"
path = \"shared\"
";

#[test]
fn every_setting_is_shown_with_who_says_so() {
    let world = World::new();
    world.config(MINE);
    let shown = world.ok(&["config", "show", "--origin"]);
    assert_eq!(
        shown.replace(world.home().as_str(), "~"),
        "\
hosts = [\"zed\"]                                   # ~/config.toml:8
hook-scope = \"project\"                            # ~/config.toml:2
mcp-register = \"one\"                              # default
agents-syncing = true                             # default
auto-update = \"warn\"                              # default
auto-sync = true                                  # default
defaults.symposium-recommendations = false        # ~/config.toml:6
defaults.user-plugins = true                      # default
plugins.use = []                                  # default
plugins.auto-enable = []                          # default
plugins.disable = [\"todo\"]                        # ~/config.toml:3
sandbox.plugins = []                              # default
agents.deliver = []                               # default
agents.trust = []                                 # default
tasks.form = \"default\"                            # default
tasks.max-depth = 2                               # default
tasks.disabled-agents = []                        # default
tasks.allow-bypass-permissions = false            # default
tasks.max-concurrency = 8                         # default
tasks.approval-timeout = \"5m\"                     # default
tasks.background-secrets = \"deny\"                 # default
tasks.peer-messages = false                       # default
tasks.max-turns = 200                             # default
tasks.max-tokens = 20000000                       # default
tasks.max-children = 64                           # default
tasks.max-time = \"1h\"                             # default
tasks.max-cost = \"20.00\"                          # default
tasks.sandbox = \"auto\"                            # default
tasks.network = false                             # default
web.fetch = false                                 # default
web.hosts = []                                    # default
web.private-addresses = false                     # default
engine.restate.ingress = \"http://127.0.0.1:8080\"  # default
engine.restate.admin = \"http://127.0.0.1:9070\"    # default
engine.restate.replace-after = \"15s\"              # default
telemetry.enabled = true                          # default
telemetry.service-name = \"cargo-agents\"           # default
telemetry.content = false                         # default

[[registry]]                                      # ~/config.toml:11
name = \"team\"
path = \"~/shared\"
auto-update = true
"
    );
}

#[test]
fn what_is_shown_is_a_configuration_that_means_the_same() {
    let world = World::new();
    world.config(MINE);
    let shown = world.ok(&["config", "show"]);
    let plugins = world.json(&["plugin", "list"]);
    world.config(&shown);
    assert_eq!(world.ok(&["config", "show"]), shown);
    assert_eq!(world.json(&["plugin", "list"]), plugins);
    // With the origins, too: they are comments.
    world.config(&world.ok(&["config", "show", "--origin"]));
    assert_eq!(world.ok(&["config", "show"]), shown);
}

#[test]
fn a_script_gets_the_values_and_their_lines() {
    let world = World::new();
    world.config(MINE);
    let document = world.json(&["config", "show"]);
    assert_eq!(document["file"], world.home().join("config.toml").as_str());
    let scope = serde_json::json!({
        "key": "hook-scope", "value": "project", "origin": "file", "line": 2
    });
    assert_eq!(document["settings"][1], scope);
    let path = world.ok(&["config", "path"]);
    assert_eq!(path.trim_end(), world.home().join("config.toml"));
    assert_eq!(world.json(&["config", "path"])["state"], world.home().join("state").as_str());
}

#[test]
fn a_broken_file_is_shown_as_broken_and_its_place_is_still_known() {
    let world = World::new();
    world.config("hosts = 1\n");
    let run = world.agents(&["config", "show"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
    assert!(run.stderr.contains("config.toml:1:9"), "{run:?}");
    assert!(world.ok(&["config", "path"]).ends_with("config.toml\n"));
}

#[test]
fn a_misspelt_key_is_mentioned() {
    let world = World::new();
    world.config("hostss = [\"zed\"]\n");
    let run = world.agents(&["config", "show"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("unknown key `hostss`"), "{run:?}");
    assert!(run.stdout.starts_with("hosts = []\n"), "{run:?}");
}

#[test]
fn what_has_no_effect_and_an_address_stay_what_they_are() {
    let world = World::new();
    world.config(
        "[web]\nhosts = [\"docs.rs\"]\n[telemetry]\nendpoint = \"http://localhost:4318\"\ncontent = true\n",
    );
    let shown = world.ok(&["config", "show"]);
    assert!(shown.contains("web.hosts = [\"docs.rs\"]\n"), "{shown}");
    assert!(shown.contains("telemetry.endpoint = \"http://localhost:4318\"\n"), "{shown}");
    world.config(&shown);
    assert_eq!(world.ok(&["config", "show"]), shown);
}
