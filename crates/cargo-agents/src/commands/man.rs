//! `cargo agents man`: the manual pages, made from the same grammar as `--help`.

use std::process::ExitCode;

use agents_system::explain::ErrorKind;
use camino::Utf8Path;
use clap_mangen::Man;
use serde::Serialize;

use crate::{args, failure::Failure, output::Output, settings::Settings};

/// What stands at the foot of every page: the program, and the version that the page is about.
const PROGRAM: &str = concat!("cargo-agents ", env!("CARGO_PKG_VERSION"));
/// What stands at the head of every page.
const MANUAL: &str = "Cargo Agents Manual";

/// `cargo agents man --dir DIR --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ManDocument {
    /// Where the pages were written
    dir: String,
    /// The names of their files
    pages: Vec<String>,
}

pub(crate) fn run(
    settings: &Settings,
    output: &Output,
    dir: Option<&Utf8Path>,
    path: &[String],
) -> Result<ExitCode, Failure> {
    let grammar = args::manual();
    if let Some(dir) = dir {
        install(&settings.cwd.join(dir), &grammar, output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut command = &grammar;
    for word in path {
        command = command.find_subcommand(word).ok_or_else(|| {
            Failure::new(ErrorKind::Usage, format!("no command is named `{}`", path.join(" ")))
                .hint("`cargo agents --help` lists those that have a page")
        })?;
    }
    output.text(String::from_utf8_lossy(&page(command)))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes all pages into a directory, and tells which.
fn install(dir: &Utf8Path, grammar: &clap::Command, output: &Output) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(ErrorKind::Failure, error.to_string());
    fs_err::create_dir_all(dir).map_err(failed)?;
    let pages = pages(grammar);
    for (name, page) in &pages {
        fs_err::write(dir.join(name), page).map_err(failed)?;
    }
    if output.is_json() {
        let pages = pages.into_iter().map(|(name, _)| name).collect();
        return output.document(&ManDocument { dir: dir.to_string(), pages });
    }
    output.line(format!("{} manual pages in `{dir}`", pages.len()))
}

/// The page of every command, by the name of its file.
fn pages(command: &clap::Command) -> Vec<(String, Vec<u8>)> {
    let own = (format!("{}.1", name(command)), page(command));
    let inner = command.get_subcommands().filter(|it| !it.is_hide_set()).flat_map(pages);
    std::iter::once(own).chain(inner).collect()
}

/// `cargo-agents-task-run`
fn name(command: &clap::Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}

fn page(command: &clap::Command) -> Vec<u8> {
    let mut page = Vec::new();
    let man = Man::new(command.clone())
        .title(name(command).to_uppercase())
        // An empty one would be left out, and what follows taken for it. A true one would differ from build to build.
        .date(" ")
        // By itself it takes the last word of the command for a program, which has no version.
        .source(PROGRAM)
        .manual(MANUAL);
    // Writing into memory does not fail.
    let _ = man.render(&mut page);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_own_name() {
        let pages = pages(&args::manual());
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        for expected in [
            "cargo-agents.1",
            "cargo-agents-crate-info.1",
            "cargo-agents-hook-replay.1",
            "cargo-agents-sync.1",
            "cargo-agents-task-run.1",
        ] {
            assert!(names.contains(&expected), "{names:?}");
        }
        assert!(names.is_sorted_by(|a, b| a != b) && names.len() > 60, "{}", names.len());
        for (name, page) in &pages {
            let page = String::from_utf8(page.clone()).unwrap();
            let title = name.trim_end_matches(".1").to_uppercase();
            let version = env!("CARGO_PKG_VERSION");
            let head =
                format!(".TH {title} 1 \" \" \"cargo-agents {version}\" \"Cargo Agents Manual\"\n");
            assert!(page.contains(&head), "{page}");
            assert!(page.contains(".SH SYNOPSIS"), "{name}");
        }
    }
}
