//! The code that the team's agents look after. One of its tests fails.

/// What an order costs in cents: items with price and count, less a discount in percent.
pub fn cost(items: &[(u32, u32)], discount: u32) -> u32 {
    let sum: u32 = items.iter().map(|(price, count)| price * count).sum();
    sum * (100 - discount) / 100
}

#[test]
fn a_discount_is_taken_off() {
    assert_eq!(cost(&[(2_50, 4)], 10), 9_00);
}

#[test]
fn nobody_is_paid_for_buying() {
    assert_eq!(cost(&[(2_50, 4)], 120), 0);
}
