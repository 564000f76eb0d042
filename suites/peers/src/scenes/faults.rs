//! What nobody chooses: two at once, killed in the middle, a disk that cannot be written to.

use std::time::Instant;

use agents_testkit::{scratch, through::bound_by_modes};
use camino::{Utf8Path, Utf8PathBuf};
use hosts_suite::tree::Tree;

use crate::{
    ground::{Ground, hook_table},
    run::{self, USUAL, as_before},
    scenes::{Scene, Seen, Stage},
    wire,
};

pub(crate) const SCENES: &[Scene] = &[
    Scene {
        name: "two-at-once",
        given: "two syncs start at the same moment, from nothing (30 skills, 3 hosts)",
        wanted: "both succeed, and the files are those of one",
        play: two_at_once,
    },
    Scene {
        name: "killed",
        given: "a sync is killed at a moment of its run, and another one follows",
        wanted: "no file and no skill is half there in between; afterwards the files are those of one",
        play: killed,
    },
    Scene {
        name: "read-only",
        given: "home, workspace and the program's own directory cannot be written to; a guard denies a tool",
        wanted: "the denial reaches the host; `sync` fails with a reason",
        play: read_only,
    },
];

const SKILLS: usize = 30;
const HOSTS: [&str; 3] = ["claude", "codex", "kiro"];

/// Many skills of several files, a hook and an MCP server; the user has files already.
fn furnish(ground: &Ground) {
    for number in 0..SKILLS {
        let name = format!("skill-{number:02}");
        let frontmatter = format!("name: {name}\ndescription: how to write them");
        let dir = ground.skill(&format!("plugin-{number:02}"), &frontmatter, &"Bind. ".repeat(500));
        scratch::write(&dir.join("more.md"), "More. ".repeat(1000));
        scratch::write(&dir.join("scripts/check.py"), "print(1)\n".repeat(500));
    }
    let script = ground.script("quiet", "cat > /dev/null");
    let server = "[[mcp_servers]]\nname = \"notes\"\ncommand = \"/bin/cat\"\nargs = []\nenv = []\n";
    ground.plugin("rest", &(hook_table("quiet", "PreToolUse", &script) + server));
    let mine = "{\n  \"mcpServers\": {\n    \"mine\": { \"command\": \"mine\" }\n  }\n}\n";
    scratch::write(&ground.workspace().join(".mcp.json"), mine);
    ground.configure(&HOSTS, "");
}

/// What is wrong with the files, against what they should be.
fn differences(ground: &Ground, wanted: &Tree, is: &Tree) -> Option<String> {
    let missing = wanted.keys().filter(|path| !is.contains_key(*path)).count();
    let changed: Vec<&Utf8PathBuf> = is
        .iter()
        .filter(|(path, bytes)| wanted.get(*path).is_some_and(|it| it != *bytes))
        .map(|(path, _)| path)
        .collect();
    let more: Vec<&Utf8PathBuf> = is.keys().filter(|path| !wanted.contains_key(*path)).collect();
    let example = changed.first().or(more.first()).map(|path| ground.short(path));
    let example = example.map(|it| format!(", e.g. `{it}`")).unwrap_or_default();
    (missing + changed.len() + more.len() > 0).then(|| {
        format!(
            "{missing} files missing, {} other, {} too many{example}",
            changed.len(),
            more.len()
        )
    })
}

/// What was wrong in how many rounds, with the first thing that was.
#[derive(Default)]
struct Tally {
    rounds: u32,
    bad: u32,
    example: Option<String>,
}

impl Tally {
    fn add(&mut self, wrong: Option<String>) {
        self.rounds += 1;
        self.bad += u32::from(wrong.is_some());
        self.example = self.example.take().or(wrong);
    }

    fn wrong(self, what: &str) -> Option<String> {
        let Self { rounds, bad, example } = self;
        example.map(|it| format!("**{what} in {bad} of {rounds} rounds**: {it}"))
    }
}

fn two_at_once(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    furnish(&ground);
    let pristine = ground.everything()?;
    ground.must(&["sync"])?;
    let wanted = ground.tree()?;
    let (mut failed, mut differ) = (Tally::default(), Tally::default());
    for _ in 0..stage.rounds {
        ground.restore(&pristine)?;
        let [one, two] = [(); 2].map(|()| run::start(&mut ground.command(&["sync"]), b""));
        let ends = [one?.wait(USUAL)?, two?.wait(USUAL)?];
        let bad = ends.iter().find(|it| !it.succeeded());
        failed.add(bad.map(|it| format!("{} ({})", it.ending(), reason(&it.stderr, &ground))));
        differ.add(differences(&ground, &wanted, &ground.tree()?));
    }
    let wrong = [failed.wrong("one fails"), differ.wrong("the files differ")];
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    Ok(Seen::unless(&wrong, &format!("so it is in {} rounds", stage.rounds)))
}

/// The last line of what was said, without what differs each time.
fn reason(said: &str, ground: &Ground) -> String {
    let line = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    let root = ground.sample().scratch().root().as_str();
    line.replace(root, "…").replace('|', "\\|").chars().take(160).collect()
}

fn killed(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    furnish(&ground);
    let pristine = ground.everything()?;
    let before = ground.tree()?;
    let since = Instant::now();
    ground.must(&["sync"])?;
    let took = since.elapsed();
    let wanted = ground.tree()?;
    let (mut torn, mut differ, mut failed) = (Tally::default(), Tally::default(), Tally::default());
    for round in 0..stage.rounds {
        ground.restore(&pristine)?;
        let mut running = run::start(&mut ground.command(&["sync"]), b"")?;
        // Spread over the whole run, the last ones a little after it.
        std::thread::sleep(took * (2 * round + 1) * 11 / (20 * stage.rounds.max(1)));
        running.kill()?;
        torn.add(half_there(&ground, &before, &wanted)?);
        let run = ground.run(&["sync"])?;
        failed.add((!run.succeeded()).then(|| reason(&run.stderr, &ground)));
        differ.add(differences(&ground, &wanted, &ground.tree()?));
    }
    let wrong = [
        torn.wrong("something is half there"),
        failed.wrong("the next sync fails"),
        differ.wrong("the files differ afterwards"),
    ];
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    Ok(Seen::unless(&wrong, &format!("so it is in {} rounds", stage.rounds)))
}

/// A file with neither its old nor its new text, or a skill that a host would load without all of its files.
fn half_there(ground: &Ground, before: &Tree, wanted: &Tree) -> anyhow::Result<Option<String>> {
    let now = ground.tree()?;
    let whole = |path: &Utf8Path| match path.file_name() {
        Some("SKILL.md") => {
            let dir = path.parent().unwrap_or(path);
            let rest = wanted.iter().filter(|(it, _)| it.starts_with(dir) && is_content(it));
            rest.clone().all(|(it, bytes)| now.get(it) == Some(bytes))
        }
        _ => true,
    };
    let of_a_host = |path: &Utf8Path| wanted.contains_key(path) || before.contains_key(path);
    let torn = now.iter().find(|(path, bytes)| {
        let known = [before.get(*path), wanted.get(*path)].contains(&Some(*bytes));
        of_a_host(path) && (!known || !whole(path))
    });
    Ok(torn.map(|(path, _)| format!("`{}`", ground.short(path))))
}

/// What a host reads of a skill, without what marks it as installed.
fn is_content(path: &Utf8Path) -> bool {
    path.file_name().is_some_and(|name| !name.starts_with('.'))
}

fn read_only(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    use std::os::unix::fs::PermissionsExt as _;
    let ground = stage.ground()?;
    let reason = "basalt-heron forbids it";
    ground.hook("guard", "PreToolUse", &format!("cat > /dev/null; echo '{reason}' >&2; exit 2"));
    ground.configure(&["claude"], "");
    let dirs = [ground.home(), ground.workspace(), ground.own()];
    let set = |mode: u32| {
        dirs.iter()
            .try_for_each(|dir| fs_err::set_permissions(dir, std::fs::Permissions::from_mode(mode)))
    };
    set(0o500)?;
    let payload = wire::before_tool("claude", &ground.workspace(), "true").to_string();
    let bound = |args: &[&str], input: &str| {
        let command = ground.command(args);
        let mut command = as_before(bound_by_modes(&command), &command);
        run::start(&mut command, input.as_bytes())?.wait(USUAL)
    };
    let called = bound(&["hook", "claude", "pre-tool-use"], &payload);
    let synced = bound(&["sync"], "");
    set(0o700)?;
    let (called, synced) = (called?, synced?);
    let mut wrong = Vec::new();
    if wire::denial("claude", &called).is_none() {
        wrong.push(format!("**the tool runs** (the hook {})", called.ending()));
    }
    if synced.crashed() || synced.succeeded() || synced.said().trim().is_empty() {
        wrong.push(format!("**`sync` {}**", synced.ending()));
    }
    Ok(Seen::unless(&wrong, "denied; `sync` says why"))
}
