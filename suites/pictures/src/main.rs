//! Pictures of the program at work, taken from real runs on a real terminal.
//!
//! ```console
//! cargo run -p pictures-suite                     # whether docs/pictures/*.svg show what is seen now
//! cargo run -p pictures-suite -- plan task        # some of them
//! cargo run -p pictures-suite -- --update-docs    # takes them anew
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`scene`] | what is typed, where, by whom |
//! | [`svg`] | a screen as a picture |

#![allow(clippy::disallowed_methods, reason = "programs are started as a stranger would")]

mod scene;
mod svg;

use anyhow::bail;
use camino::{Utf8Path, Utf8PathBuf};
use clap::Parser;
use hosts_suite::{install, say};

use crate::scene::SCENES;

/// Take pictures of real runs on a terminal, and compare them with those of the book
#[derive(Debug, Parser)]
struct Args {
    /// Which ones; all, if none is named
    scenes: Vec<String>,
    /// Write them to `docs/pictures`, instead of comparing them with what is there
    #[arg(long)]
    update_docs: bool,
    /// Where our program was built; it is built if this is not said
    #[arg(long, value_name = "DIR")]
    built: Option<Utf8PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let known: Vec<&str> = SCENES.iter().map(|it| it.name).collect();
    if let Some(name) = args.scenes.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("there is no picture `{name}`; there are {}", known.join(", "));
    }
    let built = match args.built {
        Some(built) => built,
        None => install::build(&[("cargo-agents", "cargo-agents")])?,
    };
    let root = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize_utf8()?;
    let mut stale = Vec::new();
    for scene in SCENES {
        if !args.scenes.is_empty() && !args.scenes.iter().any(|name| name == scene.name) {
            continue;
        }
        let file = root.join("docs/pictures").join(scene.name).with_extension("svg");
        let picture = scene.taken(&root, &built)?;
        if args.update_docs {
            fs_err::create_dir_all(root.join("docs/pictures"))?;
            fs_err::write(&file, picture)?;
            say(&format!("{}", file.strip_prefix(&root)?));
            continue;
        }
        let (shown, seen) = (svg::lines(&fs_err::read_to_string(&file)?), svg::lines(&picture));
        for line in shown.iter().filter(|it| !seen.contains(it)) {
            say(&format!("{}: no longer seen: {line}", scene.name));
        }
        for line in seen.iter().filter(|it| !shown.contains(it)) {
            say(&format!("{}: not shown: {line}", scene.name));
        }
        if shown != seen {
            stale.push(scene.name);
        }
    }
    if !stale.is_empty() {
        bail!(
            "{} {} not show what is seen now; `cargo run -p pictures-suite -- --update-docs` takes them anew",
            stale.join(", "),
            if stale.len() == 1 { "does" } else { "do" }
        );
    }
    Ok(())
}
