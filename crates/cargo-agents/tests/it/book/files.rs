//! Blocks that are files: read by whoever reads such files.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use agents_host::Overrides;
use agents_model::script::ScriptFile;
use agents_testkit::{
    book::{Block, read},
    scratch,
};
use agents_trust::lock::Lock;
use serde_json::Value;

use crate::world::World;

/// Whether it is read at all.
pub(super) fn is_one(block: &Block) -> bool {
    !["console", "text", "rust"].contains(&block.language.as_str())
}

/// What is wrong with a block.
pub(super) fn complaint(world: &World, block: &Block) -> Option<String> {
    match (block.language.as_str(), block.name()) {
        // Commands are typed, code is compiled, and `text` is what nobody reads.
        ("console" | "text" | "rust", _) => None,
        ("toml" | "markdown" | "yaml", Some(name)) => {
            ours(world, &name, block).map(|said| format!("not a `{name}`: {said}"))
        }
        ("toml" | "markdown", _) => Some("it does not say what it is".to_owned()),
        ("yaml", _) => {
            let read = serde_saphyr::from_str::<Value>(&block.text);
            read.err().map(|error| error.to_string())
        }
        ("json", _) => json(block),
        ("sh", _) => script(&block.text),
        (other, _) => Some(format!("nobody knows what to do with `{other}`")),
    }
}

/// One value, or one on each line; by the schema that is named, if one is.
fn json(block: &Block) -> Option<String> {
    let values: Result<Vec<Value>, _> =
        serde_json::Deserializer::from_str(&block.text).into_iter().collect();
    let values = match values {
        Ok(values) => values,
        Err(error) => return Some(error.to_string()),
    };
    if block.info.is_empty() {
        return None;
    }
    let schema = read(format!("docs/json/{}.schema.json", block.info).as_str().into());
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    values.iter().find_map(|value| schema.validate(value).err().map(|error| error.to_string()))
}

/// What the shell says to it, without running it.
fn script(text: &str) -> Option<String> {
    let shell = Command::new("sh").arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut shell = shell.unwrap();
    shell.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = shell.wait_with_output().unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// What is wrong with a file of ours.
fn ours(world: &World, name: &str, block: &Block) -> Option<String> {
    let dir = world.sample.scratch().path("book");
    // What another block said counts for that one only.
    world.config("");
    let place = |relative: &str| {
        let path = dir.join(relative);
        scratch::write(&path, &block.text);
        path
    };
    match name {
        "config.toml" => {
            world.config(&block.text);
            // A key that nobody knows is only a warning.
            refused(world, &["config", "show"]).or_else(|| {
                let said = world.agents(&["config", "show"]).stderr;
                said.contains("warning").then_some(said)
            })
        }
        // `examples/embed` has a test of what it depends on.
        "Cargo.toml" => toml::from_str::<toml::Table>(&block.text).err().map(|it| it.to_string()),
        "SYMPOSIUM.toml" => {
            // Of a crate if it has no name of its own. What it runs is there.
            let own = block.text.split("\n[").next().unwrap().contains("name = ");
            let kind = if own { "plugin" } else { "crate" };
            let package = "[package]\nname = \"shown\"\nversion = \"0.1.0\"\n";
            scratch::write(&dir.join("crate/Cargo.toml"), package);
            for script in block.text.split('"').filter(|it| it.ends_with(".sh")) {
                scratch::write(&dir.join(kind).join(script), "");
            }
            let manifest = place(&format!("{kind}/SYMPOSIUM.toml"));
            refused(world, &["plugin", "validate", manifest.as_str()])
        }
        "plan.toml" => {
            for agent in ["careful", "judge"] {
                let text = format!("---\nname: {agent}\ndescription: of the book\n---\nBe so.\n");
                scratch::write(&dir.join("agents").join(format!("{agent}.md")), text);
            }
            let (plan, agents) = (place("plan.toml"), dir.join("agents"));
            refused(world, &["plan", "check", plan.as_str(), "--agents", agents.as_str()])
        }
        // A part of the header, in the language of headers.
        "agent.md" if block.language == "yaml" => {
            let header = "---\nname: shown\ndescription: of the book\n";
            scratch::write(&dir.join("part.md"), format!("{header}{}---\nBe so.\n", block.text));
            refused(world, &["agent", "validate", "--strict", dir.join("part.md").as_str()])
        }
        "agent.md" => {
            refused(world, &["agent", "validate", "--strict", place("agent.md").as_str()])
        }
        "SKILL.md" => refused(world, &["plugin", "validate", place("skill/SKILL.md").as_str()]),
        "script.toml" => ScriptFile::parse_toml(&block.text).err().map(|error| error.to_string()),
        "hosts.toml" => {
            let overrides = Overrides { file: "hosts.toml".into(), text: &block.text };
            let (_, findings) = agents_host::hosts(Some(overrides));
            findings.first().map(|finding| finding.message.clone())
        }
        "batch.toml" => {
            // It is read before anybody looks for a model, and here there is none.
            let run = world.agents(&["task", "batch", place("batch.toml").as_str()]);
            (!run.stderr.contains("error[E0100]")).then(|| format!("{}{}", run.stdout, run.stderr))
        }
        "agents.lock" => {
            // A part of it has no head.
            let head = if block.text.contains("\nversion = 1\n") { "" } else { "version = 1\n" };
            let text = format!("{head}{}", block.text);
            Lock::parse("agents.lock".into(), &text).err().map(|error| error.to_string())
        }
        _ => Some("nobody knows how to read it".to_owned()),
    }
}

/// What the program says if it does not agree.
fn refused(world: &World, args: &[&str]) -> Option<String> {
    let run = world.agents(args);
    (run.code != Some(0)).then(|| format!("{}{}", run.stdout, run.stderr))
}
