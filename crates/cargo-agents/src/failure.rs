//! How errors look. They are rendered here and nowhere else.

use std::{io, process::ExitCode};

use agents_system::{
    explain::{Code, ErrorKind, Explain, with_causes},
    finding::Finding,
    process::interrupted,
};
use anstyle::AnsiColor;
use serde::Serialize;

use crate::output::{Output, coded};

/// Something that ends the program.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: ErrorKind,
    code: Option<Code>,
    message: String,
    hint: Option<String>,
    details: Option<String>,
    findings: Vec<Finding>,
    /// The reader of our output has gone away, which is their right.
    broken_pipe: bool,
}

/// The document that `--json` prints instead of a result.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FailureDocument {
    error: FailureView,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FailureView {
    /// `failure`, `usage`, `refused`, `network`, `cancelled` or `bug`
    kind: &'static str,
    /// What the program ends with
    exit_code: u8,
    /// What `cargo agents explain` takes, as `E0042`; not every error needs a page
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    message: String,
    /// What to do about it
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// Output of a child process that belongs to it
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<String>,
    findings: Vec<FindingView>,
}

/// A finding in `--json`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FindingView {
    /// `error`, `warning` or `note`
    severity: &'static str,
    /// What `cargo agents explain` takes, as `E0042`, for what could as well have been an error
    #[serde(skip_serializing_if = "Option::is_none")]
    explained_by: Option<String>,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Counted from 1
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// Counted in characters from 1
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl From<&Finding> for FindingView {
    fn from(finding: &Finding) -> Self {
        use agents_system::finding::Severity;
        let spot = finding.place.as_ref().and_then(|place| place.spot.as_ref());
        Self {
            severity: match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            },
            explained_by: finding.code.map(|code| code.to_string()),
            message: finding.message.clone(),
            file: finding.place.as_ref().map(|place| place.file.to_string()),
            line: spot.map(|spot| spot.line),
            column: spot.map(|spot| spot.column),
            label: finding.label.clone(),
            hint: finding.hint.clone(),
        }
    }
}

impl Failure {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            code: None,
            message: message.into(),
            hint: None,
            details: None,
            findings: Vec::new(),
            broken_pipe: false,
        }
    }

    /// This page explains it.
    pub(crate) fn code(mut self, code: Code) -> Self {
        self.code = Some(code);
        self
    }

    /// The page that explains it.
    #[cfg(unix)]
    pub(crate) fn explained(&self) -> Option<Code> {
        self.code
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn details(mut self, details: impl Into<String>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// With what led to it.
    pub(crate) fn with_findings(mut self, findings: Vec<Finding>) -> Self {
        self.findings = findings;
        self
    }

    /// As something to say where it must not end the program.
    pub(crate) fn into_findings(self) -> Vec<Finding> {
        let mut own = Finding::error(self.message);
        (own.hint, own.code) = (self.hint, self.code);
        std::iter::once(own).chain(self.findings).collect()
    }

    /// What another process needs to report it: kind, message, hint and details, which hold the findings, too.
    #[cfg(unix)]
    pub(crate) fn carried(self) -> (ErrorKind, String, Option<String>, Option<String>) {
        let findings = self.findings.iter().map(|finding| {
            let place = finding.place.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
            format!("{}{place}", finding.message)
        });
        let details: Vec<String> = self.details.into_iter().chain(findings).collect();
        let details = (!details.is_empty()).then(|| details.join("\n"));
        (self.kind, self.message, self.hint, details)
    }

    /// An error if the user has asked us to stop. What was going on then may have been taken for something else: a
    /// condition that does not hold, a registry that cannot be reached.
    pub(crate) fn if_interrupted() -> Result<(), Self> {
        match interrupted() {
            true => Err(Self::new(ErrorKind::Cancelled, "interrupted")),
            false => Ok(()),
        }
    }

    /// Standard output did not take what we had to say.
    pub(crate) fn printing(error: &io::Error) -> Self {
        let broken_pipe = error.kind() == io::ErrorKind::BrokenPipe;
        let message = format!("cannot write to standard output: {error}");
        Self { broken_pipe, ..Self::new(ErrorKind::Failure, message) }
    }

    /// Ends the program with it.
    pub(crate) fn report(self, output: &Output) -> ExitCode {
        if self.broken_pipe {
            return ExitCode::SUCCESS;
        }
        let code = ExitCode::from(self.kind.exit_code());
        let told = match output.is_json() {
            true => output.document(&self.document()).and_then(|()| output.flush()),
            false => output.flush(),
        };
        // Somebody has to hear it if standard output takes nothing.
        if told.is_err() || !output.is_json() {
            output.talk(&self.render(output));
        }
        code
    }

    /// The same as a finding, for commands that go on.
    pub(crate) fn into_finding(self, about: &str) -> Finding {
        let details = self.details.map(|details| format!("\n{details}")).unwrap_or_default();
        let finding = Finding::error(format!("{about}: {}{details}", self.message));
        Finding { hint: self.hint, code: self.code, ..finding }
    }

    /// The message with everything that belongs to it, for people.
    pub(crate) fn render(&self, output: &Output) -> String {
        let word = coded("error", self.code);
        let mut lines = vec![format!("{} {}", output.word(&word, AnsiColor::Red), self.message)];
        lines.extend(
            self.details.iter().flat_map(|text| text.lines()).map(|line| format!("  {line}")),
        );
        lines.extend(self.findings.iter().map(|finding| output.render_finding(finding)));
        if let Some(hint) = &self.hint {
            lines.push(format!("{} {hint}", output.word("hint:", AnsiColor::Cyan)));
        }
        lines.extend(self.code.filter(|_| !output.is_quiet()).map(explained_by));
        lines.join("\n")
    }

    fn document(&self) -> FailureDocument {
        FailureDocument {
            error: FailureView {
                kind: self.kind.word(),
                exit_code: self.kind.exit_code(),
                code: self.code.map(|code| code.to_string()),
                message: self.message.clone(),
                hint: self.hint.clone(),
                details: self.details.clone(),
                findings: self.findings.iter().map(FindingView::from).collect(),
            },
        }
    }
}

impl<E: Explain> From<E> for Failure {
    fn from(error: E) -> Self {
        let message = with_causes(&error);
        Self {
            code: error.code(),
            hint: error.hint(),
            details: error.details(),
            findings: error.findings().to_vec(),
            ..Self::new(error.kind(), message)
        }
    }
}

/// The line that leads to a page.
pub(crate) fn explained_by(code: Code) -> String {
    format!("explained by `cargo agents explain {code}`")
}

/// What clap has to say: help and version are results, the rest is an error.
pub(crate) fn usage(error: &clap::Error, output: &Output) -> Result<ExitCode, Failure> {
    let text = error.render();
    if !error.use_stderr() {
        output.text(text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = text.to_string();
    let text = text.trim().trim_start_matches("error:").trim();
    let (message, rest) = match error.kind() {
        // What clap prints then is the help of the command, without a word about why.
        clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            ("it takes one more word to say what to do", text)
        }
        _ => text.split_once('\n').unwrap_or((text, "")),
    };
    let failure = Failure::new(ErrorKind::Usage, message);
    let rest = rest.trim().replace("\n\n", "\n");
    Err(if rest.is_empty() { failure } else { failure.details(rest) })
}

/// What a panic says. In the first thread it ends the program, with the exit code that means "our mistake"; in another one it ends
/// what was done there, such as one task of many.
pub(crate) fn our_mistake(panic: &std::panic::PanicHookInfo<'_>) {
    use std::io::Write as _;
    let version = env!("CARGO_PKG_VERSION");
    let repository = env!("CARGO_PKG_REPOSITORY");
    let _ = writeln!(
        io::stderr(),
        "error: this is a mistake in cargo agents {version}: {panic}\n\
         hint: please report it at {repository}/issues, with the command that you typed"
    );
    // A build that cannot unwind has nothing to go on with.
    #[cfg(panic = "abort")]
    std::process::exit(i32::from(ErrorKind::Bug.exit_code()));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thousands of tasks may run beside the one that breaks down.
    #[test]
    fn a_panic_ends_the_thread_that_it_happened_in_and_no_other() {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(our_mistake));
        let ended = std::thread::spawn(|| std::panic::panic_any("on purpose")).join();
        std::panic::set_hook(usual);
        assert!(ended.is_err());
        assert_eq!(ErrorKind::Bug.exit_code(), 101, "that of a panic in the first thread");
    }
}
