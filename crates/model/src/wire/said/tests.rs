use super::*;

fn is(status: u16, body: &str) -> &'static str {
    match classify(status, Said::body(body.as_bytes()), None, "m") {
        Problem::Unauthorized { .. } => "unauthorized",
        Problem::RateLimited { retry_after: Some(_), .. } => "later",
        Problem::RateLimited { .. } => "limited",
        Problem::OutOfCredit { .. } => "credit",
        Problem::Overloaded { .. } => "overloaded",
        Problem::ContextTooLong { .. } => "long",
        Problem::Refused { .. } => "refused",
        Problem::UnknownModel { .. } => "model",
        Problem::BadRequest { .. } => "bad",
        _ => "other",
    }
}

#[test]
fn what_providers_say_and_what_it_means() {
    for (status, body, expected) in [
        // Anthropic
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "overloaded",
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            "long",
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}"#,
            "credit",
        ),
        (
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}"#,
            "model",
        ),
        (413, r#"{"type":"error","error":{"type":"request_too_large","message":"x"}}"#, "long"),
        // OpenAI
        (
            400,
            r#"{"error":{"message":"x","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            "long",
        ),
        (
            404,
            r#"{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}"#,
            "model",
        ),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            "credit",
        ),
        (
            429,
            r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#,
            "limited",
        ),
        (
            401,
            r#"{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}"#,
            "unauthorized",
        ),
        // Google
        (
            400,
            r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#,
            "unauthorized",
        ),
        (
            429,
            r#"{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x"},{"retryDelay":"12.5s"}]}}"#,
            "later",
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}}"#,
            "long",
        ),
        // llama.cpp, vLLM, Ollama, a proxy
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            "long",
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","code":400}"#,
            "long",
        ),
        (404, r#"{"error":"model \"x\" not found, try pulling it first"}"#, "model"),
        (502, "<html><body>Bad Gateway</body></html>", "overloaded"),
        (422, r#"{"detail":"nonsense"}"#, "bad"),
        (418, "", "bad"),
        (500, "\u{0}\u{1b}[31m", "overloaded"),
    ] {
        assert_eq!(is(status, body), expected, "{status} {body}");
    }
}

#[test]
fn what_is_quoted_is_one_short_line() {
    assert_eq!(bounded("a\n b\t\u{1b}[31m c "), "a b [31m c");
    assert!(bounded(&"ä".repeat(10_000)).len() < 520);
    assert_eq!(Said::body(b"<html>").message, "a page of HTML");
    assert_eq!(Said::body(b"\xff\xfe").message, "\u{fffd}\u{fffd}");
}
