//! Programs that plugins bring: installed once, never half.

use agents_testkit::chance::Chance;
use std::process::{Child, Output};

use agents_testkit::{repo::Repo, scratch};
use camino::Utf8Path;

use crate::{
    area::Area,
    crowd::ending,
    fault::Fault,
    ground::Ground,
    seen::{Came, Checks, Seen, said},
};

/// What the program says.
const SAYS: &str = "tool runs\n";

pub(crate) fn round(fault: Fault, chance: &mut Chance, program: &Utf8Path) -> anyhow::Result<Seen> {
    let ground = Ground::new(program, fault)?;
    let log = ground.sample.scratch().path("installed");
    let repo = Repo::init(ground.sample.scratch().path("repo"));
    // The program needs what the install command makes, so that half an installation does not work.
    repo.write("tool", "#!/bin/sh\ncat \"$(dirname \"$0\")/made\"\n");
    repo.write("large", "x".repeat(chance.below(200_000)));
    repo.commit("tool");
    let pause = chance.below(100);
    let manifest = format!(
        "name = \"p\"\ncrates = [\"*\"]\n[subcommand.tool]\ndescription = \"x\"\n\
         command = {{ source = \"git\", url = \"{}\", executable = \"tool\", \
         install_commands = [\"printf 'tool ' > made; sleep 0.0{pause}; echo runs >> made; echo x >> '{log}'\"] }}\n",
        repo.url()
    );
    scratch::write(&ground.home().join("plugins/p/SYMPOSIUM.toml"), manifest);
    let installs = || fs_err::read_to_string(&log).unwrap_or_default().lines().count();
    let mut checks = Checks::default();
    let came = match fault {
        Fault::AtOnce | Fault::Massacre => crowd(&ground, fault, chance, &mut checks)?,
        _ => {
            let mut command = ground.command(0, &["tool"]);
            // Nothing is written but in our own directories.
            let ran = match fault {
                Fault::ReadOnly => ground.locked_while(&mut command, chance)?,
                _ => ground.under(fault, command, chance)?,
            };
            checks.at_worst_failed("tool", &ran.output);
            right(&ran.output, !fault.may_fail(), &mut checks);
            Came::of_one(ran.hit, ran.how)
        }
    };
    if matches!(fault, Fault::AtOnce | Fault::Nothing) {
        checks.must(installs() == 1, || format!("it was installed {} times", installs()));
    }
    right(&ground.run(1, &["tool"])?, true, &mut checks);
    let done = installs();
    for which in 0..2 {
        right(&ground.run(which, &["tool"])?, true, &mut checks);
    }
    checks.must(installs() == done, || "what is installed was installed again".to_owned());
    let mut left = ground.unfinished()?;
    if !left.is_empty() {
        checks.worked("cache prune", &ground.run(0, &["cache", "prune"])?);
        left = ground.unfinished()?;
    }
    checks.must(left.is_empty(), || format!("LEFT BEHIND: {left:?}"));
    came.seen((Area::Install, fault), checks, || ground.keep())
}

/// It said what it has to say, and nothing else; perhaps it did not come to that.
fn right(output: &Output, must: bool, checks: &mut Checks) {
    let says = output.stdout == SAYS.as_bytes() && output.status.success();
    let silent = output.stdout.is_empty() && !output.status.success();
    checks.must(says || (silent && !must), || format!("`tool` said {}", said(output)));
}

fn crowd(
    ground: &Ground,
    fault: Fault,
    chance: &mut Chance,
    checks: &mut Checks,
) -> anyhow::Result<Came> {
    let mut running: Vec<Child> = Vec::new();
    for at in 0..3 + chance.below(3) {
        running.push(ground.command(at, &["tool"]).spawn()?);
        std::thread::sleep(chance.moment(30));
    }
    let runs = running.len();
    let mut killed = 0;
    for child in running {
        match ending(child, fault, chance, 60)? {
            None => killed += 1,
            Some(output) => right(&output, true, checks),
        }
    }
    Ok(Came::of_crowd(fault, runs, killed, "at once"))
}
