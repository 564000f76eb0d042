//! The book: every page can be reached, every link leads somewhere, every file that is shown is what it says it is, and what is
//! typed prints what the page says. That the program understands every command, also those that are not run, is a test of `args`.
//!
//! `docs/extend/docs.md` tells how blocks are marked.

mod code;
mod files;
mod links;
mod paths;

#[cfg(target_os = "linux")]
use agents_testkit::book::Reader;
use agents_testkit::book::{blocks, pages, read, root};
use camino::Utf8PathBuf;

use crate::world::World;

/// Somebody with the program as it was built for the tests.
#[cfg(target_os = "linux")]
fn reader() -> Reader {
    let features: &[&str] = if cfg!(feature = "restate") { &["restate"] } else { &[] };
    Reader::with(env!("CARGO_BIN_EXE_cargo-agents")).having(features)
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = read("docs/SUMMARY.md".into());
    let missing: Vec<Utf8PathBuf> = pages()
        .into_iter()
        .filter(|page| page.starts_with("docs") && page.as_str() != "docs/SUMMARY.md")
        .filter(|page| !summary.contains(&format!("({})", page.strip_prefix("docs").unwrap())))
        .collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
}

#[test]
fn every_link_leads_somewhere() {
    let mut pages = pages();
    pages.push("CHANGELOG.md".into());
    pages.extend(
        ["pull_request_template.md", "ISSUE_TEMPLATE/bug.md", "ISSUE_TEMPLATE/idea.md"]
            .map(|it| Utf8PathBuf::from(".github").join(it)),
    );
    let broken: Vec<String> =
        pages.iter().flat_map(|page| links::broken(&root(), page, &read(page))).collect();
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn every_file_that_is_shown_is_one() {
    let world = World::new();
    let (mut wrong, mut parsed) = (Vec::new(), 0);
    for page in pages() {
        for block in blocks(&read(&page)) {
            parsed += usize::from(files::is_one(&block));
            if let Some(said) = files::complaint(&world, &block) {
                wrong.push(format!("{page}:{}: {said}", block.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(parsed > 60, "only {parsed} blocks were found");
}

/// Commands that nobody types must say why.
#[test]
fn commands_are_typed_or_there_is_a_reason() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = read(&page);
        let lines: Vec<&str> = text.lines().collect();
        for block in blocks(&text) {
            let before = block.line.checked_sub(2).and_then(|at| lines.get(at)).unwrap_or(&"");
            let has_reason = before.trim_start().starts_with("<!-- not run: ");
            let typed = block.text.lines().any(|line| line.starts_with("$ "));
            // Each of its pages is typed where it comes from.
            let hidden = block.language == "text" && typed && page != "docs/errors.md";
            // `.ci/newcomer` types those of the README.
            let unseen = block.language == "console" && page == "CONTRIBUTING.md";
            if (hidden || unseen) && !has_reason {
                wrong.push(format!("{page}:{}", block.line));
            }
        }
    }
    assert!(wrong.is_empty(), "commands that no test types, without a reason: {wrong:?}");
}

/// Whoever types what a page to start with shows has done everything that it takes.
#[test]
fn pages_to_start_with_do_nothing_that_they_do_not_show() {
    let (mut hidden, mut seen) = (Vec::new(), 0);
    for page in pages().into_iter().filter(|page| page.starts_with("docs/start")) {
        seen += 1;
        for (number, line) in read(&page).lines().enumerate() {
            let is_hidden = |word: &&str| line.trim_start().starts_with(&format!("<!-- {word}: "));
            if ["do", "in", "copy"].iter().any(is_hidden) {
                hidden.push(format!("{page}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    let hidden = hidden.join("\n");
    assert!(hidden.is_empty(), "steps that no reader sees; show them as commands:\n{hidden}");
    assert!(seen >= 3, "only {seen} pages were found");
}

/// Whoever adds a piece is told which files to touch.
#[test]
fn every_path_that_is_named_is_there() {
    let (mut gone, mut named) = (Vec::new(), 0);
    let is_about_files =
        |page: &Utf8PathBuf| page.starts_with("docs/extend") || page == "CONTRIBUTING.md";
    for page in pages().into_iter().filter(is_about_files) {
        for path in paths::named(&read(&page)) {
            named += 1;
            if !paths::is_there(&root(), &path) {
                gone.push(format!("{page}: {path}"));
            }
        }
    }
    assert!(gone.is_empty(), "there is no such file: {gone:?}");
    assert!(named > 80, "only {named} paths were found");
}

#[test]
fn code_that_is_shown_is_compiled() {
    let documentation = code::documentation();
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for page in pages() {
        for block in blocks(&read(&page)).iter().filter(|it| it.language == "rust") {
            seen += 1;
            let said = code::complaint(&documentation, block);
            wrong.extend(said.map(|said| format!("{page}:{}: {said}", block.line)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen >= 5, "only {seen} blocks were found");
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_typed_prints_what_the_page_says() {
    // Those of the root are for whoever has the sources, and those of examples have tests of their own.
    let has_commands = |page: &Utf8PathBuf| {
        page.starts_with("docs") && blocks(&read(page)).iter().any(|it| it.language == "console")
    };
    let pages: Vec<Utf8PathBuf> = pages().into_iter().filter(has_commands).collect();
    assert!(pages.len() >= 20, "{pages:?}");
    let different: Vec<String> = std::thread::scope(|scope| {
        let start = |page| {
            scope.spawn(move || {
                let mut reader = reader();
                (page, reader.follow(&read(page)))
            })
        };
        let running: Vec<_> = pages.iter().map(|page| start(page.as_path())).collect();
        let done = running.into_iter().map(|it| it.join().unwrap());
        done.flat_map(|(page, said)| said.into_iter().map(move |it| format!("{page}: {it}")))
            .collect()
    });
    assert!(different.is_empty(), "{}", different.join("\n\n"));
}

/// Every page of `cargo agents explain` shows how to come by its error, and typing that leads to it.
#[cfg(target_os = "linux")]
#[test]
fn every_error_that_is_explained_is_met() {
    use agents_system::explain::Code;
    let page = |code: &Code| read(format!("crates/cargo-agents/errors/{code}.md").as_str().into());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let take = || {
        let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Code::ALL.get(at)
    };
    // Some of them take a while, and do nothing meanwhile.
    let different: Vec<String> = std::thread::scope(|scope| {
        let work = || {
            let pages = std::iter::from_fn(take).map(|code| (code, page(code)));
            let said = pages.flat_map(|(code, page)| {
                let mut reader = reader();
                let mut said = reader.follow(&page);
                if !page.contains(&format!("[{code}]"))
                    && !page.contains(&format!("explain {code}`"))
                    && !page.contains("<!-- not run: ")
                {
                    said.push("its error is not in it".to_owned());
                }
                said.into_iter().map(move |it| format!("{code}: {it}"))
            });
            said.collect::<Vec<String>>()
        };
        let running: Vec<_> = (0..8).map(|_| scope.spawn(work)).collect();
        running.into_iter().flat_map(|it| it.join().unwrap()).collect()
    });
    assert!(different.is_empty(), "{}", different.join("\n\n"));
    let untyped = Code::ALL.iter().filter(|code| page(code).contains("<!-- not run: ")).count();
    assert!(untyped <= 3, "{untyped} pages show what nobody has typed");
}
