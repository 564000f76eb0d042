//! In which order installations are acquired.

use crate::{
    error::InstallError,
    recipe::{InstallationName, Installations},
};

/// `name` and everything that it requires, directly or not: requirements first, each once, `name` last.
pub(crate) fn order<'a>(
    installations: &'a Installations,
    name: &'a InstallationName,
) -> Result<Vec<&'a InstallationName>, InstallError> {
    let mut walk = Walk { installations, path: Vec::new(), done: Vec::new() };
    walk.visit(name)?;
    Ok(walk.done)
}

/// Installations that require each other, from the first one back to it, if there are any.
#[must_use]
pub fn find_cycle(installations: &Installations) -> Option<Vec<InstallationName>> {
    installations.keys().find_map(|name| match order(installations, name) {
        Err(InstallError::Cycle { chain }) => Some(chain),
        _ => None,
    })
}

struct Walk<'a> {
    installations: &'a Installations,
    path: Vec<&'a InstallationName>,
    done: Vec<&'a InstallationName>,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, name: &'a InstallationName) -> Result<(), InstallError> {
        if self.done.contains(&name) {
            return Ok(());
        }
        if let Some(from) = self.path.iter().position(|before| *before == name) {
            let chain = self.path[from..].iter().copied().chain([name]).cloned().collect();
            return Err(InstallError::Cycle { chain });
        }
        let Some(installation) = self.installations.get(name) else {
            let required_by = self.path.last().copied().cloned();
            return Err(InstallError::Unknown { name: name.clone(), required_by });
        };
        self.path.push(name);
        for requirement in &installation.requirements {
            self.visit(requirement)?;
        }
        self.path.pop();
        self.done.push(name);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Installation;

    /// `a: b c` means that `a` requires `b` and `c`.
    fn check(lines: &[&str], expected: &str) {
        let mut installations = Installations::new();
        for line in lines {
            let (name, requirements) = line.split_once(':').unwrap();
            let requirements = requirements.split_whitespace().map(InstallationName::new).collect();
            let installation = Installation {
                source: None,
                entry: None,
                args: Vec::new(),
                install_commands: Vec::new(),
                requirements,
            };
            installations.insert(InstallationName::new(name), installation);
        }
        let start = InstallationName::new("a");
        let got = match order(&installations, &start) {
            Ok(names) => names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expected);
    }

    #[test]
    fn requirements_come_first_and_once() {
        check(&["a:"], "a");
        check(&["a: b c", "b: d", "c: d", "d:"], "d b c a");
    }

    #[test]
    fn cycles_and_unknown_names_are_errors() {
        check(&["a: a"], "installations require each other: `a` -> `a`");
        check(&["a: b", "b: c", "c: b"], "installations require each other: `b` -> `c` -> `b`");
        check(&["a: b", "b: c"], "there is no installation `c`, which `b` requires");
        check(&[], "there is no installation `a`");
    }
}
