//! What others write in digits: numbers, bytes, and the bytes of addresses.
//!
//! The standard library takes a sign before any number, also before two hexadecimal digits. No format that we read has one there: whoever
//! else reads the same bytes refuses them, or reads something else.

/// A number of decimal digits, and nothing else.
///
/// ```
/// use agents_system::digits::decimal;
///
/// assert_eq!(decimal("0042"), Some(42_u64));
/// assert_eq!(decimal::<u64>("+42"), None);
/// assert_eq!(decimal::<u8>("256"), None);
/// ```
#[must_use]
pub fn decimal<T: TryFrom<u64>>(text: &str) -> Option<T> {
    number(text, 10)
}

/// The same, of hexadecimal digits.
#[must_use]
pub fn hexadecimal<T: TryFrom<u64>>(text: &str) -> Option<T> {
    number(text, 16)
}

fn number<T: TryFrom<u64>>(text: &str, radix: u32) -> Option<T> {
    let digits = text.chars().all(|it| it.is_digit(radix));
    let number = digits.then(|| u64::from_str_radix(text, radix).ok()).flatten()?;
    T::try_from(number).ok()
}

/// Bytes of which each is written in two hexadecimal digits: exactly so many.
#[must_use]
pub fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let mut bytes = [0; N];
    if pairs.len() != N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        *byte = self::byte(*pair)?;
    }
    Some(bytes)
}

fn byte([high, low]: [u8; 2]) -> Option<u8> {
    let digit = |it: u8| char::from(it).to_digit(16);
    u8::try_from(16 * digit(high)? + digit(low)?).ok()
}

/// As it stands in an address: every byte is `%` and two digits, but for those that may be there as they are.
#[must_use]
pub fn escaped(text: &str, is_plain: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        // Half of a character is nothing that can stand for itself.
        if byte.is_ascii() && is_plain(byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// What was escaped; `None` where a `%` has no two digits after it.
#[must_use]
pub fn unescaped(text: &str) -> Option<Vec<u8>> {
    unescape(text.as_bytes(), |_| None)
}

/// The same, of a text in which a `%` that escapes nothing stands for itself.
#[must_use]
pub fn unescaped_lossy(text: &str) -> String {
    let bytes = unescape(text.as_bytes(), Some).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `alone` says what a `%` without digits is.
fn unescape(mut rest: &[u8], alone: impl Fn(u8) -> Option<u8>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(rest.len());
    while let [first, after @ ..] = rest {
        let escaped = after.split_first_chunk().filter(|_| *first == b'%');
        let escaped = escaped.and_then(|(digits, after)| Some((byte(*digits)?, after)));
        let (byte, after) = match escaped {
            Some(escaped) => escaped,
            None if *first == b'%' => (alone(*first)?, after),
            None => (*first, after),
        };
        out.push(byte);
        rest = after;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sign_is_no_digit() {
        assert_eq!((decimal("007"), hexadecimal("fF")), (Some(7_u8), Some(255_u8)));
        for text in ["", "+1", "-1", " 1", "1 ", "0x1", "1_0", "٣", "18446744073709551616"] {
            assert_eq!(decimal::<u64>(text), None, "{text:?}");
        }
        for text in ["", "+f", "-f", "fg", "10000000000000000"] {
            assert_eq!(hexadecimal::<u64>(text), None, "{text:?}");
        }
        assert_eq!(bytes("0aFF"), Some([0x0a, 0xff]));
        for text in ["0aF", "0aFFF", "0a+f", "0a f", "é1", "", "0aff00"] {
            assert_eq!(bytes::<2>(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_escapes_nothing_is_wrong_or_stands_for_itself() {
        assert_eq!(unescaped("a%20%C3%a9").as_deref(), Some("a é".as_bytes()));
        for text in ["%", "%2", "%+5", "%-1", "a%zz", "%é"] {
            assert_eq!(unescaped(text), None, "{text:?}");
            assert_eq!(unescaped_lossy(text), text);
        }
        assert_eq!(unescaped_lossy("%%41%"), "%A%");
        assert_eq!(unescaped_lossy("%ff"), "\u{fffd}");
    }

    proptest! {
        #[test]
        fn what_is_escaped_comes_back(text in ".*", plain in "[a-z/+é]*") {
            let written = escaped(&text, |byte| byte != b'%' && plain.as_bytes().contains(&byte));
            prop_assert!(written.is_ascii());
            prop_assert_eq!(unescaped(&written), Some(text.clone().into_bytes()));
            prop_assert_eq!(unescaped_lossy(&written), text);
        }

        #[test]
        fn a_strict_reader_understands_no_other_bytes(text in "[%+0-9a-f é]{0,12}") {
            if let Some(bytes) = unescaped(&text) {
                prop_assert_eq!(String::from_utf8_lossy(&bytes), unescaped_lossy(&text));
            }
        }

        #[test]
        fn digits_are_what_we_write(number in any::<u64>(), id in any::<[u8; 8]>()) {
            prop_assert_eq!(decimal(&number.to_string()), Some(number));
            prop_assert_eq!(hexadecimal(&format!("{number:x}")), Some(number));
            prop_assert_eq!(bytes(&crate::cache::hex(&id)), Some(id));
        }
    }
}
