//! Proof that a transcript is as it was written.
//!
//! Each record carries a keyed hash of itself and of the one before. Nobody without the key can change, remove, insert or reorder
//! records without being found out; the metadata, which is sealed with the same key, holds the last link, so that cutting off the end of
//! a run that has ended is found out, too.

use std::io;

use camino::Utf8Path;
use secrecy::{ExposeSecret as _, SecretBox};
use uuid::Uuid;

use super::meta::Meta;

const RECORDS: &[u8] = b"cargo-agents transcript v1";
const METADATA: &[u8] = b"cargo-agents transcript metadata v1";
/// What stands before a link at the end of a line.
const BEFORE: &str = ",\"chain\":\"";
const AFTER: &str = "\"}";
const HEX: usize = 64;

/// What links are made with.
#[derive(Debug)]
pub struct ChainKey(SecretBox<[u8; 32]>);

impl ChainKey {
    /// This one.
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        Self(SecretBox::new(Box::new(key)))
    }

    /// That of a file, which is made, for its owner only, where there is none.
    ///
    /// # Errors
    /// The file cannot be read or made, or is not a key.
    pub fn load_or_create(path: &Utf8Path) -> io::Result<Self> {
        match fs_err::read(path) {
            Ok(bytes) => {
                let not_a_key = |_| {
                    let what = format!("`{path}` is not a key: it must have 32 bytes");
                    io::Error::new(io::ErrorKind::InvalidData, what)
                };
                Ok(Self::new(<[u8; 32]>::try_from(bytes.as_slice()).map_err(not_a_key)?))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Each has at least 62 bits from the system's source of randomness.
                let mut hasher = blake3::Hasher::new_derive_key("cargo-agents transcript key v1");
                for _ in 0..8 {
                    hasher.update(Uuid::now_v7().as_bytes());
                }
                agents_system::atomic::write(path, hasher.finalize().as_bytes())?;
                // Somebody else may have been faster: the file decides.
                Self::load_or_create(path)
            }
            Err(error) => Err(error),
        }
    }

    fn hasher(&self) -> blake3::Hasher {
        blake3::Hasher::new_keyed(self.0.expose_secret())
    }

    /// The link before the first record.
    pub(super) fn first(&self, stem: &str) -> Link {
        Link(self.hasher().update(RECORDS).update(stem.as_bytes()).finalize())
    }

    fn next(&self, before: Link, record: &[u8]) -> Link {
        Link(self.hasher().update(before.0.as_bytes()).update(record).finalize())
    }

    /// Puts the next link at the end of the last record, which is an object and starts here.
    pub(super) fn link(&self, before: Link, lines: &mut Vec<u8>, start: usize) -> Link {
        let link = self.next(before, &lines[start..]);
        lines.pop();
        lines.extend_from_slice(BEFORE.as_bytes());
        lines.extend_from_slice(link.0.to_hex().as_bytes());
        lines.extend_from_slice(AFTER.as_bytes());
        link
    }

    fn seal_of(&self, meta: &Meta) -> String {
        let bare = Meta { seal: None, ..meta.clone() };
        let bytes = serde_json::to_vec(&bare).unwrap_or_default();
        self.hasher().update(METADATA).update(&bytes).finalize().to_hex().to_string()
    }

    pub(super) fn seal(&self, meta: &mut Meta, head: Link) {
        meta.head = Some(head.0.to_hex().to_string());
        meta.seal = Some(self.seal_of(meta));
    }
}

/// A link of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link(blake3::Hash);

/// Whether a transcript is as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Intact {
        /// How many records it has.
        records: u64,
    },
    /// It was written without a chain.
    Unchained,
    /// It is not.
    Broken {
        /// The first line that is wrong, counted from 1.
        line: u64,
        /// What is wrong with it.
        why: Break,
    },
}

/// What is wrong with a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// The record has no link.
    NoLink,
    /// The record, or one before it, is not what was written.
    Changed,
    /// There are fewer records, or other ones, than its metadata says.
    CutOff,
    /// The metadata is not what was written.
    Metadata,
}

/// Checks the lines of a transcript, and its metadata.
pub(super) fn verify(key: &ChainKey, meta: &Meta, text: &str) -> Verdict {
    let stem = meta.id.to_string();
    let mut link = key.first(&stem);
    let (mut records, mut line) = (0_u64, 0_u64);
    let mut broken = None;
    for text in text.split_inclusive('\n') {
        line += 1;
        let Some(whole) = text.strip_suffix('\n') else {
            // Cut off while it was written: it was never acknowledged. Where the metadata says that there is more, this is found below.
            break;
        };
        if whole.trim().is_empty() {
            continue;
        }
        let Some((record, said)) = split(whole) else {
            broken = broken.or(Some((line, Break::NoLink)));
            continue;
        };
        link = key.next(link, record.as_bytes());
        if link.0.to_hex().as_str() != said {
            return Verdict::Broken { line, why: Break::Changed };
        }
        records += 1;
    }
    if records == 0 && meta.seal.is_none() {
        return Verdict::Unchained;
    }
    if let Some((line, why)) = broken {
        return Verdict::Broken { line, why };
    }
    if meta.seal.as_ref() != Some(&key.seal_of(meta)) {
        return Verdict::Broken { line: line.max(1), why: Break::Metadata };
    }
    if meta.state.is_terminal() && meta.head.as_deref() != Some(link.0.to_hex().as_str()) {
        return Verdict::Broken { line: line + 1, why: Break::CutOff };
    }
    Verdict::Intact { records }
}

/// A line as it was before its link was put in, and the link.
fn split(line: &str) -> Option<(String, &str)> {
    let rest = line.strip_suffix(AFTER)?;
    let at = rest.len().checked_sub(HEX)?;
    let (rest, link) = (rest.get(..at)?, rest.get(at..)?);
    Some((format!("{}}}", rest.strip_suffix(BEFORE)?), link))
}
