//! Providers that are reached over HTTP.
//!
//! Everything that the wire formats do not decide: keys, permits, retries, deadlines, cancellation, and errors that say
//! what happened and not what the key is.

mod answer;
mod body;
pub(crate) mod mask;
mod models;
pub mod post;

use std::{
    fmt,
    net::IpAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use reqwest::{
    Client, Response, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

#[doc(hidden)]
pub use self::models::read_models;
use self::{answer::Connection, body::Sending};
use crate::{
    answer::Asking,
    error::{ModelError, Problem},
    provider::{EventStream, ModelInfo, Provider},
    request::Request,
    retry::{RetryPolicy, parse_retry_after},
    sse,
    wire::{
        Body, Dialect, Wire,
        said::{self, Said},
    },
};

/// How many requests a provider gets at a time, if nothing else is said.
const DEFAULT_PERMITS: usize = 16;
/// The longest error that is read.
const MAX_ERROR: usize = 64 * 1024;
const CONNECT: Duration = Duration::from_secs(30);

/// A provider that is reached over HTTP.
pub struct HttpProvider {
    name: String,
    wire: Wire,
    dialect: Dialect,
    url: Url,
    headers: HeaderMap,
    secrets: Vec<SecretString>,
    permits: Arc<Semaphore>,
    retry: RetryPolicy,
    event_limit: usize,
    /// Made when it is needed: it reads the certificates of the system.
    client: OnceLock<Client>,
}

impl HttpProvider {
    /// A provider of that name behind a base address, as the customary variables have it: `https://api.anthropic.com`,
    /// `https://api.openai.com/v1`, `https://generativelanguage.googleapis.com`.
    ///
    /// # Errors
    /// The address is none.
    pub fn new(name: &str, wire: Wire, url: &str) -> Result<Self, ModelError> {
        let wrong = |what: &str| Problem::Settings { what: what.to_owned() }.at(name);
        let url = Url::parse(url).map_err(|_| wrong("the address is not a URL"))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(wrong("the address does not begin with `http://` or `https://`"));
        }
        let mut headers = HeaderMap::new();
        if wire == Wire::Messages {
            headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        }
        let mut secrets: Vec<SecretString> = url.password().into_iter().map(Into::into).collect();
        secrets.extend(url.query_pairs().map(|(_, value)| SecretString::from(value.into_owned())));
        Ok(Self {
            name: name.to_owned(),
            wire,
            dialect: Dialect::Official,
            url,
            headers,
            secrets,
            permits: Arc::new(Semaphore::new(DEFAULT_PERMITS)),
            retry: RetryPolicy::default(),
            event_limit: sse::DEFAULT_LIMIT,
            client: OnceLock::new(),
        })
    }

    /// With this key, in the header that the wire format has for it.
    ///
    /// # Errors
    /// The key has characters that no header can have.
    pub fn with_key(self, key: &SecretString) -> Result<Self, ModelError> {
        match self.wire {
            Wire::Messages => self.with_header("x-api-key", key),
            Wire::Gemini => self.with_header("x-goog-api-key", key),
            Wire::Chat | Wire::Responses => self.with_bearer(key),
        }
    }

    /// With this key in the `Authorization` header.
    ///
    /// # Errors
    /// The key has characters that no header can have.
    pub fn with_bearer(mut self, key: &SecretString) -> Result<Self, ModelError> {
        self.secrets.push(key.clone());
        let value = SecretString::from(format!("Bearer {}", key.expose_secret()));
        self.with_header("authorization", &value)
    }

    /// With this header. Its value is treated as a secret: some are.
    ///
    /// # Errors
    /// The name or the value is not one of a header.
    pub fn with_header(mut self, name: &str, value: &SecretString) -> Result<Self, ModelError> {
        let wrong = |what: String| Problem::Settings { what }.at(&self.name);
        let header = HeaderName::try_from(name)
            .map_err(|_| wrong(format!("`{name}` is not the name of a header")))?;
        let mut encoded = HeaderValue::from_str(value.expose_secret()).map_err(|_| {
            wrong(format!("the value of `{name}` has characters that a header cannot have"))
        })?;
        encoded.set_sensitive(true);
        self.headers.insert(header, encoded);
        self.secrets.push(value.clone());
        Ok(self)
    }

    /// Whose server it is.
    #[must_use]
    pub fn with_dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// With so many requests at a time, the others wait. A request counts until its stream is at its end or dropped.
    #[must_use]
    pub fn with_max_requests(mut self, count: usize) -> Self {
        self.permits = Arc::new(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS)));
        self
    }

    /// Asks again like this.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Keeps at most so many bytes of a single event.
    #[must_use]
    pub fn with_event_limit(mut self, bytes: usize) -> Self {
        self.event_limit = bytes;
        self
    }

    fn client(&self) -> Result<&Client, Problem> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client =
            client(&self.url).map_err(|error| network("setting up the connection", error))?;
        Ok(self.client.get_or_init(|| client))
    }

    /// The address of what is below the base address, whether or not the version is part of that.
    fn address(&self, version: &str, rest: &str) -> Url {
        let mut url = self.url.clone();
        let base = url.path().trim_end_matches('/');
        let last = base.rsplit('/').next().unwrap_or_default();
        let is_version = |it: &str| {
            it.strip_prefix('v').is_some_and(|it| it.starts_with(|it: char| it.is_ascii_digit()))
        };
        let version = if version.is_empty() || is_version(last) {
            String::new()
        } else {
            format!("/{version}")
        };
        let path = format!("{base}{version}/{rest}");
        url.set_path(&path);
        url
    }

    fn address_of(&self, request: &Request) -> Url {
        match self.wire {
            Wire::Messages => self.address("v1", "messages"),
            Wire::Chat => self.address("", "chat/completions"),
            Wire::Responses => self.address("", "responses"),
            Wire::Gemini => {
                let model = request.model.trim_start_matches("models/");
                let rest = format!("models/{model}:streamGenerateContent");
                let mut url = self.address("v1beta", &rest);
                url.query_pairs_mut().append_pair("alt", "sse");
                url
            }
        }
    }

    /// Sends it once.
    async fn send(&self, request: &Request, body: &Body) -> Result<Connection, Problem> {
        let sending = self.client()?.post(self.address_of(request));
        let sending = sending
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(reqwest::Body::wrap(Sending::new(body)));
        let response =
            sending.send().await.map_err(|error| network("sending the request", error))?;
        let response = self.accepted(response, &request.model).await?;
        let kind = response.headers().get(CONTENT_TYPE).map(|it| it.as_bytes().to_vec());
        if let Some(kind) = kind.filter(|it| !it.starts_with(b"text/event-stream")) {
            return Err(unexpected(response, &kind).await);
        }
        Ok(Connection::new(response, self.wire, self.event_limit))
    }

    /// An answer that is not an error.
    async fn accepted(&self, response: Response, model: &str) -> Result<Response, Problem> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status.is_redirection() {
            return Err(Problem::Settings {
                what: format!("the address redirects to another one (status {})", status.as_u16()),
            });
        }
        let headers = response.headers();
        let milliseconds =
            headers.get("retry-after-ms").and_then(|it| it.to_str().ok()?.parse().ok());
        let seconds = headers.get(RETRY_AFTER).and_then(|it| it.to_str().ok());
        let retry_after = milliseconds
            .map(Duration::from_millis)
            .or_else(|| parse_retry_after(seconds?, Timestamp::now()));
        let said = Said::body(&beginning(response).await);
        Err(said::classify(status.as_u16(), said, retry_after, model))
    }

    fn error(&self, problem: Problem) -> ModelError {
        masked(problem, &self.secrets).at(&self.name)
    }
}

impl Provider for HttpProvider {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<EventStream, ModelError>> {
        Box::pin(async move {
            let (secrets, name) = (self.secrets.clone(), self.name.clone());
            let asking = Asking {
                deadlines: request.deadlines,
                cancel,
                permits: Arc::clone(&self.permits),
                retry: self.retry,
                at: move |problem| masked(problem, &secrets).at(&name),
            };
            let body = self.wire.encode(&request, self.dialect);
            asking.ask(|| self.send(&request, &body)).await
        })
    }

    fn models(
        &self,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Vec<ModelInfo>, ModelError>> {
        Box::pin(async move { self.list(cancel).await.map_err(|it| self.error(it)) })
    }
}

impl fmt::Debug for HttpProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpProvider")
            .field("name", &self.name)
            .field("wire", &self.wire)
            // Without what may stand before the host and after the path.
            .field("host", &self.url.host_str())
            .field("path", &self.url.path())
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

/// A client for this address. It follows nobody to another one: a key is not for somebody else.
fn client(url: &Url) -> Result<Client, reqwest::Error> {
    // Fails when somebody else was first, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("cargo-agents/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT)
        .tcp_nodelay(true);
    if is_local(url) {
        // Nothing of what this machine says to itself needs certificates or a proxy.
        let roots = rustls::RootCertStore::empty();
        let tls = rustls::ClientConfig::builder().with_root_certificates(roots);
        builder = builder.no_proxy().tls_backend_preconfigured(tls.with_no_client_auth());
    }
    builder.build()
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback = host.parse::<IpAddr>().is_ok_and(|it| it.is_loopback());
    url.scheme() == "http" && (host == "localhost" || is_loopback)
}

fn masked(problem: Problem, secrets: &[SecretString]) -> Problem {
    problem.map_texts(|text| mask::mask(text, secrets))
}

fn network(doing: &'static str, error: reqwest::Error) -> Problem {
    // The address may hold what is nobody's business.
    Problem::Network { doing, source: Box::new(error.without_url()) }
}

/// What an answer with this status and body means.
#[doc(hidden)]
#[must_use]
pub fn read_error(status: u16, body: &[u8], model: &str) -> Problem {
    said::classify(status, Said::body(body), None, model)
}

/// As much of an error as is worth reading.
async fn beginning(mut response: Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        bytes.extend_from_slice(&chunk[..chunk.len().min(MAX_ERROR - bytes.len())]);
        if bytes.len() == MAX_ERROR {
            break;
        }
    }
    bytes
}

/// Something that is not a stream, although nothing is wrong with its status. It may say what is.
async fn unexpected(response: Response, kind: &[u8]) -> Problem {
    let said = Said::body(&beginning(response).await);
    if !said.words.is_empty() && !said.message.is_empty() {
        return said::in_stream(said);
    }
    let kind = said::bounded(&String::from_utf8_lossy(kind));
    Problem::Protocol {
        what: format!("`{kind}` came in place of a stream of events"),
        place: "the answer".to_owned(),
    }
}

#[cfg(test)]
mod tests;
