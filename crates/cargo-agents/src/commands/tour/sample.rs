//! The sample workspace that ships inside the program.

use std::io;

use agents_system::{
    explain::ErrorKind,
    process::{Call, ProcessError, ending},
};
use camino::Utf8Path;

use crate::failure::Failure;

macro_rules! sample {
    ($($path:literal => $from:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../../tour/", $from)))),+]
    };
}

/// Where each file goes and what it holds. `@ROOT@` stands for where the sample is.
const FILES: &[(&str, &str)] = sample! {
    "orders/Cargo.toml" => "orders/Cargo.toml.sample",
    "orders/Cargo.lock" => "orders/Cargo.lock.sample",
    "orders/schema.sql" => "orders/schema.sql",
    "orders/drop.json" => "orders/drop.json.sample",
    "orders/.mcp.json" => "orders/mcp.json.sample",
    "orders/.agents/agents/guide.md" => "orders/guide.md.sample",
    "home/guide-script.toml" => "guide-script.toml",
    "orders/api/Cargo.toml" => "orders/api/Cargo.toml.sample",
    "orders/store/Cargo.toml" => "orders/store/Cargo.toml.sample",
    "orders/upgrade.toml" => "orders/upgrade.toml",
    "crates/tinysql-0.4/Cargo.toml" => "crates/tinysql-0.4/Cargo.toml.sample",
    "crates/tinysql/Cargo.toml" => "crates/tinysql/Cargo.toml.sample",
    "registry/tinysql-tools/SYMPOSIUM.toml" => "registry/tinysql-tools/SYMPOSIUM.toml",
    "registry/tinysql-tools/keep-tables.sh" => "registry/tinysql-tools/keep-tables.sh",
    "registry/tinysql-tools/skills/tinysql-queries/SKILL.md" =>
        "registry/tinysql-tools/skills/tinysql-queries/SKILL.md",
    "registry/graphite-tools/SYMPOSIUM.toml" => "registry/graphite-tools/SYMPOSIUM.toml",
    "tool/Cargo.toml" => "tool/Cargo.toml.sample",
    "tool/src/main.rs" => "tool/main.rs.sample",
};

/// Libraries with nothing in them.
const EMPTY: &[&str] = &[
    "orders/api/src/lib.rs",
    "orders/store/src/lib.rs",
    "crates/tinysql/src/lib.rs",
    "crates/tinysql-0.4/src/lib.rs",
];

/// The home of the tour knows one registry and two hosts, and keeps to the workspace.
const CONFIG: &str = r#"hosts = ["claude", "codex"]
hook-scope = "project"

[defaults]
symposium-recommendations = false
user-plugins = false

[[registry]]
name = "sample"
path = "../registry"

[providers.sample]
kind = "script"
script = "guide-script.toml"

# Whoever has keys or coding agents pays for nothing here.
[models.agents]
guide = "sample/default"
explore = "sample/default"
task = "sample/default"
quick_task = "sample/default"
"#;

/// Writes everything below `root`.
pub(super) fn write(root: &Utf8Path) -> io::Result<()> {
    let empty = EMPTY.iter().map(|path| (*path, ""));
    let config = std::iter::once(("home/config.toml", CONFIG));
    for (path, text) in FILES.iter().copied().chain(empty).chain(config) {
        let file = root.join(path);
        if let Some(parent) = file.parent() {
            fs_err::create_dir_all(parent)?;
        }
        fs_err::write(file, text.replace("@ROOT@", root.as_str()))?;
    }
    Ok(())
}

/// Makes a git repository of the tool, for cargo to install it from.
pub(super) fn commit_tool(root: &Utf8Path) -> Result<(), Failure> {
    let identity = ["-c", "user.name=tour", "-c", "user.email=tour@localhost"];
    let plain = ["-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"];
    for args in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "sql-tables 1.0.0"]] {
        let call = Call::new("git").args(identity).args(plain).args(args.iter().copied());
        let done = call.cwd(root.join("tool")).capture();
        Failure::if_interrupted()?;
        let done = done.map_err(|error| no_git(&error))?;
        if !done.status.success() {
            let message = format!("`git {}` ended with {}", args[0], ending(done.status));
            return Err(Failure::new(ErrorKind::Failure, message).details(done.said()));
        }
    }
    Ok(())
}

fn no_git(error: &ProcessError) -> Failure {
    Failure::new(ErrorKind::Failure, format!("cannot make a git repository: {error}"))
        .hint("the tour needs git on `PATH`")
}
