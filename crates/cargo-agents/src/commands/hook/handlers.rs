//! Running what plugins have for an event.

use std::time::Duration;

use agents_hook::{Answer, Handler, Matcher, Source, Wire, dispatch, wire::Format};
use agents_host::hooks::OUR_NAME;
use agents_install::{Installer, Update};
use agents_plugin::hooks::ActiveHook;
use agents_system::{finding::Finding, process::Bounds};

use super::answer::Work;

/// How long all handlers together may take. Hosts give us thirty seconds, and must hear from us before they give up.
const PATIENCE: Duration = Duration::from_secs(25);
const BOUNDS: Bounds =
    Bounds { whole: PATIENCE, grace: Duration::from_millis(500), output: 8 * 1024 * 1024 };

/// The answer of everyone, and what there is to say about it.
pub(super) fn run(wire: Wire, raw: &[u8], work: Work) -> (Answer, Vec<Finding>) {
    let Work { settings, input, hooks, ours, mut findings } = work;
    let installer =
        Installer::new(&settings.dirs.cache, &settings.cargo, Update::None, &settings.progress);
    let event = input.event();
    let mut handlers = Vec::new();
    for active in hooks.iter().filter(|it| it.hook.event == event.name()) {
        if active.hook.host.as_deref().is_some_and(|host| host != wire.host()) {
            continue;
        }
        match Matcher::parse(wire, event, active.hook.matcher.as_deref()) {
            Ok(matcher) if !matcher.matches(&input) => continue,
            Ok(_) => {}
            Err(bad) => {
                findings.push(bad.finding(&source(active).to_string()));
                continue;
            }
        }
        match handler(active, &installer) {
            Ok(handler) => {
                let call = handler.call.cwd(settings.cwd.clone());
                handlers.push(Handler { call, ..handler });
            }
            Err(finding) => findings.push(*finding),
        }
    }
    let ours = ours.into_iter().map(|output| (Source::new(OUR_NAME, "built-in"), output)).collect();
    let dispatched = dispatch(wire, raw, &input, ours, &handlers, BOUNDS);
    findings.extend(dispatched.findings);
    (dispatched.answer, findings)
}

fn source(active: &ActiveHook) -> Source {
    Source::new(active.plugin.as_str(), &active.hook.name)
}

fn handler(active: &ActiveHook, installer: &Installer<'_>) -> Result<Handler, Box<Finding>> {
    let source = source(active);
    let format = Format::parse(&active.hook.format).ok_or_else(|| {
        Box::new(Finding::error(format!(
            "hook `{source}` speaks `{}`, which no host that calls hooks does",
            active.hook.format
        )))
    })?;
    match active.runnable(installer) {
        Ok(Some(runnable)) => {
            Ok(Handler { source, call: runnable.call().deadline(PATIENCE), format })
        }
        Ok(None) => Err(Box::new(
            Finding::error(format!("hook `{source}` did not run: its program is not installed"))
                .hint("`cargo agents sync` installs it"),
        )),
        Err(error) => {
            Err(Box::new(Finding::error(format!("hook `{source}` did not run: {error}"))))
        }
    }
}
