//! Sending a document to somebody who is no model, over the same kind of connection: no redirects, the certificates of the system, and
//! nothing in errors that is nobody's business.

use std::{sync::OnceLock, time::Duration};

use reqwest::{
    Client, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use secrecy::{ExposeSecret as _, SecretString};

/// Somebody who takes documents.
pub struct Post {
    url: Url,
    headers: HeaderMap,
    timeout: Duration,
    client: OnceLock<Client>,
}

/// Why a document was not taken.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// That is no address, or no header.
    #[error("{0}")]
    Settings(String),
    /// It did not get there.
    #[error("{0}")]
    Network(String),
    /// It was not wanted.
    #[error("it answers with status {0}")]
    Status(u16),
}

impl PostError {
    /// Whether the same may be taken later.
    #[must_use]
    pub fn is_worth_another_try(&self) -> bool {
        matches!(self, Self::Network(_) | Self::Status(429 | 502..=504))
    }
}

impl Post {
    /// To this address, with these headers. Nothing is sent.
    ///
    /// # Errors
    /// That is no address, or no header.
    pub fn new(
        address: &str,
        headers: &[(String, SecretString)],
        timeout: Duration,
    ) -> Result<Self, PostError> {
        let url = Url::parse(address).ok().filter(|it| matches!(it.scheme(), "http" | "https"));
        let url = url.ok_or_else(|| PostError::Settings("it is no `http` address".to_owned()))?;
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let wrong = || PostError::Settings(format!("`{name}` is no header"));
            let name = HeaderName::try_from(name).map_err(|_| wrong())?;
            let mut value = HeaderValue::try_from(value.expose_secret()).map_err(|_| wrong())?;
            value.set_sensitive(true);
            map.insert(name, value);
        }
        Ok(Self { url, headers: map, timeout, client: OnceLock::new() })
    }

    /// Who it is, without what may stand before the host and after the path.
    #[must_use]
    pub fn host(&self) -> String {
        let port = self.url.port().map(|it| format!(":{it}")).unwrap_or_default();
        format!("{}://{}{port}", self.url.scheme(), self.url.host_str().unwrap_or_default())
    }

    /// Sends JSON, once.
    ///
    /// # Errors
    /// It did not get there in time, or was not wanted.
    pub async fn json(&self, body: String) -> Result<(), PostError> {
        let network = |error: reqwest::Error| {
            let error = error.without_url();
            PostError::Network(agents_system::explain::with_causes(&error))
        };
        let client = match self.client.get() {
            Some(client) => client,
            None => {
                let client = super::client(&self.url).map_err(network)?;
                self.client.get_or_init(|| client)
            }
        };
        let sending = client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .timeout(self.timeout)
            .body(body);
        let status = sending.send().await.map_err(network)?.status();
        if status.is_success() { Ok(()) } else { Err(PostError::Status(status.as_u16())) }
    }
}
