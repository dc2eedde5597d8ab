// Takes orders, and keeps the last of each customer: many small allocations, and vectors that grow.
use std::collections::HashMap;

struct Order {
    items: Vec<String>,
    note: String,
}

fn take(n: u64) -> Order {
    let mut items = Vec::new();
    for i in 0..4 + n % 9 {
        items.push(format!("item {} of {}", i, n));
    }
    Order { items, note: "x".repeat((n % 700) as usize) }
}

fn main() {
    let rounds: u64 = std::env::args().nth(1).map_or(1_000_000, |a| a.parse().unwrap());
    let mut last: HashMap<String, Order> = HashMap::new();
    for n in 0..rounds {
        last.insert(format!("customer {}", n * 7919 % 40_000), take(n));
    }
    println!("{}", last.values().map(|o| o.items.len() + o.note.len()).sum::<usize>());
}
