//! The same over streamable HTTP: one server for all clients that have the token.

mod sessions;

use std::{io, sync::Arc};

use axum::Router;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::sessions::Sessions;
use super::Door;
use crate::{
    http::{self, Guard, Said, Token},
    offer::Offer,
    tasks::Terms,
};

/// The longest message; the same as on standard input.
const MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// Speaks with all clients that have the token, at `/mcp`, until `cancel` says so. They share their tasks and servers: they are the same
/// user's. Then nothing that was started for any of them is left.
///
/// # Errors
/// The port is not there any more.
pub async fn serve_http(
    offer: Arc<dyn Offer>,
    terms: Terms,
    listener: TcpListener,
    token: Token,
    cancel: CancellationToken,
) -> io::Result<()> {
    let port = listener.local_addr()?.port();
    serve_http_at(offer, terms, (listener, port), token, cancel).await
}

/// The same for whoever comes in some other way, and believes that it is at this port.
#[doc(hidden)]
pub async fn serve_http_at<L>(
    offer: Arc<dyn Offer>,
    terms: Terms,
    (listener, port): (L, u16),
    token: Token,
    cancel: CancellationToken,
) -> io::Result<()>
where
    L: axum::serve::Listener,
    L::Addr: std::fmt::Debug,
{
    let guard = Guard::new(token, Said::InHeader, port);
    let (door, asks) = Door::new(offer, terms, &cancel);
    let answering = tokio::spawn(asks);
    let config = StreamableHttpServerConfig::default()
        .with_max_request_body_bytes(MAX_MESSAGE)
        .with_cancellation_token(door.over.clone());
    let sessions = Arc::new(Sessions::default());
    let own = door.clone();
    let service = StreamableHttpService::new(move || Ok(own.clone()), sessions, config);
    let router = Router::new().route_service("/mcp", service);
    let served = http::serve(listener, guard, router, &cancel).await;
    door.over.cancel();
    answering.abort();
    door.verbs.end().await;
    served
}
