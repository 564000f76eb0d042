//! Every command of ours that a page shows, in a block or in a sentence, is one that the program understands.

use std::ffi::OsString;

use agents_testkit::book::{self, blocks, prose};
use camino::{Utf8Path, Utf8PathBuf};
use clap::{
    CommandFactory as _,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::{Args, Command, parse};

#[test]
fn the_program_understands_every_command_of_its_pages() {
    let (mut wrong, mut understood) = (Vec::new(), 0);
    let pages = book::pages();
    let plugins: String = pages.iter().chain(&manifests()).map(|it| book::read(it)).collect();
    for page in pages {
        for line in shown(&book::read(&page)) {
            let Some(argv) = ours(&line) else { continue };
            match parse(&argv) {
                Ok(args) if is_known(&args, &plugins) => understood += 1,
                Ok(_) => wrong.push(format!("{page}: {line}\n  there is no such command")),
                // A sentence may name a command without everything that it needs.
                Err(error) if is_short(&error) => understood += 1,
                Err(error) => wrong.push(format!("{page}: {line}\n  {error}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(understood > 250, "only {understood} commands were found");
}

#[test]
fn the_page_of_what_is_fetched_when_names_every_command() {
    let page = book::read(Utf8Path::new("docs/configuration.md"));
    let section = page.split("\n## ").find(|it| it.starts_with("What is fetched when")).unwrap();
    let named = |name: &str| {
        section.contains(&format!("`{name}`")) || section.contains(&format!("`{name} "))
    };
    let grammar = Args::command();
    let visible = grammar.get_subcommands().filter(|it| !it.is_hide_set());
    let missing: Vec<&str> =
        visible.map(clap::Command::get_name).filter(|name| !named(name)).collect();
    assert!(missing.is_empty(), "docs/configuration.md does not say what {missing:?} may fetch");
}

/// Of the plugins in examples.
fn manifests() -> Vec<Utf8PathBuf> {
    ["examples/crate/coinage", "examples/registry/plugins/safety"]
        .map(|it| Utf8Path::new(it).join("SYMPOSIUM.toml"))
        .to_vec()
}

/// Lines of blocks, and what stands between backquotes.
fn shown(page: &str) -> Vec<String> {
    let of_blocks =
        blocks(page).into_iter().filter(|it| it.language == "console" || it.language == "yaml");
    let lines = of_blocks.flat_map(|block| {
        let typed =
            |line: &str| line.trim_start_matches("$ ").trim_start_matches("- run: ").to_owned();
        block.text.lines().map(str::trim).map(typed).collect::<Vec<String>>()
    });
    let prose = prose(page);
    let spans = prose.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    lines.chain(spans.map(str::to_owned)).collect()
}

/// What would be typed after the name of the program, if it is ours: without variables before it and without what the shell does with it.
fn ours(line: &str) -> Option<Vec<OsString>> {
    let words = words(line);
    let mut words = words.into_iter().skip_while(|it| it.contains('=') && !it.starts_with('-'));
    if (words.next()?, words.next()?) != ("cargo".to_owned(), "agents".to_owned()) {
        return None;
    }
    let rest =
        words.take_while(|it| !["|", "<", ">", "2>&1", "&&", "&", ";"].contains(&it.as_str()));
    // `[PORT]` may be left out.
    let rest = rest.filter(|it| !it.starts_with('['));
    Some(std::iter::once("cargo-agents".to_owned()).chain(rest).map(OsString::from).collect())
}

/// The words of a line as a shell takes them, up to a comment.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for it in line.chars() {
        match (quote, it) {
            (None, '#') if word.is_none() => break,
            (None, '\'' | '"') => {
                quote = Some(it);
                word.get_or_insert_default();
            }
            (Some(open), it) if open == it => quote = None,
            (None, it) if it.is_whitespace() => words.extend(word.take()),
            (_, it) => word.get_or_insert_default().push(it),
        }
    }
    words.extend(word);
    words
}

/// Whether it is a command of ours, or one of these plugins.
fn is_known(args: &Args, plugins: &str) -> bool {
    let Some(Command::External(words)) = &args.command else { return true };
    let name = words.first().map(|it| it.to_string_lossy()).unwrap_or_default();
    let stands_for_one = name.starts_with(['<', '…']);
    stands_for_one || name == "crate-info" || plugins.contains(&format!("[subcommand.{name}]"))
}

fn is_short(error: &clap::Error) -> bool {
    let value = error.get(ContextKind::InvalidValue);
    if error.kind() == ErrorKind::InvalidValue
        && matches!(value, Some(ContextValue::String(it)) if it.is_empty())
    {
        return true;
    }
    matches!(
        error.kind(),
        ErrorKind::MissingRequiredArgument
            | ErrorKind::MissingSubcommand
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            | ErrorKind::DisplayVersion
    )
}

#[test]
fn lines_are_read_as_a_shell_reads_them() {
    assert_eq!(words("a \"b c\" d'e'  # f"), ["a", "b c", "de"]);
    let argv = |line: &str| ours(line).map(|it| it.join(&OsString::from(" ")));
    assert_eq!(argv("A=b cargo agents sync --check > c"), Some("cargo-agents sync --check".into()));
    assert_eq!(argv("cargo test"), None);
}
