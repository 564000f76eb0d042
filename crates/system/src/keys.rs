//! Keys: from the environment, the keyring of the system, or a command; other secrets also from files that are encrypted with age.
//! Never from a configuration file.
//!
//! A key is a [`SecretString`] from the moment it is read: it is not printed, and its memory is wiped when it is dropped.
//! No error of this module holds anything that a key command or a keyring said.

use std::{fmt, time::Duration};

use secrecy::{ExposeSecret as _, SecretString, zeroize::Zeroize as _};

use crate::{
    env,
    explain::{Code, ErrorKind, Explain},
    process::{Call, ProcessError, ending},
};

mod age;
#[cfg(feature = "keyring")]
mod keyring;

pub use self::age::{AgeError, AgeFile, Unlock};

/// The service under which keys stand in a keyring; the account is the name of whoever the key is for.
pub const SERVICE: &str = "cargo-agents";
/// How long a key command may take; long enough for somebody to unlock something.
pub const COMMAND_DEADLINE: Duration = Duration::from_secs(30);
/// More than any key has.
const MAX_KEY: usize = 64 * 1024;

/// Where a key may be.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeySource {
    /// In this variable.
    Env(String),
    /// This command prints it.
    Command(Vec<String>),
    /// In the keyring of the system, for this account.
    Keyring(String),
}

/// In words, without a key: of a command only the program is shown, for its arguments are the user's own affair.
impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "`{name}`"),
            Self::Command(words) => {
                write!(f, "the command `{}`", words.first().map_or("", String::as_str))
            }
            Self::Keyring(account) => {
                write!(f, "the keyring (service `{SERVICE}`, account `{account}`)")
            }
        }
    }
}

/// A key, and where it was.
#[derive(Debug, Clone)]
pub struct Key {
    /// The key.
    pub secret: SecretString,
    /// Where it was.
    pub from: KeySource,
}

/// A source is there and gives no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The command cannot be run, or takes too long.
    #[error("the key command `{program}` did not run")]
    NotRun {
        /// The program.
        program: String,
        /// Why.
        source: ProcessError,
    },
    /// The command failed.
    #[error("the key command `{program}` ended with {ending}")]
    Failed {
        /// The program.
        program: String,
        /// How.
        ending: String,
    },
    /// The command printed nothing, or nothing that can be a key.
    #[error("the key command `{program}` printed {printed}")]
    NoKey {
        /// The program.
        program: String,
        /// What it was instead.
        printed: NotAKey,
    },
    /// The keyring does not answer, or not with a key.
    #[error("the keyring could not be read: {0}")]
    Keyring(&'static str),
}

/// What a command printed instead of a key. No word of it is told: it may be half a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAKey {
    /// Nothing but space.
    #[error("no key")]
    Nothing,
    /// A message, or several keys.
    #[error("more than one line, which is no key")]
    Lines,
    /// Bytes that are not UTF-8.
    #[error("what is not text, which is no key")]
    NotText,
    /// Text for a terminal.
    #[error("control characters, which no key has")]
    ControlCharacters,
}

impl Explain for KeyError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NotRun { source: ProcessError::Interrupted, .. } => ErrorKind::Cancelled,
            _ => ErrorKind::Usage,
        }
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::NotRun { source: ProcessError::Interrupted, .. } => None,
            _ => Some(Code::NoKey),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotRun { .. } | Self::Failed { .. } | Self::NoKey { .. } => {
                "run it by hand: it must print the key and nothing else".to_owned()
            }
            Self::Keyring(_) => "unlock it, or put the key into a variable (`key-env`)".to_owned(),
        })
    }
}

/// The first source that has a key; `None` if none of them has one. A command that fails is an error, because somebody meant it
/// to work; a system without a keyring is not.
pub fn find_key(sources: &[KeySource]) -> Result<Option<Key>, KeyError> {
    for source in sources {
        let secret = match source {
            KeySource::Env(name) => env::named_by_config(name).and_then(into_secret),
            KeySource::Command(words) => Some(run(words)?),
            KeySource::Keyring(account) => in_keyring(account)?,
        };
        if let Some(secret) = secret {
            return Ok(Some(Key { secret, from: source.clone() }));
        }
    }
    Ok(None)
}

/// The text without space around it; nothing, if that is all there is. The text itself is wiped.
#[must_use]
pub fn into_secret(mut text: String) -> Option<SecretString> {
    let trimmed = text.trim();
    // A copy of exactly the right size: shrinking the original could leave a part of it behind.
    let secret = (!trimmed.is_empty()).then(|| SecretString::from(trimmed));
    text.zeroize();
    secret
}

#[cfg(unix)]
fn run(words: &[String]) -> Result<SecretString, KeyError> {
    use crate::process::{Bounds, Job, run_together};
    let program = words.first().cloned().unwrap_or_default();
    let call = Call::new(&program).args(words.iter().skip(1)).deadline(COMMAND_DEADLINE);
    let bounds = Bounds { whole: COMMAND_DEADLINE, grace: Duration::from_secs(1), output: MAX_KEY };
    // Through pipes: what goes through a file is on a disk.
    let mut ran = run_together(&[Job { call: &call, stdin: b"" }], bounds);
    let Some(mut ran) = ran.pop() else {
        return Err(KeyError::NoKey { program, printed: NotAKey::Nothing });
    };
    ran.stderr.zeroize();
    let printed = std::mem::take(&mut ran.stdout);
    match ran.ending {
        Ok(status) if status.success() => secret_of(printed, &program),
        Ok(status) => {
            wipe(printed);
            Err(KeyError::Failed { program, ending: ending(status) })
        }
        Err(source) => {
            wipe(printed);
            Err(KeyError::NotRun { program, source })
        }
    }
}

#[cfg(not(unix))]
fn run(words: &[String]) -> Result<SecretString, KeyError> {
    let program = words.first().cloned().unwrap_or_default();
    let call = Call::new(&program).args(words.iter().skip(1)).deadline(COMMAND_DEADLINE);
    match call.capture() {
        Ok(ran) if ran.status.success() => secret_of(ran.stdout, &program),
        Ok(ran) => Err(KeyError::Failed { program, ending: ending(ran.status) }),
        Err(source) => Err(KeyError::NotRun { program, source }),
    }
}

fn wipe(mut bytes: Vec<u8>) {
    bytes.zeroize();
}

/// The first line, if it is the only one.
fn secret_of(bytes: Vec<u8>, program: &str) -> Result<SecretString, KeyError> {
    let no_key = |printed| KeyError::NoKey { program: program.to_owned(), printed };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            wipe(error.into_bytes());
            return Err(no_key(NotAKey::NotText));
        }
    };
    let secret = into_secret(text).ok_or_else(|| no_key(NotAKey::Nothing))?;
    if secret.expose_secret().contains('\n') {
        return Err(no_key(NotAKey::Lines));
    }
    // A key goes into a header, where such characters cannot stand.
    if secret.expose_secret().chars().any(char::is_control) {
        return Err(no_key(NotAKey::ControlCharacters));
    }
    Ok(secret)
}

#[cfg(feature = "keyring")]
fn in_keyring(account: &str) -> Result<Option<SecretString>, KeyError> {
    keyring::read(account)
}

#[cfg(not(feature = "keyring"))]
fn in_keyring(_account: &str) -> Result<Option<SecretString>, KeyError> {
    Ok(None)
}

#[cfg(test)]
mod tests;
