use agents_testkit::scratch::Scratch;

use super::*;
use crate::plugin::Waking;

const SKILL: &str = "---\nname: a-skill\ndescription: d\ncrates: serde\n---\nbody\n";

fn scan_all(scratch: &Scratch) -> Scan {
    scan(scratch.root(), "team", &mut Inputs::new())
}

fn names(scan: &Scan) -> Vec<&str> {
    scan.plugins.iter().map(|plugin| plugin.name.as_str()).collect()
}

fn manifest(name: &str) -> String {
    format!("name = \"{name}\"\ncrates = [\"serde\"]\n")
}

#[test]
fn a_plugin_knows_the_digest_of_its_text_and_keeps_it_in_the_cache() {
    let scratch = Scratch::new();
    scratch.write("a/SYMPOSIUM.toml", manifest("a"));
    scratch.write("b/SKILL.md", SKILL);
    let found = scan_all(&scratch);
    let stored: Scan = postcard::from_bytes(&postcard::to_allocvec(&found).unwrap()).unwrap();
    let texts = [manifest("a"), SKILL.to_owned()];
    for (plugin, text) in found.plugins.iter().chain(&stored.plugins).zip(texts.iter().cycle()) {
        let digest = agents_system::cache::digest(text.as_bytes());
        assert_eq!(plugin.text_digest(), Some(digest), "{}", plugin.name);
        assert_eq!(plugin.manifest().unwrap().name, plugin.name);
        assert_eq!(plugin.offers(), &crate::plugin::Offers::default());
    }
}

#[test]
fn an_empty_or_missing_directory_holds_nothing() {
    let scratch = Scratch::new();
    fs_err::create_dir_all(scratch.path("empty")).unwrap();
    scratch.write("file", "");
    for dir in ["empty", "missing", "file"] {
        let found = scan(&scratch.path(dir), "team", &mut Inputs::new());
        assert!(found.plugins.is_empty() && found.invalid.is_empty(), "{dir}");
        assert_eq!(found.findings, [], "{dir}");
    }
}

#[test]
fn manifests_and_bare_skills_are_plugins_in_the_order_of_their_paths() {
    let scratch = Scratch::new();
    scratch.write("z/SYMPOSIUM.toml", manifest("zed"));
    scratch.write("m/SKILL.md", SKILL);
    scratch.write("a/b/c/SYMPOSIUM.toml", manifest("deep"));
    scratch.write("README.md", "nothing");
    scratch.write("rtk/rtk.toml", manifest("not-this"));
    let found = scan_all(&scratch);
    assert_eq!(names(&found), ["deep", "a-skill", "zed"]);
    assert_eq!(found.findings, []);
    let deep = &found.plugins[0];
    assert_eq!(deep.origin, Origin::Registry("team".to_owned()));
    assert_eq!(deep.file, scratch.path("a/b/c/SYMPOSIUM.toml"));
    assert_eq!(deep.dir(), scratch.path("a/b/c"));
    assert_eq!(deep.gate.to_string(), "depends-on(serde)");
}

#[test]
fn a_bare_skill_hoists_its_gate_and_is_one_group_at_its_own_place() {
    let scratch = Scratch::new();
    scratch.write("s/SKILL.md", SKILL);
    scratch.write("t/SKILL.md", "---\nname: gateless\ndescription: d\n---\n");
    let found = scan_all(&scratch);
    let [gated, gateless] = found.plugins.as_slice() else { panic!("{found:?}") };
    assert_eq!(gated.gate.to_string(), "depends-on(serde)");
    assert_eq!(gated.waking, Waking::ByItself);
    let group = ContentGroup { gate: Gate::open(), source: ContentSource::Path(".".to_owned()) };
    assert_eq!(gated.manifest().unwrap().skills, [group]);
    assert_eq!(gateless.waking, Waking::WhenUsed);
}

#[test]
fn a_plugin_without_any_crate_sleeps_instead_of_being_an_error() {
    let scratch = Scratch::new();
    scratch.write("a/SYMPOSIUM.toml", "name = \"a\"\n");
    scratch.write("b/SYMPOSIUM.toml", "name = \"b\"\ncrates = \"*\"\n");
    let wakings: Vec<Waking> = scan_all(&scratch).plugins.iter().map(|it| it.waking).collect();
    assert_eq!(wakings, [Waking::WhenUsed, Waking::ByItself]);
}

#[test]
fn a_manifest_wins_over_a_skill_beside_it_and_nobody_looks_inside() {
    let scratch = Scratch::new();
    scratch.write("p/SYMPOSIUM.toml", manifest("p"));
    scratch.write("p/SKILL.md", SKILL);
    scratch.write("p/inner/SYMPOSIUM.toml", manifest("inner"));
    scratch.write("s/SKILL.md", SKILL);
    scratch.write("s/inner/SYMPOSIUM.toml", manifest("inner"));
    assert_eq!(names(&scan_all(&scratch)), ["p", "a-skill"]);
}

#[test]
fn the_root_of_a_registry_is_no_plugin_itself() {
    for (file, text) in [("SYMPOSIUM.toml", manifest("root")), ("SKILL.md", SKILL.to_owned())] {
        let scratch = Scratch::new();
        let file = scratch.write(file, text);
        scratch.write("p/SYMPOSIUM.toml", manifest("p"));
        let found = scan_all(&scratch);
        assert!(found.plugins.is_empty());
        let [finding] = found.findings.as_slice() else { panic!("{found:?}") };
        assert_eq!(finding.message, "registry `team` is itself a plugin");
        assert_eq!(finding.place.as_ref().unwrap().file, file);
        assert!(finding.hint.is_some());
    }
}

#[test]
fn one_bad_plugin_stops_nothing_and_is_reported_with_its_path() {
    let scratch = Scratch::new();
    let bad = scratch.write("bad/SYMPOSIUM.toml", "name = \"bad\"\ncrats = []\n");
    let skill = scratch.write("bad-skill/SKILL.md", "no header");
    let text = scratch.write("bad-text/SYMPOSIUM.toml", b"\xff");
    scratch.write("good/SYMPOSIUM.toml", manifest("good"));
    let found = scan_all(&scratch);
    assert_eq!(names(&found), ["good"]);
    let invalid: Vec<&Utf8Path> = found.invalid.iter().map(|it| it.file.as_path()).collect();
    assert_eq!(invalid, [&bad, &skill]);
    assert_eq!(found.invalid[0].findings[0].message, "unknown key `crats`");
    let [unreadable] = found.findings.as_slice() else { panic!("{found:?}") };
    assert_eq!(unreadable.message, format!("cannot be read: `{text}` is not valid UTF-8"));
}

#[test]
fn hidden_directories_and_build_output_are_not_searched() {
    let scratch = Scratch::new();
    for dir in [".git", "target", "x/.cache", "x/target"] {
        scratch.write(format!("{dir}/SYMPOSIUM.toml"), manifest("hidden"));
    }
    assert!(scan_all(&scratch).plugins.is_empty());
}

#[test]
fn a_plugin_with_a_subcommand_is_summarised() {
    let scratch = Scratch::new();
    let command = "[subcommand.demo]\ndescription = \"Shows\"\ncommand = { executable = \"x\" }\n";
    scratch.write("p/SYMPOSIUM.toml", manifest("p") + command);
    let found = scan_all(&scratch);
    let plugin = &found.plugins[0];
    assert_eq!(plugin.offers().subcommands.len(), 1);
    assert_eq!(plugin.offers().subcommands[0].name.as_str(), "demo");
    assert_eq!(plugin.offers().subcommands[0].description, "Shows");
    assert_eq!(plugin.manifest().unwrap().subcommands.len(), 1);
}

#[test]
fn a_file_that_is_too_large_is_no_manifest() {
    let scratch = Scratch::new();
    scratch.write("p/SYMPOSIUM.toml", manifest("p") + &"# padding\n".repeat(110_000));
    let found = scan_all(&scratch);
    assert_eq!(found.invalid[0].findings[0].message, "the file is larger than 1048576 bytes");
}

#[test]
fn what_was_looked_at_is_remembered() {
    let scratch = Scratch::new();
    scratch.write("p/SKILL.md", SKILL);
    let mut inputs = Inputs::new();
    scan(scratch.root(), "team", &mut inputs);
    let seen = inputs.finish();
    let paths: Vec<&Utf8Path> = seen.paths().collect();
    // The manifest that is not there matters too: adding one changes the plugin.
    for path in ["", "p/SKILL.md", "p/SYMPOSIUM.toml", "SYMPOSIUM.toml"] {
        let path = if path.is_empty() { scratch.root().to_owned() } else { scratch.path(path) };
        assert!(paths.contains(&path.as_path()), "{path} not in {paths:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_loop_of_links_ends_and_finds_every_plugin_once() {
    use std::os::unix::fs::symlink;
    let scratch = Scratch::new();
    scratch.write("a/p/SYMPOSIUM.toml", manifest("p"));
    for name in ["1", "2", "3", "4"] {
        symlink(scratch.root(), scratch.path(format!("a/up{name}"))).unwrap();
    }
    symlink(scratch.path("a/p"), scratch.path("z")).unwrap();
    let found = scan_all(&scratch);
    assert_eq!(names(&found), ["p"]);
    assert_eq!(found.findings, []);
}
