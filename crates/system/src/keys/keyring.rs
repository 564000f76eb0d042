//! The keyring of the system.

use std::{sync::mpsc, time::Duration};

use keyring::{Entry, Error};
use secrecy::SecretString;

use super::{KeyError, SERVICE, into_secret};

/// Somebody may be asked to unlock it; without anybody there, nobody answers.
const DEADLINE: Duration = Duration::from_secs(20);

/// The key of an account; `None` where there is no keyring, or nothing in it.
pub(super) fn read(account: &str) -> Result<Option<SecretString>, KeyError> {
    let (sender, receiver) = mpsc::channel();
    let account = account.to_owned();
    // The service behind it may wait for ever, and cannot be told not to.
    std::thread::spawn(move || {
        let _ = sender.send(ask(&account));
    });
    receiver.recv_timeout(DEADLINE).unwrap_or(Err(KeyError::Keyring("it does not answer")))
}

fn ask(account: &str) -> Result<Option<SecretString>, KeyError> {
    let password = Entry::new(SERVICE, account).and_then(|entry| entry.get_password());
    // What the keyring says besides is not shown: it may hold what we do not know.
    match password {
        Ok(password) => Ok(into_secret(password)),
        Err(Error::NoEntry | Error::NoDefaultStore | Error::PlatformFailure(_)) => Ok(None),
        Err(Error::NoStorageAccess(_)) => Err(KeyError::Keyring("it is locked")),
        Err(Error::BadEncoding(_)) => Err(KeyError::Keyring("what it holds is not text")),
        Err(Error::Ambiguous(_)) => {
            Err(KeyError::Keyring("it holds more than one key for the account"))
        }
        Err(_) => Err(KeyError::Keyring("it answers with an error")),
    }
}
