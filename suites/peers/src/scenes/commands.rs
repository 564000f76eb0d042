//! Commands that plugins bring, and what the workspace is made of.

use std::{
    io::Read as _,
    process::Stdio,
    time::{Duration, Instant, SystemTime},
};

use camino::Utf8Path;

use crate::{
    ground::Ground,
    run,
    scenes::{Scene, Seen, Stage},
};

pub(crate) const SCENES: &[Scene] = &[
    Scene {
        name: "exit-code",
        given: "a plugin's command ends with 7",
        wanted: "so do we",
        play: exit_code,
    },
    Scene {
        name: "arguments",
        given: "a plugin's command is given `--help`, `-v`, an empty word and one with spaces",
        wanted: "it gets them as they are",
        play: arguments,
    },
    Scene {
        name: "stream",
        given: "a plugin's command prints a line, and another one two seconds later",
        wanted: "the first one is seen at once",
        play: stream,
    },
    Scene {
        name: "closed-pipe",
        given: "`plugin list` prints to somebody who has gone (as `head` has)",
        wanted: "no panic",
        play: closed_pipe,
    },
    Scene {
        name: "two-versions",
        given: "members depend on two versions of one crate, and there is a plugin for each",
        wanted: "both apply",
        play: two_versions,
    },
    Scene {
        name: "same-second",
        given: "`Cargo.lock` gets another dependency within the second of the last sync",
        wanted: "the next sync sees it",
        play: |stage| new_dependency(stage, Locked::InTheSameSecond),
    },
    Scene {
        name: "not-locked",
        given: "`Cargo.toml` gets another dependency, and cargo has not run yet",
        wanted: "the next sync sees it",
        play: |stage| new_dependency(stage, Locked::NotYet),
    },
    Scene {
        name: "leftovers",
        given: "a hook with nothing to do is called twenty times",
        wanted: "no file is left behind by any of them",
        play: leftovers,
    },
];

/// A plugin with a command that is this script.
fn command(ground: &Ground, script: &str) {
    let path = ground.script("command", script);
    let table = format!(
        "[subcommand.demo]\ndescription = \"shows it\"\ncommand = {{ executable = \"{path}\" }}\n"
    );
    ground.plugin("demo", &table);
    ground.configure(&["claude"], "");
}

fn exit_code(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    command(&ground, "exit 7");
    let run = ground.run(&["demo"])?;
    Ok(Seen::new(run.code() == Some(7), run.ending()))
}

fn arguments(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    command(&ground, "for word; do echo \"[$word]\"; done");
    let run = ground.run(&["demo", "--help", "-v", "", "two words", "--", "--json"])?;
    let same = run.stdout == "[--help]\n[-v]\n[]\n[two words]\n[--]\n[--json]\n";
    let told = if same { "it gets them" } else { "**it gets others**" };
    Ok(Seen::new(same, told))
}

fn stream(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    command(&ground, "echo first; sleep 2; echo last");
    let mut child = ground.command(&["demo"]).stdout(Stdio::piped()).spawn()?;
    let mut byte = [0];
    let since = Instant::now();
    let seen = child.stdout.as_mut().map(|it| it.read(&mut byte)).transpose()?;
    let early = seen == Some(1) && child.try_wait()?.is_none();
    let took = since.elapsed();
    child.wait()?;
    // The whole takes two seconds at least; whoever waits for the end has nothing before.
    let at_once = early && took < Duration::from_millis(1900);
    Ok(Seen::new(at_once, if at_once { "at once" } else { "**at the end**" }))
}

fn closed_pipe(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    for number in 0..50 {
        ground.plugin(&format!("plugin-{number}"), "");
    }
    ground.configure(&["claude"], "");
    let mut command = ground.command(&["plugin", "list"]);
    let (reader, writer) = std::io::pipe()?;
    drop(reader);
    let mut child = command.stdout(writer).stderr(Stdio::piped()).spawn()?;
    drop(command);
    let mut said = String::new();
    child.stderr.as_mut().map(|it| it.read_to_string(&mut said)).transpose()?;
    let status = child.wait()?;
    let panics = status.code() == Some(101) || said.contains("panicked");
    let told =
        status.code().map_or("ends with a signal".to_owned(), |it| format!("ends with {it}"));
    Ok(Seen::new(!panics, if panics { "**panics**".to_owned() } else { told }))
}

/// A plugin for a crate, with a skill.
fn skill_for(ground: &Ground, krate: &str, name: &str) {
    let dir = ground.plugin_for(krate, name, "[[skills]]\nsource.path = \"skills\"\n");
    let text = format!("---\nname: {name}\ndescription: how\n---\nBind.\n");
    agents_testkit::scratch::write(&dir.join("skills/it/SKILL.md"), text);
}

fn has(ground: &Ground, name: &str) -> bool {
    ground.workspace().join(format!(".claude/skills/{name}/SKILL.md")).exists()
}

fn two_versions(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.bare_ground()?;
    let sample = ground.sample();
    sample.workspace("members = [\"one\", \"two\"]");
    for (member, version) in [("one", "1.4.0"), ("two", "2.1.0")] {
        sample.vendor().library("doubled", version, "");
        sample.package(
            member,
            member,
            "0.1.0",
            &format!("[dependencies]\ndoubled = \"{version}\"\n"),
        );
    }
    sample.lock();
    skill_for(&ground, "doubled^1", "for-one");
    skill_for(&ground, "doubled^2", "for-two");
    ground.configure(&["claude"], "");
    ground.must(&["sync"])?;
    let count = ["for-one", "for-two"].iter().filter(|name| has(&ground, name)).count();
    let told = ["**none applies**", "**one applies**", "both apply"];
    Ok(Seen::new(count == 2, told[count]))
}

/// What cargo has done about a new dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Locked {
    InTheSameSecond,
    NotYet,
}

fn new_dependency(stage: &Stage<'_>, locked: Locked) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    let sample = ground.sample();
    sample.vendor().library("later", "1.0.0", "");
    skill_for(&ground, "later", "for-later");
    ground.configure(&["claude"], "");
    let lock = ground.workspace().join("Cargo.lock");
    let second = SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
    at(&lock, second + Duration::from_millis(200))?;
    ground.must(&["sync"])?;
    anyhow::ensure!(!has(&ground, "for-later"), "it applies too early");
    let rest = "[dependencies]\ntiny-sql = \"0.3\"\nlater = \"1\"\n";
    sample.package(".", "app", "0.1.0", rest);
    if locked == Locked::InTheSameSecond {
        sample.lock();
        at(&lock, second + Duration::from_millis(600))?;
    }
    let run = ground.run(&["sync"])?;
    let sees = has(&ground, "for-later");
    let told =
        if sees { "sees it".to_owned() } else { format!("**does not see it** ({})", run.ending()) };
    Ok(Seen::new(sees, told))
}

/// Makes a file look as if it had been written then.
fn at(path: &Utf8Path, time: SystemTime) -> anyhow::Result<()> {
    fs_err::File::open(path)?.file().set_modified(time)?;
    Ok(())
}

fn leftovers(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    ground.plugin("quiet", "[[skills]]\nsource.path = \"skills\"\n");
    ground.configure(&["claude"], "");
    ground.must(&["sync"])?;
    let payload = crate::wire::before_tool("claude", &ground.workspace(), "true");
    let call = || ground.call_hook("claude", "pre-tool-use", &payload)?.wait(run::USUAL);
    call()?;
    let before = ground.everything()?;
    let since = SystemTime::now();
    for _ in 0..20 {
        call()?;
        // Names that are made of the second would hide how many there are.
        std::thread::sleep(Duration::from_millis(150));
    }
    let after = ground.everything()?;
    let more = after.len().saturating_sub(before.len());
    let seconds = since.elapsed()?.as_secs();
    let told = match more {
        0 => "none".to_owned(),
        _ => format!("**{more} files** in {seconds} s"),
    };
    Ok(Seen::new(more == 0, told))
}
