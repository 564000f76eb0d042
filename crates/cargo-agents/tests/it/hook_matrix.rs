//! Every event of every host, through the real program, with three plugins: what it prints and how it ends is what the room of
//! hooks says that this host must get.

use agents_hook::{HookOutput, Source, Wire, merge, wire::whereabouts};
use agents_host::Event;
use agents_testkit::scratch;
use serde_json::json;

use crate::{hooks::call_in, world::World};

const PLUGINS: [&str; 3] = ["a", "b", "c"];

/// What the three plugins answer.
fn scenarios() -> Vec<[HookOutput; 3]> {
    let context = |text: &str| HookOutput::context(text);
    let input = HookOutput::update_input(json!({ "command": "ls -l" }));
    vec![
        [context("A"), context("B"), context("C")],
        [HookOutput::allow(), HookOutput::deny("not here"), context("C")],
        [HookOutput::ask("really?"), input, context("C")],
        [HookOutput::update_output(json!("redacted")), HookOutput::stop("enough"), context("C")],
    ]
}

/// Plugins with a hook for every event that prints the file `answer` beside it.
fn world() -> World {
    let world = World::new();
    for plugin in PLUGINS {
        let mut manifest = format!("name = \"{plugin}\"\ncrates = [\"*\"]\n");
        for event in Event::ALL {
            let name = event.name();
            manifest += &format!(
                "[[hooks]]\nname = \"on-{name}\"\nevent = \"{name}\"\ncommand = {{ script = \"tell.sh\" }}\n"
            );
        }
        world.plugin(plugin, &manifest);
        world.plugin_script(plugin, "tell.sh", "cat >/dev/null; cat \"${0%/*}/answer\"");
    }
    world
}

/// What each host sends, as it is written down in the room of hooks.
fn sent(wire: Wire) -> Vec<(Event, String)> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../hook/tests/it/golden");
    let text = std::fs::read_to_string(format!("{dir}/{}.txt", wire.host())).unwrap();
    let sections = text.split("## ").skip(1).map(|section| {
        let (name, rest) = section.split_once('\n').unwrap();
        let sent = rest.lines().find_map(|line| line.strip_prefix("in: ")).unwrap();
        (Event::parse(name).unwrap(), sent.to_owned())
    });
    sections.collect()
}

#[test]
fn every_host_gets_at_every_event_what_the_plugins_said() {
    let world = world();
    // Outside of a workspace we have nothing to say ourselves.
    let here = world.outside();
    for answers in scenarios() {
        let from = |at: usize| Source::new(PLUGINS[at], "hook");
        for (plugin, answer) in PLUGINS.iter().zip(&answers) {
            let file = world.home().join("plugins").join(plugin).join("answer");
            scratch::write(&file, serde_json::to_string(answer).unwrap());
        }
        let said: Vec<_> =
            answers.iter().enumerate().map(|(at, it)| (from(at), it.clone())).collect();
        let (merged, _) = merge(&said);
        for wire in Wire::ALL {
            for (event, sent) in sent(wire) {
                let sent = match whereabouts(sent.as_bytes()) {
                    Some(cwd) => sent.replace(cwd.as_str(), here.as_str()),
                    None => sent,
                };
                let run = call_in(&world, &here, wire.host(), event.kebab(), sent.as_bytes(), &[]);
                let (expected, _) = wire.render_output(event, &merged);
                let what = format!("{wire:?} {event} {merged:?}: {run:?}");
                assert_eq!(run.stdout, expected.stdout, "{what}");
                assert_eq!(run.code, Some(expected.code.into()), "{what}");
                if !expected.stderr.is_empty() {
                    assert_eq!(run.stderr, expected.stderr, "{what}");
                }
            }
        }
    }
}
