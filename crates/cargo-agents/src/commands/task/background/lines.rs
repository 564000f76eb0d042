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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// Everything that can be read, and whether it ended in an error.
    fn read_all(bytes: &[u8], most: u64) -> (Vec<Value>, bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut from = BufReader::new(bytes);
            let mut values = Vec::new();
            loop {
                match read(&mut from, most).await {
                    Ok(Some(value)) => values.push(value),
                    Ok(None) => return (values, false),
                    Err(_) => return (values, true),
                }
            }
        })
    }

    #[test]
    fn a_line_that_is_cut_off_or_too_long_is_an_error() {
        assert_eq!(read_all(b"1\n2\n", SHORT), (vec![1.into(), 2.into()], false));
        assert_eq!(read_all(b"1\n2", SHORT), (vec![1.into()], true));
        assert_eq!(read_all(b"12\n123\n", 3), (vec![12.into()], true));
    }

    proptest! {
        #[test]
        fn every_line_is_a_value_or_the_end(text in "([0-9\"\\[\\]x]{0,3}\n?){0,12}") {
            let (values, failed) = read_all(text.as_bytes(), 16);
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let read = lines.iter().map_while(|it| {
                it.strip_suffix('\n').and_then(|it| serde_json::from_str(it).ok())
            });
            prop_assert_eq!(&values, &read.collect::<Vec<Value>>());
            prop_assert_eq!(failed, values.len() < lines.len());
        }

        #[test]
        fn any_bytes_come_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let (values, failed) = read_all(&bytes, 16);
            prop_assert!(failed || values.len() == bytes.iter().filter(|it| **it == b'\n').count());
        }

        #[test]
        fn what_is_written_is_read_again(texts in prop::collection::vec(".*", 0..5)) {
            let values: Vec<Value> = texts.into_iter().map(Value::String).collect();
            let lines: Vec<u8> = values.iter().flat_map(|it| line(it).unwrap()).collect();
            prop_assert_eq!(read_all(&lines, LONG), (values, false));
        }
    }
}
