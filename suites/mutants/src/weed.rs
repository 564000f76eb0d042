//! Which changes the compiler notices: they are taken out until the rest compiles.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use anyhow::bail;
use camino::{Utf8Path, Utf8PathBuf};
use hosts_suite::say;
use serde::{Deserialize, Serialize};

use crate::{
    change::{Change, Switch},
    compile::{Built, Copy, Error, Program, Reuse},
    copy::Files,
    room::Room,
    switch::{self, Switched, Without},
};

/// What has no switch, by the keys of the changes.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Weeds {
    /// The compiler noticed.
    pub(crate) not_rust: BTreeSet<String>,
    /// There is no place for a switch; they are built alone.
    pub(crate) no_place: BTreeSet<String>,
    /// Functions that are called in constants.
    constant: BTreeSet<String>,
}

/// What is built from.
pub(crate) struct Garden<'a> {
    pub(crate) room: &'a Room,
    pub(crate) changes: &'a [Change],
    pub(crate) root: &'a Utf8Path,
    pub(crate) files: &'a Files,
    pub(crate) copy: Copy<'a>,
}

type AllSwitched = BTreeMap<Utf8PathBuf, Switched>;

impl Garden<'_> {
    /// The test programs with everything that compiles in them. What was known not to compile is not tried.
    pub(crate) fn build(&self, weeds: &mut Weeds) -> anyhow::Result<Vec<Program>> {
        let package = self.room.package();
        self.until_it_compiles(weeds, || self.copy.check(&package))?;
        // What only code that is to run is checked for.
        self.until_it_compiles(weeds, || {
            self.copy.build(&package, &self.room.path(), Reuse::Packages)
        })
    }

    /// The test programs with one change and without any switch, or what the compiler says to it.
    pub(crate) fn build_alone(&self, change: &Change) -> anyhow::Result<Built<Vec<Program>>> {
        let text = change.made_in(self.files.text(&change.file)?);
        let changed = BTreeMap::from([(change.file.clone(), text)]);
        self.files.write(self.root, self.copy.tree, &changed)?;
        self.copy.build(&self.room.package(), &self.room.path(), Reuse::Pieces)
    }

    fn until_it_compiles<T>(
        &self,
        weeds: &mut Weeds,
        compile: impl Fn() -> anyhow::Result<Built<T>>,
    ) -> anyhow::Result<T> {
        loop {
            let switched = self.plant(weeds)?;
            match compile()? {
                Ok(built) => return Ok(built),
                Err(errors) => self.weed(weeds, &switched, &errors)?,
            }
            say(&format!(
                "{}: {} changes do not compile so far",
                self.room.name,
                weeds.not_rust.len()
            ));
        }
    }

    /// Writes the copy.
    fn plant(&self, weeds: &mut Weeds) -> anyhow::Result<AllSwitched> {
        let mut of_file = BTreeMap::<&Utf8Path, Vec<(Switch, &Change)>>::new();
        for (change, number) in self.changes.iter().zip(1..) {
            let key = change.key();
            let changes = of_file.entry(&change.file).or_default();
            if !weeds.not_rust.contains(&key) && !weeds.no_place.contains(&key) {
                changes.push((Switch(number), change));
            }
        }
        let (mut texts, mut all) = (BTreeMap::new(), BTreeMap::new());
        for (file, changes) in of_file {
            let switched = switch::switch(self.files.text(file)?, &changes, &weeds.constant)?;
            for (switch, why) in &switched.without {
                let known = match why {
                    Without::NotRust => &mut weeds.not_rust,
                    Without::NoPlace => &mut weeds.no_place,
                };
                known.insert(self.change(*switch).key());
            }
            texts.insert(file.to_owned(), switched.text.clone());
            all.insert(file.to_owned(), switched);
        }
        let library = self.room.path().join("src/lib.rs");
        let text = match texts.remove(&library) {
            Some(text) => text,
            None => self.files.text(&library)?.to_owned(),
        };
        texts.insert(library, text + switch::ANSWER);
        self.files.write(self.root, self.copy.tree, &texts)?;
        Ok(all)
    }

    fn change(&self, switch: Switch) -> &Change {
        &self.changes[switch.0 as usize - 1]
    }

    fn weed(
        &self,
        weeds: &mut Weeds,
        switched: &AllSwitched,
        errors: &[Error],
    ) -> anyhow::Result<()> {
        let before = weeds.clone();
        let mut strange = Vec::new();
        for error in errors {
            let found = culprits(error, switched);
            let is_constant = error.code.as_deref() == Some("E0015");
            let is_of_switch = is_constant || is_about_ownership(error);
            let known = if is_of_switch { &mut weeds.no_place } else { &mut weeds.not_rust };
            known.extend(found.iter().map(|it| self.change(*it).key()));
            if found.is_empty() && is_constant {
                let freed = switched.values().flat_map(|it| &it.no_longer_constant);
                let called = freed.filter(|it| error.message.contains(&format!("{it}`")));
                weeds.constant.extend(called.cloned());
            } else if found.is_empty() {
                strange.push(error.rendered.as_str());
            }
        }
        if *weeds == before {
            bail!("what does not compile is no change\n{}", strange.join("\n"));
        }
        Ok(())
    }
}

/// Whether it is about what is moved or borrowed. What a switch repeats is there twice, and may be fine once.
fn is_about_ownership(error: &Error) -> bool {
    let codes = ["E0381", "E0382", "E0499", "E0502", "E0503", "E0505", "E0506", "E0507", "E0597"];
    error.code.as_deref().is_some_and(|it| codes.contains(&it))
}

/// The changes at whose code an error begins or ends, by the first of its places that has any.
fn culprits(error: &Error, switched: &AllSwitched) -> Vec<Switch> {
    let at = |(file, range): &(Utf8PathBuf, Range<usize>)| {
        let places = switched.get(file).map_or(&[][..], |it| it.places.as_slice());
        let meets = |place: &Range<usize>| {
            place.contains(&range.start) || (place.start < range.end && range.end <= place.end)
        };
        places.iter().filter(|(it, _)| meets(it)).map(|(_, it)| *it).collect::<Vec<_>>()
    };
    error.spans.iter().map(at).find(|it| !it.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Genre;

    #[test]
    fn an_error_belongs_to_the_change_whose_code_it_is_about() {
        let text = "fn f(a: u32) -> u32 { a + 1 }";
        let changes = [
            Change::of(text, "+", Genre::BinaryOperator, "-"),
            Change::of(text, "+", Genre::BinaryOperator, "*"),
        ];
        let numbered: Vec<_> = changes.iter().zip(1..).map(|(it, n)| (Switch(n), it)).collect();
        let switched = switch::switch(text, &numbered, &BTreeSet::new()).unwrap();
        let all = BTreeMap::from([(Utf8PathBuf::from("src/lib.rs"), switched)]);
        let culprits = |part: &str| {
            let start = all[Utf8Path::new("src/lib.rs")].text.find(part).unwrap();
            let spans = vec![("src/lib.rs".into(), start..start + part.len())];
            let (message, rendered) = (String::new(), String::new());
            culprits(&Error { code: None, message, rendered, spans }, &all)
        };
        assert_eq!(culprits("(a) - (1)"), [Switch(1)]);
        assert_eq!(culprits("* (1)"), [Switch(2)]);
        assert_eq!(culprits("{a + 1}"), []);
    }
}
