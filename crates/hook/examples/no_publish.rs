//! A handler that keeps agents from publishing crates, and that tells them what to do instead.
//!
//! ```toml
//! [[hooks]]
//! name = "no-publish"
//! event = "PreToolUse"
//! command = { source = "cargo", crate = "no-publish" }
//! ```

use std::{
    io::{stdin, stdout},
    process::ExitCode,
};

use agents_hook::{HookInput, HookOutput, handler};

fn main() -> ExitCode {
    handler::serve(stdin(), stdout(), |input| match input {
        HookInput::PreToolUse(call) if call.command().is_some_and(publishes) => {
            HookOutput::deny("releases are made by CI; push a tag instead")
        }
        _ => HookOutput::default(),
    })
}

fn publishes(command: &str) -> bool {
    command.split(['\n', ';', '&', '|']).any(|part| part.trim().starts_with("cargo publish"))
}
