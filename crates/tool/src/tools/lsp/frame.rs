//! The frames of the protocol, and addresses of files in it.

use agents_system::digits;
use camino::Utf8PathBuf;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};

/// A message that is larger ends the conversation.
const MAX_MESSAGE: u64 = 64 * 1024 * 1024;
/// So does a header.
const MAX_HEADER: u64 = 4 * 1024;

/// The bytes of a message.
pub(super) fn write(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// The next message; `None` at the end, or when what comes is no message.
pub(super) async fn read(from: &mut BufReader<impl AsyncRead + Unpin>) -> Option<Value> {
    let mut length = None;
    let mut header = (&mut *from).take(MAX_HEADER);
    loop {
        let mut line = Vec::new();
        header.read_until(b'\n', &mut line).await.ok()?;
        let line = std::str::from_utf8(&line).ok()?;
        if !line.ends_with('\n') {
            return None;
        }
        match line.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = digits::decimal(value.trim());
            }
            Some(_) => {}
            None if line.trim().is_empty() => break,
            None => return None,
        }
    }
    let length = length.filter(|it| *it <= MAX_MESSAGE)?;
    // There is room for what comes, not for what is announced: that costs nobody anything.
    let mut body = Vec::new();
    from.take(length).read_to_end(&mut body).await.ok()?;
    // What was cut off is no message, even if what is left of it looks like one.
    (body.len() as u64 == length).then(|| serde_json::from_slice(&body).ok())?
}

/// The address of a file.
pub(super) fn uri(path: &str) -> String {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"/-_.~".contains(&it);
    format!("file://{}", digits::escaped(path, is_plain))
}

/// The file at an address, if it is one.
pub fn path(uri: &str) -> Option<Utf8PathBuf> {
    let escaped = uri.strip_prefix("file://").filter(|it| it.starts_with('/'))?;
    String::from_utf8(digits::unescaped(escaped)?).ok().map(Utf8PathBuf::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_come_back() {
        for file in ["/a/b.rs", "/with space/ä%.rs", "/a:b?c#d"] {
            assert_eq!(path(&uri(file)).unwrap(), file);
        }
        for bad in ["http://x", "file://host/x", "file:///a%2", "file:///%ff", "file:///%+f"] {
            assert_eq!(path(bad), None, "{bad}");
        }
    }

    #[tokio::test]
    async fn messages_come_back_and_what_is_none_is_the_end() {
        let mut bytes = write(&json!({"a": "ä"}));
        bytes.extend(write(&json!([1])));
        let mut reader = BufReader::new(bytes.as_slice());
        assert_eq!(read(&mut reader).await, Some(json!({"a": "ä"})));
        assert_eq!(read(&mut reader).await, Some(json!([1])));
        assert_eq!(read(&mut reader).await, None);
        for bad in [
            "Content-Length: 99999999999\r\n\r\n",
            "Content-Length: 5\r\n\r\n{}",
            "nonsense\r\n\r\n",
            "\r\n\r\n",
            "Content-Length: 2\r\n\r\n{]",
            "Content-Length: 3\r\n\r\n{}",
            &format!("{}Content-Length: 2\r\n\r\n{{}}", "A: b\r\n".repeat(1000)),
        ] {
            assert_eq!(read(&mut BufReader::new(bad.as_bytes())).await, None, "{bad}");
        }
    }

    /// Nothing, but it notes how much room there is for it.
    struct Room(usize);

    impl AsyncRead for Room {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            buffer: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            self.0 = self.0.max(buffer.remaining());
            std::task::Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn whoever_announces_much_and_says_little_costs_little() {
        let mut room = Room(0);
        let announced = format!("Content-Length: {MAX_MESSAGE}\r\n\r\n");
        let mut reader = BufReader::new(announced.as_bytes().chain(&mut room));
        assert_eq!(read(&mut reader).await, None);
        assert!(room.0 < 1024 * 1024, "room for {} bytes", room.0);
    }
}
