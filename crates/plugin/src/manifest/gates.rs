//! The two fields that make a gate, in either vocabulary.

use agents_system::{
    decode::{Table, Text},
    finding::Finding,
};

use crate::predicate::{Atom, Gate, Predicate, PredicateError};

/// Reads `crates` (or `depends-on`) and `predicates` of a table.
pub(super) fn decode(table: &Table<'_>) -> Gate {
    let old = table.string_or_strings("crates");
    let new = table.string_or_strings("depends-on");
    if !old.is_empty()
        && let Some(second) = new.first()
    {
        second.report(
            Finding::error("`crates` and `depends-on` mean the same and both are set")
                .hint("keep one of them"),
        );
    }
    let atoms = parse_all::<Atom>(old.iter().chain(&new));
    Gate::new(atoms, decode_predicates(table))
}

/// Reads only `predicates`, for tables that have no crates of their own.
pub(super) fn decode_predicates(table: &Table<'_>) -> Vec<Predicate> {
    parse_all(&table.strings("predicates"))
}

fn parse_all<'t, T>(texts: impl IntoIterator<Item = &'t Text<'t>>) -> Vec<T>
where
    T: std::str::FromStr<Err = PredicateError>,
{
    let parsed = texts.into_iter().filter_map(|text| match text.parse::<T>() {
        Ok(value) => Some(value),
        Err(error) => {
            text.report(Finding { hint: error.hint(), ..Finding::error(error.to_string()) });
            None
        }
    });
    parsed.collect()
}
