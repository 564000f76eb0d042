//! `cargo agents mcp`

#[cfg(feature = "script")]
pub(crate) mod interpreter;
pub(crate) mod offer;
#[cfg(feature = "http")]
mod over_http;

use std::{
    io::{self, IsTerminal as _},
    pin::Pin,
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use agents_agent::definition::PermissionMode;
use agents_serve::{Terms, mcp};
use agents_system::{env, explain::ErrorKind, process};
use agents_task::{
    Refusal, Refused, TaskSettings, isolate::Carry, runner::Unavailable, workplace::Settle,
};
use agents_tool::artifacts::ArtifactDir;
use tokio_util::sync::CancellationToken;

use self::offer::Program;
use super::task::{self, place::Place};
use crate::{args::McpArgs, failure::Failure, output::Output, settings::Settings};

/// How often Ctrl-C is looked for.
const TICK: Duration = Duration::from_millis(100);

/// Serves one client on standard input and output until it goes away, or all that have the token over HTTP.
pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    args: &McpArgs,
) -> Result<ExitCode, Failure> {
    let said = TaskSettings::load(&settings.dirs)?;
    let isolated = (Carry::Committed, Settle::Apply);
    let (place, no_models) = Place::even_without_models(settings, &args.named.agents, isolated)?;
    output.findings(said.findings.iter().chain(place.findings()));
    #[cfg(feature = "http")]
    let http = args.http;
    #[cfg(not(feature = "http"))]
    let http: Option<u16> = None;
    if http.is_none() && io::stdin().is_terminal() {
        output.talk("waiting for an MCP client on standard input; `cargo agents mcp --help` says how to register it");
    }
    let (highest, usual) = match args.mode {
        Some(mode) => (mode.into(), mode.into()),
        None => (PermissionMode::BypassPermissions, PermissionMode::Default),
    };
    let terms = Terms {
        highest,
        usual,
        closed: closed(no_models, said.max_depth),
        allowed: task::grants(&args.allow),
        concurrency: args.concurrency.map_or(said.concurrency, usize::from),
        approval: said.approval,
        artifacts: Arc::new(ArtifactDir::new(&settings.dirs.state.join("artifacts"))),
        transcripts: task::transcripts(settings),
        settings: said.for_preflight(place.preferences()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        Failure::new(ErrorKind::Failure, format!("cannot start the runtime: {error}"))
    })?;
    process::listen_for_interrupts();
    let offer = Arc::new(Program::new(settings, place));
    let cancel = CancellationToken::new();
    #[cfg(feature = "http")]
    let serving: Serving<'_> = match http {
        Some(port) => {
            Box::pin(over_http::serve(settings, output, port, offer, terms, cancel.clone()))
        }
        None => Box::pin(over_pipes(offer, terms, cancel.clone())),
    };
    #[cfg(not(feature = "http"))]
    let serving: Serving<'_> = Box::pin(over_pipes(offer, terms, cancel.clone()));
    let served = runtime.block_on(until_interrupted(serving, cancel));
    // Whoever reads standard input cannot be told to stop.
    runtime.shutdown_timeout(Duration::from_millis(200));
    served?;
    Failure::if_interrupted()?;
    Ok(ExitCode::SUCCESS)
}

type Serving<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + 'a>>;

async fn until_interrupted(
    mut serving: Serving<'_>,
    cancel: CancellationToken,
) -> Result<(), Failure> {
    loop {
        tokio::select! {
            served = &mut serving => return served,
            () = tokio::time::sleep(TICK) => {
                if process::interrupted() {
                    cancel.cancel();
                }
            }
        }
    }
}

/// Serves the client on standard input and output until it goes away.
async fn over_pipes(
    offer: Arc<Program>,
    terms: Terms,
    cancel: CancellationToken,
) -> Result<(), Failure> {
    let streams = (tokio::io::stdin(), tokio::io::stdout());
    let served = mcp::serve(offer, terms, streams, cancel).await;
    served.map_err(|error| {
        Failure::new(ErrorKind::Usage, error.to_string())
            .hint("`cargo agents mcp --help` says how to register it with a coding agent")
    })
}

/// Why no task can be started, if that is so. Everything else is there all the same.
fn closed(no_models: Option<Failure>, max_depth: Option<u32>) -> Option<Unavailable> {
    if let Some(max) = max_depth.filter(|max| env::depth() >= *max) {
        let refused = Refused { items: vec![(None, Refusal::Depth { max })], of: 1 };
        return Some(Unavailable::because(&refused));
    }
    let finding = no_models?.into_finding("no task can run");
    Some(Unavailable { message: finding.message, hint: finding.hint })
}
