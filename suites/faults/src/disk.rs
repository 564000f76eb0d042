//! A small disk, and what fills it.

use std::io::Write as _;

use anyhow::Context as _;
use camino::{Utf8Path, Utf8PathBuf};
use nix::mount::{MntFlags, MsFlags, mount, umount2};

/// A disk of its own at a directory, as long as this lives.
#[derive(Debug)]
pub(crate) struct Disk {
    at: Utf8PathBuf,
}

impl Disk {
    pub(crate) fn mount(at: Utf8PathBuf, megabytes: usize) -> anyhow::Result<Self> {
        let size = format!("size={megabytes}m,mode=0700");
        mount(Some("tmpfs"), at.as_str(), Some("tmpfs"), MsFlags::empty(), Some(size.as_str()))?;
        Ok(Self { at })
    }

    fn filler(&self) -> Utf8PathBuf {
        self.at.join("filler")
    }

    /// Writes until no more than so much can be written.
    pub(crate) fn fill(&self, leave: u64) -> anyhow::Result<()> {
        fill(&self.filler())?;
        let file = fs_err::OpenOptions::new().write(true).open(self.filler())?;
        let length = file.metadata().context("the file that fills the disk")?.len();
        file.set_len(length.saturating_sub(leave))?;
        Ok(())
    }

    pub(crate) fn make_room(&self) -> anyhow::Result<()> {
        Ok(fs_err::remove_file(self.filler())?)
    }
}

fn fill(filler: &Utf8Path) -> anyhow::Result<()> {
    let mut file = fs_err::File::create(filler)?;
    for size in [64 * 1024, 4096, 1] {
        let chunk = vec![b'x'; size];
        while file.write_all(&chunk).is_ok() {}
    }
    Ok(())
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = umount2(self.at.as_str(), MntFlags::MNT_DETACH);
    }
}
