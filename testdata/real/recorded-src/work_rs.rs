// A program that never waits; what it does in a second depends on the machine.
//   work_rs lose   LEAK: Ledger::post keeps the text of every order in a map by its number, some 1 KiB each.
//   work_rs keep   no leak: Ledger::post removes the order that came 5,000 orders before.
use std::collections::HashMap;
use std::env;

struct Ledger {
    orders: HashMap<u64, String>,
    keeps: bool,
}

impl Ledger {
    #[inline(never)]
    fn post(&mut self, n: u64) {
        self.orders.insert(n, format!("order {n}: {}", "item ".repeat(200)));
        if self.keeps && n >= 5000 {
            self.orders.remove(&(n - 5000));
        }
    }
}

#[inline(never)]
fn price(n: u64) -> u64 {
    let lines: Vec<String> = (0..60).map(|i| format!("{}", n * 7919 + i)).collect();
    let mut sum = n;
    for _ in 0..150 {
        for line in &lines {
            sum = line.bytes().fold(sum, |s, b| s.wrapping_mul(31).wrapping_add(u64::from(b)));
        }
    }
    sum
}

fn main() {
    let keeps = env::args().nth(1).as_deref() == Some("keep");
    let mut ledger = Ledger { orders: HashMap::new(), keeps };
    let mut sum = 0;
    for n in 0.. {
        sum ^= price(n);
        ledger.post(n);
        if sum == 1 && ledger.orders.is_empty() {
            return;
        }
    }
}
