//! What a `for-each` goes over.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Expansion, Instance, Scope};
use crate::{
    check::MemberFacts,
    file::{Each, List, Order, Task},
};

/// The longest part of a name that an item gives.
const MAX_NAME: usize = 48;

/// One item.
pub(super) struct Item {
    /// Its part of the node's name.
    pub(super) name: String,
    pub(super) value: Value,
    /// The positions of those that come before it.
    pub(super) after: Vec<usize>,
}

impl Expansion<'_> {
    pub(super) fn items(&self, scope: &Scope, each: &Each) -> Vec<Item> {
        if let Some(members) = &each.members {
            return self.members(members, each.order);
        }
        let values = match &each.list {
            None => Vec::new(),
            Some(List::Items(items)) => items.clone(),
            Some(List::Reference(text)) => {
                let task = Task::default();
                let known = Instance {
                    scope,
                    task: &task,
                    name: String::new(),
                    item: None,
                    needs: Vec::new(),
                    when: None,
                };
                match known.bind(text).value(&known) {
                    Value::Array(items) => items,
                    _ => Vec::new(),
                }
            }
        };
        let mut taken = BTreeSet::new();
        let named = values.into_iter().enumerate().map(|(at, value)| {
            let name = free(&name_of(&value, at), &mut taken);
            Item { name, value, after: Vec::new() }
        });
        named.collect()
    }

    fn members(&self, wanted: &[String], order: Order) -> Vec<Item> {
        let all = wanted.iter().any(|it| it == "*");
        let is_wanted = |it: &MemberFacts| all || wanted.contains(&it.name);
        let ordered = in_order(&self.facts.members);
        let position: BTreeMap<&str, usize> =
            ordered.iter().enumerate().map(|(at, it)| (it.name.as_str(), at)).collect();
        let chosen: Vec<usize> = (0..ordered.len()).filter(|it| is_wanted(ordered[*it])).collect();
        let mut taken = BTreeSet::new();
        let items = chosen.iter().map(|at| {
            let member = ordered[*at];
            let after = match order {
                Order::Any => Vec::new(),
                Order::Dependencies => {
                    let nearest = nearest(*at, &ordered, &position, &chosen);
                    nearest.into_iter().filter_map(|it| chosen.binary_search(&it).ok()).collect()
                }
            };
            Item {
                name: free(&member.name, &mut taken),
                value: json!({ "name": member.name, "dir": member.dir }),
                after,
            }
        });
        items.collect()
    }
}

/// Members so that each comes after those that it depends on, as far as they do not depend on each other.
fn in_order(members: &[MemberFacts]) -> Vec<&MemberFacts> {
    let mut sorted: Vec<&MemberFacts> = members.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let by_name: BTreeMap<&str, &MemberFacts> =
        sorted.iter().map(|it| (it.name.as_str(), *it)).collect();
    let (mut seen, mut ordered) = (BTreeSet::new(), Vec::new());
    for member in sorted {
        // With the position of the next dependency to look at: chains are long in large workspaces.
        let mut way = vec![(member, 0)];
        if !seen.insert(member.name.as_str()) {
            continue;
        }
        while let Some((at, next)) = way.last_mut() {
            match at.depends_on.get(*next) {
                Some(name) => {
                    *next += 1;
                    if let Some(on) = by_name.get(name.as_str())
                        && seen.insert(on.name.as_str())
                    {
                        way.push((on, 0));
                    }
                }
                None => {
                    ordered.push(*at);
                    way.pop();
                }
            }
        }
    }
    ordered
}

/// The nearest chosen members that one depends on, through those that are not chosen.
fn nearest(
    of: usize,
    ordered: &[&MemberFacts],
    position: &BTreeMap<&str, usize>,
    chosen: &[usize],
) -> BTreeSet<usize> {
    let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::from([of]));
    let mut waiting = vec![of];
    while let Some(at) = waiting.pop() {
        for on in ordered[at].depends_on.iter().filter_map(|it| position.get(it.as_str())) {
            // Only backwards: members that depend on each other (in their tests) must not wait for each other.
            if *on >= at || !seen.insert(*on) {
                continue;
            }
            if chosen.binary_search(on).is_ok() {
                found.insert(*on);
            } else {
                waiting.push(*on);
            }
        }
    }
    found
}

/// What an item is called: after its text or its `name`, else after its position.
fn name_of(value: &Value, at: usize) -> String {
    let text = value.as_str().or_else(|| value.get("name")?.as_str()).unwrap_or_default();
    let fine =
        |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let name: String = text.chars().take(MAX_NAME).map(fine).collect();
    let name = name.trim_matches(['-', '.']);
    if name.is_empty() { (at + 1).to_string() } else { name.to_owned() }
}

/// The name, with a number if it is taken.
fn free(name: &str, taken: &mut BTreeSet<String>) -> String {
    let mut free = name.to_owned();
    let mut number = 1;
    while !taken.insert(free.clone()) {
        number += 1;
        free = format!("{name}-{number}");
    }
    free
}
