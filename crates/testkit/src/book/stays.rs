//! Programs of a page that go on while the rest of it is read.

use std::{
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use camino::Utf8PathBuf;
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

/// How long one may take until it has said what it says. Nothing waits for it but a page that is not true.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// How long it may take to end.
const FAREWELL: Duration = Duration::from_secs(5);

/// One of them. Whatever belongs to it ends when this is dropped.
pub(super) struct Staying {
    child: Child,
    log: Utf8PathBuf,
}

impl Staying {
    /// Starts it as the first of its own process group, as a shell does; what it prints goes to a file.
    pub(super) fn start(mut command: Command, log: Utf8PathBuf) -> Self {
        let file = fs_err::File::create(&log).unwrap().into_parts().0;
        command.process_group(0).stdin(Stdio::null()).stderr(file.try_clone().unwrap());
        let child = command.stdout(file).spawn().unwrap();
        Self { child, log }
    }

    /// What it has printed so far.
    pub(super) fn printed(&self) -> String {
        String::from_utf8_lossy(&fs_err::read(&self.log).unwrap()).into_owned()
    }

    pub(super) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    #[cfg(test)]
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    fn signal(&self, signal: Signal) {
        // It may have ended already.
        let _ = killpg(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal);
    }
}

impl Drop for Staying {
    /// Ctrl-C, and what does not care is killed.
    fn drop(&mut self) {
        self.signal(Signal::SIGINT);
        let since = Instant::now();
        while !self.has_ended() && since.elapsed() < FAREWELL {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.signal(Signal::SIGKILL);
        let _ = self.child.wait();
    }
}
