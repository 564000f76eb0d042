use super::*;

#[test]
fn nothing_is_set_up_before_it_is_needed() {
    let provider = HttpProvider::new("p", Wire::Chat, "https://example.com/v1").unwrap();
    assert!(provider.client.get().is_none());
    assert!(!provider.is_local());
    for url in ["http://localhost:1", "http://127.0.0.1/v1", "http://[::1]:8080"] {
        assert!(HttpProvider::new("p", Wire::Chat, url).unwrap().is_local(), "{url}");
    }
}

#[test]
fn a_client_for_the_outside_can_be_had() {
    let provider = HttpProvider::new("p", Wire::Chat, "https://example.com/v1").unwrap();
    provider.client().unwrap();
}
