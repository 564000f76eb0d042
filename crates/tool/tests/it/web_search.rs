//! Services that search, over real HTTP, with answers in their real shapes.

use std::{
    io::{BufRead as _, Read as _, Write as _},
    net::TcpListener,
    sync::{Arc, Mutex},
};

use agents_tool::{
    Output, ToolError, Typed as _,
    tools::web::{Service, WebSearch, WebSearchInput},
};
use secrecy::SecretString;

use crate::Agent;

const KEY: &str = "sk-planted-planted";

/// What Brave answers, without what we do not read.
const BRAVE: &str = r#"{"type":"search","query":{"original":"tokio select","more_results_available":true},
    "mixed":{"type":"mixed","main":[{"type":"web","index":0,"all":false}]},
    "web":{"type":"search","family_friendly":true,"results":[
    {"title":"select in tokio - Rust","url":"https://docs.rs/tokio/latest/tokio/macro.select.html","is_source_local":false,
     "description":"Waits on multiple <strong>concurrent</strong> branches &amp; more","profile":{"name":"Docs"},"language":"en"},
    {"title":"no address","description":"x"},
    {"title":"Two","url":"https://tokio.rs/","description":"y"}]}}"#;

const TAVILY: &str = r#"{"query":"tokio select","follow_up_questions":null,"answer":null,"images":[],"results":[
    {"url":"https://tokio.rs/","title":"Tokio","content":"An asynchronous runtime","score":0.98,"raw_content":null}],
    "response_time":1.2,"request_id":"1"}"#;

const SEARXNG: &str = r#"{"query":"tokio select","number_of_results":0,"results":[
    {"url":"https://tokio.rs/","title":"Tokio","content":"An asynchronous runtime","engine":"duckduckgo","parsed_url":["https","tokio.rs","/","","",""],
     "template":"default.html","engines":["duckduckgo"],"positions":[1],"score":1.0,"category":"general"}],
    "answers":[],"corrections":[],"infoboxes":[],"suggestions":[],"unresponsive_engines":[]}"#;

/// A server that answers everything so, and keeps what it was asked.
fn serve(status: &'static str, body: &'static str) -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heard = Arc::new(Mutex::new(String::new()));
    let keep = Arc::clone(&heard);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut reader = std::io::BufReader::new(stream.try_clone().unwrap());
            let mut asked = String::new();
            while !asked.ends_with("\r\n\r\n") && reader.read_line(&mut asked).unwrap() > 0 {}
            let length = asked.lines().find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok()
            });
            let mut content = vec![0; length.unwrap_or_default()];
            reader.read_exact(&mut content).unwrap();
            asked.push_str(&String::from_utf8(content).unwrap());
            *keep.lock().unwrap() = asked;
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"
            );
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(body.as_bytes());
        }
    });
    (url, heard)
}

fn search(service: Service, url: &str, key: Option<&str>) -> Result<Output, ToolError> {
    let engine = service.at(url, key.map(SecretString::from));
    assert!(!format!("{engine:?}").contains("planted"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let input = WebSearchInput { query: "tokio & select".to_owned(), limit: Some(5) };
    let agent = Agent::new();
    runtime.block_on(WebSearch::new(Arc::new(engine)).run(input, &agent.context))
}

#[test]
fn each_service_is_asked_in_its_own_way() {
    let (url, heard) = serve("200 OK", BRAVE);
    let found = search(Service::Brave, &url, Some(KEY)).unwrap();
    assert_eq!(
        found.text,
        "select in tokio - Rust\nhttps://docs.rs/tokio/latest/tokio/macro.select.html\nWaits on multiple concurrent branches & more\n\n\
         Two\nhttps://tokio.rs/\ny\n"
    );
    let asked = heard.lock().unwrap().clone();
    assert!(
        asked.starts_with("GET /res/v1/web/search?q=tokio+%26+select&count=5 HTTP/1.1\r\n"),
        "{asked}"
    );
    assert!(asked.contains(&format!("x-subscription-token: {KEY}\r\n")), "{asked}");

    let (url, heard) = serve("200 OK", TAVILY);
    let found = search(Service::Tavily, &url, Some(KEY)).unwrap();
    assert_eq!(found.text, "Tokio\nhttps://tokio.rs/\nAn asynchronous runtime\n");
    let asked = heard.lock().unwrap().clone();
    assert!(asked.starts_with("POST /search HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains(&format!("authorization: Bearer {KEY}\r\n")), "{asked}");
    assert!(asked.ends_with(r#"{"query":"tokio & select","max_results":5}"#), "{asked}");

    let (url, heard) = serve("200 OK", SEARXNG);
    let found = search(Service::Searxng, &format!("{url}/"), None).unwrap();
    assert_eq!(found.text, "Tokio\nhttps://tokio.rs/\nAn asynchronous runtime\n");
    let asked = heard.lock().unwrap().clone();
    assert!(
        asked.starts_with("GET /search?q=tokio+%26+select&format=json HTTP/1.1\r\n"),
        "{asked}"
    );
    assert!(!asked.contains("authorization"), "{asked}");
}

#[test]
fn nothing_found_is_no_failure() {
    for (service, body) in [
        (Service::Brave, r#"{"type":"search","query":{"original":"x"}}"#),
        (Service::Tavily, r#"{"results":[]}"#),
    ] {
        let (url, _) = serve("200 OK", body);
        assert_eq!(search(service, &url, Some(KEY)).unwrap(), Output::said("nothing was found"));
    }
}

#[test]
fn what_goes_wrong_is_told_without_the_key() {
    let quotes = r#"{"error":{"code":"SUBSCRIPTION_TOKEN_INVALID","detail":"sk-planted-planted"}}"#;
    for (service, status, body, message) in [
        (
            Service::Brave,
            "422 Unprocessable Entity",
            quotes,
            "does not accept the key or the question",
        ),
        (Service::Tavily, "401 Unauthorized", quotes, "does not accept the key"),
        (Service::Brave, "429 Too Many Requests", quotes, "was asked too often"),
        (Service::Tavily, "432 Plan Limit", quotes, "was asked too often"),
        (Service::Searxng, "403 Forbidden", quotes, "does not answer with JSON"),
        (Service::Brave, "500 Oops", quotes, "has trouble of its own"),
        (
            Service::Brave,
            "302 Found\r\nlocation: http://127.0.0.1:1/",
            quotes,
            "has trouble of its own",
        ),
        (Service::Tavily, "200 OK", "sk-planted-planted", "something that is no JSON"),
        (Service::Tavily, "200 OK", "{}", "without a list of results"),
    ] {
        let (url, _) = serve(status, body);
        let error = search(service, &url, Some(KEY)).unwrap_err();
        use agents_system::explain::Explain as _;
        let everything = format!("{error} {error:?} {:?}", error.hint());
        assert!(everything.contains(message), "{everything}");
        assert!(!everything.contains("planted"), "{everything}");
    }
    let error = search(Service::Brave, "http://127.0.0.1:1", Some(KEY)).unwrap_err().to_string();
    assert!(
        error.contains("Brave Search cannot be asked") && !error.contains("planted"),
        "{error}"
    );
    let error = search(Service::Brave, "http://127.0.0.1:1", Some("sk-\nplanted")).unwrap_err();
    assert_eq!(error.to_string(), "the key in [web.search] cannot be sent");
}
