//! The addresses below the token.
//!
//! | address | what is there |
//! |---|---|
//! | `GET /` and the files beside it | the page |
//! | `GET look/TOPIC[/NAME]` | the document about something, now |
//! | `GET story/TASK?from=N` | a part of what happened in a task |
//! | `GET events?task=ID&plan=RUN` | the tasks, the questions, the plans, and one of them: first all of it, then what changes |
//! | `POST act` | does something: JSON, from our own page |

use std::{convert::Infallible, sync::Arc};

use agents_task::{TaskId, runner::Unavailable};
use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Path, RawQuery, Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
    routing::{get, post},
};
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::json;

use super::{
    Act, Sight, Topic,
    story::story,
    watch::{Watcher, document, trouble},
};
use crate::http::comes_from_page;

/// The longest thing that can be asked for: mostly the prompt of a task that goes on.
const MAX_ACT: usize = 256 * 1024;

/// Nothing from elsewhere, nothing in the page itself, and nobody puts it into a page of theirs.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The files of the page, with what they are.
const FILES: [(&str, &str, &str); 9] = [
    ("", "text/html", include_str!("page/index.html")),
    ("style.css", "text/css", include_str!("page/style.css")),
    ("main.js", "text/javascript", include_str!("page/main.js")),
    ("live.js", "text/javascript", include_str!("page/live.js")),
    ("dom.js", "text/javascript", include_str!("page/dom.js")),
    ("tasks.js", "text/javascript", include_str!("page/tasks.js")),
    ("story.js", "text/javascript", include_str!("page/story.js")),
    ("plans.js", "text/javascript", include_str!("page/plans.js")),
    ("here.js", "text/javascript", include_str!("page/here.js")),
];

#[derive(Clone)]
struct Door {
    sight: Arc<dyn Sight>,
    watcher: Watcher,
}

pub(super) fn router(sight: Arc<dyn Sight>) -> Router {
    let watcher = Watcher::new(Arc::clone(&sight));
    let mut router = Router::new();
    for (name, kind, text) in FILES {
        let kind = format!("{kind}; charset=utf-8");
        let serve = move || async move { ([(header::CONTENT_TYPE, kind)], text) };
        router = router.route(&format!("/{{token}}/{name}"), get(serve));
    }
    router
        .route("/{token}/look/{word}", get(look_at_all))
        .route("/{token}/look/{word}/{name}", get(look_at_one))
        .route("/{token}/story/{task}", get(tell_story))
        .route("/{token}/events", get(events))
        .route("/{token}/act", post(act))
        .fallback(|| async { StatusCode::NOT_FOUND })
        .with_state(Door { sight, watcher })
        .layer(middleware::map_response(guarded))
}

/// What browsers must know about everything that comes from here.
async fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let opener = HeaderValue::from_static("same-origin");
    headers.insert("cross-origin-opener-policy", opener.clone());
    headers.insert("cross-origin-resource-policy", opener);
    response
}

fn json(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// Does what may take a while where that holds up nobody.
async fn waiting(work: impl FnOnce() -> Response + Send + 'static) -> Response {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

async fn look_at_all(
    State(door): State<Door>,
    Path((_, word)): Path<(String, String)>,
) -> Response {
    look(door, Topic::parse(&word, None)).await
}

async fn look_at_one(
    State(door): State<Door>,
    Path((_, word, name)): Path<(String, String, String)>,
) -> Response {
    look(door, Topic::parse(&word, Some(&name))).await
}

async fn look(door: Door, topic: Option<Topic>) -> Response {
    let Some(topic) = topic else { return StatusCode::NOT_FOUND.into_response() };
    waiting(move || json(StatusCode::OK, document(door.sight.look(&topic)))).await
}

async fn tell_story(
    State(door): State<Door>,
    Path((_, task)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(task) = TaskId::parse(&task) else { return StatusCode::NOT_FOUND.into_response() };
    let from = said(query.as_deref(), "from").and_then(|it| it.parse().ok()).unwrap_or(0);
    waiting(move || match story(door.sight.transcripts(), task, from) {
        Ok(story) => json(StatusCode::OK, json!(story).to_string()),
        Err(error) => json(StatusCode::OK, trouble(&Unavailable::because(&error))),
    })
    .await
}

/// A value of a query. Ids and numbers have nothing in them that would be written in another way there.
fn said<'q>(query: Option<&'q str>, key: &str) -> Option<&'q str> {
    let pairs = query?.split('&').filter_map(|it| it.split_once('='));
    pairs.into_iter().find(|(name, _)| *name == key).map(|(_, value)| value)
}

async fn events(
    State(door): State<Door>,
    RawQuery(query): RawQuery,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let one = ["task", "plan"].into_iter().filter_map(|word| {
        let name = said(query.as_deref(), word)?;
        Topic::parse(word, Some(name))
    });
    let topics = [Topic::Tasks, Topic::Asks, Topic::Plans].into_iter().chain(one);
    let streams = topics.map(|topic| {
        let word = topic.word();
        let mut newest = door.watcher.follow(topic);
        newest.mark_changed();
        stream::unfold((word, newest), async |(word, mut newest)| {
            loop {
                newest.changed().await.ok()?;
                let seen = newest.borrow_and_update().clone();
                // Nothing was seen yet.
                let Some(text) = seen else { continue };
                return Some((Ok(Event::default().event(word).data(&*text)), (word, newest)));
            }
        })
        .boxed()
    });
    Sse::new(stream::select_all(streams)).keep_alive(KeepAlive::default())
}

async fn act(State(door): State<Door>, request: Request<Body>) -> Response {
    let headers = request.headers();
    let kind = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let is_json =
        kind.and_then(|it| it.split(';').next()).map(str::trim) == Some("application/json");
    if !comes_from_page(headers) {
        return StatusCode::FORBIDDEN.into_response();
    }
    if !is_json {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response();
    }
    let Ok(body) = to_bytes(request.into_body(), MAX_ACT).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let act: Act = match serde_json::from_slice(&body) {
        Ok(act) => act,
        Err(error) => {
            let message = format!("that cannot be done: {error}");
            let error = Unavailable { message, hint: None };
            return json(StatusCode::BAD_REQUEST, trouble(&error));
        }
    };
    waiting(move || {
        let done = door.sight.act(act);
        door.watcher.stir();
        match done {
            Ok(said) => json(StatusCode::OK, json!({ "done": said }).to_string()),
            Err(error) => json(StatusCode::CONFLICT, trouble(&error)),
        }
    })
    .await
}
