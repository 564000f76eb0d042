//! `sync`, `uninstall` and `init`: what is the user's stays, what is ours is whole.

use agents_testkit::chance::Chance;
use std::process::{Child, Output};

use agents_system::{
    edit::{Format, read},
    ledger::Ledger,
};
use agents_testkit::scratch;
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    area::Area,
    fault::Fault,
    ground::{self, Ground, Node, Tree},
    seen::{Came, Checks, Seen},
};

/// Files of hosts in which the user has something already, in a home and in a workspace.
const OWN: [(&str, &str); 6] = [
    (
        ".claude.json",
        "{\n  \"numStartups\": 7,\n  \"mcpServers\": {\n    \"own\": { \"command\": \"own-server\" }\n  }\n}\n",
    ),
    (
        ".claude/settings.json",
        "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"PreToolUse\": [\n      { \"matcher\": \"Bash\", \"hooks\": [{ \"type\": \"command\", \"command\": \"own-hook\" }] }\n    ]\n  }\n}\n",
    ),
    (".mcp.json", "{ \"mcpServers\": {\n  \"own\": { \"command\": \"own-server\" } } }\n"),
    (
        ".codex/config.toml",
        "# mine\nmodel = \"gpt\"   # the large one\n\n[mcp_servers.own]\ncommand = \"own-server\"\n",
    ),
    (
        ".gemini/settings.json",
        "{\n\t// mine\n\t\"ui\": { \"theme\": \"dark\" },\n\t\"mcpServers\": {}\n}\n",
    ),
    (
        ".config/goose/config.yaml",
        "# mine\nGOOSE_MODEL: gpt   # the large one\nextensions:\n  own:\n    type: stdio\n    cmd: own-server\n    enabled: true\n",
    ),
];
const OWN_SKILL: &str = ".claude/skills/own/SKILL.md";
const OWN_SKILL_TEXT: &str = "---\nname: own\ndescription: Use when alone\n---\nMine.\n";

pub(crate) fn round(fault: Fault, chance: &mut Chance, program: &Utf8Path) -> anyhow::Result<Seen> {
    let ground = Ground::new(program, fault)?;
    let scope = if chance.percent(50) { "project" } else { "global" };
    ground.configure(&format!(
        "hosts = [\"claude\", \"codex\", \"gemini\", \"goose\"]\nhook-scope = \"{scope}\"\nmcp-register = \"each\""
    ));
    write_own(&ground, chance);
    publish(&ground, 1);
    let before = ground.snapshot()?;
    // Some of them have it already, perhaps in an older version.
    let served = chance.below(ground.workspaces() + 1);
    for which in 0..served {
        ground.prepare(which, &["sync"])?;
    }
    if chance.percent(60) {
        publish(&ground, 2);
    }
    let mut checks = Checks::default();
    let mut came = match fault {
        Fault::AtOnce | Fault::Massacre => crowd(&ground, fault, chance, &mut checks)?,
        _ => single(&ground, fault, chance, &mut checks)?,
    };
    whole(&ground, &before, &mut checks);
    converges(&ground, &before, &mut checks)?;
    came.happened.push_str(&format!(", scope {scope}, {served} served before"));
    came.seen((Area::Sync, fault), checks, || ground.keep())
}

fn write_own(ground: &Ground, chance: &mut Chance) {
    let mut places: Vec<Utf8PathBuf> =
        (0..ground.workspaces()).map(|which| ground.workspace(which)).collect();
    places.push(ground.user());
    for dir in places {
        for (file, text) in OWN {
            // Some files are ours alone, and so are some directories.
            if chance.percent(70) {
                scratch::write(&dir.join(file), text);
            }
        }
        if chance.percent(50) {
            scratch::write(&dir.join(OWN_SKILL), OWN_SKILL_TEXT);
        }
    }
}

fn skill(name: usize, version: usize) -> String {
    format!(
        "---\nname: part-{name}\ndescription: Use when {version}\n---\nThis is {version}.\n{}",
        "More of it.\n".repeat(400 * version)
    )
}

/// The plugin in a version: what is in it differs as well as what it says.
fn publish(ground: &Ground, version: usize) {
    let dir = ground.home().join("plugins/demo");
    let manifest = format!(
        "name = \"demo\"\ncrates = [\"serde\"]\n[[skills]]\nsource.path = \"skills\"\n[[agents]]\nsource.path = \"agents\"\n\
         [[mcp_servers]]\nname = \"explain\"\ncommand = \"explain\"\nargs = [\"--version\", \"{version}\"]\n\
         [[mcp_servers]]\nname = \"only-{version}\"\ncommand = \"explain\"\n\
         [[hooks]]\nname = \"guard\"\nevent = \"{}\"\ncommand = {{ script = \"guard.sh\" }}\n",
        if version == 1 { "Stop" } else { "PreCompact" }
    );
    scratch::write(&dir.join("SYMPOSIUM.toml"), manifest);
    scratch::write(&dir.join("guard.sh"), "#!/bin/sh\nexit 0\n");
    let agent = format!("---\nname: helper\ndescription: Helps {version}\n---\nYou help.\n");
    scratch::write(&dir.join("agents/helper.md"), agent);
    for name in [0, version] {
        let part = dir.join(format!("skills/part-{name}"));
        scratch::write(&part.join("SKILL.md"), skill(name, version));
        scratch::write(&part.join("references/more.md"), format!("more of {version}\n"));
    }
    if version > 1 {
        let _ = fs_err::remove_dir_all(dir.join(format!("skills/part-{}", version - 1)));
    }
}

/// One command, to which it happens.
fn single(
    ground: &Ground,
    fault: Fault,
    chance: &mut Chance,
    checks: &mut Checks,
) -> anyhow::Result<Came> {
    let which = chance.below(ground.workspaces());
    let init = ["init", "--add-agent", "kiro", "--remove-agent", "gemini"];
    let args: &[&str] = match chance.below(10) {
        0..=4 => &["sync"],
        5..=7 => &["uninstall"],
        _ => &init,
    };
    let config = ground.home().join("config.toml");
    let old = fs_err::read_to_string(&config)?;
    let ran = ground.under(fault, ground.command(which, args), chance)?;
    let what = args.join(" ");
    checks.at_worst_failed(&what, &ran.output);
    if !fault.may_fail() {
        checks.worked(&what, &ran.output);
    }
    if args == init {
        let now = fs_err::read_to_string(&config)?;
        let again = ground.run(which, args)?;
        checks.worked(&what, &again);
        let new = fs_err::read_to_string(&config)?;
        checks.must(now == old || now == new, || format!("`config.toml` is neither: {now:?}"));
        checks.must(new.contains("# mine\n") && new.contains(" # mine too\n"), || {
            format!("LOST: a comment of the user's in `config.toml`: {new:?}")
        });
    }
    Ok(Came::of_one(ran.hit, format!("`{}` {}", args[0], ran.how)))
}

/// Several at once, some of which may be killed.
fn crowd(
    ground: &Ground,
    fault: Fault,
    chance: &mut Chance,
    checks: &mut Checks,
) -> anyhow::Result<Came> {
    let mut running: Vec<(&str, Child, bool)> = Vec::new();
    for at in 0..4 + chance.below(4) {
        let verb = if chance.percent(80) { "sync" } else { "uninstall" };
        running.push((verb, ground.command(at, &[verb]).spawn()?, false));
        std::thread::sleep(chance.moment(40));
        if fault == Fault::Massacre && chance.percent(50) {
            let victim = chance.below(running.len());
            let (_, child, killed) = &mut running[victim];
            if child.try_wait()?.is_none() {
                *killed = true;
                child.kill()?;
            }
        }
    }
    let (runs, mut killed) = (running.len(), 0);
    for (verb, child, was_killed) in running {
        let output: Output = child.wait_with_output()?;
        killed += usize::from(was_killed);
        if !was_killed {
            checks.worked(verb, &output);
        }
    }
    Ok(Came::of_crowd(fault, runs, killed, "at once"))
}

fn format_of(path: &Utf8Path) -> Option<Format> {
    match path.extension() {
        Some("json") => Some(Format::Json),
        Some("toml") => Some(Format::Toml),
        Some("yaml") => Some(Format::Yaml),
        _ => None,
    }
}

/// A line without what an edit of the next one may add to it.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(|line| line.trim().trim_end_matches([',', '}', ' ']))
        .filter(|line| !line.is_empty())
}

/// Right after it happened: nothing is torn, nothing of the user's is gone.
fn whole(ground: &Ground, before: &Tree, checks: &mut Checks) {
    let name = |path: &Utf8Path| path.strip_prefix(ground.tree()).unwrap_or(path).to_string();
    for (path, was) in before {
        let Node::File { bytes: was, .. } = was else { continue };
        let is = fs_err::read(path).unwrap_or_default();
        let (was, is) = (String::from_utf8_lossy(was), String::from_utf8_lossy(&is));
        for line in lines(&was).filter(|line| line.contains("own") || line.contains("mine")) {
            let kept = is.contains(line);
            checks.must(kept, || format!("LOST: {line:?} of `{}`, which is {is:?}", name(path)));
        }
        if let Some(format) = format_of(path) {
            let torn = read(format, &is);
            checks.must(torn.is_ok(), || format!("TORN: `{}` is {is:?}: {torn:?}", name(path)));
        }
    }
    let ledger = Ledger::load(&ground.home().join("state/ledger.json"));
    checks.must(ledger.is_ok(), || format!("the ledger cannot be read: {ledger:?}"));
    let tree = ground.snapshot().unwrap_or_default();
    for (path, node) in tree.iter().filter(|it| it.0.file_name() == Some("SKILL.md")) {
        let (Node::File { bytes, .. }, Some(dir)) = (node, path.parent()) else { continue };
        let building = path.as_str().contains("/.agents-building-");
        let Some(part) = dir.file_name().and_then(|it| it.strip_prefix("part-")) else { continue };
        if building {
            continue;
        }
        let more = fs_err::read_to_string(dir.join("references/more.md")).unwrap_or_default();
        let good = (1..=2).any(|version| {
            let text = part.parse().map(|part| skill(part, version)).unwrap_or_default();
            *bytes == text.as_bytes() && more == format!("more of {version}\n")
        });
        checks.must(good, || format!("TORN: `{}` with {more:?}", name(path)));
    }
}

/// Without the record, which is the workspace's and stays.
fn without_lock(mut tree: Tree) -> Tree {
    tree.retain(|path, _| path.file_name() != Some("agents.lock"));
    tree
}

/// The next sync makes everything right, twice the same, and all of it can be taken back.
fn converges(ground: &Ground, before: &Tree, checks: &mut Checks) -> anyhow::Result<()> {
    let synced = |checks: &mut Checks| -> anyhow::Result<Tree> {
        for args in [&["sync"][..], &["sync", "--check"][..]] {
            for which in 0..ground.workspaces() {
                let what = format!("{} in {}", args.join(" "), ground.workspace(which));
                checks.worked(&what, &ground.run(which, args)?);
            }
        }
        ground.snapshot()
    };
    let first = synced(checks)?;
    let mut left = ground.unfinished()?;
    if !left.is_empty() {
        // Ended with 1 if there is something to say about this machine.
        ground.run(0, &["doctor", "--fix"])?;
        ground.run(0, &["cache", "prune"])?;
        left = ground.unfinished()?;
    }
    checks.must(left.is_empty(), || format!("LEFT BEHIND: {left:?}"));
    let taken_back = |checks: &mut Checks| -> anyhow::Result<()> {
        checks.worked("uninstall", &ground.run(0, &["uninstall"])?);
        let after = without_lock(ground.snapshot()?);
        let not_as_before = ground::differences(before, &after, &ground.tree());
        checks.must(not_as_before.is_empty(), || {
            format!("not as before after `uninstall`: {}", not_as_before.join("; "))
        });
        Ok(())
    };
    taken_back(checks)?;
    let second = synced(checks)?;
    let other = ground::differences(&second, &first, &ground.tree());
    checks.must(other.is_empty(), || format!("came to another state: {}", other.join("; ")));
    taken_back(checks)
}
