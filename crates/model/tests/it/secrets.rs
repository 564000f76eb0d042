//! The key is where it has to be, and nowhere else.

use agents_model::{
    HttpProvider, Wire,
    endpoint::{Endpoint, Fault, Reply, Script},
};
use agents_system::explain::Explain as _;
use secrecy::SecretString;

use crate::world::{KEY, ask, provider, request, run};

fn everything(error: &agents_model::ModelError) -> String {
    let mut all = format!("{error} {error:?} {error:#?} {:?} {:?}", error.hint(), error.details());
    let mut cause = std::error::Error::source(error);
    while let Some(it) = cause {
        all.push_str(&format!("{it} {it:?}"));
        cause = it.source();
    }
    all
}

#[test]
fn each_format_has_its_header_for_the_key() {
    let headers = ["x-api-key", "authorization", "authorization", "x-goog-api-key"];
    for (wire, header) in Wire::ALL.into_iter().zip(headers) {
        let endpoint = Endpoint::start(Script::of([Reply::text("x")]));
        run(ask(&provider(wire, &endpoint), request())).complete();
        let received = &endpoint.received()[0];
        let value = received.headers.get(header).unwrap();
        assert_eq!(value.trim_start_matches("Bearer "), KEY, "{wire}");
        assert!(!received.query.contains(KEY) && !received.path.contains(KEY));
        assert!(!received.json.as_ref().unwrap().to_string().contains(KEY));
    }
}

#[test]
fn a_provider_that_quotes_the_key_is_not_quoted() {
    let quoting = [
        Reply::status(401, format!("Incorrect API key provided: {KEY}.")),
        Reply::status(400, format!("key {}... is wrong", &KEY[..14])),
        Reply::text("x").with_fault(Fault::ErrorAfter(0, format!("failed for {KEY}"))),
        Reply::text("x").with_fault(Fault::ErrorAfter(6, format!("failed for {KEY}"))),
        Reply::text("x").with_fault(Fault::ContentType(format!("text/{KEY}"))),
    ];
    for wire in Wire::ALL {
        for reply in &quoting {
            let reply = reply.clone();
            let endpoint = Endpoint::start(Script::rule(move |_| reply.clone()));
            let provider = provider(wire, &endpoint);
            if let Some(error) = run(ask(&provider, request())).error {
                let all = everything(&error);
                assert!(!all.contains(&KEY[..8]), "{wire}: {all}");
            }
            let debug = format!("{provider:?} {provider:#?}");
            assert!(!debug.contains(&KEY[..8]), "{debug}");
        }
    }
}

#[test]
fn addresses_and_headers_may_hold_secrets_too() {
    let secret = "pass-0123456789";
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://user:{secret}@127.0.0.1:{port}/v1?token={secret}");
    let provider = HttpProvider::new("test", Wire::Chat, &url)
        .unwrap()
        .with_header("x-secret", &SecretString::from(secret))
        .unwrap()
        .with_retry(crate::world::quick());
    let error = run(ask(&provider, request())).error.unwrap();
    let all = format!("{} {provider:?}", everything(&error));
    assert!(!all.contains("pass-"), "{all}");
    for url in [format!("ftp://{secret}"), secret.to_owned(), format!("http://[{secret}")] {
        let error = HttpProvider::new("test", Wire::Chat, &url).unwrap_err();
        assert!(!everything(&error).contains(secret));
    }
    let bad = SecretString::from(format!("{secret}\n"));
    let error = HttpProvider::new("test", Wire::Chat, "http://localhost").unwrap().with_key(&bad);
    assert!(!everything(&error.unwrap_err()).contains(secret));
}
