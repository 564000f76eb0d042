//! Hooks: a host is always answered, and always the same.

use agents_testkit::chance::Chance;
use std::{
    io::{Seek as _, Write as _},
    process::{Child, Command, Output, Stdio},
};

use agents_testkit::scratch;
use camino::Utf8Path;
use serde_json::json;

use crate::{
    area::Area,
    fault::Fault,
    ground::Ground,
    seen::{Came, Checks, Seen, said},
};

const HOSTS: [&str; 6] = ["claude", "codex", "copilot", "gemini", "qwen", "factory"];
const COMMANDS: [&str; 2] = ["cargo publish", "cargo test"];
/// Denies every command that publishes.
const GUARD: &str =
    "#!/bin/sh\ncase \"$(cat)\" in\n*'cargo publish'*) echo 'CI publishes' >&2; exit 2;;\nesac\n";

/// What a host asks, and what it is answered when nothing happens.
struct Question {
    host: &'static str,
    command: &'static str,
    answer: (Option<i32>, Vec<u8>),
}

pub(crate) fn round(fault: Fault, chance: &mut Chance, program: &Utf8Path) -> anyhow::Result<Seen> {
    let ground = Ground::new(program, fault)?;
    ground.configure("hosts = [\"claude\", \"codex\"]\nhook-scope = \"project\"");
    let guard = ground.home().join("plugins/guard");
    scratch::write(
        &guard.join("SYMPOSIUM.toml"),
        "name = \"guard\"\ncrates = [\"serde\"]\n[[hooks]]\nname = \"no-publish\"\nevent = \"PreToolUse\"\ncommand = { script = \"guard.sh\" }\n",
    );
    scratch::write(&guard.join("guard.sh"), GUARD);
    let mut checks = Checks::default();
    let questions = questions(&ground, &mut checks)?;
    let came = match fault {
        Fault::AtOnce | Fault::Massacre => crowd(&ground, fault, &questions, chance, &mut checks)?,
        _ => {
            let (mut hit, mut how) = (false, String::new());
            for number in 0..4 {
                let Some(question) = chance.one(&questions) else { continue };
                // What is remembered is right, out of date, or gone.
                match chance.below(3) {
                    0 if fault != Fault::Kill => {}
                    1 => more(&ground, number),
                    _ => forget(&ground)?,
                }
                let command = asked(&ground, 0, question.host, question.command)?;
                let ran = ground.under(fault, command, chance)?;
                (hit, how) = (hit || ran.hit, ran.how);
                if ran.output.status.code().is_some() {
                    same(question, &ran.output, &mut checks);
                }
            }
            Came { runs: 4, hit, happened: format!("the last of 4 {how}") }
        }
    };
    for question in &questions {
        let output = asked(&ground, 1, question.host, question.command)?.output()?;
        same(question, &output, &mut checks);
    }
    came.seen((Area::Hooks, fault), checks, || ground.keep())
}

/// What makes everything that is remembered out of date.
fn more(ground: &Ground, number: usize) {
    let dir = ground.home().join(format!("plugins/more-{number}"));
    let manifest = format!("name = \"more-{number}\"\ncrates = [\"serde\"]\n");
    scratch::write(&dir.join("SYMPOSIUM.toml"), manifest);
}

fn forget(ground: &Ground) -> anyhow::Result<()> {
    let cache = ground.home().join("cache");
    if cache.exists() {
        fs_err::remove_dir_all(cache)?;
    }
    Ok(())
}

/// A host asks. What it sends is there at once, so that nobody waits for anybody.
fn asked(ground: &Ground, which: usize, host: &str, command: &str) -> anyhow::Result<Command> {
    let arguments = json!({ "command": command });
    let sent = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "transcript_path": "/t",
        "cwd": ground.workspace(which), "tool_name": "Bash", "tool_input": arguments,
        "toolName": "bash", "toolArgs": arguments.to_string(),
    });
    // Nobody who still reads it sees it change.
    let mut file = tempfile::tempfile()?;
    file.write_all(sent.to_string().as_bytes())?;
    file.rewind()?;
    let mut call = ground.command(which, &["hook", host, "pre-tool-use"]);
    call.stdin(Stdio::from(file));
    Ok(call)
}

fn questions(ground: &Ground, checks: &mut Checks) -> anyhow::Result<Vec<Question>> {
    let mut all = Vec::new();
    for host in HOSTS {
        let mut answers = Vec::new();
        for command in COMMANDS {
            // The same from all workspaces, whose names are not in it.
            let output = asked(ground, 0, host, command)?.output()?;
            answers.push((output.status.code(), output.stdout));
        }
        let [denied, allowed] = &answers[..] else { continue };
        let reason = String::from_utf8_lossy(&denied.1).contains("CI publishes");
        checks.must(denied != allowed && reason, || format!("{host} is not denied: {denied:?}"));
        let both = COMMANDS.into_iter().zip(answers);
        all.extend(both.map(|(command, answer)| Question { host, command, answer }));
    }
    Ok(all)
}

fn same(question: &Question, output: &Output, checks: &mut Checks) {
    let answer = (output.status.code(), output.stdout.clone());
    checks.must(answer == question.answer, || {
        let Question { host, command, answer } = question;
        let expected = String::from_utf8_lossy(&answer.1);
        format!("{host} asked about `{command}` and heard {} instead of {expected}", said(output))
    });
}

/// Many hosts ask while everything is written anew, and perhaps some of those who answer or write are killed.
fn crowd(
    ground: &Ground,
    fault: Fault,
    questions: &[Question],
    chance: &mut Chance,
    checks: &mut Checks,
) -> anyhow::Result<Came> {
    let (mut open, mut syncs) = (Vec::new(), Vec::new());
    for number in 0..24 + chance.below(16) {
        if number % 8 == 0 {
            more(ground, number);
            syncs.push(ground.command(number / 8, &["sync"]).spawn()?);
        }
        let Some(question) = chance.one(questions) else { continue };
        let which = chance.below(ground.workspaces());
        let mut command = asked(ground, which, question.host, question.command)?;
        open.push((question, command.spawn()?));
        std::thread::sleep(chance.moment(10));
    }
    let (runs, mut killed) = (open.len(), 0);
    let mut dies = |child: &mut Child| -> anyhow::Result<bool> {
        let dies = fault == Fault::Massacre && chance.percent(40) && child.try_wait()?.is_none();
        if dies {
            child.kill()?;
            killed += 1;
        }
        Ok(dies)
    };
    // Those who write first: there is something to find out for those who answer.
    let mut written = Vec::new();
    for mut sync in syncs {
        written.push((dies(&mut sync)?, sync));
    }
    for (question, mut child) in open {
        let is_dead = dies(&mut child)?;
        let output = child.wait_with_output()?;
        if !is_dead {
            same(question, &output, checks);
        }
    }
    for (is_dead, sync) in written {
        let output = sync.wait_with_output()?;
        if !is_dead {
            checks.worked("sync", &output);
        }
    }
    Ok(Came::of_crowd(fault, runs, killed, "at once during syncs"))
}
