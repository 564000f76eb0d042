//! `cargo agents agent new <name>`

use std::process::ExitCode;

use agents_agent::{
    AgentDefinition, Standing,
    assign::{AssignError, Assignment, assign, name},
    definition::Dialect,
    edit::{check_sayable, plan_create},
    search::{Family, families},
    unpack::Existing,
};
use agents_host::{Scope, find};
use agents_system::{explain::ErrorKind, finding::Finding};
use camino::{Utf8Path, Utf8PathBuf};

use super::{
    change::{Account, Doing, assignments, pen_for, project_root},
    found,
};
use crate::{
    args::NewAgentArgs, commands::wanted, failure::Failure, output::Output, settings::Settings,
};

pub(super) fn run(
    settings: &Settings,
    output: &Output,
    args: &NewAgentArgs,
) -> Result<ExitCode, Failure> {
    let changes = assignments(settings, &args.changes, &[], args.prompt_file.as_deref())?;
    let (dir, dialect) = place(settings, args)?;
    let base = match &args.from {
        Some(from) => Some(found(settings, &[])?.agents.lookup(from)?.clone()),
        None => None,
    };
    let (definition, findings) = definition(args, base.as_ref(), &changes)?;
    check_sayable(base.as_ref(), &definition, dialect)?;
    let existing = if args.force { Existing::Replace } else { Existing::Keep };
    let new = plan_create(&dir, &definition, dialect, existing)?;
    let doing = Doing::new(args.dry_run);
    let mut account = Account {
        name: &args.name,
        file: new.path(),
        before: new.before(),
        after: Some(new.text()),
        losses: new.losses(),
        findings,
    };
    if doing == Doing::It {
        let pen = pen_for(settings, new.path(), doing)?;
        new.apply()?;
        drop(pen);
        account.findings.extend(heard(settings, &args.name, new.path())?);
    }
    if definition.prompt.is_empty() {
        account.findings.push(
            Finding::warning("nothing tells it what to be yet")
                .hint("write that below its header, or give `--prompt-file`"),
        );
    }
    account.report(output, doing)
}

/// What it is to say.
fn definition(
    args: &NewAgentArgs,
    base: Option<&AgentDefinition>,
    changes: &[Assignment],
) -> Result<(AgentDefinition, Vec<Finding>), Failure> {
    let name = name(&args.name)?;
    let mut definition = match base {
        Some(base) => AgentDefinition { name, ..base.clone() },
        None => AgentDefinition::blank(name),
    };
    let mut all = Vec::new();
    if let Some(text) = &args.description {
        all.push(Assignment::set("description", text.trim())?);
    }
    all.extend(changes.iter().cloned());
    let findings = assign(&mut definition, &all)?;
    if definition.description.is_empty() {
        return Err(AssignError::Required { part: "description" }.into());
    }
    Ok((definition, findings))
}

/// Where it goes, and how it is written there.
fn place(settings: &Settings, args: &NewAgentArgs) -> Result<(Utf8PathBuf, Dialect), Failure> {
    let (hosts, _) = wanted::all_hosts(settings)?;
    let home = wanted::home()?;
    let root = if args.project { Some(project_root(settings)?) } else { None };
    let roots = wanted::roots(&home, root.as_deref());
    let usage = |message: String| Failure::new(ErrorKind::Usage, message);
    let (dialect, dir) = match (&args.host, args.dialect) {
        (Some(name), _) => {
            let host = find(&hosts, name)?;
            if let Some(why) = host.agents.reason() {
                return Err(usage(format!("{} has no files of agents: {why}", host.name)));
            }
            let scope = if args.project { Scope::Project } else { Scope::User };
            (Dialect::of_host(&host.id), host.paths(scope, &roots).agents_dir)
        }
        (None, dialect) => {
            let dialect = dialect.map_or(Dialect::Ours, |it| it.0);
            let all = families(&hosts, &roots);
            let of = |it: &&Family| it.files.first().is_some_and(|file| file.dialect == dialect);
            let family = all.iter().find(of);
            let dir = family.and_then(|family| match &root {
                Some(root) => Some(root.join(family.project.as_ref()?)),
                None => family.user.clone(),
            });
            (dialect, dir)
        }
    };
    let dir = match &args.dir {
        Some(dir) => Some(settings.cwd.join(dir)),
        None => dir,
    };
    let dir = dir.ok_or_else(|| {
        usage(format!("{dialect} has no directory of agents there")).hint("name one with `--dir`")
    })?;
    Ok((dir, dialect))
}

/// What there is to say about a new file: whether its name means it.
fn heard(settings: &Settings, name: &str, file: &Utf8Path) -> Result<Vec<Finding>, Failure> {
    let found = found(settings, &[])?;
    let here = found.agents.candidates.iter().find(|it| it.file.as_deref() == Some(file));
    let said = match here.map(|it| (it, it.standing)) {
        None => Finding::warning("no agents are looked for in this directory")
            .hint(format!("name it with `--agents {file}`")),
        Some((it, Standing::ShadowedBy(_))) => {
            Finding::warning(format!("`{name}`: {}", found.why_not(it).unwrap_or_default()))
        }
        Some((it, _)) => return Ok(it.findings.clone()),
    };
    Ok(vec![said])
}
