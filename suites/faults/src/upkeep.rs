//! What is fetched, cleared up and replaced: done again, it works, and nothing of the user's is gone.

use std::process::Output;

use agents_testkit::{chance::Chance, repo::Repo, scratch};
use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    area::Area,
    crowd::ending,
    fault::Fault,
    ground::{Ground, Tree, differences},
    seen::{Came, Checks, Seen, said},
};

/// Takes everything of ours away; what the others do is done again afterwards.
const PURGE: &[&str] = &["uninstall", "--purge", "--yes"];
const UPDATE: &[&str] = &["self-update"];
const NEWER: &str = "99.0.0";
/// The program that was there before.
const OLD: &str = "#!/bin/sh\necho old\n";

const DEEDS: [&[&str]; 9] = [
    &["plugin", "sync"],
    &["plugin", "cache", "prune"],
    &["plugin", "cache", "prune", "--all"],
    &["doctor", "--fix"],
    &["task", "gc"],
    &["plan", "gc", "--older-than", "0s", "--keep", "0"],
    &["man", "--dir", "../man"],
    UPDATE,
    PURGE,
];

/// Those that several do at once without being in each other's way.
const TOGETHER: [usize; 6] = [0, 1, 3, 4, 5, 6];

/// It ends with 1 if there is something to say about this machine.
fn finds(args: &[&str], output: &Output) -> bool {
    args[0] == "doctor" && output.status.code() == Some(1)
}

fn skill(version: usize) -> String {
    format!(
        "---\nname: part\ndescription: Use when {version}\n---\n{}",
        "More of it.\n".repeat(200 * version)
    )
}

fn publish(repo: &Repo, version: usize) {
    let manifest = "name = \"team\"\ncrates = [\"serde\"]\n[[skills]]\nsource.path = \"skills\"\n";
    repo.write("team/SYMPOSIUM.toml", manifest);
    repo.write("team/skills/part/SKILL.md", skill(version));
    repo.commit(&format!("version {version}"));
}

/// A user with a registry from git, of which the second version is not fetched yet, and a program of which there is a newer version.
struct Stage {
    ground: Ground,
    /// The user's own, before we came.
    before: Tree,
}

impl Stage {
    fn new(program: &Utf8Path, fault: Fault) -> anyhow::Result<Self> {
        let ground = Ground::new(program, fault)?;
        let repo = Repo::init(ground.sample.scratch().path("repo"));
        publish(&repo, 1);
        let registry = format!("[[registry]]\nname = \"team\"\ngit = \"{}\"\n", repo.url());
        ground.configure(&format!("hosts = [\"claude\"]\nhook-scope = \"project\"\n{registry}"));
        scratch::write(&ground.workspace(0).join(".claude/settings.json"), "{\"own\": 1}\n");
        scratch::write(&ground.workspace(0).join(".claude/skills/own/SKILL.md"), "own\n");
        let before = ground.snapshot()?;
        let vendor = ground.sample.vendor();
        vendor.library("agents-system", "1.0.0", "");
        let rooms = "[dependencies]\nagents-system = \"1\"\n";
        let main = "fn main() { println!(\"new\") }\n";
        vendor.krate("cargo-agents", NEWER, rooms, &[("src/main.rs", main)]);
        ground.prepare(0, &["plugin", "sync"])?;
        ground.prepare(0, &["sync"])?;
        publish(&repo, 2);
        let stage = Self { ground, before };
        scratch::write(&stage.installed(), OLD);
        use std::os::unix::fs::PermissionsExt as _;
        fs_err::set_permissions(stage.installed(), std::fs::Permissions::from_mode(0o755))?;
        Ok(stage)
    }

    fn installed(&self) -> Utf8PathBuf {
        self.ground.sample.home().join("bin/cargo-agents")
    }

    /// What the program says that is installed.
    fn says(&self) -> String {
        let said = std::process::Command::new(self.installed()).output();
        said.map_or_else(|error| error.to_string(), |it| String::from_utf8_lossy(&it.stdout).into())
    }

    /// The same once more, which must work now.
    fn again(&self, args: &[&str], checks: &mut Checks) -> anyhow::Result<()> {
        let (what, output) = (args.join(" "), self.ground.run(0, args)?);
        checks.must(output.status.success() || finds(args, &output), || {
            format!("`{what}` does not work afterwards: {}", said(&output))
        });
        Ok(())
    }

    /// What plugins bring is whole, the newest is there, and everything can be taken back.
    fn whole(&self, checks: &mut Checks) -> anyhow::Result<()> {
        let installed = self.ground.workspace(0).join(".claude/skills/part/SKILL.md");
        if let Ok(text) = fs_err::read_to_string(&installed) {
            let known = [1, 2].iter().any(|version| text == skill(*version));
            checks.must(known, || format!("TORN: the installed skill is {text:?}"));
        }
        for args in [&["plugin", "sync"][..], &["sync"], &["sync", "--check"]] {
            self.again(args, checks)?;
        }
        let text = fs_err::read_to_string(&installed).unwrap_or_default();
        checks.must(text == skill(2), || format!("what was fetched is not there: {text:?}"));
        self.again(&["uninstall"], checks)
    }

    /// Nothing of the user's is gone or other than it was.
    fn untouched(&self, checks: &mut Checks) -> anyhow::Result<()> {
        let mut after = self.ground.snapshot()?;
        let (lock, man) =
            (self.ground.workspace(0).join("agents.lock"), self.ground.tree().join("man"));
        after.retain(|path, _| *path != lock && !path.starts_with(&man));
        let other = differences(&self.before, &after, &self.ground.tree());
        checks.must(other.is_empty(), || format!("not as before: {}", other.join("; ")));
        Ok(())
    }
}

pub(crate) fn round(fault: Fault, chance: &mut Chance, program: &Utf8Path) -> anyhow::Result<Seen> {
    let stage = Stage::new(program, fault)?;
    let mut checks = Checks::default();
    let came = match fault {
        Fault::AtOnce | Fault::Massacre => crowd(&stage, fault, chance, &mut checks)?,
        _ => single(&stage, fault, chance, &mut checks)?,
    };
    stage.untouched(&mut checks)?;
    came.seen((Area::Upkeep, fault), checks, || stage.ground.keep())
}

/// One command, to which it happens; then the same once more.
fn single(
    stage: &Stage,
    fault: Fault,
    chance: &mut Chance,
    checks: &mut Checks,
) -> anyhow::Result<Came> {
    let mut args = DEEDS[chance.below(DEEDS.len())];
    let mut ran = stage.ground.under(fault, stage.ground.command(0, args), chance)?;
    // Some have little to do: then it happens to another one.
    for _ in 0..4 {
        if ran.hit || args == PURGE {
            break;
        }
        args = DEEDS[chance.below(DEEDS.len())];
        ran = stage.ground.under(fault, stage.ground.command(0, args), chance)?;
    }
    let what = args.join(" ");
    checks.at_worst_failed(&what, &ran.output);
    if !fault.may_fail() && !finds(args, &ran.output) {
        checks.worked(&what, &ran.output);
    }
    let says = stage.says();
    let old_or_new = says == "old\n" || says == "new\n";
    checks.must(old_or_new, || format!("TORN: the installed program says {says:?}"));
    if args == PURGE {
        // Once nothing of ours is there, there is nothing to do.
        stage.again(args, checks)?;
        let left: Vec<Utf8PathBuf> = match stage.ground.home().read_dir_utf8() {
            Ok(all) => all.filter_map(Result::ok).map(camino::Utf8DirEntry::into_path).collect(),
            Err(_) => Vec::new(),
        };
        checks.must(left.is_empty(), || format!("LEFT BEHIND: {left:?}"));
    } else {
        stage.again(args, checks)?;
        let says = stage.says();
        checks.must(args != UPDATE || says == "new\n", || format!("the program says {says:?}"));
        stage.whole(checks)?;
    }
    Ok(Came::of_one(ran.hit, format!("`{what}` {}", ran.how)))
}

/// Several of them at once, some of which may be killed.
fn crowd(
    stage: &Stage,
    fault: Fault,
    chance: &mut Chance,
    checks: &mut Checks,
) -> anyhow::Result<Came> {
    let (mut running, mut killed) = (Vec::new(), 0);
    for _ in 0..5 {
        let args = DEEDS[TOGETHER[chance.below(TOGETHER.len())]];
        running.push((stage.ground.command(0, args).spawn()?, args));
        std::thread::sleep(chance.moment(30));
    }
    let runs = running.len();
    for (child, args) in running {
        let Some(output) = ending(child, fault, chance, 40)? else {
            killed += 1;
            continue;
        };
        if !finds(args, &output) {
            checks.worked(&args.join(" "), &output);
        }
    }
    stage.whole(checks)?;
    Ok(Came::of_crowd(fault, runs, killed, "at once"))
}
