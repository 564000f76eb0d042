//! Small binary cache files.
//!
//! A cache file is believed only if this version of the program wrote it, with this layout, and
//! its content is what was written. Anything else is "no cache", never an error: what it held can be
//! computed again.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{atomic, regular};

const MAGIC: &[u8; 8] = b"agents\x01\n";
const DIGEST: usize = 16;
const CHECKSUM: usize = 8;
const HEADER: usize = MAGIC.len() + DIGEST + CHECKSUM;

/// The first 128 bits of a BLAKE3 hash.
pub type Digest = [u8; DIGEST];

/// Hashes bytes.
#[must_use]
pub fn digest(bytes: &[u8]) -> Digest {
    let mut out = [0; DIGEST];
    out.copy_from_slice(&blake3::hash(bytes).as_bytes()[..DIGEST]);
    out
}

/// Hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

/// Tells a damaged payload from a whole one, ten times faster than a cryptographic hash: this is read at every start, and
/// nobody but us writes it. Every step can be undone, so a change of one word never goes unnoticed.
fn checksum(bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |state: u64, word: u64| (state ^ word).wrapping_mul(ODD).rotate_left(29);
    let (blocks, tail) = bytes.as_chunks::<32>();
    // Four lanes, because one multiplication takes longer than it takes to begin the next.
    let mut lanes = [1, 2, 3, 4];
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane = mix(*lane, u64::from_le_bytes(*word));
        }
    }
    let mut state = lanes.into_iter().fold(bytes.len() as u64, mix);
    for byte in tail {
        state = mix(state, u64::from(*byte));
    }
    state
}

/// Sixteen hexadecimal digits that name `text` in a file name.
#[must_use]
pub fn name_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// One cache file of a known layout.
#[derive(Debug, Clone)]
pub struct CacheFile {
    path: Utf8PathBuf,
    layout: Digest,
}

impl CacheFile {
    /// The cache file at `path`; `layout` names what it holds and changes whenever that does.
    #[must_use]
    pub fn new(path: Utf8PathBuf, layout: &str) -> Self {
        let layout = digest(format!("{}\n{layout}", env!("CARGO_PKG_VERSION")).as_bytes());
        Self { path, layout }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// Its content, if it can be believed.
    #[must_use]
    pub fn load<T: DeserializeOwned>(&self) -> Option<T> {
        self.load_bytes()?.decode()
    }

    /// Its content, for types that borrow from it.
    #[must_use]
    pub fn load_bytes(&self) -> Option<Payload> {
        // What was made from a large workspace may be large itself.
        let bytes = regular::read_at_most(&self.path, u64::MAX).ok()??;
        let (header, payload) = bytes.split_at_checked(HEADER)?;
        let rest = header.strip_prefix(MAGIC)?;
        let believed =
            rest[..DIGEST] == self.layout && rest[DIGEST..] == checksum(payload).to_le_bytes();
        believed.then_some(Payload(bytes))
    }

    /// Replaces its content.
    pub fn store<T: Serialize>(&self, value: &T) -> io::Result<()> {
        let payload = postcard::to_allocvec(value).map_err(io::Error::other)?;
        atomic::write(&self.path, &self.sealed(&payload))
    }

    /// A file that would be believed, whatever it holds.
    #[doc(hidden)]
    #[must_use]
    pub fn sealed(&self, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + payload.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.layout);
        bytes.extend_from_slice(&checksum(payload).to_le_bytes());
        bytes.extend_from_slice(payload);
        bytes
    }
}

/// The verified bytes of a cache file.
#[derive(Debug)]
pub struct Payload(Vec<u8>);

impl Payload {
    /// Decodes it, borrowing where the type can.
    #[must_use]
    pub fn decode<'de, T: Deserialize<'de>>(&'de self) -> Option<T> {
        postcard::from_bytes(&self.0[HEADER..]).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(dir: &tempfile::TempDir, layout: &str) -> CacheFile {
        let path = Utf8PathBuf::from_path_buf(dir.path().join("x/cache")).unwrap();
        CacheFile::new(path, layout)
    }

    #[test]
    fn what_was_stored_is_loaded() {
        let dir = tempfile::tempdir().unwrap();
        file(&dir, "a 1").store(&vec!["one", "two"]).unwrap();
        assert_eq!(file(&dir, "a 1").load::<Vec<String>>().unwrap(), ["one", "two"]);
    }

    #[test]
    fn another_layout_is_no_cache() {
        let dir = tempfile::tempdir().unwrap();
        file(&dir, "a 1").store(&1_u32).unwrap();
        assert_eq!(file(&dir, "a 2").load::<u32>(), None);
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_no_cache() {
        let dir = tempfile::tempdir().unwrap();
        let cache = file(&dir, "a 1");
        cache.store(&"some payload that is longer than one block of the checksum").unwrap();
        let good = fs_err::read(cache.path()).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs_err::write(cache.path(), &bad).unwrap();
            assert_eq!(cache.load::<String>(), None, "flipped byte {at}");
            fs_err::write(cache.path(), &good[..at]).unwrap();
            assert_eq!(cache.load::<String>(), None, "cut at {at}");
        }
    }
}
