//! Text in lines, from and to another program, none of which is longer than agreed.

use std::io;

use futures_util::{Sink, Stream, sink, stream};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};

/// The longest message of ACP, in either direction: whole files may be in it.
pub const MAX_ACP: u64 = 64 * 1024 * 1024;

/// The lines of another program, without their ends. One that is longer than agreed is an error, and the last that comes: whoever goes on
/// without an end does not take all of the memory. What is not UTF-8 is replaced, so that a byte that is wrong spoils its own line and no
/// other.
pub fn read<R>(from: R, most: u64) -> impl Stream<Item = io::Result<String>> + Send + 'static
where
    R: AsyncRead + Send + Unpin + 'static,
{
    stream::try_unfold(Some(BufReader::new(from)), move |from| async move {
        let Some(mut from) = from else { return Ok(None) };
        let mut line = Vec::new();
        (&mut from).take(most.saturating_add(1)).read_until(b'\n', &mut line).await?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.len() as u64 > most {
            return Err(io::Error::other(format!("a line of more than {most} bytes")));
        }
        // Without its end it is the last one.
        let whole = line.strip_suffix(b"\n");
        let rest = whole.is_some().then_some(from);
        let text = whole.unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        Ok(Some((String::from_utf8_lossy(text).into_owned(), rest)))
    })
}

/// Takes lines for another program. That it has gone is no error here: whoever reads its lines meets their end, and one of the two must be
/// first.
pub fn write<W>(to: W) -> impl Sink<String, Error = io::Error> + Send + 'static
where
    W: AsyncWrite + Send + Unpin + 'static,
{
    sink::unfold(to, |mut to: W, line: String| async move {
        let mut bytes = line.into_bytes();
        bytes.push(b'\n');
        let written = async {
            to.write_all(&bytes).await?;
            to.flush().await
        };
        match written.await {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(to),
        }
    })
}

#[cfg(test)]
mod tests {
    use futures_util::{SinkExt as _, StreamExt as _};

    use super::*;

    async fn all(bytes: &'static [u8], most: u64) -> Vec<Result<String, String>> {
        let lines = read(bytes, most).map(|it| it.map_err(|error| error.to_string()));
        lines.collect().await
    }

    #[tokio::test]
    async fn lines_come_through_and_one_without_an_end_does_not() {
        let fine = |lines: &[&str]| lines.iter().map(|it| Ok((*it).to_owned())).collect::<Vec<_>>();
        assert_eq!(all(b"1234\n\r\n12\n1234", 5).await, fine(&["1234", "", "12", "1234"]));
        assert_eq!(all(b"", 5).await, []);
        let too_long = Err("a line of more than 5 bytes".to_owned());
        assert_eq!(all(b"12\n123456\n1\n", 5).await, [Ok("12".to_owned()), too_long]);
        let endless = read(tokio::io::repeat(b'x'), 100_000).collect::<Vec<_>>().await;
        assert!(matches!(endless[..], [Err(_)]));
    }

    #[tokio::test]
    async fn a_wrong_byte_spoils_its_own_line() {
        let lines: Vec<String> =
            all(b"one\nt\xffo\nthree\n", 99).await.into_iter().flatten().collect();
        assert_eq!(lines, ["one", "t\u{fffd}o", "three"]);
    }

    #[tokio::test]
    async fn what_is_written_is_lines() {
        let (ours, theirs) = tokio::io::duplex(64);
        let mut sink = Box::pin(write(ours));
        sink.send("one".to_owned()).await.unwrap();
        sink.send("two".to_owned()).await.unwrap();
        drop(sink);
        let lines: Vec<String> = read(theirs, 99).map(Result::unwrap).collect().await;
        assert_eq!(lines, ["one", "two"]);

        let (ours, theirs) = tokio::io::duplex(64);
        drop(theirs);
        Box::pin(write(ours)).send("to nobody".to_owned()).await.unwrap();
    }
}
