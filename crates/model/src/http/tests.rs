use super::*;

#[test]
fn nothing_is_set_up_before_it_is_needed() {
    let provider = HttpProvider::new("p", Wire::Chat, "https://example.com/v1").unwrap();
    assert!(provider.client.get().is_none());
    assert!(!is_local(&provider.url));
    for url in ["http://localhost:1", "http://127.0.0.1/v1", "http://[::1]:8080"] {
        assert!(is_local(&Url::parse(url).unwrap()), "{url}");
    }
    assert!(!is_local(&Url::parse("http://127.example.com").unwrap()));
}

#[test]
fn a_client_for_the_outside_can_be_had() {
    let provider = HttpProvider::new("p", Wire::Chat, "https://example.com/v1").unwrap();
    provider.client().unwrap();
}
