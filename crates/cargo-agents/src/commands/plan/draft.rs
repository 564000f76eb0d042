//! `cargo agents plan new GOAL`

use std::{io, process::ExitCode};

use agents_agent::definition::PermissionMode;
use agents_plan::{
    check::check,
    draw,
    file::{Disk, Plan, Sources},
    graph::Graph,
    journal::Origin,
};
use agents_system::{
    ask::Choice,
    atomic,
    explain::{Code, ErrorKind},
    finding::{Finding, Severity},
};
use agents_task::{Ending, TaskRequest};
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;
use serde_json::Value;

use super::{
    super::task,
    drive::Studio,
    facts::{self, Found},
    start, team,
};
use crate::{
    args::{PlanNewArgs, PlanParams},
    failure::{Failure, FindingView},
    output::Output,
    settings::Settings,
};

/// The agent that is asked.
const AGENT: &str = "plan";
/// How often it is asked, in all: it is told what is wrong with what it handed in.
const ROUNDS: usize = 3;

/// `cargo agents plan new --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PlanNewDocument {
    /// The plan, as it can be written into a file
    plan: Value,
    /// The file that it is in, if it was to be written
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Whether it can run
    valid: bool,
    findings: Vec<FindingView>,
    /// The task in which it was worked out
    task: String,
}

/// A plan that somebody handed in.
struct Draft {
    plan: Value,
    /// Where it is, or would be.
    file: Utf8PathBuf,
    text: String,
    findings: Vec<Finding>,
    task: String,
}

/// A text that is not on the disk, beside files that are.
struct Beside<'a> {
    file: &'a Utf8Path,
    text: &'a str,
}

impl Sources for Beside<'_> {
    fn read(&self, file: &Utf8Path) -> io::Result<String> {
        if file == self.file { Ok(self.text.to_owned()) } else { Disk.read(file) }
    }
}

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    args: &PlanNewArgs,
) -> Result<ExitCode, Failure> {
    let draft = worked_out(settings, output, args)?;
    let is_sound = facts::sound(&draft.findings);
    if let Some(file) = args.output.as_ref().filter(|_| is_sound) {
        atomic::write(&settings.cwd.join(file), draft.text.as_bytes())
            .map_err(|error| Failure::new(ErrorKind::Failure, error.to_string()))?;
    }
    if output.is_json() {
        output.document(&PlanNewDocument {
            plan: draft.plan,
            file: args.output.as_ref().filter(|_| is_sound).map(ToString::to_string),
            valid: is_sound,
            findings: draft.findings.iter().map(FindingView::from).collect(),
            task: draft.task,
        })?;
        let code = if is_sound { 0 } else { ErrorKind::Failure.exit_code() };
        return Ok(ExitCode::from(code));
    }
    if !is_sound {
        output.text(&draft.text)?;
        let errors = draft.findings.iter().filter(|it| it.severity == Severity::Error).count();
        let failure = Failure::new(ErrorKind::Failure, facts::told(errors)).code(Code::PlanInvalid);
        return Err(failure.with_findings(draft.findings));
    }
    output.findings(&draft.findings);
    let graph = drawn(settings, args, &draft)?;
    if let Some(file) = &args.output {
        output.talk(&draw::text(&graph));
        output.line(format!("{file}: `cargo agents plan run {file}` runs it"))?;
        return Ok(ExitCode::SUCCESS);
    }
    output.text(&draft.text)?;
    output.flush()?;
    output.talk(&draw::text(&graph));
    match output.asker() {
        // Nobody is there who could say yes.
        None => Ok(ExitCode::SUCCESS),
        Some(asker) => {
            let choices = [
                Choice::new("keep").note(format!("write it to `{}`", draft.file)).key('k'),
                Choice::new("run").note("write it, and run it now").key('r'),
                Choice::new("forget").note("do nothing").key('f'),
            ];
            let Ok(picked @ (0 | 1)) = asker.one("What is to be done with it?", &choices, 0) else {
                return Ok(ExitCode::SUCCESS);
            };
            keep(settings, &draft)?;
            if picked == 0 {
                output.line(format!("{}: `cargo agents plan run {0}` runs it", draft.file))?;
                return Ok(ExitCode::SUCCESS);
            }
            let engine = team::available(settings, args.manner.engine.unwrap_or_default())?;
            let named = &args.named.agents;
            let studio = Studio::new(settings, output, &args.manner, named, engine)?;
            let graph =
                start::planned(&studio, found(settings, args, &draft)?, &PlanParams::none())?;
            let origin = Origin {
                file: Some(settings.cwd.join(&draft.file)),
                dir: Some(settings.cwd.clone()),
                ..Origin::default()
            };
            start::begin(settings, output, studio, &graph, origin, &args.manner)
        }
    }
}

/// Writes it beside what is there, and never over it.
fn keep(settings: &Settings, draft: &Draft) -> Result<(), Failure> {
    let path = settings.cwd.join(&draft.file);
    if path.exists() {
        let message = format!("`{}` exists already", draft.file);
        return Err(Failure::new(ErrorKind::Usage, message)
            .code(Code::AlreadyThere)
            .hint("name another file with `--output`"));
    }
    atomic::write(&path, draft.text.as_bytes())
        .map_err(|error| Failure::new(ErrorKind::Failure, error.to_string()))
}

/// Asks until what is handed in can run, or it was asked often enough.
fn worked_out(settings: &Settings, output: &Output, args: &PlanNewArgs) -> Result<Draft, Failure> {
    let known = facts::known(settings, &args.named.agents)?;
    let mut request = TaskRequest::new(AGENT, asked(&args.goal, &known));
    request.schema = Some(Plan::schema().to_value());
    // It looks; what it hands in is looked at before anything runs.
    request.mode = Some(PermissionMode::Plan);
    let mut round = 1;
    loop {
        let outcome = task::result_of(settings, output, request.clone(), &args.named.agents)?;
        if outcome.ending != Ending::Completed {
            let kind = if outcome.ending == Ending::Cancelled {
                ErrorKind::Cancelled
            } else {
                ErrorKind::Failure
            };
            let message = format!("there is no plan: {}", outcome.ending.told());
            return Err(Failure::new(kind, message)
                .hint(format!("`cargo agents task show {}` shows what it did", outcome.id)));
        }
        let plan = outcome.report.output.map(|it| it.value).unwrap_or_default();
        let draft = Draft::of(settings, args, without_nulls(plan), outcome.id.to_string())?;
        if facts::sound(&draft.findings) || round == ROUNDS {
            return Ok(draft);
        }
        round += 1;
        let wrong: String = draft
            .findings
            .iter()
            .map(|it| {
                format!(
                    "- {}{}\n",
                    it.message,
                    it.hint.as_ref().map(|it| format!(" ({it})")).unwrap_or_default()
                )
            })
            .collect();
        request.prompt = format!(
            "{}\n\nThis was handed in before:\n{}\n\nIt cannot run:\n{wrong}\nHand in the whole plan again, with that put right.\n",
            asked(&args.goal, &known),
            draft.plan,
        );
    }
}

impl Draft {
    fn of(
        settings: &Settings,
        args: &PlanNewArgs,
        plan: Value,
        task: String,
    ) -> Result<Self, Failure> {
        let file = args.output.clone().unwrap_or_else(|| {
            let name = plan["plan"].as_str().unwrap_or("plan");
            // What is no name of a file is found wrong when the plan is checked.
            let name = name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "-");
            format!("{name}.toml").into()
        });
        let text = match file.extension() {
            Some("json") => {
                serde_json::to_string_pretty(&plan).map(|it| it + "\n").map_err(|it| it.to_string())
            }
            Some("toml") => toml::to_string_pretty(&plan).map_err(|it| it.to_string()),
            _ => {
                let message = format!("`{file}` is neither TOML nor JSON");
                return Err(Failure::new(ErrorKind::Usage, message)
                    .hint("let its name end in `.toml` or `.json`"));
            }
        };
        let text = text.map_err(|error| {
            Failure::new(ErrorKind::Failure, format!("the plan cannot be written: {error}"))
        })?;
        let mut draft = Self { plan, file, text, findings: Vec::new(), task };
        let found = found(settings, args, &draft)?;
        draft.findings = found.findings;
        if let Some(bundle) = &found.bundle {
            draft.findings.extend(check(bundle, &found.facts));
        }
        Ok(draft)
    }
}

fn found(settings: &Settings, args: &PlanNewArgs, draft: &Draft) -> Result<Found, Failure> {
    let path = settings.cwd.join(&draft.file);
    let beside = Beside { file: &path, text: &draft.text };
    facts::found_in(settings, &draft.file, &args.named.agents, &beside)
}

/// Parameters without a value are there, and not known yet.
fn drawn(settings: &Settings, args: &PlanNewArgs, draft: &Draft) -> Result<Graph, Failure> {
    found(settings, args, draft)?.graph(&PlanParams::none())
}

/// TOML has no word for nothing; what is not said is not there.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => map
            .into_iter()
            .filter(|(_, it)| !it.is_null())
            .map(|(key, it)| (key, without_nulls(it)))
            .collect(),
        Value::Array(list) => list.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

/// What the agent is asked for.
fn asked(goal: &str, known: &facts::Known) -> String {
    let mut agents = String::new();
    for (name, description) in &known.agents {
        agents.push_str(&format!("- `{name}`: {description}\n"));
    }
    let members = if known.members.is_empty() {
        String::new()
    } else {
        format!("\nThe members of this workspace: {}.\n", known.members.join(", "))
    };
    format!(
        "Work out a plan that agents can carry out without anybody who explains it to them:\n\n{goal}\n\n\
         Look around first. Then hand in the plan as data: a graph of tasks, each small enough for one agent, with everything in its prompt that \
         the agent must know. A task sees nothing of the others but what its prompt refers to.\n\n\
         - A prompt refers to the result of another task with `${{{{ tasks.ID.output.FIELD }}}}` (what it handed in, as its `output` schema says) or \
         `${{{{ tasks.ID.text }}}}` (what it said); that makes it wait for the other one. Use `needs` where only the order matters.\n\
         - Say in `done-when` with which commands one sees that a task is done, and what must not change.\n\
         - Tasks that change files say so in `writes` (paths, or `member:NAME`), so that no two change the same ones at once.\n\
         - Use `for-each` with `members` for the same thing in every member of the workspace.\n\
         - Give no parameters: everything is known now. Set limits where a task could go on for ever.\n\n\
         The agents that there are:\n{agents}{members}"
    )
}
