//! `search`: ripgrep's own libraries.

use std::{
    num::NonZeroUsize,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use camino::{Utf8Path, Utf8PathBuf};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::{WalkBuilder, WalkState, overrides::OverrideBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::start;
use crate::{
    confine::Place,
    context::CallContext,
    policy::Effects,
    rights::Subject,
    tool::{Intent, Output, ToolError, Typed},
};

/// More matches than this are not looked for unless somebody asks.
const DEFAULT_LIMIT: usize = 1_000;
/// Longer lines are cut: one of a minified file would be all that there is to see.
const MAX_LINE: usize = 400;

/// Searches the content of files.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// How many threads; as many as there are processors unless said otherwise.
    pub threads: Option<NonZeroUsize>,
}

/// What to search for.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchInput {
    /// A regular expression, in the syntax of Rust's `regex` crate.
    pub pattern: String,
    /// The directory or file to search in; the working directory if absent.
    #[serde(default)]
    pub path: Option<String>,
    /// Only files that match this pattern, such as `*.rs`; a leading `!` leaves them out.
    #[serde(default)]
    pub glob: Option<String>,
    /// Do not tell upper case from lower case.
    #[serde(default)]
    pub ignore_case: bool,
    /// How many lines to show around each match.
    #[serde(default)]
    pub context: usize,
    /// Only the names of the files that match.
    #[serde(default)]
    pub files_only: bool,
    /// How many matches to show at most; 1000 if absent.
    #[serde(default)]
    pub limit: Option<usize>,
}

impl Typed for Search {
    type Input = SearchInput;

    const NAME: &'static str = "search";
    const DESCRIPTION: &'static str = "Searches the content of files with a regular expression, as ripgrep does: what `.gitignore` names, hidden files and binary files are \
        left out. Results are `path:line:text`, in the order of the paths.";

    fn intent(&self, input: &SearchInput, context: &CallContext) -> Result<Intent, ToolError> {
        context.area.locate(input.path.as_deref().unwrap_or("."))?;
        Ok(Intent { subject: Subject::Tree, ..Intent::plain(Effects::READS) })
    }

    async fn run(&self, input: SearchInput, context: &CallContext) -> Result<Output, ToolError> {
        let threads = self.threads.map_or(0, NonZeroUsize::get);
        context.blocking(move |context| search(&input, threads, context)).await
    }
}

fn search(input: &SearchInput, threads: usize, context: &CallContext) -> Result<Output, ToolError> {
    let matcher = RegexMatcherBuilder::new()
        .case_insensitive(input.ignore_case)
        .line_terminator(Some(b'\n'))
        .build(&input.pattern)
        .map_err(|error| ToolError::failed(format!("the pattern is not right: {error}")))?;
    let limit = input.limit.unwrap_or(DEFAULT_LIMIT).max(1);
    let hunt =
        Hunt { context, input, limit, found: AtomicUsize::new(0), files: Mutex::new(Vec::new()) };
    let path = input.path.as_deref().unwrap_or(".");
    let place = context.area.locate(path)?;
    if context.area.kind(&place).is_ok_and(rustix::fs::FileType::is_file) {
        hunt.file(&mut searcher(input), &matcher, &place, context.area.shown(&place))?;
    } else {
        let place = start(Some(path), context)?;
        hunt.tree(&matcher, &place, threads)?;
    }
    context.check()?;
    Ok(hunt.output())
}

fn searcher(input: &SearchInput) -> Searcher {
    SearcherBuilder::new()
        .line_number(!input.files_only)
        .binary_detection(BinaryDetection::quit(0))
        .before_context(input.context.min(50))
        .after_context(input.context.min(50))
        .build()
}

struct Hunt<'a> {
    context: &'a CallContext,
    input: &'a SearchInput,
    limit: usize,
    found: AtomicUsize,
    files: Mutex<Vec<(Utf8PathBuf, String)>>,
}

impl Hunt<'_> {
    fn tree(&self, matcher: &RegexMatcher, place: &Place, threads: usize) -> Result<(), ToolError> {
        let area = &self.context.area;
        let root = area.absolute(place);
        let mut walk = WalkBuilder::new(&root);
        walk.threads(threads).follow_links(false);
        if let Some(glob) = &self.input.glob {
            let wrong = |error| ToolError::failed(format!("the glob is not right: {error}"));
            let mut overrides = OverrideBuilder::new(&root);
            overrides.add(glob).map_err(wrong)?;
            walk.overrides(overrides.build().map_err(wrong)?);
        }
        walk.build_parallel().run(|| {
            let mut searcher = searcher(self.input);
            let matcher = matcher.clone();
            let root = &root;
            Box::new(move |entry| {
                if self.context.check().is_err() || self.found.load(Ordering::Relaxed) >= self.limit
                {
                    return WalkState::Quit;
                }
                let Ok(entry) = entry else { return WalkState::Continue };
                if !entry.file_type().is_some_and(|it| it.is_file()) {
                    return WalkState::Continue;
                }
                let relative = Utf8Path::from_path(entry.path());
                if let Some(relative) = relative.and_then(|it| it.strip_prefix(root).ok()) {
                    let file = area.below(place, relative);
                    let shown = area.shown(&file);
                    // What cannot be opened, or may not, is as if it were not there.
                    let _ = self.file(&mut searcher, &matcher, &file, shown);
                }
                WalkState::Continue
            })
        });
        Ok(())
    }

    fn file(
        &self,
        searcher: &mut Searcher,
        matcher: &RegexMatcher,
        place: &Place,
        shown: Utf8PathBuf,
    ) -> Result<(), ToolError> {
        let file = self.context.area.open(place)?;
        let mut lines = Lines { hunt: self, path: shown, text: String::new(), count: 0 };
        let searched = searcher.search_file(matcher, &file, &mut lines);
        searched
            .map_err(|error| ToolError::failed(format!("cannot read `{}`: {error}", lines.path)))?;
        if !lines.text.is_empty() {
            let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
            files.push((lines.path, lines.text));
        }
        Ok(())
    }

    fn output(self) -> Output {
        let found = self.found.into_inner();
        let mut files = self.files.into_inner().unwrap_or_else(PoisonError::into_inner);
        files.sort_unstable();
        let count = files.len();
        let between = if self.input.context > 0 && !self.input.files_only { "--\n" } else { "" };
        let texts: Vec<String> = files.into_iter().map(|(_, text)| text).collect();
        let mut text = texts.join(between);
        if text.is_empty() {
            return Output::said("nothing was found");
        }
        if found >= self.limit {
            text.push_str(&format!(
                "[stopped at {} matches in {count} files: there may be more]\n",
                self.limit
            ));
        }
        Output::data(text)
    }
}

/// Collects the lines of one file.
struct Lines<'h, 'a> {
    hunt: &'h Hunt<'a>,
    path: Utf8PathBuf,
    text: String,
    count: usize,
}

impl Lines<'_, '_> {
    /// A common word has a hundred thousand of these: no formatting, and no look at a line's characters unless it may be too long.
    fn line(&mut self, number: Option<u64>, mark: char, bytes: &[u8]) {
        let line = String::from_utf8_lossy(bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        let cut = match line.len() > MAX_LINE {
            true => line.char_indices().nth(MAX_LINE).map_or(line, |(at, _)| &line[..at]),
            false => line,
        };
        self.text.push_str(self.path.as_str());
        self.text.push(mark);
        push_number(&mut self.text, number.unwrap_or_default());
        self.text.push(mark);
        self.text.push_str(cut);
        if cut.len() < line.len() {
            self.text.push('…');
        }
        self.text.push('\n');
    }
}

/// Decimal digits.
fn push_number(text: &mut String, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        // Less than ten.
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.extend(digits[at..].iter().map(|digit| char::from(*digit)));
}

impl Sink for Lines<'_, '_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        let before = self.hunt.found.fetch_add(1, Ordering::Relaxed);
        if before >= self.hunt.limit {
            return Ok(false);
        }
        self.count += 1;
        if self.hunt.input.files_only {
            self.text = format!("{}\n", self.path);
            return Ok(false);
        }
        self.line(found.line_number(), ':', found.bytes());
        // A file of gigabytes must not be read after nobody wants it any more.
        Ok(!self.count.is_multiple_of(64) || self.hunt.context.check().is_ok())
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, Self::Error> {
        self.line(found.line_number(), '-', found.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        self.text.push_str("--\n");
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::push_number;

    #[test]
    fn numbers_are_those_that_formatting_gives() {
        for number in [0, 1, 9, 10, 99, 100, 12_345, u64::MAX] {
            let mut text = String::from("a:");
            push_number(&mut text, number);
            assert_eq!(text, format!("a:{number}"));
        }
    }
}
