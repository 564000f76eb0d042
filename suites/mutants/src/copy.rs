//! The tree as it is now, committed or not, in a directory where it may be changed.

use std::collections::{BTreeMap, BTreeSet};

use agents_system::process::Call;
use anyhow::bail;
use camino::{Utf8Path, Utf8PathBuf};
use hosts_suite::tree;

/// The files of the project, by their path below its root.
#[derive(Debug)]
pub(crate) struct Files(BTreeMap<Utf8PathBuf, Vec<u8>>);

impl Files {
    /// Those that git knows, and those that it would.
    pub(crate) fn of(root: &Utf8Path) -> anyhow::Result<Self> {
        let call = Call::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .cwd(root);
        let done = call.capture()?;
        if !done.status.success() {
            bail!("`{}` failed\n{}", call.display(), done.said());
        }
        let names = done.stdout_text();
        let names: BTreeSet<&str> = names.split('\0').filter(|it| !it.is_empty()).collect();
        let mut files = BTreeMap::new();
        // One that was deleted is still known until that is committed.
        for name in names.into_iter().filter(|it| root.join(it).is_file()) {
            files.insert(Utf8PathBuf::from(name), fs_err::read(root.join(name))?);
        }
        Ok(Self(files))
    }

    pub(crate) fn text(&self, file: &Utf8Path) -> anyhow::Result<&str> {
        let Some(bytes) = self.0.get(file) else { bail!("`{file}` is not a file of the project") };
        Ok(std::str::from_utf8(bytes)?)
    }

    /// Changes whenever one of the files below a directory does.
    pub(crate) fn fingerprint<'a>(&self, below: impl IntoIterator<Item = &'a Utf8Path>) -> String {
        let mut hasher = blake3::Hasher::new();
        for directory in below {
            for (path, bytes) in self.0.iter().filter(|(path, _)| path.starts_with(directory)) {
                hasher.update(path.as_str().as_bytes());
                hasher.update(blake3::hash(bytes).as_bytes());
            }
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Makes `to` have these files and no others, some of them with another text. What is as it should be is not touched, so that it is not built again.
    pub(crate) fn write(
        &self,
        root: &Utf8Path,
        to: &Utf8Path,
        changed: &BTreeMap<Utf8PathBuf, String>,
    ) -> anyhow::Result<()> {
        let mut there = tree::tree(&[to.to_owned()])?;
        for (path, bytes) in &self.0 {
            let target = to.join(path);
            let bytes = changed.get(path).map_or(bytes.as_slice(), String::as_bytes);
            if there.remove(&target).is_some_and(|it| it == bytes) {
                continue;
            }
            if let Some(parent) = target.parent() {
                fs_err::create_dir_all(parent)?;
            }
            fs_err::write(&target, bytes)?;
            // Scripts stay what can be run.
            fs_err::set_permissions(&target, fs_err::metadata(root.join(path))?.permissions())?;
        }
        for path in there.keys() {
            fs_err::remove_file(path)?;
        }
        Ok(())
    }
}
