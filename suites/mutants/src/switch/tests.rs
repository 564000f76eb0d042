//! What each genre of change becomes, and that it is still what it was while nothing is turned on.

use super::*;

/// The text with its switches, `crate::__changed` shortened, after a look at its syntax.
#[track_caller]
fn switched(text: &str, changes: &[Change]) -> String {
    let numbered: Vec<_> = changes.iter().zip(1..).map(|(it, n)| (Switch(n), it)).collect();
    let switched = switch(text, &numbered, &BTreeSet::new()).unwrap();
    assert_eq!(switched.without, []);
    assert_syntax(&switched.text);
    for (range, switch) in &switched.places {
        let piece = &switched.text[range.clone()];
        assert!(piece.contains(&on(*switch)), "`{piece}` is not of {switch:?}");
    }
    switched.text.replace("crate::__changed", "on")
}

#[track_caller]
fn assert_syntax(text: &str) {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_rust::LANGUAGE.into()).unwrap();
    let tree = parser.parse(text, None).unwrap();
    assert!(!tree.root_node().has_error(), "not Rust:\n{text}");
}

#[track_caller]
fn without(text: &str, change: &Change) -> Without {
    let switched = switch(text, &[(Switch(1), change)], &BTreeSet::new()).unwrap();
    assert_eq!(switched.text, text);
    let [(Switch(1), why)] = switched.without[..] else { panic!("{:?}", switched.without) };
    why
}

#[test]
fn a_function_returns_something_else_before_it_does_anything() {
    let text = "fn f() -> u32 {\n    ä() + 1\n}";
    let changes = [
        Change::of(text, "ä()", Genre::FnValue, "0"),
        Change::of(text, "ä()", Genre::FnValue, "1"),
        Change::of(text, "+", Genre::BinaryOperator, "-"),
    ];
    assert_eq!(
        switched(text, &changes),
        "fn f() -> u32 {\n    if on(1) { return 0; } if on(2) { return 1; } (if on(3) { (ä()) - (1) } else {ä() + 1})\n}"
    );
}

#[test]
fn alternatives_of_one_operator_share_a_place() {
    let text = "fn f(a: u8) -> bool { a < 3 }";
    let changes = ["==", ">", "<="].map(|it| Change::of(text, "<", Genre::BinaryOperator, it));
    assert_eq!(
        switched(text, &changes),
        "fn f(a: u8) -> bool { (if on(1) { (a) == (3) } else if on(2) { (a) > (3) } else if on(3) { (a) <= (3) } else {a < 3}) }"
    );
}

#[test]
fn operators_inside_of_operators_keep_to_their_operands() {
    let text = "fn f() { a * b + !c; x -= 1; }";
    let changes = [
        Change::of(text, "*", Genre::BinaryOperator, "/"),
        Change::of(text, "+", Genre::BinaryOperator, "-"),
        Change::of(text, "!", Genre::UnaryOperator, ""),
        Change::of(text, "-=", Genre::BinaryOperator, "+="),
    ];
    assert_eq!(
        switched(text, &changes),
        "fn f() { (if on(2) { (a * b) - (!c) } else {(if on(1) { (a) / (b) } else {a * b}) + (if on(3) { c } else {!c})}); \
         (if on(4) { (x) += (1) } else {x -= 1}); }"
    );
}

#[test]
fn a_cast_before_a_comparison_is_no_generic_argument() {
    let text = "fn f() -> bool { a as u64 > b }";
    let change = Change::of(text, "> b }", Genre::BinaryOperator, "<");
    let expected = "fn f() -> bool { (if on(1) { (a as u64) < (b) } else {a as u64 > b}) }";
    assert_eq!(switched(text, &[change]), expected);
}

#[test]
fn an_arm_without_a_guard_gets_one_and_one_with_a_guard_another() {
    let text = "fn f() { match a { Some(1) => b, Some(x) if x > 2 => c, _ => d } }";
    let changes = [
        Change::of(text, "Some(1)", Genre::MatchArm, ""),
        Change::of(text, "Some(x)", Genre::MatchArm, ""),
        Change::of(text, "x > 2", Genre::MatchArmGuard, "true"),
        Change::of(text, "x > 2", Genre::MatchArmGuard, "false"),
        Change::of(text, "> 2", Genre::BinaryOperator, "<"),
    ];
    assert_eq!(
        switched(text, &changes),
        "fn f() { match a { Some(1) if !on(1) => b, \
         Some(x) if !on(2) && (on(3) || (!on(4) && ((if on(5) { (x) < (2) } else {x > 2})))) => c, _ => d } }"
    );
}

#[test]
fn a_field_is_that_of_the_base() {
    let text = "fn f() -> A { A { x: 1 + y, z, ..Default::default() } }";
    let changes = [
        Change::of(text, "x:", Genre::StructField, ""),
        Change::of(text, "+", Genre::BinaryOperator, "-"),
        Change::of(text, "z,", Genre::StructField, ""),
    ];
    assert_eq!(
        switched(text, &changes),
        "fn f() -> A { A { x: (if on(1) { (A { ..Default::default() }).x } else {(if on(2) { (1) - (y) } else {1 + y})}), \
         z: (if on(3) { (A { ..Default::default() }).z } else {z}), ..Default::default() } }"
    );
}

#[test]
fn a_constant_function_stays_one_where_constants_call_it() {
    let text = "pub const fn f(a: u8) -> u8 { a + 1 }";
    let change = Change::of(text, "+", Genre::BinaryOperator, "-");
    let freed = switch(text, &[(Switch(1), &change)], &BTreeSet::new()).unwrap();
    assert!(freed.text.starts_with("pub /*const*/ fn f"), "{}", freed.text);
    assert_eq!(freed.no_longer_constant, BTreeSet::from(["f".to_owned()]));
    let kept = switch(text, &[(Switch(1), &change)], &freed.no_longer_constant).unwrap();
    assert_eq!((kept.text.as_str(), kept.without), (text, vec![(Switch(1), Without::NoPlace)]));
}

#[test]
fn constants_have_no_place_but_closures_in_them_do() {
    let text = "const MOST: usize = 4 * 1024;";
    assert_eq!(without(text, &Change::of(text, "*", Genre::BinaryOperator, "+")), Without::NoPlace);
    let text = "static ALL: LazyLock<usize> = LazyLock::new(|| a() * 2);";
    let change = Change::of(text, "*", Genre::BinaryOperator, "+");
    assert!(switched(text, &[change]).contains("(if on(1) { (a()) + (2) } else {a() * 2})"));
}

#[test]
fn a_function_that_begins_with_a_constant_returns_before_it() {
    let text = "fn f() -> u8 { static A: u8 = 1; A }";
    let change = Change::of(text, "static", Genre::FnValue, "0");
    let expected = "fn f() -> u8 { if on(1) { return 0; } static A: u8 = 1; A }";
    assert_eq!(switched(text, &[change]), expected);
}

#[test]
fn what_a_macro_reads_has_no_place() {
    let text = "fn f() { assert!(a == b); }";
    assert_eq!(
        without(text, &Change::of(text, "==", Genre::BinaryOperator, "!=")),
        Without::NoPlace
    );
}

#[test]
fn an_arm_that_nobody_could_take_the_place_of_has_none() {
    let text = "fn f() { match a { 1 => b, other => c } }";
    assert_eq!(without(text, &Change::of(text, "other", Genre::MatchArm, "")), Without::NoPlace);
    let text = "fn f() { match a { (true, _) => b, _ if d => c, (false, _) => e } }";
    assert_eq!(without(text, &Change::of(text, "(true", Genre::MatchArm, "")), Without::NoPlace);
    let text = "fn f() { match a { true => b, false => c } }";
    assert_eq!(without(text, &Change::of(text, "true", Genre::MatchArm, "")), Without::NoPlace);
    let text = "fn f() { match a { NONE => b, _ => c } }";
    let change = Change::of(text, "NONE", Genre::MatchArm, "");
    assert!(switched(text, &[change]).contains("NONE if !on(1) => b"));
}

#[test]
fn one_of_two_conditions_with_let_is_not_rust() {
    let text = "fn f() { if let Some(a) = b && a > 1 { c } }";
    assert_eq!(
        without(text, &Change::of(text, "&&", Genre::BinaryOperator, "||")),
        Without::NotRust
    );
}
