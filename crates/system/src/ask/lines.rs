//! Questions by numbered lines, for terminals that cannot move the cursor.

use std::io::{self, Write as _};

use super::{
    AskError, Withdrawal, input,
    menu::{Menu, Step},
};

pub(super) fn ask(mut menu: Menu<'_>, withdrawal: &Withdrawal) -> Result<Vec<usize>, AskError> {
    input::listen();
    let mut show = true;
    loop {
        let (lines, prompt) = menu.numbered();
        // Not locked: others may want to say something while nobody answers.
        let mut stderr = io::stderr();
        if show {
            writeln!(stderr, "{}", lines.join("\n"))?;
        }
        write!(stderr, "{prompt}")?;
        stderr.flush()?;
        match menu.enter_line(&input::line(withdrawal).inspect_err(|_| end_line())?) {
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
