//! What `OLLAMA_HOST` may look like.

const PORT: u16 = 11434;

/// The address to ask Ollama at, from what its own variable says: `127.0.0.1`, `:8080`, `https://example.com/ollama`. The
/// address to listen on everywhere is one of this machine for whoever asks.
#[must_use]
pub fn ollama_url(host: &str) -> String {
    let host = host.trim().trim_matches(['"', '\'']);
    let (scheme, rest) = host.split_once("://").unwrap_or(("", host));
    let (authority, path) = match rest.split_once('/') {
        Some((authority, path)) => (authority, path.trim_end_matches('/')),
        None => (rest, ""),
    };
    let (name, port) = match authority.rsplit_once(':') {
        // `[::1]` has colons of its own.
        Some((name, port)) if !port.ends_with(']') => (name, port.parse::<u16>().ok()),
        _ => (authority, None),
    };
    let name = match name {
        "" | "0.0.0.0" => "127.0.0.1",
        "[::]" => "[::1]",
        name => name,
    };
    let (scheme, usual) = match scheme {
        "https" => ("https", 443),
        "http" => ("http", 80),
        _ => ("http", PORT),
    };
    let port = port.unwrap_or(usual);
    let path = if path.is_empty() { String::new() } else { format!("/{path}") };
    let port = match (scheme, port) {
        ("https", 443) | ("http", 80) => String::new(),
        (_, port) => format!(":{port}"),
    };
    format!("{scheme}://{name}{port}{path}/v1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_that_ollama_takes_is_an_address() {
        for (host, url) in [
            ("", "http://127.0.0.1:11434/v1"),
            ("127.0.0.1", "http://127.0.0.1:11434/v1"),
            ("127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
            (":8080", "http://127.0.0.1:8080/v1"),
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0:1", "http://127.0.0.1:1/v1"),
            ("http://example.com", "http://example.com/v1"),
            ("https://example.com", "https://example.com/v1"),
            ("https://example.com:8443/ollama/", "https://example.com:8443/ollama/v1"),
            ("example.com/x", "http://example.com:11434/x/v1"),
            ("[::1]", "http://[::1]:11434/v1"),
            ("[::]:5", "http://[::1]:5/v1"),
            ("\"quoted:7\"", "http://quoted:7/v1"),
            ("example.com:99999", "http://example.com:11434/v1"),
        ] {
            assert_eq!(ollama_url(host), url, "{host}");
        }
    }
}
