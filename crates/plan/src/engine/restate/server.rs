//! Restate's own addresses: the ingress, where things are given in and fetched, and the administration.

use std::time::Duration;

use agents_system::explain::{Code, ErrorKind, Explain};
use reqwest::{Client, Method, Response, Url};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::wire::Key;

/// How long an answer may take that nobody has to work for.
const SOON: Duration = Duration::from_secs(30);
/// How long a connection may stay silent while something is waited for. The server ends it earlier or later, and it is asked again.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// How much of a refusal is read, and how many characters of it are told.
const MAX_REFUSAL: usize = 64 * 1024;
const MAX_SAID: usize = 500;

/// Why the server did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// An address is none.
    #[error("`{0}` is not an address that begins with `http://` or `https://`")]
    Address(String),
    /// It cannot be reached, or went away.
    #[error("restate cannot be reached at `{url}`")]
    Unreachable {
        /// Where.
        url: String,
        /// Why.
        source: Box<reqwest::Error>,
    },
    /// It says no.
    #[error("restate refused: {said} ({status})")]
    Refused {
        /// The status of HTTP.
        status: u16,
        /// What it said.
        said: String,
    },
    /// It says something else than it should.
    #[error("restate answered something unexpected: {0}")]
    Answer(String),
}

impl ServerError {
    /// Whether it may work a little later.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => matches!(status, 408 | 425 | 429 | 500..=599),
            Self::Address(_) | Self::Answer(_) => false,
        }
    }
}

impl Explain for ServerError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Address(_) => ErrorKind::Usage,
            _ => ErrorKind::Network,
        }
    }

    fn code(&self) -> Option<Code> {
        Some(Code::Engine)
    }

    fn hint(&self) -> Option<String> {
        matches!(self, Self::Unreachable { .. }).then(|| {
            "is the server running? `[engine.restate]` in the configuration says where".to_owned()
        })
    }
}

/// Something that was given in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(transparent)]
pub struct InvocationId(String);

impl InvocationId {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Where an invocation stands.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Standing {
    /// Which.
    pub id: InvocationId,
    /// The lane's service.
    pub target_service_name: String,
    /// As Restate says it: `running`, `backing-off`, `paused`, `suspended`, `completed`, ...
    pub status: String,
    /// The deployment that has begun with it.
    #[serde(default)]
    pub pinned_deployment_id: Option<String>,
}

/// A service with the deployment that new calls of it go to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// That deployment.
    pub deployment_id: String,
    /// What it says about itself.
    #[serde(default)]
    pub metadata: std::collections::BTreeMap<String, String>,
}

/// An address that services are served at.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Deployment {
    /// Its name.
    pub id: String,
    /// The address.
    #[serde(default)]
    pub uri: String,
}

/// That it has taken something.
#[derive(Debug, Deserialize)]
struct Sent {
    #[serde(rename = "invocationId")]
    invocation_id: InvocationId,
}

#[derive(Debug, Deserialize)]
struct Rows<T> {
    rows: Vec<T>,
}

#[derive(Debug, Deserialize)]
struct Services {
    services: Vec<Service>,
}

#[derive(Debug, Deserialize)]
struct Deployments {
    deployments: Vec<Deployment>,
}

/// A Restate server, or the cluster behind it.
#[derive(Debug, Clone)]
pub struct Server {
    ingress: Url,
    admin: Url,
    client: Client,
}

impl Server {
    /// At these addresses.
    ///
    /// # Errors
    /// One of them is none.
    pub fn new(ingress: &str, admin: &str) -> Result<Self, ServerError> {
        let address = |text: &str| {
            let url = Url::parse(text).ok();
            url.filter(|it| matches!(it.scheme(), "http" | "https") && it.has_host())
                .ok_or_else(|| ServerError::Address(text.to_owned()))
        };
        let (ingress, admin) = (address(ingress)?, address(admin)?);
        let mut builder = agents_tool::web::builder().tcp_nodelay(true);
        if [&ingress, &admin].into_iter().all(is_local) {
            builder = builder.no_proxy();
        }
        let failed = |source| ServerError::Unreachable {
            url: ingress.to_string(),
            source: Box::new(source),
        };
        let client = builder.build().map_err(failed)?;
        Ok(Self { ingress, admin, client })
    }

    /// Whether somebody is at both addresses, whatever they answer: a server that has just been started is there.
    ///
    /// # Errors
    /// At one of them there is nobody.
    pub async fn greet(&self) -> Result<(), ServerError> {
        let healths =
            [below(&self.ingress, &["restate", "health"]), below(&self.admin, &["health"])];
        for url in healths {
            let asked = self.client.request(Method::GET, url.clone()).timeout(SOON);
            if let Err(error @ ServerError::Unreachable { .. }) = send(asked, &url).await {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Gives something in, and does not wait for it. The same thing twice is there once.
    pub async fn submit(
        &self,
        service: &str,
        key: &Key,
        handler: &str,
        body: &impl Serialize,
    ) -> Result<InvocationId, ServerError> {
        let url = below(&self.ingress, &[service, key.as_str(), handler, "send"]);
        let asked = self.client.request(Method::POST, url.clone()).timeout(SOON);
        let asked = asked
            .header("idempotency-key", key.as_str())
            .header("content-type", "application/json")
            .body(json(body)?);
        Ok(read::<Sent>(send(asked, &url).await?).await?.invocation_id)
    }

    /// Calls a handler, and waits for what it answers.
    pub async fn call<T: DeserializeOwned>(
        &self,
        service: &str,
        key: &str,
        handler: &str,
        body: &impl Serialize,
    ) -> Result<T, ServerError> {
        let url = below(&self.ingress, &[service, key, handler]);
        let asked = self.client.request(Method::POST, url.clone()).timeout(PATIENCE);
        let asked = asked.header("content-type", "application/json").body(json(body)?);
        read(send(asked, &url).await?).await
    }

    /// Calls a handler that takes bytes, or nothing, and gives bytes.
    pub async fn exchange(
        &self,
        service: &str,
        key: &str,
        handler: &str,
        bytes: Option<Vec<u8>>,
    ) -> Result<Vec<u8>, ServerError> {
        let url = below(&self.ingress, &[service, key, handler]);
        let mut asked = self.client.request(Method::POST, url.clone()).timeout(PATIENCE);
        if let Some(bytes) = bytes {
            asked = asked.header("content-type", "application/octet-stream").body(bytes);
        }
        let answer = send(asked, &url).await?;
        let lost = |source| unreachable(&url, source);
        Ok(answer.bytes().await.map_err(lost)?.to_vec())
    }

    /// Tells a handler something, and does not wait for it.
    pub async fn tell(&self, service: &str, key: &str, handler: &str) -> Result<(), ServerError> {
        let url = below(&self.ingress, &[service, key, handler, "send"]);
        let asked = self.client.request(Method::POST, url.clone()).timeout(SOON);
        send(asked, &url).await?;
        Ok(())
    }

    /// Waits for what becomes of something that was given in.
    pub async fn attach<T: DeserializeOwned>(&self, id: &InvocationId) -> Result<T, ServerError> {
        let url = below(&self.ingress, &["restate", "invocation", id.as_str(), "attach"]);
        let asked = self.client.request(Method::GET, url.clone()).timeout(PATIENCE);
        read(send(asked, &url).await?).await
    }

    /// Says something about an invocation: `cancel`, `kill`, `resume`.
    pub async fn order(&self, id: &InvocationId, order: &str) -> Result<(), ServerError> {
        let url = below(&self.admin, &["invocations", id.as_str(), order]);
        let asked = self.client.request(Method::PATCH, url.clone()).timeout(SOON);
        send(asked, &url).await?;
        Ok(())
    }

    /// Asks its tables.
    pub async fn query<T: DeserializeOwned>(&self, sql: &str) -> Result<Vec<T>, ServerError> {
        let url = below(&self.admin, &["query"]);
        let asked = self.client.request(Method::POST, url.clone()).timeout(SOON);
        let asked = asked
            .header("accept", "application/json")
            .header("content-type", "application/json")
            .body(json!({ "query": sql }).to_string());
        Ok(read::<Rows<T>>(send(asked, &url).await?).await?.rows)
    }

    /// What was given to a lane that nobody works on, and somebody should.
    pub async fn stuck(&self, service: &str) -> Result<Vec<Standing>, ServerError> {
        // Lanes have no quotation marks in their names; if they had, nothing would be found.
        let service = service.replace('\'', "");
        let sql = format!(
            "SELECT id, target_service_name, status, pinned_deployment_id FROM sys_invocation \
             WHERE target_service_name = '{service}' AND status IN ('backing-off', 'paused')"
        );
        self.query(&sql).await
    }

    /// Where the attempts of a run stand, with what they are called.
    pub async fn standing(&self, prefix: &str) -> Result<Vec<(Key, Standing)>, ServerError> {
        #[derive(Deserialize)]
        struct Row {
            idempotency_key: String,
            #[serde(flatten)]
            standing: Standing,
        }
        // A run, a node and an attempt have no quotation marks in what they are called; if they had, nothing would be found.
        let like = prefix.replace(['\'', '%'], "");
        let rows: Vec<Row> = self
            .query(&format!(
                "SELECT id, idempotency_key, target_service_name, status, pinned_deployment_id FROM sys_invocation \
                 WHERE target_handler_name = 'run' AND idempotency_key LIKE '{like}%'"
            ))
            .await?;
        // To SQL, `_` is any letter: also one of another run.
        let ours = rows.into_iter().filter(|it| it.idempotency_key.starts_with(prefix));
        Ok(ours.map(|it| (Key::parse(&it.idempotency_key), it.standing)).collect())
    }

    /// The services that there are.
    pub async fn services(&self) -> Result<Vec<Service>, ServerError> {
        Ok(self.look::<Services>("services").await?.services)
    }

    /// The addresses that there are.
    pub async fn deployments(&self) -> Result<Vec<Deployment>, ServerError> {
        Ok(self.look::<Deployments>("deployments").await?.deployments)
    }

    async fn look<T: DeserializeOwned>(&self, what: &str) -> Result<T, ServerError> {
        let url = below(&self.admin, &[what]);
        let asked = self.client.request(Method::GET, url.clone()).timeout(SOON);
        read(send(asked, &url).await?).await
    }

    /// Makes an address known; one that is known stays the same.
    pub async fn register(&self, uri: &str) -> Result<(), ServerError> {
        self.deploy(&json!({ "uri": uri, "force": true }), SOON).await
    }

    /// Whether the server itself finds somebody at an address.
    pub async fn probe(&self, uri: &str, patience: Duration) -> Result<(), ServerError> {
        self.deploy(&json!({ "uri": uri, "force": true, "dry_run": true }), patience).await
    }

    async fn deploy(&self, body: &Value, patience: Duration) -> Result<(), ServerError> {
        let url = below(&self.admin, &["deployments"]);
        let asked = self.client.request(Method::POST, url.clone()).timeout(patience);
        let asked = asked.header("content-type", "application/json").body(body.to_string());
        send(asked, &url).await?;
        Ok(())
    }

    /// Lets another address serve a deployment, with all that was begun at the old one.
    pub async fn repoint(&self, deployment: &str, uri: &str) -> Result<(), ServerError> {
        let url = below(&self.admin, &["deployments", deployment]);
        let asked = self.client.request(Method::PATCH, url.clone()).timeout(SOON);
        let body = json!({ "uri": uri }).to_string();
        send(asked.header("content-type", "application/json").body(body), &url).await?;
        Ok(())
    }
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    host == "localhost" || host == "[::1]" || host.starts_with("127.")
}

fn below(base: &Url, parts: &[&str]) -> Url {
    let mut url = base.clone();
    // Only addresses without a host have no path to add to.
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(parts);
    }
    url
}

fn json(body: &impl Serialize) -> Result<Vec<u8>, ServerError> {
    serde_json::to_vec(body).map_err(|error| ServerError::Answer(error.to_string()))
}

fn unreachable(url: &Url, source: reqwest::Error) -> ServerError {
    let url = url.origin().ascii_serialization();
    ServerError::Unreachable { url, source: Box::new(source.without_url()) }
}

async fn send(asked: reqwest::RequestBuilder, url: &Url) -> Result<Response, ServerError> {
    let answer = asked.send().await.map_err(|source| unreachable(url, source))?;
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    Err(refusal(status.as_u16(), &beginning(answer).await))
}

/// As much of an answer as can be told.
async fn beginning(mut answer: Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_REFUSAL
        && let Ok(Some(chunk)) = answer.chunk().await
    {
        bytes.extend_from_slice(&chunk[..chunk.len().min(MAX_REFUSAL - bytes.len())]);
    }
    bytes
}

/// What a server that says no has said: its message, or all of it.
fn refusal(status: u16, said: &[u8]) -> ServerError {
    let message = serde_json::from_slice::<Value>(said).ok();
    let message = message.and_then(|it| Some(it.get("message")?.as_str()?.to_owned()));
    let said = message.unwrap_or_else(|| String::from_utf8_lossy(said).into_owned());
    ServerError::Refused { status, said: said.chars().take(MAX_SAID).collect() }
}

async fn read<T: DeserializeOwned>(answer: Response) -> Result<T, ServerError> {
    let url = answer.url().clone();
    let bytes = answer.bytes().await.map_err(|source| unreachable(&url, source))?;
    understood(&bytes)
}

fn understood<T: DeserializeOwned>(answer: &[u8]) -> Result<T, ServerError> {
    serde_json::from_slice(answer).map_err(|error| ServerError::Answer(error.to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Any JSON of a few levels.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            let members = prop::collection::vec((".{0,4}", inner.clone()), 0..4);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::from),
                members.prop_map(|it| Value::Object(it.into_iter().collect())),
            ]
        })
    }

    /// A service, with what later servers may say besides.
    fn service() -> impl Strategy<Value = (Service, Value)> {
        let metadata = prop::collection::btree_map(".{0,6}", ".{0,6}", 0..3);
        let known = (".{0,12}", ".{0,8}", metadata);
        (known, "[a-z]{12}", value()).prop_map(|((name, deployment_id, metadata), key, more)| {
            let said = json!({ "name": name, "deployment_id": deployment_id, "metadata": metadata, key: more });
            (Service { name, deployment_id, metadata }, said)
        })
    }

    proptest! {
        #[test]
        fn what_the_server_knows_is_read_whatever_else_it_says(services in prop::collection::vec(service(), 0..4), more in value()) {
            let (known, said): (Vec<Service>, Vec<Value>) = services.into_iter().unzip();
            let answer = json!({ "services": said, "more": more }).to_string();
            prop_assert_eq!(understood::<Services>(answer.as_bytes()).unwrap().services, known);
        }

        #[test]
        fn what_is_none_is_no_answer_and_will_not_be_one_later(bytes in prop::collection::vec(any::<u8>(), 0..32), said in value()) {
            for answer in [bytes, said.to_string().into_bytes()] {
                for error in [
                    understood::<Services>(&answer).err(),
                    understood::<Deployments>(&answer).err(),
                    understood::<Rows<Standing>>(&answer).err(),
                    understood::<Sent>(&answer).err(),
                ].into_iter().flatten() {
                    prop_assert!(!error.is_passing() && !error.to_string().is_empty());
                }
            }
        }

        #[test]
        fn a_refusal_is_told_in_bounded_words(status in 300..600_u16, said in ".{0,700}", more in value()) {
            let message = json!({ "message": said, "more": more }).to_string();
            for answer in [said.as_bytes(), message.as_bytes()] {
                let ServerError::Refused { status: told, said: words } = refusal(status, answer) else {
                    return Err(TestCaseError::fail("no refusal"));
                };
                prop_assert_eq!(told, status);
                let is_json = serde_json::from_str::<Value>(&said).is_ok();
                prop_assert!(is_json || said.starts_with(&words), "{}", words);
                prop_assert!(words.chars().count() <= MAX_SAID);
            }
        }

        #[test]
        fn any_refusal_is_one(status in any::<u16>(), said in prop::collection::vec(any::<u8>(), 0..64)) {
            let is_one = matches!(refusal(status, &said), ServerError::Refused { .. });
            prop_assert!(is_one);
        }
    }
}
