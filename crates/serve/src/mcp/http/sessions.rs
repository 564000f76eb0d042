//! How long the session of a client is kept: as long as it listens, and a while after the last that it said.
//!
//! The SDK counts messages only, and would end a session in which a task has had nothing to say for five minutes, with the task. Here
//! every stream that a client has open counts: the answer to a call that is still being made, and what it listens to besides. A
//! client that is gone for ever has none, so that its session ends by itself, and with it what it had asked for and did not wait for.

use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        WorkerTransport,
        streamable_http_server::{
            SessionManager,
            session::{
                RestoreOutcome, ServerSseMessage, SessionId,
                local::{
                    LocalSessionHandle, LocalSessionManager, LocalSessionManagerError,
                    LocalSessionWorker,
                },
            },
        },
    },
};
use tokio_util::sync::CancellationToken;

/// How long a session without any stream is kept: long enough for a client that comes back for the rest of an answer.
const KEPT: Duration = Duration::from_secs(300);
/// So many signs of life are given in that time.
const BEATS: u32 = 4;
/// The SDK counts channels from 0, and never gets here.
const NO_CHANNEL: u64 = u64::MAX;

/// The sessions of all clients.
pub(super) struct Sessions {
    inner: LocalSessionManager,
    kept: Duration,
}

impl Default for Sessions {
    fn default() -> Self {
        Self::kept_for(KEPT)
    }
}

impl Sessions {
    fn kept_for(kept: Duration) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(kept);
        Self { inner, kept }
    }

    /// A stream that keeps its session as long as somebody has it.
    async fn keeping<S>(
        &self,
        id: &SessionId,
        stream: S,
    ) -> impl Stream<Item = ServerSseMessage> + use<S>
    where
        S: Stream<Item = ServerSseMessage>,
    {
        let gone = CancellationToken::new();
        if let Some(session) = self.inner.sessions.read().await.get(id).cloned() {
            let (gone, pause) = (gone.clone(), self.kept / BEATS);
            tokio::spawn(async move { gone.run_until_cancelled(beat(session, pause)).await });
        }
        let held = gone.drop_guard();
        stream.map(move |message| {
            let _with_it = &held;
            message
        })
    }
}

/// Tells a session now and then that somebody is there.
async fn beat(session: LocalSessionHandle, pause: Duration) {
    loop {
        tokio::time::sleep(pause).await;
        // The only thing that can be told it and changes nothing.
        if session.close_request_wise_channel(NO_CHANNEL).await.is_err() {
            return;
        }
    }
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        self.inner.create_session().await
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.inner.create_stream(id, message).await?;
        Ok(self.keeping(id, stream).await)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.inner.create_standalone_stream(id).await?;
        Ok(self.keeping(id, stream).await)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.inner.resume(id, last_event_id).await?;
        Ok(self.keeping(id, stream).await)
    }

    async fn restore_session(
        &self,
        id: SessionId,
    ) -> Result<RestoreOutcome<Self::Transport>, Self::Error> {
        self.inner.restore_session(id).await
    }
}

#[cfg(test)]
mod tests {
    use rmcp::{
        ErrorData, RoleServer, ServerHandler,
        model::{CallToolRequestParams, CallToolResponse, CallToolResult},
        service::{RequestContext, RunningService, serve_server},
    };
    use serde_json::{Value, json};

    use super::*;

    /// What a session without a stream is kept for here.
    const SHORT: Duration = Duration::from_millis(200);

    /// A server with one tool, which takes far longer than that and says nothing meanwhile.
    struct Slow;

    impl ServerHandler for Slow {
        async fn call_tool(
            &self,
            _: CallToolRequestParams,
            context: RequestContext<RoleServer>,
        ) -> Result<CallToolResponse, ErrorData> {
            tokio::select! {
                () = tokio::time::sleep(5 * SHORT) => {}
                () = context.ct.cancelled() => {}
            }
            Ok(CallToolResponse::from(CallToolResult::success(Vec::new())))
        }
    }

    fn message(method: &str, params: &Value) -> ClientJsonRpcMessage {
        let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        if !method.starts_with("notifications/") {
            message["id"] = json!(7);
        }
        serde_json::from_value(message).unwrap()
    }

    async fn greeted(sessions: &Sessions) -> (SessionId, RunningService<RoleServer, Slow>) {
        let (id, transport) = sessions.create_session().await.unwrap();
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}});
        let greet = async {
            sessions.initialize_session(&id, message("initialize", &hello)).await.unwrap();
            let done = message("notifications/initialized", &json!({}));
            sessions.accept_message(&id, done).await.unwrap();
        };
        let (served, ()) = tokio::join!(serve_server(Slow, transport), greet);
        (id, served.unwrap())
    }

    #[tokio::test]
    async fn a_call_that_says_nothing_for_long_is_answered() {
        let sessions = Sessions::kept_for(SHORT);
        let (id, _served) = greeted(&sessions).await;
        let call = message("tools/call", &json!({"name": "wait", "arguments": {}}));
        let said: Vec<_> = sessions.create_stream(&id, call).await.unwrap().collect().await;
        let said = said.iter().filter_map(|it| it.message.as_ref());
        let said: Vec<Value> = said.map(|it| serde_json::to_value(&**it).unwrap()).collect();
        assert_eq!((said.len(), &said[0]["id"]), (1, &json!(7)), "{said:?}");
        assert!(said[0].get("result").is_some(), "{said:?}");
    }

    #[tokio::test]
    async fn a_session_lasts_as_long_as_somebody_listens() {
        let sessions = Sessions::kept_for(SHORT);
        let (id, served) = greeted(&sessions).await;
        let served = tokio::spawn(served.waiting());
        let call = message("tools/call", &json!({"name": "wait", "arguments": {}}));
        drop(sessions.create_stream(&id, call).await.unwrap());
        // Whoever listens is there.
        let listens = sessions.create_standalone_stream(&id).await.unwrap();
        tokio::time::sleep(3 * SHORT).await;
        assert!(!served.is_finished(), "it has ended");
        drop(listens);
        let ended = tokio::time::timeout(Duration::from_secs(30), served).await;
        assert!(ended.is_ok(), "it is still there");
    }
}
