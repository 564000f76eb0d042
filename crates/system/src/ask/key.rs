//! From bytes to keys.

/// A key that means something to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    First,
    Last,
    Enter,
    /// Escape.
    Cancel,
    /// Ctrl-C, Ctrl-D.
    Interrupt,
    Char(char),
    /// Anything else.
    Unknown,
}

/// What the first bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decoded {
    /// A key, and how many bytes it took.
    Key(Key, usize),
    /// The beginning of something. If nothing follows soon, an escape byte alone was the escape key.
    Incomplete,
}

const ESCAPE: u8 = 0x1b;
/// More parameters than any key has.
const MAX_PARAMETERS: usize = 64;

/// The first key of what was typed.
pub(super) fn decode(typed: &[u8]) -> Decoded {
    match typed {
        [] | [ESCAPE] => Decoded::Incomplete,
        [ESCAPE, b'[', rest @ ..] => control_sequence(rest),
        // Whoever wants it to end is heard, also after an escape.
        [ESCAPE, 0x03 | 0x04, ..] => Decoded::Key(Key::Interrupt, 2),
        [ESCAPE, b'O'] => Decoded::Incomplete,
        [ESCAPE, b'O', 0..0x20, ..] => Decoded::Key(Key::Unknown, 2),
        [ESCAPE, b'O', last, ..] => Decoded::Key(movement(*last, &[]), 3),
        [ESCAPE, ESCAPE, ..] => Decoded::Key(Key::Cancel, 1),
        // A key with Alt held.
        [ESCAPE, _, ..] => Decoded::Key(Key::Unknown, 2),
        [0x03 | 0x04, ..] => Decoded::Key(Key::Interrupt, 1),
        [b'\r' | b'\n', ..] => Decoded::Key(Key::Enter, 1),
        // Ctrl-P and Ctrl-N, as in every line editor.
        [0x10, ..] => Decoded::Key(Key::Up, 1),
        [0x0e | b'\t', ..] => Decoded::Key(Key::Down, 1),
        _ => character(typed),
    }
}

/// What follows `ESC [`: parameters, then one byte that says what it is. Any other byte is a key of its own, and ends it.
fn control_sequence(rest: &[u8]) -> Decoded {
    match rest.iter().position(|byte| !(0x20..0x40).contains(byte)) {
        Some(end) if (0x40..=0x7e).contains(&rest[end]) => {
            Decoded::Key(movement(rest[end], &rest[..end]), 2 + end + 1)
        }
        Some(end) => Decoded::Key(Key::Unknown, 2 + end),
        None if rest.len() > MAX_PARAMETERS => Decoded::Key(Key::Unknown, 2 + rest.len()),
        None => Decoded::Incomplete,
    }
}

/// The keys in what was typed, in words, each with its length. What is left at the end has only begun.
pub(super) fn keys(mut typed: &[u8]) -> Vec<(String, usize)> {
    let mut keys = Vec::new();
    while let Decoded::Key(key, length) = decode(typed) {
        keys.push((format!("{key:?}"), length));
        typed = typed.get(length..).unwrap_or_default();
    }
    keys
}

fn movement(last: u8, parameters: &[u8]) -> Key {
    match (last, parameters) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'H', _) | (b'~', b"1" | b"7") => Key::First,
        (b'F', _) | (b'~', b"4" | b"8") => Key::Last,
        (b'M', b"") => Key::Enter,
        _ => Key::Unknown,
    }
}

fn character(typed: &[u8]) -> Decoded {
    let valid = match std::str::from_utf8(typed) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(&typed[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(error) => {
            let bad = error.error_len();
            return bad.map_or(Decoded::Incomplete, |length| Decoded::Key(Key::Unknown, length));
        }
    };
    match valid.chars().next() {
        Some(c) if c.is_control() => Decoded::Key(Key::Unknown, c.len_utf8()),
        Some(c) => Decoded::Key(Key::Char(c), c.len_utf8()),
        None => Decoded::Incomplete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_the_keys_that_terminals_send_for_them() {
        for (typed, key, length) in [
            (&b"\x1b[A"[..], Key::Up, 3),
            (b"\x1bOA", Key::Up, 3),
            (b"\x1b[1;5A", Key::Up, 6),
            (b"\x1b[B\x1b[B", Key::Down, 3),
            (b"\x10", Key::Up, 1),
            (b"\x0e", Key::Down, 1),
            (b"\x1b[H", Key::First, 3),
            (b"\x1b[1~", Key::First, 4),
            (b"\x1b[4~x", Key::Last, 4),
            (b"\x1b[200~", Key::Unknown, 6),
            (b"\x1bx", Key::Unknown, 2),
            (b"\x1b\x1b", Key::Cancel, 1),
            (b"\x03", Key::Interrupt, 1),
            (b"\x04", Key::Interrupt, 1),
            (b"\x1b\x03", Key::Interrupt, 2),
            (b"\x1b[1\x03", Key::Unknown, 3),
            (b"\x1bO\x03", Key::Unknown, 2),
            (b"\r", Key::Enter, 1),
            (b"\n", Key::Enter, 1),
            (b" ", Key::Char(' '), 1),
            ("é!".as_bytes(), Key::Char('é'), 2),
            (b"a\xff", Key::Char('a'), 1),
            (b"\xffa", Key::Unknown, 1),
            (b"\x7f", Key::Unknown, 1),
        ] {
            assert_eq!(decode(typed), Decoded::Key(key, length), "{typed:?}");
        }
    }

    #[test]
    fn a_key_that_has_only_begun_is_waited_for() {
        for typed in [&b""[..], b"\x1b", b"\x1b[", b"\x1b[1;5", b"\x1bO", b"\xc3"] {
            assert_eq!(decode(typed), Decoded::Incomplete, "{typed:?}");
        }
    }
}
