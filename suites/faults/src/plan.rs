//! Plans: whatever happens, a run is resumed, and what had ended is not paid for again.

use agents_testkit::chance::Chance;
use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use agents_testkit::{
    harm::{Harm, Place},
    scratch,
};
use camino::Utf8Path;
use serde_json::Value;

use crate::{
    area::Area,
    fault::Fault,
    ground::{Ground, Ran},
    seen::{Came, Checks, Seen, said},
    task::processes,
};

const JOURNAL: Place<'static> = Place::File("journal.db-wal");
const RUN: [&str; 6] = ["plan", "run", "plan.toml", "--fresh", "--allow", "bash"];
const RESUME: [&str; 6] = ["plan", "resume", "last", "--fresh", "--allow", "bash"];

/// Chains that split and meet. Each task leaves a line, and has an answer only for what it must be told.
fn write_plan(ground: &Ground, tasks: usize) {
    let mut plan = "plan = \"several\"\n[concurrency]\ntotal = 3\n".to_owned();
    let mut script = String::new();
    for at in 0..tasks {
        let needs: Vec<usize> = match at {
            0 => Vec::new(),
            _ if at % 5 == 0 => vec![at - 1, at / 2],
            _ => vec![at / 2],
        };
        let refers: String =
            needs.iter().map(|on| format!(" ${{{{ tasks.t{on}.text }}}}")).collect();
        plan.push_str(&format!(
            "[[tasks]]\nid = \"t{at}\"\nagent = \"helper\"\nprompt = \"TASK {at}:{refers}\"\n"
        ));
        let told: String = needs.iter().map(|on| format!(" result {on}.")).collect();
        script.push_str(&format!(
            "[[replies]]\nwhen = {{ result = \"did {at}.\" }}\ntext = \"result {at}.\"\n\
             [[replies]]\nwhen = {{ text = \"TASK {at}:{told}\" }}\n\
             calls = [{{ name = \"bash\", input = {{ command = \"echo t{at} >> effects; echo did {at}.\" }} }}]\n"
        ));
    }
    let file = ground.home().join("script.toml");
    scratch::write(&file, script);
    ground.configure(&format!("[providers.demo]\nkind = \"script\"\nscript = \"{file}\""));
    let helper = "---\nname: helper\ndescription: helps\n---\nYou help.\n";
    scratch::write(&ground.user().join(".agents/agents/helper.md"), helper);
    scratch::write(&ground.workspace(0).join("plan.toml"), plan);
}

/// A run that is looked at from outside.
struct Stage {
    ground: Ground,
    tasks: usize,
}

impl Stage {
    fn document(&self, args: &[&str]) -> anyhow::Result<Value> {
        let args = [&["plan"], args, &["--json"]].concat();
        let output = self.ground.run(0, &args)?;
        serde_json::from_slice(&output.stdout)
            .map_err(|error| anyhow::anyhow!("{error}: {}", said(&output)))
    }

    /// The state of the run, if there is one.
    fn state(&self) -> anyhow::Result<Option<String>> {
        let runs = self.document(&["list"])?;
        Ok(runs["runs"][0]["state"].as_str().map(str::to_owned))
    }

    /// How often each task did what it is for.
    fn effects(&self) -> BTreeMap<String, usize> {
        let file = self.ground.workspace(0).join("effects");
        let mut counts = BTreeMap::new();
        for line in fs_err::read_to_string(file).unwrap_or_default().lines() {
            *counts.entry(line.to_owned()).or_default() += 1;
        }
        counts
    }

    /// The tasks of which the journal has such an event.
    fn told(&self, event: &str) -> anyhow::Result<BTreeSet<String>> {
        let logs = self.document(&["logs", "last"])?;
        let events = logs["events"].as_array().cloned().unwrap_or_default();
        let told = events.iter().filter(|it| it["event"] == event);
        Ok(told.filter_map(|it| it["task"].as_str().map(str::to_owned)).collect())
    }
}

pub(crate) fn round(fault: Fault, chance: &mut Chance, program: &Utf8Path) -> anyhow::Result<Seen> {
    let ground = Ground::new(program, fault)?;
    let tasks = 6 + chance.below(10);
    write_plan(&ground, tasks);
    let stage = Stage { ground, tasks };
    let mut checks = Checks::default();
    let (hit, happened) = broken(&stage, fault, chance, &mut checks)?;
    resumed(&stage, fault, chance, &mut checks)?;
    let came = Came::of_one(hit, format!("{tasks} tasks, {happened}"));
    came.seen((Area::Plan, fault), checks, || stage.ground.keep())
}

/// Runs the plan while it goes wrong; whether it did, and how.
fn broken(
    stage: &Stage,
    fault: Fault,
    chance: &mut Chance,
    checks: &mut Checks,
) -> anyhow::Result<(bool, String)> {
    let mut command = stage.ground.command(0, &RUN);
    let step = 1 + chance.below(6 * stage.tasks);
    let harm = match fault {
        Fault::Kill if chance.percent(40) => Some(Harm::Before(step)),
        Fault::Kill if chance.percent(60) => Some(Harm::Torn(step)),
        Fault::FullDisk if chance.percent(40) => Some(Harm::Full(step)),
        Fault::Clock => Some(Ground::wrong_clock(chance, |_| step)?),
        _ => None,
    };
    let ran = match (harm, fault) {
        (Some(harm), _) => {
            harm.put(JOURNAL, &mut command);
            stage.ground.watch(&mut command);
            let (output, how) = (command.output()?, format!("{harm:?}"));
            match fault {
                Fault::Kill => Ran::of(output, how),
                _ => stage.ground.noticed(fault, output, how)?,
            }
        }
        (None, Fault::Kill | Fault::AtOnce) => killed(&mut command, chance)?,
        (None, Fault::FullDisk) => stage.ground.filled_while(&mut command, chance)?,
        (None, Fault::ReadOnly) => stage.ground.locked_while(&mut command, chance)?,
        (None, Fault::Massacre) => massacred(stage, &mut command, chance)?,
        (None, _) => Ran { output: command.output()?, hit: true, how: "alone".to_owned() },
    };
    checks.at_worst_failed("plan run", &ran.output);
    if !fault.may_fail() && fault != Fault::AtOnce {
        checks.worked("plan run", &ran.output);
    }
    Ok((ran.hit, ran.how))
}

fn killed(command: &mut Command, chance: &mut Chance) -> anyhow::Result<Ran> {
    let moment = chance.moment(500);
    let mut child = command.spawn()?;
    std::thread::sleep(moment);
    child.kill()?;
    Ok(Ran::of(child.wait_with_output()?, format!("killed after {moment:?}")))
}

/// Kills whoever runs the plan, and then most of what it had started, as a machine that has no memory left.
fn massacred(stage: &Stage, command: &mut Command, chance: &mut Chance) -> anyhow::Result<Ran> {
    let moment = chance.moment(500);
    let mut child = command.spawn()?;
    std::thread::sleep(moment);
    let mut others = processes::below(&stage.ground.tree());
    // It goes first: what happened to its tools it must not live to write down.
    child.kill()?;
    others.retain(|_| chance.percent(70));
    others.iter().for_each(processes::Process::kill);
    let how = format!("killed after {moment:?}, with {} processes", others.len());
    Ok(Ran::of(child.wait_with_output()?, how))
}

/// Goes on, perhaps several times at once, and sees that it comes to its end.
fn resumed(
    stage: &Stage,
    fault: Fault,
    chance: &mut Chance,
    checks: &mut Checks,
) -> anyhow::Result<()> {
    let (begun, paid) = match stage.state()? {
        Some(_) => (stage.told("started")?, stage.told("ended")?),
        None => Default::default(),
    };
    let before = stage.effects();
    for _ in 0..3 {
        let args = match stage.state()?.as_deref() {
            Some("completed") => break,
            Some(_) => &RESUME,
            // It was killed before there was anything to resume.
            None => &RUN,
        };
        let several = if fault == Fault::AtOnce && args == &RESUME { 3 } else { 1 };
        let mut open = Vec::new();
        for _ in 0..several {
            open.push(stage.ground.command(0, args).spawn()?);
            std::thread::sleep(chance.moment(30));
        }
        let mut worked = 0;
        for child in open {
            let output = child.wait_with_output()?;
            checks.at_worst_failed("plan resume", &output);
            // Whoever comes later finds somebody who is at it, or nothing to do.
            let told = String::from_utf8_lossy(&output.stderr);
            let busy = told.contains("another process") || told.contains("has ended: completed");
            worked += usize::from(output.status.success());
            checks.must(output.status.success() || (several > 1 && busy), || {
                format!("`plan resume` does not go on: {}", said(&output))
            });
        }
        checks.must(worked > 0, || "of several `plan resume` none went on".to_owned());
    }
    let state = stage.state()?;
    checks.must(state.as_deref() == Some("completed"), || format!("the run is {state:?}"));
    let after = stage.effects();
    for at in 0..stage.tasks {
        let task = format!("t{at}");
        let (was, is) = (before.get(&task), after.get(&task).copied().unwrap_or_default());
        checks.must(is > 0, || format!("LOST: `{task}` did nothing"));
        if paid.contains(&task) {
            checks.must(was == Some(&is), || format!("TWICE: `{task}` was paid for already"));
        }
        // What ran when it was cut off is done again, and may have had its effect only after we looked; nothing else is.
        let most = 1 + usize::from(was.is_some() || begun.contains(&task));
        checks.must(is <= most, || format!("TWICE: `{task}` ran {is} times"));
    }
    let shown = stage.document(&["show", "last"])?;
    for task in shown["tasks"].as_array().into_iter().flatten() {
        let name = task["task"].as_str().unwrap_or_default();
        let expected = format!("result {}.", name.trim_start_matches('t'));
        let good = task["state"] == "completed" && task["outcome"]["text"] == expected.as_str();
        checks.must(good, || format!("the end of `{name}` is another: {task}"));
    }
    let checked = stage.document(&["check-journal", "last"])?;
    let problems = &checked["runs"][0]["problems"];
    checks.must(problems.as_array().is_some_and(Vec::is_empty), || {
        format!("the journal is not sound: {problems}")
    });
    Ok(())
}
