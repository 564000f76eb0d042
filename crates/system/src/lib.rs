//! What every room of `cargo agents` needs from the machine it runs on.
//!
//! Files that others write at the same time, caches that may be stale, programs that never end, settings with comments in them, machines with
//! and without a sandbox or a keyring: whatever differs from machine to machine is handled here once, behind small interfaces, so that the other
//! crates can work with plain values. Errors and findings, which every crate has, are here, too.
//!
//! | module | holds |
//! |---|---|
//! | [`dirs`] | where our own files live |
//! | [`mod@env`] | every environment variable that we read, in one list |
//! | [`access`] | whether something can be written, without writing it |
//! | [`ask`] | questions to the person at the terminal, and nobody else |
//! | [`atomic`] | writing a file so that nobody ever sees half of it |
//! | [`fingerprint`] | reading files in a way that can later tell whether the answer still holds |
//! | [`memory`] | what directories were found to hold, until something in them changes |
//! | [`cache`] | small binary cache files that are never trusted across versions or after damage |
//! | [`decode`] | strict TOML with errors that point at the place |
//! | [`digits`] | numbers and bytes that others write in digits, and nothing that looks like them |
//! | [`edit`] | changing one entry of a JSON, TOML, YAML or Markdown text and no other byte |
//! | [`frontmatter`] | the header of a Markdown file |
//! | [`foreign`] | reading and replacing files that belong to somebody else |
//! | [`keys`] | keys from a variable, the keyring or a command |
//! | [`ledger`] | what we own in other people's files |
//! | [`lock`] | one process at a time |
//! | [`private`] | directories that nobody else may enter |
//! | [`process`] | child processes with a deadline, and replacing ourselves by one |
//! | [`sandbox`] | confining ourselves before we become a program of somebody else |
//! | [`finding`] | diagnostics as values |
//! | [`explain`] | what an error is (exit code) and what to do about it (hint) |
//! | [`nearest`] | "did you mean" |
//! | [`nested`] | JSON of others that is kept inside of JSON of ours |
//! | [`tame`] | text that is shown on a terminal without steering it |
//! | [`window`] | how much of it fits |
//! | [`regular`] | reading a file as a whole, and nothing that is no file |
//! | [`progress`] | one status line on a terminal, nothing elsewhere |
//!
//! | feature | default | brings |
//! |---|---|---|
//! | `age` | no | secrets from files that are encrypted with age |
//! | `keyring` | no | secrets from the keyring of the system |
//!
//! Nothing here knows what a plugin or a workspace is.
//!
//! ```
//! use agents_system::fingerprint::{Freshness, Inputs};
//! # fn main() -> std::io::Result<()> {
//! # let dir = tempfile::tempdir()?;
//! # let file = camino::Utf8PathBuf::from_path_buf(dir.path().join("a")).unwrap();
//! fs_err::write(&file, "one")?;
//! let mut inputs = Inputs::new();
//! assert_eq!(inputs.read(&file)?.as_deref(), Some("one"));
//! let fingerprint = inputs.finish();
//! assert_ne!(fingerprint.check(), Freshness::Stale);
//! fs_err::write(&file, "two")?;
//! assert_eq!(fingerprint.check(), Freshness::Stale);
//! # Ok(()) }
//! ```

pub mod access;
pub mod ask;
pub mod atomic;
pub mod cache;
pub mod decode;
pub mod digits;
pub mod dirs;
pub mod edit;
pub mod env;
pub mod explain;
pub mod finding;
pub mod fingerprint;
pub mod foreign;
pub mod frontmatter;
pub mod keys;
pub mod ledger;
pub mod lock;
pub mod memory;
pub mod nearest;
pub mod nested;
pub mod private;
pub mod process;
pub mod progress;
pub mod regular;
pub mod sandbox;
pub mod span;
pub mod tame;
pub mod window;
