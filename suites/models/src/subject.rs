//! Who is asked.

use hosts_suite::client::{self, Client};

/// Somebody who answers as a model.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) way: Way,
}

/// In which way it is asked.
pub(crate) enum Way {
    /// As a host, run without a terminal.
    Host(Box<dyn Client>),
    /// As an ACP agent, with these arguments.
    Acp(Box<dyn Client>, &'static [&'static str]),
    /// As a server that has a model of its own.
    Server,
}

impl Subject {
    pub(crate) fn client(&self) -> Option<&dyn Client> {
        match &self.way {
            Way::Host(client) | Way::Acp(client, _) => Some(client.as_ref()),
            Way::Server => None,
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self.way {
            Way::Host(_) => "host",
            Way::Acp(..) => "acp",
            Way::Server => "openai-compatible",
        }
    }
}

/// The clients that speak ACP by themselves, with what makes them do so.
const ACP: [(&str, &[&str]); 4] =
    [("gemini", &["--acp"]), ("opencode", &["acp"]), ("goose", &["acp"]), ("qwen", &["--acp"])];

/// All that the suite knows.
pub(crate) fn all() -> Vec<Subject> {
    let server = Subject { name: "llama".to_owned(), way: Way::Server };
    let hosts = client::all()
        .into_iter()
        .map(|client| Subject { name: client.host().to_owned(), way: Way::Host(client) });
    let agents = client::all().into_iter().filter_map(|client| {
        let (host, args) = ACP.into_iter().find(|(host, _)| *host == client.host())?;
        Some(Subject { name: format!("{host}-acp"), way: Way::Acp(client, args) })
    });
    std::iter::once(server).chain(hosts).chain(agents).collect()
}
