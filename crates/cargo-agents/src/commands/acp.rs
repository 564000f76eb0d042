//! `cargo agents acp`

use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
    sync::Arc,
};

use agents_serve::{
    Terms, acp,
    offer::Offer,
    sessions::{Grounds, With},
};
use agents_system::{dirs::Dirs, explain::ErrorKind};
use agents_task::runner::Unavailable;
use camino::{Utf8Path, Utf8PathBuf};
use tokio_util::sync::CancellationToken;

use super::door::{self, Company, Member, Said};
use crate::{
    args::{AcpArgs, Flags},
    failure::Failure,
    output::Output,
    settings::Settings,
};

/// The agent that sessions are with unless somebody chooses one.
const USUAL: &str = "general-purpose";

/// Serves the editor on standard input and output until it goes away.
pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    args: AcpArgs,
) -> Result<ExitCode, Failure> {
    if io::stdin().is_terminal() {
        output.talk("waiting for an editor that speaks ACP on standard input; `cargo agents acp --help` says how to register it");
    }
    let company = Company::load(settings, output)?;
    let grounds = Arc::new(Anywhere {
        flags: Flags { quiet: true, ..settings.without_update().flags },
        dirs: settings.dirs.clone(),
        agent: args.agent,
        said: Said {
            mode: args.mode,
            allow: args.allow,
            secrets: args.secrets,
            concurrency: None,
            agents: args.named.agents,
        },
        company: company.member(),
    });
    company.attend(output, |cancel| Box::pin(serve(grounds, cancel)))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(grounds: Arc<Anywhere>, cancel: CancellationToken) -> Result<(), Failure> {
    let streams = (tokio::io::stdin(), tokio::io::stdout());
    let served = acp::serve(grounds, streams, cancel).await;
    served.map_err(|error| {
        Failure::new(ErrorKind::Usage, error.to_string())
            .hint("`cargo agents acp --help` says how to register it with an editor")
    })
}

/// The program in whichever directory a session takes place.
struct Anywhere {
    flags: Flags,
    dirs: Dirs,
    agent: Option<String>,
    said: Said,
    company: Member,
}

impl Grounds for Anywhere {
    fn open(&self, cwd: &Utf8Path) -> Result<(Arc<dyn Offer>, Terms), Unavailable> {
        let settings = Settings::with_dirs(&self.flags, self.dirs.clone(), cwd.to_owned());
        let opened = door::open(&settings, &self.said, &self.company);
        let opened = opened.map_err(|it| door::unavailable(it, "the session cannot begin"))?;
        Ok((opened.offer, opened.terms))
    }

    fn kept(&self) -> Utf8PathBuf {
        self.dirs.state.join("sessions")
    }

    fn agent(&self) -> With {
        let usual = || With::Usual(USUAL.to_owned());
        self.agent.clone().map_or_else(usual, With::Chosen)
    }
}
