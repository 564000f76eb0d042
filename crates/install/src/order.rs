//! In which order installations are acquired.

use std::collections::BTreeMap;

use crate::{
    error::InstallError,
    recipe::{InstallationName, Installations},
};

/// `name` and everything that it requires, directly or not: requirements first, each once, `name` last.
pub(crate) fn order<'a>(
    installations: &'a Installations,
    name: &'a InstallationName,
) -> Result<Vec<&'a InstallationName>, InstallError> {
    let mut walk = Walk::new(installations, Unknown::IsAnError);
    walk.visit(name)?;
    Ok(walk.done)
}

/// Installations that require each other, from the first one back to it, if there are any.
#[must_use]
pub fn find_cycle(installations: &Installations) -> Option<Vec<InstallationName>> {
    // One walk for all of them: however long the chains of a manifest are, each is gone through once.
    let mut walk = Walk::new(installations, Unknown::IsPassedOver);
    installations.keys().find_map(|name| match walk.visit(name) {
        Err(InstallError::Cycle { chain }) => Some(chain),
        _ => None,
    })
}

/// What to do about a name that stands for nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unknown {
    IsAnError,
    IsPassedOver,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    OnPath,
    Done,
}

struct Walk<'a> {
    installations: &'a Installations,
    unknown: Unknown,
    done: Vec<&'a InstallationName>,
    seen: BTreeMap<&'a InstallationName, Seen>,
}

impl<'a> Walk<'a> {
    fn new(installations: &'a Installations, unknown: Unknown) -> Self {
        Self { installations, unknown, done: Vec::new(), seen: BTreeMap::new() }
    }

    fn visit(&mut self, name: &'a InstallationName) -> Result<(), InstallError> {
        // Each name on the path with those of its requirements that have not been looked at. Not a recursion: a
        // manifest may be deeper than a stack.
        let mut path: Vec<(&InstallationName, &[InstallationName])> = Vec::new();
        let mut next = Some(name);
        loop {
            if let Some(name) = next.take().filter(|name| !self.seen.contains_key(name)) {
                match self.installations.get(name) {
                    Some(installation) => {
                        self.seen.insert(name, Seen::OnPath);
                        path.push((name, &installation.requirements));
                    }
                    None if self.unknown == Unknown::IsPassedOver => {}
                    None => {
                        let required_by = path.last().map(|(before, _)| (*before).clone());
                        return Err(InstallError::Unknown { name: name.clone(), required_by });
                    }
                }
            }
            let Some((name, left)) = path.last_mut() else { return Ok(()) };
            let Some((requirement, rest)) = left.split_first() else {
                self.seen.insert(name, Seen::Done);
                self.done.push(name);
                path.pop();
                continue;
            };
            *left = rest;
            if self.seen.get(requirement) == Some(&Seen::OnPath) {
                let from = path.iter().skip_while(|(before, _)| *before != requirement);
                let chain = from.map(|(name, _)| *name).chain([requirement]);
                return Err(InstallError::Cycle { chain: chain.cloned().collect() });
            }
            next = Some(requirement);
        }
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
    fn a_chain_may_be_longer_than_a_stack_and_is_gone_through_once() {
        let name = |number: usize| InstallationName::new(format!("i{number:06}"));
        let installation = |number: usize| Installation {
            source: None,
            entry: None,
            args: Vec::new(),
            install_commands: Vec::new(),
            requirements: vec![name(number + 1), name(number + 2)],
        };
        let mut chain: Installations =
            (0..50_000).map(|number| (name(number), installation(number))).collect();
        assert_eq!(find_cycle(&chain), None);
        chain.insert(name(50_000), installation(49_998));
        assert_eq!(find_cycle(&chain).map(|chain| chain.len()), Some(3));
    }

    #[test]
    fn cycles_and_unknown_names_are_errors() {
        check(&["a: a"], "installations require each other: `a` -> `a`");
        check(&["a: b", "b: c", "c: b"], "installations require each other: `b` -> `c` -> `b`");
        check(&["a: b", "b: c"], "there is no installation `c`, which `b` requires");
        check(&[], "there is no installation `a`");
    }
}
