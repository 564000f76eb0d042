//! `cargo agents mcp --http`

use std::sync::Arc;

use agents_serve::{
    Terms,
    http::{Token, listen},
    mcp,
};
use agents_system::{
    atomic,
    explain::{Code, ErrorKind},
};
use tokio_util::sync::CancellationToken;

use crate::{commands::door::offer::Program, failure::Failure, output::Output, settings::Settings};

/// The file with the token, in the directory of what must be remembered: hosts that know it go on knowing it.
const FILE: &str = "mcp-token";

/// Says where it is and with which token, and serves until it is interrupted.
pub(super) async fn serve(
    settings: &Settings,
    output: &Output,
    port: u16,
    offer: Arc<Program>,
    terms: Terms,
    cancel: CancellationToken,
) -> Result<(), Failure> {
    let token = token(settings)?;
    let taken = |error: std::io::Error| {
        Failure::new(ErrorKind::Failure, format!("cannot listen at port {port}: {error}"))
            .code(Code::CannotListen)
            .hint("`--http` without a number takes a port that is free")
    };
    let listener = listen(port).await.map_err(taken)?;
    let port = listener.local_addr().map_err(taken)?.port();
    output.talk(&format!(
        "listening at http://127.0.0.1:{port}/mcp for clients that send `Authorization: Bearer {}`; Ctrl-C ends it",
        token.reveal()
    ));
    let served = mcp::serve_http(offer, terms, listener, token, cancel).await;
    served.map_err(|error| Failure::new(ErrorKind::Failure, format!("cannot listen: {error}")))
}

/// The one that was kept, or a new one.
fn token(settings: &Settings) -> Result<Token, Failure> {
    let file = settings.dirs.state.join(FILE);
    let kept = fs_err::read_to_string(&file).ok();
    if let Some(token) = kept.as_deref().and_then(Token::parse) {
        return Ok(token);
    }
    let failed = |error: std::io::Error| {
        Failure::new(ErrorKind::Failure, format!("cannot make a token: {error}"))
    };
    let token = Token::random().map_err(failed)?;
    atomic::write(&file, token.reveal().as_bytes()).map_err(failed)?;
    Ok(token)
}
