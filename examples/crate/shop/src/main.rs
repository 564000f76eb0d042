//! What somebody writes who uses `coinage`: an order, its tax, and who pays how much.

use coinage::{Amount, MoneyError};

fn main() -> Result<(), MoneyError> {
    let items = [("tea", "4.50 EUR", 3), ("cups", "7.25 EUR", 2)];
    let prices = items.map(|(_, price, count)| price.parse::<Amount>()?.times(count));
    let net = Amount::total(prices.into_iter().collect::<Result<Vec<_>, _>>()?)?;
    if let Some(net) = net {
        let gross = net.plus(net.basis_points(19_00)?)?;
        println!("{gross} for {} items", items.len());
        for (guest, share) in gross.split(3).into_iter().enumerate() {
            println!("guest {}: {share}", guest + 1);
        }
    }
    Ok(())
}
