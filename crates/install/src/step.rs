//! One child process on the way to an installation: with a deadline, on the status line, and with its
//! last words kept for when it fails.

use std::time::Duration;

use agents_system::{
    process::{Call, Captured, ProcessError, ending},
    progress::Progress,
};

use crate::error::{Needs, StepError};

/// Compiling a large tool on a slow machine takes a while; longer than this it hangs.
pub(crate) const INSTALL: Duration = Duration::from_secs(30 * 60);
/// A shallow fetch of a large repository over a slow line.
pub(crate) const GIT: Duration = Duration::from_secs(10 * 60);
/// Whatever the author of a plugin thought of.
pub(crate) const COMMAND: Duration = Duration::from_secs(10 * 60);

/// Enough to see why a compiler or git gave up.
const SHOWN_LINES: usize = 40;

/// A step: what it is called in messages, and what it depends on.
pub(crate) struct Step<'a> {
    pub(crate) name: String,
    pub(crate) doing: String,
    pub(crate) needs: Needs,
    pub(crate) deadline: Duration,
    pub(crate) progress: &'a Progress,
}

impl Step<'_> {
    /// Runs `call`; anything but success is an error that carries what it printed.
    pub(crate) fn run(&self, call: &Call) -> Result<Captured, Box<StepError>> {
        self.progress.begin(self.doing.as_str());
        let mut last = String::new();
        let done = call.clone().deadline(self.deadline).capture_watched(|line| {
            line.clone_into(&mut last);
            self.progress.tick(line);
        });
        self.progress.end();
        match done {
            Ok(captured) if captured.status.success() => Ok(captured),
            Ok(captured) => Err(Box::new(StepError {
                step: self.name.clone(),
                ending: format!("ended with {}", ending(captured.status)),
                output: last_lines(&captured.said()),
                needs: self.needs,
                source: None,
            })),
            Err(source) => Err(Box::new(StepError {
                step: self.name.clone(),
                ending: match source {
                    ProcessError::Interrupted => "was stopped",
                    ProcessError::NotFound { .. } | ProcessError::Io { .. } => {
                        "could not be started"
                    }
                    ProcessError::TimedOut { .. } | ProcessError::TooMuchOutput { .. } => {
                        "did not come to an end"
                    }
                }
                .to_owned(),
                // All that is left of a child that was stopped.
                output: last,
                needs: self.needs,
                source: Some(source),
            })),
        }
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    let hidden = lines.len().saturating_sub(SHOWN_LINES);
    let mut shown = lines[hidden..].join("\n");
    if hidden > 0 {
        shown.insert_str(0, &format!("... {hidden} lines before these\n"));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_kept() {
        assert_eq!(last_lines("a\nb"), "a\nb");
        let long: String = (0..100).map(|n| format!("{n}\n")).collect();
        let kept = last_lines(&long);
        assert!(kept.starts_with("... 60 lines before these\n60\n"), "{kept}");
        assert!(kept.ends_with("\n99"), "{kept}");
    }
}
