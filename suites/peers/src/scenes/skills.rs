//! Skills and manifests that somebody wrote in earnest, by mistake, or with bad intentions.

use agents_testkit::scratch;
use camino::{Utf8Path, Utf8PathBuf};
use hosts_suite::tree::tree;

use crate::{
    ground::Ground,
    scenes::{Scene, Seen, Stage},
};

pub(crate) const SCENES: &[Scene] = &[
    Scene {
        name: "name-up",
        given: "a skill is called `../../../escaped`",
        wanted: "nothing is written outside of the directories for skills; the user is told",
        play: |stage| hostile(stage, |_| "'../../../escaped'".to_owned()),
    },
    Scene {
        name: "name-absolute",
        given: "a skill is called by an absolute path",
        wanted: "nothing is written outside of the directories for skills; the user is told",
        play: |stage| {
            hostile(stage, |ground| format!("'{}'", ground.sample().scratch().path("escaped")))
        },
    },
    Scene {
        name: "name-dot",
        given: "a skill is called `..`",
        wanted: "nothing is written outside of the directories for skills; the user is told",
        play: |stage| hostile(stage, |_| "'..'".to_owned()),
    },
    Scene {
        name: "name-newline",
        given: "the name of a skill has a line break and a terminal's escape in it",
        wanted: "no such directory is made; the user is told, without that escape",
        play: |stage| hostile(stage, |_| "\"two\\nlines\\e[31m\"".to_owned()),
    },
    Scene {
        name: "same-name",
        given: "two plugins bring a skill of the same name",
        wanted: "both are installed",
        play: same_name,
    },
    Scene {
        name: "own-skill",
        given: "the user has a skill of that name",
        wanted: "the user's stays as it is",
        play: own_skill,
    },
    Scene {
        name: "nested-yaml",
        given: "the frontmatter of a skill has lists and maps (`allowed-tools`, `metadata`)",
        wanted: "it is installed",
        play: |stage| {
            let more = "\nallowed-tools: [Read, Grep]\nmetadata:\n  author: me\n  version: 2";
            one_skill(stage, &format!("name: queries\ndescription: how{more}"))
        },
    },
    Scene {
        name: "colon",
        given: "the description of a skill is `Use when: ...`, without quotes",
        wanted: "it is installed",
        play: |stage| one_skill(stage, "name: queries\ndescription: Use when: writing queries"),
    },
    Scene {
        name: "link",
        given: "a file of a skill is a link to another file of the plugin",
        wanted: "the installed skill has its text",
        play: link,
    },
    Scene {
        name: "bytes-manifest",
        given: "one manifest of a registry is no UTF-8",
        wanted: "the other plugins are served; the user is told which one it is",
        play: |stage| {
            bad_neighbour(stage, |dir| {
                scratch::write(&dir.join("SYMPOSIUM.toml"), b"name = \"\xff\xfe\"\n");
            })
        },
    },
    Scene {
        name: "bytes-skill",
        given: "one `SKILL.md` is no UTF-8",
        wanted: "the other plugins are served; the user is told which one it is",
        play: |stage| {
            bad_neighbour(stage, |dir| {
                let manifest = "name = \"broken\"\ndepends-on = [\"*\"]\n[[skills]]\nsource.path = \"skills\"\n";
                scratch::write(&dir.join("SYMPOSIUM.toml"), manifest);
                let skill = b"---\nname: broken\ndescription: \xff\xfe\n---\n";
                scratch::write(&dir.join("skills/broken/SKILL.md"), skill);
            })
        },
    },
];

/// The directories for skills of the hosts that are served.
const PLACES: [&str; 2] = [".claude/skills", ".agents/skills"];

fn hostile(stage: &Stage<'_>, name: fn(&Ground) -> String) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    ground.configure(&["claude", "codex"], "");
    // It comes to a workspace that has had skills for a while.
    ground.skill("sound", "name: queries\ndescription: how to write them", "Bind values.");
    ground.must(&["sync"])?;
    let frontmatter = format!("name: {}\ndescription: how to write them", name(&ground));
    ground.skill("hostile", &frontmatter, "Bind values.");
    let root = ground.sample().scratch().root().to_owned();
    let before = tree(std::slice::from_ref(&root))?;
    let run = ground.run(&["sync"])?;
    let after = tree(&[root])?;
    let new = after.keys().filter(|path| !before.contains_key(*path));
    let mut wrong = Vec::new();
    let mut installed = 0;
    for path in new.filter(|path| path.file_name() == Some("SKILL.md")) {
        let dir = path.parent().unwrap_or(path);
        let proper = PLACES.iter().any(|it| dir.parent() == Some(&ground.workspace().join(it)));
        let plain = dir.file_name().is_some_and(|it| !it.contains(char::is_control));
        installed += usize::from(proper && plain);
        if !(proper && plain) {
            let shown = ground.short(path).escape_debug().to_string();
            wrong.push(format!("**written to `{shown}`**"));
        }
    }
    if run.crashed() {
        wrong.push(format!("**{}**", run.ending()));
    }
    if installed == 0 && wrong.is_empty() && !run.said().contains("hostile") {
        wrong.push("**nothing is said about it**".to_owned());
    }
    if run.said().contains('\u{1b}') {
        wrong.push("**the escape reaches the terminal**".to_owned());
    }
    let good = if installed > 0 { "installed under another name" } else { "left out, and said so" };
    Ok(Seen::unless(&wrong, good))
}

/// The texts of the skills that Claude Code finds.
fn installed(ground: &Ground) -> Vec<(Utf8PathBuf, String)> {
    let dir = ground.workspace().join(PLACES[0]);
    let entries = dir.read_dir_utf8().into_iter().flatten().flatten();
    let skills = entries.map(|entry| entry.path().join("SKILL.md"));
    skills.filter_map(|path| Some((path.clone(), fs_err::read_to_string(path).ok()?))).collect()
}

fn has(ground: &Ground, text: &str) -> bool {
    installed(ground).iter().any(|(_, it)| it.contains(text))
}

fn same_name(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    let bodies = ["amber-plover", "quartz-lantern"];
    for (plugin, body) in ["one", "two"].into_iter().zip(bodies) {
        ground.skill(plugin, "name: queries\ndescription: how to write them", body);
    }
    ground.configure(&["claude"], "");
    ground.must(&["sync"])?;
    let count = bodies.iter().filter(|body| has(&ground, body)).count();
    let told = ["**none is installed**", "**one is installed**", "both are installed"];
    Ok(Seen::new(count == 2, told[count]))
}

fn own_skill(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    let mine = "---\nname: queries\ndescription: mine\n---\nMine.\n";
    let path = ground.workspace().join(".claude/skills/queries/SKILL.md");
    scratch::write(&path, mine);
    ground.skill("one", "name: queries\ndescription: how to write them", "amber-plover");
    ground.configure(&["claude"], "");
    ground.must(&["sync"])?;
    let kept = fs_err::read_to_string(&path)? == mine;
    let beside = if has(&ground, "amber-plover") { "; the other is beside it" } else { "" };
    Ok(Seen::new(kept, if kept { format!("stays{beside}") } else { "**is replaced**".to_owned() }))
}

fn one_skill(stage: &Stage<'_>, frontmatter: &str) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    ground.skill("one", frontmatter, "amber-plover");
    ground.configure(&["claude"], "");
    let run = ground.run(&["sync"])?;
    let is = has(&ground, "amber-plover");
    let said = if run.said().contains("queries") || run.said().contains("SKILL.md") {
        "**left out**, and said so"
    } else {
        "**left out**, and nothing is said"
    };
    Ok(Seen::new(is, if is { "is installed" } else { said }))
}

fn link(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    let dir = ground.skill("one", "name: queries\ndescription: how", "See notes.md.");
    scratch::write(&dir.join("../../notes.md"), "amber-plover");
    fs_err::os::unix::fs::symlink("../../notes.md", dir.join("notes.md"))?;
    ground.configure(&["claude"], "");
    let run = ground.run(&["sync"])?;
    let notes = ground.workspace().join(".claude/skills/queries/notes.md");
    let is = fs_err::read_to_string(notes).is_ok_and(|text| text == "amber-plover");
    let said = if run.said().contains("notes.md") { ", and said so" } else { "" };
    Ok(Seen::new(is, if is { "it has".to_owned() } else { format!("**left out**{said}") }))
}

/// A registry with one plugin that cannot be read and one that can.
fn bad_neighbour(stage: &Stage<'_>, write: fn(&Utf8Path)) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    let dir = ground.plugin("broken", "");
    write(&dir);
    ground.skill("sound", "name: queries\ndescription: how to write them", "amber-plover");
    ground.configure(&["claude"], "");
    let run = ground.run(&["sync"])?;
    let mut wrong = Vec::new();
    if !has(&ground, "amber-plover") {
        wrong.push("**the others are not served**".to_owned());
    }
    if run.crashed() {
        wrong.push(format!("**{}**", run.ending()));
    }
    if !run.said().contains("broken") {
        wrong.push("**it is not named**".to_owned());
    }
    Ok(Seen::unless(&wrong, "served, and named"))
}
