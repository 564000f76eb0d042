//! Questions by numbered lines, for terminals that cannot move the cursor.

use std::io::{self, Write as _};

use super::{
    AskError, input,
    menu::{Menu, Step},
};

pub(super) fn ask(mut menu: Menu<'_>) -> Result<Vec<usize>, AskError> {
    input::listen();
    let mut show = true;
    loop {
        let (lines, prompt) = menu.numbered();
        let mut stderr = io::stderr().lock();
        if show {
            writeln!(stderr, "{}", lines.join("\n"))?;
        }
        write!(stderr, "{prompt}")?;
        stderr.flush()?;
        match menu.enter_line(&input::line().inspect_err(|_| end_line())?) {
            Step::Done(picked) => return Ok(picked),
            Step::Cancel => return Err(AskError::Cancelled),
            Step::Interrupt => return Err(AskError::Interrupted),
            Step::Stay => show = true,
            Step::Refused(why) => {
                writeln!(stderr, "{why}")?;
                show = false;
            }
        }
    }
}

/// What is said next starts on a line of its own.
fn end_line() {
    let _ = writeln!(io::stderr());
}
