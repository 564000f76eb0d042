//! `cargo agents init`: which coding agents the user has.
//!
//! Flags and answers both become one [`Change`], which is applied to whatever the configuration says by then. Every
//! question is asked before anything is written.

use std::process::ExitCode;

use agents_host::{Host, HostId, find};
use agents_plugin::config::{Config, Registration};
use agents_sync::Edited;
use agents_system::{
    ask::{Answer, AskError, Asker, Choice, Start},
    edit::Edit,
    explain::{Code, ErrorKind},
    foreign::Written,
    process::find_program,
};
use agents_workspace::{Glance, Workspaces};
use serde::Serialize;
use serde_json::json;

use super::{
    agreed,
    sync_hosts::{self, Mode},
    wanted,
};
use crate::{
    args::InitArgs,
    failure::{Failure, FindingView},
    output::Output,
    settings::Settings,
};

/// `cargo agents init --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct InitDocument {
    /// The configuration file
    config: String,
    /// Whether it was written; it is not if everything was so already
    written: bool,
    /// The configured hosts
    hosts: Vec<String>,
    /// Those that were not configured before
    added: Vec<String>,
    /// Those that were; the next `sync` takes back what they had
    removed: Vec<String>,
    /// Where hooks and MCP servers are registered: `global` or `project`
    hook_scope: &'static str,
    findings: Vec<FindingView>,
}

/// What is to become different in the configuration.
#[derive(Debug, Default, PartialEq, Eq)]
struct Change {
    add: Vec<HostId>,
    remove: Vec<HostId>,
    registration: Option<Registration>,
    otherwise: IfNone,
}

/// What happens when no host is configured and none is named.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum IfNone {
    /// Then there is none.
    #[default]
    StayEmpty,
    /// Those that are installed are taken.
    TakeInstalled,
}

/// Whether `sync` comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Sync,
    End,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    args: &InitArgs,
) -> Result<ExitCode, Failure> {
    let (all, mut findings) = wanted::all_hosts(settings)?;
    let home = wanted::home()?;
    let roots = wanted::roots(&home, None);
    let is_installed = |host: &Host| host.is_installed(&roots, |it| find_program(it).is_some());
    let asker = if decides(args) { None } else { output.asker() };
    let (change, then) = match asker {
        Some(asker) => {
            let config = Config::load(&settings.dirs)?;
            let questions = Questions { asker, all: &all, config: &config, settings };
            questions.ask(args, is_installed).map_err(cancelled)?
        }
        None => (by_flags(args, &all)?, Then::End),
    };
    let changed = Config::change(&settings.dirs, &settings.progress, |config| {
        let hosts = hosts_after(&config.hosts, &change, &all, is_installed);
        if hosts.is_empty() && change.otherwise == IfNone::TakeInstalled {
            return Err(nothing_found());
        }
        Ok(edits(config, &hosts, change.registration))
    })?;
    findings.extend(changed.after.findings.iter().cloned());
    wanted::configured(&changed.after, &all, &mut findings);
    let (before, after) = (&changed.before.hosts, &changed.after.hosts);
    let document = InitDocument {
        config: Config::file(&settings.dirs).into_string(),
        written: changed.written != Written::Unchanged,
        hosts: after.clone(),
        added: without(after, before),
        removed: without(before, after),
        hook_scope: changed.after.registration.word(),
        findings: findings.iter().map(FindingView::from).collect(),
    };
    if output.is_json() {
        output.document(&document)?;
        return Ok(ExitCode::SUCCESS);
    }
    report(&document, then, output)?;
    output.flush()?;
    match then {
        // It says what there is to say about hosts, too.
        Then::Sync => {
            let terms = agreed::Terms::default();
            sync_hosts::run(settings, output, Mode::Apply, Edited::Keep, &terms, None)
        }
        Then::End => {
            output.findings(&findings);
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Whether the flags leave no question open. The scope alone does not say which hosts.
fn decides(args: &InitArgs) -> bool {
    args.yes || !args.add_agent.is_empty() || !args.remove_agent.is_empty()
}

fn by_flags(args: &InitArgs, all: &[Host]) -> Result<Change, Failure> {
    let known = |names: &[String]| -> Result<Vec<HostId>, Failure> {
        names.iter().map(|name| Ok(find(all, name)?.id.clone())).collect()
    };
    let names_hosts = !args.add_agent.is_empty() || !args.remove_agent.is_empty();
    Ok(Change {
        add: known(&args.add_agent)?,
        remove: known(&args.remove_agent)?,
        registration: args.hook_scope.map(Registration::from),
        otherwise: if names_hosts { IfNone::StayEmpty } else { IfNone::TakeInstalled },
    })
}

/// What there is to ask about.
struct Questions<'q> {
    asker: Asker,
    all: &'q [Host],
    config: &'q Config,
    settings: &'q Settings,
}

impl Questions<'_> {
    fn ask(
        &self,
        args: &InitArgs,
        is_installed: impl Fn(&Host) -> bool,
    ) -> Result<(Change, Then), AskError> {
        let configured = wanted::configured(self.config, self.all, &mut Vec::new());
        let is_configured = |host: &Host| configured.iter().any(|it| it.id == host.id);
        let choices = self.all.iter().map(|host| {
            let installed = is_installed(host);
            // Who has left an installed one out before need not do so again.
            let picked = if configured.is_empty() { installed } else { is_configured(host) };
            Choice::new(&host.name)
                .note(if installed { "installed" } else { "" })
                .start(if picked { Start::Picked } else { Start::Free })
        });
        let choices: Vec<Choice> = choices.collect();
        let picked = self.asker.many("Which coding agents do you use?", &choices)?;
        let mut change = Change::default();
        for (index, host) in self.all.iter().enumerate() {
            match (is_configured(host), picked.contains(&index)) {
                (false, true) => change.add.push(host.id.clone()),
                (true, false) => change.remove.push(host.id.clone()),
                (true, true) | (false, false) => {}
            }
        }
        change.registration = match args.hook_scope {
            Some(scope) => Some(scope.into()),
            None if picked.is_empty() => None,
            None => self.registration()?,
        };
        let then = if picked.is_empty() { Then::End } else { self.then()? };
        Ok((change, then))
    }

    /// `None` if it stays as it is, so that a default is not written down.
    fn registration(&self) -> Result<Option<Registration>, AskError> {
        let places = [
            (Registration::User, "in your own settings", "for every workspace, seen by you alone"),
            (Registration::Project, "in each workspace", "in files that others may see"),
        ];
        let now = self.config.registration;
        let choices = places.map(|(_, label, note)| Choice::new(label).note(note));
        let preferred = places.iter().position(|(place, ..)| *place == now).unwrap_or(0);
        let question = "Where are hooks and MCP servers registered?";
        let picked = self.asker.one(question, &choices, preferred)?;
        Ok(places.get(picked).map(|(place, ..)| *place).filter(|place| *place != now))
    }

    fn then(&self) -> Result<Then, AskError> {
        let Settings { dirs, cargo, progress, cwd, .. } = self.settings;
        let workspaces = Workspaces { cache: &dirs.cache, cargo, progress };
        if matches!(workspaces.glance(cwd), Ok(Glance::Outside)) {
            return Ok(Then::End);
        }
        let question = "Bring them what this workspace offers now? (`cargo agents sync`)";
        Ok(match self.asker.yes(question, Answer::Yes)? {
            Answer::Yes => Then::Sync,
            Answer::No => Then::End,
        })
    }
}

fn cancelled(error: AskError) -> Failure {
    match error {
        AskError::Cancelled | AskError::Interrupted | AskError::Withdrawn => {
            Failure::new(ErrorKind::Cancelled, "cancelled, and nothing was written")
        }
        AskError::Io(_) => {
            Failure::from(error).hint("`--yes`, `--add-agent` and `--remove-agent` need no answer")
        }
    }
}

fn nothing_found() -> Failure {
    Failure::new(ErrorKind::Usage, "no coding agent was found on this machine")
        .code(Code::NoHost)
        .hint("name one with `--add-agent`; `cargo agents host list` lists those that are known")
}

/// The configured hosts after the change. Names stay as they are spelled, also those that nobody knows.
fn hosts_after(
    now: &[String],
    change: &Change,
    all: &[Host],
    is_installed: impl Fn(&Host) -> bool,
) -> Vec<String> {
    let id = |name: &str| find(all, name).ok().map(|host| host.id.clone());
    let mut hosts = now.to_vec();
    let mut add = |host: &HostId| {
        if !hosts.iter().any(|name| id(name).as_ref() == Some(host)) {
            hosts.push(host.to_string());
        }
    };
    if now.is_empty() && change.otherwise == IfNone::TakeInstalled {
        all.iter().filter(|host| is_installed(host)).for_each(|host| add(&host.id));
    }
    change.add.iter().for_each(&mut add);
    hosts.retain(|name| id(name).is_none_or(|id| !change.remove.contains(&id)));
    hosts
}

/// Only what differs is written, so that a second run leaves the file alone.
fn edits(config: &Config, hosts: &[String], registration: Option<Registration>) -> Vec<Edit> {
    let mut edits = Vec::new();
    if config.hosts != hosts {
        edits.push(Edit::Set { at: ["hosts"].into(), value: json!(hosts) });
        // One place for it is enough.
        edits.push(Edit::Remove { at: ["agent"].into() });
    }
    if let Some(registration) = registration {
        edits.push(Edit::Set { at: ["hook-scope"].into(), value: json!(registration.word()) });
    }
    edits
}

fn without(these: &[String], those: &[String]) -> Vec<String> {
    these.iter().filter(|it| !those.contains(it)).cloned().collect()
}

fn report(document: &InitDocument, then: Then, output: &Output) -> Result<(), Failure> {
    let InitDocument { config, hosts, removed, .. } = document;
    let list = if hosts.is_empty() { "none".to_owned() } else { hosts.join(", ") };
    let unchanged = if document.written { "" } else { ", unchanged" };
    output.line(format!("Hosts: {list}  ({config}{unchanged})"))?;
    if !removed.is_empty() {
        let who = removed.join(" and ");
        output.line(format!(
            "What {who} had is taken back by the next `cargo agents sync` in each workspace, or everywhere by `cargo agents uninstall`."
        ))?;
    }
    if !hosts.is_empty() && then == Then::End {
        output.line("`cargo agents sync` in a workspace brings them what its crates offer.")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents_host::hosts;

    fn after(now: &[&str], change: &Change) -> String {
        let (all, _) = hosts(None);
        let now: Vec<String> = now.iter().map(ToString::to_string).collect();
        hosts_after(&now, change, &all, |host| ["codex", "zed"].contains(&host.id.as_str()))
            .join(" ")
    }

    fn ids(names: &[&str]) -> Vec<HostId> {
        names.iter().filter_map(|name| HostId::new(name)).collect()
    }

    #[test]
    fn a_change_counts_for_whatever_is_configured_by_then() {
        let add = Change { add: ids(&["goose", "claude"]), ..Change::default() };
        assert_eq!(after(&[], &add), "goose claude");
        assert_eq!(after(&["zed", "claude"], &add), "zed claude goose");
        assert_eq!(after(&["claude-code"], &add), "claude-code goose", "an alias is the same host");
        let remove = Change { remove: ids(&["claude"]), ..Change::default() };
        assert_eq!(after(&["zed", "Claude", "bogus"], &remove), "zed bogus");
        assert_eq!(after(&[], &remove), "");
        let both = Change { add: ids(&["zed"]), remove: ids(&["zed"]), ..Change::default() };
        assert_eq!(after(&["zed"], &both), "", "removing comes last");
    }

    #[test]
    fn installed_hosts_are_taken_only_where_none_is_configured() {
        let change = Change { otherwise: IfNone::TakeInstalled, ..Change::default() };
        assert_eq!(after(&[], &change), "codex zed");
        assert_eq!(after(&["claude"], &change), "claude");
    }
}
