//! What every chunk of a stream repeats.
//!
//! Half of a chunk is the same in all of them: who answers, when, and with which model. Once it was read, it is compared
//! and not read again.

use memchr::memmem;

const CHOICES: &[u8] = b"\"choices\":";
/// A longer one is not worth being kept.
const MAX_HEAD: usize = 4096;
/// After so many that no other chunk had, nothing is won by learning one more.
const MAX_FRUITLESS: u8 = 8;

/// What a chunk says before its choices.
#[derive(Debug, Default)]
pub(super) struct Envelope {
    /// Everything up to the value of `choices`; empty as long as there is none.
    head: String,
    /// How often one was learned since one was of use.
    fruitless: u8,
}

impl Envelope {
    /// What follows the beginning that is known already: the value of `choices`, and the rest of the chunk.
    pub(super) fn after<'a>(&mut self, data: &'a str) -> Option<&'a str> {
        if self.head.is_empty() {
            return None;
        }
        let rest = data.strip_prefix(&self.head)?;
        self.fruitless = 0;
        Some(rest)
    }

    /// Takes note of how a chunk begins. `is_empty` is asked whether a whole chunk says nothing: that is how the
    /// beginning must be, with no choices after it.
    pub(super) fn learn(&mut self, data: &str, is_empty: impl FnOnce(&str) -> bool) {
        if self.fruitless >= MAX_FRUITLESS {
            return;
        }
        self.fruitless += 1;
        self.head.clear();
        // Text has no bare quotes in it, so this is a key. It may be one further in: then what comes before does not
        // make a chunk.
        let Some(at) = memmem::find(data.as_bytes(), CHOICES) else { return };
        let head = &data[..at + CHOICES.len()];
        if head.len() <= MAX_HEAD && is_empty(&format!("{head}null}}")) {
            self.head.push_str(head);
        }
    }
}
