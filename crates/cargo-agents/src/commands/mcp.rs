//! `cargo agents mcp`

#[cfg(feature = "http")]
mod over_http;

use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
    sync::Arc,
};

use agents_serve::{Terms, mcp};
use agents_system::explain::ErrorKind;
use tokio_util::sync::CancellationToken;

use super::door::{self, Company, Opened, offer::Program};
use crate::{args::McpArgs, failure::Failure, output::Output, settings::Settings};

/// Serves one client on standard input and output until it goes away, or all that have the token over HTTP.
pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    args: McpArgs,
) -> Result<ExitCode, Failure> {
    #[cfg(feature = "http")]
    let http = args.http;
    let said = door::Said {
        mode: args.mode,
        allow: args.allow,
        secrets: args.secrets,
        concurrency: args.concurrency,
        agents: args.named.agents,
    };
    let company = Company::load(settings, output)?;
    let Opened { offer, terms, findings } = door::open(settings, &said, &company.member())?;
    output.findings(&findings);
    #[cfg(feature = "http")]
    if let Some(port) = http {
        company.attend(output, |cancel| {
            Box::pin(over_http::serve(settings, output, port, offer, terms, cancel))
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    if io::stdin().is_terminal() {
        output.talk("waiting for an MCP client on standard input; `cargo agents mcp --help` says how to register it");
    }
    company.attend(output, |cancel| Box::pin(over_pipes(offer, terms, cancel)))?;
    Ok(ExitCode::SUCCESS)
}

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
