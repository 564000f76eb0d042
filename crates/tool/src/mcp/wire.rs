//! The only module that knows the SDK.

use rmcp::{
    RoleClient,
    model::{
        CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, ClientRequest,
        ContentBlock, Implementation, ListToolsRequest, PaginatedRequestParams, ResourceContents,
        ServerResult,
    },
    service::{ClientInitializeError, RunningService, ServiceError, serve_client},
    transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use super::Trouble;
use crate::tool::Output;

/// More pages of tools are not asked for.
const MAX_PAGES: usize = 32;
/// How much of what a server says about an error is repeated.
const QUOTED: usize = 2_000;

/// A server that has answered.
pub(super) struct Connection {
    service: RunningService<RoleClient, ClientConfig>,
}

fn us() -> ClientConfig {
    let name = Implementation::new("cargo-agents", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), name)
}

impl Connection {
    /// With a program. A message of more than 16 MiB is thrown away.
    pub(super) async fn over<R, W>(streams: (R, W)) -> Result<Self, Trouble>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let service = serve_client(us(), streams).await.map_err(|error| begin(&error))?;
        Ok(Self { service })
    }

    /// With an address.
    pub(super) async fn to(url: &str, headers: &[(String, SecretString)]) -> Result<Self, Trouble> {
        let client = crate::web::builder().build();
        let client = client.map_err(|error| Trouble::Closed(error.to_string()))?;
        let mut all = std::collections::HashMap::new();
        for (name, value) in headers {
            let wrong = || Trouble::Closed(format!("the header `{name}` cannot be sent"));
            let header = name.parse::<reqwest::header::HeaderName>().map_err(|_| wrong())?;
            let value = value.expose_secret().parse::<reqwest::header::HeaderValue>();
            let mut value = value.map_err(|_| wrong())?;
            value.set_sensitive(true);
            all.insert(header, value);
        }
        let config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(all);
        let transport = StreamableHttpClientTransport::with_client(client, config);
        let service = serve_client(us(), transport).await.map_err(|error| begin(&error))?;
        Ok(Self { service })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    /// The tools as the server writes them. A single one that is not in the format does not hide the others.
    pub(super) async fn tools(&self) -> Result<Vec<Value>, Trouble> {
        let mut all = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
            let result = self.service.peer().send_request(request).await.map_err(during)?;
            let page = match result {
                ServerResult::ListToolsResult(page) => serde_json::to_value(page),
                ServerResult::CustomResult(page) => Ok(page.0),
                _ => return Err(Trouble::Protocol("no list of tools".to_owned())),
            };
            let mut page = page.map_err(|error| Trouble::Protocol(error.to_string()))?;
            match page.get_mut("tools").map(Value::take) {
                Some(Value::Array(tools)) => all.extend(tools),
                _ => return Err(Trouble::Protocol("no list of tools".to_owned())),
            }
            cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        Ok(all)
    }

    /// Calls a tool. A call that is not waited for any more is cancelled.
    pub(super) async fn call(&self, tool: &str, input: Value) -> Result<Output, Trouble> {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = match input {
            Value::Object(input) => Some(input),
            Value::Null => None,
            _ => return Err(Trouble::Refused("the input must be an object".to_owned())),
        };
        let response = self.service.peer().call_tool_once(params).await.map_err(during)?;
        let CallToolResponse::Complete(result) = response else {
            return Err(Trouble::Protocol(
                "it wants to ask something, or to answer later".to_owned(),
            ));
        };
        let mut parts: Vec<String> = result.content.into_iter().map(text).collect();
        let structured = result.structured_content;
        if parts.is_empty() {
            parts.extend(structured.as_ref().map(ToString::to_string));
        }
        let failed = result.is_error == Some(true);
        if parts.iter().all(String::is_empty) {
            return Ok(Output { failed, ..Output::said("it gave nothing back") });
        }
        Ok(Output { structured, failed, ..Output::data(parts.join("\n")) })
    }
}

fn text(block: ContentBlock) -> String {
    let left_out = |what: &str, kind: Option<&str>, size: usize| {
        format!(
            "[{what} of type `{}`, {size} bytes in base64: not shown]",
            kind.unwrap_or("unknown")
        )
    };
    match block {
        ContentBlock::Text(text) => text.text,
        ContentBlock::Image(it) => left_out("an image", Some(&it.mime_type), it.data.len()),
        ContentBlock::Audio(it) => left_out("a sound", Some(&it.mime_type), it.data.len()),
        ContentBlock::Resource(it) => match it.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("{uri}:\n{text}"),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                format!("{uri}: {}", left_out("a file", mime_type.as_deref(), blob.len()))
            }
            _ => "[something that we do not know: not shown]".to_owned(),
        },
        ContentBlock::ResourceLink(it) => format!("{}: {}", it.name, it.uri),
        _ => "[something that we do not know: not shown]".to_owned(),
    }
}

fn quoted(text: &str) -> String {
    text[..text.floor_char_boundary(QUOTED)].to_owned()
}

fn begin(error: &ClientInitializeError) -> Trouble {
    let why = quoted(&error.to_string());
    match error {
        ClientInitializeError::ConnectionClosed(_)
        | ClientInitializeError::TransportError { .. }
        | ClientInitializeError::Cancelled => Trouble::Closed(why),
        _ => Trouble::Protocol(why),
    }
}

fn during(error: ServiceError) -> Trouble {
    match error {
        ServiceError::McpError(error) => Trouble::Refused(quoted(&error.message)),
        ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
            Trouble::Closed(quoted(&error.to_string()))
        }
        error => Trouble::Protocol(quoted(&error.to_string())),
    }
}
