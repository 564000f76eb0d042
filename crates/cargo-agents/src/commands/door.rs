//! What the doors of the program have in common: on which terms tasks run through them, and until when they are open.

#[cfg(feature = "script")]
pub(crate) mod interpreter;
pub(crate) mod offer;

use std::{
    pin::Pin,
    sync::{Arc, mpsc},
    time::Duration,
};

use agents_agent::definition::PermissionMode;
use agents_serve::Terms;
use agents_system::{env, explain::ErrorKind, finding::Finding, process};
use agents_task::{
    Refusal, Refused, TaskSettings,
    isolate::Carry,
    runner::Unavailable,
    secret::vault::Hear,
    telemetry::{self, Telemetry, TelemetrySettings},
    workplace::Settle,
};
use agents_tool::artifacts::ArtifactDir;
use camino::Utf8PathBuf;
use tokio_util::sync::CancellationToken;

use self::offer::Program;
use super::task::{self, place::Place, secrets::Secrets};
use crate::{args::Mode, failure::Failure, output::Output, settings::Settings};

/// How often Ctrl-C is looked for.
const TICK: Duration = Duration::from_millis(100);

/// What all tasks behind a door have in common with those of `task run`, wherever they work.
pub(super) struct Company {
    spans: Option<Arc<Telemetry>>,
    tell: mpsc::Sender<Finding>,
    told: mpsc::Receiver<Finding>,
}

impl Company {
    /// Looks where spans go. What there is to say about that, and later about tasks, is told to the user, whom no client stands for.
    pub(super) fn load(settings: &Settings, output: &Output) -> Result<Self, Failure> {
        let spans = TelemetrySettings::load(&settings.dirs)?;
        output.findings(&spans.findings);
        let (tell, told) = mpsc::channel();
        Ok(Self { spans: Telemetry::start(&spans), tell, told })
    }

    /// For those who open doors.
    pub(super) fn member(&self) -> Member {
        Member { spans: self.spans.clone(), tell: self.tell.clone() }
    }

    fn say(&self, output: &Output) {
        self.told.try_iter().for_each(|finding| output.findings([&finding]));
    }

    /// Keeps a door open behind which tasks run, and tells what there is to say about them.
    pub(super) fn attend<'a>(
        self,
        output: &Output,
        serve: impl FnOnce(CancellationToken) -> Serving<'a>,
    ) -> Result<(), Failure> {
        let served = stay(|| self.say(output), serve);
        self.end(output);
        served?;
        Failure::if_interrupted()
    }

    /// The door is closed.
    fn end(self, output: &Output) {
        self.say(output);
        let lost = self.spans.and_then(|it| it.finish(telemetry::PATIENCE));
        output.findings(lost.map(Finding::warning).as_ref());
    }
}

/// The share of one workspace in it.
#[derive(Clone)]
pub(super) struct Member {
    spans: Option<Arc<Telemetry>>,
    tell: mpsc::Sender<Finding>,
}

impl Member {
    fn hear(&self) -> Hear {
        let tell = self.tell.clone();
        // The user may have gone.
        Box::new(move |finding| drop(tell.send(finding)))
    }
}

/// What the user says about tasks when a door is opened.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub(super) mode: Option<Mode>,
    pub(super) allow: Vec<String>,
    /// The secrets that tasks get without asking.
    pub(super) secrets: Vec<String>,
    pub(super) concurrency: Option<u16>,
    /// Definitions that come before all others.
    pub(super) agents: Vec<Utf8PathBuf>,
}

/// The program where it stands, and on which terms its tasks run.
pub(super) struct Opened {
    pub(super) offer: Arc<Program>,
    pub(super) terms: Terms,
    pub(super) findings: Vec<Finding>,
}

/// Looks at everything that a door needs.
pub(super) fn open(settings: &Settings, said: &Said, company: &Member) -> Result<Opened, Failure> {
    let configured = TaskSettings::load(&settings.dirs)?;
    let secrets = Secrets::load(settings, &said.secrets)?;
    let isolated = (Carry::Committed, Settle::Apply);
    let (place, no_models) = Place::even_without_models(settings, &said.agents, isolated)?;
    place.heard().tell_at_once(company.hear());
    let findings = configured.findings.iter().chain(place.findings()).cloned().collect();
    let (highest, usual) = match said.mode {
        Some(mode) => (mode.into(), mode.into()),
        None => (PermissionMode::BypassPermissions, PermissionMode::Default),
    };
    let terms = Terms {
        highest,
        usual,
        closed: closed(no_models, configured.max_depth),
        allowed: task::grants(&said.allow),
        concurrency: said.concurrency.map_or(configured.concurrency, usize::from),
        approval: configured.approval,
        artifacts: Arc::new(ArtifactDir::new(&settings.dirs.state.join("artifacts"))),
        transcripts: task::transcripts(settings),
        secrets: secrets.behind_door(&configured, company.hear()),
        hooks: (configured.start_hooks.clone(), configured.stop_hooks.clone()),
        spans: company.spans.as_ref().map(|it| it.beside()),
        settings: configured.for_preflight(place.preferences()),
    };
    Ok(Opened { offer: Arc::new(Program::new(settings, place)), terms, findings })
}

/// Why no task can be started, if that is so. Everything else is there all the same.
fn closed(no_models: Option<Failure>, max_depth: Option<u32>) -> Option<Unavailable> {
    if let Some(max) = max_depth.filter(|max| env::depth() >= *max) {
        let refused = Refused { items: vec![(None, Refusal::Depth { max })], of: 1 };
        return Some(Unavailable::because(&refused));
    }
    no_models.map(|it| unavailable(it, "no task can run"))
}

/// A failure as whoever stands before the door is told it.
pub(super) fn unavailable(failure: Failure, about: &str) -> Unavailable {
    let finding = failure.into_finding(about);
    Unavailable { message: finding.message, hint: finding.hint }
}

/// Somebody at a door, until they have gone.
pub(super) type Serving<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + 'a>>;

/// Keeps a door open until nobody is there any more, or we are interrupted.
#[cfg(feature = "http")]
pub(super) fn attend<'a>(
    serve: impl FnOnce(CancellationToken) -> Serving<'a>,
) -> Result<(), Failure> {
    stay(|| (), serve)?;
    Failure::if_interrupted()
}

/// The same, with something to do now and then.
fn stay<'a>(
    meanwhile: impl Fn(),
    serve: impl FnOnce(CancellationToken) -> Serving<'a>,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        Failure::new(ErrorKind::Failure, format!("cannot start the runtime: {error}"))
    })?;
    process::listen_for_interrupts();
    let cancel = CancellationToken::new();
    let mut serving = serve(cancel.clone());
    let served = runtime.block_on(async {
        loop {
            tokio::select! {
                served = &mut serving => return served,
                () = tokio::time::sleep(TICK) => {
                    meanwhile();
                    if process::interrupted() {
                        cancel.cancel();
                    }
                }
            }
        }
    });
    // Whoever reads standard input cannot be told to stop, nor who writes what nobody reads.
    runtime.shutdown_timeout(Duration::from_millis(200));
    served
}
