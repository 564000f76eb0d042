//! What is printed: results on standard output, talk on standard error, colours when wanted.

mod scribe;

use std::{
    cell::{Cell, RefCell},
    io::{self, Write},
};

use agents_system::{
    ask::{Asker, Colors},
    env,
    explain::{Code, ErrorKind},
    finding::{Finding, Severity},
    tame::{Styles, tame},
};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use anstyle::{AnsiColor, Style};
use camino::Utf8Path;
use serde::Serialize;

use self::scribe::Scribe;
use crate::{
    args::{ColorWhen, Flags},
    failure::Failure,
};

/// Where results go. Nothing reaches the terminal before [`flush`](Self::flush). A reader who leaves early ends nothing, because what the
/// program ends with is still to be found out; only what would go on for ever [reaches](Self::reach) for one.
pub(crate) struct Output {
    json: bool,
    quiet: bool,
    verbose: bool,
    color: ColorWhen,
    /// Asked once: every line depends on it, and asking costs a system call.
    results: Styles,
    stdout: RefCell<io::BufWriter<io::Stdout>>,
    /// Whether anything was written that was not brought out. Whoever wrote nothing waits for no reader: behind a door somebody else
    /// writes there, and may be waiting for one that never reads.
    written: Cell<bool>,
    lines: RefCell<Lines>,
    reader: Cell<Reading>,
}

/// Whether somebody takes results.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Yes,
    /// The pipe was closed, which is the reader's right.
    Gone,
}

/// What is told while it happens.
enum Lines {
    /// Nothing yet.
    None,
    /// This one writes it.
    Told(Scribe),
    /// It could not be written, or nobody read it and it was not waited for: nothing can follow it.
    GivenUp(io::ErrorKind),
}

impl Output {
    pub(crate) fn new(flags: &Flags) -> Self {
        Self {
            json: flags.json,
            quiet: flags.quiet,
            verbose: flags.verbose,
            color: flags.color,
            results: styles(colors(flags.color, &io::stdout())),
            stdout: RefCell::new(io::BufWriter::with_capacity(64 * 1024, io::stdout())),
            written: Cell::new(false),
            lines: RefCell::new(Lines::None),
            reader: Cell::new(Reading::Yes),
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Somebody to ask. Nobody if the answer would be lost on a machine: with `--json` or `--quiet`, in a pipe, in CI.
    pub(crate) fn asker(&self) -> Option<Asker> {
        if self.json || self.quiet {
            return None;
        }
        Asker::on_terminal(if self.colors_talk() { Colors::On } else { Colors::Off })
    }

    /// One line of result.
    pub(crate) fn line(&self, line: impl AsRef<str>) -> Result<(), Failure> {
        self.text(format_args!("{}\n", line.as_ref()))
    }

    /// Result text as it is, except for what a terminal would obey.
    pub(crate) fn text(&self, text: impl std::fmt::Display) -> Result<(), Failure> {
        let text = text.to_string();
        let tamed = tame(&text, self.results);
        self.written.set(true);
        self.to_reader(|stdout| stdout.write_all(tamed.as_bytes()))
    }

    /// The one document of `--json`.
    pub(crate) fn document(&self, document: &impl Serialize) -> Result<(), Failure> {
        self.written.set(true);
        self.to_reader(|stdout| {
            serde_json::to_writer_pretty(&mut *stdout, document)?;
            writeln!(stdout)
        })
    }

    /// Refuses `-o FILE` with `--json`: the one document belongs on standard output, where every command has it.
    pub(crate) fn refuse_file_of_json(&self, file: Option<&Utf8Path>) -> Result<(), Failure> {
        let Some(file) = file.filter(|_| self.json) else { return Ok(()) };
        let said = format!("`-o {file}` writes what people read, and `--json` was given");
        let hint = format!("leave out `-o` and write `--json … > {file}`, or leave out `--json`");
        Err(Failure::new(ErrorKind::Usage, said).hint(hint))
    }

    /// Writes after all lines, as long as there is a reader.
    fn to_reader(
        &self,
        write: impl FnOnce(&mut io::BufWriter<io::Stdout>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        if self.reader.get() == Reading::Gone {
            return Ok(());
        }
        let written = self.settle_lines().and_then(|()| write(&mut self.stdout.borrow_mut()));
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.reader.set(Reading::Gone);
                Ok(())
            }
            written => written.map_err(|error| Failure::printing(&error)),
        }
    }

    /// One line of JSON, as soon as the reader takes it: for what is told while it happens. Nobody waits for that before the end.
    pub(crate) fn json_line(&self, line: &impl Serialize) -> Result<(), Failure> {
        if self.reader.get() == Reading::Gone {
            return Ok(());
        }
        let failed = |error: io::Error| Failure::printing(&error);
        let mut text = serde_json::to_vec(line).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        let mut lines = self.lines.borrow_mut();
        if matches!(*lines, Lines::None) {
            self.stdout.borrow_mut().flush().map_err(failed)?;
            *lines = Lines::Told(Scribe::start().map_err(failed)?);
        }
        let told = match &*lines {
            Lines::Told(scribe) => scribe.tell(text),
            Lines::GivenUp(why) => Err((*why).into()),
            Lines::None => Ok(()),
        };
        told.or_else(|error| {
            *lines = Lines::GivenUp(error.kind());
            match error.kind() {
                io::ErrorKind::BrokenPipe => {
                    self.reader.set(Reading::Gone);
                    Ok(())
                }
                _ => Err(failed(error)),
            }
        })
    }

    /// Waits until all lines are written: something else follows, or nothing.
    fn settle_lines(&self) -> io::Result<()> {
        let mut lines = self.lines.borrow_mut();
        match std::mem::replace(&mut *lines, Lines::None) {
            Lines::None => Ok(()),
            Lines::GivenUp(why) => Err(why.into()),
            Lines::Told(scribe) => scribe.finish(),
        }
        .inspect_err(|error: &io::Error| *lines = Lines::GivenUp(error.kind()))
    }

    /// Brings everything out.
    pub(crate) fn flush(&self) -> Result<(), Failure> {
        self.to_reader(|stdout| if self.written.take() { stdout.flush() } else { Ok(()) })
    }

    /// The same for what would go on for ever: without a reader it ends.
    pub(crate) fn reach(&self) -> Result<(), Failure> {
        self.flush()?;
        self.while_read()
    }

    /// The same for whoever only watches, without waiting until everything is read.
    pub(crate) fn while_read(&self) -> Result<(), Failure> {
        match self.reader.get() {
            Reading::Yes => Ok(()),
            Reading::Gone => Err(Failure::printing(&io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Shows findings on standard error, as loud as the user asked for.
    pub(crate) fn findings<'f>(&self, findings: impl IntoIterator<Item = &'f Finding>) {
        if self.json {
            return;
        }
        let least = match (self.quiet, self.verbose) {
            (true, _) => Severity::Error,
            (false, true) => Severity::Note,
            (false, false) => Severity::Warning,
        };
        for finding in findings.into_iter().filter(|finding| finding.severity >= least) {
            self.talk(&self.render_finding(finding));
        }
    }

    /// A note that is worth a line without `--verbose`, too.
    pub(crate) fn note(&self, finding: &Finding) {
        if !self.json && !self.quiet {
            self.talk(&self.render_finding(finding));
        }
    }

    /// Says something on standard error; nobody waits for it, so a closed one is ignored.
    pub(crate) fn talk(&self, text: &str) {
        let styles = styles(self.colors_talk());
        let _ = writeln!(io::stderr(), "{}", tame(text, styles));
    }

    /// One finding as people read it.
    pub(crate) fn render_finding(&self, finding: &Finding) -> String {
        let spot = finding.place.as_ref().and_then(|place| Some((place, place.spot.as_ref()?)));
        // Of a line that is too long there is no text.
        let spot = spot.filter(|(_, spot)| !spot.text.is_empty() || spot.column == 1);
        let Some((place, spot)) = spot else { return self.render_spotless(finding) };
        let level = match finding.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let title = level.primary_title(finding.message.as_str());
        let code = finding.code.map(|code| code.to_string());
        let title = match &code {
            Some(code) => title.id(code.as_str()),
            None => title,
        };
        let part = spot.part.start as usize..spot.part.end as usize;
        let primary = AnnotationKind::Primary.span(part).label(finding.label.as_deref());
        let mut group = title.element(
            Snippet::source(spot.text.as_str())
                .line_start(spot.line as usize)
                .path(place.file.as_str())
                .annotation(primary),
        );
        if let Some(hint) = &finding.hint {
            group = group.element(Level::HELP.with_name("hint").message(hint.as_str()));
        }
        let renderer = if self.colors_talk() { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group])
    }

    /// A finding without a line to show.
    fn render_spotless(&self, finding: &Finding) -> String {
        let (word, color) = match finding.severity {
            Severity::Error => ("error", AnsiColor::Red),
            Severity::Warning => ("warning", AnsiColor::Yellow),
            Severity::Note => ("note", AnsiColor::Green),
        };
        let word = coded(word, finding.code);
        let mut text = format!("{} {}", self.word(&word, color), finding.message);
        if let Some(place) = &finding.place {
            text += &format!("\n --> {place}");
        }
        if let Some(hint) = &finding.hint {
            text += &format!("\n{} {hint}", self.word("hint:", AnsiColor::Cyan));
        }
        text
    }

    /// `error:` or `warning:` in its colour.
    pub(crate) fn word(&self, word: &str, color: AnsiColor) -> String {
        let style = Style::new().bold().fg_color(Some(color.into()));
        if self.colors_talk() { format!("{style}{word}{style:#}") } else { word.to_owned() }
    }

    /// Whether results are coloured.
    pub(crate) fn colors_results(&self) -> bool {
        self.results == Styles::Kept
    }

    fn colors_talk(&self) -> bool {
        colors(self.color, &io::stderr())
    }
}

/// What a line begins with: the word, with the code if there is one.
pub(crate) fn coded(word: &str, code: Option<Code>) -> String {
    match code {
        Some(code) => format!("{word}[{code}]:"),
        None => format!("{word}:"),
    }
}

fn colors(when: ColorWhen, stream: &impl io::IsTerminal) -> bool {
    match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto => stream.is_terminal() && env::NO_COLOR.get().is_none(),
    }
}

fn styles(colors: bool) -> Styles {
    if colors { Styles::Kept } else { Styles::Shown }
}
