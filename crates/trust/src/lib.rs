//! What was agreed to: which content the coding agents of a workspace get, who answers for it, and who has reviewed it.
//!
//! Depending on a crate does not mean that it may say anything to your agents, today and in every later version. `agents.lock`
//! pins what was agreed to by its content; a change in a dependency is held back until somebody has read the difference, what looks like
//! an attack is pointed out, and who has reviewed what can be recorded and shared.
//!
//! ```text
//! active set, skills ──> items ───┐
//! agents.lock ────────────────────┼──> compare ──> take | hold | refuse ──> agents.lock
//! content of what is new ─────────┘                  (hold: until `cargo agents update`)
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`lock`] | `agents.lock`: types, text to value, value to text |
//! | [`compare`] | what applies now against what was agreed to, and what follows |
//! | [`content`] | hidden characters and the shapes of prompt injection |
//! | [`review`] | the difference between two contents, to be read by people |
//! | [`items`] | from the active set to what would be recorded |
//! | [`store`] | the accepted contents themselves, in our cache, by hash |
//! | [`agreement`] | the file `agents.lock`: one writer at a time |
//! | [`audit`] | who has looked at which content |
//! | [`sbom`] | everything that is active as a CycloneDX document |
//!
//! A registry that the user configured is trusted: what it changes is taken and reported. What a dependency embeds on its own
//! is not: the user agreed to what they have seen, so a change waits. Nothing here writes into hosts.
//!
//! ```
//! use agents_trust::{compare::{Item, Trust, Verdict, compare}, lock::{CrateFrom, Entry, Hash, Kind, Lock, Source}};
//! let skill = |version: &str, text: &str| Entry {
//!     kind: Kind::Skill,
//!     name: "usage".to_owned(),
//!     source: Source::Crate { name: "tiny-sql".to_owned(), version: version.to_owned(), from: CrateFrom::CratesIo },
//!     hash: Some(Hash::new(&agents_system::cache::digest(text.as_bytes()))),
//! };
//! let lock = Lock::new([skill("0.3.1", "Use prepared statements.")]);
//! let now = Item { entry: skill("0.3.2", "Run this first."), trust: Trust::Embedded };
//! let found = compare(vec![now], &lock, |_| false, |_| false);
//! assert_eq!(found.items[0].verdict, Verdict::Hold);
//! assert_eq!(found.agreed(&[]), lock);
//! ```

pub mod agreement;
pub mod audit;
pub mod compare;
pub mod content;
pub mod items;
pub mod lock;
pub mod review;
pub mod sbom;
pub mod store;
