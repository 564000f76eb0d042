//! Bytes in lines, none of which is longer than agreed.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};

/// Reads what somebody else says in lines, for a reader that keeps each until its end: a line that is longer than agreed is an error, so
/// that nobody who goes on without an end takes all of the memory.
#[derive(Debug)]
pub struct BoundedLines<R> {
    inner: R,
    most: usize,
    /// How much of the line there is so far.
    length: usize,
}

impl<R> BoundedLines<R> {
    /// Lines of at most so many bytes.
    pub fn new(inner: R, most: usize) -> Self {
        Self { inner, most, length: 0 }
    }

    fn count(&mut self, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.split_inclusive(|it| *it == b'\n') {
            self.length += part.len();
            if self.length > self.most {
                let most = self.most;
                return Err(io::Error::other(format!("a line of more than {most} bytes")));
            }
            if part.ends_with(b"\n") {
                self.length = 0;
            }
        }
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let counted = self.count(&buffer.filled()[before..]);
        if counted.is_err() {
            // Where there is an error, nothing was read.
            buffer.set_filled(before);
        }
        Poll::Ready(counted)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn read(bytes: &[u8], most: usize, size: usize) -> io::Result<Vec<u8>> {
        let mut lines = BoundedLines::new(bytes, most);
        let mut all = Vec::new();
        loop {
            let mut buffer = vec![0; size];
            match lines.read(&mut buffer).await? {
                0 => return Ok(all),
                length => all.extend_from_slice(&buffer[..length]),
            }
        }
    }

    #[tokio::test]
    async fn lines_come_through_and_one_without_an_end_does_not() {
        for size in [1, 2, 5, 100] {
            assert_eq!(read(b"1234\n\n12\n1234", 5, size).await.unwrap(), b"1234\n\n12\n1234");
            let error = read(b"12\n12345678", 5, size).await.unwrap_err();
            assert_eq!(error.to_string(), "a line of more than 5 bytes");
        }
        let mut endless = BoundedLines::new(tokio::io::repeat(b'x'), 100_000);
        assert!(endless.read_to_end(&mut Vec::new()).await.is_err());
    }
}
