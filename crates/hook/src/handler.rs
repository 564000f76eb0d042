//! Writing a handler in Rust.
//!
//! A plugin's hook is a program: it reads one JSON object and may print one. With `default-features =
//! false` this crate is nothing but these types and [`serve`], and `serde_json` below them.
//!
//! ```no_run
//! use std::{io::{stdin, stdout}, process::ExitCode};
//! use agents_hook::{HookInput, HookOutput, handler};
//!
//! fn main() -> ExitCode {
//!     handler::serve(stdin(), stdout(), |input| match input {
//!         HookInput::PreToolUse(call) if call.command().is_some_and(|it| it.contains("cargo publish")) => {
//!             HookOutput::deny("releases are made by CI; push a tag instead")
//!         }
//!         _ => HookOutput::default(),
//!     })
//! }
//! ```

use std::{
    io::{Read, Write},
    process::ExitCode,
};

use crate::{Answered, HookInput, HookOutput};

/// Reads the input, asks for the answer and writes it. An input that cannot be understood is said on
/// standard error and ends with exit code 1, which no host takes as a denial.
pub fn serve(
    mut stdin: impl Read,
    mut stdout: impl Write,
    answer: impl FnOnce(&HookInput) -> HookOutput,
) -> ExitCode {
    let mut bytes = Vec::new();
    let input = match stdin.read_to_end(&mut bytes) {
        Ok(_) => serde_json::from_slice::<HookInput>(&bytes).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let written = input.and_then(|input| {
        let output = answer(&input);
        if output.is_empty() {
            return Ok(());
        }
        let line =
            serde_json::to_vec(&Answered::to(&input, output)).map_err(|it| it.to_string())?;
        stdout.write_all(&line).and_then(|()| stdout.flush()).map_err(|error| error.to_string())
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: cannot answer the hook: {error}");
            ExitCode::FAILURE
        }
    }
}
