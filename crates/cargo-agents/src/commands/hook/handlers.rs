//! Choosing and running what plugins have for an event.

use std::time::Duration;

use agents_hook::{Dispatched, Handler, HookInput, Matcher, Source, Wire, dispatch, wire::Format};
use agents_host::{Event, hooks::OUR_NAME};
use agents_install::{Installer, Update};
use agents_plugin::{confine::Prepared, hooks::ActiveHook};
use agents_system::{dirs::Dirs, env, finding::Finding, process::Bounds};
use tempfile::TempDir;

use super::answer::Work;

/// How long all handlers together may take. Hosts give us thirty seconds, and must hear from us before they give up.
const PATIENCE: Duration = Duration::from_secs(25);

/// A hook that applies here and was not run for this call.
#[derive(Debug)]
pub(crate) struct Skipped {
    pub(super) source: Source,
    /// Why, as a short clause.
    pub(super) because: String,
}

/// Which hooks are run.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    pub(crate) handlers: Vec<Handler>,
    skipped: Vec<Skipped>,
    pub(crate) findings: Vec<Finding>,
    /// Where confined handlers may write; there until all have answered.
    pub(crate) temporary: Vec<TempDir>,
}

/// The answer of everyone, and how it came to be.
pub(super) fn run(wire: Wire, raw: &[u8], work: Work) -> (Dispatched, Vec<Skipped>) {
    let Work { settings, input, hooks, ours, findings } = work;
    let installer =
        Installer::new(&settings.dirs.cache, &settings.cargo, Update::None, &settings.progress);
    let whole = patience();
    let chosen = choose(wire, &input, &hooks, &installer, &settings.dirs, whole);
    let handlers: Vec<Handler> = chosen
        .handlers
        .into_iter()
        .map(|handler| Handler { call: handler.call.cwd(settings.cwd.clone()), ..handler })
        .collect();
    let ours = ours.into_iter().map(|output| (ours_by_name(), output)).collect();
    let bounds = Bounds { whole, grace: Duration::from_millis(500), output: 8 * 1024 * 1024 };
    let mut dispatched = dispatch(wire, raw, &input, ours, &handlers, bounds);
    drop(chosen.temporary);
    let said = std::mem::take(&mut dispatched.findings);
    dispatched.findings = findings.into_iter().chain(chosen.findings).chain(said).collect();
    (dispatched, chosen.skipped)
}

/// The source of what we say ourselves.
pub(super) fn ours_by_name() -> Source {
    Source::new(OUR_NAME, "built-in")
}

/// Whether one of the hooks is for this event in this host, whatever its matcher says.
pub(super) fn is_wanted(hooks: &[ActiveHook], wire: Wire, event: Event) -> bool {
    hooks.iter().any(|active| is_for(active, wire, event))
}

fn is_for(active: &ActiveHook, wire: Wire, event: Event) -> bool {
    let hook = &active.hook;
    hook.event == event.name() && hook.host.as_deref().is_none_or(|host| host == wire.host())
}

fn patience() -> Duration {
    let wanted = env::HOOK_DEADLINE.text().and_then(|text| text.parse::<f64>().ok());
    let wanted = wanted.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    wanted.unwrap_or(PATIENCE).min(PATIENCE)
}

/// The hooks that are run for an event: those of hosts' calls, and those of our own agents.
pub(crate) fn choose(
    wire: Wire,
    input: &HookInput,
    hooks: &[ActiveHook],
    installer: &Installer<'_>,
    dirs: &Dirs,
    deadline: Duration,
) -> Chosen {
    let event = input.event();
    let mut chosen = Chosen::default();
    for active in hooks.iter().filter(|it| is_for(it, wire, event)) {
        let because = match matches(wire, active, input) {
            Ok(()) => match handler(active, installer, dirs) {
                Ok((format, Prepared { call, temporary })) => {
                    let call = call.deadline(deadline);
                    chosen.handlers.push(Handler { source: source(active), call, format });
                    chosen.temporary.extend(temporary);
                    continue;
                }
                Err(finding) => {
                    let because = finding.message.clone();
                    chosen.findings.push(*finding);
                    because
                }
            },
            Err(Unmatched::Otherwise(because)) => because,
            Err(Unmatched::Never(finding)) => {
                let because = finding.message.clone();
                chosen.findings.push(*finding);
                because
            }
        };
        chosen.skipped.push(Skipped { source: source(active), because });
    }
    chosen
}

/// Why a hook is not for this use of its event.
enum Unmatched {
    /// It is for others.
    Otherwise(String),
    /// It is for none, which is somebody's mistake.
    Never(Box<Finding>),
}

fn matches(wire: Wire, active: &ActiveHook, input: &HookInput) -> Result<(), Unmatched> {
    let text = active.hook.matcher.as_deref();
    match Matcher::parse(wire, input.event(), text) {
        Ok(matcher) if matcher.matches(input) => Ok(()),
        Ok(_) => {
            let because = format!("its matcher `{}` does not match", text.unwrap_or_default());
            Err(Unmatched::Otherwise(because))
        }
        Err(bad) => Err(Unmatched::Never(Box::new(bad.finding(&source(active).to_string())))),
    }
}

pub(super) fn source(active: &ActiveHook) -> Source {
    Source::new(active.plugin.as_str(), &active.hook.name)
}

fn handler(
    active: &ActiveHook,
    installer: &Installer<'_>,
    dirs: &Dirs,
) -> Result<(Format, Prepared), Box<Finding>> {
    let source = source(active);
    let format = Format::parse(&active.hook.format).ok_or_else(|| {
        Box::new(Finding::error(format!(
            "hook `{source}` speaks `{}`, which no host that calls hooks does",
            active.hook.format
        )))
    })?;
    let failed = |because: String| {
        Box::new(Finding::error(format!("hook `{source}` did not run: {because}")))
    };
    match active.runnable(installer) {
        Ok(Some(runnable)) => match active.call(&runnable, dirs) {
            Ok(prepared) => Ok((format, prepared)),
            Err(error) => Err(failed(error.to_string())),
        },
        Ok(None) => Err(Box::new(
            failed("its program is not installed".to_owned())
                .hint("`cargo agents sync` installs it"),
        )),
        Err(error) => Err(failed(error.to_string())),
    }
}
