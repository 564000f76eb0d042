//! A table of a descriptor with the user's table of the same name on top of it.

use agents_system::decode::{Table, Text};

/// Two tables, read as one: a key of the user's replaces the descriptor's. A key of the user's that cannot
/// be used is reported, and the descriptor's counts again.
pub(crate) struct Layered<'d> {
    base: Table<'d>,
    over: Option<Table<'d>>,
    replaced: bool,
}

impl<'d> Layered<'d> {
    pub(crate) fn new(base: Table<'d>, over: Option<Table<'d>>) -> Self {
        Self { base, over, replaced: false }
    }

    fn layers(&self) -> impl Iterator<Item = &Table<'d>> {
        self.over.iter().chain([&self.base])
    }

    /// The first layer that has the key and whose value `read` accepts; `read` reports what it does not.
    pub(crate) fn read<T>(
        &self,
        key: &'static str,
        read: impl Fn(&Table<'d>) -> Option<T>,
    ) -> Option<T> {
        // Both are asked, so that the key is known to both.
        let (over, base) = (self.over.as_ref().filter(|it| it.has(key)), self.base.has(key));
        over.and_then(&read).or_else(|| base.then(|| read(&self.base)).flatten())
    }

    /// The same, for a key that must be there.
    pub(crate) fn required<T>(
        &self,
        key: &'static str,
        read: impl Fn(&Table<'d>) -> Option<T>,
    ) -> Option<T> {
        if self.layers().all(|layer| !layer.has(key)) {
            self.base.missing(key);
        }
        self.read(key, read)
    }

    /// A string.
    pub(crate) fn string(&self, key: &'static str) -> Option<String> {
        self.read(key, |table| table.string(key)).map(|text| text.to_string())
    }

    /// A string that must be there.
    pub(crate) fn required_string(&self, key: &'static str) -> Option<String> {
        self.required(key, |table| table.string(key)).map(|text| text.to_string())
    }

    /// A list of strings; a missing key is an empty list.
    pub(crate) fn strings(&self, key: &'static str) -> Vec<String> {
        let texts = self.read(key, |table| texts(table, key)).unwrap_or_default();
        texts.iter().map(Text::to_string).collect()
    }

    /// A list whose strings are turned into something; one that cannot be is reported and left out.
    pub(crate) fn list<T, E: ToString>(
        &self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Vec<T> {
        let texts = self.read(key, |table| texts(table, key)).unwrap_or_default();
        texts.iter().filter_map(|text| parsed(text, &parse)).collect()
    }

    /// A string that is turned into something.
    pub(crate) fn parsed<T, E: ToString>(
        &self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<T> {
        self.read(key, |table| parsed(&table.string(key)?, &parse))
    }

    /// A table that must be there.
    pub(crate) fn table(&self, key: &'static str) -> Option<Layered<'d>> {
        let over = self.over.as_ref().and_then(|table| table.table(key));
        if !self.base.has(key) {
            self.base.missing(key);
        }
        Some(Layered::new(self.base.table(key)?, over))
    }

    /// A table that may be missing in the descriptor, and then cannot be added to.
    pub(crate) fn optional_table(&self, key: &'static str) -> Option<Layered<'d>> {
        let over = self.over.as_ref().and_then(|table| table.table(key));
        Some(Layered::new(self.base.table(key)?, over))
    }

    /// Why the user, or else the descriptor, says that there is nothing here. Once the user does, the rest
    /// of the descriptor's table does not matter any more.
    pub(crate) fn none(&mut self) -> Option<String> {
        if let Some(over) = &self.over
            && let Some(reason) = over.string("none")
        {
            self.replaced = true;
            return Some(reason.to_string());
        }
        self.base.string("none").map(|reason| reason.to_string())
    }

    /// Every key that nobody asked for: an error in a descriptor, a warning in the user's file.
    pub(crate) fn finish(&self) {
        if !self.replaced {
            self.base.deny_unknown();
        }
        if let Some(over) = &self.over {
            over.warn_unknown();
        }
    }
}

/// `None`, and a finding, for something that is not a list.
fn texts<'d>(table: &Table<'d>, key: &'static str) -> Option<Vec<Text<'d>>> {
    let texts = table.strings(key);
    table.get(key)?.is_array().then_some(texts)
}

fn parsed<T, E: ToString>(text: &Text<'_>, parse: impl Fn(&str) -> Result<T, E>) -> Option<T> {
    match parse(text) {
        Ok(value) => Some(value),
        Err(error) => {
            text.error(error.to_string());
            None
        }
    }
}
