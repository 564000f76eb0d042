//! Writing the agents of the program as files, so that they can be changed.

use std::io;

use agents_system::{atomic, foreign::ForeignError, regular};
use camino::{Utf8Path, Utf8PathBuf};

use crate::bundled::Embedded;

/// What to do with files that are there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// They stay.
    Keep,
    /// They are replaced.
    Replace,
}

/// One file to write, or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    /// The agent.
    pub name: &'static str,
    /// Its file.
    pub file: Utf8PathBuf,
    /// What is done with it.
    pub action: Action,
    text: String,
}

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It is written; there was none.
    Write,
    /// It is replaced.
    Replace,
    /// It is left alone: another one is there.
    Keep,
    /// It is left alone: it says the same.
    Same,
}

/// What would be written into a directory. What is there and cannot be read is an error: nobody knows whether it is another one.
pub fn plan_unpack(
    dir: &Utf8Path,
    files: Vec<Embedded>,
    existing: Existing,
) -> Result<Vec<Unpacked>, ForeignError> {
    let plan = files.into_iter().map(|Embedded { name, text }| {
        let file = dir.join(format!("{name}.md"));
        let action = match (regular::read_at_most(&file, u64::MAX)?, existing) {
            (None, _) => Action::Write,
            (Some(bytes), _) if bytes == text.as_bytes() => Action::Same,
            (Some(_), Existing::Keep) => Action::Keep,
            (Some(_), Existing::Replace) => Action::Replace,
        };
        Ok(Unpacked { name, file, action, text })
    });
    plan.collect()
}

/// Writes it.
pub fn apply_unpack(plan: &[Unpacked]) -> io::Result<()> {
    for unpacked in plan {
        if matches!(unpacked.action, Action::Write | Action::Replace) {
            atomic::write(&unpacked.file, unpacked.text.as_bytes())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use agents_testkit::scratch::Scratch;

    use super::*;
    use crate::bundled;

    #[test]
    fn what_cannot_be_read_is_not_another_one() {
        let scratch = Scratch::new();
        let plan =
            |dir: &str, existing| plan_unpack(&scratch.path(dir), bundled::files(), existing);
        let name = bundled::files()[0].name;
        scratch.write("file", "");
        fs_err::create_dir_all(scratch.path(format!("taken/{name}.md"))).unwrap();
        for existing in [Existing::Keep, Existing::Replace] {
            let error = plan("file", existing).unwrap_err();
            assert!(matches!(error, ForeignError::Io { .. }), "{error:?}");
            let error = plan("taken", existing).unwrap_err();
            assert!(matches!(error, ForeignError::NotAFile { .. }), "{error:?}");
        }
        scratch.write(format!("other/{name}.md"), "mine");
        assert_eq!(plan("other", Existing::Keep).unwrap()[0].action, Action::Keep);
        assert_eq!(plan("other", Existing::Replace).unwrap()[0].action, Action::Replace);
        assert_eq!(plan("new", Existing::Keep).unwrap()[0].action, Action::Write);
    }
}
