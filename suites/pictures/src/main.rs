//! Pictures of the program at work, taken from real runs on a real terminal.
//!
//! ```console
//! cargo run -p pictures-suite                 # takes all of them anew: docs/pictures/*.svg
//! cargo run -p pictures-suite -- plan task    # some
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

/// Take pictures of real runs on a terminal
#[derive(Debug, Parser)]
struct Args {
    /// Which ones; all, if none is named
    scenes: Vec<String>,
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
    for scene in SCENES {
        if !args.scenes.is_empty() && !args.scenes.iter().any(|name| name == scene.name) {
            continue;
        }
        let file = root.join("docs/pictures").join(scene.name).with_extension("svg");
        fs_err::create_dir_all(root.join("docs/pictures"))?;
        fs_err::write(&file, scene.taken(&root, &built)?)?;
        say(&format!("{}", file.strip_prefix(&root)?));
    }
    Ok(())
}
