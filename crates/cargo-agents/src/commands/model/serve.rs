//! `cargo agents model serve --script FILE`

use std::{
    net::{Ipv4Addr, SocketAddr},
    process::ExitCode,
    time::Duration,
};

use agents_model::{
    endpoint::{Endpoint, Script},
    script::ScriptFile,
};
use agents_system::{
    explain::{Code, ErrorKind},
    process,
};
use camino::Utf8Path;
use serde::Serialize;

use crate::{failure::Failure, output::Output, settings::Settings};

/// `cargo agents model serve --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ModelServeDocument {
    /// Where it listens, without a slash at the end
    url: String,
    /// The model that it says it has; it answers for every other one, too
    model: String,
    /// What to set so that clients ask it
    environment: Vec<VariableView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct VariableView {
    name: &'static str,
    value: String,
}

/// Listens until Ctrl-C, which is how it ends well.
pub(super) fn run(
    settings: &Settings,
    output: &Output,
    script: &Utf8Path,
    port: u16,
) -> Result<ExitCode, Failure> {
    let file = ScriptFile::load(&settings.cwd.join(script))?;
    // Before anybody can know that it listens, and end it.
    process::listen_for_interrupts();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let endpoint = Endpoint::bind(address, Script::file(file)).map_err(|error| {
        Failure::new(ErrorKind::Usage, format!("cannot listen on {address}: {error}"))
            .code(Code::CannotListen)
    })?;
    let url = endpoint.url();
    let environment = [
        ("ANTHROPIC_BASE_URL", url.clone()),
        ("OPENAI_BASE_URL", format!("{url}/v1")),
        ("GOOGLE_GEMINI_BASE_URL", url.clone()),
    ];
    if output.is_json() {
        let environment =
            environment.into_iter().map(|(name, value)| VariableView { name, value }).collect();
        let model = endpoint.model().to_owned();
        output.document(&ModelServeDocument { url, model, environment })?;
    } else {
        output.line(format!("listening on {url}, until Ctrl-C"))?;
        for (name, value) in environment {
            output.line(format!("  {name}={value}"))?;
        }
    }
    output.reach()?;
    while !process::interrupted() {
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(endpoint);
    Ok(ExitCode::SUCCESS)
}
