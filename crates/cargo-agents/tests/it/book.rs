//! The book: every page can be reached, every link leads somewhere, every file that is shown is what it says it is, and what is
//! typed in its first pages prints what they say.
//!
//! `docs/extend/docs.md` tells how blocks are marked.

mod blocks;
mod links;
#[cfg(target_os = "linux")]
mod typed;

use agents_host::Overrides;
use agents_model::script::ScriptFile;
use agents_testkit::scratch;
use camino::{Utf8Path, Utf8PathBuf};

use self::blocks::{Block, blocks};
use crate::world::World;

/// The root of the repository.
fn root() -> Utf8PathBuf {
    Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize_utf8().unwrap()
}

/// All pages below `docs`, in order, relative to the root.
fn pages() -> Vec<Utf8PathBuf> {
    let (root, mut found) = (root(), Vec::new());
    let mut waiting = vec![root.join("docs")];
    while let Some(dir) = waiting.pop() {
        for entry in dir.read_dir_utf8().unwrap() {
            let path = entry.unwrap().into_path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension() == Some("md") {
                found.push(path.strip_prefix(&root).unwrap().to_owned());
            }
        }
    }
    found.sort();
    assert!(found.len() > 40, "the pages were not found: {found:?}");
    found
}

fn read(page: &Utf8Path) -> String {
    fs_err::read_to_string(root().join(page)).unwrap()
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = read("docs/SUMMARY.md".into());
    let missing: Vec<Utf8PathBuf> = pages()
        .into_iter()
        .filter(|page| page.as_str() != "docs/SUMMARY.md")
        .filter(|page| !summary.contains(&format!("({})", page.strip_prefix("docs").unwrap())))
        .collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
}

#[test]
fn every_link_leads_somewhere() {
    let mut pages = pages();
    pages.extend(["README.md".into(), "CONTRIBUTING.md".into()]);
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
            let Some(name) = block.name() else {
                if block.language == "toml" {
                    wrong.push(format!("{page}:{}: it does not say what it is", block.line));
                }
                continue;
            };
            parsed += 1;
            if let Some(said) = complaint(&world, &name, &block) {
                wrong.push(format!("{page}:{}: not a `{name}`: {said}", block.line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(parsed > 40, "only {parsed} blocks were found");
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_typed_prints_what_the_page_says() {
    let is_typed =
        |page: &Utf8PathBuf| page.starts_with("docs/start") || page.starts_with("docs/guides");
    let pages: Vec<Utf8PathBuf> = pages().into_iter().filter(is_typed).collect();
    assert!(pages.len() >= 9, "{pages:?}");
    let different: Vec<String> = std::thread::scope(|scope| {
        let start = |page| scope.spawn(move || (page, typed::follow(&read(page))));
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
                let mut said = typed::follow(&page);
                if !page.contains(&format!("[{code}]")) && !page.contains(&format!("explain {code}`")) && !page.contains("<!-- not run: ") {
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
    assert!(untyped <= 6, "{untyped} pages show what nobody has typed");
}

/// What is wrong with a block that is meant to be such a file.
fn complaint(world: &World, name: &str, block: &Block) -> Option<String> {
    let dir = world.sample.scratch().path("book");
    // What another block said counts for that one only.
    world.config("");
    let place = |relative: &str| {
        let path = dir.join(relative);
        scratch::write(&path, &block.text);
        path
    };
    match name {
        "config.toml" => {
            world.config(&block.text);
            refused(world, &["config", "show"])
        }
        "SYMPOSIUM.toml" => {
            // Of a crate if it has no name of its own. What it runs is there.
            let own = block.text.split("\n[").next().unwrap().contains("name = ");
            let kind = if own { "plugin" } else { "crate" };
            let package = "[package]\nname = \"shown\"\nversion = \"0.1.0\"\n";
            scratch::write(&dir.join("crate/Cargo.toml"), package);
            for script in block.text.split('"').filter(|it| it.ends_with(".sh")) {
                scratch::write(&dir.join(kind).join(script), "");
            }
            let manifest = place(&format!("{kind}/SYMPOSIUM.toml"));
            refused(world, &["plugin", "validate", manifest.as_str()])
        }
        "plan.toml" => {
            for agent in ["careful", "judge"] {
                let text = format!("---\nname: {agent}\ndescription: of the book\n---\nBe so.\n");
                scratch::write(&dir.join("agents").join(format!("{agent}.md")), text);
            }
            let (plan, agents) = (place("plan.toml"), dir.join("agents"));
            refused(world, &["plan", "check", plan.as_str(), "--agents", agents.as_str()])
        }
        "agent.md" => {
            refused(world, &["agent", "validate", "--strict", place("agent.md").as_str()])
        }
        "SKILL.md" => refused(world, &["plugin", "validate", place("skill/SKILL.md").as_str()]),
        "script.toml" => ScriptFile::parse_toml(&block.text).err().map(|error| error.to_string()),
        "hosts.toml" => {
            let overrides = Overrides { file: "hosts.toml".into(), text: &block.text };
            let (_, findings) = agents_host::hosts(Some(overrides));
            findings.first().map(|finding| finding.message.clone())
        }
        "batch.toml" | "agents.lock" => {
            block.text.parse::<toml::Table>().err().map(|error| error.to_string())
        }
        _ => Some("nobody knows how to read it".to_owned()),
    }
}

/// What the program says if it does not agree.
fn refused(world: &World, args: &[&str]) -> Option<String> {
    let run = world.agents(args);
    (run.code != Some(0)).then(|| format!("{}{}", run.stdout, run.stderr))
}
