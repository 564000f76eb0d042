//! `cargo agents dashboard`

mod plans;
mod sight;
mod tasks;

use std::{
    io::{self, Write as _},
    process::ExitCode,
    sync::Arc,
};

use agents_serve::{
    dashboard,
    http::{Token, listen},
};
use agents_system::{
    explain::{Code, ErrorKind},
    process::Call,
};
use serde::Serialize;
use tempfile::NamedTempFile;
use tokio_util::sync::CancellationToken;

use self::sight::Program;
use super::door;
use crate::{args::DashboardArgs, failure::Failure, output::Output, settings::Settings};

/// `cargo agents dashboard --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DashboardDocument {
    /// Where the page is. Whoever knows it can do there what you can
    address: String,
}

/// Says where the page is, and serves it until it is interrupted.
pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    args: &DashboardArgs,
) -> Result<ExitCode, Failure> {
    let sight = Arc::new(Program::new(settings));
    door::attend(|cancel| Box::pin(serve(sight, output, args, cancel)))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(
    sight: Arc<Program>,
    output: &Output,
    args: &DashboardArgs,
    cancel: CancellationToken,
) -> Result<(), Failure> {
    let DashboardArgs { port, open } = args;
    let taken = |error: io::Error| {
        Failure::new(ErrorKind::Failure, format!("cannot listen at port {port}: {error}"))
            .code(Code::CannotListen)
            .hint("without `--port` it takes one that is free")
    };
    let token = Token::random().map_err(|error| {
        Failure::new(ErrorKind::Failure, format!("cannot make a token: {error}"))
    })?;
    let listener = listen(*port).await.map_err(taken)?;
    let address = dashboard::address(listener.local_addr().map_err(taken)?.port(), &token);
    if output.is_json() {
        output.document(&DashboardDocument { address: address.clone() })?;
    } else {
        output.line(&address)?;
    }
    output.reach()?;
    // It is gone with us.
    let _way = if *open { Some(browse(&address)?) } else { None };
    let served = dashboard::serve(sight, listener, token, cancel).await;
    served.map_err(|error| Failure::new(ErrorKind::Failure, format!("cannot listen: {error}")))
}

/// Opens an address with what the user's desktop has for that. Everybody on this machine can read the arguments of a program, so it
/// is given a file that only the user can read, which leads there; it is removed with what is handed back.
fn browse(address: &str) -> Result<NamedTempFile, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(ErrorKind::Failure, format!("no browser can be opened: {error}"))
            .hint("open the address yourself, without `--open`")
    };
    let way = write_way(address).map_err(|error| failed(&error))?;
    let call = if cfg!(target_os = "macos") {
        Call::new("open")
    } else if cfg!(windows) {
        Call::new("rundll32").arg("url.dll,FileProtocolHandler")
    } else {
        Call::new("xdg-open")
    };
    call.arg(way.path()).detach().map_err(|error| failed(&error))?;
    Ok(way)
}

/// A page that leads to an address, complete before anybody knows of it, and for nobody but its owner.
fn write_way(address: &str) -> io::Result<NamedTempFile> {
    let mut way = tempfile::Builder::new().prefix("cargo-agents-").suffix(".html").tempfile()?;
    write!(
        way,
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n<title>cargo agents</title>\n\
         <p><a href=\"{address}\">Open the dashboard</a></p>\n"
    )?;
    way.flush()?;
    Ok(way)
}
