//! What cargo says to the copy: programs, or errors that belong to changes.

use std::{ops::Range, time::Duration};

use agents_system::{env, process::Call};
use anyhow::bail;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

/// The copy, and where it is built.
#[derive(Debug)]
pub(crate) struct Copy<'a> {
    pub(crate) tree: &'a Utf8Path,
    /// Its own: cargo names what it builds by where a package is in its workspace, and would take the changed rooms for ours.
    pub(crate) target: &'a Utf8Path,
}

/// A program with tests.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    /// `lib` for the unit tests.
    pub(crate) name: String,
    pub(crate) path: Utf8PathBuf,
}

/// How much of a build the next one can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// What is built once is not worth being remembered.
    Packages,
    /// Every piece of the package, too: little changes from one build to the next.
    Pieces,
}

/// An error of the compiler.
#[derive(Debug)]
pub(crate) struct Error {
    pub(crate) code: Option<String>,
    pub(crate) message: String,
    pub(crate) rendered: String,
    /// What it is about, the most important first.
    pub(crate) spans: Vec<(Utf8PathBuf, Range<usize>)>,
}

/// Built, or why not.
pub(crate) type Built<T> = Result<T, Vec<Error>>;

impl Copy<'_> {
    /// Whether the library of a package is Rust.
    pub(crate) fn check(&self, package: &str) -> anyhow::Result<Built<()>> {
        let said = self.cargo(&["check", "--lib"], package, Reuse::Packages)?;
        Ok(said.map(drop))
    }

    /// All test programs of a package, with what they start.
    pub(crate) fn build(
        &self,
        package: &str,
        room: &Utf8Path,
        reuse: Reuse,
    ) -> anyhow::Result<Built<Vec<Program>>> {
        let sources = self.tree.join(room);
        let of_room = |message: &Value| {
            let target = &message["target"];
            let is_ours = Utf8Path::new(target["src_path"].as_str()?).starts_with(&sources);
            let path = message["executable"].as_str().filter(|_| is_ours)?;
            let is_library = target["kind"].as_array()?.iter().any(|it| it == "lib");
            let name = if is_library { "lib" } else { target["name"].as_str()? };
            let is_test = message["profile"]["test"] == true;
            is_test.then(|| Program { name: name.to_owned(), path: path.into() })
        };
        let said = self.cargo(&["test", "--no-run"], package, reuse)?;
        Ok(said.map(|messages| messages.iter().filter_map(of_room).collect()))
    }

    fn cargo(
        &self,
        args: &[&str],
        package: &str,
        reuse: Reuse,
    ) -> anyhow::Result<Built<Vec<Value>>> {
        // For this package only: those below it are the same for both.
        let pieces =
            format!("profile.dev.package.{package}.incremental={}", reuse == Reuse::Pieces);
        let call = Call::new(env::CARGO.get().unwrap_or_else(|| "cargo".into()))
            .args(args.iter().copied())
            .args(["-p", package, "--locked", "--message-format=json"])
            .args(["--config", "profile.dev.incremental=false", "--config", &pieces])
            .cwd(self.tree)
            .env("CARGO_TARGET_DIR", self.target.as_str())
            .without_env("CARGO_INCREMENTAL")
            .deadline(Duration::from_secs(2 * 3600));
        let done = call.capture()?;
        let text = done.stdout_text();
        let messages: Vec<Value> =
            text.lines().filter_map(|it| serde_json::from_str(it).ok()).collect();
        if done.status.success() {
            return Ok(Ok(messages));
        }
        let errors: Vec<Error> = messages.iter().filter_map(error).collect();
        if errors.is_empty() {
            bail!("`{}` failed\n{}", call.display(), String::from_utf8_lossy(&done.stderr));
        }
        Ok(Err(errors))
    }
}

fn error(message: &Value) -> Option<Error> {
    let message = &message["message"];
    let spans = message["spans"].as_array().filter(|_| message["level"] == "error")?;
    let mut spans: Vec<&Value> = spans.iter().collect();
    spans.sort_by_key(|it| it["is_primary"] != true);
    let number = |it: &Value| it.as_u64().and_then(|it| usize::try_from(it).ok());
    let place = |it: &&Value| {
        let range = number(&it["byte_start"])?..number(&it["byte_end"])?;
        Some((it["file_name"].as_str()?.into(), range))
    };
    Some(Error {
        code: message["code"]["code"].as_str().map(str::to_owned),
        message: message["message"].as_str()?.to_owned(),
        rendered: message["rendered"].as_str()?.to_owned(),
        spans: spans.iter().filter_map(place).collect(),
    })
}
