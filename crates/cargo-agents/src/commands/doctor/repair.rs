//! What `--fix` does. Each repair is something that the user could do with another command of ours, and none touches what
//! somebody edited.

use std::time::Duration;

use agents_sync::{Desired, Edited, recover, sync};
use agents_system::{
    explain::ErrorKind,
    finding::Finding,
    process::{Call, this_program},
};
use serde_json::Value;

use super::{
    checks::{Problem, Repair},
    machine::Machine,
    record::sweep,
};
use crate::{failure::Failure, settings::Settings};

/// It may have to compile the program of a hook.
const SYNC_DEADLINE: Duration = Duration::from_hours(1);

/// A repair that was tried.
pub(super) struct Attempt {
    /// What it was for.
    pub(super) codes: Vec<&'static str>,
    /// What was done, or why not.
    pub(super) result: Result<String, String>,
}

impl Attempt {
    pub(super) fn words(&self) -> &str {
        match &self.result {
            Ok(words) | Err(words) => words,
        }
    }
}

/// Tries everything, each repair once however many problems it is for, and `sync` last: it needs the rest in order.
pub(super) fn all(settings: &Settings, problems: &[Problem]) -> Result<Vec<Attempt>, Failure> {
    let machine = Machine::look(settings)?;
    let mut repairs: Vec<&Repair> = problems.iter().filter_map(|it| it.repair.as_ref()).collect();
    repairs.sort();
    repairs.dedup();
    let mut attempts = Vec::new();
    for repair in repairs {
        let for_it = problems.iter().filter(|problem| problem.repair.as_ref() == Some(repair));
        let mut codes: Vec<&'static str> = for_it.map(|problem| problem.check.code).collect();
        codes.sort_unstable();
        codes.dedup();
        let result = carry_out(repair, &machine).map_err(|failure| {
            let findings: Vec<Finding> = failure.into_findings();
            findings.into_iter().map(|it| it.message).collect::<Vec<_>>().join("; ")
        });
        Failure::if_interrupted()?;
        attempts.push(Attempt { codes, result });
    }
    Ok(attempts)
}

fn carry_out(repair: &Repair, machine: &Machine<'_>) -> Result<String, Failure> {
    let (settings, places) = (machine.settings, machine.places());
    match repair {
        Repair::Recover => {
            recover(&places, &settings.progress)?;
            Ok("ended the sync that was killed".to_owned())
        }
        Repair::Release(root) => {
            let nothing = Desired::default();
            let applied = sync(&places, &nothing, root, Edited::Keep, &settings.progress)?;
            let kept = applied.failed.iter().chain(&applied.plan.findings);
            let kept: Vec<String> = kept.map(|it| format!("; {}", it.message)).collect();
            Ok(format!("let go of what was kept for `{root}`{}", kept.concat()))
        }
        Repair::Sweep(paths) => sweep(machine, paths),
        Repair::Sync => sync_here(settings),
    }
}

/// As the command itself, with all the rules that it has: nothing is installed that it would not install.
fn sync_here(settings: &Settings) -> Result<String, Failure> {
    let failed = |said: String| Failure::new(ErrorKind::Failure, said);
    let program = this_program().map_err(|error| failed(error.to_string()))?;
    settings.progress.begin("Running `cargo agents sync`");
    let mut call = Call::new(program).args(["sync", "--json"]).cwd(settings.cwd.clone());
    if settings.flags.offline {
        call = call.arg("--offline");
    }
    let ended = call.deadline(SYNC_DEADLINE).capture();
    settings.progress.end();
    let ended = ended.map_err(|error| failed(error.to_string()))?;
    let document: Value = serde_json::from_slice(&ended.stdout)
        .map_err(|_| failed(format!("`cargo agents sync` failed: {}", ended.said())))?;
    if let Some(error) = document.pointer("/error/message").and_then(Value::as_str) {
        return Err(failed(format!("`cargo agents sync`: {error}")));
    }
    let errors = document.get("findings").and_then(Value::as_array).into_iter().flatten();
    let errors = errors.filter(|it| it.get("severity").is_some_and(|severity| severity == "error"));
    let errors: Vec<&str> =
        errors.filter_map(|it| it.get("message").and_then(Value::as_str)).collect();
    if !errors.is_empty() {
        return Err(failed(format!("`cargo agents sync`: {}", errors.join("; "))));
    }
    let changes = document.get("changes").and_then(Value::as_array).map_or(0, Vec::len);
    let changes = if changes == 1 { "1 change".to_owned() } else { format!("{changes} changes") };
    Ok(format!("ran `cargo agents sync`, which made {changes}"))
}
