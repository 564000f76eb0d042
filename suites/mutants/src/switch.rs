//! Every change of a file behind a switch, in one text.
//!
//! `a + b` becomes `(if crate::__changed(7) { (a) - (b) } else {a + b})`: one program has all changes, and does as before until one is turned on.
//! Of an operator both operands are repeated as they stood; what is changed inside of them has its switches in the other half.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use anyhow::Context as _;
use tree_sitter::{Node, Parser};

use crate::{
    change::{Change, Genre, Switch},
    switch::insert::{Depth, Insert},
};

mod insert;
#[cfg(test)]
mod tests;

/// The variable that turns one on.
pub(crate) const ON: &str = "MUTANTS_SWITCH";
/// The variable that names a file for the switches that are reached.
pub(crate) const REACHED: &str = "MUTANTS_REACHED";

/// What answers in the instrumented library. It stands at its end.
pub(crate) const ANSWER: &str = r#"
#[doc(hidden)]
#[allow(warnings, clippy::all, clippy::disallowed_methods)]
pub fn __changed(switch: u32) -> bool {
    use std::{collections::HashSet, env, fs::File, io::Write as _, sync::{LazyLock, Mutex}};
    static ON: LazyLock<u32> = LazyLock::new(|| env::var("MUTANTS_SWITCH").ok().and_then(|it| it.parse().ok()).unwrap_or(0));
    static REACHED: LazyLock<Option<Mutex<(HashSet<u32>, File)>>> = LazyLock::new(|| {
        let file = File::options().append(true).create(true).open(env::var_os("MUTANTS_REACHED")?).ok()?;
        Some(Mutex::new((HashSet::new(), file)))
    });
    if let Some(reached) = &*REACHED {
        let mut reached = reached.lock().unwrap_or_else(|it| it.into_inner());
        if reached.0.insert(switch) {
            let _ = reached.1.write_all(format!("{switch}\n").as_bytes());
        }
    }
    *ON == switch
}
"#;

/// A file with its switches.
#[derive(Debug)]
pub(crate) struct Switched {
    pub(crate) text: String,
    /// The code that only one change has.
    pub(crate) places: Vec<(Range<usize>, Switch)>,
    pub(crate) without: Vec<(Switch, Without)>,
    /// Functions that are not constant any more, since a switch is not.
    pub(crate) no_longer_constant: BTreeSet<String>,
}

/// Why a change has no switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Without {
    /// What it would make is not Rust.
    NotRust,
    /// There is no place for one: it needs a build of its own.
    NoPlace,
}

/// Puts the changes of a file behind switches. Functions that are called in constants are `constant`, and stay so.
pub(crate) fn switch(
    text: &str,
    changes: &[(Switch, &Change)],
    constant: &BTreeSet<String>,
) -> anyhow::Result<Switched> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_rust::LANGUAGE.into())?;
    let tree = parser.parse(text, None).context("the grammar gave up")?;
    let mut nodes = Vec::new();
    collect(tree.root_node(), &mut nodes);
    let mut file = File { text, nodes, constant, inserts: Vec::new(), freed: BTreeMap::new() };
    let mut without = Vec::new();
    // Several changes of the same place are alternatives.
    let mut places = BTreeMap::<(usize, usize), Vec<(Switch, &Change)>>::new();
    for (switch, change) in changes {
        let at = change.span.start.offset(text);
        places.entry((at, change.genre as usize)).or_default().push((*switch, change));
    }
    let mut guards = BTreeMap::<usize, Guard<'_>>::new();
    for ((at, _), of_place) in &places {
        if let Err(why) = file.place(*at, of_place, &mut guards) {
            without.extend(of_place.iter().map(|(switch, _)| (*switch, why)));
        }
    }
    for guard in guards.into_values() {
        file.guard(&guard);
    }
    let no_longer_constant = file.free();
    let (text, places) = insert::insert(text, file.inserts);
    Ok(Switched { text, places, without, no_longer_constant })
}

fn collect<'t>(node: Node<'t>, into: &mut Vec<Node<'t>>) {
    into.push(node);
    let mut cursor = node.walk();
    for child in node.children(&mut cursor) {
        collect(child, into);
    }
}

/// A condition of an arm, and what becomes of it.
struct Guard<'t> {
    condition: Node<'t>,
    switches: Vec<(Switch, Becomes)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Becomes {
    True,
    False,
}

struct File<'a, 't> {
    text: &'a str,
    nodes: Vec<Node<'t>>,
    constant: &'a BTreeSet<String>,
    inserts: Vec<Insert>,
    /// Those of functions in which there are switches, by where they stand.
    freed: BTreeMap<usize, ConstWord>,
}

/// The word `const` before a function.
struct ConstWord {
    range: Range<usize>,
    function: String,
}

fn const_of(function: Node<'_>) -> Option<Range<usize>> {
    let (mut outer, mut inner) = (function.walk(), function.walk());
    let mut modifiers = function.children(&mut outer);
    let modifiers = modifiers.find(|it| it.kind() == "function_modifiers")?;
    inner.reset(modifiers);
    let mut words = modifiers.children(&mut inner);
    words.find(|it| it.kind() == "const").map(|it| it.byte_range())
}

impl<'t> File<'_, 't> {
    fn text(&self, node: Node<'_>) -> &str {
        &self.text[node.byte_range()]
    }

    /// The outermost node of one of these kinds that begins here.
    fn node(&self, kinds: &[&str], at: usize) -> Result<Node<'t>, Without> {
        let found =
            self.nodes.iter().find(|it| it.start_byte() == at && kinds.contains(&it.kind()));
        found.copied().ok_or(Without::NoPlace)
    }

    fn place(
        &mut self,
        at: usize,
        changes: &[(Switch, &Change)],
        guards: &mut BTreeMap<usize, Guard<'t>>,
    ) -> Result<(), Without> {
        let Some((_, first)) = changes.first() else { return Ok(()) };
        let word = self.constant_around(at)?;
        match first.genre {
            Genre::FnValue if first.returns_hidden_type() => return Err(Without::NoPlace),
            Genre::FnValue => {
                let pieces = changes.iter().map(|(switch, change)| {
                    (
                        format!("if {} {{ return {}; }} ", on(*switch), change.replacement),
                        Some(*switch),
                    )
                });
                self.inserts.push(Insert::before(at, pieces.collect()));
            }
            Genre::BinaryOperator => self.operator(at, changes)?,
            Genre::UnaryOperator => {
                let node = self.node(&["unary_expression"], at)?;
                let rest = self.text[at + 1..node.end_byte()].to_owned();
                self.alternatives(node, changes, |_| rest.clone());
            }
            Genre::StructField => self.field(at, changes)?,
            Genre::MatchArm => {
                let pattern = self.node(&["match_arm"], at)?.child_by_field_name("pattern");
                let pattern = pattern.ok_or(Without::NoPlace)?;
                self.arm(pattern, changes, guards)?;
            }
            Genre::MatchArmGuard => {
                let is_condition = |it: &&Node<'t>| {
                    let condition = it.child_by_field_name("condition");
                    it.kind() == "match_pattern"
                        && condition.is_some_and(|it| it.start_byte() == at)
                };
                let pattern = self.nodes.iter().find(is_condition).ok_or(Without::NoPlace)?;
                let condition = pattern.child_by_field_name("condition").ok_or(Without::NoPlace)?;
                let switches =
                    changes.iter().map(|(switch, change)| match change.replacement.as_str() {
                        "true" => Ok((*switch, Becomes::True)),
                        "false" => Ok((*switch, Becomes::False)),
                        _ => Err(Without::NoPlace),
                    });
                let switches = switches.collect::<Result<Vec<_>, _>>()?;
                let guard = guards.entry(condition.start_byte());
                guard
                    .or_insert(Guard { condition, switches: Vec::new() })
                    .switches
                    .extend(switches);
            }
        }
        self.freed.extend(word.map(|it| (it.range.start, it)));
        Ok(())
    }

    /// `const` of the function around, which it cannot be with a switch inside.
    fn constant_around(&self, at: usize) -> Result<Option<ConstWord>, Without> {
        // What begins here is after what is put in here.
        let around = |it: &&Node<'_>| it.start_byte() < at && at < it.end_byte();
        let mut found = Ok(None);
        // From the outside to the inside.
        for node in self.nodes.iter().filter(around) {
            match node.kind() {
                "const_item" | "static_item" | "array_type" | "enum_variant" => {
                    found = Err(Without::NoPlace);
                }
                "closure_expression" => found = Ok(None),
                "function_item" => {
                    let name = node.child_by_field_name("name").map(|it| self.text(it).to_owned());
                    found = match const_of(*node).zip(name) {
                        None => Ok(None),
                        Some((_, name)) if self.constant.contains(&name) => Err(Without::NoPlace),
                        Some((range, name)) => Ok(Some(ConstWord { range, function: name })),
                    };
                }
                _ => {}
            }
        }
        found
    }

    fn operator(&mut self, at: usize, changes: &[(Switch, &Change)]) -> Result<(), Without> {
        let is_here = |it: &&Node<'_>| it.start_byte() == at && it.child_count() == 0;
        let token = self.nodes.iter().find(is_here).ok_or(Without::NoPlace)?;
        let node = token.parent().ok_or(Without::NoPlace)?;
        // `let … || …` does not exist.
        if node.kind() == "let_chain" {
            return Err(Without::NotRust);
        }
        let operand = |name| node.child_by_field_name(name).ok_or(Without::NoPlace);
        let (left, right) = (operand("left")?, operand("right")?);
        if node.child_by_field_name("operator").is_none_or(|it| it.start_byte() != at) {
            return Err(Without::NoPlace);
        }
        let (left, right) = (self.text(left).to_owned(), self.text(right).to_owned());
        self.alternatives(node, changes, |it| format!("({left}) {} ({right})", it.replacement));
        Ok(())
    }

    /// The field as what stands behind `..` has it.
    fn field(&mut self, at: usize, changes: &[(Switch, &Change)]) -> Result<(), Without> {
        let node = self.node(&["field_initializer", "shorthand_field_initializer"], at)?;
        let list = node.parent().ok_or(Without::NoPlace)?;
        let whole = list.parent().and_then(|it| it.child_by_field_name("name"));
        let whole = self.text(whole.ok_or(Without::NoPlace)?);
        let mut cursor = list.walk();
        let base = list.children(&mut cursor).find(|it| it.kind() == "base_field_initializer");
        let base = self.text(base.ok_or(Without::NoPlace)?);
        let value = node.child_by_field_name("value");
        let name =
            node.child_by_field_name("field").map_or_else(|| self.text(node), |it| self.text(it));
        let (instead, name) = (format!("({whole} {{ {base} }}).{name}"), name.to_owned());
        if value.is_none() {
            self.inserts.push(Insert::before(at, vec![(format!("{name}: "), None)]));
        }
        self.alternatives(value.unwrap_or(node), changes, |_| instead.clone());
        Ok(())
    }

    fn arm(
        &mut self,
        pattern: Node<'t>,
        changes: &[(Switch, &Change)],
        guards: &mut BTreeMap<usize, Guard<'t>>,
    ) -> Result<(), Without> {
        if let Some(condition) = pattern.child_by_field_name("condition") {
            let switches = changes.iter().map(|(switch, _)| (*switch, Becomes::False));
            let guard = guards.entry(condition.start_byte());
            guard.or_insert(Guard { condition, switches: Vec::new() }).switches.extend(switches);
            return Ok(());
        }
        // With a guard it no longer counts towards all that there can be: another one must take the rest.
        let arms = pattern.parent().and_then(|arm| arm.parent()).ok_or(Without::NoPlace)?;
        let mut cursor = arms.walk();
        let others =
            arms.named_children(&mut cursor).filter_map(|it| it.child_by_field_name("pattern"));
        let mut others = others.filter(|it| *it != pattern);
        if !others.any(|it| self.takes_everything(it)) {
            return Err(Without::NoPlace);
        }
        let conditions: Vec<String> =
            changes.iter().map(|(it, _)| format!("!{}", on(*it))).collect();
        let switch = changes.first().map(|(it, _)| *it);
        let piece = format!(" if {}", conditions.join(" && "));
        self.inserts.push(Insert::before(pattern.end_byte(), vec![(piece, switch)]));
        Ok(())
    }

    /// `_`, or a name that is no constant, without a condition.
    fn takes_everything(&self, pattern: Node<'_>) -> bool {
        let only = pattern.child(0).filter(|_| pattern.child_count() == 1);
        only.is_some_and(|it| match it.kind() {
            "_" => true,
            "identifier" => self.text(it).starts_with(|it: char| it.is_lowercase() || it == '_'),
            _ => false,
        })
    }

    /// The expression, or what one of the changes makes of it.
    fn alternatives(
        &mut self,
        node: Node<'_>,
        changes: &[(Switch, &Change)],
        instead: impl Fn(&Change) -> String,
    ) {
        let mut open = vec![("(".to_owned(), None)];
        open.extend(changes.iter().map(|(switch, change)| {
            (format!("if {} {{ {} }} else ", on(*switch), instead(change)), Some(*switch))
        }));
        open.push(("{".to_owned(), None));
        let around = Insert::around(&node.byte_range(), Depth::Inner, open, "})".to_owned());
        self.inserts.extend(around);
    }

    fn guard(&mut self, guard: &Guard<'_>) {
        let open = guard.switches.iter().map(|(switch, becomes)| {
            let piece = match becomes {
                Becomes::True => format!("{} || (", on(*switch)),
                Becomes::False => format!("!{} && (", on(*switch)),
            };
            (piece, Some(*switch))
        });
        let (open, close) = (open.collect(), ")".repeat(guard.switches.len()));
        let range = guard.condition.byte_range();
        self.inserts.extend(Insert::around(&range, Depth::Outer, open, close));
    }

    /// Comments out `const` where it cannot stand any more.
    fn free(&mut self) -> BTreeSet<String> {
        let freed = std::mem::take(&mut self.freed);
        let mut names = BTreeSet::new();
        for ConstWord { range, function } in freed.into_values() {
            self.inserts.push(Insert::before(range.start, vec![("/*".to_owned(), None)]));
            self.inserts.push(Insert::before(range.end, vec![("*/".to_owned(), None)]));
            names.insert(function);
        }
        names
    }
}

fn on(switch: Switch) -> String {
    format!("crate::__changed({})", switch.0)
}
