//! JSON that JavaScript writes and that is none.
//!
//! A string in JavaScript may hold half of a character; written as JSON it becomes `\ud83d` without its
//! other half, which a strict reader refuses. A host cuts texts anywhere, and a model can be made to write
//! such a thing: an input must not get past the hooks by being unreadable.

/// The bytes with halves of characters, escaped or not, replaced by U+FFFD.
pub(super) fn mend(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut mended = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('\\') {
        mended.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                mended.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            (Some(_), _) => 6,
            // The backslash and what it escapes.
            (None, _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        mended.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    mended.push_str(rest);
    mended
}

/// The number in `\uXXXX` at the start of a text.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_halves_are_replaced() {
        let table: [(&[u8], &str); 8] = [
            (br#"{"a":"\ud83d\ude00"}"#, r#"{"a":"\ud83d\ude00"}"#),
            (br#"{"a":"\ud83d"}"#, r#"{"a":"\ufffd"}"#),
            (br#"{"a":"\ude00\ud83d"}"#, r#"{"a":"\ufffd\ufffd"}"#),
            (br#"{"a":"\ud83d\ud83d\ude00"}"#, r#"{"a":"\ufffd\ud83d\ude00"}"#),
            // An escaped backslash, and then just letters.
            (br#"{"a":"\\ud83d"}"#, r#"{"a":"\\ud83d"}"#),
            (br#"{"a":"\n\u00e9\"\\"}"#, r#"{"a":"\n\u00e9\"\\"}"#),
            (b"{\"a\":\"\xff\"}", "{\"a\":\"\u{fffd}\"}"),
            (b"\\", "\\"),
        ];
        for (broken, mended) in table {
            assert_eq!(mend(broken), mended);
        }
    }

    proptest! {
        #[test]
        fn what_is_json_stays_as_it_is(text in any::<String>()) {
            let json = serde_json::Value::from(text).to_string();
            prop_assert_eq!(mend(json.as_bytes()), json);
        }

        #[test]
        fn nothing_makes_it_panic(text in r#"(\\|u|d8|dc00|é|"){0,12}"#) {
            let _ = mend(text.as_bytes());
        }
    }
}
