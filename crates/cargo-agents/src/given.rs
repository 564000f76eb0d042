//! Texts that a command line names: in a file, in a pipe (`<(…)` of a shell is one), on standard input. Whatever it is, it may be waited for, and it
//! may not go on for ever.

use std::io::{self, Read};

use camino::Utf8Path;

/// More than anybody has to say, and less than fills the memory.
const MAX_TEXT: u64 = 16 * 1024 * 1024;

/// The text in what is at this path.
pub(crate) fn text_in(file: &Utf8Path) -> io::Result<String> {
    read_all(fs_err::File::open(file)?, &format!("`{file}`"))
}

/// The text on standard input.
pub(crate) fn standard_input() -> io::Result<String> {
    read_all(io::stdin().lock(), "standard input")
}

fn read_all(source: impl Read, name: &str) -> io::Result<String> {
    let mut bytes = Vec::new();
    source.take(MAX_TEXT + 1).read_to_end(&mut bytes)?;
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{name} {what}"));
    if bytes.len() as u64 > MAX_TEXT {
        return Err(wrong(&format!("is longer than {MAX_TEXT} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| wrong("is not valid UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_an_error() {
        let error = text_in("/dev/zero".into()).unwrap_err().to_string();
        assert_eq!(error, "`/dev/zero` is longer than 16777216 bytes");
        assert_eq!(text_in("/dev/null".into()).unwrap(), "");
        assert_eq!(read_all(&b"\xff"[..], "it").unwrap_err().to_string(), "it is not valid UTF-8");
    }
}
