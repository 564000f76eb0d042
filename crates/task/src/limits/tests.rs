use proptest::prelude::*;

use agents_model::Usage;

use super::*;

const NOW: Duration = Duration::ZERO;

fn limits(turns: u64, tokens: u64, children: u64) -> Limits {
    Limits {
        turns: Some(turns),
        tokens: Some(tokens),
        children: Some(children),
        ..Limits::default()
    }
}

#[test]
fn the_call_after_the_last_one_is_refused() {
    let mut tree = Tree::new(&limits(2, 1000, 0));
    let root = tree.root();
    assert!(tree.admit(root, NOW).is_ok());
    assert!(tree.admit(root, NOW).is_ok());
    assert_eq!(tree.admit(root, NOW), Err(Limit::Turns));
    assert_eq!(tree.spent(root).turns, 2, "what was refused is not counted");
}

#[test]
fn tokens_and_cost_are_paid_for_afterwards_and_then_nothing_more_is_admitted() {
    let cost = Some(MicroDollars(5));
    let mut tree = Tree::new(&Limits { cost, ..limits(9, 100, 0) });
    let root = tree.root();
    assert_eq!(tree.admit(root, NOW).unwrap().tokens, Some(100));
    tree.charge(root, 60, MicroDollars(2));
    assert_eq!(tree.admit(root, NOW).unwrap().tokens, Some(40));
    tree.charge(root, 70, MicroDollars(2));
    assert_eq!(tree.admit(root, NOW), Err(Limit::Tokens));
    assert_eq!(tree.spent(root).tokens, 130, "the truth, not the limit");

    let mut tree = Tree::new(&Limits { cost, ..Limits::default() });
    let root = tree.root();
    tree.admit(root, NOW).unwrap();
    tree.charge(root, 1, MicroDollars(5));
    assert_eq!(tree.admit(root, NOW), Err(Limit::Cost));
}

#[test]
fn a_child_gets_no_more_than_is_left_and_siblings_never_the_same() {
    let mut tree = Tree::new(&limits(10, 1000, 9));
    let root = tree.root();
    let one = tree.reserve(root, &limits(6, 100, 0), NOW).unwrap();
    let other = tree.reserve(root, &limits(6, 100, 0), NOW).unwrap();
    assert_eq!(tree.left(one).turns, Some(6));
    assert_eq!(tree.left(other).turns, Some(4));
    assert_eq!(tree.admit(root, NOW), Err(Limit::Turns), "all of it is with the children");
    assert_eq!(tree.reserve(root, &limits(1, 1, 0), NOW), Err(Limit::Turns));
    tree.admit(one, NOW).unwrap();
    tree.close(one);
    assert_eq!(tree.left(root).turns, Some(5), "what was not used came back");
    assert_eq!(tree.spent(root).turns, 1, "what was used is counted");
}

#[test]
fn what_a_child_used_is_counted_once() {
    let mut tree = Tree::new(&limits(10, 1000, 9));
    let root = tree.root();
    let child = tree.reserve(root, &Limits::default(), NOW).unwrap();
    tree.admit(child, NOW).unwrap();
    tree.charge(child, 30, MicroDollars(3));
    tree.close(child);
    tree.close(child);
    let spent = Spent { turns: 1, tokens: 30, cost: MicroDollars(3), children: 1 };
    assert_eq!(tree.spent(root), spent);
}

#[test]
fn children_of_children_count_with_everybody_above() {
    let mut tree = Tree::new(&limits(10, 1000, 2));
    let root = tree.root();
    let child = tree.reserve(root, &Limits::default(), NOW).unwrap();
    let grandchild = tree.reserve(child, &Limits::default(), NOW).unwrap();
    assert_eq!(tree.reserve(grandchild, &Limits::default(), NOW), Err(Limit::Children));
    assert_eq!(tree.reserve(root, &Limits::default(), NOW), Err(Limit::Turns), "handed out");
    tree.close(child);
    assert_eq!(tree.spent(root).children, 2);
    assert_eq!(tree.reserve(root, &Limits::default(), NOW), Err(Limit::Children));
}

#[test]
fn a_child_ends_with_its_parent_at_the_latest() {
    let at = Duration::from_secs;
    let mut tree = Tree::new(&Limits { time: Some(at(10)), ..Limits::default() });
    let root = tree.root();
    let long = Limits { time: Some(at(60)), ..Limits::default() };
    let child = tree.reserve(root, &long, at(4)).unwrap();
    assert_eq!(tree.end(child), Some(at(10)));
    let short = Limits { time: Some(at(2)), ..Limits::default() };
    let child = tree.reserve(root, &short, at(4)).unwrap();
    assert_eq!(tree.end(child), Some(at(6)));
    assert!(tree.admit(child, at(5)).is_ok());
    assert_eq!(tree.admit(child, at(6)), Err(Limit::Time));
}

#[test]
fn that_little_is_left_is_said_once() {
    let mut tree = Tree::new(&limits(5, 1000, 0));
    let root = tree.root();
    for _ in 0..3 {
        tree.admit(root, NOW).unwrap();
        assert_eq!(tree.notices(root, NOW), []);
    }
    tree.admit(root, NOW).unwrap();
    let said: Vec<String> = tree.notices(root, NOW).iter().map(ToString::to_string).collect();
    assert_eq!(said, ["4 of 5 turns are used"]);
    assert_eq!(tree.notices(root, NOW), []);
    tree.charge(root, 900, MicroDollars(0));
    assert_eq!(tree.notices(root, NOW)[0].limit, Limit::Tokens);
}

#[test]
fn the_last_turn_is_announced_even_if_there_are_few() {
    let mut tree = Tree::new(&limits(3, 3, 3));
    let root = tree.root();
    assert_eq!(tree.notices(root, NOW), []);
    tree.admit(root, NOW).unwrap();
    tree.charge(root, 2, MicroDollars(0));
    assert_eq!(tree.notices(root, NOW), [], "of tokens there is no last one");
    tree.admit(root, NOW).unwrap();
    let last = Notice { limit: Limit::Turns, used: 2, of: 3 };
    assert_eq!(tree.notices(root, NOW), [last]);
    // Whoever has only one knows that from the beginning.
    let mut tree = Tree::new(&limits(1, 1000, 0));
    assert_eq!(tree.notices(tree.root(), NOW), []);
}

#[test]
fn those_who_start_together_share_with_each_other_and_with_who_starts_them() {
    let mut tree = Tree::new(&limits(40, 400, 15));
    let root = tree.root();
    let three = tree.reserve_all(root, &[Limits::default(); 3], NOW).unwrap();
    for child in three {
        // Twelve more may be started, of which everybody gets three.
        assert_eq!(tree.left(child), limits(10, 100, 3));
    }
    assert_eq!(tree.left(root), limits(10, 100, 3));
    // Each of them needs one of everything, and no more.
    let mut tree = Tree::new(&limits(3, 3, 3));
    let three = tree.reserve_all(tree.root(), &[Limits::default(); 3], NOW).unwrap();
    assert_eq!(tree.left(three[0]), limits(1, 1, 0));
    let mut tree = Tree::new(&limits(2, 3, 3));
    let refused = tree.reserve_all(tree.root(), &[Limits::default(); 3], NOW);
    assert_eq!(refused.err(), Some(Limit::Turns));
}

#[test]
fn a_task_has_an_hour_unless_somebody_says_something_else() {
    assert_eq!(Limits::DEFAULT.time, Some(Duration::from_secs(3_600)));
}

#[test]
fn a_dropped_budget_is_closed() {
    let root = Budget::new(&limits(10, 1000, 9));
    let child = root.reserve(&limits(4, 100, 0)).unwrap();
    child.admit().unwrap();
    child.charge(&Usage { input: 7, output: 3, ..Usage::default() }, MicroDollars(1));
    assert_eq!(root.left().turns, Some(6));
    drop(child);
    assert_eq!(root.left().turns, Some(9));
    assert_eq!(root.spent().tokens, 10);
}

#[test]
fn dollars_of_a_definition_become_whole_micro_dollars() {
    let of = |cost| {
        Limits::from(&agents_agent::definition::Limits { cost: Some(cost), ..Default::default() })
    };
    assert_eq!(of(0.5).cost, Some(MicroDollars(500_000)));
    assert_eq!(of(-1.0).cost, Some(MicroDollars(0)));
    assert_eq!(of(f64::NAN).cost, Some(MicroDollars(0)));
}

#[derive(Debug, Clone)]
enum Step {
    Reserve {
        parent: usize,
        turns: Option<u64>,
        tokens: Option<u64>,
        children: Option<u64>,
    },
    /// Uses this share of what it was allowed.
    Call {
        account: usize,
        percent: u64,
    },
    Close {
        account: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let some = |max| proptest::option::of(0..max);
    prop_oneof![
        1 => (any::<usize>(), some(20_u64), some(500_u64), some(6_u64)).prop_map(
            |(parent, turns, tokens, children)| Step::Reserve { parent, turns, tokens, children }
        ),
        4 => (any::<usize>(), 0..=100_u64).prop_map(|(account, percent)| Step::Call { account, percent }),
        1 => any::<usize>().prop_map(|account| Step::Close { account }),
    ]
}

proptest! {
    /// A child never spends more than was reserved for it, all of them together never more than the tree has, and what is
    /// spent is counted once on the way up.
    #[test]
    fn nobody_spends_more_than_was_reserved(
        steps in proptest::collection::vec(step(), 1..120),
        turns in 1..60_u64,
        tokens in 1..2000_u64,
    ) {
        let mut tree = Tree::new(&limits(turns, tokens, 12));
        let mut accounts = vec![tree.root()];
        let mut open = vec![true];
        // What each was given, and what it really did itself.
        let mut given = vec![tree.left(tree.root())];
        let mut own = vec![(0_u64, 0_u64)];
        for step in steps {
            match step {
                Step::Reserve { parent, turns, tokens, children } => {
                    let parent = parent % accounts.len();
                    if !open[parent] { continue }
                    let wanted = Limits { turns, tokens, children, ..Limits::default() };
                    if let Ok(child) = tree.reserve(accounts[parent], &wanted, NOW) {
                        let got = tree.left(child);
                        prop_assert!(turns.is_none_or(|it| got.turns.unwrap() <= it));
                        accounts.push(child);
                        open.push(true);
                        given.push(got);
                        own.push((0, 0));
                    }
                }
                Step::Call { account, percent } => {
                    let account = account % accounts.len();
                    if !open[account] { continue }
                    if let Ok(allowed) = tree.admit(accounts[account], NOW) {
                        let used = allowed.tokens.unwrap() * percent / 100;
                        tree.charge(accounts[account], used, MicroDollars(0));
                        own[account].0 += 1;
                        own[account].1 += used;
                    }
                }
                Step::Close { account } => {
                    let account = account % accounts.len();
                    tree.close(accounts[account]);
                    for (at, it) in accounts.iter().enumerate() {
                        open[at] = tree.nodes[it.0].state == State::Open;
                    }
                }
            }
            for (at, account) in accounts.iter().enumerate() {
                let spent = tree.spent(*account);
                prop_assert!(spent.turns <= given[at].turns.unwrap());
                prop_assert!(spent.tokens <= given[at].tokens.unwrap());
                prop_assert!(spent.children <= given[at].children.unwrap());
            }
        }
        for account in accounts.iter().rev() {
            tree.close(*account);
            tree.close(*account);
        }
        let spent = tree.spent(tree.root());
        prop_assert_eq!(spent.turns, own.iter().map(|it| it.0).sum::<u64>());
        prop_assert_eq!(spent.tokens, own.iter().map(|it| it.1).sum::<u64>());
        prop_assert_eq!(spent.children, accounts.len() as u64 - 1);
    }
}
