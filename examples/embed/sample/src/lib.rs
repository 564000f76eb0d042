/// The average of prices in cents.
pub fn total(prices: &[u32]) -> u32 {
    prices.iter().sum::<u32>() / prices.len() as u32
}
