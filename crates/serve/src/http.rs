//! Doors over HTTP: only on this machine, only for whoever has the token, and never for a page of somebody else.
//!
//! | a request | becomes |
//! |---|---|
//! | without the token, or with another one | 401 where it belongs into a header, 404 where it is the first part of the address |
//! | for another name than this machine's own (a name of somebody else may lead here) | 403 |
//! | from a page that is not ours (`Origin`, `Sec-Fetch-Site`), unless it only leads the user here | 403 |

use std::{fmt, io, net::Ipv4Addr, sync::Arc};

use agents_system::cache::hex;
use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    serve::Listener,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// How many random bytes there are in a token.
const BYTES: usize = 32;

/// What a client must know. It is never printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// One that nobody can guess.
    ///
    /// # Errors
    /// The system has nothing random.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(hex(&bytes)))
    }

    /// One that was kept, if it is one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_one = text.len() == 2 * BYTES && text.bytes().all(|it| it.is_ascii_hexdigit());
        is_one.then(|| Self(text.to_owned()))
    }

    /// To show it to the user.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Compares in a time that says nothing about where they differ.
    #[must_use]
    pub fn is(&self, other: &str) -> bool {
        let (one, other) = (self.0.as_bytes(), other.as_bytes());
        let differences = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
        one.len() == other.len() && differences == 0
    }
}

/// Listens on this machine; 0 is a port that is free.
///
/// # Errors
/// The port is taken.
pub async fn listen(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await
}

/// Where clients say the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// `Authorization: Bearer …`: programs.
    InHeader,
    /// As the first part of the address: browsers, which are sent there once and have no other way.
    InPath,
}

/// Who is let in.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    token: Token,
    said: Said,
    port: u16,
}

/// What a header says; nothing that can be meant if it is no text.
fn said<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).map(|it| it.to_str().unwrap_or("?"))
}

impl Guard {
    /// For whoever has the token, at this port.
    pub(crate) fn new(token: Token, said: Said, port: u16) -> Self {
        Self { token, said, port }
    }

    /// Whether a request may come in at all, whoever it is from.
    pub(crate) fn admits(&self, headers: &HeaderMap) -> bool {
        let text = |name: header::HeaderName| said(headers, name.as_str());
        let own = |authority: &str| self.is_here(authority);
        let is_ours = |origin: &str| origin.strip_prefix("http://").is_some_and(own);
        let site = said(headers, "sec-fetch-site");
        text(header::HOST).is_some_and(own)
            && text(header::ORIGIN).is_none_or(is_ours)
            && (site.is_none_or(|it| matches!(it, "same-origin" | "none")) || self.arrives(headers))
    }

    /// Whether the user is led to the page from elsewhere, as by the file that `--open` writes. Who leads there knows the address, and
    /// learns nothing: a page that is opened in a window of its own can be looked at by nobody but the user.
    fn arrives(&self, headers: &HeaderMap) -> bool {
        let is = |name: &str, word: &str| said(headers, name) == Some(word);
        self.said == Said::InPath
            && is("sec-fetch-mode", "navigate")
            && is("sec-fetch-dest", "document")
    }

    /// Whether an authority is this machine, at our port.
    fn is_here(&self, authority: &str) -> bool {
        let name = authority.strip_suffix(&format!(":{}", self.port));
        matches!(name, Some("127.0.0.1" | "localhost"))
    }

    /// What a request says the token is, if it says anything.
    fn said<'r>(&self, request: &'r Request) -> Option<&'r str> {
        match self.said {
            Said::InHeader => {
                let sent = request.headers().get(header::AUTHORIZATION);
                let (scheme, token) = sent.and_then(|it| it.to_str().ok()?.split_once(' '))?;
                // Names of schemes are the same however they are written.
                scheme.eq_ignore_ascii_case("Bearer").then(|| token.trim_start())
            }
            Said::InPath => request.uri().path().split('/').nth(1),
        }
    }

    /// What whoever does not have the token hears.
    fn turned_away(&self, request: &Request) -> Option<Response> {
        let said = self.said(request);
        if said.is_some_and(|it| self.token.is(it)) {
            return None;
        }
        Some(match self.said {
            Said::InHeader => {
                let (challenge, why) = match said {
                    Some(_) => (r#"Bearer error="invalid_token""#, "the token is wrong\n"),
                    None => ("Bearer", "the token is missing\n"),
                };
                let challenge = [(header::WWW_AUTHENTICATE, challenge)];
                (StatusCode::UNAUTHORIZED, challenge, why).into_response()
            }
            // As if there were nothing.
            Said::InPath => StatusCode::NOT_FOUND.into_response(),
        })
    }
}

/// Whether a request says itself that it comes from our own page. Whoever changes something must: browsers always do.
pub(crate) fn comes_from_page(headers: &HeaderMap) -> bool {
    // What it says was looked at before.
    headers.contains_key(header::ORIGIN)
}

async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    if !guard.admits(request.headers()) {
        return (StatusCode::FORBIDDEN, "this is not for other sites\n").into_response();
    }
    if let Some(response) = guard.turned_away(&request) {
        return response;
    }
    next.run(request).await
}

/// Serves what is behind the guard until it is told to stop.
///
/// # Errors
/// The port is not there any more.
pub(crate) async fn serve<L>(
    listener: L,
    guard: Guard,
    inside: Router,
    cancel: &CancellationToken,
) -> io::Result<()>
where
    L: Listener,
    L::Addr: fmt::Debug,
{
    let router = inside.layer(middleware::from_fn_with_state(Arc::new(guard), check));
    tokio::select! {
        served = axum::serve(listener, router).into_future() => served,
        () = cancel.cancelled() => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_of_this_machine_to_itself_come_in() {
        let guard = Guard::new(Token::random().unwrap(), Said::InHeader, 4711);
        let admits = |all: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            all.iter().for_each(|(name, value)| {
                headers.insert(*name, value.parse().unwrap());
            });
            guard.admits(&headers)
        };
        let own = ("host", "127.0.0.1:4711");
        assert!(admits(&[own]) && admits(&[("host", "localhost:4711")]));
        assert!(admits(&[
            own,
            ("origin", "http://localhost:4711"),
            ("sec-fetch-site", "same-origin")
        ]));
        for wrong in [
            vec![],
            vec![("host", "evil.example:4711")],
            vec![("host", "127.0.0.1")],
            vec![("host", "127.0.0.1:80")],
            vec![("host", "127.0.0.1:4711.evil.example")],
            vec![own, ("origin", "http://evil.example")],
            vec![own, ("origin", "https://localhost:4711")],
            vec![own, ("origin", "null")],
            vec![own, ("sec-fetch-site", "cross-site")],
            vec![own, ("sec-fetch-site", "same-site")],
        ] {
            assert!(!admits(&wrong), "{wrong:?}");
        }
    }

    #[test]
    fn only_a_browser_can_be_led_to_the_page_from_elsewhere() {
        let admits = |said, mode: &str, dest: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("host", "127.0.0.1:4711".parse().unwrap());
            headers.insert("sec-fetch-site", "cross-site".parse().unwrap());
            headers.insert("sec-fetch-mode", mode.parse().unwrap());
            headers.insert("sec-fetch-dest", dest.parse().unwrap());
            Guard::new(Token::random().unwrap(), said, 4711).admits(&headers)
        };
        assert!(admits(Said::InPath, "navigate", "document"));
        assert!(!admits(Said::InHeader, "navigate", "document"));
        for (mode, dest) in [("navigate", "iframe"), ("no-cors", "script"), ("cors", "empty")] {
            assert!(!admits(Said::InPath, mode, dest), "{mode} {dest}");
        }
    }

    #[test]
    fn whoever_is_turned_away_is_told_whether_the_token_is_missing_or_wrong() {
        let token = Token::random().unwrap();
        let guard = Guard::new(token.clone(), Said::InHeader, 4711);
        let challenge = |sent: Option<&str>| {
            let request = sent
                .into_iter()
                .fold(Request::builder(), |it, sent| it.header(header::AUTHORIZATION, sent));
            let away = guard.turned_away(&request.body(axum::body::Body::empty()).unwrap())?;
            assert_eq!(away.status(), StatusCode::UNAUTHORIZED);
            Some(away.headers()[header::WWW_AUTHENTICATE].to_str().unwrap().to_owned())
        };
        let token = token.reveal();
        for scheme in ["Bearer", "bearer", "BEARER"] {
            assert_eq!(challenge(Some(&format!("{scheme} {token}"))), None, "{scheme}");
        }
        for sent in [None, Some(token), Some("Basic eDp5")] {
            assert_eq!(challenge(sent).as_deref(), Some("Bearer"), "{sent:?}");
        }
        let wrong = challenge(Some("Bearer 0123"));
        assert_eq!(wrong.as_deref(), Some(r#"Bearer error="invalid_token""#));
    }

    #[test]
    fn tokens_are_long_different_and_not_shown() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert!(one.is(one.reveal()) && !one.is(other.reveal()) && !one.is(""));
        assert!(!one.is(&one.reveal()[..60]) && one.reveal().len() == 64);
        assert_eq!(format!("{one:?}"), "Token(..)");
        assert_eq!(Token::parse(&format!(" {}\n", one.reveal())), Some(one));
        assert!(Token::parse("short").is_none() && Token::parse(&"x".repeat(64)).is_none());
    }
}
