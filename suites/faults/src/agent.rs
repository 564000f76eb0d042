//! `agent new`, `edit`, `remove` and `unpack`: a definition is the old or the new one, and nothing lies beside it.

use agents_testkit::chance::Chance;
use std::process::Child;

use agents_testkit::scratch;
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    area::Area,
    crowd::ending,
    fault::Fault,
    ground::Ground,
    seen::{Came, Checks, Seen},
};

/// Long enough that it is not written in one piece.
fn definition() -> String {
    let rest = "You read before you write.\n".repeat(800);
    format!("---\nname: team\ndescription: Helps # mine\ntools: read, grep\n---\n\n{rest}")
}

/// Changes of one definition that do not meet, and what each leaves in it.
const CHANGES: [(&str, &str); 4] = [
    ("limits.turns=9", "turns: 9"),
    ("effort=low", "effort: low"),
    ("description=Helps a lot", "description: Helps a lot"),
    ("tools=read", "tools: read\n"),
];

/// A command, the file that it is about, and how to do the same once more.
struct Deed {
    args: Vec<&'static str>,
    file: Utf8PathBuf,
}

fn deed(ground: &Ground, chance: &mut Chance) -> Deed {
    let (team, user) = (team(ground), ground.user().join(".agents/agents"));
    match chance.below(5) {
        0 => Deed { args: vec!["remove", "team"], file: team },
        1 => Deed { args: vec!["unpack", "explore", "--force"], file: user.join("explore.md") },
        2 => {
            let args = vec!["new", "own", "--description", "Helps", "--from", "team", "--force"];
            Deed { args, file: user.join("own.md") }
        }
        _ => Deed { args: vec!["edit", "team", "limits.turns=9", "tools=read"], file: team },
    }
}

fn team(ground: &Ground) -> Utf8PathBuf {
    ground.workspace(0).join(".agents/agents/team.md")
}

pub(crate) fn round(fault: Fault, chance: &mut Chance, program: &Utf8Path) -> anyhow::Result<Seen> {
    let ground = Ground::new(program, fault)?;
    scratch::write(&team(&ground), definition());
    let mut checks = Checks::default();
    let came = match fault {
        Fault::AtOnce | Fault::Massacre => crowd(&ground, fault, chance, &mut checks)?,
        _ => single(&ground, fault, chance, &mut checks)?,
    };
    let left = ground.unfinished()?;
    checks.must(left.is_empty(), || format!("LEFT BEHIND: {left:?}"));
    checks.worked("agent list", &ground.run(0, &["agent", "list"])?);
    came.seen((Area::Agent, fault), checks, || ground.keep())
}

/// One command, to which it happens; then the same once more.
fn single(
    ground: &Ground,
    fault: Fault,
    chance: &mut Chance,
    checks: &mut Checks,
) -> anyhow::Result<Came> {
    let Deed { args, file } = deed(ground, chance);
    let args = [&["agent"], &args[..]].concat();
    let (what, look) = (args.join(" "), || fs_err::read_to_string(&file).ok());
    let old = look();
    let mut ran = ground.under(fault, ground.command(0, &args), chance)?;
    // They write so little that the write at which one is to be killed often does not come.
    for _ in 0..3 {
        if ran.hit {
            break;
        }
        match &old {
            Some(text) => fs_err::write(&file, text)?,
            None => fs_err::remove_file(&file)?,
        }
        ran = ground.under(fault, ground.command(0, &args), chance)?;
    }
    checks.at_worst_failed(&what, &ran.output);
    if !fault.may_fail() {
        checks.worked(&what, &ran.output);
    }
    let now = look();
    // What is removed already cannot be removed again.
    if args[1] == "remove" && now.is_none() {
        checks.must(!ground.run(0, &args)?.status.success(), || "removed twice".to_owned());
    } else {
        checks.worked(&what, &ground.run(0, &args)?);
    }
    let new = look();
    checks.must(now == old || now == new, || format!("TORN: `{file}` is {now:?}"));
    checks.must(new.is_none() == (args[1] == "remove"), || format!("`{file}` is {new:?}"));
    if let (true, Some(new)) = (args[1] == "edit", &new) {
        let kept = definition()
            .lines()
            .skip(3)
            .all(|line| new.contains(line) || line.starts_with("tools"));
        checks.must(kept && new.contains("# mine"), || format!("LOST: something of {new:?}"));
    }
    Ok(Came::of_one(ran.hit, format!("`{what}` {}", ran.how)))
}

/// Several who change one definition at once, some of whom may be killed. What the others changed is all there.
fn crowd(
    ground: &Ground,
    fault: Fault,
    chance: &mut Chance,
    checks: &mut Checks,
) -> anyhow::Result<Came> {
    let mut running: Vec<(&str, &str, Child)> = Vec::new();
    for (change, leaves) in CHANGES {
        running.push((
            change,
            leaves,
            ground.command(0, &["agent", "edit", "team", change]).spawn()?,
        ));
        std::thread::sleep(chance.moment(15));
    }
    let (runs, mut killed, mut done) = (running.len(), Vec::new(), Vec::new());
    for (change, leaves, child) in running {
        match ending(child, fault, chance, 20)? {
            None => killed.push(change),
            Some(output) => {
                checks.worked(&format!("agent edit team {change}"), &output);
                done.push(leaves);
            }
        }
    }
    let text = fs_err::read_to_string(team(ground)).unwrap_or_default();
    for leaves in done {
        checks.must(text.contains(leaves), || format!("LOST: `{leaves}` is not in {text:?}"));
    }
    for change in &killed {
        checks.worked(change, &ground.run(0, &["agent", "edit", "team", change])?);
    }
    let text = fs_err::read_to_string(team(ground)).unwrap_or_default();
    for (_, leaves) in CHANGES {
        checks.must(text.contains(leaves), || format!("LOST: `{leaves}` is not in {text:?}"));
    }
    Ok(Came::of_crowd(fault, runs, killed.len(), "at once"))
}
