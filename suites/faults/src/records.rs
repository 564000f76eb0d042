//! `audit record`, `audit import` and `disable`: what is written down about plugins is the old or the new one, and what several write down is
//! all there.

use agents_system::edit::{Format, read};
use agents_testkit::{chance::Chance, scratch};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    area::Area,
    crowd::ending,
    fault::Fault,
    ground::Ground,
    seen::{Came, Checks, Seen},
};

/// Somebody else's records, long enough that they are not written in one piece.
fn theirs(count: usize) -> String {
    let hash = format!("blake3-128:{}", "5".repeat(32));
    let record = format!(
        "[[audit]]\nhash = \"{hash}\"\nwhat = \"skill part\"\nfrom = \"plugin demo\"\nwho = \"Bo\"\ndate = \"2026-11-01\"\nnote = \"fine\"\n\n"
    );
    record.repeat(count)
}

/// What an imported file is called: a first import says so.
fn imported(ground: &Ground) -> String {
    let dir = ground.home().join("audits");
    let mut names = dir.read_dir_utf8().into_iter().flatten().flatten();
    names.next().map(|it| it.file_name().to_owned()).unwrap_or_default()
}

/// A command, and the file that it writes.
struct Deed {
    args: Vec<&'static str>,
    file: Utf8PathBuf,
    /// What stands in the file afterwards.
    leaves: &'static str,
}

fn deed(ground: &Ground, chance: &mut Chance) -> Deed {
    let (workspace, home) = (ground.workspace(0), ground.home());
    let record = vec!["audit", "record", "part", "--note", "looked at it"];
    let looked = "looked at it";
    match chance.below(4) {
        0 => Deed { args: record, file: workspace.join("agents-audits.toml"), leaves: looked },
        1 => Deed {
            args: [record, vec!["--user"]].concat(),
            file: home.join("agents-audits.toml"),
            leaves: looked,
        },
        2 => Deed {
            args: vec!["audit", "import", "theirs.toml"],
            file: home.join("audits").join(imported(ground)),
            leaves: "Bo",
        },
        _ => Deed {
            args: vec!["disable", "demo"],
            file: home.join("config.toml"),
            leaves: "\"demo\"",
        },
    }
}

pub(crate) fn round(fault: Fault, chance: &mut Chance, program: &Utf8Path) -> anyhow::Result<Seen> {
    let ground = Ground::new(program, fault)?;
    ground.configure("hosts = [\"claude\"]\nhook-scope = \"project\"");
    let plugin = ground.home().join("plugins/demo");
    let manifest = "name = \"demo\"\ncrates = [\"serde\"]\n[[skills]]\nsource.path = \"skills\"\n";
    scratch::write(&plugin.join("SYMPOSIUM.toml"), manifest);
    let skill = "---\nname: part\ndescription: Use when\n---\nMore of it.\n";
    scratch::write(&plugin.join("skills/part/SKILL.md"), skill);
    ground.prepare(0, &["sync"])?;
    // Half of what is imported later: the file is there already, and another one.
    scratch::write(&ground.workspace(0).join("theirs.toml"), theirs(60));
    ground.prepare(0, &["audit", "import", "theirs.toml"])?;
    scratch::write(&ground.workspace(0).join("theirs.toml"), theirs(120));
    let mut checks = Checks::default();
    let came = match fault {
        Fault::AtOnce | Fault::Massacre => crowd(&ground, fault, chance, &mut checks)?,
        _ => single(&ground, fault, chance, &mut checks)?,
    };
    ground.is_tidy(&mut checks)?;
    checks.worked("audit", &ground.run(0, &["audit"])?);
    let config = fs_err::read_to_string(ground.home().join("config.toml"))?;
    checks.must(config.contains("# mine\n") && config.contains(" # mine too\n"), || {
        format!("LOST: a comment of the user's: {config:?}")
    });
    came.seen((Area::Records, fault), checks, || ground.keep())
}

/// One command, to which it happens; then the same once more.
fn single(
    ground: &Ground,
    fault: Fault,
    chance: &mut Chance,
    checks: &mut Checks,
) -> anyhow::Result<Came> {
    let Deed { args, file, leaves } = deed(ground, chance);
    let (what, look) = (args.join(" "), || fs_err::read_to_string(&file).ok());
    let old = look();
    let mut ran = ground.under(fault, ground.command(0, &args), chance)?;
    // They write so little that what is to happen often does not.
    for _ in 0..3 {
        if ran.hit {
            break;
        }
        match (&old, file.exists()) {
            (Some(text), _) => fs_err::write(&file, text)?,
            (None, true) => fs_err::remove_file(&file)?,
            (None, false) => {}
        }
        ran = ground.under(fault, ground.command(0, &args), chance)?;
    }
    checks.at_worst_failed(&what, &ran.output);
    if !fault.may_fail() {
        checks.worked(&what, &ran.output);
    }
    let now = look();
    // Dates, and where it was imported from, are known only afterwards.
    let new = |text: &Option<String>| {
        let whole = |text: &String| read(Format::Toml, text).is_ok() && text.contains(leaves);
        text.as_ref().is_some_and(whole)
    };
    checks.must(now == old || new(&now), || format!("TORN: `{file}` is {now:?}"));
    if ran.output.status.success() {
        checks.must(new(&now), || format!("LOST: `{what}` is not in {now:?}"));
    }
    checks.worked(&what, &ground.run(0, &args)?);
    checks.must(new(&look()), || format!("`{file}` is {:?}", look()));
    Ok(Came::of_one(ran.hit, format!("`{what}` {}", ran.how)))
}

/// Several who write down something else each, some of whom may be killed.
fn crowd(
    ground: &Ground,
    fault: Fault,
    chance: &mut Chance,
    checks: &mut Checks,
) -> anyhow::Result<Came> {
    let audits = chance.percent(50);
    let (mut running, mut killed, mut done) = (Vec::new(), 0, Vec::new());
    for at in 0..5 {
        let word = format!("word-{at}");
        let args = match audits {
            true => vec!["audit", "record", "part", "--note", &word],
            false => vec!["disable", &word],
        };
        running.push((ground.command(0, &args).spawn()?, word));
        std::thread::sleep(chance.moment(15));
    }
    let runs = running.len();
    for (child, word) in running {
        match ending(child, fault, chance, 40)? {
            None => killed += 1,
            Some(output) => {
                checks.worked(&word, &output);
                done.push(word);
            }
        }
    }
    let file = match audits {
        true => ground.workspace(0).join("agents-audits.toml"),
        false => ground.home().join("config.toml"),
    };
    let text = fs_err::read_to_string(&file).unwrap_or_default();
    for word in done {
        let there = text.contains(&format!("\"{word}\""));
        checks.must(there, || format!("LOST: `{word}` is not in {text:?}"));
    }
    let what = if audits { "audit record" } else { "disable" };
    Ok(Came::of_crowd(fault, runs, killed, &format!("`{what}` at once")))
}
