//! What we write into hosts: the desired state, how it differs from what is there, and applying the difference safely.
//!
//! The files of coding agents belong to their users. So what should be there is computed first and compared with what is there and with the
//! ledger of what is ours; that gives a list of changes, which can be shown or applied. Applying keeps every byte that is not ours, is
//! idempotent, and can be undone as a whole.
//!
//! ```text
//! active set + hosts ──> Desired ─┐
//!             disk ────> Facts ───┼──> Plan ──> shown (`--dry-run`, `diff`, `--check`) or applied
//!           ledger ───────────────┘             under one lock, recorded before and after
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`desired`] | what should be where |
//! | [`facts`] | what is there now |
//! | [`plan`] | the changes between the two, as pure data, with a reason for everything that is left alone |
//! | [`apply`] | the only writer |
//! | `originals` | giving a file that only we have written its bytes back |
//!
//! Three rules decide everything. What the ledger does not list is not ours and is never touched. What the ledger lists
//! but somebody has edited since is theirs until they say otherwise. And making a plan changes nothing.
//!
//! ```
//! use agents_sync::{Desired, DesiredPart, Edited, Places, preview, sync};
//! use agents_system::{edit::Format, ledger::{Share, What}, progress::Progress};
//! # let dir = tempfile::tempdir()?;
//! # let root = camino::Utf8PathBuf::from_path_buf(dir.path().to_owned()).unwrap();
//! let (places, file) = (Places::below(&root.join("state")), root.join(".mcp.json"));
//! fs_err::write(&file, "{\n  // mine\n}\n")?;
//! let mut desired = Desired::default();
//! desired.parts.push(DesiredPart {
//!     host: agents_host::HostId::new("claude").unwrap(),
//!     file: file.clone(),
//!     format: Format::Json,
//!     at: ["mcpServers", "explain"].into(),
//!     share: Share::Key,
//!     value: serde_json::json!({ "command": "explain" }),
//!     what: What::Server,
//!     name: "explain".to_owned(),
//!     from: "serde 1.0.200".to_owned(),
//! });
//! let plan = preview(&places, &desired, &root, Edited::Keep)?;
//! assert_eq!(plan.changes.len(), 1);
//! sync(&places, &desired, &root, Edited::Keep, &Progress::silent())?;
//! assert!(fs_err::read_to_string(&file)?.contains("// mine"));
//! sync(&places, &Desired::default(), &root, Edited::Keep, &Progress::silent())?;
//! assert_eq!(fs_err::read_to_string(&file)?, "{\n  // mine\n}\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod apply;
pub mod desired;
pub mod facts;
mod originals;
pub mod plan;
mod slots;

pub use apply::{
    Applied, ApplyError, PATIENCE, Places, preview, preview_uninstall, recover, sync, sync_if_free,
    unfinished_skills, uninstall,
};
pub use desired::{Desired, DesiredFile, DesiredPart, DesiredSkill, SkillFiles};
pub use facts::Facts;
pub use plan::{Action, Change, Edited, Note, Plan};
