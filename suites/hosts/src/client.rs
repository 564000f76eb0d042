//! The clients, and where they come from.

use std::ffi::OsString;

use camino::{Utf8Path, Utf8PathBuf};

pub use agents_probe::client::{Client, Place, Scope, all};

use crate::install::{Package, Prefix};

/// Where Codex keeps the `rg` that it brings. OpenCode wants one on the path, and would download it.
const RG: &str = "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/codex-path";

const CODEX: Package = Package { name: "@openai/codex", program: "node_modules/.bin/codex" };

/// The package that brings a client.
#[must_use]
pub fn package(client: &dyn Client) -> Package {
    let (name, program) = match client.host() {
        "codex" => return CODEX,
        "claude" => ("@anthropic-ai/claude-code", "node_modules/.bin/claude"),
        "opencode" => ("opencode-ai", "node_modules/.bin/opencode"),
        "gemini" => ("@google/gemini-cli", "node_modules/.bin/gemini"),
        "copilot" => ("@github/copilot", "node_modules/.bin/copilot"),
        "qwen" => ("@qwen-code/qwen-code", "node_modules/.bin/qwen"),
        "goose" => {
            ("@aaif/goose-binary-linux-x64", "node_modules/@aaif/goose-binary-linux-x64/bin/goose")
        }
        // The next step, installing it, says that there is none of this name.
        other => (other, "node_modules/.bin/unknown"),
    };
    Package { name, program }
}

/// The packages that a client cannot do without besides its own.
#[must_use]
pub fn needed(client: &dyn Client) -> &'static [Package] {
    match client.host() {
        "opencode" => &[CODEX],
        _ => &[],
    }
}

/// The `PATH` that clients have: our program, which is in `ours`, and what they are run by.
#[must_use]
pub fn path(prefix: &Prefix, ours: &Utf8Path) -> OsString {
    let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(Utf8PathBuf::from);
    let dirs = [ours.to_owned(), prefix.node()].into_iter().chain(prefix.file(CODEX, RG));
    let dirs: Vec<String> = dirs.chain(usual).map(Utf8PathBuf::into_string).collect();
    dirs.join(":").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_comes_from_somewhere() {
        for client in all() {
            assert_ne!(package(client.as_ref()).name, client.host());
        }
    }
}
