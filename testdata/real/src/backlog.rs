// LEAK: an unbounded channel whose consumer is slower than its producer: 150 letters of 2 KiB a second are sent and 100 read, 100 KiB/s stay.
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

#[inline(never)]
fn compose(n: u64) -> Vec<u8> {
    let mut letter = vec![b'l'; 2048];
    letter[0] = n as u8;
    letter
}

#[inline(never)]
fn deliver(letter: Vec<u8>) -> usize {
    letter.iter().filter(|b| **b == b'l').count()
}

fn pace(start: Instant, n: u64, rate: u64) {
    let due = Duration::from_micros(n * 1_000_000 / rate);
    thread::sleep(due.saturating_sub(start.elapsed()));
}

fn main() {
    let (sender, receiver) = mpsc::channel();
    let start = Instant::now();
    thread::spawn(move || {
        let mut sum = 0;
        for n in 1.. {
            sum += deliver(receiver.recv().unwrap());
            pace(start, n, 100);
        }
        sum
    });
    for n in 1.. {
        sender.send(compose(n)).unwrap();
        pace(start, n, 150);
    }
}
