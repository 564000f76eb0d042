//! Keys do not appear in what people read, also not in part.

use secrecy::{ExposeSecret as _, SecretString};

/// So much of a key in a row gives it away. Providers like to quote the beginning and the end.
const RUN: usize = 8;

/// What is shorter than that hides nothing, and would make holes into every text.
const SHORTEST: usize = 3;

/// The text with everything that is part of a secret replaced.
pub(crate) fn mask<'a>(text: &str, secrets: impl IntoIterator<Item = &'a SecretString>) -> String {
    let bytes = text.as_bytes();
    let mut hidden = vec![false; bytes.len()];
    for secret in secrets {
        let secret = secret.expose_secret().as_bytes();
        if secret.len() < SHORTEST {
            continue;
        }
        for window in secret.windows(RUN.min(secret.len())) {
            for at in memchr::memmem::find_iter(bytes, window) {
                hidden[at..at + window.len()].fill(true);
            }
        }
    }
    let mut masked = String::with_capacity(text.len());
    let mut before = false;
    for (at, letter) in text.char_indices() {
        match (hidden[at], before) {
            (false, _) => masked.push(letter),
            (true, false) => masked.push_str("***"),
            (true, true) => {}
        }
        before = hidden[at];
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str, secrets: &[&str]) -> String {
        let secrets: Vec<SecretString> = secrets.iter().map(|it| (*it).into()).collect();
        mask(text, &secrets)
    }

    #[test]
    fn whole_keys_and_parts_of_them_are_gone() {
        let key = "sk-proj-0123456789abcdef";
        assert_eq!(masked(&format!("bad key {key}!"), &[key]), "bad key ***!");
        assert_eq!(masked("bad key sk-proj-0123****cdef", &[key]), "bad key *******cdef");
        assert_eq!(masked("ends with 9abcdef, as said", &[key]), "ends with 9abcdef, as said");
        assert_eq!(masked("ends with 89abcdef", &[key]), "ends with ***");
        assert_eq!(masked(&format!("{key}{key}"), &[key]), "***");
        assert_eq!(masked("short: pw1 pw", &["pw1", "", "sh"]), "short: *** pw");
        assert_eq!(masked("ä schlüssel€ ö", &["schlüssel€"]), "ä *** ö");
    }
}
