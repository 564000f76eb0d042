//! Keys, as all rooms find them ([`agents_system::keys`]), and what keeps them out of what people read.

pub use agents_system::keys::{COMMAND_DEADLINE, Key, KeyError, KeySource, SERVICE, find_key};
use agents_system::{env, keys::into_secret};
use secrecy::{ExposeSecret as _, SecretString};

use crate::http::mask::mask;

/// What must not be shown: secrets that may stand in what a program or a server says.
#[derive(Debug, Clone, Default)]
pub struct Mask(Vec<SecretString>);

impl Mask {
    /// Shorter texts stand everywhere by accident.
    const SHORTEST: usize = 8;

    /// Hides these.
    #[must_use]
    pub fn of(secrets: impl IntoIterator<Item = SecretString>) -> Self {
        let long = |secret: &SecretString| secret.expose_secret().len() >= Self::SHORTEST;
        Self(secrets.into_iter().filter(long).collect())
    }

    /// Hides what stands in variables whose names say that it is secret: children inherit them, and some print them.
    #[must_use]
    pub fn of_environment() -> Self {
        Self::of(env::secrets().into_iter().filter_map(into_secret))
    }

    /// The text without them.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        mask(text, &self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_hidden_everywhere() {
        let mask = Mask::of(["sk-planted", "abc", "other-secret"].map(SecretString::from));
        assert_eq!(
            mask.hide("key sk-planted, again sk-planted; abc; other-secret"),
            "key ***, again ***; abc; ***"
        );
    }
}
