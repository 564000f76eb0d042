//! `update`, `use` and `sync` of content that changed: what was agreed to is never in between.

use agents_testkit::chance::Chance;
use camino::Utf8Path;

use crate::{
    area::Area,
    crowd::ending,
    fault::Fault,
    ground::Ground,
    seen::{Came, Checks, Seen},
};

fn skill(version: &str) -> String {
    let rest = "Prepare statements.\n".repeat(300);
    format!("---\nname: usage\ndescription: Use when writing SQL\n---\nFor {version}.\n{rest}")
}

fn publish(ground: &Ground, version: &str) -> anyhow::Result<()> {
    let files = [("src/lib.rs", ""), ("skills/usage/SKILL.md", &skill(version))];
    ground.sample.vendor().krate("tiny-sql", version, "authors = [\"Ada\"]", &files);
    ground.sample.cargo_in(&ground.workspace(0), &["generate-lockfile"]);
    ground.prepare(0, &["plugin", "sync"])
}

pub(crate) fn round(fault: Fault, chance: &mut Chance, program: &Utf8Path) -> anyhow::Result<Seen> {
    let ground = Ground::new(program, fault)?;
    let plain = "hosts = [\"claude\", \"codex\"]\nhook-scope = \"project\"";
    let used = format!("{plain}\n[plugins]\nuse = [\"tiny-sql\"] # agreed");
    let (at_first, args): (&str, &[&str]) = match chance.below(5) {
        0 => (plain, &["use", "tiny-sql", "--global"]),
        1 => (plain, &["use", "tiny-sql"]),
        2 => (&used, &["sync"]),
        _ => (&used, &["update", "--yes"]),
    };
    ground.configure(at_first);
    publish(&ground, "0.3.1")?;
    ground.prepare(0, &["sync"])?;
    publish(&ground, "0.3.2")?;
    let files = [ground.workspace(0).join("agents.lock"), ground.home().join("config.toml")];
    let look = || files.clone().map(|file| fs_err::read_to_string(file).unwrap_or_default());
    let (old, what) = (look(), args.join(" "));
    let mut checks = Checks::default();
    let came = if matches!(fault, Fault::AtOnce | Fault::Massacre) {
        crowd(&ground, fault, args, chance, &mut checks)?
    } else {
        let ran = ground.under(fault, ground.command(0, args), chance)?;
        checks.at_worst_failed(&what, &ran.output);
        if !fault.may_fail() {
            checks.worked(&what, &ran.output);
        }
        Came::of_one(ran.hit, format!("`{what}` {}", ran.how))
    };
    let now = look();
    let installed = ground.workspace(0).join(".claude/skills/usage/SKILL.md");
    if let Ok(text) = fs_err::read_to_string(&installed) {
        let known = ["0.3.1", "0.3.2"].iter().any(|version| text == skill(version));
        checks.must(known, || format!("TORN: the installed skill is {text:?}"));
    }
    checks.worked(&what, &ground.run(0, args)?);
    let middle = look();
    for args in [&["update", "--yes"][..], &["sync"], &["sync", "--locked"], &["sync", "--check"]] {
        checks.worked(&args.join(" "), &ground.run(0, args)?);
    }
    let new = look();
    for at in 0..files.len() {
        let whole = [&old[at], &middle[at], &new[at]].contains(&&now[at]);
        checks.must(whole, || format!("TORN: `{}` is {:?}", files[at], now[at]));
    }
    checks.must(new[1].contains("# mine\n") && new[1].contains(" # mine too\n"), || {
        format!("LOST: a comment of the user's: {:?}", new[1])
    });
    let text = fs_err::read_to_string(&installed).unwrap_or_default();
    checks.must(text == skill("0.3.2"), || format!("what was agreed to is not there: {text:?}"));
    ground.is_tidy(&mut checks)?;
    came.seen((Area::Trust, fault), checks, || ground.keep())
}

/// Several who do the same at once, some of whom may be killed.
fn crowd(
    ground: &Ground,
    fault: Fault,
    args: &[&str],
    chance: &mut Chance,
    checks: &mut Checks,
) -> anyhow::Result<Came> {
    let (what, runs) = (args.join(" "), 4);
    let started: Result<Vec<_>, _> = (0..runs).map(|_| ground.command(0, args).spawn()).collect();
    let mut killed = 0;
    for child in started? {
        match ending(child, fault, chance, 80)? {
            None => killed += 1,
            Some(output) => checks.worked(&what, &output),
        }
    }
    Ok(Came::of_crowd(fault, runs, killed, &format!("`{what}` at once")))
}
