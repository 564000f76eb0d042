//! Providers that nobody configured: customary variables, and hosts that are installed.

use agents_host::{Host, host::Headless};
use agents_system::{
    env::{self, Variable},
    explain::{Code, ErrorKind, Explain},
    process,
};
use camino::{Utf8Path, Utf8PathBuf};

use super::{Kind, Origin, ProviderSettings, ollama_url};
use crate::keys::KeySource;

/// What is found where the program runs.
#[derive(Debug, Clone, Default)]
pub struct Around {
    /// Customary variables that are set, with their values; of keys only that they are.
    pub variables: Vec<(Variable, String)>,
    /// Hosts that can be run without a terminal.
    pub hosts: Vec<InstalledHost>,
}

/// A host that can be run without a terminal.
#[derive(Debug, Clone)]
pub struct InstalledHost {
    /// Its id.
    pub id: String,
    /// Its program.
    pub program: Utf8PathBuf,
    /// How it is run.
    pub headless: Headless,
}

const KEYS: [Variable; 3] = [env::ANTHROPIC_API_KEY, env::OPENAI_API_KEY, env::GEMINI_API_KEY];
const ADDRESSES: [Variable; 4] =
    [env::ANTHROPIC_BASE_URL, env::OPENAI_BASE_URL, env::GOOGLE_GEMINI_BASE_URL, env::OLLAMA_HOST];

impl Around {
    /// Looks around. Only programs that can be found are started later; nothing is started now.
    #[must_use]
    pub fn look(hosts: &[Host]) -> Self {
        let keys = KEYS.into_iter().filter(|it| it.get().is_some()).map(|it| (it, String::new()));
        let addresses = ADDRESSES.into_iter().filter_map(|it| Some((it, it.text()?)));
        let hosts = hosts.iter().filter_map(|host| {
            let program = host.detect.programs.iter().find_map(process::find_program)?;
            let headless = host.headless.clone()?;
            Some(InstalledHost { id: host.id.to_string(), program, headless })
        });
        Self { variables: keys.chain(addresses).collect(), hosts: hosts.collect() }
    }

    fn value(&self, variable: Variable) -> Option<&str> {
        let found = self.variables.iter().find(|(it, _)| *it == variable);
        found.map(|(_, value)| value.as_str())
    }

    /// The customary provider of a kind, as far as its variables are set.
    fn customary(
        &self,
        name: &str,
        kind: Kind,
        key: Variable,
        address: Variable,
    ) -> Option<ProviderSettings> {
        let (has_key, url) = (self.value(key).is_some(), self.value(address));
        let origin = match (has_key, url) {
            (true, _) => key.name,
            (false, Some(_)) => address.name,
            (false, None) => return None,
        };
        let mut settings = ProviderSettings::new(name, kind, Origin::Env(origin));
        if let Some(url) = url {
            settings.url = Some(url.trim_end_matches('/').to_owned());
        }
        settings.keys = vec![KeySource::Env(key.name.to_owned())];
        Some(settings)
    }

    fn providers(&self) -> Vec<ProviderSettings> {
        // Elsewhere than at the vendor's, chat completions are what is understood.
        let openai = match self.value(env::OPENAI_BASE_URL) {
            Some(_) => Kind::Openai,
            None => Kind::OpenaiResponses,
        };
        let ollama = self.value(env::OLLAMA_HOST).map(|host| ProviderSettings {
            url: Some(ollama_url(host)),
            ..ProviderSettings::new(
                "ollama",
                Kind::OpenaiCompatible,
                Origin::Env(env::OLLAMA_HOST.name),
            )
        });
        let customary = [
            self.customary(
                "anthropic",
                Kind::Anthropic,
                env::ANTHROPIC_API_KEY,
                env::ANTHROPIC_BASE_URL,
            ),
            self.customary("openai", openai, env::OPENAI_API_KEY, env::OPENAI_BASE_URL),
            self.customary(
                "gemini",
                Kind::Gemini,
                env::GEMINI_API_KEY,
                env::GOOGLE_GEMINI_BASE_URL,
            ),
            ollama,
        ];
        let hosts = self.hosts.iter().map(|host| ProviderSettings {
            host: Some(host.id.clone()),
            models: host.headless.models.clone(),
            ..ProviderSettings::new(
                host_name(&host.id),
                Kind::Host,
                Origin::Installed(host.program.clone()),
            )
        });
        customary.into_iter().flatten().chain(hosts).collect()
    }
}

/// A host whose name is that of an HTTP provider, too, is told from it.
fn host_name(id: &str) -> String {
    if id == "gemini" { "gemini-cli".to_owned() } else { id.to_owned() }
}

/// All providers: those that are configured, then those that are found. A name that is configured is taken.
pub fn all_providers(
    configured: &[ProviderSettings],
    around: &Around,
    file: &Utf8Path,
) -> Result<Vec<ProviderSettings>, NoProvider> {
    let mut all = configured.to_vec();
    for provider in &mut all {
        complete(provider, around);
    }
    for found in around.providers() {
        if !all.iter().any(|it| it.name == found.name) {
            all.push(found);
        }
    }
    if all.is_empty() {
        return Err(NoProvider { file: file.to_owned() });
    }
    Ok(all)
}

/// A configured provider at its usual place follows the customary variable for that place, too: its key does.
fn complete(provider: &mut ProviderSettings, around: &Around) {
    if provider.kind == Kind::Host {
        let id = provider.host.clone().unwrap_or_else(|| provider.name.clone());
        if let Some(host) = around.hosts.iter().find(|it| it.id == id) {
            if provider.models.is_empty() {
                provider.models.clone_from(&host.headless.models);
            }
            if provider.command.is_empty() {
                provider.command = vec![host.program.to_string()];
            }
        }
        provider.host = Some(id);
        return;
    }
    let address = match provider.kind {
        Kind::Anthropic => env::ANTHROPIC_BASE_URL,
        Kind::Openai | Kind::OpenaiResponses => env::OPENAI_BASE_URL,
        Kind::Gemini => env::GOOGLE_GEMINI_BASE_URL,
        _ => return,
    };
    if provider.url.as_deref() == provider.kind.usual_url()
        && let Some(url) = around.value(address)
    {
        provider.url = Some(url.trim_end_matches('/').to_owned());
    }
}

/// There is nobody to ask.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no provider to ask: no key, no address, no installed host")]
pub struct NoProvider {
    file: Utf8PathBuf,
}

impl Explain for NoProvider {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Usage
    }

    fn code(&self) -> Option<Code> {
        Some(Code::NoProvider)
    }

    fn hint(&self) -> Option<String> {
        Some(format!(
            "`export {}=…` is enough; or install a coding agent such as `claude` or `codex`, which is then asked with its own login",
            env::ANTHROPIC_API_KEY.name
        ))
    }

    fn details(&self) -> Option<String> {
        let names = |all: &[Variable]| all.iter().map(|it| it.name).collect::<Vec<_>>().join(", ");
        Some(format!(
            "looked for:\n  variables   {}\n              {}\n  providers   [providers.NAME] in {}\n  hosts       programs that can be run without a terminal on `PATH`: claude, codex, gemini, opencode, copilot, qwen, goose",
            names(&KEYS),
            names(&ADDRESSES),
            self.file
        ))
    }
}
