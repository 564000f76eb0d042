//! What the plugins of the active set offer.

use super::*;
use crate::manifest::McpServer;

const OFFERS: &str = r#"
crates = ["*"]
[subcommand.always]
description = "a"
command = { executable = "true" }
[subcommand.for-serde]
description = "b"
crates = ["serde"]
command = { executable = "true" }
[subcommand.for-tokio]
description = "c"
crates = ["tokio"]
command = { executable = "true" }
"#;

/// Names of subcommands that apply, and of those that do not.
fn offered(place: &Place) -> [Vec<String>; 2] {
    place.look(|it| {
        let name = |it: Offered<'_>| it.subcommand.name.to_string();
        let elsewhere = it.set.inapplicable_subcommands();
        [it.set.subcommands().map(name).collect(), elsewhere.map(name).collect()]
    })
}

#[test]
fn a_subcommand_is_offered_where_its_gate_and_that_of_its_plugin_hold() {
    let mut place = Place::new();
    place.dependency("serde", "1.0.0", None).registry("team", OFFERS);
    assert_eq!(offered(&place), [vec!["always", "for-serde"], vec!["for-tokio"]]);
    // Where the plugin does not apply nothing of it does, and help can tell.
    place.registry("team", &OFFERS.replace("[\"*\"]", "[\"tokio\"]"));
    assert_eq!(offered(&place), [vec![], vec!["always", "for-serde", "for-tokio"]]);
}

#[test]
fn a_subcommand_tells_which_crates_make_it_apply() {
    let mut place = Place::new();
    place.dependency("serde", "1.2.0", None).registry("team", OFFERS);
    let because = place.look(|it| {
        let all = it.set.subcommands().map(|offered| offered.because(it.here));
        all.collect::<Vec<_>>()
    });
    let serde = (CrateName::new("serde"), semver::Version::new(1, 2, 0));
    assert_eq!(because, [vec![], vec![serde]]);
}

const SERVERS: &str = r#"
crates = ["*"]
[[mcp_servers]]
name = "program"
command = "serve"
[[mcp_servers]]
name = "remote"
type = "http"
url = "https://example.org"
[[mcp_servers]]
name = "for-tokio"
crates = ["tokio"]
type = "http"
url = "https://example.org"
"#;

/// Servers that apply, each with its plugin and the crates that make it apply, and those that are withheld.
fn servers(place: &Place) -> [Vec<String>; 2] {
    place.look(|it| {
        let shown = |(plugin, server, because): (&Plugin, &McpServer, Vec<Matched>)| {
            let crates: Vec<&str> = because.iter().map(|it| it.0.as_str()).collect();
            format!("{} of {} {crates:?}", server.name, plugin.name)
        };
        let withheld = it.set.withheld_servers().into_iter();
        let withheld = withheld.map(|(plugin, it)| format!("{} of {}", it.name, plugin.name));
        [it.set.mcp_servers(it.here).into_iter().map(shown).collect(), withheld.collect()]
    })
}

#[test]
fn servers_apply_with_their_plugin_and_their_own_gate() {
    let mut place = Place::new();
    place.registry("team", SERVERS).registry("other", &SERVERS.replace("\"*\"", "\"absent\""));
    let always = vec!["program of team []", "remote of team []"];
    assert_eq!(servers(&place), [always.clone(), vec![]]);
    place.dependency("tokio", "1.0.0", None);
    let more = [always, vec!["for-tokio of team [\"tokio\"]"]].concat();
    assert_eq!(servers(&place), [more, vec![]]);
}

#[test]
fn no_program_of_a_workspace_becomes_a_server_before_the_user_has_spoken_for_it() {
    let mut place = Place::new();
    place.member("app", &format!("name = \"app\"\n{SERVERS}"));
    assert_eq!(servers(&place), [vec!["remote of app []"], vec!["program of app"]]);
    place.config("[plugins]\nuse = [\"app\"]");
    assert_eq!(servers(&place), [vec!["program of app []", "remote of app []"], vec![]]);
}
