//! Pages over real HTTP.

use std::{
    io::{BufRead as _, Write as _},
    net::TcpListener,
    sync::Arc,
};

use agents_tool::{
    Output, ToolError, Typed as _,
    tools::web::{
        Engine, Hit, PrivateAddresses, Sites, WebFetch, WebFetchInput, WebSearch, WebSearchInput,
    },
};
use futures_util::future::BoxFuture;

use crate::Agent;

/// Answers every request by its path; ends with the test.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut stream = stream;
                let mut reader = std::io::BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                let _ = reader.read_line(&mut line);
                let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
                while line.trim() != "" {
                    line.clear();
                    let _ = reader.read_line(&mut line);
                }
                let (head, body): (&str, Vec<u8>) = match path.as_str() {
                    "/page" => {
                        ("200 OK\r\ncontent-type: text/html", b"<p>Hello &amp; bye</p>".to_vec())
                    }
                    "/moved" => ("302 Found\r\nlocation: /page", Vec::new()),
                    "/away" => ("302 Found\r\nlocation: http://localhost:1/x", Vec::new()),
                    "/round" => ("302 Found\r\nlocation: /round", Vec::new()),
                    "/file" => ("302 Found\r\nlocation: file:///etc/passwd", Vec::new()),
                    "/image" => ("200 OK\r\ncontent-type: image/png", vec![0, 1, 2]),
                    "/long" => ("200 OK\r\ncontent-type: text/plain", vec![b'x'; 20_000_000]),
                    "/slow" => {
                        std::thread::sleep(std::time::Duration::from_secs(600));
                        ("200 OK", Vec::new())
                    }
                    _ => ("404 Not Found\r\ncontent-type: text/plain", b"not here".to_vec()),
                };
                let _ = stream
                    .write_all(format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n").as_bytes());
                let _ = stream.write_all(&body);
            });
        }
    });
    port
}

fn fetch(agent: &Agent, private: PrivateAddresses, url: &str) -> Result<Output, ToolError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let input = WebFetchInput { url: url.to_owned() };
    runtime.block_on(WebFetch { private, sites: Sites::default() }.run(input, &agent.context))
}

#[test]
fn a_page_is_read_and_bounded() {
    let (agent, port) = (Agent::new(), serve());
    let get = |path: &str| {
        fetch(&agent, PrivateAddresses::Allowed, &format!("http://127.0.0.1:{port}{path}"))
    };
    let page = get("/page").unwrap();
    assert_eq!((page.text.as_str(), page.failed, page.ours), ("Hello & bye", false, false));
    assert_eq!(get("/moved").unwrap().text, "Hello & bye");
    let away = get("/away").unwrap();
    assert!(away.failed && away.text.contains("has moved to `http://localhost:1/x`"), "{away:?}");
    assert!(get("/round").unwrap_err().to_string().contains("more than 5 redirections"));
    assert!(get("/file").unwrap_err().to_string().contains("neither `https:` nor `http:`"));
    assert!(get("/image").unwrap_err().to_string().contains("is not text but `image/png`"));
    let long = get("/long").unwrap().text;
    assert!(long.len() < 8 * 1024 * 1024 + 100 && long.ends_with("bytes were read]"));
    let missing = get("/nowhere").unwrap();
    assert!(missing.failed && missing.text == "404 Not Found\nnot here", "{missing:?}");
}

#[test]
fn what_is_inside_is_refused() {
    let (agent, port) = (Agent::new(), serve());
    for host in ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "127.1", "2130706433", "0x7f.1"] {
        let url = format!("http://{host}:{port}/page");
        let error = fetch(&agent, PrivateAddresses::Refused, &url).unwrap_err().to_string();
        assert!(error.contains("inside of this machine or its network"), "{host}: {error}");
    }
    for url in ["file:///etc/passwd", "ftp://x", "nothing", "http://user:pass@example.com/"] {
        assert!(fetch(&agent, PrivateAddresses::Refused, url).is_err(), "{url}");
    }
}

#[test]
fn a_page_that_does_not_come_costs_no_more_than_the_time_of_the_call() {
    let (mut agent, port) = (Agent::new(), serve());
    agent.context.deadline = std::time::Instant::now() + std::time::Duration::from_millis(300);
    let url = format!("http://127.0.0.1:{port}/slow");
    let error = fetch(&agent, PrivateAddresses::Allowed, &url).unwrap_err();
    assert!(matches!(error, ToolError::TimedOut), "{error}");
}

struct Two;

impl Engine for Two {
    fn search<'a>(
        &'a self,
        query: &'a str,
        _: usize,
    ) -> BoxFuture<'a, Result<Vec<Hit>, ToolError>> {
        let hit = |n: u8| Hit {
            title: format!("{query} {n}"),
            url: format!("https://example.com/{n}"),
            excerpt: "words".to_owned(),
        };
        Box::pin(std::future::ready(Ok(vec![hit(1), hit(2)])))
    }
}

#[test]
fn what_was_found_is_data_and_no_more_than_was_asked_for() {
    let agent = Agent::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let input = WebSearchInput { query: "crates".to_owned(), limit: Some(1) };
    let found = runtime.block_on(WebSearch::new(Arc::new(Two)).run(input, &agent.context)).unwrap();
    assert_eq!(found, Output::data("crates 1\nhttps://example.com/1\nwords\n"));
}
