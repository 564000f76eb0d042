//! One status line on a terminal, nothing elsewhere.

use std::{
    cell::RefCell,
    io::{IsTerminal as _, Write as _},
    time::{Duration, Instant},
};

/// Shows what takes long. The line appears only after a second, is redrawn in place, and is gone
/// when the work is done.
#[derive(Debug)]
pub struct Progress {
    line: Option<RefCell<Line>>,
}

#[derive(Debug)]
struct Line {
    what: String,
    since: Instant,
    drawn: Option<Instant>,
}

const PATIENCE: Duration = Duration::from_secs(1);
const REDRAW: Duration = Duration::from_millis(200);

impl Progress {
    /// A status line on standard error, if that is a terminal.
    #[must_use]
    pub fn on_stderr() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::silent();
        }
        let line = Line { what: String::new(), since: Instant::now(), drawn: None };
        Self { line: Some(RefCell::new(line)) }
    }

    /// Shows nothing.
    #[must_use]
    pub fn silent() -> Self {
        Self { line: None }
    }

    /// Says what is being done now and starts its clock.
    pub fn begin(&self, what: impl Into<String>) {
        if let Some(line) = &self.line {
            let mut line = line.borrow_mut();
            line.what = what.into();
            line.since = Instant::now();
        }
    }

    /// Called now and then while it is being done; `detail` is the newest thing known about it.
    pub fn tick(&self, detail: &str) {
        let Some(line) = &self.line else { return };
        let mut line = line.borrow_mut();
        let now = Instant::now();
        let due = line.drawn.is_none_or(|drawn| now - drawn >= REDRAW);
        if now - line.since < PATIENCE || !due {
            return;
        }
        line.drawn = Some(now);
        let seconds = (now - line.since).as_secs();
        let text = format!("{} ({seconds} s)  {}", line.what, detail.trim());
        // Long lines would wrap and could not be erased; 79 columns fit everywhere.
        let shown: String = text.chars().filter(|c| !c.is_control()).take(79).collect();
        let _ = write!(std::io::stderr(), "\r\x1b[2K{shown}");
        let _ = std::io::stderr().flush();
    }

    /// Removes the line.
    pub fn end(&self) {
        let Some(line) = &self.line else { return };
        if line.borrow_mut().drawn.take().is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
            let _ = std::io::stderr().flush();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
