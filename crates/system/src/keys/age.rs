//! Secrets in files that are encrypted with [age](https://age-encryption.org).

use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use secrecy::SecretString;

use super::{KeyError, KeySource};
use crate::explain::{Code, ErrorKind, Explain};

/// More than any file of secrets has.
#[cfg(feature = "age")]
const MAX_FILE: u64 = 1024 * 1024;

/// A secret in an encrypted file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AgeFile {
    /// The file, armoured or not.
    pub file: Utf8PathBuf,
    /// The secret is in the line `ENTRY=value`; without one, it is all that the file holds.
    pub entry: Option<String>,
    /// What opens it.
    pub unlock: Unlock,
}

/// What opens an encrypted file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Unlock {
    /// The identities in this file.
    Identity(Utf8PathBuf),
    /// The passphrase that this command prints.
    Passphrase(Vec<String>),
}

/// There is no secret to be had from an encrypted file. Nothing that the file holds is in it.
#[derive(Debug, thiserror::Error)]
pub enum AgeError {
    /// One of the files cannot be read.
    #[error("`{file}` cannot be read")]
    Unreadable {
        /// Which.
        file: Utf8PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not one of age's files, or was cut or changed.
    #[error("`{file}` is not a file that age wrote, or it is damaged")]
    NotAge {
        /// Which.
        file: Utf8PathBuf,
    },
    /// There are no identities in it.
    #[error("`{file}` holds no identity of age")]
    NoIdentity {
        /// Which.
        file: Utf8PathBuf,
    },
    /// What opens it does not.
    #[error("`{file}` is not opened by {with}")]
    Locked {
        /// Which.
        file: Utf8PathBuf,
        /// What was tried.
        with: String,
    },
    /// What it holds is not text.
    #[error("what `{file}` holds is not text")]
    NotText {
        /// Which.
        file: Utf8PathBuf,
    },
    /// There is no passphrase.
    #[error("there is no passphrase for `{file}`")]
    NoPassphrase {
        /// For which.
        file: Utf8PathBuf,
        /// Why.
        source: KeyError,
    },
    /// This program was built without age.
    #[error("this program was built without the feature `age`")]
    NotBuilt,
}

impl Explain for AgeError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Usage
    }

    fn code(&self) -> Option<Code> {
        match self {
            Self::NotBuilt => Some(Code::NotBuilt),
            _ => Some(Code::NoSecret),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoPassphrase { source, .. } => source.hint(),
            Self::NoIdentity { .. } => Some(
                "`age-keygen -o FILE` writes one; files with passphrases of their own are not read"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

impl AgeFile {
    /// The secret; `None` if the file has no such entry, or nothing in it.
    ///
    /// # Errors
    /// One of the files is missing or wrong, or does not open.
    #[cfg(feature = "age")]
    pub fn read(&self) -> Result<Option<SecretString>, AgeError> {
        opened::read(self)
    }

    /// The secret; `None` if the file has no such entry, or nothing in it.
    ///
    /// # Errors
    /// Always: this program was built without age.
    #[cfg(not(feature = "age"))]
    pub fn read(&self) -> Result<Option<SecretString>, AgeError> {
        Err(AgeError::NotBuilt)
    }

    /// The first of the files that it takes that is not there. Nothing is opened, and no command is run.
    #[must_use]
    pub fn missing(&self) -> Option<&Utf8Path> {
        let identity = match &self.unlock {
            Unlock::Identity(file) => Some(file.as_path()),
            Unlock::Passphrase(_) => None,
        };
        let mut needed = [Some(self.file.as_path()), identity].into_iter().flatten();
        needed.find(|file| !file.is_file())
    }
}

impl std::fmt::Display for AgeFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.entry {
            Some(entry) => write!(f, "`{entry}` in `{}`", self.file),
            None => write!(f, "`{}`", self.file),
        }
    }
}

impl std::fmt::Display for Unlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Identity(file) => write!(f, "the identities in `{file}`"),
            Self::Passphrase(words) => {
                write!(f, "the passphrase of {}", KeySource::Command(words.clone()))
            }
        }
    }
}

#[cfg(feature = "age")]
mod opened {
    use std::io::Read as _;

    use age::{Decryptor, IdentityFile, armor::ArmoredReader, scrypt};
    use camino::Utf8Path;
    use secrecy::{
        SecretString,
        zeroize::{Zeroize as _, Zeroizing},
    };

    use super::{AgeError, AgeFile, MAX_FILE, Unlock};
    use crate::keys::{into_secret, run};

    pub(super) fn read(secret: &AgeFile) -> Result<Option<SecretString>, AgeError> {
        let text = decrypted(secret)?;
        Ok(match &secret.entry {
            None => into_secret(text.to_string()),
            Some(entry) => find(&text, entry).and_then(|it| into_secret(it.to_owned())),
        })
    }

    /// The value of `ENTRY=value`; the first one counts.
    fn find<'t>(text: &'t str, entry: &str) -> Option<&'t str> {
        text.lines().find_map(|line| {
            let line = line.trim();
            let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
            let value = value.trim();
            let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
            (name.trim() == entry).then(|| quoted('"').or_else(|| quoted('\'')).unwrap_or(value))
        })
    }

    fn decrypted(secret: &AgeFile) -> Result<Zeroizing<String>, AgeError> {
        let AgeFile { file, unlock, .. } = secret;
        let not_age = || AgeError::NotAge { file: file.clone() };
        let bytes = bytes(file)?;
        let decryptor = Decryptor::new(ArmoredReader::new(&bytes[..])).map_err(|_| not_age())?;
        let identities = identities(secret)?;
        let keys = identities.iter().map(|it| &**it as &dyn age::Identity);
        let reader = decryptor.decrypt(keys);
        let locked = |_| AgeError::Locked { file: file.clone(), with: unlock.to_string() };
        let mut plain = Zeroizing::new(Vec::with_capacity(bytes.len()));
        let read = reader.map_err(locked)?.take(MAX_FILE).read_to_end(&mut plain);
        read.map_err(|_| not_age())?;
        match String::from_utf8(std::mem::take(&mut *plain)) {
            Ok(text) => Ok(Zeroizing::new(text)),
            Err(error) => {
                error.into_bytes().zeroize();
                Err(AgeError::NotText { file: file.clone() })
            }
        }
    }

    fn identities(secret: &AgeFile) -> Result<Vec<Box<dyn age::Identity>>, AgeError> {
        match &secret.unlock {
            Unlock::Identity(file) => {
                let none = || AgeError::NoIdentity { file: file.clone() };
                let text = Zeroizing::new(bytes(file)?);
                let found = IdentityFile::from_buffer(&text[..]).map_err(|_| none())?;
                let found = found.into_identities().map_err(|_| none())?;
                if found.is_empty() { Err(none()) } else { Ok(found) }
            }
            Unlock::Passphrase(words) => {
                let file = secret.file.clone();
                let passphrase = run(words);
                let passphrase =
                    passphrase.map_err(|source| AgeError::NoPassphrase { file, source })?;
                Ok(vec![Box::new(scrypt::Identity::new(passphrase))])
            }
        }
    }

    fn bytes(file: &Utf8Path) -> Result<Vec<u8>, AgeError> {
        let unreadable = |source| AgeError::Unreadable { file: file.to_owned(), source };
        let mut bytes = Vec::new();
        let opened = fs_err::File::open(file).map_err(unreadable)?;
        opened.take(MAX_FILE).read_to_end(&mut bytes).map_err(unreadable)?;
        Ok(bytes)
    }
}

#[cfg(test)]
#[cfg(feature = "age")]
mod tests {
    use std::io::Write as _;

    use age::{Encryptor, armor, scrypt, x25519};
    use camino::Utf8Path;
    use secrecy::ExposeSecret as _;

    use super::*;

    const BINARY: fn() -> armor::Format = || armor::Format::Binary;

    struct Chest {
        dir: tempfile::TempDir,
        identity: x25519::Identity,
    }

    impl Chest {
        fn new() -> Self {
            let chest =
                Self { dir: tempfile::tempdir().unwrap(), identity: x25519::Identity::generate() };
            let key = chest.identity.to_string();
            fs_err::write(chest.path("key"), format!("# ours\n{}\n", key.expose_secret())).unwrap();
            chest
        }

        fn path(&self, name: &str) -> Utf8PathBuf {
            Utf8Path::from_path(self.dir.path()).unwrap().join(name)
        }

        fn lock(
            &self,
            name: &str,
            plain: &[u8],
            to: &dyn age::Recipient,
            form: fn() -> armor::Format,
        ) {
            let encryptor = Encryptor::with_recipients(std::iter::once(to)).unwrap();
            let out = armor::ArmoredWriter::wrap_output(Vec::new(), form()).unwrap();
            let mut writer = encryptor.wrap_output(out).unwrap();
            writer.write_all(plain).unwrap();
            let bytes = writer.finish().and_then(armor::ArmoredWriter::finish).unwrap();
            fs_err::write(self.path(name), bytes).unwrap();
        }

        fn secret(&self, name: &str, entry: Option<&str>, unlock: Unlock) -> AgeFile {
            AgeFile { file: self.path(name), entry: entry.map(str::to_owned), unlock }
        }

        fn read(&self, name: &str, entry: Option<&str>) -> Option<String> {
            let secret = self.secret(name, entry, Unlock::Identity(self.path("key")));
            secret.read().unwrap().map(|it| it.expose_secret().to_owned())
        }
    }

    #[test]
    fn whole_files_and_entries_are_read_armoured_or_not() {
        let chest = Chest::new();
        let to = chest.identity.to_public();
        let forms: [fn() -> armor::Format; 2] = [BINARY, || armor::Format::AsciiArmor];
        for form in forms {
            chest.lock("one", b"line one\nline two\n", &to, form);
            assert_eq!(chest.read("one", None).unwrap(), "line one\nline two");
            let many = b"# two of them\nA = plain\nexport B=\"quoted = yes\"\nA=later\nC=\n";
            chest.lock("many", many, &to, form);
            let of = |entry| chest.read("many", Some(entry));
            assert_eq!(
                (of("A").unwrap(), of("B").unwrap()),
                ("plain".into(), "quoted = yes".into())
            );
            assert_eq!((of("C"), of("D")), (None, None));
        }
    }

    #[test]
    fn a_passphrase_is_printed_by_a_command() {
        let chest = Chest::new();
        let mut to = scrypt::Recipient::new(SecretString::from("open sesame"));
        to.set_work_factor(2);
        chest.lock("file", b"planted", &to, BINARY);
        let by = |script: &str| {
            let words = ["sh", "-c", script].map(str::to_owned).to_vec();
            chest.secret("file", None, Unlock::Passphrase(words)).read()
        };
        assert_eq!(by("echo open sesame").unwrap().unwrap().expose_secret(), "planted");
        assert!(matches!(by("echo wrong"), Err(AgeError::Locked { .. })));
        assert!(matches!(by("exit 1"), Err(AgeError::NoPassphrase { .. })));
    }

    #[test]
    fn whatever_is_wrong_is_told_without_a_word_of_what_is_in_it() {
        let chest = Chest::new();
        chest.lock("ours", b"planted-value", &chest.identity.to_public(), BINARY);
        let other = x25519::Identity::generate().to_public();
        chest.lock("theirs", b"planted-value", &other, BINARY);
        chest.lock("bytes", b"planted\xff", &chest.identity.to_public(), BINARY);
        let sealed = fs_err::read(chest.path("ours")).unwrap();
        fs_err::write(chest.path("cut"), &sealed[..sealed.len() - 3]).unwrap();
        fs_err::write(chest.path("plain"), "A=planted-value").unwrap();
        let with_key = |name: &str| chest.secret(name, None, Unlock::Identity(chest.path("key")));
        let told = |secret: AgeFile| {
            let error = secret.read().unwrap_err();
            let all = format!("{error} {error:?} {:?}", error.hint());
            assert!(!all.contains("planted"), "{all}");
            error.to_string().replace(chest.dir.path().to_str().unwrap(), "")
        };
        assert_eq!(told(with_key("gone")), "`/gone` cannot be read");
        assert_eq!(
            told(with_key("plain")),
            "`/plain` is not a file that age wrote, or it is damaged"
        );
        assert_eq!(told(with_key("cut")), "`/cut` is not a file that age wrote, or it is damaged");
        assert_eq!(told(with_key("bytes")), "what `/bytes` holds is not text");
        assert_eq!(told(with_key("theirs")), "`/theirs` is not opened by the identities in `/key`");
        let no_identity = chest.secret("ours", None, Unlock::Identity(chest.path("plain")));
        assert_eq!(told(no_identity), "`/plain` holds no identity of age");
        assert_eq!(with_key("ours").missing(), None);
        assert_eq!(with_key("gone").missing(), Some(chest.path("gone").as_path()));
        let no_key = chest.secret("ours", None, Unlock::Identity(chest.path("gone")));
        assert_eq!(no_key.missing(), Some(chest.path("gone").as_path()));
    }
}
