//! `find`.

use camino::Utf8Path;
use globset::GlobBuilder;
use ignore::WalkBuilder;
use schemars::JsonSchema;
use serde::Deserialize;

use super::start;
use crate::{
    context::CallContext,
    policy::Effects,
    rights::Subject,
    tool::{Intent, Output, ToolError, Typed},
};

/// More names than this are not shown unless somebody asks.
const DEFAULT_LIMIT: usize = 1_000;

/// Finds files by their names.
#[derive(Debug, Clone, Copy)]
pub struct Find;

/// What to find.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindInput {
    /// A pattern of paths, such as `**/*.rs` or `src/*/mod.rs`; one without a `/` matches names at any depth.
    pub pattern: String,
    /// The directory to look in; the working directory if absent.
    #[serde(default)]
    pub path: Option<String>,
    /// Hidden files and what `.gitignore` names, too.
    #[serde(default)]
    pub all: bool,
    /// How many to show at most; 1000 if absent.
    #[serde(default)]
    pub limit: Option<usize>,
}

impl Typed for Find {
    type Input = FindInput;

    const NAME: &'static str = "find";
    const DESCRIPTION: &'static str = "Finds files and directories by a pattern of their paths. `*` does not cross a `/`, `**` does. Directories end in `/`. \
        What `.gitignore` names and hidden files are left out unless `all`.";

    fn intent(&self, input: &FindInput, context: &CallContext) -> Result<Intent, ToolError> {
        context.area.locate(input.path.as_deref().unwrap_or("."))?;
        Ok(Intent { subject: Subject::Tree, ..Intent::plain(Effects::READS) })
    }

    async fn run(&self, input: FindInput, context: &CallContext) -> Result<Output, ToolError> {
        context.blocking(move |context| find(&input, context)).await
    }
}

fn find(input: &FindInput, context: &CallContext) -> Result<Output, ToolError> {
    let pattern = input.pattern.trim().trim_start_matches("./");
    let pattern = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
    let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
    let glob =
        glob.map_err(|error| ToolError::failed(format!("the pattern is not right: {error}")))?;
    let glob = glob.compile_matcher();
    let limit = input.limit.unwrap_or(DEFAULT_LIMIT).max(1);
    let area = &context.area;
    let place = start(input.path.as_deref(), context)?;
    let root = area.absolute(&place);
    let mut walk = WalkBuilder::new(&root);
    walk.follow_links(false).standard_filters(!input.all);
    let mut found = Vec::new();
    for entry in walk.build() {
        context.check()?;
        let Ok(entry) = entry else { continue };
        let Some(path) = Utf8Path::from_path(entry.path()) else { continue };
        let Ok(relative) = path.strip_prefix(&root) else { continue };
        if relative.as_str().is_empty() || !glob.is_match(relative) {
            continue;
        }
        let here = area.below(&place, relative);
        let is_link = entry.path_is_symlink();
        // A name that is not below the root by now is not shown. Links are: they are not followed.
        if !area.admits(&here) || (!is_link && area.kind(&here).is_err()) {
            continue;
        }
        let end = if entry.file_type().is_some_and(|it| it.is_dir()) { "/" } else { "" };
        found.push(format!("{}{end}\n", area.shown(&here)));
        if found.len() >= limit {
            found.sort_unstable();
            found.push(format!("[stopped at {limit}: there may be more]\n"));
            return Ok(Output::data(found.concat()));
        }
    }
    found.sort_unstable();
    Ok(if found.is_empty() {
        Output::said("nothing was found")
    } else {
        Output::data(found.concat())
    })
}
