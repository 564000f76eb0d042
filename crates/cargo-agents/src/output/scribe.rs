//! Writes lines while they are told, on a thread of its own.
//!
//! A pipe that nobody reads takes 64 KiB and then nothing more. Whoever wrote to it themselves would stand still then, with the deadlines
//! of everything that they run. What tells something here goes on, and only the end waits for the reader.

use std::{
    io::{self, Write as _},
    sync::mpsc::{self, RecvTimeoutError},
    time::Duration,
};

use agents_system::process::interrupted;

/// How long a reader is waited for once somebody has pressed Ctrl-C.
const GRACE: Duration = Duration::from_secs(2);
/// How often Ctrl-C is looked for.
const TICK: Duration = Duration::from_millis(100);

/// Whoever writes.
pub(super) struct Scribe {
    lines: mpsc::Sender<Vec<u8>>,
    /// How it ended, once it has.
    ended: mpsc::Receiver<io::Result<()>>,
}

impl Scribe {
    /// One that writes on standard output from now on.
    pub(super) fn start() -> io::Result<Self> {
        let (lines, told) = mpsc::channel::<Vec<u8>>();
        let (tell, ended) = mpsc::channel();
        std::thread::Builder::new().name("lines".to_owned()).spawn(move || {
            let _ = tell.send(write(&told));
        })?;
        Ok(Self { lines, ended })
    }

    /// Has a line written, some time.
    ///
    /// # Errors
    /// One that was told before could not be.
    pub(super) fn tell(&self, line: Vec<u8>) -> io::Result<()> {
        // Nobody takes it only if writing has ended, which it does by an error.
        self.lines.send(line).or_else(|_| self.ended.recv().unwrap_or(Ok(())))
    }

    /// Waits until everything is written. That is for the reader to decide, unless somebody presses Ctrl-C.
    ///
    /// # Errors
    /// It could not be, or was not waited for any longer.
    pub(super) fn finish(self) -> io::Result<()> {
        let Self { lines, ended } = self;
        drop(lines);
        loop {
            let (most, is_last) = if interrupted() { (GRACE, true) } else { (TICK, false) };
            match ended.recv_timeout(most) {
                Ok(done) => return done,
                Err(RecvTimeoutError::Timeout) if !is_last => {}
                Err(RecvTimeoutError::Timeout) => {
                    return Err(io::Error::new(io::ErrorKind::Interrupted, "nobody reads it"));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("the thread that writes broke down"));
                }
            }
        }
    }
}

fn write(told: &mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    while let Ok(line) = told.recv() {
        stdout.write_all(&line)?;
        // Those that have come meanwhile go with it.
        for line in told.try_iter() {
            stdout.write_all(&line)?;
        }
        stdout.flush()?;
    }
    Ok(())
}
