//! `web_search`, and the services that can be asked.
//!
//! | service | asked | key |
//! |---|---|---|
//! | Brave | `GET /res/v1/web/search?q=&count=` | `X-Subscription-Token` |
//! | Tavily | `POST /search` with JSON | `Authorization: Bearer` |
//! | `SearXNG` | `GET /search?q=&format=json`, on an address of one's own | none, or `Authorization: Bearer` |

use std::{fmt, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use reqwest::{StatusCode, header};
use schemars::JsonSchema;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    context::CallContext,
    policy::{Effect, Effects},
    tool::{Intent, Output, ToolError, Typed},
};

/// How long an answer may take.
const TIME: Duration = Duration::from_secs(30);
/// How many results one question to a service can have.
const MOST: usize = 20;
/// How much of a result is shown.
const EXCERPT: usize = 2_000;

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its title.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// A few words of it.
    pub excerpt: String,
}

/// Whoever can search the web. Which one that is, with its key and address, is configured.
pub trait Engine: Send + Sync {
    /// Searches. The caller sees to it that nobody waits for ever.
    fn search<'a>(
        &'a self,
        query: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Hit>, ToolError>>;
}

/// Searches the web.
#[derive(Clone)]
pub struct WebSearch {
    engine: Arc<dyn Engine>,
}

impl WebSearch {
    /// With this engine.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine }
    }
}

/// What to search for.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebSearchInput {
    /// A few words.
    pub query: String,
    /// How many results at most; 10 if absent.
    #[serde(default)]
    pub limit: Option<usize>,
}

impl Typed for WebSearch {
    type Input = WebSearchInput;

    const NAME: &'static str = "web_search";
    const DESCRIPTION: &'static str = "Searches the web and gives titles, addresses and a few words of what was found; `web_fetch` reads a page.";

    fn intent(&self, _: &WebSearchInput, _: &CallContext) -> Result<Intent, ToolError> {
        Ok(Intent::plain(Effects::NONE.and(Effect::Network)))
    }

    async fn run(&self, input: WebSearchInput, context: &CallContext) -> Result<Output, ToolError> {
        let limit = input.limit.unwrap_or(10).clamp(1, 50);
        let hits = context.bounded(self.engine.search(&input.query, limit)).await??;
        if hits.is_empty() {
            return Ok(Output::said("nothing was found"));
        }
        let shown = |hit: &Hit| format!("{}\n{}\n{}\n", hit.title, hit.url, hit.excerpt);
        Ok(Output::data(hits.iter().take(limit).map(shown).collect::<Vec<_>>().join("\n")))
    }
}

/// A service that can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Service {
    /// The Brave Search API.
    Brave,
    /// Tavily.
    Tavily,
    /// A server of `SearXNG`.
    Searxng,
}

impl Service {
    /// All of them, with their words in the configuration.
    pub const WORDS: [(&'static str, Self); 3] =
        [("brave", Self::Brave), ("tavily", Self::Tavily), ("searxng", Self::Searxng)];

    /// Its word in the configuration, and the account of its key in a keyring.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, it)| *it == self).map_or("", |(word, _)| word)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Brave => "Brave Search",
            Self::Tavily => "Tavily",
            Self::Searxng => "SearXNG",
        }
    }

    /// Where it is, if it is in one place.
    #[must_use]
    pub fn usual_url(self) -> Option<&'static str> {
        match self {
            Self::Brave => Some("https://api.search.brave.com"),
            Self::Tavily => Some("https://api.tavily.com"),
            Self::Searxng => None,
        }
    }

    /// The customary variable of its key, if it needs one.
    #[must_use]
    pub fn usual_key(self) -> Option<&'static str> {
        match self {
            Self::Brave => Some("BRAVE_API_KEY"),
            Self::Tavily => Some("TAVILY_API_KEY"),
            Self::Searxng => None,
        }
    }

    /// Asked at this address, with this key.
    #[must_use]
    pub fn at(self, url: &str, key: Option<SecretString>) -> ServiceEngine {
        ServiceEngine { service: self, url: url.trim_end_matches('/').to_owned(), key }
    }
}

/// A service at its address.
pub struct ServiceEngine {
    service: Service,
    url: String,
    key: Option<SecretString>,
}

impl fmt::Debug for ServiceEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceEngine")
            .field("service", &self.service)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl ServiceEngine {
    async fn ask(&self, query: &str, limit: usize) -> Result<Vec<Hit>, ToolError> {
        let name = self.service.name();
        let failed = |what: String| ToolError::failed(format!("{name} {what}"));
        let sent = self.request(query, limit)?.send().await;
        // What the address of a request holds is the question; the key is in none of it.
        let told = |error: reqwest::Error| {
            failed(format!("cannot be asked: {}", super::causes(&error.without_url())))
        };
        let response = sent.map_err(told)?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.refused(status));
        }
        let body = super::body(response).await.map_err(told)?;
        read_hits(self.service, &body, limit)
    }

    fn request(&self, query: &str, limit: usize) -> Result<reqwest::RequestBuilder, ToolError> {
        let client = crate::web::builder().timeout(TIME).build();
        let client = client.map_err(|error| ToolError::failed(super::causes(&error)))?;
        let url = |path: &str, pairs: &[(&str, &str)]| {
            let url = reqwest::Url::parse(&format!("{}{path}", self.url));
            let url = url.map_err(|_| ToolError::failed("the address in [web.search] is none"));
            url.map(|mut url| {
                // An empty list would leave a question mark.
                if !pairs.is_empty() {
                    url.query_pairs_mut().extend_pairs(pairs);
                }
                url
            })
        };
        let count = limit.min(MOST);
        let request = match self.service {
            Service::Brave => {
                let pairs = [("q", query), ("count", &count.to_string())];
                client.get(url("/res/v1/web/search", &pairs)?)
            }
            Service::Tavily => client
                .post(url("/search", &[])?)
                .header(header::CONTENT_TYPE, "application/json")
                .body(json!({"query": query, "max_results": count}).to_string()),
            Service::Searxng => client.get(url("/search", &[("q", query), ("format", "json")])?),
        };
        let request = request.header(header::ACCEPT, "application/json");
        let Some(key) = &self.key else { return Ok(request) };
        let (header, value) = match self.service {
            Service::Brave => ("X-Subscription-Token", key.expose_secret().to_owned()),
            _ => ("Authorization", format!("Bearer {}", key.expose_secret())),
        };
        let value = header::HeaderValue::from_str(&value);
        let mut value =
            value.map_err(|_| ToolError::failed("the key in [web.search] cannot be sent"))?;
        value.set_sensitive(true);
        Ok(request.header(header, value))
    }

    /// Nothing of what was answered is repeated: services like to quote keys.
    fn refused(&self, status: StatusCode) -> ToolError {
        let name = self.service.name();
        let (what, hint) = match (status.as_u16(), self.service) {
            (403, Service::Searxng) => (
                "does not answer with JSON",
                "its `settings.yml` must list `json` in `search.formats`",
            ),
            // Brave has one answer for a wrong key and for a wrong question.
            (422, Service::Brave) => {
                ("does not accept the key or the question", "ask with fewer and simpler words")
            }
            (401 | 403, _) => ("does not accept the key", "only the user can put that right"),
            (402 | 429 | 432 | 433, _) => {
                ("was asked too often, or too much for what was paid", "ask again later, or less")
            }
            (400..500, _) => {
                ("does not understand the question", "ask with fewer and simpler words")
            }
            _ => ("has trouble of its own", "ask again later"),
        };
        ToolError::hinted(format!("{name} {what} ({status})"), hint)
    }
}

impl Engine for ServiceEngine {
    fn search<'a>(
        &'a self,
        query: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Hit>, ToolError>> {
        Box::pin(self.ask(query, limit))
    }
}

/// What a service answered.
///
/// # Errors
/// It is no list of results.
#[doc(hidden)]
pub fn read_hits(service: Service, body: &[u8], limit: usize) -> Result<Vec<Hit>, ToolError> {
    let failed = |what: &str| ToolError::failed(format!("{} answered {what}", service.name()));
    let answer: Value =
        serde_json::from_slice(body).map_err(|_| failed("with something that is no JSON"))?;
    let (list, excerpt) = match service {
        Service::Brave => ("/web/results", "description"),
        Service::Tavily | Service::Searxng => ("/results", "content"),
    };
    let results = match answer.pointer(list) {
        Some(Value::Array(results)) => results.as_slice(),
        // Brave leaves the part out if there is nothing in it.
        None if service == Service::Brave && answer.is_object() => &[],
        _ => return Err(failed("without a list of results")),
    };
    Ok(results.iter().filter_map(|it| hit(it, excerpt)).take(limit).collect())
}

/// A result, if it leads somewhere.
fn hit(result: &Value, excerpt: &str) -> Option<Hit> {
    let text = |key: &str| {
        let text = result.get(key).and_then(Value::as_str).unwrap_or_default();
        // Brave marks the words that were looked for.
        let text = super::text::readable("text/html", text.as_bytes()).unwrap_or_default();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        text[..text.floor_char_boundary(EXCERPT)].to_owned()
    };
    let url = result.get("url").and_then(Value::as_str)?.trim();
    // It stands on a line of its own, which nobody else may begin.
    let odd = |it: char| it.is_whitespace() || it.is_control();
    let leads = !url.is_empty() && url.len() <= EXCERPT && !url.contains(odd);
    leads.then(|| Hit { title: text("title"), excerpt: text(excerpt), url: url.to_owned() })
}
