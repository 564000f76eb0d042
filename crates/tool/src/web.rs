//! The client that tools, and rooms above, speak to other machines with.

use std::time::Duration;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(20);

/// A client that follows nobody to another address: whoever uses it decides about that.
pub fn builder() -> reqwest::ClientBuilder {
    // Fails when somebody else was first, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("cargo-agents/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT)
}
