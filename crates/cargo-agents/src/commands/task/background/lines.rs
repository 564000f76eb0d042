//! Values of JSON, one a line, of which nobody can make us read too much.

use std::io;

use serde::{Serialize, de::DeserializeOwned};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};

/// The longest hello.
pub(super) const SHORT: u64 = 4 * 1024;
/// The longest line: an assignment, a result.
pub(super) const LONG: u64 = 128 * 1024 * 1024;

/// The next value; `None` at the end.
///
/// # Errors
/// It cannot be read, is too long, or is not what is expected.
pub(super) async fn read<T: DeserializeOwned>(
    from: &mut BufReader<impl AsyncRead + Unpin>,
    most: u64,
) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    (&mut *from).take(most).read_until(b'\n', &mut line).await?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        let why = if line.len() as u64 >= most { "a line is too long" } else { "it is cut off" };
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    let value = serde_json::from_slice(&line);
    // What is not understood may hold keys: only where it is wrong is told.
    value.map(Some).map_err(|error| {
        let why = format!("not understood: {:?} at column {}", error.classify(), error.column());
        io::Error::new(io::ErrorKind::InvalidData, why)
    })
}

/// Writes one.
///
/// # Errors
/// Nobody takes it.
pub(super) async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    value: &impl Serialize,
) -> io::Result<()> {
    to.write_all(&line(value)?).await?;
    to.flush().await
}

/// One, as it is written.
///
/// # Errors
/// It has no such form.
pub(super) fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}
