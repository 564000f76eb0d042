//! Pages whose blocks are run and parsed. `docs/extend/docs.md` tells how blocks are marked.

mod blocks;
#[cfg(target_os = "linux")]
mod stays;
#[cfg(target_os = "linux")]
mod steps;
#[cfg(target_os = "linux")]
mod told;
#[cfg(target_os = "linux")]
mod typed;

use camino::{Utf8Path, Utf8PathBuf};

pub use self::blocks::{Block, blocks, prose};
#[cfg(target_os = "linux")]
pub use self::{told::tame, typed::Reader};

/// The root of the repository.
#[must_use]
pub fn root() -> Utf8PathBuf {
    Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize_utf8().unwrap()
}

/// All pages that people read, relative to the root: the book, those at the root, and those of examples.
#[must_use]
pub fn pages() -> Vec<Utf8PathBuf> {
    let (root, mut found) = (root(), vec!["README.md".into(), "CONTRIBUTING.md".into()]);
    let mut waiting = vec![root.join("docs")];
    while let Some(dir) = waiting.pop() {
        for entry in dir.read_dir_utf8().unwrap() {
            let path = entry.unwrap().into_path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension() == Some("md") {
                found.push(path.strip_prefix(&root).unwrap().to_owned());
            }
        }
    }
    for example in root.join("examples").read_dir_utf8().unwrap() {
        let name = example.unwrap().file_name().to_owned();
        found.push(Utf8Path::new("examples").join(name).join("README.md"));
    }
    found.sort();
    assert!(found.len() > 40, "the pages were not found: {found:?}");
    found
}

/// The text of a page.
#[must_use]
pub fn read(page: &Utf8Path) -> String {
    fs_err::read_to_string(root().join(page)).unwrap()
}
